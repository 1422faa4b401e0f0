"""Streams and long polls over a real port: nothing lost, nothing twice, nobody else's, and no stop that waits."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
import structlog
from redis.backoff import NoBackoff
from redis.retry import Retry

from loop.api.event_stream import PAGE, EventSubscription, Pace, Page, Reading, follow
from loop.steps.publish_events import PublishEvents
from loop.streams import EnergyNews, Notices
from shared.apps.models import Scope
from shared.apps.queries import Caller
from shared.base.errors import Transient
from shared.contracts.values import EventKind
from shared.events.queries import EventFilter
from shared.events.recording import record
from tests.support.api import ADMIN, Api, open_api
from tests.support.command_line import served
from tests.support.waiting import wait_until

HEARTBEAT = 0.2


@dataclass
class Heard:
    events: list[dict[str, Any]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    comments: int = 0
    is_over: bool = False

    def take(self, lines: Iterator[str]) -> None:
        """Read a stream until it ends, as the standard says."""
        one: dict[str, Any] = {}
        for line in lines:
            name, _, value = line.partition(": ")
            if line.startswith(":"):
                self.comments += 1
            elif name == "id":
                self.places.append(int(value))
                one["id"] = int(value)
            elif name in {"event", "data"}:
                one[name] = json.loads(value) if name == "data" else value
            elif not line:
                if "data" in one:
                    self.events.append(one)
                one = {}

    @property
    def positions(self) -> list[int]:
        return [event["id"] for event in self.events if "id" in event]

    @property
    def kinds(self) -> list[str]:
        return [event["event"] for event in self.events]


class Town:
    """A served interface, its publishing step, and people who listen."""

    def __init__(self, api: Api, url: str) -> None:
        self.api = api
        self.url = url
        loop = api.loop
        self.publish: PublishEvents = next(s for s in loop.ticker._steps if isinstance(s, PublishEvents))
        loop.leadership.keep()
        self.listeners = ThreadPoolExecutor(32)

    def happen(self, count: int = 1, app_id: str = "chat", **more: Any) -> None:
        for _ in range(count):
            with self.api.loop.database.write() as session:
                record(session, EventKind.CONVERSATION_ENDED, app_id, self.api.clock.now(), **more)
        self.place()

    def place(self) -> None:
        while self.publish.run():
            pass

    @contextmanager
    def listening(self, path: str = "/apps/chat/stream", token: str = ADMIN, **given: Any) -> Iterator[Heard]:
        heard, opened, headers = Heard(), threading.Event(), given.pop("headers", {})
        headers = {"Authorization": f"Bearer {token}"} | headers
        client = httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False)
        before = self.api.loop.hub.listening

        def listen() -> None:
            try:
                with client.stream("GET", path, params=given) as response:
                    assert response.status_code == 200, response.read()
                    assert response.headers["content-type"].startswith("text/event-stream")
                    opened.set()
                    heard.take(response.iter_lines())
            except httpx.TransportError:
                pass  # the test closed it
            finally:
                heard.is_over = True
                opened.set()

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            wait_until(lambda: opened.is_set() and (heard.comments > 0 or heard.is_over), 20, "the stream")
            yield heard
        finally:
            self.hang_up(client, thread)
            wait_until(lambda: self.api.loop.hub.listening <= before, 20, "the listener to be let go")

    def hang_up(self, client: httpx.Client, thread: threading.Thread) -> None:
        for connection in client._transport._pool.connections:  # type: ignore[attr-defined]
            stream = connection._connection._network_stream
            stream.get_extra_info("socket").shutdown(2) if not thread.join(0.01) and thread.is_alive() else None
        thread.join(20)
        client.close()

    def poll(self, token: str = ADMIN, app_id: str = "chat", **given: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token}"}
        answer = httpx.get(
            f"{self.url}/apps/{app_id}/events", params=given, headers=headers, timeout=90, trust_env=False
        )
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


@contextmanager
def open_town(url: str, home: Path, **settings: Any) -> Iterator[Town]:
    with open_api(url, home, stream_heartbeat_seconds=HEARTBEAT, **settings) as api:
        for app_id in ("chat", "email"):
            api.install(app_id)
        with served(api.client.app) as address:
            town = Town(api, address)
            yield town
            api.loop.hub.close()
            town.listeners.shutdown()


@pytest.fixture
def town(api_url: str, tmp_path: Path) -> Iterator[Town]:
    with open_town(api_url, tmp_path / "home") as town:
        yield town


@pytest.fixture
def small_town(sqlite_url: str, tmp_path: Path) -> Iterator[Town]:
    with open_town(sqlite_url, tmp_path / "home") as town:
        yield town


def test_a_listener_hears_what_happens_from_now_on_with_its_text(town: Town) -> None:
    town.happen()
    with town.listening() as heard:
        [memory] = town.api.remember("/apps/chat", "Likes tea.")
        town.place()
        wait_until(lambda: heard.events, 20, "the event")
    [event] = heard.events
    assert (event["id"], event["event"]) == (2, "memory.created")
    assert event["data"] == {
        "position": 2, "kind": "memory.created", "appId": "chat", "conversationId": None, "subject": str(memory),
        "details": {"change": "created"}, "at": "2026-03-01T12:00:00Z", "content": "Likes tea.",
    }  # fmt: skip


@pytest.mark.parametrize("api_url", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
def test_resuming_loses_and_repeats_nothing_while_events_are_written(town: Town) -> None:
    writers, each = 4, 40
    over = threading.Event()

    def write(_: int) -> None:
        for _ in range(each):
            patiently(lambda: record_one(town))

    def place() -> None:
        while not over.is_set():
            patiently(town.publish.run)

    heard: list[int] = []
    publication = threading.Thread(target=place)
    publication.start()
    with ThreadPoolExecutor(writers) as pool:
        writing = [pool.submit(write, one) for one in range(writers)]
        after = 0
        while len(heard) < writers * each:
            # Each round breaks off somewhere and resumes from the last event that was heard.
            with town.listening(headers={"Last-Event-ID": str(after)}) as ear:
                goal = min(writers * each - len(heard), 25)
                wait_until(lambda ear=ear, goal=goal: len(ear.positions) >= goal, 60, "more events")
                some = list(ear.positions)
            heard += some
            after = heard[-1]
        for one in writing:
            one.result()
    over.set()
    publication.join()
    assert heard == list(range(1, writers * each + 1))


def record_one(town: Town) -> None:
    with town.api.loop.database.write() as session:
        record(session, EventKind.CONVERSATION_ENDED, "chat", town.api.clock.now())


def patiently(act: Callable[[], object]) -> None:
    for _ in range(50):
        try:
            act()
            return
        except Transient:
            continue
    raise AssertionError("the database stays busy")


def test_what_happened_before_it_came_is_heard_after_the_position_it_names(town: Town) -> None:
    town.happen(5)
    for given in ({"after": 2}, {"headers": {"Last-Event-ID": "2"}}, {"after": 0, "headers": {"Last-Event-ID": "2"}}):
        with town.listening(**given) as heard:  # type: ignore[arg-type]
            wait_until(lambda heard=heard: len(heard.events) >= 3, 20, "the events")
        assert heard.positions == [3, 4, 5]


def test_a_listener_hears_only_the_kinds_and_the_conversation_it_asked_for(town: Town) -> None:
    with (
        town.listening(kinds="memory.created") as by_kind,
        town.listening(conversationId="c2") as by_conversation,
    ):
        town.happen(conversation_id="c1")
        town.happen(conversation_id="c2")
        town.api.remember("/apps/chat", "Likes tea.")
        town.place()
        wait_until(lambda: by_kind.events and by_conversation.events, 20, "the events")
        wait_until(lambda: by_kind.places[-1] == 3 == by_conversation.places[-1], 20, "the place to move on")
    assert by_kind.kinds == ["memory.created"]
    assert [event["data"]["conversationId"] for event in by_conversation.events] == ["c2"]


def test_a_silent_stream_sends_heartbeats(small_town: Town) -> None:
    with small_town.listening() as heard:
        wait_until(lambda: heard.comments >= 4, 20, "heartbeats")
    assert heard.events == []


def test_news_of_others_does_not_keep_a_stream_silent(small_town: Town) -> None:
    with small_town.listening() as heard:

        def hears_heartbeats() -> bool:
            small_town.happen(app_id="email")
            return heard.comments >= 4

        wait_until(hears_heartbeats, 20, "heartbeats in spite of the news")
    assert heard.events == []


@dataclass(frozen=True)
class CountingEar(EventSubscription):
    pages: list[int] = field(default_factory=list)

    def next_page(self, after: int, limit: int = PAGE) -> Page | None:
        self.pages.append(after)
        return super().next_page(after, limit)


def test_nothing_is_read_before_the_listener_has_taken_the_page_before(small_town: Town) -> None:
    small_town.happen(500)
    loop = small_town.api.loop
    ear = CountingEar(loop, Caller("admin", Scope.ADMIN), EventFilter("chat"))

    async def take(count: int) -> list[bytes]:
        reading, listener = Reading(EnergyNews(loop.database, loop.regulator)), loop.hub.listen()
        stream = follow(ear, reading, loop.hub, listener, 0, Pace(60))
        taken = [await anext(stream) for _ in range(count)]
        listener.close()
        return taken

    taken = asyncio.run(take(151))
    assert taken[-1].startswith(b"id: 150\n") and ear.pages == [0, 100]


def test_a_listener_is_told_what_was_lost_to_age(town: Town) -> None:
    town.happen(3)
    town.api.clock.advance(25 * 3600)
    town.publish._forgot_at = None
    town.place()
    town.happen()
    with town.listening(after=1) as heard:
        wait_until(lambda: len(heard.events) >= 2, 20, "the gap and the event")
    assert heard.kinds == ["gap", "conversation.ended"] and heard.positions == [4]
    assert heard.events[0]["data"] == {"after": 1, "keptAfter": 3}
    assert town.poll(after=3)["gap"] is None
    polled = town.poll(after=0)
    assert polled["gap"] == {"after": 0, "keptAfter": 3} and polled["cursor"] == 4


def test_a_position_of_another_installation_is_a_gap_too(small_town: Town) -> None:
    small_town.happen(2)
    assert small_town.poll(after=77) == {"events": [], "cursor": 2, "gap": {"after": 77, "keptAfter": 2}}


def test_positions_are_never_given_out_again(town: Town) -> None:
    town.happen(3)
    town.api.clock.advance(25 * 3600)
    town.publish._forgot_at = None
    town.place()
    assert town.poll(after=3)["cursor"] == 3
    town.happen()
    assert [event["position"] for event in town.poll(after=3)["events"]] == [4]


def test_what_was_purged_is_told_without_its_text(town: Town) -> None:
    town.api.remember("/apps/chat", "zyzzogeton")
    town.place()
    town.api.ask("DELETE", "/apps/chat/memories")
    town.place()
    events = town.poll(after=0)["events"]
    assert [event["kind"] for event in events] == ["memory.created", "memories.purged"]
    assert events[0]["content"] is None and "zyzzogeton" not in json.dumps(events)


def test_facts_are_told_of_without_their_text(town: Town) -> None:
    written = town.api.ask("POST", "/apps/chat/facts", 201, json={"fact": "Likes tea"})["id"]
    town.api.ask("POST", f"/apps/chat/facts/{written}/pin")
    town.api.ask("DELETE", f"/apps/chat/facts/{written}")
    town.api.ask("POST", f"/apps/chat/facts/{written}/undo")
    town.place()
    events = town.poll(after=0)["events"]
    assert [(event["kind"], event["details"]["change"]) for event in events] == [
        ("fact.created", "written"), ("fact.changed", "pinned"), ("fact.removed", "deleted"),
        ("fact.created", "undone"),
    ]  # fmt: skip
    assert {event["subject"] for event in events} == {str(written)} and "tea" not in str(events)


def test_profiles_are_told_of_without_whose(town: Town) -> None:
    whose = {"appId": "chat", "userId": "ann"}
    town.api.ask("PUT", "/api/memory/consent", json=whose | {"consent": True})
    town.api.ask("PUT", "/apps/chat/profile", params={"userId": "ann"}, json={"freeformNotes": "Likes tea"})
    town.api.ask("PUT", "/api/memory/consent", json=whose | {"consent": False})
    town.place()
    events = [one for one in town.poll(after=0)["events"] if one["kind"] == "profile.changed"]
    assert [one["details"]["change"] for one in events] == ["granted", "written", "revoked"]
    assert "ann" not in str(events) and "tea" not in str(events)


def test_a_poll_answers_at_once_when_there_is_something(small_town: Town) -> None:
    small_town.happen(3)
    answer = small_town.poll(after=1, wait=60, limit=1)
    assert [event["position"] for event in answer["events"]] == [2] and answer["cursor"] == 2
    assert [event["position"] for event in small_town.poll(after=answer["cursor"], wait=60)["events"]] == [3]


def test_a_poll_waits_until_something_happens(town: Town) -> None:
    polling = town.listeners.submit(town.poll, wait=60)
    wait_until(lambda: town.api.loop.hub.listening == 1, 20, "the poll to wait")
    wait_until(lambda: town.poll()["cursor"] == 0, 20, "nothing yet")
    town.happen()
    assert [event["position"] for event in polling.result(20)["events"]] == [1]


def test_a_poll_that_waited_in_vain_says_where_to_go_on(small_town: Town) -> None:
    small_town.happen(2)
    assert small_town.poll(wait=0.1) == {"events": [], "cursor": 2, "gap": None}


def test_apps_hear_nothing_of_each_other(town: Town) -> None:
    token = town.api.token("chat")
    with town.listening(token=token) as heard:
        town.happen(3, app_id="email")
        town.happen(1)
        wait_until(lambda: heard.events, 20, "the app's own event")
    assert [event["data"]["appId"] for event in heard.events] == ["chat"]
    for path in ("/apps/email/stream", "/apps/email/events", "/stream"):
        assert town.api.refused(403, "GET", path, token=token)["code"] == "denied"


def test_an_admin_hears_every_app_and_the_energy(town: Town) -> None:
    with town.listening("/stream") as heard:
        town.happen(app_id="email")
        town.happen(app_id="chat")
        wait_until(lambda: len(heard.positions) == 2 and "energy" in heard.kinds, 20, "events and energy")
        before = heard.kinds.count("energy")
        town.api.spend("chat", 60)
        wait_until(lambda: heard.kinds.count("energy") > before, 20, "the energy to change")
    energy = [event for event in heard.events if event["event"] == "energy"]
    assert "id" not in energy[0] and energy[0]["data"]["status"] == "high"
    assert energy[-1]["data"].keys() == {"level", "percentage", "status", "deferredJobs"}
    assert energy[-1]["data"]["status"] == "medium" and energy[-1]["data"]["level"] == 40


@pytest.mark.parametrize("token_of_login", ["the app's", "an admin's"])
def test_a_listener_that_has_logged_out_is_sent_home(town: Town, token_of_login: str) -> None:
    token = ADMIN if token_of_login == "an admin's" else town.api.ask("POST", "/apps/chat/tokens")["token"]
    login = town.api.ask("POST", "/logins", token=token)["login"]
    with town.listening(token=login) as heard:
        town.api.ask("DELETE", "/logins", token=login)
        town.happen()
        wait_until(lambda: heard.is_over, 20, "the end of the stream")
    assert heard.events == []


@pytest.mark.parametrize("how", ["token revoked", "app uninstalled", "app uninstalled under an admin"])
def test_a_listener_that_may_listen_no_more_is_sent_home(town: Town, how: str) -> None:
    issued = town.api.ask("POST", "/apps/chat/tokens")
    token = ADMIN if how.endswith("admin") else issued["token"]
    with town.listening(token=token) as heard:
        path = f"/apps/chat/tokens/{issued['tokenId']}" if how == "token revoked" else "/apps/chat"
        town.api.ask("DELETE", path)
        town.happen()
        wait_until(lambda: heard.is_over, 20, "the end of the stream")
    assert heard.events == []


def test_a_stopping_loop_sends_all_listeners_home_at_once(small_town: Town) -> None:
    with small_town.listening() as heard, small_town.listening("/stream") as admin:
        polling = small_town.listeners.submit(small_town.poll, wait=60)
        wait_until(lambda: small_town.api.loop.hub.listening == 3, 20, "three listeners")
        begun = time.monotonic()
        small_town.api.loop.hub.close()
        wait_until(lambda: heard.is_over and admin.is_over, 20, "the end of the streams")
        assert polling.result(20)["events"] == []
        assert time.monotonic() - begun < 30, "a poll waits a minute"


def test_there_are_only_so_many_streams(small_town: Town) -> None:
    small_town.api.loop.hub._most = 2
    with small_town.listening(), small_town.listening():
        error = small_town.api.refused(429, "GET", "/apps/chat/stream")
        assert error["code"] == "too_many"
    assert small_town.poll(after=0)["events"] == [], "whoever left makes room"


def test_an_app_that_is_not_there_has_no_stream(small_town: Town) -> None:
    small_town.api.refused(404, "GET", "/apps/nobody/stream")
    small_town.api.ask("DELETE", "/apps/email")
    small_town.api.refused(409, "GET", "/apps/email/stream")


def test_waiting_is_not_counted_as_slowness(small_town: Town) -> None:
    small_town.poll(wait=0.1)
    with small_town.listening():
        pass
    text = small_town.api.send("GET", "/metrics").text
    assert 'afterthought_http_request_duration_seconds_count{route="/apps/{appId}/events"}' not in text


def test_what_is_placed_is_counted_and_what_is_open_is_shown(small_town: Town) -> None:
    counted = small_town.api.loop.metrics.events_placed.labels("conversation.ended")._value.get
    before = counted()
    small_town.happen(3)
    assert counted() - before == 3
    record_one(small_town)
    small_town.api.clock.advance(7)
    with small_town.listening():
        text = small_town.api.send("GET", "/metrics").text
    assert "\nafterthought_streams_open 1.0" in text and "\nafterthought_unplaced_event_seconds 7.0" in text


def test_an_outage_of_redis_is_logged_once_however_long_it_lasts() -> None:
    calls = list[object]()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            while len(calls) < 6:
                caller, _ = listener.accept()
                caller.close()
                calls.append(caller)

        refusing = threading.Thread(target=hang_up)
        refusing.start()
        client = redis.Redis(port=listener.getsockname()[1], retry=Retry(NoBackoff(), 0), socket_timeout=5)
        with structlog.testing.capture_logs() as lines:
            notices = Notices(client, lambda _: None, pause_seconds=0.01)
            notices.start()
            refusing.join(60)
            notices.stop(5)
        client.close()
    assert len(calls) == 6 and [line["event"] for line in lines] == ["notices_lost"]
