"""Webhooks told by real processes: what happens to a delivery whose worker is killed, and how fast one comes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.faults.fleet import Fleet
from tests.support.receiver import Receiver, receiving
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240), pytest.mark.usefixtures("whole")]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def listen(fleet: Fleet, receiver: Receiver, *kinds: str) -> tuple[str, str]:
    """Install an app with a webhook; return its id and the secret."""
    app_id = fleet.new_app()
    added = fleet.ask("POST", f"/apps/{app_id}/webhooks", json={"url": receiver.url, "kinds": list(kinds)})
    return app_id, added["secret"]


def test_every_event_of_a_conversation_is_told_in_the_end(fleet: Fleet, receiver: Receiver) -> None:
    app_id, secret = listen(fleet, receiver)
    fleet.converse(app_id, "I adopted a greyhound named Pixel.")
    kinds = {"conversation.ended", "memory.created", "fact.created", "job.finished"}
    # Jobs may all be at their end just before the next delivery is asked for.
    wait_until(lambda: {got.json["kind"] for got in receiver.received} >= kinds, 60, f"of each kind: {kinds}")
    fleet.settle(app_id)
    told = {got.json["kind"]: got.json for got in receiver.received}
    assert told.keys() == kinds
    assert "Pixel" in told["memory.created"]["content"] and told["job.finished"]["details"]["state"] == "done"
    assert all(got.is_signed_with(secret) for got in receiver.received)


def test_a_worker_killed_in_the_middle_of_a_delivery_delivers_it_again_under_the_same_id(
    fleet: Fleet, receiver: Receiver
) -> None:
    app_id, secret = listen(fleet, receiver, "conversation.ended")
    arrived, go = threading.Event(), threading.Event()

    def hold(handler: BaseHTTPRequestHandler) -> None:
        arrived.set()
        go.wait(60)
        receiver.behave = None

    receiver.behave = hold
    fleet.converse(app_id, "Hello.")
    assert arrived.wait(60)
    fleet.system.kill(fleet.system.workers[0])
    receiver.behave = None
    go.set()
    fleet.settle(app_id)
    first, *again = receiver.received
    assert again and {got.message_id for got in again} == {first.message_id}
    assert all(got.is_signed_with(secret) and got.body == first.body for got in again)
    [job] = fleet.ask("GET", "/jobs", params={"appId": app_id, "kind": "deliver_webhook"})["jobs"]
    assert job["state"] == "done" and job["attempts"] >= 2


def test_eight_webhooks_are_told_everything_in_order_while_the_ninth_hangs(fleet: Fleet, receiver: Receiver) -> None:
    app_id, go = fleet.new_app(), threading.Event()

    def hang_at_one(handler: BaseHTTPRequestHandler) -> None:
        if handler.path == "/0":
            go.wait(120)
            return
        handler.send_response(204)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    receiver.behave = hang_at_one
    hooks = f"/apps/{app_id}/webhooks"
    urls = [f"http://127.0.0.1:{receiver.port}/{number}" for number in range(9)]
    added = [fleet.ask("POST", hooks, json={"url": url, "kinds": ["conversation.ended"]})["webhookId"] for url in urls]
    for number in range(12):
        fleet.converse(app_id, f"Conversation {number}: hello.")
    query = {"after": 0, "limit": 200, "kinds": "conversation.ended"}

    def listed() -> list[int]:
        return [one["position"] for one in fleet.ask("GET", f"/apps/{app_id}/events", params=query)["events"]]

    wait_until(lambda: len(listed()) == 12, 30, "twelve events")
    events = listed()

    def told() -> list[list[int]]:
        paths = [got.path for got in receiver.received]
        positions = [got.json["position"] for got in receiver.received]
        return [[at for path, at in zip(paths, positions, strict=True) if path == f"/{n}"] for n in range(1, 9)]

    wait_until(lambda: all(set(events) <= set(one) for one in told()), 90, f"all of {events} told: {told()}")
    assert told() == [events] * 8, "in order, and each once"
    hung = wait_until(lambda: failed_there(fleet, f"{hooks}/{added[0]}"), 60, "the ninth to have failed")
    assert hung["failingSince"] < hung["retryAt"] and hung["outcome"] == "unreachable"
    waiting = fleet.ask("GET", "/jobs", params={"appId": app_id, "kind": "deliver_webhook", "limit": 200})["jobs"]
    assert len([job for job in waiting if job["state"] in ("pending", "retrying", "queued", "running")]) == len(events)
    assert {got.json["position"] for got in receiver.received if got.path == "/0"} == {events[0]}
    go.set()
    receiver.behave = None
    fleet.settle(app_id)
    late = [got.json["position"] for got in receiver.received if got.path == "/0"]
    assert list(dict.fromkeys(late)) == events, "in order, once it answers"


def failed_there(fleet: Fleet, webhook: str) -> dict[str, str] | None:
    found: dict[str, str] = fleet.ask("GET", webhook)
    return found if found["failures"] else None


def test_a_stream_goes_on_where_it_broke_off_when_the_loop_is_killed(fleet: Fleet) -> None:
    app_id = fleet.new_app()
    fleet.converse(app_id, "I adopted a greyhound named Pixel.")
    fleet.settle(app_id)
    before = wait_until(lambda: told(fleet, app_id, 0, 3), 30, "three events")
    fleet.system.kill(fleet.system.loop)
    fleet.make_whole()
    fleet.converse(app_id, "My sister Ines lives in Lisbon.")
    fleet.settle(app_id)
    after = wait_until(lambda: told(fleet, app_id, before[-1]["position"], 3), 30, "three more")
    positions = [event["position"] for event in told(fleet, app_id, 0, 6)]
    heard = [event["position"] for event in before + after]
    # More may have happened since.
    assert positions[: len(heard)] == heard and positions == sorted(set(positions))


def told(fleet: Fleet, app_id: str, after: int, count: int) -> list[dict[str, int]]:
    events = fleet.ask("GET", f"/apps/{app_id}/events", params={"after": after})["events"]
    return list(events) if len(events) >= count else []


def test_a_loop_that_is_asked_to_stop_waits_for_no_stream(fleet: Fleet) -> None:
    app_id = fleet.new_app()
    with ExitStack() as streams:
        lines = []
        for _ in range(3):
            client = streams.enter_context(fleet.system.client())
            response = streams.enter_context(client.stream("GET", f"/apps/{app_id}/stream"))
            lines.append(response.iter_lines())
            assert next(lines[-1]) == ": listening"
        begun = time.monotonic()
        assert fleet.system.loop.stop(30) == 0
        assert time.monotonic() - begun < 25, "listeners would stay for ever"
        for one in lines:
            assert not [line for line in one if line.startswith("event")], "it ends as a stream should"
    fleet.make_whole()


def test_no_secret_of_a_webhook_is_in_a_log_or_a_job(fleet: Fleet, receiver: Receiver, tmp_path: Path) -> None:
    app_id, secret = listen(fleet, receiver)
    receiver.statuses = [500]
    fleet.converse(app_id, "Hello.")
    fleet.settle(app_id)
    key = secret.removeprefix("whsec_")
    assert all(key not in process.log for process in fleet.system.processes)
    assert key not in str(fleet.ask("GET", "/jobs", params={"appId": app_id}))
    assert key not in str(fleet.ask("GET", f"/apps/{app_id}/export"))
