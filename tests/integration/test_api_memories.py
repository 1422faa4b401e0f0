"""Memories over HTTP: by hand, at the cap, their history, and back again."""

from __future__ import annotations

from tests.support.api import Api


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


def test_reading_memories_spends_nothing(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    sqlite_api.remember(path, "Likes tea.")
    sqlite_api.ask("GET", f"{path}/memories")
    sqlite_api.ask("POST", f"{path}/context")
    assert sqlite_api.ask("GET", f"{path}/energy")["total"] == 0


def test_a_write_by_hand_is_counted(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    sqlite_api.remember(path, *(f"Memory {i}." for i in range(11)))
    metrics = sqlite_api.loop.metrics
    assert metrics.memories_created.labels("by_hand")._value.get() == 11
    assert metrics.compactions.labels("least_went", "by_hand")._value.get() == 1
