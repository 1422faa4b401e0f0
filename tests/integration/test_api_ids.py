"""Ids are taken as chat services have them, in bodies and in addresses; what is refused is said in words."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.support.api import Api

TAKEN = {
    "telegram group": "-1001234567890",
    "phone": "+491700000000",
    "matrix": "!room:matrix.example",
    "slashes": "team/alpha/1",
    "slash in front": "/x/",
    "spaces": "my talk (2)",
    "hash and query": "a#b?c=d&e",
    "per cent": "100%25/%2F",
    "letters": "größe-東京",
    "dots": "a..b/.c",
    "longest": "x" * 200,
    "emoji": "👩‍👩‍👧",
    "backslash": "a\\b",
}
REFUSED = {
    "control": ("a\nb", "control character"),
    "delete": ("a\x7fb", "control character"),
    "dot": (".", "addresses cannot name it"),
    "dots": ("a/../b", "addresses cannot name it"),
    "empty": ("", "at least 1 character"),
    "too long": ("x" * 201, "at most 200 characters"),
}


@pytest.mark.parametrize("given", TAKEN.values(), ids=TAKEN)
def test_an_id_of_another_service_names_a_conversation_and_a_message_everywhere(api: Api, given: str) -> None:
    api.ask("POST", "/apps", json={"appId": "chat", "name": "Chat"})
    other = api.ask("POST", "/apps/chat/conversations", json={"conversationId": "team", "userId": given})
    assert other["userId"] == given
    opened = api.ask("POST", "/apps/chat/conversations", json={"conversationId": given})
    assert opened["conversationId"] == given
    path = f"/apps/chat/conversations/{quote(given, safe='')}"
    said = [{"role": "user", "content": f"Note {n}.", "messageId": given if n == 1 else f"m{n}"} for n in range(3)]
    api.ask("POST", f"{path}/messages", json={"messages": said})
    around = api.ask("GET", f"{path}/messages", params={"around": given, "limit": 1})["messages"]
    assert [(one["messageId"], one["content"]) for one in around] == [(given, "Note 1.")]
    assert api.ask("GET", path)["messageCount"] == 3
    assert api.ask("POST", "/apps/chat/context", json={"conversationId": given})["messages"]
    assert api.ask("GET", f"{path}/summaries")["summaries"] == []
    ended = api.ask("POST", f"{path}/end")
    assert ended["conversationId"] == given
    assert {one["conversationId"] for one in ended["jobs"]} == {given}
    erased = api.ask("DELETE", path)
    assert erased["deletedCount"] >= 3
    api.refused(404, "GET", path)
    api.ask("DELETE", f"/apps/chat/users/{quote(given, safe='')}/data")
    assert api.ask("GET", "/apps/chat/conversations")["conversations"] == []


@pytest.mark.parametrize(("given", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_id_is_refused_in_words(api: Api, given: str, why: str) -> None:
    api.ask("POST", "/apps", json={"appId": "chat", "name": "Chat"})
    for body, path in (({"conversationId": given}, "conversations"), ({"userId": given}, "conversations")):
        assert why in api.refused(422, "POST", f"/apps/chat/{path}", json=body)["message"]
    for method, path in (("POST", "/apps"), ("GET", "/jobs/%21"), ("GET", "/api/memory/sessions/a%20b?appId=chat")):
        refused = api.refused(422, method, path, json={"appId": "a b", "name": "x"} if method == "POST" else None)
        assert "letters" in refused["message"] and "^" not in refused["message"]
