"""Whatever strangers put on the queues, the worker goes on, and no word of it stands in a log, a table or a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from shared.base.settings import Settings
from shared.broker import make_celery
from shared.contracts.jobs import JobKind, Queue, task_name
from tests.faults.fleet import Fleet, launch
from tests.support.waiting import wait_until

CANARY = "zyzzogeton-2718"
CREATE_MEMORY, END_CONVERSATION = task_name(JobKind.CREATE_MEMORY), task_name(JobKind.END_CONVERSATION)
GARBAGE: list[tuple[str, list[Any], dict[str, Any], str]] = [
    (END_CONVERSATION, [CANARY, {"x": CANARY}], {}, "json"),
    (END_CONVERSATION, [], {"appId": "app0", "conversationId": f"../{CANARY}"}, "json"),
    (END_CONVERSATION, [], {"appId": "app0", "conversationId": "c1", CANARY: 1}, "json"),
    (END_CONVERSATION, [], {"appId": "app0", "conversationId": "c1", "reason": f"{CANARY}\0"}, "json"),
    (END_CONVERSATION, [], {"appId": [1], "conversationId": {"a": CANARY}}, "json"),
    (CREATE_MEMORY, [CANARY], {}, "json"),
    (CREATE_MEMORY, [], {CANARY: 1}, "json"),
    (CREATE_MEMORY, [], {"job_id": "job_0", "fence": 10**30}, "json"),
    ("nobody.knows", [CANARY], {CANARY: CANARY}, "json"),
    (END_CONVERSATION, [], {"appId": "app0", "conversationId": CANARY}, "pickle"),
    (END_CONVERSATION, [], {"appId": "app0", "conversationId": CANARY}, "yaml"),
]
ENTRIES = [
    b"\xff\xfe\x00" + CANARY.encode(),
    CANARY.encode(),
    b"{",
    b"null",
    b"[" * 100_000,
    b'{"properties": null}',
    b'{"body": "!", "properties": {"delivery_tag": "1", "body_encoding": "base64"}}',
    b'{"body": 1, "headers": [], "properties": {"delivery_tag": 1, "delivery_info": {}}}',
    b'{"__type__": "datetime", "__value__": "zyzzogeton-2718"}',
]


@pytest.fixture
def fleet(tmp_path: Path, sqlite_url: str) -> Iterator[Fleet]:
    with launch(tmp_path, sqlite_url) as fleet:
        yield fleet


@pytest.fixture
def stranger(fleet: Fleet, tmp_path: Path) -> Iterator[Celery]:
    settings = Settings(home=tmp_path / "stranger", redis_url=fleet.redis.url, _env_file=None)  # type: ignore[call-arg]
    celery = make_celery(settings)
    yield celery
    celery.close()


def test_bytes_that_are_no_message_are_dead_letters_and_end_no_worker(fleet: Fleet) -> None:
    fleet.make_whole()
    worker = fleet.system.workers[0].pid
    with fleet.redis.client() as client:
        for queue in Queue:
            for entry in ENTRIES:
                client.lpush(queue.value, entry)
                client.lpush(f"{queue.value}:9", entry)
    count = 2 * len(Queue) * len(ENTRIES)
    dead = {"kind": "end_conversation", "state": "dead", "limit": 200}
    wait_until(lambda: len(fleet.ask("GET", "/jobs", params=dead)["jobs"]) == count, 90, f"{count} dead letters")
    assert {job["reason"] for job in fleet.ask("GET", "/jobs", params=dead)["jobs"]} == {
        "malformed intake message: appId, conversationId, a field that is not known"
    }
    app = fleet.new_app()
    fleet.converse(app, "I adopted a greyhound named Pixel.")
    fleet.settle(app)
    assert fleet.memories(app) and fleet.system.workers[0].pid == worker and fleet.system.workers[0].alive
    assert CANARY not in fleet.system.workers[0].log
    fleet.ask("DELETE", f"/apps/{app}/data")
    fleet.wait_until_gone(CANARY)


def test_garbage_on_the_queues_stops_nothing_and_is_repeated_nowhere(fleet: Fleet, stranger: Celery) -> None:
    app = fleet.new_app()
    for task, args, fields, serializer in GARBAGE:
        for queue in Queue:
            stranger.send_task(task, args=args, kwargs=fields, queue=queue.value, serializer=serializer)
    fleet.ask("POST", f"/apps/{app}/conversations", json={"conversationId": "last"})
    fields = {"appId": app, "conversationId": "last", "reason": f"over, {CANARY}"}
    stranger.send_task(END_CONVERSATION, kwargs=fields, queue=Queue.INTAKE.value)
    wait_until(lambda: fleet.states(app), 60, "the last message to be carried out")
    fleet.settle(app)
    assert all(process.alive for process in fleet.system.processes)
    assert CANARY not in fleet.system.workers[0].log and CANARY not in fleet.system.loop.log
    # What is not this app's would else be written into Redis' own file by this erasure, and by none after it.
    wait_until(lambda: not any("redis" in place for place in fleet.places_of(CANARY)), 60, "the queues to be drained")
    fleet.ask("DELETE", f"/apps/{app}/data")
    fleet.wait_until_gone(CANARY)
