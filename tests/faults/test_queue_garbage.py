"""Whatever strangers put on the queues, the worker goes on, and no word of it stands in a log, a table or a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from shared.broker import make_celery
from shared.contracts.jobs import JobKind, Queue, task_name
from shared.settings import Settings
from tests.faults.fleet import Fleet, launch
from tests.support.waiting import wait_until

CANARY = "zyzzogeton-2718"
CREATE_MEMORY, END_CONVERSATION = task_name(JobKind.CREATE_MEMORY), task_name(JobKind.END_CONVERSATION)
GARBAGE: list[tuple[str, list[Any], dict[str, Any], str]] = [
    (END_CONVERSATION, [CANARY, {"x": CANARY}], {}, "json"),
    (END_CONVERSATION, [], {"appId": "app0", "conversationId": f"{CANARY} said so"}, "json"),
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
