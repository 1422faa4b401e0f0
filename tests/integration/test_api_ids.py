"""Ids are taken as chat services have them, in bodies and in addresses; what is refused is said in words."""

from __future__ import annotations

from typing import Any
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
    "unread": ("Ana \ufffd", "could not be read"),
    "empty": ("", "at least 1 character"),
    "too long": ("x" * 201, "at most 200 characters"),
}


def by_header(api: Api, header: str, given: str) -> tuple[int, str]:
    """Ask in OpenAI's protocol of a model that is not there."""
    asked = {"model": "none", "messages": [{"role": "user", "content": "Hello."}]}
    headers: Any = {"X-App-Id": "chat", header: given.encode()}
    answer = api.send("POST", "/v1/chat/completions", json=asked, headers=headers)
    return answer.status_code, answer.json()["error"]["message"]


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
    said = {"role": "user", "content": "Hello.", "messageId": given}
    api.ask("POST", "/apps/chat/conversations", json={"conversationId": "c1"})
    assert why in api.refused(422, "POST", "/apps/chat/conversations/c1/messages", json=said)["message"]
    if given:
        for path in ("facts", "memories", "conversations", "export", "profile", "profile/audit", "messages"):
            path = "conversations/c1/messages" if path == "messages" else path
            query = {"around" if path.endswith("messages") else "userId": given}
            assert why in api.refused(422, "GET", f"/apps/chat/{path}", params=query)["message"]
        assert why in by_header(api, "X-User-Id", given)[1]
    assert why in by_header(api, "X-Conversation-Id", given)[1]
    for method, path in (("POST", "/apps"), ("GET", "/jobs/%21"), ("GET", "/api/memory/sessions/a%20b?appId=chat")):
        refused = api.refused(422, method, path, json={"appId": "a b", "name": "x"} if method == "POST" else None)
        assert "letters" in refused["message"] and "^" not in refused["message"]


@pytest.mark.parametrize("odd", ["\u3000", "\u2003", "\u00a0", "\u2028", "\u1680", "\u0085"], ids=ascii)
def test_only_what_http_strips_is_stripped_from_a_header(api: Api, odd: str) -> None:
    api.ask("POST", "/apps", json={"appId": "chat", "name": "Chat"})
    for given in (f"bob{odd}", f"{odd}bob", odd):
        taken = api.send("POST", "/apps/chat/facts", json={"fact": "Keeps bees", "userId": given}).is_success
        assert taken is (odd != "\u0085")
        status, message = by_header(api, "X-User-Id", f" \t{given} ")
        assert (status, "control" in message) == ((404, False) if taken else (422, True)), message
    for one in api.ask("GET", "/apps/chat/users")["users"]:
        assert one["userId"] is None or odd in one["userId"]


def test_names_that_cannot_be_read_do_not_become_one(api: Api) -> None:
    api.ask("POST", "/apps", json={"appId": "chat", "name": "Chat"})
    json = {"Content-Type": "application/json"}
    for odd in (rb"\ud83e", rb"\udd16", b"\xed\xa0\xbe"):
        for path, body in (("facts", b'{"fact": "Bees", "userId": "Ana %s"}'), ("conversations", b'{"userId": "%s"}')):
            refused = api.refused(422, "POST", f"/apps/chat/{path}", content=body % odd, headers=json)
            assert "userId: holds a character that could not be read" in refused["message"]
    for odd in ("Andr%e9", "Andr%E8", "%ED%A0%BE", "100%25%e9"):
        for path in (f"conversations/{odd}", f"facts?userId={odd}", f"conversations?userId={odd}"):
            assert "encode it as UTF-8" in api.refused(422, "GET", f"/apps/chat/{path}")["message"]
        assert "UTF-8" in api.refused(422, "DELETE", f"/apps/chat/users/{odd}/data")["message"]
    assert api.ask("GET", "/apps/chat/users")["users"] == []
