"""What a listener is told next: one page of events from the database, and whether the listener may still listen.

Reads only; runs in a thread, because the event loop must not wait for a database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from loop.wiring import Loop
from shared.apps.models import Scope
from shared.apps.queries import get_app
from shared.apps.tokens import Caller, is_in_force
from shared.event_payloads import EventPayload, payloads_of
from shared.events.queries import EventFilter, events_after, extent

PAGE = 100


@dataclass(frozen=True)
class Gap:
    """Events a listener asked for that are not kept any more."""

    after: int
    kept_after: int
    """The listener goes on after this position."""

    def as_fields(self) -> dict[str, Any]:
        """Return it as it goes over the wire."""
        return {"after": self.after, "keptAfter": self.kept_after}


@dataclass(frozen=True)
class Page:
    """The next events of a listener."""

    events: Sequence[EventPayload]
    cursor: int
    """Everything up to here has been told, or is not for this listener."""
    is_full: bool = False
    """Whether there may be more at once."""
    gap: Gap | None = None


@dataclass(frozen=True)
class Ear:
    """Who listens, and to what."""

    loop: Loop
    caller: Caller
    wanted: EventFilter

    def newest(self) -> int:
        """Return the newest position."""
        with self.loop.database.read() as session:
            return extent(session).placed

    def next_page(self, after: int, limit: int = PAGE) -> Page | None:
        """Return what comes after a position; None when the listener may not listen any more."""
        with self.loop.database.read() as session:
            if not self._may_listen(session):
                return None
            there = extent(session)
            gap = Gap(after, there.forgotten) if after < there.forgotten else None
            # A position beyond the newest is another installation's, or was given out before a backup was put back.
            gap = Gap(after, there.placed) if after > there.placed else gap
            start = after if gap is None else gap.kept_after
            found = events_after(session, self.wanted, start, there.placed, limit)
            is_full = len(found) == limit
            cursor = found[-1].position if is_full else there.placed
            return Page(payloads_of(session, found), cursor or 0, is_full, gap)

    def _may_listen(self, session: Session) -> bool:
        """Whether the caller's token is still in force, and the app still installed."""
        app_id = self.wanted.app_id
        if self.caller.scope is not Scope.ADMIN and not is_in_force(session, self.caller):
            return False
        return app_id is None or get_app(session, app_id).uninstalled_at is None
