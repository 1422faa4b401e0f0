"""The day of the person, from a message over HTTP to what is remembered, recalled and told of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tests.support.api import Api
from tests.support.model_server import ModelServer
from tests.support.working import open_worker, work_off
from worker.wiring import WorkerServices

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
MORNING_IN_JAPAN = "2026-11-25T07:10:00+09:00"
SAME_IN_UTC = "2026-11-24T22:10:00Z"
STORY = "I moved to Sapporo yesterday. I started my new job today. My flight back is tomorrow."


@dataclass
class Desk:
    """The interface, and a worker without a model beside it."""

    api: Api
    worker: WorkerServices
    path: str

    def chat(self, *said: tuple[str | None, str], end: bool = True, **opened: Any) -> str:
        """Hold a conversation of a user's messages, each with its time, have it thought over, and return its path."""
        messages = [{"role": "user", "content": text} | ({"createdAt": at} if at else {}) for at, text in said]
        return self.hold(messages, end, **opened)

    def hold(self, messages: list[dict[str, Any]], end: bool = True, **opened: Any) -> str:
        """Hold a conversation, have it thought over, and return its path."""
        conversation_id = self.api.ask("POST", f"{self.path}/conversations", json=opened)["conversationId"]
        whole = f"{self.path}/conversations/{conversation_id}"
        self.api.ask("POST", f"{whole}/messages", json={"messages": messages})
        if end:
            self.api.ask("POST", f"{whole}/end")
            work_off(self.worker, self.api.clock)
        return whole

    def told(self, user: str = "") -> str:
        facts = self.api.ask("GET", f"{self.path}/facts", params={"userId": user})["facts"]
        memories = self.api.ask("GET", f"{self.path}/memories", params={"userId": user})["memories"]
        return "\n".join([*(one["fact"] for one in facts), "--", *(one["content"] for one in memories)])


@pytest.fixture
def desk(api: Api, api_url: str, tmp_path: Path) -> Iterator[Desk]:
    api.clock.at = NOW
    with open_worker(api_url, tmp_path, api.clock, CollectorRegistry()) as worker:
        yield Desk(api, worker, api.install())


def test_what_was_said_in_the_morning_is_remembered_by_the_day_of_who_said_it(desk: Desk) -> None:
    whole = desk.chat((MORNING_IN_JAPAN, STORY), userId="yuki")
    facts, memories = desk.told("yuki").split("--")
    assert all(day in facts for day in ("24 November", "25 November")), facts
    assert all(day in memories for day in ("24 November", "25 November", "26 November")), memories
    assert "23 November" not in facts + memories
    [message] = desk.api.ask("GET", f"{whole}/messages")["messages"]
    assert message["createdAt"] == SAME_IN_UTC and message["utcOffsetMinutes"] == 540
    [memory] = desk.api.ask("GET", f"{desk.path}/memories")["memories"]
    assert (memory["createdAt"], memory["updatedOn"]) == (SAME_IN_UTC, "2026-11-25")
    recalled = desk.api.ask("POST", f"{desk.path}/context", json={"userId": "yuki", "message": "Hello!"})
    assert "[Created: 2026-11-25]" in recalled["systemPrompt"]


def test_a_model_is_told_the_days_of_who_said_it(
    sqlite_api: Api, sqlite_url: str, tmp_path: Path, server: ModelServer
) -> None:
    sqlite_api.clock.at = NOW
    asks = {"model": "ollama:tiny", "ollama_host": server.url}
    with open_worker(sqlite_url, tmp_path, sqlite_api.clock, CollectorRegistry(), memory_cap=1, **asks) as worker:
        desk = Desk(sqlite_api, worker, sqlite_api.install())
        desk.chat((MORNING_IN_JAPAN, STORY), userId="yuki")
        desk.chat(("2026-11-26T08:30:00+09:00", "I adopted a cat today and named it Mugi."), userId="yuki")
    prompts = ["\n".join(one["content"] for one in asked["messages"]) for asked in server.asked]
    first = [one for one in prompts if STORY in one and "Mugi" not in one]
    assert first, "nothing was asked"
    assert all("(2026-11-25)" in one and "2026-11-24" not in one for one in first)
    # What has to go at the cap is told with its day, too.
    assert any("] 2026-11-25, importance" in one and "] 2026-11-26, importance" in one for one in prompts), prompts


WHERE = {
    # Whose day decides, where each of those behind it says another.
    "the conversation's zone": ("conversation", "25 November"),
    "the user's zone": ("user", "24 November"),
    "the message's offset": ("message", "25 November"),
    "the app's zone": ("app", "24 November"),
    "UTC": ("nothing", "25 November"),
}


@pytest.mark.parametrize(("decides", "day"), WHERE.values(), ids=list(WHERE))
def test_the_nearest_that_says_where_somebody_is_decides(desk: Desk, decides: str, day: str) -> None:
    known = ["conversation", "user", "message", "app", "nothing"]
    known = known[known.index(decides) :]
    # 02:30 UTC: the evening before in America, the same day in Japan.
    at = "2026-11-25T11:30:00+09:00" if "message" in known else "2026-11-25T02:30:00Z"
    if "app" in known:
        desk.api.ask("PATCH", desk.path, json={"timeZone": "America/New_York"})
    if "user" in known:
        shown = desk.api.ask("PATCH", f"{desk.path}/users/ann", json={"timeZone": "America/Los_Angeles"})
        assert (shown["userId"], shown["timeZone"]) == ("ann", "America/Los_Angeles")
    opened = {"timeZone": "Asia/Kolkata"} if "conversation" in known else {}
    desk.chat((at, "I started my new job today."), userId="ann", **opened)
    facts, memories = desk.told("ann").split("--")
    assert day in facts and day in memories


def test_a_program_that_writes_utc_goes_by_the_phones_offset_in_the_same_conversation(desk: Desk) -> None:
    greeting = {"role": "assistant", "content": "Good morning! What is new?", "createdAt": "2026-11-24T22:09:00.123Z"}
    phone = {"role": "user", "content": "I adopted a cat today.", "createdAt": MORNING_IN_JAPAN}
    # A browser's toISOString, and Python's isoformat.
    browser = {"role": "user", "content": "I moved to Sapporo yesterday.", "createdAt": "2026-11-24T22:30:00.000Z"}
    python = {"role": "user", "content": "My exam is tomorrow.", "createdAt": "2026-11-24T22:40:00+00:00"}
    whole = desk.hold([greeting, browser, phone, python], userId="yuki")
    assert [one.get("utcOffsetMinutes") for one in desk.api.ask("GET", f"{whole}/messages")["messages"]] == [
        None, None, 540, None,
    ]  # fmt: skip
    facts = desk.told("yuki")
    assert all(said in facts for said in ("cat 25 November", "Sapporo 24 November", "exam is 26 November")), facts


def test_what_comes_without_a_time_is_dated_by_where_its_user_lives(desk: Desk) -> None:
    desk.api.clock.at = datetime(2026, 11, 25, 3, tzinfo=UTC)
    desk.api.ask("PATCH", f"{desk.path}/users/ann", json={"timeZone": "America/New_York"})
    desk.chat((None, "I started my new job today."), userId="ann")
    facts, memories = desk.told("ann").split("--")
    assert "24 November" in facts and "24 November" in memories
    # Taken back, and so none of what is told of the user's days.
    assert desk.api.ask("PATCH", f"{desk.path}/users/ann", json={"timeZone": None})["timeZone"] is None
    desk.chat((None, "I adopted a dog today."), userId="ann")
    assert "dog 25 November" in desk.told("ann")


def test_a_day_heads_what_was_said_on_it_where_it_was_said(desk: Desk) -> None:
    desk.chat(
        ("2026-11-20T23:30:00-08:00", "The quillwort by the pond got a new pot."),
        ("2026-11-21T00:30:00-08:00", "The quillwort needs rain water."),
        end=False,
        userId="ann",
    )
    context = desk.api.ask("POST", f"{desk.path}/context", json={"userId": "ann", "message": "What of my quillwort?"})
    prompt = context["systemPrompt"]
    places = [prompt.index(one) for one in ("2026-11-20\n", "new pot", "2026-11-21\n", "rain water")]
    assert places == sorted(places)


def test_a_search_for_today_looks_at_the_day_of_who_asks(desk: Desk) -> None:
    desk.api.clock.at = datetime(2026, 11, 25, 3, tzinfo=UTC)
    desk.chat(
        ("2026-11-24T10:00:00-05:00", "The quillwort got a new pot."),
        ("2026-11-23T21:00:00-05:00", "The quillwort got some rain water."),
        end=False,
        userId="ann",
    )
    desk.api.ask("PATCH", f"{desk.path}/users/ann", json={"timeZone": "America/New_York"})
    asked = {"query": "What happened to the quillwort yesterday?", "userId": "ann", "explain": True}
    fits = {
        one["content"].split()[-2]: one["explanation"]["date"]
        for one in desk.api.ask("POST", f"{desk.path}/search", json=asked)["results"]
    }
    assert fits["rain"] > fits["new"], fits


def test_where_an_app_and_its_users_are_goes_into_its_archive_and_out_of_it(desk: Desk) -> None:
    desk.api.ask("PATCH", desk.path, json={"timeZone": "Asia/Tokyo"})
    desk.api.ask("PATCH", f"{desk.path}/users/ann", json={"timeZone": "Europe/Lisbon"})
    desk.chat((MORNING_IN_JAPAN, "I adopted a cat today."), end=False, conversationId="c1", timeZone="Asia/Seoul")
    archive = desk.api.ask("GET", f"{desk.path}/export")
    desk.api.ask("POST", "/apps/second/import", json=archive)
    assert desk.api.ask("GET", "/apps/second")["timeZone"] == "Asia/Tokyo"
    [user] = [one for one in desk.api.ask("GET", "/apps/second/users")["users"] if one["userId"]]
    assert (user["userId"], user["timeZone"], user["conversations"]) == ("ann", "Europe/Lisbon", 0)
    assert desk.api.ask("GET", "/apps/second/conversations/c1")["timeZone"] == "Asia/Seoul"
    [message] = desk.api.ask("GET", "/apps/second/conversations/c1/messages")["messages"]
    assert message["utcOffsetMinutes"] == 540
    # What was set there stays as it is.
    desk.api.ask("PATCH", "/apps/second/users/ann", json={"timeZone": "Asia/Seoul"})
    desk.api.ask("POST", "/apps/second/import", json=archive)
    again = desk.api.ask("GET", "/apps/second/export")
    assert again["users"] == [{"userId": "ann", "timeZone": "Asia/Seoul"}]


def test_a_users_time_zone_is_erased_with_them(desk: Desk) -> None:
    for user in ("ann", "bob"):
        desk.api.ask("PATCH", f"{desk.path}/users/{user}", json={"timeZone": "Europe/Lisbon"})
    erased = desk.api.ask("DELETE", f"{desk.path}/users/ann/data")
    assert erased["receipt"]["erased"]["userSettings"] == 1 and erased["receipt"]["left"]["userSettings"] == 0
    assert [one["userId"] for one in desk.api.ask("GET", f"{desk.path}/users")["users"]] == ["bob"]
    assert desk.api.ask("DELETE", f"{desk.path}/data")["receipt"]["erased"]["userSettings"] == 1


def test_a_time_zone_that_there_is_not_is_refused_in_words(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    places = (("PATCH", path, {}), ("PATCH", f"{path}/users/ann", {}), ("POST", f"{path}/conversations", {}),
              ("POST", "/apps", {"appId": "second", "name": "Second"}))  # fmt: skip
    for zone in ("Mars/Olympus", "", "+09:00", "../etc/passwd", "Europe", 9):
        for method, where, more in places:
            assert "timeZone" in sqlite_api.refused(422, method, where, json=more | {"timeZone": zone})["message"]
    for given, told in ZONES.items():
        assert told in str(sqlite_api.refused(422, "PATCH", path, json={"timeZone": given}))


STAY = {
    "a company": ("I work at Tomorrow Ltd in Leeds.", "Tomorrow Ltd"),
    "a song": ("My favourite song is Yesterday by the Beatles.", "Yesterday by"),
    "a newspaper": ("I work for USA Today as an editor.", "USA Today"),
    "the day after tomorrow": ("My flight to Rome is the day after tomorrow.", "27 November 2026"),
    "a week ahead": ("I am moving to Oslo in a week.", "a week after 25 November 2026"),
    "a year after a number": ("I turned 40 this year.", "40 in 2026"),
}


def test_names_stay_and_times_read_well_in_what_is_remembered(desk: Desk) -> None:
    for number, (said, kept) in enumerate(STAY.values()):
        desk.chat((MORNING_IN_JAPAN, said), userId=f"yuki-{number}")
        facts, memories = desk.told(f"yuki-{number}").split("--")
        assert kept in facts and kept in memories


ZONES = {
    "europe/lisbon": "write Europe/Lisbon", "America/New York": "write America/New_York", "posixrules": "name one",
    "localtime": "name one", "posix/Europe/Lisbon": "name one", "right/Europe/Lisbon": "name one",
}  # fmt: skip
"""Zones that not every machine knows, and what is said of them."""
