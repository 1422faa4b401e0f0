"""Memories over HTTP: by hand, at the cap, their history, how often room was made, and a conversation's modes."""

from __future__ import annotations

from typing import Any

import pytest

from shared.llm.providers import NGRAMS
from shared.memories.compaction import NEW, Action, Decision
from tests.integration.test_api_search import DEBUG, say, user, work_off
from tests.support.api import Api
from tests.support.house import House

SETTINGS = {"embedding": NGRAMS}


def test_a_memory_written_by_hand_is_cleaned_and_shown(api: Api) -> None:
    path = api.install()
    body = {"content": "  Likes \n tea. ", "importance": 9, "tags": ["drink"], "pinned": True}
    made = api.ask("POST", f"{path}/memories", 201, json=body)
    assert (made["content"], made["importance"], made["tags"], made["pinned"]) == ("Likes tea.", 9, ["drink"], True)
    assert (made["agent"], made["version"], made["sources"], made["madeRoom"]) == ("by hand", 1, [], [])
    shown = api.ask("GET", f"{path}/memories/{made['id']}")
    assert shown == {k: v for k, v in made.items() if k != "madeRoom"}
    assert api.ask("GET", f"{path}/memories") == {"memories": [shown], "cap": 10, "cursor": None}


def test_a_memory_of_a_conversation_says_where_its_words_come_from(api: Api) -> None:
    path = api.install()
    api.converse(path, "c1", "I like tea.")
    api.remember_conversation("chat", "c1", "Likes tea.")
    [memory] = api.ask("GET", f"{path}/memories")["memories"]
    assert (memory["sourceConversationId"], memory["agent"]) == ("c1", "extractive")
    assert memory["sources"] == [{"conversationId": "c1", "messageIds": ["m0"]}]


def test_a_memory_that_is_too_long_is_refused_with_the_limit(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    [memory] = sqlite_api.remember(path, "Likes tea.")
    for method, address in (("POST", f"{path}/memories"), ("PATCH", f"{path}/memories/{memory}")):
        error = sqlite_api.refused(422, method, address, json={"content": "x" * 201})
        assert error["details"] == {"limit": 200} and "200" in error["message"]
    assert sqlite_api.contents(path) == ["Likes tea."]


def test_at_the_cap_the_oldest_of_the_least_important_goes_for_one_written_by_hand(api: Api) -> None:
    path = api.install()
    [pinned] = api.remember(path, "Pinned.", pinned=True)
    ids = api.remember(path, *(f"Memory {i}." for i in range(9)))
    made = api.ask("POST", f"{path}/memories", json={"content": "The eleventh."})
    [room] = made["madeRoom"]
    assert (room["memoryId"], room["outcome"]) == (ids[0], "least_went")
    contents = api.contents(path)
    assert len(contents) == 10 and "Pinned." in contents and "Memory 0." not in contents
    [_, gone] = api.ask("GET", f"{path}/memories/{ids[0]}/history")["changes"]
    assert (gone["kind"], gone["before"], gone["actor"]) == ("removed", "Memory 0.", "rule:least_goes")
    assert gone["relatedMemoryId"] == made["id"] and gone["reason"]
    assert pinned not in {ids[0], made["id"]}


def test_nothing_is_written_when_every_place_is_pinned(api: Api) -> None:
    path = api.install()
    api.remember(path, *(f"Memory {i}." for i in range(10)), pinned=True)
    before = api.ask("GET", f"{path}/memories/changes")
    error = api.refused(409, "POST", f"{path}/memories", json={"content": "The eleventh."})
    assert error["code"] == "all_pinned" and "unpin" in error["message"]
    assert api.ask("GET", f"{path}/memories/changes") == before


def test_an_edit_keeps_what_it_does_not_name_and_can_be_taken_back(api: Api) -> None:
    path = api.install()
    [memory] = api.remember(path, "Likes tea.", importance=7, tags=["drink"])
    edited = api.ask("PATCH", f"{path}/memories/{memory}", json={"content": "Likes coffee."})
    assert edited["success"] and edited["memory"]["content"] == "Likes coffee."
    assert (edited["memory"]["importance"], edited["memory"]["tags"]) == (7, ["drink"])
    back = api.ask("POST", f"{path}/memories/{memory}/restore")["memory"]
    assert (back["content"], back["version"], back["createdAt"]) == ("Likes tea.", 3, edited["memory"]["createdAt"])
    history = api.ask("GET", f"{path}/memories/{memory}/history")["changes"]
    assert [change["kind"] for change in history] == ["created", "edited", "restored"]


def test_a_deleted_memory_can_be_brought_back_by_its_change(api: Api) -> None:
    path = api.install()
    [memory] = api.remember(path, "Likes tea.")
    assert api.ask("DELETE", f"{path}/memories/{memory}") == {"success": True, "note": None}
    api.refused(404, "GET", f"{path}/memories/{memory}")
    change = api.ask("GET", f"{path}/memories/{memory}/history")["changes"][-1]["changeId"]
    api.refused(404, "POST", f"{path}/memories/{memory}/restore", json={"changeId": change + 999})
    restored = api.ask("POST", f"{path}/memories/{memory}/restore", json={"changeId": change})
    assert (restored["memory"]["id"], restored["memory"]["content"]) == (memory, "Likes tea.")


def test_a_memory_cannot_be_given_the_words_of_another(sqlite_api: Api) -> None:
    path, other = sqlite_api.install(), sqlite_api.install("email")
    [mine] = sqlite_api.remember(path, "Likes tea.")
    for place in (path, other):
        [memory] = sqlite_api.remember(place, "Keeps a secret.")
        sqlite_api.ask("PATCH", f"{place}/memories/{memory}", json={"content": "Keeps none."})
        change = sqlite_api.ask("GET", f"{place}/memories/{memory}/history")["changes"][-1]["changeId"]
        sqlite_api.refused(404, "POST", f"{path}/memories/{mine}/restore", json={"changeId": change})
    assert sqlite_api.ask("GET", f"{path}/memories/{mine}")["content"] == "Likes tea."


def test_an_erased_memory_cannot_be_brought_back(api: Api) -> None:
    path = api.install()
    [memory] = api.remember(path, "Likes tea.")
    api.ask("DELETE", f"{path}/memories/{memory}", params={"erase": "true"})
    history = api.ask("GET", f"{path}/memories/{memory}/history")["changes"]
    assert {change["before"] or change["after"] for change in history} == {None}
    api.refused(409, "POST", f"{path}/memories/{memory}/restore")


def test_what_happened_to_an_apps_memories_is_listed_newest_first(api: Api) -> None:
    path = api.install()
    ids = api.remember(path, "One.", "Two.", "Three.")
    first = api.ask("GET", f"{path}/memories/changes", params={"limit": 2})
    second = api.ask("GET", f"{path}/memories/changes", params={"cursor": first["cursor"]})
    assert [change["memoryId"] for change in first["changes"] + second["changes"]] == ids[::-1]


def test_memories_of_one_instant_keep_one_order(api: Api) -> None:
    path = api.install()
    ids = [api.ask("POST", f"{path}/memories", json={"content": f"Memory {i}."})["id"] for i in range(5)]
    api.ask("PATCH", f"{path}/memories/{ids[2]}", json={"content": "Changed."})
    listed = api.ask("GET", f"{path}/memories")
    assert [memory["id"] for memory in listed["memories"]] == ids[::-1] and listed["cap"] == 10


def test_a_write_by_hand_is_counted(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    sqlite_api.remember(path, *(f"Memory {i}." for i in range(11)))
    metrics = sqlite_api.loop.metrics
    assert metrics.memories_created.labels("by_hand")._value.get() == 11
    assert metrics.compactions.labels("least_went", "by_hand")._value.get() == 1


def hold_each(api: Api, house: House, user: str, *said: str) -> None:
    """Have conversations of a user remembered, one after another, as a worker would."""
    for text in said:
        house.clock.advance(1)
        conversation = api.ask("POST", "/apps/chat/conversations", json={"userId": user})["conversationId"]
        path = f"/apps/chat/conversations/{conversation}"
        api.ask("POST", f"{path}/messages", json={"role": "user", "content": text})
        api.ask("POST", f"{path}/end")
        house.work_off()


def test_room_is_counted_by_day_and_by_what_went(api: Api) -> None:
    path = api.install()
    house = House(api.loop.settings.database_url)
    house.clock = house.pipeline.clock = api.clock
    hold_each(api, house, "ann", *(f"Fact {i}" for i in range(10)))
    house.scripted.decides = [
        lambda present, _: Decision(Action.DELETE, present[0].id, "stale"),
        lambda present, new: Decision(Action.EDIT, present[0].id, "alike", f"{present[0].content} {new.content}", NEW),
        lambda present, _: Decision(
            Action.EDIT, present[0].id, "alike", f"{present[0].content} {present[1].content}", present[1].id
        ),
        Decision(Action.DELETE, NEW, "little"),
        Decision(Action.DELETE, 10**6, "no such memory"),
    ]
    hold_each(api, house, "ann", *(f"More {i}" for i in range(3)))
    api.clock.advance(86400)
    hold_each(api, house, "ann", "Later 1", "Later 2")
    removed = api.ask("GET", f"{path}/memories", params={"userId": "ann"})["memories"][0]["id"]
    api.ask("DELETE", f"{path}/memories/{removed}")
    hold_each(api, house, "bob", "Of bob")
    shown = api.ask("GET", f"{path}/compactions", params={"days": 3})
    none = {"deleted": 0, "merged": 0, "oldest_went": 0, "least_went": 0, "new_gave_way": 0}
    assert [(day["compactions"], day["outcomes"]) for day in shown["days"]] == [
        (0, none),
        (3, none | {"deleted": 1, "merged": 2}),
        (2, none | {"deleted": 1, "merged": 1}),
    ]
    assert (shown["compactions"], shown["days"][-1]["day"]) == (5, api.clock.now().date().isoformat())
    assert api.ask("GET", f"{path}/compactions", params={"userId": "bob"})["compactions"] == 0
    assert api.ask("GET", f"{path}/compactions", params={"userId": "ann", "days": 1})["compactions"] == 2
    assert len(api.ask("GET", f"{path}/compactions")["days"]) == 30
    house.database.dispose()


SECRET = "Quillon lives in the lighthouse at Skomvaer."
ASKED = "Where does Quillon live, in the lighthouse?"


def answers_about(api: Api, path: str, **whose: str) -> dict[str, str]:
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
