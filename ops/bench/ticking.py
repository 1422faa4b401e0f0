"""What a tick costs beside a large backlog: ``python -m ops.bench.ticking``.

Two installations in one run, one a hundred times the other: 1,000 open conversations with 100 deferred jobs, and
100,000 with 10,000. In each the loop's own steps are run again and again, all of them every time: with energy closed,
and with energy for a few jobs a tick. Nothing but the steps is timed; a real Redis takes what is sent, and between
ticks what was sent is finished as a worker would. Prints JSON: p50 and p95 of a whole tick and of each step, and the
large installation's p95 over the small one's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from sqlalchemy import insert, update

from loop.wiring import Loop, wire
from ops.bench.harness import run, say, seconds_of, spread
from ops.bench.population import app_id, install_apps
from shared.base.settings import read_settings
from shared.contracts.jobs import MEMORY_PRIORITY, JobKind, WorkClass
from shared.conversations.models import Conversation
from shared.db.schema import migrate
from shared.energy.budget import FULL, to_micro
from shared.energy.models import EnergyLevel, Spending
from shared.jobs import ownership, tenant_queues
from shared.jobs.models import Deferral, Job, JobState
from shared.jobs.ownership import Owner
from shared.jobs.queries import JobFilter, list_jobs
from tests.support.services import start_redis

SIZES = {"small": (1_000, 100), "large": (100_000, 10_000)}
"""Open conversations and deferred jobs."""
_PHASES = ("energy_closed", "energy_for_a_few")
_APPS = 100
_SELDOM_SECONDS = 60.0
"""Steps that run less often than this are shown, and are not part of the tick."""
_BATCH = 5_000


def measure(folder: Path, ticks: int = 200, scale: Annotated[float, "of both installations"] = 1.0) -> dict[str, Any]:
    """Fill both installations in ``folder`` and tick in them; return the figures."""
    redis = start_redis(folder / "redis")
    try:
        figures = {
            name: _installation(folder / name, redis.url, round(talks * scale), round(jobs * scale), ticks)
            for name, (talks, jobs) in SIZES.items()
        }
    finally:
        redis.stop()
    p95 = {name: {phase: found[phase]["tick"]["p95_ms"] for phase in _PHASES} for name, found in figures.items()}
    ratios = {phase: round(p95["large"][phase] / p95["small"][phase], 2) for phase in _PHASES}
    return figures | {"large_over_small_p95": ratios}


def _installation(folder: Path, redis_url: str, conversations: int, jobs: int, ticks: int) -> dict[str, Any]:
    say(f"filling {conversations} open conversations and {jobs} deferred jobs")
    folder.mkdir()
    settings = read_settings(
        home=folder, database_url=f"sqlite:///{folder / 'ticks.db'}", redis_url=redis_url, energy_refill_per_second=0,
        # A model nobody serves: what waits for an answer is looked for, and the turn fails beside the ticks.
        model="ollama:nobody", ollama_host="http://127.0.0.1:9", answer_after_seconds=0,
    )  # fmt: skip
    migrate(settings.database)
    loop = wire(settings)
    try:
        _fill(loop, conversations, jobs)
        loop.ticker.tick()  # Takes leadership, and does what is done once.
        before = (lambda: _set_level(loop, 10), lambda: _finish_all(loop))
        phases = {name: _phase(loop, ticks, call) for name, call in zip(_PHASES, before, strict=True)}
        return {"open_conversations": conversations, "deferred_jobs": jobs, **phases}
    finally:
        loop.drain(1.0)
        loop.celery.close()
        loop.redis.close()
        loop.database.dispose()


def _fill(loop: Loop, conversations: int, jobs: int) -> None:
    now = datetime.now(UTC)
    install_apps(loop.database, range(_APPS))
    spent = Spending(
        app_id=app_id(0), job_id="job_0", kind="create_memory", model="ollama:nobody", outcome="answered",
        prompt_tokens=1000, completion_tokens=50, estimated=False, micro=to_micro(11), settled=False, at=now,
    )  # fmt: skip
    with loop.database.write() as session:
        session.add(spent)
    for table, row, count in ((Conversation, _conversation, conversations), (Job, _job, jobs)):
        for start in range(0, count, _BATCH):
            with loop.database.write() as session:
                session.execute(insert(table), [row(n, now) for n in range(start, min(count, start + _BATCH))])
    with loop.database.write() as session:
        tenant_queues.reconcile(session, now)


def _conversation(number: int, now: datetime) -> dict[str, object]:
    """Every second one waits for an answer, and one of a hundred is snoozed."""
    since = now - timedelta(seconds=number % 3600) if number % 2 else None
    return {
        "app_id": app_id(number % _APPS), "conversation_id": f"open-{number}", "details": {}, "message_count": 1,
        "created_at": now, "updated_at": now, "unanswered_since": since, "focus_since": since, "think_attempts": 0,
        "snoozed_until": now + timedelta(days=1) if number % 100 == 0 else None,
    }  # fmt: skip


def _job(number: int, now: datetime) -> dict[str, object]:
    return {
        "job_id": f"job_{number:08d}", "kind": JobKind.CREATE_MEMORY, "app_id": app_id(number % _APPS),
        "dedupe": f"bench:{number}", "payload": {}, "priority": MEMORY_PRIORITY, "epoch": 0,
        "work_class": WorkClass.THOUGHT,
        "state": JobState.DEFERRED, "deferral": Deferral.ENERGY, "deferred_since": now, "reason": "energy",
        "attempts": 0, "max_attempts": 5, "fence": 0, "created_at": now, "due_at": now,
    }  # fmt: skip


def _phase(loop: Loop, ticks: int, before: Callable[[], None]) -> dict[str, Any]:
    whole, by_step = list[float](), defaultdict[str, list[float]](list)
    for _ in range(ticks):
        before()
        total = 0.0
        for step in loop.ticker.steps:
            by_step[step.name].append(taken := seconds_of(step.run))
            total += taken if step.every_seconds < _SELDOM_SECONDS else 0.0
        whole.append(total)
    return {"tick": spread(whole), "steps": {name: spread(each) for name, each in by_step.items()}}


def _set_level(loop: Loop, units: float) -> None:
    now = loop.clock.now()
    with loop.database.write() as session:
        if not session.get(EnergyLevel, 1):
            session.add(EnergyLevel(only_row=1, micro=FULL, drawn_micro=0, at=now))
            session.flush()
        session.execute(update(EnergyLevel).values(micro=to_micro(units), at=now))


def _finish_all(loop: Loop) -> None:
    """Finish what was sent, as a worker would, and leave energy for a few more."""
    now = loop.clock.now()
    with loop.database.write() as session:
        for job in list_jobs(session, JobFilter(state=JobState.QUEUED), 200):
            owner = Owner("bench/1", lambda _: False)
            claim = ownership.claim(session, job.job_id, job.fence, owner, now + timedelta(minutes=1), now)
            if claim is not None:
                ownership.finish(session, claim, JobState.DONE, now)
    _set_level(loop, 60)


if __name__ == "__main__":
    run(measure)
