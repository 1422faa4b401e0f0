"""Chooses what to attend to next: the oldest unanswered message first, then what a review selected, then a review.

Each look is a few indexed reads, however many conversations are open.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import update
from sqlalchemy.orm import Session

from loop.thinking.focus import Focus, permitted
from shared.apps.models import App
from shared.apps.queries import apps_to_review
from shared.clock import CLOCK_DOUBT, Clock
from shared.conversations import queries
from shared.db.transactions import Transactions
from shared.settings import Settings
from shared.telemetry.metrics import FocusKind

_LOOK_FOR_REVIEWS_EVERY = 5.0
_LOOKED_AT = 50


class Chooser:
    """Looks for the next focus."""

    def __init__(
        self,
        transactions: Transactions,
        clock: Clock,
        settings: Settings,
        level: Callable[[Session], int],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._settings = settings
        self._level = level
        self._monotonic = monotonic
        self._looked_at: float | None = None

    def choose(self, next_selected: Callable[[], Focus | None]) -> Focus | None:
        """Return what to attend to now, as far as the energy allows; None for nothing."""
        with self._transactions.read() as session:
            allowed = permitted(self._level(session), self._settings.energy_gate_percent)
            unanswered = self._oldest(session) if FocusKind.UNANSWERED in allowed else None
        if unanswered is not None:
            return unanswered
        selected = next_selected() if FocusKind.SELECTED in allowed else None
        if selected is not None:
            return selected
        return self._review() if FocusKind.REVIEW in allowed else None

    def _oldest(self, session: Session) -> Focus | None:
        now = self._clock.now()
        found = queries.oldest_unanswered(session, now - timedelta(hours=self._settings.answer_within_hours))
        if found is None or found.focus_since is None:
            return None
        # What was said later than that was said before the clock was set back, and is no news.
        if now - timedelta(seconds=self._settings.answer_after_seconds) < found.focus_since <= now + CLOCK_DOUBT:
            return None
        return Focus(FocusKind.UNANSWERED, found.app_id, found.conversation_id)

    def _review(self) -> Focus | None:
        """Return the app that was not reviewed for longest, and note of those before it that they need none."""
        if not self._settings.review_minutes or not self._may_look():
            return None
        now = self._clock.now()
        with self._transactions.read() as session:
            due = apps_to_review(session, now - timedelta(minutes=self._settings.review_minutes), _LOOKED_AT)
            unchanged: list[str] = []
            for app in due:
                if queries.has_changed_since(session, app.app_id, app.reviewed_at):
                    break
                unchanged.append(app.app_id)
        if unchanged:
            self._note(unchanged, now)
        return Focus(FocusKind.REVIEW, due[len(unchanged)].app_id) if len(unchanged) < len(due) else None

    def _may_look(self) -> bool:
        now = self._monotonic()
        if self._looked_at is not None and now - self._looked_at < _LOOK_FOR_REVIEWS_EVERY:
            return False
        self._looked_at = now
        return True

    def _note(self, app_ids: list[str], now: datetime) -> None:
        with self._transactions.write() as session:
            session.execute(update(App).where(App.app_id.in_(app_ids)).values(reviewed_at=now))
