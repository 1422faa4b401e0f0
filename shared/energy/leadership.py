"""Who may regulate: one loop at a time holds leadership, and its writing is fenced.

The row holds no time that anybody reckons with. Its holder raises ``beats``; whoever sees fence and beats stand still
for long enough, by its own monotonic clock, takes over by compare-and-set. So clocks may differ and jump. A former
holder that was only slow is refused in the transaction in which it would have written.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, update
from sqlalchemy.orm import Session

from shared.base.errors import LeadershipLost
from shared.db.inserting import insert_if_absent
from shared.energy.ledger import get_leadership, hold_fence
from shared.energy.models import Leadership

_REFUSED = "Another loop regulates now, so nothing was written; this one is on standby."


@dataclass(frozen=True)
class LeadershipSnapshot:
    """Leadership as a loop saw it."""

    holder: str | None = None
    fence: int = 0
    beats: int = 0


def look(session: Session) -> LeadershipSnapshot:
    row = get_leadership(session)
    return LeadershipSnapshot() if row is None else LeadershipSnapshot(row.holder, row.fence, row.beats)


def take(session: Session, holder: str, seen: LeadershipSnapshot, now: datetime) -> int | None:
    """Take leadership over if it still is as it was seen; return the new fence, None when another was quicker."""
    # Two loops that start at once both add the row; the compare-and-set below lets one of them have it.
    insert_if_absent(session, Leadership, only_row=1, holder=None, fence=0, beats=0, since=now)
    as_seen = (Leadership.fence == seen.fence) & (Leadership.beats == seen.beats)
    fence = seen.fence + 1
    return fence if _changes(session, as_seen, holder=holder, fence=fence, beats=0, since=now) else None


def beat(session: Session, fence: int) -> None:
    """Show that the holder lives. Raises: LeadershipLost."""
    if not _changes(session, _held_by(fence), beats=Leadership.beats + 1):
        raise LeadershipLost(_REFUSED)


def step_down(session: Session, fence: int) -> None:
    """Give leadership back, so that another loop need not wait; one that is lost already stays so."""
    # By the fence: where another has taken over meanwhile, its leadership is not given away.
    _changes(session, _held_by(fence), holder=None, beats=Leadership.beats + 1)


def check(session: Session, fence: int | None, idle_seconds: float) -> None:
    """Keep leadership where it is until this transaction ends. Raises: LeadershipLost, when it is elsewhere."""
    if fence is None or hold_fence(session, idle_seconds) != fence:
        raise LeadershipLost(_REFUSED)


def _held_by(fence: int) -> ColumnElement[bool]:
    return (Leadership.fence == fence) & Leadership.holder.is_not(None)


def _changes(session: Session, where: ColumnElement[bool], **values: object) -> bool:
    changed = session.execute(update(Leadership).where(Leadership.only_row == 1, where).values(**values))
    return bool(changed.rowcount)  # type: ignore[attr-defined]
