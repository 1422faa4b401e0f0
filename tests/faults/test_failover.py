"""A primary of PostgreSQL that is lost under load: its standby takes over, and what was acknowledged is there."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.support.postgres import NoPostgres
from tests.support.postgres_pair import PostgresPair
from tests.support.services import EmbeddedRedis, System, start_system
from tests.support.waiting import wait_until

WRITERS = 4
pytestmark = [pytest.mark.integration, pytest.mark.postgres, pytest.mark.timeout(240)]


@pytest.fixture
def pair() -> Iterator[PostgresPair]:
    try:
        pair = PostgresPair()
    except (NoPostgres, FileNotFoundError) as reason:
        pytest.skip(f"no PostgreSQL with pg_basebackup: {reason}")
    yield pair
    pair.stop()


@dataclass
class Load:
    """Writers that add messages, and what was answered."""

    system: System
    acknowledged: set[str] = field(default_factory=set)
    statuses: Counter[int] = field(default_factory=Counter)
    refusals: set[str] = field(default_factory=set)
    over: threading.Event = field(default_factory=threading.Event)

    def write(self, writer: int) -> None:
        """Add one message after the other to a conversation of this writer's own."""
        path = f"/apps/chat/conversations/c{writer}"
        with self.system.client(timeout=60) as client:
            assert client.post("/apps/chat/conversations", json={"conversationId": f"c{writer}"}).is_success
            for number in itertools.count():
                if self.over.is_set():
                    return
                name = f"m{writer}-{number}"
                said = {"role": "user", "content": f"I like tea {name}.", "messageId": name}
                self._note(name, client.post(f"{path}/messages", json=said))

    def _note(self, name: str, answer: httpx.Response) -> None:
        self.statuses[answer.status_code] += 1
        if answer.is_success:
            self.acknowledged.add(name)
        elif answer.status_code == 503:
            assert "Retry-After" in answer.headers
            self.refusals.add(answer.json()["error"]["message"])
            self.over.wait(0.05)


def messages_of(client: httpx.Client, writer: int) -> set[str]:
    path, found, cursor = f"/apps/chat/conversations/c{writer}/messages", set[str](), None
    while True:
        page = client.get(path, params={"limit": 200} | ({"cursor": cursor} if cursor else {})).json()
        found |= {one["messageId"] for one in page["messages"]}
        cursor = page["cursor"]
        if cursor is None:
            return found


def test_a_primary_killed_under_load_costs_time_and_nothing_acknowledged(
    pair: PostgresPair, own_redis: EmbeddedRedis, tmp_path: Path
) -> None:
    with start_system(tmp_path, pair.url, own_redis.url) as system, system.client() as client:
        assert client.post("/apps", json={"appId": "chat", "name": "chat"}).is_success
        load = Load(system)
        writers = [threading.Thread(target=load.write, args=(number,)) for number in range(WRITERS)]
        for thread in writers:
            thread.start()
        wait_until(lambda: len(load.acknowledged) > 40, 60, "some messages to be acknowledged")
        pair.kill_primary()
        wait_until(lambda: load.statuses[503] and not system.is_ready(), 30, "writes to be refused")
        before = len(load.acknowledged)
        pair.promote()
        wait_until(system.is_ready, 60, f"the loop to be ready; {system.loop.log[-2000:]}")
        wait_until(lambda: len(load.acknowledged) > before + 40, 60, f"writes to go on; {load.statuses}")
        load.over.set()
        for thread in writers:
            thread.join()
        found = set[str]().union(*(messages_of(client, number) for number in range(WRITERS)))
        assert set(load.statuses) <= {202, 503}, (load.statuses, load.refusals, system.loop.log[-3000:])
        assert load.acknowledged - found == set()
        ended = client.post("/apps/chat/conversations/c0/end", json={})
        assert ended.is_success
        wait_until(lambda: client.get("/apps/chat/memories").json()["memories"], 60, "the worker to go on too")
        print(f"{len(load.acknowledged)} acknowledged, {load.statuses[503]} refused, none lost")
