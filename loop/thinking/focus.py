"""What the loop attends to, and with which model: the oldest unanswered message, what a review selected, or a review.

What the energy allows is decided by pure functions of values; looking for the next focus takes a few indexed reads,
however many conversations are open. Source: oracles, "Loop"; seed 003, "Context Injection Points".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.apps.queries import apps_to_review
from shared.clock import CLOCK_DOUBT, Clock
from shared.conversations import queries
from shared.db.transactions import Transactions
from shared.energy.budget import FULL, MICRO, Status, status_of, to_micro
from shared.settings import Settings
from shared.subjects import Subject
from shared.telemetry.metrics import FocusKind

REVIEW_ABOVE = 50 * MICRO
_MOST_REVIEWED = 19
"""Beside the first one."""


@dataclass(frozen=True)
class Focus:
    """What the loop attends to: one conversation, or (in a review) one app."""

    kind: FocusKind
    app_id: str
    conversation_id: str | None = None
    subject: Subject | None = None
    """Whose conversations a review is about; None until it is known whose there are."""


def permitted(micro: int, gate_percent: float) -> frozenset[FocusKind]:
    """Return what the energy (micro-units) allows: answers while any is left, the rest only when there is enough."""
    allowed = set()
    if micro > 0:
        allowed.add(FocusKind.UNANSWERED)
    if micro > to_micro(gate_percent) * FULL // (100 * MICRO) and micro > 0:
        allowed.add(FocusKind.SELECTED)
    if micro > REVIEW_ABOVE and FocusKind.SELECTED in allowed:
        allowed.add(FocusKind.REVIEW)
    return frozenset(allowed)


def review_size(percentage: float) -> int:
    """Return how many recent conversations a review shows at an energy of ``percentage``, 0..100."""
    return max(1, round(1 + percentage / 100 * _MOST_REVIEWED))


def model_for(micro: int, large: str, small: str | None) -> str:
    """Return the model to think with: the large one while energy is high or medium."""
    return large if small is None or status_of(micro) in (Status.HIGH, Status.MEDIUM) else small


_LOOK_FOR_REVIEWS_EVERY = 5.0
_LOOKED_AT = 50


@dataclass
class Chooser:
    """Looks for the next focus."""

    transactions: Transactions
    clock: Clock
    settings: Settings
    level: Callable[[Session], int]
    monotonic: Callable[[], float] = time.monotonic
    _looked_at: float | None = field(default=None, init=False)

    def choose(self, next_selected: Callable[[], Focus | None]) -> Focus | None:
        """Return what to attend to now, as far as the energy allows; None for nothing."""
        with self.transactions.read() as session:
            allowed = permitted(self.level(session), self.settings.energy_gate_percent)
            unanswered = self._oldest(session) if FocusKind.UNANSWERED in allowed else None
        if unanswered is not None:
            return unanswered
        selected = next_selected() if FocusKind.SELECTED in allowed else None
        if selected is not None:
            return selected
        return self._next_review() if FocusKind.REVIEW in allowed else None

    def _oldest(self, session: Session) -> Focus | None:
        now = self.clock.now()
        found = queries.oldest_unanswered(session, now - timedelta(hours=self.settings.answer_within_hours))
        if found is None or found.focus_since is None:
            return None
        # What was said later than that was said before the clock was set back, and is no news.
        if now - timedelta(seconds=self.settings.answer_after_seconds) < found.focus_since <= now + CLOCK_DOUBT:
            return None
        return Focus(FocusKind.UNANSWERED, found.app_id, found.conversation_id)

    def _next_review(self) -> Focus | None:
        """Return the app that was not reviewed for longest, and note of those before it that they need none."""
        looked_at = self.monotonic()
        if not self.settings.review_minutes:
            return None
        if self._looked_at is not None and looked_at - self._looked_at < _LOOK_FOR_REVIEWS_EVERY:
            return None
        self._looked_at = looked_at
        now = self.clock.now()
        with self.transactions.read() as session:
            due = apps_to_review(session, now - timedelta(minutes=self.settings.review_minutes), _LOOKED_AT)
            unchanged: list[str] = []
            for app in due:
                if queries.has_changed_since(session, app.app_id, app.reviewed_at):
                    break
                unchanged.append(app.app_id)
        if unchanged:
            with self.transactions.write() as session:
                session.execute(update(App).where(App.app_id.in_(unchanged)).values(reviewed_at=now))
        return Focus(FocusKind.REVIEW, due[len(unchanged)].app_id) if len(unchanged) < len(due) else None
