"""Many users at once with energy scarce and a loop that is killed: ``python -m ops.bench.scarcity``.

The users of MemoryBank (one app each, one conversation a day) end all their conversations at once, over HTTP, with a
real Redis and real workers. The extractive agent is charged the full price of a model, so energy is scarce, and the
loop is killed and started again while the work goes on. Prints JSON: how long ending took, how every job ended,
whether each app's order was kept, how long apps waited beside the mean, the least level, and the ledger beside what
was drawn.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import httpx
from sqlalchemy import func, select

from ops.bench import corpora
from ops.bench.figures import say, show, spread
from ops.bench.service import unfinished
from shared.db.engine import Database
from shared.energy import ledger
from shared.energy.budget import FLOOR, to_units
from shared.energy.models import EnergyLevel, Spending
from shared.jobs.models import Job
from shared.memories.models import Memory
from tests.support.services import System, start_redis, start_system
from tests.support.waiting import wait_until

_ENV = {
    "AFTERTHOUGHT_EXTRACTIVE_FRACTION": "1",
    "AFTERTHOUGHT_LOG_LEVEL": "warning",
    "AFTERTHOUGHT_TICK_SECONDS": "0.2",
    "AFTERTHOUGHT_LOCK_SECONDS": "2",
    "AFTERTHOUGHT_WORKER_CONCURRENCY": "2",
    "AFTERTHOUGHT_QUEUED_SECONDS": "5",
}


@dataclass(frozen=True)
class Scarcity:
    """How scarce energy is, and how often the loop dies."""

    users: int = 15
    refill: float = 12.0
    kills: int = 10
    longest_seconds: float = 600.0


def main(arguments: list[str]) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", help="an empty PostgreSQL; SQLite in a temporary folder otherwise")
    parser.add_argument("--users", type=int, default=15)
    parser.add_argument("--refill", type=float, default=12.0, help="units a second")
    parser.add_argument("--kills", type=int, default=10)
    options = corpora.parse(parser, arguments)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        wanted = Scarcity(options.users, options.refill, options.kills)
        show(measure(Path(folder), options.data, wanted, options.database_url))
    return 0


def measure(folder: Path, data: Path, wanted: Scarcity, database_url: str | None = None) -> dict[str, Any]:
    """Run everything in ``folder``; return the figures. Call it from the main thread."""
    url = database_url or f"sqlite:///{folder / 'scarce.db'}"
    subjects = list(corpora.memorybank(data))[: wanted.users]
    redis = start_redis(folder / "redis")
    env = {**_ENV, "AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": str(wanted.refill)}
    try:
        with start_system(folder, url, redis.url, env=env) as system:
            database = Database(url)
            for subject in subjects:
                with system.client() as client:
                    _open(client, subject)
            say(f"ending every conversation of {len(subjects)} users at once")
            took = _end_all(system, subjects)
            levels = _outlive(system, database, wanted)
            figures = _figures(database, took, levels)
            database.dispose()
            return figures
    finally:
        redis.stop()


def _name(subject: corpora.CorpusSubject) -> str:
    return subject.name.replace(" ", "-")


def _open(client: httpx.Client, subject: corpora.CorpusSubject) -> None:
    client.post("/apps", json={"appId": _name(subject), "name": subject.name}).raise_for_status()
    base = f"/apps/{_name(subject)}/conversations"
    for number, conversation in enumerate(subject.conversations):
        client.post(base, json={"conversationId": f"c{number}"}).raise_for_status()
        messages = [{"role": m.role, "name": m.name, "content": m.content} for m in conversation.messages]
        if messages:
            client.post(f"{base}/c{number}/messages", json={"messages": messages}).raise_for_status()


def _end_all(system: System, subjects: Sequence[corpora.CorpusSubject]) -> list[float]:
    """End everything, each user in order and all users at once; return how long each request took, in seconds."""

    def end(subject: corpora.CorpusSubject) -> list[float]:
        taken = []
        with system.client() as client:
            for number in range(len(subject.conversations)):
                begun = time.perf_counter()
                client.post(f"/apps/{_name(subject)}/conversations/c{number}/end", json={}).raise_for_status()
                taken.append(time.perf_counter() - begun)
        return taken

    with ThreadPoolExecutor(len(subjects)) as pool:
        return [seconds for taken in pool.map(end, subjects) for seconds in taken]


def _outlive(system: System, database: Database, wanted: Scarcity) -> list[float]:
    """Kill the loop again and again while jobs are unfinished; return the levels seen meanwhile."""
    chance, levels, kills = random.Random(11), list[float](), 0
    deadline = time.monotonic() + wanted.longest_seconds
    next_kill = time.monotonic() + 1.0
    while unfinished(database) and time.monotonic() < deadline:
        levels.append(_level(database, wanted.refill))
        if kills < wanted.kills and time.monotonic() >= next_kill:
            system.loop.kill()
            system.loop.start()
            kills += 1
            next_kill = time.monotonic() + chance.uniform(1.5, 4.0)
        time.sleep(0.1)
    for _ in range(wanted.kills - kills):
        system.loop.kill()
        system.loop.start()
    system.wait_ready()
    wait_until(lambda: _is_settled(database), 30, "the last settlement")
    say(f"killed the loop {wanted.kills} times, {kills} of them while there was work")
    return [*levels, _level(database, wanted.refill)]


def _level(database: Database, refill: float) -> float:
    with database.read() as session:
        level = session.get(EnergyLevel, 1)
        return 100.0 if level is None else to_units(level.micro)


def _is_settled(database: Database) -> bool:
    with database.read() as session:
        return ledger.unsettled(session) == 0


def _figures(database: Database, took: list[float], levels: list[float]) -> dict[str, Any]:
    with database.read() as session:
        jobs = list(session.scalars(select(Job).order_by(Job.seq)))
        spent = int(session.scalar(select(func.sum(Spending.micro))) or 0)
        most = session.execute(select(func.count()).select_from(Memory).group_by(Memory.app_id)).scalars().all()
        drawn = ledger.drawn(session)
    waits = defaultdict(list)
    for job in jobs:
        if job.finished_at is not None:
            waits[job.app_id].append((job.finished_at - job.created_at).total_seconds())
    by_app = {app: mean(of_app) for app, of_app in waits.items()}
    return {
        "apps": len(by_app),
        "conversations": len(jobs),
        "jobs": dict(Counter(job.state for job in jobs)),
        "waited_more_than_a_second": sum(wait > 1 for of_app in waits.values() for wait in of_app),
        "end_request": spread(took) | {"longest_ms": round(max(took) * 1000, 1)},
        "apps_out_of_order": _out_of_order(jobs),
        "mean_wait_seconds": round(mean(by_app.values()), 1),
        "longest_wait_of_an_app_over_the_mean": round(max(by_app.values()) / mean(by_app.values()), 2),
        "least_level_seen": round(min(levels), 3),
        "never_below_floor": min(levels) >= to_units(FLOOR),
        "ledger_units": to_units(spent),
        "drawn_units": to_units(drawn),
        "ledger_equals_drawn": spent == drawn,
        "most_memories_of_an_app": max(most),
    }


def _out_of_order(jobs: Sequence[Job]) -> int:
    """Count the apps whose jobs of a kind did not finish in the order they were asked for."""
    finished = defaultdict(list)
    for job in jobs:
        # Work on the indexes gives way to thinking.
        finished[job.app_id, job.kind].append(job.finished_at)
    late = {
        app for (app, _), times in finished.items() if any(a is None or b is None or a > b for a, b in pairwise(times))
    }
    return len(late)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
