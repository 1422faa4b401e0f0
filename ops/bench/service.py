"""The speed of the whole service without a model: ``python -m ops.bench.service``.

Starts a Redis, a loop and two workers of its own and prints JSON: delay from ending a conversation to its memory,
conversations ended per second, what a job costs over a bare Celery task in the same run, and reading at 10 and at
10,000 apps with the cost of the cap check at both. Figures of one run compare; milliseconds of two machines do not.
"""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

from ops.bench import harness
from ops.bench.population import app_id, populate
from ops.bench.workers import BARE_KEY, BARE_TASK
from shared.apps.queries import lock_app
from shared.base.audit import Cause
from shared.base.clock import SystemClock
from shared.base.settings import Settings
from shared.base.subjects import Subject
from shared.broker import make_celery
from shared.db.engine import Database
from shared.jobs.queries import get_job
from shared.memories.writing import NewMemory, insert_memory

SIZES = (10, 10_000)
_SAID = (
    "I moved the beehives to the orchard on Tuesday, number {n}.",
    "Good. Do you want a reminder to feed them?",
    "Yes, every second Friday, and Marta gets {n} jars of honey in August.",
)


def measure(
    folder: Path,
    database_url: harness.DatabaseUrl = None,
    conversations: Annotated[int, "how many are ended for the sustained rate"] = 1000,
) -> dict[str, Any]:
    """Run everything in ``folder``; return the figures."""
    env = harness.QUICK | {"AFTERTHOUGHT_WORKER_CONCURRENCY": "1"}
    with harness.serve(folder, database_url, env, workers=2, worker=("ops.bench.workers", "bare")) as service:
        line, database = service.connect(), service.database
        harness.say("warming up")
        _delays(line, database, "warm", 20)
        harness.say("delay from end to memory, and a bare Celery task")
        bare = _bare(service, 200)
        delays, jobs, queued = _delays(line, database, "delay", 200)
        calls = "afterthought_model_call_duration_seconds"
        created = sum(one.value for one in service.samples(f"{calls}_count") if one.labels["kind"] == "create_memory")
        thinking = sum(one.value for one in service.samples(f"{calls}_sum")) / max(1.0, created)
        figures = {
            "database": "sqlite" if database.is_sqlite else "postgresql",
            "workers": 2,
            "end_to_memory": harness.spread(delays),
            "job_written_to_begun": harness.spread(queued),
            "job_written_to_done": harness.spread(jobs),
            "bare_celery_task": harness.spread(bare),
            "agent_mean_ms": round(thinking * 1000, 3),
            "queue_overhead_over_bare_task_p50_ms": round((median(queued) - median(bare)) * 1000, 3),
            "job_overhead_over_bare_task_p50_ms": round((median(jobs) - median(bare) - thinking) * 1000, 3),
        }
        harness.say(f"ending {conversations} conversations")
        figures["sustained"] = _sustained(service, conversations)
        for apps, before in zip(SIZES, (0, *SIZES), strict=False):
            harness.say(f"reading with {apps} apps")
            populate(database, apps, before)
            figures[f"with_{apps}_apps"] = _reading(line, database, apps)
    small, large = (figures[f"with_{apps}_apps"] for apps in SIZES)
    return figures | {"large_over_small_p50": {k: round(large[k]["p50_ms"] / small[k]["p50_ms"], 2) for k in small}}


def _open(line: harness.Connection, app: str, name: str, number: int) -> str:
    """Say something in a new conversation; return where it is ended."""
    roles = ("user", "assistant", "user")
    said = [{"role": role, "content": text.format(n=number)} for role, text in zip(roles, _SAID, strict=True)]
    harness.converse(line, app, name, said)
    return f"/apps/{app}/conversations/{name}/end"


def _delays(
    line: harness.Connection, database: Database, app: str, count: int
) -> tuple[list[float], list[float], list[float]]:
    """Return seconds, one conversation after the other: from asking for the end to the commit of the memory, from the
    job's writing to that commit, and from the job's writing to its beginning in a worker."""
    line.send("POST", "/apps", {"appId": app, "name": app})
    delays, jobs, queued = list[float](), list[float](), list[float]()
    for number in range(count):
        end = _open(line, app, f"c{number}", number)
        begun = time.time()
        job_id = line.send("POST", end, {})["jobs"][0]["jobId"]
        harness.wait_for_job(line, job_id)
        with database.read() as session:
            job = get_job(session, job_id)
        assert job.finished_at is not None and job.started_at is not None
        delays.append(job.finished_at.timestamp() - begun)
        jobs.append((job.finished_at - job.created_at).total_seconds())
        queued.append((job.started_at - job.created_at).total_seconds())
    return delays, jobs, queued


def _bare(service: harness.BenchService, count: int) -> list[float]:
    """Return seconds from sending a bare task to its running, one after the other, over the same broker."""
    celery = make_celery(Settings(redis_url=service.system.redis_url))
    delays = []
    with celery.connection_for_read() as connection:
        client = connection.default_channel.client
        for _ in range(count):
            celery.send_task(BARE_TASK, kwargs={"sent_at": time.time()}, queue="memory", priority=7)
            sent_at, ran_at = map(float, client.blpop([BARE_KEY], timeout=30)[1].split())
            delays.append(ran_at - sent_at)
    celery.close()
    return delays


def _sustained(service: harness.BenchService, count: int) -> dict[str, Any]:
    lines, apps = [service.connect(), service.connect()], [f"rate{n}" for n in range(40)]
    for app in apps:
        lines[0].send("POST", "/apps", {"appId": app, "name": app})
    ends = [_open(lines[0], apps[n % len(apps)], f"r{n}", n) for n in range(count)]
    begun = time.time()
    with ThreadPoolExecutor(2) as clients:
        list(clients.map(lambda n: [lines[n].send("POST", end, {}) for end in ends[n::2]], range(2)))
    ended = time.time()
    service.settle()
    return {
        "conversations": count,
        "ended_per_second": round(count / (ended - begun), 1),
        "remembered_per_second": round(count / (time.time() - begun), 1),
    }


def _reading(line: harness.Connection, database: Database, apps: int) -> dict[str, Any]:
    chance = random.Random(7)
    chosen = [app_id(chance.randrange(apps)) for _ in range(1000)]
    asked = {"message": "What about the beans?"}
    return {
        "memories": harness.spread(harness.timed(partial(line.send, "GET", f"/apps/{app}/memories") for app in chosen)),
        "context": harness.spread(
            harness.timed(partial(line.send, "POST", f"/apps/{app}/context", asked) for app in chosen)
        ),
        "write_at_the_cap": harness.spread(harness.timed(partial(_write_one, database, app) for app in chosen[:300])),
    }


def _write_one(database: Database, app: str) -> None:
    with database.write() as session:
        lock_app(session, app)
        new = NewMemory(content="User: bought a second beehive.", agent="extractive", epoch=0)
        insert_memory(session, Subject(app), new, Cause("extractive", "bench", SystemClock().now()), 10)


if __name__ == "__main__":
    harness.run(measure)
