"""Real conversations through the whole service: ``python -m ops.bench.ingesting``.

The users of MemoryBank (one app each, one conversation a day) and the dialogues of LoCoMo (one app each, one
conversation a session) go in over HTTP, with a real Redis and real workers, while a sampler watches the cap without
pause. Prints JSON: how every job ended, the most memories any app ever had, and whether history explains each removal.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import func, select

from ops.bench import corpora
from ops.bench.figures import say, show
from ops.bench.service import unfinished
from shared.db.engine import Database
from shared.jobs.models import Job
from shared.memories.models import Change, Memory, Origin
from tests.support.services import start_redis, start_system
from tests.support.waiting import wait_until

_ENV = {"AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "1000", "AFTERTHOUGHT_LOG_LEVEL": "warning"}
_LEAVING = ("removed", "absorbed", "gave_way")


def main(arguments: list[str]) -> int:
    """Ingest and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    options = corpora.parse(parser, arguments)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        show(measure(Path(folder), options.data))
    return 0


def measure(folder: Path, data: Path) -> dict[str, Any]:
    """Run everything in ``folder``; return the figures."""
    url = f"sqlite:///{folder / 'ingest.db'}"
    redis = start_redis(folder / "redis")
    try:
        with start_system(folder, url, redis.url, workers=2, env=_ENV) as system:
            database = Database(url)
            with system.client() as client, watching(database) as watch:
                for subject in (*corpora.memorybank(data), *corpora.locomo(data)):
                    say(f"ingesting {subject.name}: {len(subject.conversations)} conversations")
                    _ingest(client, subject)
                wait_until(lambda: not unfinished(database), 300, "every job to finish")
            figures = _figures(database, watch)
            database.dispose()
            return figures
    finally:
        redis.stop()


def _ingest(client: httpx.Client, subject: corpora.CorpusSubject) -> None:
    app = subject.name.replace(" ", "-")
    client.post("/apps", json={"appId": app, "name": subject.name}).raise_for_status()
    for number, conversation in enumerate(subject.conversations):
        base = f"/apps/{app}/conversations"
        client.post(base, json={"conversationId": f"c{number}"}).raise_for_status()
        messages = [
            {"role": m.role, "name": m.name, "content": m.content, "createdAt": m.created_at.isoformat()}
            for m in conversation.messages
        ]
        if messages:
            client.post(f"{base}/c{number}/messages", json={"messages": messages}).raise_for_status()
        client.post(f"{base}/c{number}/end", json={}).raise_for_status()


@dataclass
class Watch:
    """What the sampler saw."""

    samples: int = 0
    most: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def look(self, database: Database) -> None:
        """Count each app's memories once."""
        with database.read() as session:
            counts = session.execute(select(func.count()).select_from(Memory).group_by(Memory.app_id)).scalars()
            self.most = max(self.most, *counts, 0, 0)
        self.samples += 1


@contextmanager
def watching(database: Database) -> Iterator[Watch]:
    """Sample without pause until the block ends."""
    watch = Watch()

    def sample() -> None:
        while not watch.over.wait(0.002):
            watch.look(database)

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield watch
    finally:
        watch.over.set()
        thread.join()


def _figures(database: Database, watch: Watch) -> dict[str, Any]:
    with database.read() as session:
        states = Counter(session.scalars(select(Job.state)))
        made = set(session.scalars(select(Origin.memory_id)))
        standing = set(session.scalars(select(Memory.memory_id)))
        leaving = session.scalars(select(Change).where(Change.kind.in_(_LEAVING))).all()
        return {
            "conversations": states.total(),
            "jobs": dict(states),
            "apps": len(set(session.scalars(select(Memory.app_id)))),
            "memories_made": len(made),
            "memories_standing": len(standing),
            "most_memories_an_app_ever_had": watch.most,
            "samples": watch.samples,
            "removals": len(made - standing),
            "removals_without_who_why_and_before": len(
                (made - standing) - {c.memory_id for c in leaving if c.actor and c.reason and c.before}
            ),
            "removals_by": dict(Counter(f"{c.kind} by {c.actor}" for c in leaving)),
        }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
