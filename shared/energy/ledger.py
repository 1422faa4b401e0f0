"""The ledger: one row per model call, added in its own transaction and settled into the level exactly once.

Folds old rows of the ledger into sums of a day and of a conversation, so that every total stays what it was.

Only what was settled is folded, in bites: each row is in the ledger or in the sums, never in both.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, SQLColumnExpression, Table, case, delete, func, literal, or_, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from shared.apps.models import App, Budgets
from shared.base.clock import CLOCK_DOUBT
from shared.base.setting_groups import MODEL_PROVIDERS
from shared.base.settings import Settings
from shared.db.inserting import insert_if_absent
from shared.db.queries import count
from shared.energy.budget import FLOOR, FULL, affordable_at, averaged, drained, price, refilled, to_units
from shared.energy.models import (
    ConversationSpending,
    DaySpending,
    EnergyLevel,
    Estimate,
    Leadership,
    Reservation,
    Spending,
    TokenRate,
)
from shared.llm.calls import MEMORY_KINDS, CallEstimate, ModelCall, WorkKind

SETTLE_LIMIT = 10_000
CALL_PAUSE = timedelta(seconds=2)
"""How long to wait before a budget is looked at again that only calls under way may use up."""
WINDOWS = {"last24h": timedelta(hours=24), "last1h": timedelta(hours=1), "last1min": timedelta(minutes=1)}

_LATEST = 50_000
"""Calls among which those of some models are looked for."""
_SAMPLED_CALLS, _SAMPLED_PAID = 50, 500
"""Of which the mean cost of a job, and of a conversation, is taken."""
# What an app's users ask is the app's to decide, and held by its budgets: drawn from the level, chats alone would keep
# it below what memory work needs, for ever.
_DRAWN = case((Spending.kind == WorkKind.CHAT, 0), else_=Spending.micro)
# Written out as its partial index has it: for SQLite, SQLAlchemy would write "settled = 0", which finds no such index.
_UNSETTLED = text("NOT energy_ledger.settled")


@dataclass(frozen=True)
class Refusal:
    """Why a budget does not cover a need. Amounts in micro-units."""

    name: str
    budget: int
    spent: int
    need: int
    until: datetime | None
    """From when it does; None: it never will, because the need alone is more."""

    def __str__(self) -> str:
        budget, spent, need = (f"{to_units(micro):.4g}" for micro in (self.budget, self.spent, self.need))
        if self.until is None:
            return f"budget: {budget} units ({self.name}) are less than one piece of work may cost ({need}); raise it"
        return f"budget: {spent} of {budget} units ({self.name}) are spent, and this may cost {need}"


@dataclass(frozen=True)
class LedgerAccount:
    """Who pays for a call: the app, and the job or conversation it is made for."""

    app_id: str
    job_id: str | None
    conversation_key: int | None


def book(session: Session, call: ModelCall, account: LedgerAccount, settings: Settings, now: datetime) -> int:
    """Add one call to the ledger; return its cost in micro-units."""
    cost = price(call, settings)
    session.add(
        Spending(
            **vars(account),
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
    insert_if_absent(session, Estimate, kind=call.kind, model=call.model, micro=cost, calls=0)
    # Locked, because the average is read and written back.
    known = session.get_one(Estimate, (call.kind, call.model), with_for_update=True)
    known.micro, known.calls = averaged(known.micro, known.calls, cost), known.calls + 1
    return cost


def reserve(
    session: Session, estimate: CallEstimate, account: LedgerAccount, most_micro: int, now: datetime, until: datetime
) -> int:
    """Set aside what a call will likely cost; return the key to release it by."""
    mean_cost = estimate_of(session, estimate.kind, estimate.model)
    reservation = Reservation(
        app_id=account.app_id,
        job_id=account.job_id,
        kind=estimate.kind,
        model=estimate.model,
        # Of the first call of its kind nothing is known but the most.
        micro=most_micro if mean_cost is None else mean_cost,
        most_micro=most_micro,
        at=now,
        until=until,
    )
    session.add(reservation)
    session.flush()
    return reservation.key


def release_reservation(session: Session, key: int) -> None:
    session.execute(delete(Reservation).where(Reservation.key == key))


def expire_reservations(session: Session, now: datetime, longest: timedelta) -> int:
    """Drop the reservations of calls that were killed, and those of a clock that was ahead; return how many."""
    lost = delete(Reservation).where(_is_lost(now, longest))
    return int(session.execute(lost).rowcount)  # type: ignore[attr-defined]


def has_lost(session: Session, now: datetime, longest: timedelta) -> bool:
    """Whether a reservation stands whose call was killed, or whose clock was ahead."""
    return session.scalar(select(Reservation.key).where(_is_lost(now, longest)).limit(1)) is not None


def _is_lost(now: datetime, longest: timedelta) -> ColumnElement[bool]:
    return or_(Reservation.until <= now, Reservation.at > now + longest)


def estimate_of(session: Session, kind: str, model: str) -> int | None:
    """Return what a call of a kind costs with a model on average, in micro-units; None when there was none yet."""
    found = session.get(Estimate, (kind, model))
    return None if found is None else found.micro


def reserved(session: Session, now: datetime) -> tuple[int, int]:
    """Return what is set aside of the level now, in micro-units: for jobs, and for the loop's own thinking."""
    for_jobs = func.coalesce(func.sum(case((Reservation.job_id.is_not(None), Reservation.micro), else_=0)), 0)
    # Nothing of the level is set aside for chats, which are not drawn from it (`_DRAWN`).
    row = session.execute(
        select(for_jobs, func.coalesce(func.sum(Reservation.micro), 0)).where(
            Reservation.until > now, Reservation.kind != WorkKind.CHAT
        )
    ).one()
    return int(row[0]), int(row[1]) - int(row[0])


def affordable(
    session: Session, app_id: str, budgets: Budgets, need: int, now: datetime, under_way: int = 0
) -> Refusal | None:
    """Return why an app's budgets do not cover ``need`` micro-units now, and from when they will; None when they do.

    What is set aside counts as if it were spent, or ``under_way`` where that is more: what the app's jobs in flight
    will likely cost. Rows of a clock that was ahead do not count.
    """
    for name, budget, span in budgets.windows():
        spent, set_aside = _spent_and_set_aside(session, app_id, now - span, now)
        set_aside = max(set_aside, under_way)
        if spent + set_aside + need <= budget:
            continue
        if spent + need <= budget:
            # Only what is under way stands in the way: it may cost less, or nothing, and is over before the window is.
            return Refusal(name, budget, spent + set_aside, need, now + CALL_PAUSE)
        in_window = (Spending.app_id == app_id, Spending.at > now - span, Spending.at <= now + CLOCK_DOUBT)
        rows = session.execute(select(Spending.at, Spending.micro).where(*in_window).order_by(Spending.at))
        # What is set aside comes last, as if spent now: no call under way leaves the window before one that has ended.
        when = affordable_at([*((at, micro) for at, micro in rows), (now, set_aside)], budget, span, need, now)
        return Refusal(name, budget, spent + set_aside, need, when)
    return None


def _spent_and_set_aside(session: Session, app_id: str, since: datetime, now: datetime) -> tuple[int, int]:
    # Read at once: a call that ends passes from one to the other.
    in_window = (Spending.app_id == app_id, Spending.at > since, Spending.at <= now + CLOCK_DOUBT)
    spent = select(func.coalesce(func.sum(Spending.micro), 0)).where(*in_window).scalar_subquery()
    mine = (Reservation.app_id == app_id, Reservation.until > now)
    set_aside = select(func.coalesce(func.sum(Reservation.most_micro), 0)).where(*mine).scalar_subquery()
    row = session.execute(select(spent, set_aside)).one()
    return int(row[0]), int(row[1])


def settle(session: Session, per_second: float, now: datetime) -> int:
    """Draw unsettled rows from the level, the oldest first, each exactly once; return what was drawn, in micro-units.

    At most ``SETTLE_LIMIT`` at a time: a statement takes only so many values.
    """
    # Locked before the entries are read: a second settlement waits here and then finds them settled.
    level = session.scalar(select(EnergyLevel).where(EnergyLevel.only_row == 1).with_for_update())
    if level is None:
        level = EnergyLevel(only_row=1, micro=FULL, drawn_micro=0, at=now)
        session.add(level)
        session.flush()
    oldest = select(Spending.entry, _DRAWN).where(_UNSETTLED).order_by(Spending.entry).limit(SETTLE_LIMIT)
    entries = session.execute(oldest).all()
    # Nothing is written then: the level of now follows from the row by arithmetic.
    if not entries:
        return 0
    cost: int = sum(micro for _, micro in entries)
    # By the entries that were summed: what is booked meanwhile is drawn the next time, so each is drawn once.
    session.execute(update(Spending).where(Spending.entry.in_([e for e, _ in entries])).values(settled=True))
    level.micro = drained(refilled(level.micro, level.at, now, per_second), cost)
    level.drawn_micro += cost
    level.at = now
    return cost


def rebase_after_clock_change(session: Session, now: datetime) -> bool:
    """Let the level refill from now on when it was last reckoned in a future that a clock set back has left."""
    level = session.get(EnergyLevel, 1, with_for_update=True)
    if level is None or level.at <= now:
        return False
    level.at = now
    return True


def is_ahead(session: Session, now: datetime) -> bool:
    """Whether the level was last reckoned in the future."""
    at = session.scalar(select(EnergyLevel.at))
    return at is not None and at > now


def level_now(session: Session, per_second: float, now: datetime) -> int:
    """Return what is left now, in micro-units, less what is not settled yet; a new installation starts full."""
    level = session.get(EnergyLevel, 1)
    settled = FULL if level is None else refilled(level.micro, level.at, now, per_second)
    return max(FLOOR, settled - unsettled(session))


def drawn(session: Session) -> int:
    """Return everything ever drawn from the level, in micro-units."""
    return session.scalar(select(EnergyLevel.drawn_micro)) or 0


def unsettled(session: Session) -> int:
    """Return what will be drawn from the level at the next settlement, in micro-units."""
    return int(session.scalar(select(func.coalesce(func.sum(_DRAWN), 0)).where(_UNSETTLED)) or 0)


def has_unsettled(session: Session) -> bool:
    """Whether a call was booked since the last settlement, drawn from the level or not."""
    return session.scalar(select(Spending.entry).where(_UNSETTLED).limit(1)) is not None


def spent_by_window(session: Session, app_id: str, now: datetime) -> dict[str, int]:
    """Return an app's spending (micro-units) in total and in each window that ends now.

    What was folded is older than any window.
    """
    sums = [
        func.coalesce(func.sum(case((Spending.at > now - span, Spending.micro), else_=0)), 0)
        for span in WINDOWS.values()
    ]
    row = session.execute(
        select(func.coalesce(func.sum(Spending.micro), 0), *sums).where(Spending.app_id == app_id)
    ).one()
    folded = count(session, select(func.coalesce(func.sum(DaySpending.micro), 0)).where(DaySpending.app_id == app_id))
    return dict(zip(("total", *WINDOWS), (int(row[0]) + int(folded), *map(int, row[1:])), strict=True))


def spent_by_kind(session: Session, app_id: str | None = None, since: datetime | None = None) -> dict[str, int]:
    """Return spending (micro-units) by kind of work, of one app or of all; ``since`` is within a day of now."""
    spent: Counter[str] = Counter()
    for table in (Spending, DaySpending) if since is None else (Spending,):
        query = select(table.kind, func.sum(table.micro)).group_by(table.kind)
        if app_id is not None:
            query = query.where(table.app_id == app_id)
        if since is not None:
            query = query.where(Spending.at > since)
        spent.update({kind: int(micro) for kind, micro in session.execute(query)})
    return dict(spent)


def busiest_apps(session: Session, since: datetime, limit: int) -> Sequence[str]:
    """Return the installed apps that spent most since a time, at most so many."""
    spent = select(Spending.app_id, func.sum(Spending.micro).label("micro")).where(Spending.at > since)
    sums = spent.group_by(Spending.app_id).subquery()
    query = select(App.app_id).outerjoin(sums, sums.c.app_id == App.app_id).where(App.uninstalled_at.is_(None))
    return session.scalars(query.order_by(func.coalesce(sums.c.micro, 0).desc(), App.app_id).limit(limit)).all()


def spent_by_app(session: Session, app_ids: Collection[str], since: datetime) -> dict[tuple[str, str], int]:
    """Return what apps spent since a time, by (app, kind of work), in micro-units."""
    query = select(Spending.app_id, Spending.kind, func.sum(Spending.micro)).where(
        Spending.app_id.in_(app_ids), Spending.at > since
    )
    rows = session.execute(query.group_by(Spending.app_id, Spending.kind))
    return {(app_id, kind): int(micro) for app_id, kind, micro in rows}


def spent_by_conversation(session: Session, conversation_key: int) -> int:
    """Return what a conversation has cost, in micro-units."""
    return int(session.scalar(select(spent_of(literal(conversation_key)))) or 0)


def spent_of(conversation_key: SQLColumnExpression[int]) -> ColumnElement[int]:
    """Say what a conversation has cost, in micro-units."""
    mine, folded = Spending.conversation_key == conversation_key, ConversationSpending
    booked = select(func.coalesce(func.sum(Spending.micro), 0)).where(mine).scalar_subquery()
    before = select(folded.micro).where(folded.conversation_key == conversation_key).scalar_subquery()
    return booked + func.coalesce(before, 0)


def calls_of_job(session: Session, job_id: str) -> Sequence[Spending]:
    """Return the calls of a job that stand in the ledger, the oldest first."""
    return session.scalars(select(Spending).where(Spending.job_id == job_id).order_by(Spending.entry)).all()


def was_asked(session: Session, job_id: str, model: str) -> bool:
    """Whether a job has asked a model anything; vectors are no question."""
    of_job = (Spending.job_id == job_id, Spending.model == model, Spending.kind != WorkKind.EMBED)
    return session.scalar(select(Spending.entry).where(*of_job).limit(1)) is not None


def typical_job(session: Session) -> int:
    """Return the mean cost of the latest jobs, in micro-units; 0 when nothing was spent yet."""
    of_jobs = select(Spending.job_id, Spending.micro).where(Spending.job_id.is_not(None))
    latest = of_jobs.order_by(Spending.entry.desc()).limit(_SAMPLED_CALLS).subquery()
    total, jobs = session.execute(select(func.sum(latest.c.micro), func.count(latest.c.job_id.distinct()))).one()
    return int(total) // jobs if jobs else 0


def paid_conversations(session: Session, models: Collection[str]) -> tuple[int, int]:
    """Return what the conversations cost, in micro-units, that the latest calls of models were about; how many."""
    # Bounded by key: a model that was last asked long ago would else be looked for through the whole ledger.
    after = (session.scalar(select(func.max(Spending.entry))) or 0) - _LATEST
    about = (Spending.entry > after, Spending.conversation_key.is_not(None), Spending.model.in_(models))
    calls = select(Spending.conversation_key, Spending.micro).where(*about).order_by(Spending.entry.desc())
    latest = calls.limit(_SAMPLED_PAID).subquery()
    counted = select(func.coalesce(func.sum(latest.c.micro), 0), func.count(latest.c.conversation_key.distinct()))
    total, conversations = session.execute(counted).one()
    return int(total), int(conversations)


def memory_share(session: Session, since: datetime) -> float | None:
    """Return the share of memory work in all energy spent since then, 0..1; None when nothing was spent."""
    by_kind = spent_by_kind(session, since=since)
    total = sum(by_kind.values())
    memory = sum(micro for kind, micro in by_kind.items() if kind in MEMORY_KINDS)
    return memory / total if total else None


_LEAST_IDLE_SECONDS = 1.0


def get_leadership(session: Session) -> Leadership | None:
    """Return the one row; None before the first loop ever started."""
    return session.get(Leadership, 1, populate_existing=True)


def hold_fence(session: Session, idle_seconds: float) -> int | None:
    """Return the fence of whoever regulates and keep it so until this transaction ends.

    PostgreSQL lets a takeover wait for the shared lock, and ends the transaction by itself when nothing is said in it
    for ``idle_seconds``, so that a frozen process cannot keep the lock. On SQLite the writer is alone anyway.
    """
    fence = select(Leadership.fence).where(Leadership.only_row == 1, Leadership.holder.is_not(None))
    query = fence.with_for_update(read=True)
    if session.get_bind().dialect.name == "postgresql":
        limit = func.set_config(
            "idle_in_transaction_session_timeout", f"{int(max(_LEAST_IDLE_SECONDS, idle_seconds) * 1000)}ms", True
        )
        # Set by the statement that locks: a process that freezes right behind it keeps the lock no longer than this.
        query = query.add_columns(limit)
    found = session.execute(query).first()
    return None if found is None else int(found[0])


def token_rate(session: Session, model: str) -> TokenRate | None:
    """Return what is known of a model, which may be named with its provider or without."""
    names = (model, *(f"{provider}:{model}" for provider in MODEL_PROVIDERS))
    found = {rate.model: rate for rate in session.scalars(select(TokenRate).where(TokenRate.model.in_(names)))}
    return next((found[name] for name in names if name in found), None)


_SUMS = ("calls", "prompt_tokens", "completion_tokens", "micro")


def fold(session: Session, before: datetime, limit: int) -> int:
    """Fold the oldest settled rows of before a time, at most ``limit``; return how many."""
    old = select(Spending).where(Spending.at < before, Spending.settled)
    rows = session.scalars(old.order_by(Spending.at).limit(limit)).all()
    days: dict[tuple[object, ...], Counter[str]] = {}
    conversations: Counter[int] = Counter()
    for row in rows:
        # A day in UTC: counts per day go by no person's clock (decision 36).
        sums = days.setdefault((row.app_id, row.at.date(), row.kind, row.model), Counter())
        sums.update(dict(zip(_SUMS, (1, row.prompt_tokens, row.completion_tokens, row.micro), strict=True)))
        if row.conversation_key is not None:
            conversations[row.conversation_key] += row.micro
    if rows:
        names = ("app_id", "day", "kind", "model")
        _add(session, DaySpending.__table__, _SUMS, [dict(zip(names, key, strict=True)) | s for key, s in days.items()])
        session.execute(delete(Spending).where(Spending.entry.in_([row.entry for row in rows])))
    if conversations:
        of_each = [{"conversation_key": key, "micro": micro} for key, micro in conversations.items()]
        _add(session, ConversationSpending.__table__, ("micro",), of_each)
    return len(rows)


def _add(session: Session, table: Any, sums: Sequence[str], rows: Sequence[Mapping[str, object]]) -> None:
    """Insert rows of sums, or add to those that stand."""
    assert isinstance(table, Table)
    insert = (sqlite if session.get_bind().dialect.name == "sqlite" else postgresql).insert(table)
    added = {name: table.c[name] + insert.excluded[name] for name in sums}
    session.execute(insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=added), list(rows))
