"""Whose turn it is: one lane an app and track, in the order of start-time fair queueing.

An app's lane moves on by a quantum over its weight with every job it is given, and the lane that has moved least is
next. An app that was idle joins in where the others are, so it neither waits for their backlog nor owes its absence.
A priority is a head start of so many turns, never a right of way for ever. Source: Goyal, Vin and Cheng, 1996.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.contracts.jobs import Track
from shared.db.inserting import insert_if_absent
from shared.outbox import queries
from shared.outbox.models import Job, Lane, Round

QUANTUM = 1_000_000
"""Virtual time of one job of an app of weight 1."""
HEAD_START = 2 * QUANTUM
"""What one step of priority is worth."""


@dataclass(frozen=True)
class Hold:
    """An app's budget allows nothing more for now."""

    until: datetime
    why: str


@dataclass(frozen=True)
class Terms:
    """On what terms an app is served: its share beside the others, and what holds it back."""

    weight: int = 1
    hold: Hold | None = None


def turn_of(served: int, priority: int) -> int:
    """Return where a head stands; the least is next."""
    return served + priority * HEAD_START


def served_after(served: int, weight: int) -> int:
    """Return an app's virtual time once it was given one more job."""
    return served + QUANTUM // max(1, weight)


def refresh(session: Session, app_id: str | None, track: str, now: datetime) -> None:
    """Bring a lane up to date with its app's jobs; call it in every transaction that changes them."""
    if app_id is not None:
        bring_up_to_date(session, _lane(session, app_id, track), now)


def bring_up_to_date(session: Session, lane: Lane, now: datetime) -> None:
    """Bring a locked lane up to date with its app's jobs."""
    if lane.held_until is not None and lane.held_until <= now:
        lane.held_until = lane.held_why = None
    head = queries.head_of_lane(session, lane.app_id, lane.track, now)
    if head is None:
        lane.head_seq, lane.ready_at, lane.awake = None, None, False
        return
    # Whoever comes back joins in where the others are: after having had nothing, and after having slept.
    comes_back = lane.head_seq is None or (lane.ready_at is not None and not lane.awake)
    if queries.has_in_flight(session, lane.app_id, lane.track):
        lane.ready_at, lane.awake = None, False
    else:
        lane.ready_at = head.due_at if lane.held_until is None else max(head.due_at, lane.held_until)
        lane.awake = lane.ready_at <= now
    if comes_back:
        round_ = session.get(Round, lane.track)
        lane.served = max(lane.served, round_.virtual if round_ is not None else 0)
    lane.head_seq = head.seq
    lane.turn = turn_of(lane.served, head.priority)


def refresh_all(session: Session, jobs: Iterable[Job], now: datetime) -> None:
    """Bring the lanes of several jobs up to date, in one order everywhere."""
    for app_id, track in sorted({(job.app_id, job.track) for job in jobs if job.app_id is not None}):
        refresh(session, app_id, track, now)


def wake(session: Session, now: datetime) -> int:
    """Let the lanes compete whose time has come; return how many."""
    lanes = queries.lock_lanes_asleep_until(session, now)
    for lane in lanes:
        bring_up_to_date(session, lane, now)
    return len(lanes)


def serve(session: Session, lane: Lane, weight: int, now: datetime) -> None:
    """Move a lane on that was given a job."""
    # Compared by the statement itself: a lane served by another transaction meanwhile must not be set back.
    ahead = update(Round).where(Round.track == lane.track, Round.virtual < lane.served).values(virtual=lane.served)
    moved = session.execute(ahead)
    if not moved.rowcount and session.get(Round, lane.track) is None:  # type: ignore[attr-defined]
        insert_if_absent(session, Round, track=lane.track, virtual=lane.served)
    lane.served = served_after(lane.served, weight)
    bring_up_to_date(session, lane, now)


def hold(session: Session, lane: Lane, why: Hold, now: datetime) -> None:
    """Keep a lane back until its app's budget allows more."""
    lane.held_until, lane.held_why = why.until, why.why[:300]
    bring_up_to_date(session, lane, now)


def hold_app(session: Session, app_id: str, track: str, why: Hold, now: datetime) -> None:
    """Keep an app's lane back until its budget allows more."""
    hold(session, _lane(session, app_id, track), why, now)


def held(session: Session, app_id: str, track: str) -> Hold | None:
    """Return what keeps an app's lane back."""
    lane = session.get(Lane, (app_id, track))
    if lane is None or lane.held_until is None:
        return None
    return Hold(lane.held_until, lane.held_why or "")


def release(session: Session, app_id: str, now: datetime) -> None:
    """Let an app compete again at once, as when its budget was changed."""
    for track in Track:
        lane = _lane(session, app_id, track)
        lane.held_until = lane.held_why = None
        bring_up_to_date(session, lane, now)


def let_go_beyond(session: Session, horizon: datetime, now: datetime) -> None:
    """Let apps compete again that are held for longer than any budget does, as after a clock was set back."""
    for lane in queries.lock_held_beyond(session, horizon):
        lane.held_until = lane.held_why = None
        bring_up_to_date(session, lane, now)


def mend(session: Session, now: datetime) -> int:
    """Make every lane agree with the jobs, as after another release wrote jobs without one; return how many did not."""
    astray = queries.lanes_astray(session)
    for app_id, track in astray:
        refresh(session, app_id, track, now)
    return len(astray)


def _lane(session: Session, app_id: str, track: str) -> Lane:
    lane = queries.lock_lane(session, app_id, track)
    if lane is None:
        insert_if_absent(session, Lane, app_id=app_id, track=track)
        lane = queries.lock_lane(session, app_id, track)
    assert lane is not None
    return lane
