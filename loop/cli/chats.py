"""Reads files of chats as they are passed around: role/content, ShareGPT, one message per line, others' exports.

A JSON Lines file is read a line at a time; a JSON array, or one object over several lines, is read whole. Every line
yields either what it holds or why it cannot be used, so that nothing is left out silently. What becomes one
conversation is decided by ``loop.cli.filling``; how others write a conversation is left to ``loop.cli.exports``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from shared.base.errors import Configuration
from shared.contracts.values import bounded
from shared.conversations.chat_message import ChatMessage, Sent, role_of, text_of
from shared.conversations.lifecycle import Role
from shared.text.lines import read_json, with_whole_characters

_ROLES = {
    Role.USER: ("user", "human", "prompter", "customer"),
    Role.ASSISTANT: ("assistant", "gpt", "chatgpt", "bot", "ai", "model", "bard", "function_call"),
    Role.SYSTEM: ("system", "developer"),
    Role.TOOL: ("tool", "function", "observation", "tool_response", "function_response"),
}
_ROLE_OF = {name: role for role, names in _ROLES.items() for name in names}
_LISTS = ("messages", "conversations", "conversation")
_CONVERSATION_IDS = ("conversation_id", "conversationId", "session_id", "sessionId", "thread_id", "threadId")
_USERS = ("user_id", "userId", "user")
_TIMES = ("created_at", "createdAt", "timestamp", "create_time", "time", "date")
TIMES_OF_ALL = (*_TIMES, "updated_at", "updatedAt", "update_time")
"""Of a conversation."""
_CONTENTS = ("content", "value", "text")
_KEPT = ("tool_calls", "tool_call_id", "function_call", "refusal", "audio")
"""What of a message is kept beside role, content and name."""
FILES_WITHOUT_TEXT = "files_without_text"
"""Where a converter says how many files are attached of which it has only the names."""
_LONGEST_NAME = 200
_FILE = "the file"
_KINDS = {dict: "an object", list: "a list", bool: "true or false", int: "a number", float: "a number", str: "text"}
_SHOWN = 60


class UnusableFile(Exception):
    """A line, or a part of one, cannot be used; the text says why, ``part`` which part it is."""

    def __init__(self, reason: str, part: str | None = None) -> None:
        super().__init__(reason)
        self.part = part


class NothingSaid(UnusableFile):
    """A conversation is well formed and empty."""


@dataclass(frozen=True, slots=True)
class BadChatLine:
    """A line that cannot be used, and why."""

    where: str
    reason: str
    read_bytes: int = 0


def kind_of(value: Any) -> str:
    """Return what a value of JSON is, in a word."""
    return _KINDS.get(type(value), "null")


def shown(value: Any) -> str:
    """Return a value as a reason names it: its beginning, or only what it is."""
    return kind_of(value) if isinstance(value, dict | list) else json.dumps(value, ensure_ascii=False)[:_SHOWN]


class ChatShape(StrEnum):
    """How a file writes its chats."""

    MESSAGES = "conversations in role/content form"
    SHAREGPT = "conversations in ShareGPT form"
    SINGLE = "single messages in role/content form"


@dataclass(frozen=True, slots=True)
class ChatLine:
    """One message; ``created_at`` is None where the file has no time for it or for one beside it."""

    role: Role
    content: str
    name: str | None = None
    created_at: datetime | None = None
    payload: Sent | None = None
    """The message as the file has it, where role, content and name do not say all of it."""
    files_without_text: int = 0
    """Files attached to it of which the export has nothing but the name."""
    has_own_time: bool = True
    """Its time is not that of a message beside it."""

    def at(self, time: datetime | None) -> ChatLine:
        """Return it with the time of another, where it has none."""
        return self if self.created_at or time is None else replace(self, created_at=time, has_own_time=False)


@dataclass(frozen=True, slots=True)
class FileChat:
    """What one line holds: a whole conversation, or one message of one."""

    where: str
    shape: ChatShape
    conversation_id: str | None
    user_id: str | None
    lines: tuple[ChatLine, ...]
    read_bytes: int = 0
    left_out: tuple[BadChatLine, ...] = ()
    """What of it cannot be used; the rest stands in ``lines``."""


@dataclass(frozen=True, slots=True)
class EmptyChat:
    """A conversation of an export in which nothing was said."""

    where: str
    read_bytes: int = 0


Entry = FileChat | BadChatLine | EmptyChat
Convert = Callable[[Any], Any]
"""Writes what a line or an element holds in role/content form. Raises: UnusableFile."""


def as_it_is(value: Any) -> Any:
    """Convert nothing: it is in role/content or ShareGPT form."""
    return value


def read_chats(path: Path, convert: Convert = as_it_is) -> Iterator[Entry]:
    """Yield what each line, or each element of a JSON array, holds. Raises: Configuration if it cannot be opened."""
    try:
        if _is_one_document(path):
            yield from _read_document(path, convert)
            return
        read_bytes = 0
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                read_bytes += len(line)
                if line.strip():
                    yield _read_line(f"line {number}", line, read_bytes, convert)
    except OSError as error:
        raise Configuration(f"{path}: {error.strerror}") from None


def _is_one_document(path: Path) -> bool:
    """Whether the first line that is not blank is not JSON by itself, as when an array is spread over lines."""
    with path.open("rb") as file:
        first = next((line for line in file if line.strip()), b"")
        rest = next((line for line in file if line.strip()), b"")
        value = parsed(first)
        if value is not None or _bare(first) == b"null":
            # A list alone in the file; where lines follow, each is a conversation of its own.
            return isinstance(value, list) and not rest
        if _bare(first)[:1] != b"{":
            return _bare(first)[:1] == b"["
        # An object laid out over lines, or lines of objects of which the first is a bad one.
        file.seek(0)
        return first.strip() == b"{" or not any(isinstance(parsed(line), dict) for line in file)


def _read_document(path: Path, convert: Convert) -> Iterator[Entry]:
    text = path.read_bytes()
    bare = _bare(text)
    try:
        value = _read(bare)
    except orjson.JSONDecodeError:
        # Read all the same, and told below: one bad byte would cost the whole file.
        readable = with_whole_characters(bare).decode(errors="replace").encode()
        try:
            value = _read(readable)
        except orjson.JSONDecodeError as error:
            yield BadChatLine(f"line {error.lineno}", f"the file is not valid JSON: {error.msg}", len(text))
            return
        yield BadChatLine(_FILE, "has bytes that are not UTF-8; each was replaced by \ufffd")
    elements = [_converted(one, convert) for one in (value if isinstance(value, list) else [value])]
    is_single = [_is_message(one) and _first(one, _CONVERSATION_IDS) is None for one in elements]
    # Messages that name no conversation are one conversation, the file's.
    if any(is_single) and all(
        single or not isinstance(one, Mapping) for one, single in zip(elements, is_single, strict=True)
    ):
        yield _entry(_FILE, {"messages": elements}, len(text))
        return
    for number, element in enumerate(elements, 1):
        yield _entry(f"element {number}", element, len(text) * number // len(elements))


def _read_line(where: str, line: bytes, read_bytes: int, convert: Convert) -> Entry:
    try:
        value = _read(_bare(line))
    except orjson.JSONDecodeError as error:
        return BadChatLine(where, f"not valid JSON: {error.msg} (column {error.colno})", read_bytes)
    return _entry(where, _converted(value, convert), read_bytes)


def _converted(value: Any, convert: Convert) -> Any:
    """Return a value as ``convert`` writes it, or the reason why it cannot."""
    try:
        return convert(value)
    except UnusableFile as reason:
        return reason


def _bare(text: bytes) -> bytes:
    return text.removeprefix(b"\xef\xbb\xbf").strip()


def _read(text: bytes | str) -> Any:
    return read_json(text, replaces_nul=True)


def parsed(text: bytes | str) -> Any:
    """Return what JSON says, or None where it is none."""
    try:
        return _read(_bare(text) if isinstance(text, bytes) else text)
    except orjson.JSONDecodeError:
        return None


def _entry(where: str, value: Any, read_bytes: int) -> Entry:
    try:
        if isinstance(value, UnusableFile):
            raise value
        return _chat(where, {"messages": value} if isinstance(value, list) else value, read_bytes)
    except NothingSaid:
        return EmptyChat(where, read_bytes)
    except UnusableFile as reason:
        return BadChatLine(where, str(reason), read_bytes)


def _chat(where: str, value: Any, read_bytes: int) -> FileChat:
    """Return a conversation, without what of it cannot be used. Raises: UnusableFile when that is all."""
    shape, messages = _messages(value)
    lines: list[ChatLine] = []
    left_out: list[BadChatLine] = []
    for number, message in enumerate(messages, 1):
        odd: list[UnusableFile] = []
        try:
            line = _line(message, odd)
            lines += [] if line is None else [line]
        except UnusableFile as reason:
            odd.append(reason)
        own = f"element {number}" if where == _FILE else f"{where}, message {number}"
        own = where if shape is ChatShape.SINGLE else own
        left_out += [BadChatLine(own if one.part is None else f"{where}, {one.part}", str(one)) for one in odd]
    if left_out and not lines:
        more = f" (and {len(left_out) - 1} more)" if len(left_out) > 1 else ""
        of_one = "" if shape is ChatShape.SINGLE else left_out[0].where.removeprefix(f"{where}, ") + ": "
        raise UnusableFile(f"{of_one}{left_out[0].reason}{more}")
    ids = _CONVERSATION_IDS if shape is ChatShape.SINGLE else (*_CONVERSATION_IDS, "id")
    return FileChat(
        where, shape, _text(value, ids), _text(value, _USERS), _timed(lines, value), read_bytes, tuple(left_out)
    )


def _timed(lines: Sequence[ChatLine], whole: Mapping[str, Any]) -> tuple[ChatLine, ...]:
    """Return messages, those without a time with that of the one before; the first ones with that of the whole.

    A whole that is dated later than its first dated message is dated by its end, and then that message's time serves.
    """
    own = next(filter(None, (_moment_or_none(whole.get(name)) for name in TIMES_OF_ALL)), None)
    first = next((one.created_at for one in lines if one.created_at), None)
    time = min(filter(None, (own, first)), default=None)
    if time is None:
        return tuple(lines)
    timed = []
    for one in lines:
        timed.append(one.at(time))
        time = timed[-1].created_at
    return tuple(timed)


def _moment_or_none(given: Any) -> datetime | None:
    try:
        return moment(given)
    except UnusableFile:
        return None


def _messages(value: Any) -> tuple[ChatShape, Sequence[Any]]:
    if not isinstance(value, Mapping):
        raise UnusableFile(f"neither a conversation nor a message, but {kind_of(value)}")
    for key in _LISTS:
        listed = value.get(key)
        if isinstance(listed, list):
            if not listed:
                raise UnusableFile(f"`{key}` is empty")
            is_sharegpt = any(isinstance(one, Mapping) and "from" in one for one in listed)
            return (ChatShape.SHAREGPT if is_sharegpt else ChatShape.MESSAGES), listed
    if _is_message(value):
        return ChatShape.SINGLE, [value]
    other = next((key for key in _LISTS if key in value), None)
    if other is not None:
        raise UnusableFile(f"`{other}` is {kind_of(value[other])}, not a list of messages")
    raise UnusableFile("has neither `messages`, nor `conversations`, nor `role` and `content`")


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and ("role" in value or "from" in value) and not set(_LISTS) & value.keys()


def _line(message: Any, odd: list[UnusableFile]) -> ChatLine | None:
    """Return a message, or None for one that says nothing; parts that cannot be used are added to ``odd``."""
    if isinstance(message, UnusableFile):
        raise message
    if not isinstance(message, Mapping):
        raise UnusableFile(f"a message is not an object, but {kind_of(message)}")
    given = message.get("role", message.get("from"))
    role = _ROLE_OF.get(given.lower()) if isinstance(given, str) else None
    if role is None:
        raise UnusableFile(f"{shown(given)} is no role; known are {', '.join(_ROLE_OF)}")
    written = _as_written(message, role)
    content = written["content"]
    if isinstance(content, list):
        written["content"] = [part for number, part in enumerate(content) if _is_usable(part, number, role, odd)]
        if content and not written["content"]:
            # Nothing of it can be used, so the last reason is the message's.
            raise odd.pop()
    read = _validated(written)
    sent, content = read.sent, text_of(read.sent)
    has_parts = isinstance(sent["content"], list) and bool(sent["content"])
    if not (content.strip() or has_parts or sent.keys() - {"role", "content", "name"}):
        return None
    at = None
    try:
        at = moment(_first(message, _TIMES))
    except UnusableFile as reason:
        odd.append(reason)
    files = message.get(FILES_WITHOUT_TEXT) or 0
    return ChatLine(Role(role_of(sent)), content, read.name or None, at, read.payload, files)


def _is_usable(part: Any, number: int, role: Role, odd: list[UnusableFile]) -> bool:
    try:
        _validated({"role": role.value, "content": [part]})
    except UnusableFile as reason:
        # Each was looked at alone, and so is called 0 in the reason.
        odd.append(UnusableFile(str(reason).replace("part 0", f"part {number}", 1)))
        return False
    return True


def _validated(written: Sent) -> ChatMessage:
    try:
        return ChatMessage.model_validate(written)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][:1])
        raise UnusableFile(": ".join(filter(None, [where, first["msg"].removeprefix("Value error, ")]))) from None


def _as_written(message: Mapping[str, Any], role: Role) -> Sent:
    """Return a message with the keys and the parts that chat programs know."""
    given = message.get("role", message.get("from"))
    content = _first(message, _CONTENTS)
    if given == "function_call":
        return {"role": role.value, "content": None, "function_call": _function_called(content)}
    if content is None and role is not Role.ASSISTANT:
        content = ""
    if isinstance(content, list):
        parts = [{"text": part} if isinstance(part, str) else part for part in content if part is not None]
        # A part that has a text and no type is a text.
        content = [
            {"type": "text", **part} if isinstance(part, dict) and isinstance(part.get("text"), str) else part
            for part in parts
        ]
    known = given if given in ("developer", "function") else role.value
    kept = {key: message[key] for key in _KEPT if message.get(key) is not None}
    name = message.get("name")
    named = {"name": name[:_LONGEST_NAME]} if isinstance(name, str) and name else {}
    return {"role": known, "content": content, **named, **kept}


def _function_called(value: Any) -> Sent:
    """Return a call as ShareGPT writes it, as text: its name and what is given to the function."""
    try:
        bounded({"value": value})
    except ValueError as error:
        raise UnusableFile(f"the call of a function {error}") from None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    read = parsed(text)
    if not isinstance(read, dict) or not isinstance(read.get("name"), str):
        return {"name": "unknown", "arguments": text}
    given = read.get("arguments", {})
    return {"name": read["name"], "arguments": given if isinstance(given, str) else json.dumps(given)}


def _first(value: Mapping[str, Any], fields: Iterable[str]) -> Any:
    return next((value[field] for field in fields if value.get(field) is not None), None)


def _text(value: Mapping[str, Any], fields: Iterable[str]) -> str | None:
    given = _first(value, fields)
    if isinstance(given, str) and "\ufffd" in given:
        raise UnusableFile(f"{shown(given)} holds a character that could not be read, so it does not say what is meant")
    return str(given) if isinstance(given, str | int) and not isinstance(given, bool) and given != "" else None


_EARLIEST_SECONDS, _MILLISECONDS_FROM = 1e8, 1e11
"""From 1973 on: a small number is no time of a chat but a year, or a count."""
_YEARS = range(1970, 3000)
"""What the service takes."""
_DIGITS = re.compile(r"-?\d{9,13}(?:\.\d+)?")
_RFC_2822 = re.compile(r"(?:[A-Za-z]{3},\s*)?\d{1,2}\s+[A-Za-z]{3}\s+\d{4}\s+\d{1,2}:\d\d(?::\d\d)?\s+\S.*")
_NAMED_UTC = re.compile(r"\s*(?:UTC|GMT)$")
_WITHOUT_OFFSET = re.compile(r"[Zz]$|-0000$")
_UTC_AS_OFFSET = timezone(timedelta(0), "+00:00")
"""UTC where a file says it as an offset, as it is wall time somewhere, and not as ``Z``, as programs write times."""


def moment(given: Any) -> datetime | None:
    """Return a time of a file with the offset it has there; one without any is UTC. Raises: UnusableFile."""
    if given is None or given == "":
        return None
    try:
        read = _since_1970(given) if _is_number(given) else _read_time(given)
        year = None if read is None else read.astimezone(UTC).year
        if year in _YEARS:
            return read
    except (ValueError, OverflowError, OSError, TypeError):
        year = None
    if year is not None:
        side = f"after {_YEARS[-1]}" if year > _YEARS[-1] else f"before {_YEARS[0]}"
        raise UnusableFile(f"{shown(given)} lies {side}; no chat is of that time")
    raise UnusableFile(f"{shown(given)} is no time; write it as 2026-03-01T12:00:00Z")


def as_text(at: datetime) -> str:
    """Return a time as it is sent: with its offset, or with ``Z`` where the file had none."""
    # By identity: an offset of zero that the file gave is another object (`_UTC_AS_OFFSET`).
    return at.isoformat().replace("+00:00", "Z") if at.tzinfo is UTC else at.isoformat()


def _is_number(given: Any) -> bool:
    if isinstance(given, str):
        return _DIGITS.fullmatch(given.strip()) is not None
    return isinstance(given, int | float) and not isinstance(given, bool)


def _since_1970(given: Any) -> datetime | None:
    number = float(given)
    # Not `<`, which is false of NaN as well.
    if not number >= _EARLIEST_SECONDS:
        return None
    return datetime.fromtimestamp(number / 1000 if number >= _MILLISECONDS_FROM else number, UTC)


def _read_time(given: Any) -> datetime | None:
    if isinstance(given, Mapping):
        inner = given.get("$date")
        inner = inner.get("$numberLong") if isinstance(inner, Mapping) else inner
        return None if isinstance(inner, Mapping) else moment(inner)
    if not isinstance(given, str):
        return None
    text = given.strip()
    if _RFC_2822.fullmatch(text):
        read = parsedate_to_datetime(text)
    else:
        read = datetime.fromisoformat(_NAMED_UTC.sub("", text))
    if read.tzinfo is None or _WITHOUT_OFFSET.search(text) or _NAMED_UTC.search(text):
        return read.replace(tzinfo=UTC)
    return read if read.utcoffset() else read.replace(tzinfo=_UTC_AS_OFFSET)
