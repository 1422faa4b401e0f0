"""What was spent hour by hour, and how low the level went: summed by the database from the rows of the ledger.

What was folded is older than a day, and so is not looked at.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, extract, func, select
from sqlalchemy.orm import Session

from shared.energy.budget import FULL, drained, refilled
from shared.energy.models import Spending
from shared.llm.calls import EXTRACTIVE

HOUR = timedelta(hours=1)
_MINUTE = timedelta(minutes=1)
_OF_MODELS = func.count().filter(Spending.model != EXTRACTIVE)


@dataclass
class HourOfEnergy:
    """Spending of an hour (UTC), in micro-units, and the lowest level that it left."""

    hour: datetime
    lowest: int = FULL
    calls: int = 0
    model_calls: int = 0
    """Of them those of models: the others were made by the rules that are built in."""
    by_kind: Counter[str] = field(default_factory=Counter)
    by_app: Counter[str] = field(default_factory=Counter)


def hours_of_energy(session: Session, hours: int, per_second: float, now: datetime) -> Sequence[HourOfEnergy]:
    """Return the last hours, at most 24, the present one last; each call counts for when it ended."""
    present = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    found = {at: HourOfEnergy(at) for at in (present - before * HOUR for before in range(hours - 1, -1, -1))}
    first, hour = present - (hours - 1) * HOUR, _bucket(HOUR)
    spent = select(hour, Spending.kind, Spending.app_id, func.sum(Spending.micro), func.count(), _OF_MODELS).where(
        Spending.at >= first, Spending.at <= now
    )
    grouped = spent.group_by(hour, Spending.kind, Spending.app_id)
    for at, kind, app_id, micro, calls, model_calls in session.execute(grouped):
        one = found[datetime.fromtimestamp(int(at), UTC)]
        one.by_kind[kind] += int(micro)
        one.by_app[app_id] += int(micro)
        one.calls += calls
        one.model_calls += model_calls
    _reckon_levels(session, found, per_second, now)
    return list(found.values())


def _reckon_levels(session: Session, found: dict[datetime, HourOfEnergy], per_second: float, now: datetime) -> None:
    """Fill in the lowest levels: no level is recorded, so it is reckoned minute by minute, from a full one before.

    A minute's calls count as if they came at once, so that what is shown is lower than what was, never higher.
    """
    start, minute = next(iter(found)) - HOUR, _bucket(_MINUTE)
    spent = select(minute, func.sum(Spending.micro)).where(Spending.at >= start, Spending.at <= now)
    level, at = FULL, start
    for seconds, micro in session.execute(spent.group_by(minute).order_by(minute)):
        when = datetime.fromtimestamp(int(seconds), UTC)
        _fill(found, level, at, when, per_second)
        level, at = drained(refilled(level, at, when, per_second), int(micro)), when
    _fill(found, level, at, now + _MINUTE, per_second)


def _fill(found: dict[datetime, HourOfEnergy], level: int, since: datetime, until: datetime, per_second: float) -> None:
    """Note a level that only rises from ``since`` until ``until``, in each hour that it reaches into."""
    for hour, one in found.items():
        begin = max(hour, since)
        if begin < min(until, hour + HOUR):
            one.lowest = min(one.lowest, refilled(level, since, begin, per_second))


def _bucket(length: timedelta) -> ColumnElement[int]:
    """Say when the hour or minute of a call began, in seconds of Unix time."""
    seconds = extract("epoch", Spending.at)
    # By arithmetic, as the databases cut times in ways of their own.
    return seconds - seconds % int(length.total_seconds())
