"""Many users at once with energy scarce and a loop that is killed: ``python -m ops.bench.scarcity``.

The users of MemoryBank (one app each, one conversation a day) end all their conversations at once, over HTTP, with a
real Redis and real workers. The extractive agent is charged the full price of a model, so energy is scarce, and the
loop is killed and started again while the work goes on. Prints JSON: how long ending took, how every job ended,
whether each app's order was kept, how long apps waited beside the mean, the least level, and the ledger beside what
was drawn.
"""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

from sqlalchemy import func, select

from ops.bench.corpora import DEFAULT_DATA, CorpusSubject, DataFolder, memorybank, required
from ops.bench.harness import BenchService, DatabaseUrl, converse, run, say, serve, spread, timed, unfinished
from shared.db.engine import Database
from shared.energy import ledger
from shared.energy.budget import FLOOR, to_units
from shared.energy.models import EnergyLevel, Spending
from shared.jobs.models import Job
from shared.memories.models import Memory
from tests.support.waiting import wait_until

_ENV = {
    "AFTERTHOUGHT_EXTRACTIVE_FRACTION": "1", "AFTERTHOUGHT_LOG_LEVEL": "warning", "AFTERTHOUGHT_TICK_SECONDS": "0.2",
    "AFTERTHOUGHT_LOCK_SECONDS": "2", "AFTERTHOUGHT_WORKER_CONCURRENCY": "2", "AFTERTHOUGHT_QUEUED_SECONDS": "5",
}  # fmt: skip
_LONGEST_SECONDS = 600.0


def measure(
    folder: Path,
    data: DataFolder = DEFAULT_DATA,
    database_url: DatabaseUrl = None,
    users: int = 15,
    refill: Annotated[float, "units a second"] = 12.0,
    kills: int = 10,
) -> dict[str, Any]:
    """Run everything in ``folder``; return the figures. Call it from the main thread."""
    subjects = list(memorybank(required(data)))[:users]
    env = {**_ENV, "AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": str(refill)}
    with serve(folder, database_url, env) as service:
        for subject in subjects:
            service.connect().send("POST", "/apps", {"appId": subject.app, "name": subject.name})
            for number, conversation in enumerate(subject.conversations):
                said = [{"role": m.role, "name": m.name, "content": m.content} for m in conversation.messages]
                converse(service.connect(), subject.app, f"c{number}", said)
        say(f"ending every conversation of {len(subjects)} users at once")
        with ThreadPoolExecutor(len(subjects)) as pool:
            took = [seconds for taken in pool.map(partial(_end, service), subjects) for seconds in taken]
        levels = _outlive(service, kills)
        return _figures(service.database, took, levels)


def _end(service: BenchService, subject: CorpusSubject) -> list[float]:
    """End the conversations of a user in order; return how long each request took, in seconds."""
    line = service.connect()
    paths = (f"/apps/{subject.app}/conversations/c{number}/end" for number in range(len(subject.conversations)))
    return timed(partial(line.send, "POST", path, {}) for path in paths)


def _outlive(service: BenchService, most_kills: int) -> list[float]:
    """Kill the loop again and again while jobs are unfinished; return the levels seen meanwhile."""
    chance, levels, kills = random.Random(11), list[float](), 0
    deadline, next_kill = time.monotonic() + _LONGEST_SECONDS, time.monotonic() + 1.0

    def kill() -> None:
        service.system.loop.kill()
        service.system.loop.start()

    while unfinished(service.database) and time.monotonic() < deadline:
        levels.append(_level(service.database))
        if kills < most_kills and time.monotonic() >= next_kill:
            kill()
            kills += 1
            next_kill = time.monotonic() + chance.uniform(1.5, 4.0)
        time.sleep(0.1)
    for _ in range(most_kills - kills):
        kill()
    service.system.wait_ready()
    wait_until(lambda: _is_settled(service.database), 30, "the last settlement")
    say(f"killed the loop {most_kills} times, {kills} of them while there was work")
    return [*levels, _level(service.database)]


def _level(database: Database) -> float:
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
    late = (any(a is None or b is None or a > b for a, b in pairwise(times)) for times in finished.values())
    return len({app for (app, _), is_late in zip(finished, late, strict=True) if is_late})


if __name__ == "__main__":
    run(measure)
