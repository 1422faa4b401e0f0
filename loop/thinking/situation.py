"""What a turn is about, as values: read in one short transaction, so that none is open while the model thinks.

What the loop attends to, and with which model: the oldest unanswered message, what a review selected, or a review.

What the energy allows is decided by pure functions of values; looking for the next focus takes a few indexed reads,
however many conversations are open. Source: oracles, "Loop"; seed 003, "Context Injection Points".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.apps.models import AnsweredBy, App
from shared.apps.queries import apps_to_review, count_erasures, get_app
from shared.base.clock import CLOCK_DOUBT, Clock
from shared.base.settings import Settings
from shared.base.subjects import NOBODY, Subject, recalled_for
from shared.conversations import queries
from shared.conversations.chat_message import Sent, unspoken
from shared.conversations.days import local_times, zones_now
from shared.conversations.lifecycle import Role
from shared.conversations.models import Conversation, MemoryMode
from shared.db.base import Transactions
from shared.energy.budget import (
    FULL,
    MICRO,
    BudgetStatus,
    Status,
    budget_status,
    percentage_of,
    status_of,
    to_micro,
    to_units,
)
from shared.energy.ledger import spent_by_conversation
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
        # Taken only where it may be thought about, as what is taken is gone from the list.
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


MOST_MESSAGES = 200
"""The newest that are looked at of one conversation; what fits the model's window is decided later."""
_BEGINNING = 12
"""Messages in which the first exchange is looked for, of a conversation that is longer than that."""
MOST_MESSAGES_IN_REVIEW = 12


@dataclass(frozen=True)
class Energy:
    """The energy as the model is told of it."""

    micro: int
    refill_per_second: float

    @property
    def units(self) -> float:
        """The level, -50..100."""
        return to_units(self.micro)

    @property
    def percentage(self) -> float:
        """The level, 0..100."""
        return percentage_of(self.micro)

    @property
    def status(self) -> Status:
        return status_of(self.micro)


@dataclass(frozen=True)
class ThreadMessage:
    """One message."""

    role: str
    name: str | None
    content: str
    at: datetime
    """As the clock of the person showed it."""
    payload: Sent | None = None
    """The message as it was sent, where role, content and name do not say all of it."""

    @property
    def text(self) -> str:
        """What it says, and a line for each call of a tool and each image."""
        return "\n".join(filter(None, [self.content, *unspoken(self.payload)]))


@dataclass(frozen=True)
class ConversationView:
    """A conversation as it was when it was looked at. Amounts in micro-units."""

    key: int
    conversation_id: str
    message_count: int
    messages: tuple[ThreadMessage, ...]
    """Its newest ones, after its first ones."""
    unanswered_since: datetime | None
    woken_at: datetime | None
    ended: bool
    attempts: int
    budget: int | None = None
    spent: int = 0
    rejection: str | None = None
    """Why the last answer to its last message was not approved; empty where nobody said."""
    user_id: str | None = None
    is_alone: bool = False
    """Whether nothing but its own is recalled in it."""

    @property
    def position(self) -> int:
        return self.message_count - 1

    @property
    def budget_status(self) -> BudgetStatus | None:
        """Where it stands against its budget; None without one."""
        return budget_status(self.budget, self.spent)


@dataclass(frozen=True)
class Situation:
    """Everything a model is told in a turn."""

    focus: Focus
    app_name: str
    recalled: str
    """Memories and facts as text; empty until they have been recalled."""
    energy: Energy
    now: datetime
    """As the clock of whom the conversations are with shows it."""
    conversations: tuple[ConversationView, ...]
    erasures: int = 0
    """How often something of the app had been erased."""
    recalled_for: tuple[str, ...] = (NOBODY,)
    """Whose memories and facts are recalled; see ``shared.base.subjects``."""

    @property
    def said_now(self) -> str | None:
        """What a user said last in the conversation in focus, and nobody answered."""
        last = self.focused.messages[-1] if self.focused is not None and self.focused.messages else None
        return last.content if last is not None and last.role == Role.USER else None

    @property
    def focused(self) -> ConversationView | None:
        """The one conversation in focus; None in a review."""
        return None if self.focus.kind is FocusKind.REVIEW else self.conversations[0]

    @property
    def open_ids(self) -> list[str]:
        """The ids of the conversations in which something can be done."""
        return [one.conversation_id for one in self.conversations if not one.ended]

    def seen(self, conversation_id: str) -> ConversationView | None:
        """Return a conversation the model was shown."""
        return next((one for one in self.conversations if one.conversation_id == conversation_id), None)


def subjects_to_review(session: Session, app_id: str, energy: Energy) -> list[Subject]:
    """Return whose conversations a review of an app is about, each of which has a turn of its own; the latest first."""
    found = queries.recent_conversations(session, app_id, review_size(energy.percentage))
    return list(dict.fromkeys(one.subject for one in found))


def look(session: Session, focus: Focus, energy: Energy, now: datetime) -> Situation | None:
    """Return the situation of a focus, with nothing recalled yet; None when there is nothing left to think about."""
    app = get_app(session, focus.app_id)
    if app.uninstalled_at is not None or app.answered_by != AnsweredBy.LOOP:
        return None
    seen = _recent(session, focus, energy) if focus.conversation_id is None else _one(session, focus, now)
    if not seen:
        return None
    users = () if seen[0].is_alone else recalled_for(seen[0].user_id, app.shared_memory)
    local_now = zones_now(session, seen[0].key).local(now)
    return Situation(focus, app.name, "", energy, local_now, seen, count_erasures(session, app.app_id), users)


def _one(session: Session, focus: Focus, now: datetime) -> tuple[ConversationView, ...]:
    found = queries.find_conversation(session, focus.app_id, focus.conversation_id or "")
    if found is None or found.ended_at is not None or (found.snoozed_until is not None and found.snoozed_until > now):
        return ()
    # Somebody answered meanwhile, or it is left alone for a while.
    if focus.kind is FocusKind.UNANSWERED and found.focus_since is None:
        return ()
    return (_see(session, found, MOST_MESSAGES),)


def _recent(session: Session, focus: Focus, energy: Energy) -> tuple[ConversationView, ...]:
    """Return recent conversations of one user, or of nobody; those of two users are never shown together."""
    found = queries.recent_conversations(session, focus.app_id, review_size(energy.percentage))
    whose = focus.subject or next((one.subject for one in found), None)
    return tuple(_see(session, one, MOST_MESSAGES_IN_REVIEW) for one in found if one.subject == whose)


def _see(session: Session, found: Conversation, most: int) -> ConversationView:
    rejected = queries.last_rejection(session, found.key, found.message_count - 1)
    messages = queries.newest_messages(session, found.key, most)
    if found.message_count > len(messages):
        beginning = queries.messages_of(session, found.key, _BEGINNING)
        messages = [one for one in beginning if one.position < messages[0].position] + messages
    return ConversationView(
        key=found.key,
        conversation_id=found.conversation_id,
        message_count=found.message_count,
        messages=tuple(
            ThreadMessage(one.role, one.name, one.content, at, one.payload)
            for one, at in zip(messages, local_times(session, messages), strict=True)
        ),
        unanswered_since=found.unanswered_since,
        woken_at=found.woken_at and zones_now(session, found.key).local(found.woken_at),
        ended=found.ended_at is not None,
        attempts=found.think_attempts,
        budget=found.energy_budget_micro,
        spent=spent_by_conversation(session, found.key),
        rejection=None if rejected is None else rejected.reason or "",
        user_id=found.user_id,
        is_alone=found.memory == MemoryMode.OFF,
    )
