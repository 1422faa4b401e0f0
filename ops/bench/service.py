"""The speed of the whole service without a model: ``python -m ops.bench.service``.

Starts a Redis, a loop and two workers of its own and prints JSON: delay from ending a conversation to its memory,
conversations ended per second, what a job costs over a bare Celery task in the same run, and reading at 10 and at
10,000 apps with the cost of the cap check at both. Figures of one run compare; milliseconds of two machines do not.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from ops.bench.bare_worker import BARE_KEY, BARE_TASK
from ops.bench.figures import say, show, spread, timed
from ops.bench.population import app_id, populate
from shared.apps.queries import lock_app
from shared.base.audit import Cause
from shared.base.clock import SystemClock
from shared.base.settings import Settings
from shared.broker import make_celery
from shared.db.engine import Database
from shared.jobs.models import OPEN, Job
from shared.jobs.queries import JobFilter, get_job, list_jobs
from shared.memories.writing import NewMemory, place
from tests.support.services import System, start_redis, start_system
from tests.support.waiting import wait_until

SIZES = (10, 10_000)
_ENV = {
    "AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "1000", "AFTERTHOUGHT_LOG_LEVEL": "warning",
    "AFTERTHOUGHT_WORKER_CONCURRENCY": "1",
}  # fmt: skip
_SAID = (
    "I moved the beehives to the orchard on Tuesday, number {n}.",
    "Good. Do you want a reminder to feed them?",
    "Yes, every second Friday, and Marta gets {n} jars of honey in August.",
)


def main(arguments: list[str]) -> int:
    """Measure and print."""
    options = _options(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        show(measure(Path(folder), options.database_url, options.conversations))
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", help="an empty PostgreSQL; SQLite in a temporary folder otherwise")
    parser.add_argument("--conversations", type=int, default=1000, help="how many are ended for the sustained rate")
    return parser.parse_args(arguments)


def measure(folder: Path, database_url: str | None, conversations: int) -> dict[str, Any]:
    """Run everything in ``folder``; return the figures."""
    url = database_url or f"sqlite:///{folder / 'bench.db'}"
    redis = start_redis(folder / "redis")
    try:
        with start_system(folder, url, redis.url, workers=2, env=_ENV, loop=False) as system:
            for worker in system.workers:
                worker.argv = (sys.executable, "-m", "ops.bench.bare_worker")
            for process in system.processes:
                process.start()
            system.wait_ready()
            database = Database(url)
            with system.client() as client:
                figures = _measure(system, client, database, conversations)
            database.dispose()
            return {"database": "sqlite" if database.is_sqlite else "postgresql", "workers": 2, **figures}
    finally:
        redis.stop()


def _measure(system: System, client: httpx.Client, database: Database, conversations: int) -> dict[str, Any]:
    say("warming up")
    _delays(client, database, "warm", 20)
    say("delay from end to memory, and a bare Celery task")
    bare = _bare(system, 200)
    delays, jobs, queued = _delays(client, database, "delay", 200)
    thinking = _thinking_seconds(client)
    overhead = median(jobs) - median(bare) - thinking
    figures = {
        "end_to_memory": spread(delays),
        "job_written_to_begun": spread(queued),
        "job_written_to_done": spread(jobs),
        "bare_celery_task": spread(bare),
        "agent_mean_ms": round(thinking * 1000, 3),
        "queue_overhead_over_bare_task_p50_ms": round((median(queued) - median(bare)) * 1000, 3),
        "job_overhead_over_bare_task_p50_ms": round(overhead * 1000, 3),
    }
    say(f"ending {conversations} conversations")
    figures["sustained"] = _sustained(system, client, database, conversations)
    for apps, before in zip(SIZES, (0, *SIZES), strict=False):
        say(f"reading with {apps} apps")
        populate(database, apps, before)
        figures[f"with_{apps}_apps"] = _reading(client, database, apps)
    small, large = (figures[f"with_{apps}_apps"] for apps in SIZES)
    figures["large_over_small_p50"] = {what: round(large[what]["p50_ms"] / small[what]["p50_ms"], 2) for what in small}
    return figures


def _open(client: httpx.Client, app: str, name: str, number: int) -> str:
    base = f"/apps/{app}/conversations"
    client.post(base, json={"conversationId": name}).raise_for_status()
    roles = itertools.cycle(("user", "assistant"))
    messages = [{"role": next(roles), "content": text.format(n=number)} for text in _SAID]
    client.post(f"{base}/{name}/messages", json={"messages": messages}).raise_for_status()
    return f"{base}/{name}/end"


def _install(client: httpx.Client, app: str) -> None:
    client.post("/apps", json={"appId": app, "name": app}).raise_for_status()


def _delays(
    client: httpx.Client, database: Database, app: str, count: int
) -> tuple[list[float], list[float], list[float]]:
    """Return seconds, one conversation after the other: from asking for the end to the commit of the memory, from the
    job's writing to that commit, and from the job's writing to its beginning in a worker."""
    _install(client, app)
    delays: list[float] = []
    jobs: list[float] = []
    queued: list[float] = []
    for number in range(count):
        end = _open(client, app, f"c{number}", number)
        begun = time.time()
        job_id = client.post(end, json={}).raise_for_status().json()["jobs"][0]["jobId"]
        job = wait_until(_finished(database, job_id), 30, f"job {job_id}")
        assert job.finished_at is not None and job.started_at is not None
        delays.append(job.finished_at.timestamp() - begun)
        jobs.append((job.finished_at - job.created_at).total_seconds())
        queued.append((job.started_at - job.created_at).total_seconds())
    return delays, jobs, queued


def _finished(database: Database, job_id: str) -> Callable[[], Job | None]:
    def look() -> Job | None:
        with database.read() as session:
            job = get_job(session, job_id)
        return job if job.finished_at is not None else None

    return look


def _bare(system: System, count: int) -> list[float]:
    """Return seconds from sending a bare task to its running, one after the other, over the same broker."""
    celery = make_celery(Settings(redis_url=system.redis_url))
    delays = []
    with celery.connection_for_read() as connection:
        client = connection.default_channel.client
        for _ in range(count):
            celery.send_task(BARE_TASK, kwargs={"sent_at": time.time()}, queue="memory", priority=7)
            _, ran = client.blpop([BARE_KEY], timeout=30)
            sent_at, ran_at = map(float, ran.split())
            delays.append(ran_at - sent_at)
    celery.close()
    return delays


def _thinking_seconds(client: httpx.Client) -> float:
    """Return the mean seconds of the agent's own work in a job, as the workers counted it."""
    text = client.get("/metrics").raise_for_status().text
    samples = {
        sample.name + sample.labels.get("kind", ""): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    spent = sum(
        value for name, value in samples.items() if name.startswith("afterthought_model_call_duration_seconds_sum")
    )
    return spent / max(1.0, samples["afterthought_model_call_duration_seconds_countcreate_memory"])


def _sustained(system: System, client: httpx.Client, database: Database, count: int) -> dict[str, Any]:
    apps = [f"rate{n}" for n in range(40)]
    for app in apps:
        _install(client, app)
    ends = [_open(client, apps[n % len(apps)], f"r{n}", n) for n in range(count)]
    begun = time.time()
    with ThreadPoolExecutor(2) as clients, system.client() as second:
        list(
            clients.map(
                lambda pair: pair[0].post(pair[1], json={}).raise_for_status(),
                zip(itertools.cycle((client, second)), ends),
            )
        )
    ended = time.time()
    wait_until(lambda: not unfinished(database), 600, "every job to finish")
    finished = time.time()
    return {
        "conversations": count,
        "ended_per_second": round(count / (ended - begun), 1),
        "remembered_per_second": round(count / (finished - begun), 1),
    }


def unfinished(database: Database) -> bool:
    """Whether any job has yet to end."""
    with database.read() as session:
        return any(list_jobs(session, JobFilter(state), 1) for state in OPEN)


def _reading(client: httpx.Client, database: Database, apps: int) -> dict[str, Any]:
    chance = random.Random(7)
    chosen = [app_id(chance.randrange(apps)) for _ in range(1000)]
    message = {"message": "What about the beans?"}
    return {
        "memories": spread(timed(lambda a=app: client.get(f"/apps/{a}/memories").raise_for_status() for app in chosen)),
        "context": spread(
            timed(lambda a=app: client.post(f"/apps/{a}/context", json=message).raise_for_status() for app in chosen)
        ),
        "write_at_the_cap": spread(timed(lambda a=app: _write_one(database, a) for app in chosen[:300])),
    }


def _write_one(database: Database, app: str) -> None:
    with database.write() as session:
        lock_app(session, app)
        new = NewMemory(content="User: bought a second beehive.", agent="extractive", epoch=0)
        place(session, app, new, Cause("extractive", "bench", SystemClock().now()), 10)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
