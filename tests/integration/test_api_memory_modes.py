"""A conversation's memory over HTTP: what off and read keep apart from every other conversation, by every door."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.llm.providers import NGRAMS
from tests.integration.test_api_search import DEBUG, say, user, work_off
from tests.support.api import Api, open_api

SECRET = "Quillon lives in the lighthouse at Skomvaer."
ASKED = "Where does Quillon live, in the lighthouse?"


@pytest.fixture
def api(api_url: str, tmp_path: Path) -> Iterator[Api]:
    with open_api(api_url, tmp_path / "home", embedding=NGRAMS) as opened:
        yield opened


def answers_about(api: Api, path: str, **whose: str) -> dict[str, str]:
    """Return what each door says to a question asked elsewhere."""
    body = {"message": ASKED, **whose}
    search = {"query": ASKED, "limit": 50, **whose}
    doors: dict[str, Any] = {
        "context": api.ask("POST", f"{path}/context", json=body),
        "context of another": api.ask("POST", f"{path}/context", json=body | {"conversationId": "open"}),
        "search": api.ask("POST", f"{path}/search", json=search),
        "search of another": api.ask("POST", f"{path}/search", json=search | {"conversationId": "open"}),
        "search by name": api.ask(
            "POST", f"{path}/search", json=search | {"filters": {"conversationIds": ["secret", "open"]}}
        ),
        "debug": api.ask("GET", DEBUG, params={"q": ASKED, "appId": "chat", "limit": 50} | whose),
        "debug of another": api.ask("GET", DEBUG, params={"q": ASKED, "appId": "chat", "conversationId": "open"}),
    }
    return {door: str(answer) for door, answer in doors.items()}


@pytest.mark.parametrize("whose", [{}, {"userId": "ann"}], ids=["nobody", "a user"])
@pytest.mark.parametrize("mode", ["off", "read"])
def test_no_door_leads_from_another_conversation_to_one_that_is_not_on(
    api: Api, mode: str, whose: dict[str, str]
) -> None:
    path = api.install()
    say(api, path, "secret", user(SECRET), memory=mode, **whose)
    say(api, path, "open", user("What a lighthouse!"), **whose)
    work_off(api)
    found = answers_about(api, path, **whose)
    assert not [door for door, answer in found.items() if "Skomvaer" in answer]
    own = api.ask("POST", f"{path}/search", json={"query": ASKED, "conversationId": "secret"})
    assert [one["content"] for one in own["results"]][:1] == [SECRET], "its own words are found in itself"
    api.ask("PATCH", f"{path}/conversations/secret", json={"memory": "on"})
    assert all("Skomvaer" in answer for answer in answers_about(api, path, **whose).values())


def test_in_a_conversation_that_is_off_nothing_but_its_own_is_recalled_and_in_one_that_is_read_all_is(api: Api) -> None:
    path = api.install()
    api.remember(path, "Quillon is a keeper of the lighthouse.", userId="ann")
    api.ask("POST", f"{path}/facts", json={"fact": "Quillon tends the lighthouse", "userId": "ann"})
    consent = {"appId": "chat", "userId": "ann", "consent": True}
    api.ask("PUT", "/api/memory/consent", json=consent)
    api.ask("PUT", f"{path}/profile?userId=ann", json={"freeformNotes": "Sister of Quillon in the lighthouse."})
    say(api, path, "old", user(SECRET), userId="ann")
    for mode in ("off", "read"):
        said = [user(f"Quillon and the lighthouse, note {i}.") for i in range(12)]
        say(api, path, mode, *said, memory=mode, userId="ann")
    work_off(api)
    asked = ({"message": ASKED}, {"messages": [user(ASKED)]}, {"message": ASKED, "contextWindow": 300})
    handed = [api.ask("POST", f"{path}/context", json={"conversationId": "off", **one}) for one in asked]
    for answer in handed:
        for word in ("Skomvaer", "keeper", "tends", "Sister"):
            assert word not in str(answer), answer["systemPrompt"]
    searched = api.ask("POST", f"{path}/search", json={"query": ASKED, "conversationId": "off", "limit": 200})
    assert {one["conversationId"] for one in searched["results"]} == {"off"} and not searched["widened"]
    read = api.ask("POST", f"{path}/context", json={"conversationId": "read", "message": ASKED})["systemPrompt"]
    assert all(word in read for word in ("Skomvaer", "keeper", "tends", "Sister"))


def test_a_conversation_is_changed_until_it_ends(api: Api) -> None:
    path = api.install()
    opened = api.ask("POST", f"{path}/conversations", json={"conversationId": "c1", "timeZone": "Asia/Tokyo"})
    assert (opened["memory"], opened["timeZone"]) == ("on", "Asia/Tokyo")
    one = f"{path}/conversations/c1"
    changed = api.ask("PATCH", one, json={"memory": "off"})
    assert (changed["memory"], changed["timeZone"]) == ("off", "Asia/Tokyo")
    assert api.ask("PATCH", one, json={"timeZone": None})["timeZone"] is None
    assert api.ask("GET", one)["memory"] == "off"
    for wrong in ({"memory": "never"}, {"timeZone": "Atlantis"}, {"state": "ended"}):
        api.refused(422, "PATCH", one, json=wrong)
    api.ask("POST", f"{one}/messages", json=user(SECRET))
    for asked in ("extract", "summaries"):
        assert api.refused(409, "POST", f"{one}/{asked}")["code"] == "memory_off"
    assert api.ask("POST", f"{one}/end")["jobs"] == []
    assert api.refused(409, "PATCH", one, json={"memory": "on"})["code"] == "conversation_ended"
    api.refused(404, "PATCH", f"{path}/conversations/c2", json={"memory": "on"})


def test_export_and_restore_keep_it(api: Api) -> None:
    path = api.install()
    say(api, path, "secret", user(SECRET), memory="off")
    archive = api.ask("GET", f"{path}/export")
    assert [one["memory"] for one in archive["conversations"]] == ["off"]
    api.ask("DELETE", f"{path}/data")
    api.ask("POST", f"{path}/import", json=archive)
    work_off(api)
    assert api.ask("GET", f"{path}/conversations/secret")["memory"] == "off"
    assert api.ask("POST", f"{path}/search", json={"query": ASKED})["results"] == []


def test_what_a_client_handed_over_is_quoted_in_no_other_conversation(api: Api) -> None:
    path = api.install()
    long = " ".join(f"Section {i} of the survey is about moss." for i in range(400))
    say(
        api, path, "old",
        user(f"<documents>\n{SECRET}\n</documents>\n\nIs Quillon in the lighthouse my sister? She keeps bees."),
        user(f"<document>\n{long} {SECRET}\n\n{long}\n</document>\nShe keeps a lighthouse diary, Quillon does."),
    )  # fmt: skip
    say(api, path, "new", user("Hello."))
    work_off(api)
    elsewhere = api.ask("POST", f"{path}/context", json={"conversationId": "new", "message": ASKED})["systemPrompt"]
    assert "Skomvaer" not in elsewhere and "survey" not in elsewhere
    assert "bees" in elsewhere and "diary" in elsewhere
    own = api.ask("POST", f"{path}/search", json={"query": ASKED, "conversationId": "old"})
    assert "Skomvaer" in str(own), "it is found in its own conversation"
