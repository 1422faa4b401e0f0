"""What more workers and more loops bring, and what ten million finished jobs cost: ``python -m ops.bench.scaling``.

First, on PostgreSQL: conversations of many apps, or with ``--one-app`` of many users of one, are ended, and
remembered by 1, 2 and 4 workers that wait half a second for each as for a model, under 1 and 2 loops. The rate beside
what that waiting alone would allow says whether anything else holds it back. Facts are off and vectors are hashed
words, so that two cores are enough.

Second, with ``--fill``: an installation that is small, and one filled with finished jobs, conversations and apps. What
the steps of the loop, listings and the scrape of the metrics take in each is measured over HTTP. Prints JSON.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families

from ops.bench.figures import say, show, spread, timed
from ops.bench.population import app_id, fill
from ops.bench.service import unfinished
from ops.bench.talking import Connection
from ops.bench.waiting_worker import MODEL_SECONDS
from shared.apps.queries import install
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, end, start
from shared.conversations.lifecycle import say as say_in
from shared.db.engine import Database
from shared.db.schema import migrate
from shared.jobs.models import Job
from tests.support.postgres import PostgresServer
from tests.support.services import ServiceProcess, System, free_port, start_redis, start_system
from tests.support.waiting import wait_until

_PROCESSES = 4
_ENV = {
    "AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "1000", "AFTERTHOUGHT_LOG_LEVEL": "warning",
    "AFTERTHOUGHT_WORKER_CONCURRENCY": str(_PROCESSES), "AFTERTHOUGHT_EMBEDDING": "ngrams",
    "AFTERTHOUGHT_FACTS": "false",
}  # fmt: skip
_NOW = datetime(2026, 3, 1, tzinfo=UTC)


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=400, help="for each number of workers and loops")
    parser.add_argument("--one-app", action="store_true", help="of one app, each of a user of its own")
    parser.add_argument("--fill", action="store_true", help="measure beside a filled database instead")
    parser.add_argument("--database", choices=("postgresql", "sqlite"), default="postgresql", help="for --fill")
    parser.add_argument("--jobs", type=int, default=10_000_000)
    parser.add_argument("--talks", type=int, default=1_000_000)
    parser.add_argument("--apps", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=200)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, ExitStack() as stack:
        server = PostgresServer(durable=True)
        stack.callback(server.stop)
        if options.fill:
            sizes = {"apps": options.apps, "conversations": options.talks, "finished_jobs": options.jobs}
            urls = {name: f"sqlite:///{folder}/{name}.db" for name in ("small", "filled")}
            if options.database == "postgresql":
                urls = {name: server.new_database(migrated=False) for name in urls}
            show({"database": options.database, **filled(Path(folder), urls, sizes, options.requests)})
        else:
            found = rates(Path(folder), server, options.conversations, options.one_app)
            show({"model_seconds": MODEL_SECONDS, "one_app": options.one_app, "rates": found})
    return 0


def rates(folder: Path, server: PostgresServer, conversations: int, one_app: bool) -> list[dict[str, Any]]:
    """Return conversations remembered a second by number of workers and loops."""
    found = []
    for workers, loops in ((1, 1), (2, 1), (4, 1), (4, 2)):
        place = folder / f"{workers}-{loops}"
        place.mkdir()
        say(f"{workers} workers, {loops} loops")
        rate = _rate(place, server.new_database(migrated=False), workers, loops, conversations, one_app)
        waiting_alone = workers * _PROCESSES / MODEL_SECONDS
        found.append(
            {
                "workers": workers,
                "loops": loops,
                "processes": workers * _PROCESSES,
                "remembered_a_second": round(rate, 1),
                "waiting_alone_would_allow": waiting_alone,
                "share_of_that": round(rate / waiting_alone, 2),
            }
        )
    return found


def _rate(folder: Path, url: str, workers: int, loops: int, conversations: int, one_app: bool) -> float:
    redis = start_redis(folder / "redis")
    try:
        with start_system(folder, url, redis.url, workers, _ENV, loop=False) as system:
            database = Database(url)
            _end_many(database, conversations, one_app)
            for worker in system.workers:
                worker.argv = (sys.executable, "-m", "ops.bench.waiting_worker")
                worker.start()
            time.sleep(2 + 2 * workers)  # Until all are there: what is measured is their work, not their start.
            with _further_loops(system, loops - 1):
                system.loop.start()
                system.wait_ready()
                wait_until(lambda: not unfinished(database), 600, "every conversation to be remembered")
            with database.read() as session:
                first, last, count = session.execute(
                    sa.select(sa.func.min(Job.started_at), sa.func.max(Job.finished_at), sa.func.count()).where(
                        Job.kind == "create_memory"
                    )
                ).one()
            assert count == conversations
            database.dispose()
            return float(count / (last - first).total_seconds())
    finally:
        redis.stop()


def _end_many(database: Database, conversations: int, one_app: bool) -> None:
    """End conversations, each of an app or a user of its own: one user's jobs are done one after the other."""
    for number in range(conversations):
        app = app_id(0 if one_app else number)
        with database.write() as session:
            if number == 0 or not one_app:
                install(session, app, app, {}, _NOW)
            talk = start(session, app, NewConversation(f"c{number}", f"user{number}"), _NOW)
            said = f"I moved {number} beehives to the orchard, and I am allergic to their stings."
            say_in(session, talk, [NewMessage(Role.USER, said)], _NOW)
            end(session, talk, 0, None, _NOW)


@contextmanager
def _further_loops(system: System, count: int) -> Iterator[None]:
    env = dict(system.loop.env)
    more = [
        ServiceProcess(
            f"loop-{number}", system.loop.argv, env | {"AFTERTHOUGHT_PORT": str(free_port())}, system.loop.directory
        )
        for number in range(2, 2 + count)
    ]
    try:
        for process in more:
            process.start()
        yield
    finally:
        for process in more:
            process.stop()


def filled(folder: Path, urls: Mapping[str, str], sizes: Mapping[str, int], requests: int) -> dict[str, Any]:
    """Return what reading and ticking take in a small installation and in a filled one; ``urls`` are empty databases.

    Both run side by side and are asked by turns, so that whatever else the machine does slows down both.
    """
    say(f"filling {dict(sizes)}")
    for name, url in urls.items():
        migrate(url)
        database = Database(url)
        fill(database, 10, 100, 1000)
        if name == "filled":
            begun = time.perf_counter()
            fill(database, **sizes, first=10)
            seconds = round(time.perf_counter() - begun)
        database.dispose()
    with ExitStack() as stack:
        systems = {name: _start(stack, folder / name, url) for name, url in urls.items()}
        first_totals = {name: _wait_for_totals(system) for name, system in systems.items()}
        p50_ms = _measured({name: _client(system) for name, system in systems.items()}, requests)
    ratios = {what: round(took["filled"] / max(0.001, took["small"]), 2) for what, took in p50_ms.items()}
    return {
        "filled_with": dict(sizes), "fill_seconds": seconds, "first_totals_seconds": first_totals,
        "p50_ms": p50_ms, "filled_over_small": ratios,
    }  # fmt: skip


def _start(stack: ExitStack, folder: Path, url: str) -> System:
    """Start a system with a Redis of its own, until the stack is left."""
    redis = start_redis(folder / "redis")
    stack.callback(redis.stop)
    return stack.enter_context(start_system(folder, url, redis.url, env=_ENV))


def _client(system: System) -> Connection:
    return Connection(system.url, system.admin_token)


def _wait_for_totals(system: System) -> float:
    """Return the seconds until the totals were counted for the first time."""
    client, begun = _client(system), time.perf_counter()
    wait_until(lambda: "totals_age_seconds " in client.send_text(("GET", "/metrics", None)), 600, "the totals")
    return round(time.perf_counter() - begun, 1)


def _measured(clients: Mapping[str, Connection], requests: int) -> dict[str, dict[str, float]]:
    """Return what requests (p50) and steps of the tick (mean) take with each client, in milliseconds."""
    app = app_id(3)
    paths = {
        "jobs": "/jobs?limit=50", "jobs of an app": f"/jobs?appId={app}&limit=50", "dead jobs": "/jobs?state=dead",
        "apps": "/apps?limit=50", "conversations": f"/apps/{app}/conversations?limit=50",
        "memories": f"/apps/{app}/memories", "energy": "/energy", "metrics": "/metrics", "ready": "/health/ready",
    }  # fmt: skip
    for client in clients.values():
        for _ in range(20):
            _remember(client, app)
    before = {name: _steps(client) for name, client in clients.items()}
    found = {"end to memory": _by_turns(clients, requests // 4, lambda client: _remember(client, app))}
    for name, path in paths.items():
        found[name] = _by_turns(clients, requests, lambda client, path=path: client.send_text(("GET", path, None)))
    after = {name: _steps(client) for name, client in clients.items()}
    # Of what ran in both: some steps run once a minute.
    for step in sorted(set.intersection(*(set(steps) for steps in after.values()))):
        ran = {name: after[name][step][1] - before[name].get(step, (0.0, 0.0))[1] for name in clients}
        if all(ran.values()):
            found[f"step {step}"] = {
                name: round(1000 * (after[name][step][0] - before[name].get(step, (0.0, 0.0))[0]) / ran[name], 3)
                for name in clients
            }
    return found


def _by_turns(clients: Mapping[str, Connection], times: int, ask: Callable[[Connection], object]) -> dict[str, float]:
    took: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(times):
        for name, client in clients.items():
            took[name] += timed([partial(ask, client)])
    return {name: spread(seconds)["p50_ms"] for name, seconds in took.items()}


def _remember(admin: Connection, app: str) -> None:
    number = time.time_ns()
    name = f"live-{number}"
    admin.send(("POST", f"/apps/{app}/conversations", {"conversationId": name}))
    path = f"/apps/{app}/conversations/{name}"
    admin.send(("POST", f"{path}/messages", {"role": "user", "content": f"I keep {number} bees in Norton."}))
    [job, *_] = admin.send(("POST", f"{path}/end", {}))["jobs"]
    wait_until(lambda: admin.send(("GET", f"/jobs/{job['jobId']}", None))["finishedAt"], 60, job["jobId"])


def _steps(admin: Connection) -> dict[str, tuple[float, float]]:
    """Return the seconds and the runs of each step of the loop so far."""
    found: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(admin.send_text(("GET", "/metrics", None))):
        if family.name == "afterthought_tick_duration_seconds":
            for sample in family.samples:
                kind = sample.name.rpartition("_")[2]
                if kind in ("sum", "count"):
                    found.setdefault(sample.labels["step"], {})[kind] = sample.value
    return {name: (one["sum"], one["count"]) for name, one in found.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
