"""A disk without room: nobody ends, what is there can be read, what is new is refused, and all of it goes on by itself
once there is room again.

What an installation writes lies on the small disk: the database, metrics, the home, the logs; in one test Redis' file.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.services import EmbeddedRedis, System, pool_children, start_redis, start_system
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
QUICK = {
    "AFTERTHOUGHT_TICK_SECONDS": "0.2",
    "AFTERTHOUGHT_RETRY_BASE_SECONDS": "0.2",
    "AFTERTHOUGHT_RETRY_MAX_SECONDS": "1",
    "AFTERTHOUGHT_QUEUED_SECONDS": "3",
    "AFTERTHOUGHT_JOB_MAX_ATTEMPTS": "50",
    "AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "1000",
    "AFTERTHOUGHT_WORKER_CONCURRENCY": "1",
}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 32 MB; only who may mount can make one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(disk)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no small disk can be mounted here: {made.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.fixture
def redis_on_it(small_disk: Path) -> Iterator[EmbeddedRedis]:
    server = start_redis(small_disk / "redis")
    yield server
    server.stop()


@contextlib.contextmanager
def start_on(disk: Path, redis: EmbeddedRedis) -> Iterator[System]:
    with start_system(disk, f"sqlite:///{disk / 'afterthought.db'}", redis.url, env=QUICK) as running:
        yield running


def fill(disk: Path) -> Path:
    """Take every byte that is left, and those in the last blocks of the logs."""
    filler = disk / "filler"
    for path in (filler, *disk.glob("*.log"), *disk.glob("*/*.log")):
        with path.open("ab", buffering=0) as file:
            for size in (65536, 1):
                with pytest.raises(OSError, match="No space"):
                    while file.write(bytes(size)):
                        pass
    return filler


def say(client: httpx.Client, conversation_id: str, *texts: str) -> httpx.Response:
    messages = [{"role": "user", "content": text} for text in texts]
    return client.post(f"/apps/chat/conversations/{conversation_id}/messages", json={"messages": messages})


def refused_for_want_of_room(client: httpx.Client) -> dict[str, Any]:
    """Write until there is no room in what SQLite had taken before, and return the refusal."""

    def refusal() -> httpx.Response | None:
        answer = say(client, "c1", "I like tea. " * 2000)
        assert answer.status_code in (200, 201, 503), answer.text
        return answer if answer.status_code == 503 else None

    answer = wait_until(refusal, 60, "a write to be refused")
    assert answer is not None and int(answer.headers["Retry-After"]) > 0
    error: dict[str, Any] = answer.json()["error"]
    return error


def prepared(client: httpx.Client) -> None:
    assert client.post("/apps", json={"appId": "chat", "name": "chat"}).is_success
    assert client.post("/apps/chat/conversations", json={"conversationId": "c1"}).is_success
    assert say(client, "c1", "I adopted a greyhound named Pixel.").is_success


def see_that_reading_goes_on(client: httpx.Client) -> None:
    error = refused_for_want_of_room(client)
    ready = client.get("/health/ready")
    assert error["code"] == "transient" and "disk" in error["message"] and "Make room" in error["message"], error
    database = ready.json()["dependencies"]["database"]
    assert ready.status_code == 503 and not database["ok"] and "full" in database["detail"], ready.text
    assert client.get("/health/live").status_code == 200
    for path in ("/apps", "/apps/chat/conversations/c1/messages", "/apps/chat/facts", "/jobs", "/energy", "/metrics"):
        assert client.get(path).status_code == 200, path


def see_that_all_goes_on(system: System, client: httpx.Client) -> None:
    wait_until(lambda: client.get("/health/ready").status_code == 200, 60, "the loop to be ready again")
    opened = {"conversationId": "c2"}
    wait_until(lambda: client.post("/apps/chat/conversations", json=opened).is_success, 30, "a write to be taken")
    assert say(client, "c2", "My sister Ines lives in Lisbon.").is_success
    assert client.post("/apps/chat/conversations/c2/end").is_success

    def remembers() -> bool:
        # As the supervisor would: a worker ends where Redis, with its file on the full disk, refuses it.
        if not system.workers[0].alive:
            system.workers[0].start()
        return "Ines" in client.get("/apps/chat/memories").text

    wait_until(remembers, 60, "the worker to remember")


def test_a_full_disk_ends_nobody_and_costs_only_writes(small_disk: Path, own_redis: EmbeddedRedis) -> None:
    with start_on(small_disk, own_redis) as system, system.client() as client:
        prepared(client)
        [child] = wait_until(lambda: pool_children(system.workers[0].pid), 20, "a pool child")
        filler = fill(small_disk)
        see_that_reading_goes_on(client)
        filler.unlink()
        see_that_all_goes_on(system, client)
        assert system.loop.alive and pool_children(system.workers[0].pid) == [child]


def test_processes_that_start_on_a_full_disk_serve_what_is_there(small_disk: Path, redis_on_it: EmbeddedRedis) -> None:
    with start_on(small_disk, redis_on_it) as system, system.client() as client:
        prepared(client)
        filler = fill(small_disk)
        refused_for_want_of_room(client)
        system.loop.kill()
        for child in pool_children(system.workers[0].pid):
            os.kill(child, 9)
        # What the loop that ended had taken is free now.
        fill(small_disk)
        system.loop.start()
        wait_until(lambda: _is_live(client), 30, f"the loop; its log: {system.loop.log[-2000:]}")
        see_that_reading_goes_on(client)
        filler.unlink()
        see_that_all_goes_on(system, client)


def _is_live(client: httpx.Client) -> bool:
    try:
        return client.get("/health/live").status_code == 200
    except httpx.TransportError:
        return False
