"""What a loop with nothing to do costs: ``python -m ops.bench.idling``.

Starts a Redis and a loop with default settings and prints JSON: its share of one core, the transactions it opens a
second and its model calls, on an empty database and again while jobs wait for energy.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import sqlalchemy as sa

from loop.wiring import wire
from ops.bench.harness import DatabaseUrl, run, say, serve
from ops.bench.population import app_id, populate
from shared.base.clock import SystemClock
from shared.base.settings import Settings
from shared.contracts.jobs import JobKind
from shared.db.engine import Database
from shared.energy.budget import FULL
from shared.energy.models import EnergyLevel
from shared.jobs.dispatch import NewJob, enqueue
from shared.jobs.models import JobState
from shared.jobs.queries import JobFilter, list_jobs
from tests.support.services import System
from tests.support.waiting import wait_until

_APPS = 100
_SETTLING_SECONDS = 3.0
_COUNTING_SECONDS = 10.0


def measure(
    folder: Path,
    database_url: DatabaseUrl = None,
    seconds: Annotated[float, "how long each is watched"] = 60.0,
    deferred: Annotated[int, "how many jobs wait in the second part"] = 10_000,
) -> dict[str, Any]:
    """Run everything in ``folder``; return the figures."""
    url = database_url or f"sqlite:///{folder / 'bench.db'}"
    say("an empty database")
    figures = {"database": url.split(":")[0], "seconds": seconds, "empty": _watch(folder / "empty", url, seconds, {})}
    if deferred:
        say(f"{deferred} jobs that wait for energy")
        _defer(url, deferred)
        scarce = {"AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "0"}
        figures[f"with_{deferred}_deferred_jobs"] = _watch(folder / "full", url, seconds, scarce)
    return figures


def cpu_seconds(pid: int) -> float:
    """Return what a process has used of all cores so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _watch(folder: Path, url: str, seconds: float, env: Mapping[str, str]) -> dict[str, Any]:
    with serve(folder, url, env, workers=0) as service:

        def is_settled() -> bool:
            with service.database.read() as session:
                return not list_jobs(session, JobFilter(JobState.PENDING), 1)

        wait_until(is_settled, 120, "every job to be deferred")
        time.sleep(_SETTLING_SECONDS)
        begun, used = time.monotonic(), cpu_seconds(service.system.loop.pid)
        time.sleep(seconds)  # This is the measurement: nothing is waited for.
        share = (cpu_seconds(service.system.loop.pid) - used) / (time.monotonic() - begun)
        calls = sum(one.value for one in service.samples("afterthought_model_calls_total"))
        service.system.stop()
        return {
            "cpu_share_of_a_core_percent": round(100 * share, 3),
            "transactions_per_second": round(_transactions(folder, service.system, env), 2),
            "model_calls": int(calls),
        }


def _transactions(folder: Path, system: System, env: Mapping[str, str]) -> float:
    """Count in this process what the same loop opens, apart from what its start needs."""
    refill = float(env.get("AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND", "1"))
    given = {"database_url": system.database_url, "redis_url": system.redis_url, "energy_refill_per_second": refill}
    loop = wire(Settings(home=folder / "home", **given, _env_file=None))  # type: ignore[arg-type,call-arg]
    opened: list[float] = []
    sa.event.listen(loop.database.engine, "begin", lambda _: opened.append(time.monotonic()))
    loop.start()
    time.sleep(_SETTLING_SECONDS + _COUNTING_SECONDS)
    until = time.monotonic()
    loop.stop()
    return sum(until - _COUNTING_SECONDS <= at < until for at in opened) / _COUNTING_SECONDS


def _defer(url: str, jobs: int) -> None:
    database, now = Database(url), SystemClock().now()
    populate(database, _APPS)
    with database.write() as session:
        session.merge(EnergyLevel(only_row=1, micro=FULL // 10, drawn_micro=0, at=now))
    for app in range(_APPS):
        with database.write() as session:
            for number in range(jobs // _APPS):
                enqueue(session, NewJob(JobKind.CREATE_MEMORY, app_id(app), f"idle:{app}:{number}"), now)
    database.dispose()


if __name__ == "__main__":
    run(measure)
