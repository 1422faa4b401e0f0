"""A day of a thousand apps, with and without the regulator: ``python -m ops.bench.governing``.

The real relay, tenant queues, ledger and pipeline over a SQLite file, with a set clock and a scripted agent.
Conversations arrive by a daily curve, a few apps bringing most of them; the loop is asked for answers in them, which
draw on the same energy, and one app ends a great many conversations at once at noon. Prints JSON, both runs side by
side: the level, the most drawn in a minute, what was deferred, how long apps waited for their memories, how long people
waited for answers, and the share of memory work.

Energy stands for a model server that does so many units a second. What a call finds in that server's queue is reckoned
from the ledger in both runs alike: without the regulator nothing waits in the loop, and everything waits there.
"""

from __future__ import annotations

import heapq
import random
import tempfile
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from loop.regulator import Allowance, Regulator
from ops.bench.harness import run, say
from shared.base.settings import Settings
from shared.db.schema import migrate
from shared.energy import ledger
from shared.energy.budget import FLOOR, seconds_until_open, to_micro, to_units
from shared.energy.models import EnergyLevel, Spending
from shared.jobs.tenant_queues import ScheduleLimits
from shared.llm.calls import CallOutcome, ModelCall, WorkKind
from tests.support.house import House
from tests.support.relaying import Relay

DAY = timedelta(days=1)
START = datetime(2026, 3, 1, tzinfo=UTC)
_ANSWER = ModelCall(WorkKind.THINK, "ollama:scripted", 1000, 80, False, CallOutcome.ANSWERED, 2.0)
_FLOOD = "app-flood"
_GATE = 20.0


def measure(
    apps: int = 1000,
    conversations: Annotated[int, "in a day, of all apps"] = 2500,
    answers: Annotated[int, "asked of the loop in each conversation but the flood's"] = 3,
    flood: Annotated[int, "conversations one app ends at noon, all at once"] = 300,
    refill: Annotated[float, "units a second"] = 2.5,
) -> dict[str, Any]:
    """Simulate the same day twice; return the figures."""
    plan = _day(apps, conversations, answers, flood)
    return {
        "apps": apps,
        "conversations": sum(not event.asks for event in plan),
        "answers_wanted": sum(event.asks for event in plan),
        "refill_per_second": refill,
        "with_regulator": _one_day(plan, refill, governed=True),
        "without_regulator": _one_day(plan, refill, governed=False),
    }


@dataclass(frozen=True, order=True)
class _Event:
    """An app asks for an answer, or ends a conversation."""

    at: datetime
    number: int
    app: str
    asks: bool


def _day(app_count: int, conversations: int, answers: int, flood: int) -> list[_Event]:
    """Return what happens when: busy by day, quiet by night, apps by Zipf's law, and one flood."""
    chance = random.Random(7)
    apps = [f"app-{number:04d}" for number in range(app_count - 1)]
    weights = [1 / (rank + 1) for rank in range(len(apps))]
    who = chance.choices(apps, weights, k=max(conversations - flood, len(apps)))
    who[: len(apps)] = apps  # Every app has at least one.
    plan = [_Event(START + DAY / 2, number, _FLOOD, asks=False) for number in range(flood)]
    for number, app in enumerate(who, start=len(plan)):
        ends = START + DAY * min(0.999, max(0.0, chance.triangular(0.1, 1.0, 0.6)))
        plan.append(_Event(ends, number, app, asks=False))
        asked = (ends - timedelta(minutes=chance.uniform(0.5, 10)) for _ in range(answers))
        plan += [_Event(at, number, app, asks=True) for at in asked]
    return sorted(plan)


class _Ungoverned(Regulator):
    """What others do: everything starts as soon as a worker is free."""

    def allowance(self, session: Session) -> Allowance:
        return Allowance(64)

    def schedule_limits(self, session: Session, app_id: str, kind: str) -> ScheduleLimits:
        return ScheduleLimits()


@dataclass
class _Seen:
    """What is watched over the day."""

    refill: float
    levels: list[tuple[datetime, float]] = field(default_factory=list)
    waits: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    held_answers: list[float] = field(default_factory=list)
    """How long each answer was held back for energy, in seconds."""


def _one_day(plan: list[_Event], refill: float, governed: bool) -> dict[str, Any]:
    say(f"simulating a day {'with' if governed else 'without'} the regulator")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        url = f"sqlite:///{Path(folder) / 'day.db'}"
        migrate(url)
        house = House(url)
        house.clock.at = START
        settings = Settings(energy_refill_per_second=refill, energy_gate_percent=_GATE, in_flight_jobs=64)
        regulator = (Regulator if governed else _Ungoverned)(house.database, house.clock, settings)
        for app in sorted({event.app for event in plan}):
            house.install(app)
        seen = _Seen(refill)
        _live(house, Relay(house, regulator), regulator, list(plan), seen)
        figures = _figures(house, seen)
        house.database.dispose()
        return figures


def _live(house: House, relay: Relay, regulator: Regulator, events: list[_Event], seen: _Seen) -> None:
    ended: dict[str, datetime] = {}
    asked: deque[_Event] = deque()
    heapq.heapify(events)
    while events or ended or asked:
        house.clock.at = _next_moment(house, regulator, events, asked, bool(ended), seen.refill)
        while events and events[0].at <= house.clock.at:
            event = heapq.heappop(events)
            if event.asks:
                asked.append(event)
            else:
                said = f"On day {event.number} I planted {event.number} rows of beans."
                [job] = house.converse(event.app, f"c{event.number}", said, "Noted.")
                ended[job.job_id] = house.clock.at
        _answer(house, regulator, asked, seen)
        _work(house, relay, regulator, ended, seen)
        seen.levels.append((house.clock.at, _level(house, regulator)))


def _next_moment(
    house: House, regulator: Regulator, events: list[_Event], asked: Sequence[_Event], waiting: bool, refill: float
) -> datetime:
    """Return the next arrival, or when there is energy again for what waits for it."""
    moments = [events[0].at] if events else []
    for waits, percent in ((bool(asked), 0.0), (waiting, _GATE)):
        if waits:
            left = seconds_until_open(to_micro(_level(house, regulator)), percent, refill)
            moments.append(house.clock.at + timedelta(seconds=max(0.5, (left or 0) + 0.001)))
    return max(house.clock.at, min(moments))


def _answer(house: House, regulator: Regulator, asked: deque[_Event], seen: _Seen) -> None:
    """Answer who asked first, while any energy is left; what an answer draws is settled at once."""
    while asked and (isinstance(regulator, _Ungoverned) or _level(house, regulator) > 0):
        event = asked.popleft()
        house.accountant.meter(ledger.LedgerAccount(event.app, None, None))(_ANSWER)
        regulator.settle()
        seen.held_answers.append((house.clock.at - event.at).total_seconds())


def _work(house: House, relay: Relay, regulator: Regulator, ended: dict[str, datetime], seen: _Seen) -> None:
    while True:
        more = relay.step.run()
        claims = list(relay.claims())
        for claim in claims:
            seen.waits[claim.app_id].append((house.clock.at - ended.pop(claim.job_id)).total_seconds())
            house.pipeline(claim)
        regulator.settle()
        if not claims and not more:
            return


def _level(house: House, regulator: Regulator) -> float:
    with house.database.read() as session:
        return to_units(regulator.level(session))


def _empty_seconds(levels: list[tuple[datetime, float]], refill: float) -> float:
    """Return for how long the level stood at or below 0; between two moments it only refills."""
    spans = ((level, (later - at).total_seconds()) for (at, level), (later, _) in pairwise(levels))
    return sum(min(seconds, -level / refill) for level, seconds in spans if level <= 0)


def _most_in(span: timedelta, calls: Sequence[Any]) -> int:
    """Return the most that was spent within any stretch of ``span``."""
    most = total = first = 0
    for at, micro, _ in calls:
        total += micro
        while calls[first][0] <= at - span:
            total -= calls[first][1]
            first += 1
        most = max(most, total)
    return most


def _queue(calls: Sequence[Any], per_second: float) -> tuple[list[float], float]:
    """Return how long each answer waits in the queue of a server of that speed, and the longest queue, in seconds."""
    queue, before, waits, longest = 0.0, START, list[float](), 0.0
    for at, micro, kind in calls:
        queue = max(0.0, queue - (at - before).total_seconds())
        before = at
        if kind == WorkKind.THINK:
            waits.append(queue)
        queue += to_units(micro) / per_second
        longest = max(longest, queue)
    return waits, longest


def _three(ordered: Sequence[float]) -> dict[str, float]:
    """Return p50, p95 and the longest."""
    at = (len(ordered) // 2, len(ordered) * 95 // 100, -1)
    return dict(zip(("p50", "p95", "longest"), (round(ordered[i], 1) for i in at), strict=True))


def _figures(house: House, seen: _Seen) -> dict[str, Any]:
    with house.database.read() as session:
        share = ledger.memory_share(session, START)
        spent = sum(ledger.spent_by_kind(session).values())
        drawn = ledger.drawn(session)
        calls = session.execute(select(Spending.at, Spending.micro, Spending.kind).order_by(Spending.entry)).all()
        settled = session.get_one(EnergyLevel, 1).micro >= FLOOR
    queued, longest_queue = _queue(calls, seen.refill)
    levels = [level for _, level in seen.levels]
    waits = sorted(wait for of_app in seen.waits.values() for wait in of_app)
    others = {app: mean(of_app) for app, of_app in seen.waits.items() if app != _FLOOD}
    return {
        "level": {
            "least": round(min(levels), 2),
            "seconds_at_or_below_0": round(_empty_seconds(seen.levels, seen.refill), 1),
            "never_below_floor": settled and min(levels) >= to_units(FLOOR),
        },
        "most_drawn_in_a_minute_units": round(to_units(_most_in(timedelta(minutes=1), calls)), 1),
        "deferrals": house.counted("energy_deferrals_total"),
        "memories_written": len(waits),
        "memory_wait_in_the_loop_seconds": _three(waits),
        "memory_wait_in_the_loop_of_apps_that_did_not_flood_seconds": {
            "mean": round(mean(others.values()), 1),
            "of_the_app_that_waited_longest": round(max(others.values()), 1),
        },
        "answers": len(seen.held_answers),
        "answer_wait_seconds": _three(sorted(map(sum, zip(seen.held_answers, queued, strict=True)))),
        "server_queue_seconds": round(longest_queue, 1),
        "memory_share": round(share or 0.0, 4),
        "ledger_equals_drawn": spent == drawn,
        "spent_units": to_units(spent),
    }


if __name__ == "__main__":
    run(measure)
