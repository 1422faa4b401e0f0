"""The ledger: one row per model call, added in its own transaction and settled into the level exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import case, func, select, update
from sqlalchemy.orm import Session

from shared.energy.budget import FULL, Prices, drained, price, refilled
from shared.energy.models import Level, Spending
from shared.llm.calls import ModelCall, WorkKind

MEMORY_KINDS = tuple(WorkKind)
WINDOWS = {"last24h": timedelta(hours=24), "last1h": timedelta(hours=1), "last1min": timedelta(minutes=1)}


@dataclass(frozen=True)
class Booking:
    """On whose account a call is."""

    app_id: str
    job_id: str | None
    conversation_key: int | None


def book(session: Session, call: ModelCall, on: Booking, prices: Prices, now: datetime) -> int:
    """Add one call to the ledger; return its cost in micro-units."""
    cost = price(call, prices)
    session.add(
        Spending(
            app_id=on.app_id,
            job_id=on.job_id,
            conversation_key=on.conversation_key,
            kind=call.kind,
            model=call.model,
            outcome=call.outcome,
            prompt_tokens=call.prompt_tokens,
            completion_tokens=call.completion_tokens,
            estimated=call.estimated,
            micro=cost,
            settled=False,
            at=now,
        )
    )
    return cost


def settle(session: Session, per_second: float, now: datetime) -> int:
    """Draw every unsettled row from the level, each exactly once; return what was drawn, in micro-units."""
    level = _locked_level(session, now)
    entries = session.execute(select(Spending.entry, Spending.micro).where(~Spending.settled)).all()
    if not entries:
        return 0
    cost = sum(micro for _, micro in entries)
    session.execute(update(Spending).where(Spending.entry.in_([e for e, _ in entries])).values(settled=True))
    level.micro = drained(refilled(level.micro, level.at, now, per_second), cost)
    level.drawn_micro += cost
    level.at = max(level.at, now)
    return cost


def level_now(session: Session, per_second: float, now: datetime) -> int:
    """Return the level in micro-units as it is now; a new installation starts full."""
    level = session.get(Level, 1)
    return FULL if level is None else refilled(level.micro, level.at, now, per_second)


def _locked_level(session: Session, now: datetime) -> Level:
    level = session.scalar(select(Level).where(Level.only_row == 1).with_for_update())
    if level is None:
        level = Level(only_row=1, micro=FULL, drawn_micro=0, at=now)
        session.add(level)
        session.flush()
    return level


def drawn(session: Session) -> int:
    """Return everything ever drawn from the level, in micro-units."""
    return session.scalar(select(Level.drawn_micro)) or 0


def unsettled(session: Session) -> int:
    """Return what has been spent since the last settlement, in micro-units."""
    return session.scalar(select(func.coalesce(func.sum(Spending.micro), 0)).where(~Spending.settled)) or 0


def spent_by_window(session: Session, app_id: str, now: datetime) -> dict[str, int]:
    """Return an app's spending (micro-units) in total and in each window that ends now."""
    sums = [
        func.coalesce(func.sum(case((Spending.at > now - span, Spending.micro), else_=0)), 0)
        for span in WINDOWS.values()
    ]
    row = session.execute(
        select(func.coalesce(func.sum(Spending.micro), 0), *sums).where(Spending.app_id == app_id)
    ).one()
    return dict(zip(("total", *WINDOWS), map(int, row), strict=True))


def spent_by_kind(session: Session, app_id: str | None = None, since: datetime | None = None) -> dict[str, int]:
    """Return spending (micro-units) by kind of work, of one app or of all."""
    query = select(Spending.kind, func.sum(Spending.micro)).group_by(Spending.kind)
    if app_id is not None:
        query = query.where(Spending.app_id == app_id)
    if since is not None:
        query = query.where(Spending.at > since)
    return {kind: int(micro) for kind, micro in session.execute(query)}


def spent_by_conversation(session: Session, conversation_key: int) -> int:
    """Return what a conversation has cost, in micro-units."""
    query = select(func.coalesce(func.sum(Spending.micro), 0)).where(Spending.conversation_key == conversation_key)
    return int(session.scalar(query) or 0)


def typical_job(session: Session, sample: int = 50) -> int:
    """Return the mean cost of the latest jobs, in micro-units; 0 when nothing was spent yet."""
    latest = select(Spending.job_id, Spending.micro).order_by(Spending.entry.desc()).limit(sample).subquery()
    total, jobs = session.execute(select(func.sum(latest.c.micro), func.count(latest.c.job_id.distinct()))).one()
    return int(total) // jobs if jobs else 0


def memory_share(session: Session, since: datetime) -> float | None:
    """Return the share of memory work in all energy spent since then, 0..1; None when nothing was spent."""
    by_kind = spent_by_kind(session, since=since)
    total = sum(by_kind.values())
    memory = sum(micro for kind, micro in by_kind.items() if kind in MEMORY_KINDS)
    return memory / total if total else None
