"""Real conversations through the whole service: ``python -m ops.bench.ingesting``.

The users of MemoryBank (one app each, one conversation a day) and the dialogues of LoCoMo (one app each, one
conversation a session) go in over HTTP, with a real Redis and real workers, while a sampler watches the cap without
pause. Prints JSON: how every job ended, the most memories any app ever had, and whether history explains each removal.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from ops.bench.corpora import DEFAULT_DATA, DataFolder, locomo, memorybank, required
from ops.bench.harness import converse, run, say, serve
from shared.db.engine import Database
from shared.jobs.models import Job
from shared.memories.models import Change, Memory, Origin

_LEAVING = ("removed", "absorbed", "gave_way")


def measure(folder: Path, data: DataFolder = DEFAULT_DATA) -> dict[str, Any]:
    """Run everything in ``folder``; return the figures."""
    required(data)
    with serve(folder, workers=2) as service:
        line = service.connect()
        with _counting(service.database) as counts:
            for subject in (*memorybank(data), *locomo(data)):
                say(f"ingesting {subject.name}: {len(subject.conversations)} conversations")
                line.send("POST", "/apps", {"appId": subject.app, "name": subject.name})
                for number, one in enumerate(subject.conversations):
                    said = [m._asdict() for m in one.messages]
                    for message in said:
                        message["createdAt"] = message.pop("created_at").isoformat()
                    converse(line, subject.app, f"c{number}", said, end=True)
            service.settle(300)
        return _figures(service.database) | {"most_memories_an_app_ever_had": max(counts), "samples": len(counts)}


@contextmanager
def _counting(database: Database) -> Iterator[list[int]]:
    """Count without pause until the block ends how many memories the app has that has most."""
    counts, is_over = [0], threading.Event()

    def sample() -> None:
        of_each = select(func.count()).select_from(Memory).group_by(Memory.app_id)
        while not is_over.wait(0.002):
            with database.read() as session:
                counts.append(max(session.scalars(of_each), default=0))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield counts
    finally:
        is_over.set()
        thread.join()


def _figures(database: Database) -> dict[str, Any]:
    with database.read() as session:
        states = Counter(session.scalars(select(Job.state)))
        made = set(session.scalars(select(Origin.memory_id)))
        standing = set(session.scalars(select(Memory.memory_id)))
        leaving = session.scalars(select(Change).where(Change.kind.in_(_LEAVING))).all()
        explained = {one.memory_id for one in leaving if one.actor and one.reason and one.before}
        return {
            "conversations": states.total(),
            "jobs": dict(states),
            "apps": len(set(session.scalars(select(Memory.app_id)))),
            "memories_made": len(made),
            "memories_standing": len(standing),
            "removals": len(made - standing),
            "removals_without_who_why_and_before": len(made - standing - explained),
            "removals_by": dict(Counter(f"{one.kind} by {one.actor}" for one in leaving)),
        }


if __name__ == "__main__":
    run(measure)
