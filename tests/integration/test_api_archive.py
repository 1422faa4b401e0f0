"""An app taken out and put back, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.api import Api

_OURS = ("memoryId", "relatedMemoryId", "factId", "exportedAt", "appId", "name")


def _full_app(api: Api) -> str:
    path = api.install()
    api.ask("PATCH", path, json={"config": {"a": [1, {"b": None}]}, "hourlyBudget": 2.5})
    for i in range(3):
        conversation = api.converse(path, f"c{i}", f"I like tea {i}.", "Also jazz.")
        api.remember_conversation("chat", f"c{i}", f"Likes tea {i}.")
        api.clock.advance(1)
    api.ask("POST", f"{conversation}/end", json={"reason": "done"})
    [by_hand] = api.remember(path, "By hand.", pinned=True, tags=["x"], importance=9)
    api.ask("PATCH", f"{path}/memories/{by_hand}", json={"content": "By hand, edited."})
    oldest = api.ask("GET", f"{path}/memories")["memories"][-1]["id"]
    api.ask("DELETE", f"{path}/memories/{oldest}")
    api.ask("POST", f"{path}/facts", json={"fact": "Likes tea"})
    return path


def _without_our_ids(archive: Any) -> Any:
    """Return an archive without what an import gives anew: our ids, and its own entries in the history."""
    if isinstance(archive, list):
        return [
            _without_our_ids(one) for one in archive if not (isinstance(one, dict) and one.get("actor") == "import")
        ]
    if isinstance(archive, dict):
        return {key: _without_our_ids(value) for key, value in archive.items() if key not in _OURS}
    return archive


def test_an_app_put_into_another_is_the_same_but_for_our_ids(api: Api) -> None:
    taken = api.ask("GET", f"{_full_app(api)}/export")
    answer = api.ask("POST", "/apps/copy/import", json=taken)
    assert answer == {
        "success": True,
        "conversations": {"imported": 3, "skipped": 0},
        "messages": 6,
        "memories": {"imported": 3, "skipped": 0},
        "history": {"imported": len(taken["history"]), "skipped": 0},
        "facts": {"imported": 1, "skipped": 0},
        "factHistory": {"imported": 1, "skipped": 0},
        "summaries": 0,
        "profiles": {"imported": 0, "skipped": 0},
    }
    again = api.ask("GET", "/apps/copy/export")
    assert _without_our_ids(again) == _without_our_ids(taken)
    assert {change["actor"] for change in again["history"]} > {"import"}


AT = "2026-03-01T12:00:00Z"
MESSAGE = {"messageId": "m0", "role": "user", "name": None, "content": "I like tea 0.", "payload": None, "tokens": None,
           "createdAt": AT, "utcOffsetMinutes": None}  # fmt: skip
SOURCE = {"conversationId": None, "messageIds": [], "statement": "Likes tea", "category": "preference",
          "agent": "admin", "mentions": 1, "saidAt": AT, "firstSeen": AT, "lastSeen": AT}  # fmt: skip


def test_the_parts_of_an_archive_have_the_names_they_always_had(api: Api) -> None:
    taken = api.ask("GET", f"{_full_app(api)}/export")
    first = taken["conversations"][0]["messages"][0]
    later = api.clock.now().isoformat().replace("+00:00", "Z")
    said = SOURCE | dict.fromkeys(("saidAt", "firstSeen", "lastSeen"), later)
    assert list(first.items()) == list(MESSAGE.items())
    assert list(taken["facts"][0]["sources"][0].items()) == list(said.items())


def test_importing_twice_adds_nothing(api: Api) -> None:
    taken = api.ask("GET", f"{_full_app(api)}/export")
    api.ask("POST", "/apps/copy/import", json=taken)
    before = api.ask("GET", "/apps/copy/export")
    again = api.ask("POST", "/apps/copy/import", json=taken)
    assert again["conversations"] == {"imported": 0, "skipped": 3}
    assert (again["messages"], again["memories"]) == (0, {"imported": 0, "skipped": 3})
    assert again["history"] == {"imported": 0, "skipped": len(taken["history"])}
    assert api.ask("GET", "/apps/copy/export") == before


def test_an_imported_memory_can_be_taken_back_and_erased_with_its_conversation(api: Api) -> None:
    taken = api.ask("GET", f"{_full_app(api)}/export")
    api.ask("POST", "/apps/copy/import", json=taken)
    removed = api.ask("GET", "/apps/copy/memories/changes")["changes"]
    gone = next(change["memoryId"] for change in removed if change["kind"] == "removed")
    restored = api.ask("POST", f"/apps/copy/memories/{gone}/restore")["memory"]
    assert (restored["content"], restored["sources"][0]["conversationId"]) == ("Likes tea 0.", "c0")
    api.ask("DELETE", "/apps/copy/conversations/c2")
    assert "Likes tea 2." not in json.dumps(api.ask("GET", "/apps/copy/export"))


def test_more_memories_than_there_are_places_are_refused_and_nothing_is_kept(api: Api) -> None:
    taken = api.ask("GET", f"{_full_app(api)}/export")
    copy = api.install("copy")
    api.remember(copy, *(f"Memory {i}." for i in range(8)))
    before = api.ask("GET", f"{copy}/export")
    error = api.refused(409, "POST", f"{copy}/import", json=taken)
    assert (error["code"], error["details"]) == ("no_room", {"arriving": 3, "free": 2, "userId": None})
    assert _without_our_ids(api.ask("GET", f"{copy}/export")) == _without_our_ids(before)


def test_only_an_admin_imports_into_an_app_that_is_not_there(sqlite_api: Api) -> None:
    taken = sqlite_api.ask("GET", f"{_full_app(sqlite_api)}/export")
    token = sqlite_api.token("chat")
    sqlite_api.refused(403, "POST", "/apps/copy/import", token=token, json=taken)
    assert sqlite_api.send("POST", "/apps/chat/import", token=token, json=taken).status_code == 200
    sqlite_api.ask("DELETE", "/apps/chat")
    sqlite_api.refused(409, "POST", "/apps/chat/import", json=taken)


def _twice(archive: dict[str, Any], part: str) -> None:
    archive[part] = archive[part] * 2


SPOILT: dict[str, tuple[Callable[[Any], object], int]] = {
    "format": (lambda a: a.update(format="other"), 422), "version": (lambda a: a.update(version=2), 422),
    "field": (lambda a: a.update(surprise=1), 422), "inner field": (lambda a: a["memories"][0].update(surprise=1), 422),
    "importance": (lambda a: a["memories"][0].update(importance=11), 422),
    "naive time": (lambda a: a["memories"][0].update(createdAt="2026-01-01T00:00:00"), 422),
    "early time": (lambda a: a["memories"][0].update(createdAt="0001-01-01T00:00:00+14:00"), 422),
    "long memory": (lambda a: a["memories"][0].update(content="x" * 201), 413),
    "nul": (lambda a: a["memories"][0].update(content="a\0b"), 422),
    "long message": (lambda a: a["conversations"][0]["messages"][0].update(content="x" * 200_001), 413),
    "bad id": (lambda a: a["conversations"][0].update(conversationId="../c"), 422),
    "memories twice": (lambda a: _twice(a, "memories"), 422),
    "conversations twice": (lambda a: _twice(a, "conversations"), 422),
    "messages twice": (lambda a: _twice(a["conversations"][0], "messages"), 422),
    "no origins": (lambda a: a.update(origins=[]), 409), "no app": (lambda a: a.pop("app"), 422),
}  # fmt: skip


def test_an_archive_that_is_not_right_is_refused(sqlite_api: Api) -> None:
    whole = json.dumps(sqlite_api.ask("GET", f"{_full_app(sqlite_api)}/export"))
    for name, (spoil, status) in SPOILT.items():
        archive = json.loads(whole)
        spoil(archive)
        answer = sqlite_api.send("POST", "/apps/copy/import", json=archive)
        assert (name, answer.status_code) == (name, status)
        sqlite_api.refused(404, "GET", "/apps/copy")


def test_an_archive_may_be_larger_than_other_bodies(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    archive = sqlite_api.ask("GET", f"{path}/export")
    archive["app"]["config"] = {str(i): "x" * 90_000 for i in range(100)}
    assert sqlite_api.ask("POST", "/apps/copy/import", json=archive)["success"]
    sqlite_api.refused(413, "PATCH", path, json={"config": archive["app"]["config"]})


def _of_ann(api: Api) -> Any:
    """Return the export of an app in which a user said something that is remembered."""
    path = api.install()
    api.ask("POST", f"{path}/conversations", json={"conversationId": "c1", "userId": "ann"})
    api.ask("POST", f"{path}/conversations/c1/messages", json={"role": "user", "content": "I like tea."})
    api.remember_conversation("chat", "c1", "Likes tea.")
    return api.ask("GET", f"{path}/export")


def test_memories_of_an_archive_without_users_are_their_conversations(api: Api) -> None:
    taken = _of_ann(api)
    for part in (*taken["memories"], *taken["origins"]):
        del part["userId"]
    api.ask("POST", "/apps/copy/import", json=taken)
    [memory] = api.ask("GET", "/apps/copy/memories")["memories"]
    assert memory["userId"] == "ann"
    recalled = api.ask("POST", "/apps/copy/context", json={"message": "What do I drink?"})
    assert "tea" not in str(recalled["messages"][:-1])


def test_an_archive_that_gives_one_user_the_words_of_another_is_refused(api: Api) -> None:
    taken = _of_ann(api)
    for part in (*taken["memories"], *taken["origins"]):
        part["userId"] = "bob"
    error = api.refused(422, "POST", "/apps/copy/import", json=taken)
    assert "bob" in error["message"] and "another user" in error["message"]


def test_an_archive_is_not_tied_to_another_users_conversation_of_the_same_id(api: Api) -> None:
    taken = _of_ann(api)
    api.install("copy")
    api.ask("POST", "/apps/copy/conversations", json={"conversationId": "c1", "userId": "bob"})
    error = api.refused(409, "POST", "/apps/copy/import", json=taken)
    assert (error["code"], api.ask("GET", "/apps/copy/memories")["memories"]) == ("another_users", [])
