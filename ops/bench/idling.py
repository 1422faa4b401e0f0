"""What a loop with nothing to do costs: ``python -m ops.bench.idling``.

Starts a Redis and a loop with default settings and prints JSON: its share of one core, the transactions it opens a
second and its model calls, on an empty database and again while jobs wait for energy.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families

from loop.wiring import wire
from ops.bench.figures import say, show
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
from tests.support.services import System, start_redis, start_system
from tests.support.waiting import wait_until

_APPS = 100
_SETTLING_SECONDS = 3.0
_COUNTING_SECONDS = 10.0
_SCARCE = {"AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "0"}


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", help="an empty PostgreSQL; SQLite in a temporary folder otherwise")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each is watched")
    parser.add_argument("--deferred", type=int, default=10_000, help="how many jobs wait in the second part")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        show(measure(Path(folder), options.database_url, options.seconds, options.deferred))
    return 0


def measure(folder: Path, database_url: str | None, seconds: float, deferred: int) -> dict[str, Any]:
    """Run everything in ``folder``; return the figures."""
    url = database_url or f"sqlite:///{folder / 'bench.db'}"
    redis = start_redis(folder / "redis")
    try:
        say("an empty database")
        figures: dict[str, Any] = {"empty": _watch(folder / "empty", url, redis.url, seconds, {})}
        if deferred:
            say(f"{deferred} jobs that wait for energy")
            _defer(url, deferred)
            figures[f"with_{deferred}_deferred_jobs"] = _watch(folder / "full", url, redis.url, seconds, _SCARCE)
        return {"database": url.split(":")[0], "seconds": seconds, **figures}
    finally:
        redis.stop()


def cpu_seconds(pid: int) -> float:
    """Return what a process has used of all cores so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _watch(folder: Path, url: str, redis_url: str, seconds: float, env: Mapping[str, str]) -> dict[str, Any]:
    folder.mkdir(parents=True)
    with start_system(folder, url, redis_url, 0, env) as system:
        _let_settle(url)
        begun, used = time.monotonic(), cpu_seconds(system.loop.pid)
        time.sleep(seconds)  # This is the measurement: nothing is waited for.
        share = (cpu_seconds(system.loop.pid) - used) / (time.monotonic() - begun)
        calls = _model_calls(system)
    return {
        "cpu_share_of_a_core_percent": round(100 * share, 3),
        "transactions_per_second": round(_transactions(folder, url, redis_url, env), 2),
        "model_calls": calls,
    }


def _let_settle(url: str) -> None:
    database = Database(url)

    def is_settled() -> bool:
        with database.read() as session:
            return not list_jobs(session, JobFilter(JobState.PENDING), 1)

    wait_until(is_settled, 120, "every job to be deferred")
    database.dispose()
    time.sleep(_SETTLING_SECONDS)


def _model_calls(system: System) -> int:
    with system.client() as client:
        families = text_string_to_metric_families(client.get("/metrics").text)
    return int(sum(one.value for f in families if f.name == "afterthought_model_calls" for one in f.samples))


def _transactions(folder: Path, url: str, redis_url: str, env: Mapping[str, str]) -> float:
    """Count in this process what the same loop opens, apart from what its start needs."""
    refill = float(env.get("AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND", "1"))
    settings = Settings(
        home=folder / "home", database_url=url, redis_url=redis_url, energy_refill_per_second=refill, _env_file=None
    )  # type: ignore[call-arg]
    loop = wire(settings)
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
    main()
