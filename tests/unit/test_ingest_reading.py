"""Files of chats as they are passed around, and the names their conversations and messages get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loop.cli.chats import BadChatLine, ChatLine, ChatShape, FileChat, UnusableFile, as_text, moment, read_chats
from loop.cli.filling import Grouping, MessageNames, as_id
from shared.base.choices import ChatGrouping as Per
from shared.conversations.lifecycle import Role

HELLO = {"role": "user", "content": "Hello."}
TALK = {"messages": [HELLO, {"role": "assistant", "content": "Hi."}]}
SHARED = {"conversations": [{"from": "human", "value": "Hello."}, {"from": "gpt", "value": "Hi."}]}


def read(tmp_path: Path, text: str | bytes) -> list[FileChat | BadChatLine]:
    file = tmp_path / "chats"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read_chats(file))


def chats(tmp_path: Path, text: str) -> list[FileChat]:
    entries = read(tmp_path, text)
    assert [one for one in entries if isinstance(one, BadChatLine)] == []
    return [one for one in entries if isinstance(one, FileChat)]


def lines(*values: Any) -> str:
    return "\n".join(json.dumps(value) for value in values)


FORMS = {
    "lines": (lines(TALK, TALK), ChatShape.MESSAGES, 2), "sharegpt": (lines(SHARED), ChatShape.SHAREGPT, 1),
    "sharegpt-list-of-roles": (lines({"conversations": TALK["messages"]}), ChatShape.MESSAGES, 1),
    "array": (json.dumps([TALK, SHARED]), ChatShape.MESSAGES, 2),
    "array-over-lines": (json.dumps([TALK, TALK, TALK], indent=2), ChatShape.MESSAGES, 3),
    "object-over-lines": (json.dumps(TALK, indent=2), ChatShape.MESSAGES, 1),
    "one-list-of-messages": (json.dumps(TALK["messages"]), ChatShape.MESSAGES, 1),
    "a-list-per-line": (lines(TALK["messages"], TALK["messages"]), ChatShape.MESSAGES, 2),
    "byte-order-mark": ("\ufeff" + lines(TALK), ChatShape.MESSAGES, 1),
    "blank-lines": ("\n\n" + lines(TALK) + "\n\n", ChatShape.MESSAGES, 1),
    "single": (lines(HELLO | {"conversation_id": "c"}), ChatShape.SINGLE, 1),
}  # fmt: skip


@pytest.mark.parametrize(("text", "shape", "talks"), FORMS.values(), ids=FORMS)
def test_each_form_is_recognised(tmp_path: Path, text: str, shape: ChatShape, talks: int) -> None:
    read = chats(tmp_path, text)
    assert (len(read), read[0].shape, read[0].lines[0].content) == (talks, shape, "Hello.")


@pytest.mark.parametrize(
    ("given", "role"),
    [("user", Role.USER), ("human", Role.USER), ("gpt", Role.ASSISTANT), ("Assistant", Role.ASSISTANT),
     ("system", Role.SYSTEM), ("developer", Role.SYSTEM), ("tool", Role.TOOL), ("function", Role.TOOL)],
)  # fmt: skip
def test_roles_are_read_by_their_usual_names(tmp_path: Path, given: str, role: Role) -> None:
    (chat,) = chats(tmp_path, lines({"messages": [{"role": given, "content": "x"}]}))
    assert chat.lines[0].role is role


CONTENTS: dict[str, tuple[dict[str, Any], str]] = {
    "parts": ({"content": [{"type": "text", "text": "a"}, {"type": "image_url"}, "b", {"text": "c"}]}, "a\nb\nc"),
    "tool-use": (
        {"content": [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "x", "name": "f", "input": {}}]}, "a"),
    "tool-calls": ({"content": None, "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]}, ""),
    "value": ({"value": "a"}, "a"),
}  # fmt: skip


@pytest.mark.parametrize(("message", "text"), CONTENTS.values(), ids=CONTENTS)
def test_content_is_read_in_its_usual_forms(tmp_path: Path, message: dict[str, Any], text: str) -> None:
    (chat,) = chats(tmp_path, lines({"messages": [{"role": "assistant", **message}]}))
    assert chat.lines[0].content == text


BAD_LINES = {
    b'{"messages": [': "not valid JSON", b'"text"': "neither a conversation nor a message",
    b'{"prompt": "x"}': "has neither", b'{"messages": []}': "is empty", b'{"messages": [3]}': "not an object",
    b'{"messages": [{"role": "king", "content": "x"}]}': "is no role",
    b'{"messages": [{"role": null, "content": "x"}]}': "is no role",
    b'{"messages": [{"role": "user", "content": 3}]}': "a list of parts",
    b'{"messages": [{"role": "user", "content": [3]}]}': "an object with a type",
    b'{"messages": [{"role": "user", "content": "\xff"}]}': "not valid JSON",
}  # fmt: skip


@pytest.mark.parametrize(("line", "reason"), BAD_LINES.items(), ids=range(len(BAD_LINES)))
def test_a_bad_line_is_named_with_why_and_the_rest_is_read(tmp_path: Path, line: bytes, reason: str) -> None:
    good = lines(TALK).encode()
    first, bad, last = read(tmp_path, b"\n".join([good, line, good]))
    assert isinstance(first, FileChat) and isinstance(last, FileChat) and isinstance(bad, BadChatLine)
    assert bad.where == "line 2" and reason in bad.reason


def test_a_bad_first_line_does_not_hide_the_others(tmp_path: Path) -> None:
    bad, good = read(tmp_path, '{"broken\n' + lines(TALK))
    assert (bad.where, isinstance(good, FileChat)) == ("line 1", True)


def test_a_broken_array_is_one_bad_line(tmp_path: Path) -> None:
    (bad,) = read(tmp_path, '[\n{"messages": [}\n]')
    assert isinstance(bad, BadChatLine)
    assert bad.where == "line 2"


@pytest.mark.parametrize(
    ("given", "sent"),
    [("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"), ("2026-03-01T12:00:00", "2026-03-01T12:00:00Z"),
     ("2026-03-01 14:00:00+02:00", "2026-03-01T14:00:00+02:00"), ("2026-03-01 12:00:00 UTC", "2026-03-01T12:00:00Z"),
     ("2026-03-01T12:00:00+00:00", "2026-03-01T12:00:00+00:00"), ("1 Mar 2026 12:00 -0000", "2026-03-01T12:00:00Z"),
     ("Sun, 01 Mar 2026 21:00:00 +0900", "2026-03-01T21:00:00+09:00"), (1772366400, "2026-03-01T12:00:00Z"),
     ("Sun, 01 Mar 2026 12:00:00 GMT", "2026-03-01T12:00:00Z"), ("1772366400", "2026-03-01T12:00:00Z"),
     ("1772366400000", "2026-03-01T12:00:00Z"), ("1772366400.25", "2026-03-01T12:00:00.250000Z"),
     ({"$date": "2026-03-01T12:00:00Z"}, "2026-03-01T12:00:00Z"),
     ({"$date": {"$numberLong": "1772366400000"}}, "2026-03-01T12:00:00Z")],
    ids=str,
)  # fmt: skip
def test_a_time_is_sent_with_the_offset_it_has(given: object, sent: str) -> None:
    read = moment(given)
    assert read is not None and as_text(read) == sent


@pytest.mark.parametrize(
    "given",
    ["soon", "1712", 1712, "20240501101500", "1969-12-31T00:00:00Z", True, 1e300, float("inf"), [], {}, {"$date": {}}],
    ids=str,
)
def test_what_is_no_time_is_refused(given: object) -> None:
    with pytest.raises(UnusableFile):
        moment(given)


def test_the_time_of_a_conversation_is_that_of_messages_without_one(tmp_path: Path) -> None:
    later = {"role": "user", "content": "b", "createdAt": "2026-03-02T00:00:00Z"}
    (chat,) = chats(tmp_path, lines({"messages": [HELLO, later], "timestamp": "2026-03-01T00:00:00Z"}))
    assert [one.created_at.day for one in chat.lines if one.created_at] == [1, 2]


def test_results_of_tools_and_calls_of_functions_are_read_as_they_are(tmp_path: Path) -> None:
    said = [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "rain"}]},
        {"from": "function_call", "value": '{"name": "look", "arguments": {"at": 1}}'},
    ]
    (chat,) = chats(tmp_path, lines({"messages": said}))
    assert [(one.role, one.content) for one in chat.lines] == [(Role.TOOL, "rain"), (Role.ASSISTANT, "")]
    function = {"name": "look", "arguments": '{"at": 1}'}
    called = {"role": "assistant", "content": None, "function_call": function}
    assert [one.payload for one in chat.lines] == [said[0], called]


def test_messages_without_text_are_left_out(tmp_path: Path) -> None:
    (chat,) = chats(tmp_path, lines({"messages": [HELLO, {"role": "assistant", "content": " "}]}))
    assert len(chat.lines) == 1


def names(tmp_path: Path, text: str, per: Per = Per.AUTO) -> list[str]:
    entries = chats(tmp_path, text)
    grouping = Grouping(per, tmp_path / "chats")
    return [portion.conversation_id for chat in entries for portion in grouping.portions(chat)]


def test_a_conversation_without_an_id_is_named_by_what_it_says(tmp_path: Path) -> None:
    first, second = names(tmp_path, lines(TALK, {"messages": [HELLO]}))
    assert first != second
    assert names(tmp_path, lines({"messages": [HELLO]}, TALK)) == [second, first]


@pytest.mark.parametrize("given", ["a\nb", "..", "x" * 201, "../x"])
def test_an_id_the_service_would_refuse_is_replaced_by_a_stable_one(given: str) -> None:
    assert as_id(given) == as_id(given)
    assert as_id(given).startswith("chat-")
    assert as_id("-100 größe/1") == "-100 größe/1"


@pytest.mark.parametrize(
    ("value", "per", "reason"),
    [(HELLO, Per.AUTO, "without a conversation id"), (TALK, Per.DAY, "without a time"),
     ({"messages": [{"role": "user", "content": ""}]}, Per.AUTO, "no message has any text")],
    ids=["no-id", "no-time", "no-text"],
)  # fmt: skip
def test_what_cannot_be_grouped_is_refused_with_why(tmp_path: Path, value: Any, per: Per, reason: str) -> None:
    with pytest.raises(UnusableFile, match=reason):
        names(tmp_path, lines(value), per)


def test_messages_are_named_by_what_they_say_wherever_they_stand() -> None:
    hello, bye = ChatLine(Role.USER, "Hello."), ChatLine(Role.USER, "Bye.")
    once, again = MessageNames("c"), MessageNames("c")
    first = [once.name(one) for one in (hello, bye, hello)]
    assert len(set(first)) == 3
    assert [again.name(one) for one in (bye, hello, hello)] == [first[1], first[0], first[2]]
    assert MessageNames("other").name(hello) != first[0]
