"""What more workers and more loops bring, and what ten million finished jobs cost: ``python -m ops.bench.scaling``.

First, on PostgreSQL: conversations of many apps, or with ``--one-app`` of many users of one, are ended, and
remembered by 1, 2 and 4 workers that wait half a second for each as for a model, under 1 and 2 loops. The rate beside
what that waiting alone would allow says whether anything else holds it back. Facts are off and vectors are hashed
words, so that two cores are enough.

Second, with ``--fill``: an installation that is small, and one filled with finished jobs, conversations and apps. What
the steps of the loop, listings and the scrape of the metrics take in each is measured over HTTP. Prints JSON.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import sqlalchemy as sa

from ops.bench import harness, population
from ops.bench.population import app_id
from ops.bench.workers import MODEL_SECONDS
from shared.apps.queries import install
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, end, start
from shared.db.engine import Database
from shared.db.schema import migrate
from shared.jobs.models import Job
from tests.support.postgres import PostgresServer
from tests.support.services import free_port
from tests.support.waiting import wait_until

_PROCESSES = 4
_ENV = harness.QUICK | {
    "AFTERTHOUGHT_WORKER_CONCURRENCY": str(_PROCESSES), "AFTERTHOUGHT_EMBEDDING": "ngrams",
    "AFTERTHOUGHT_FACTS": "false",
}  # fmt: skip
_NOW = datetime(2026, 3, 1, tzinfo=UTC)
_APP = app_id(3)
_READ = {
    "jobs": "/jobs?limit=50", "jobs of an app": f"/jobs?appId={_APP}&limit=50", "dead jobs": "/jobs?state=dead",
    "apps": "/apps?limit=50", "conversations": f"/apps/{_APP}/conversations?limit=50",
    "memories": f"/apps/{_APP}/memories", "energy": "/energy", "metrics": "/metrics", "ready": "/health/ready",
}  # fmt: skip


def measure(
    folder: Path,
    conversations: Annotated[int, "for each number of workers and loops"] = 400,
    one_app: Annotated[bool, "of one app, each of a user of its own"] = False,
    fill: Annotated[bool, "measure beside a filled database instead"] = False,
    database: Annotated[Literal["postgresql", "sqlite"], "for --fill"] = "postgresql",
    jobs: int = 10_000_000,
    talks: int = 1_000_000,
    apps: int = 100_000,
    requests: int = 200,
) -> dict[str, Any]:
    """Run everything in ``folder``; return the figures."""
    server = PostgresServer(durable=True)
    try:
        if not fill:
            found = [
                _rate(folder, server.new_database(migrated=False), workers, loops, conversations, one_app)
                for workers, loops in ((1, 1), (2, 1), (4, 1), (4, 2))
            ]
            return {"model_seconds": MODEL_SECONDS, "one_app": one_app, "rates": found}
        urls = {name: f"sqlite:///{folder}/{name}.db" for name in ("small", "filled")}
        if database == "postgresql":
            urls = {name: server.new_database(migrated=False) for name in urls}
        sizes = {"apps": apps, "conversations": talks, "finished_jobs": jobs}
        return {"database": database, **_beside(folder, urls, sizes, requests)}
    finally:
        server.stop()


def _rate(folder: Path, url: str, workers: int, loops: int, conversations: int, one_app: bool) -> dict[str, Any]:
    """Return how many conversations are remembered a second by so many workers and loops."""
    harness.say(f"{workers} workers, {loops} loops")
    waiting = ("ops.bench.workers", "waiting")
    place = folder / f"{workers}-{loops}"
    with harness.serve(place, url, _ENV, workers, waiting, start=False) as service, ExitStack() as stack:
        _end_many(service.database, conversations, one_app)
        for worker in service.system.workers:
            worker.start()
        time.sleep(2 + 2 * workers)  # Until all are there: what is measured is their work, not their start.
        loop = service.system.loop
        for number in range(2, 1 + loops):
            env = {**loop.env, "AFTERTHOUGHT_PORT": str(free_port())}
            further = replace(loop, name=f"loop-{number}", env=env)
            further.start()
            stack.callback(further.stop)
        loop.start()
        service.system.wait_ready()
        service.settle()
        times = sa.select(sa.func.min(Job.started_at), sa.func.max(Job.finished_at), sa.func.count())
        with service.database.read() as session:
            first, last, count = session.execute(times.where(Job.kind == "create_memory")).one()
        assert count == conversations
    rate, alone = count / (last - first).total_seconds(), workers * _PROCESSES / MODEL_SECONDS
    return {
        "workers": workers, "loops": loops, "processes": workers * _PROCESSES, "remembered_a_second": round(rate, 1),
        "waiting_alone_would_allow": alone, "share_of_that": round(rate / alone, 2),
    }  # fmt: skip


def _end_many(database: Database, conversations: int, one_app: bool) -> None:
    """End conversations, each of an app or a user of its own: one user's jobs are done one after the other."""
    for number in range(conversations):
        app = app_id(0 if one_app else number)
        with database.write() as session:
            if number == 0 or not one_app:
                install(session, app, app, {}, _NOW)
            talk = start(session, app, NewConversation(f"c{number}", f"user{number}"), _NOW)
            said = f"I moved {number} beehives to the orchard, and I am allergic to their stings."
            append_messages(session, talk, [NewMessage(Role.USER, said)], _NOW)
            end(session, talk, 0, None, _NOW)


def _beside(folder: Path, urls: Mapping[str, str], sizes: Mapping[str, int], requests: int) -> dict[str, Any]:
    """Return what reading and ticking take in a small installation and in a filled one; ``urls`` are empty databases.

    Both run side by side and are asked by turns, so that whatever else the machine does slows down both.
    """
    harness.say(f"filling {dict(sizes)}")
    for name, url in urls.items():
        migrate(url)
        database = Database(url)
        population.fill(database, 10, 100, 1000)
        if name == "filled":
            seconds = round(harness.seconds_of(partial(population.fill, database, **sizes, first=10)))
        database.dispose()
    with ExitStack() as stack:
        services = {name: stack.enter_context(harness.serve(folder / name, url, _ENV)) for name, url in urls.items()}
        totals = {name: round(harness.seconds_of(partial(_wait_for_totals, one)), 1) for name, one in services.items()}
        p50_ms = _asked(services, requests)
    return {
        "filled_with": dict(sizes), "fill_seconds": seconds, "first_totals_seconds": totals, "p50_ms": p50_ms,
        "filled_over_small": {k: round(took["filled"] / max(0.001, took["small"]), 2) for k, took in p50_ms.items()},
    }  # fmt: skip


def _wait_for_totals(service: harness.BenchService) -> None:
    line = service.connect()
    wait_until(lambda: b"totals_age_seconds " in line.send_bytes("GET", "/metrics"), 600, "the totals")


def _asked(services: Mapping[str, harness.BenchService], requests: int) -> dict[str, dict[str, float]]:
    """Return what requests (p50) and steps of the tick (mean) take in each service, in milliseconds."""
    lines = {name: one.connect() for name, one in services.items()}
    remember = {name: partial(_remember, line) for name, line in lines.items()}
    for call in remember.values():
        for _ in range(20):
            call()
    before = {name: _steps(one) for name, one in services.items()}
    taken = {"end to memory": harness.by_turns(remember, requests // 4)}
    for what, path in _READ.items():
        taken[what] = harness.by_turns(
            {name: partial(one.send_bytes, "GET", path) for name, one in lines.items()}, requests
        )
    after = {name: _steps(one) for name, one in services.items()}
    found = {k: {name: harness.spread(of)["p50_ms"] for name, of in took.items()} for k, took in taken.items()}
    # Of what ran in both: some steps run once a minute.
    for step in sorted(set.intersection(*(set(steps) for steps in after.values()))):
        grown = {
            name: [now - then for now, then in zip(after[name][step], before[name].get(step, (0.0, 0.0)), strict=True)]
            for name in services
        }
        if all(ran for _, ran in grown.values()):
            found[f"step {step}"] = {name: round(1000 * took / ran, 3) for name, (took, ran) in grown.items()}
    return found


def _remember(admin: harness.Connection) -> None:
    number = time.time_ns()
    said = {"role": "user", "content": f"I keep {number} bees in Norton."}
    [job, *_] = harness.converse(admin, _APP, f"live-{number}", [said], end=True)
    harness.wait_for_job(admin, job["jobId"])


def _steps(service: harness.BenchService) -> dict[str, tuple[float, float]]:
    """Return the seconds and the runs of each step of the loop so far."""
    took, ran = (
        {one.labels["step"]: one.value for one in service.samples(f"afterthought_tick_duration_seconds_{what}")}
        for what in ("sum", "count")
    )
    return {step: (took[step], ran[step]) for step in took}


if __name__ == "__main__":
    harness.run(measure)
