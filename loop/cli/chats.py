"""Reads files of chats as they are passed around: role/content, ShareGPT, one message per line, others' exports.

A JSON Lines file is read a line at a time; a JSON array, or one object over several lines, is read whole. Every line
yields either what it holds or why it cannot be used, so that nothing is left out silently. What becomes one
conversation is decided by ``Grouping``; how others write a conversation is left to ``loop.cli.exports``.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson
from pydantic import TypeAdapter, ValidationError

from loop.cli.bad_lines import BadChatLine, NothingSaid, UnusableFile, kind_of, shown
from loop.cli.times import moment
from shared.base.choices import ChatGrouping
from shared.base.errors import Configuration
from shared.contracts.values import Id, bounded
from shared.conversations.chat_message import ChatMessage, Sent, role_of, text_of
from shared.conversations.lifecycle import Role
from shared.text.json_reading import read_json, with_whole_characters

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
_ID = TypeAdapter(Id)
_FILE = "the file"
_DIGEST_CHARACTERS = 24


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
    said: tuple[ChatLine, ...]
    read_bytes: int = 0
    left_out: tuple[BadChatLine, ...] = ()
    """What of it cannot be used; the rest stands in ``said``."""


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
        readable = with_whole_characters(bare).decode(errors="replace").encode()
        try:
            value = _read(readable)
        except orjson.JSONDecodeError as error:
            yield BadChatLine(f"line {error.lineno}", f"the file is not valid JSON: {error.msg}", len(text))
            return
        yield BadChatLine(_FILE, "has bytes that are not UTF-8; each was replaced by \ufffd")
    elements = [_converted(one, convert) for one in (value if isinstance(value, list) else [value])]
    is_single = [_is_message(one) and _first(one, _CONVERSATION_IDS) is None for one in elements]
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
    said: list[ChatLine] = []
    left_out: list[BadChatLine] = []
    for number, message in enumerate(messages, 1):
        odd: list[UnusableFile] = []
        try:
            line = _said(message, odd)
            said += [] if line is None else [line]
        except UnusableFile as reason:
            odd.append(reason)
        own = f"element {number}" if where == _FILE else f"{where}, message {number}"
        own = where if shape is ChatShape.SINGLE else own
        left_out += [BadChatLine(own if one.place is None else f"{where}, {one.place}", str(one)) for one in odd]
    if left_out and not said:
        more = f" (and {len(left_out) - 1} more)" if len(left_out) > 1 else ""
        of_one = "" if shape is ChatShape.SINGLE else left_out[0].where.removeprefix(f"{where}, ") + ": "
        raise UnusableFile(f"{of_one}{left_out[0].reason}{more}")
    ids = _CONVERSATION_IDS if shape is ChatShape.SINGLE else (*_CONVERSATION_IDS, "id")
    return FileChat(
        where, shape, _text(value, ids), _text(value, _USERS), _timed(said, value), read_bytes, tuple(left_out)
    )


def _timed(said: Sequence[ChatLine], whole: Mapping[str, Any]) -> tuple[ChatLine, ...]:
    """Return messages, those without a time with that of the one before; the first ones with that of the whole.

    A whole that is dated later than its first dated message is dated by its end, and then that message's time serves.
    """
    own = next(filter(None, (_moment_or_none(whole.get(name)) for name in TIMES_OF_ALL)), None)
    first = next((one.created_at for one in said if one.created_at), None)
    time = min(filter(None, (own, first)), default=None)
    if time is None:
        return tuple(said)
    timed = []
    for one in said:
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


def _said(message: Any, odd: list[UnusableFile]) -> ChatLine | None:
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


@dataclass(frozen=True, slots=True)
class Portion:
    """Messages of one conversation; ``whole`` when no more of it can come."""

    conversation_id: str
    user_id: str | None
    said: Sequence[ChatLine]
    whole: bool


@dataclass
class Grouping:
    """Gives each message of one file its conversation."""

    per: ChatGrouping
    path: Path
    zone: ZoneInfo | None = None
    """Whose days are meant; without one, those of the offsets that messages came with."""
    _last: dict[str, datetime] = field(default_factory=dict)
    """When something was last said in each conversation that comes a message at a time."""

    @functools.cached_property
    def _file_name(self) -> str:
        with self.path.open("rb") as file:
            return f"file-{hashlib.file_digest(file, 'sha256').hexdigest()[:_DIGEST_CHARACTERS]}"

    def portions(self, chat: FileChat) -> Iterator[Portion]:
        """Yield the conversations that a line adds to. Raises: UnusableFile."""
        if not chat.said:
            raise UnusableFile("no message has any text")
        whole = chat.shape is not ChatShape.SINGLE
        if self.per is ChatGrouping.FILE:
            yield Portion(self._file_name, chat.user_id, chat.said, False)
        elif self.per is ChatGrouping.DAY:
            base = chat.conversation_id or (_content_name(chat) if whole else self._file_name)
            days: dict[str, list[ChatLine]] = defaultdict(list)
            for given in chat.said:
                one = given.at(self._last.get(base))
                if one.created_at is not None:
                    if not whole:
                        self._last[base] = one.created_at
                    days[one.created_at.astimezone(self.zone or one.created_at.tzinfo).date().isoformat()].append(one)
            for day, said in days.items():
                yield Portion(as_id(f"{base}-{day}"), chat.user_id, said, whole)
            if undated := len(chat.said) - sum(map(len, days.values())):
                what = "a message" if undated == 1 else f"{undated} messages"
                raise UnusableFile(f"{what} without a time cannot be put on a day")
        elif chat.conversation_id is None and not whole:
            raise UnusableFile("a message without a conversation id; --conversation-per file or day does without")
        else:
            name = _content_name(chat) if chat.conversation_id is None else as_id(chat.conversation_id)
            yield Portion(name, chat.user_id, chat.said, whole)


def read_portions(
    path: Path, grouping: Grouping, convert: Convert = as_it_is
) -> Iterator[tuple[Entry, Sequence[Portion], Sequence[BadChatLine]]]:
    """Yield each line or element, the conversations it adds to, and what of it is bad. Raises: Configuration."""
    for entry in read_chats(path, convert):
        portions: list[Portion] = []
        bad = [entry] if isinstance(entry, BadChatLine) else []
        if isinstance(entry, FileChat):
            bad += entry.left_out
            try:
                portions.extend(grouping.portions(entry))
            except UnusableFile as reason:
                bad.append(BadChatLine(entry.where, str(reason)))
        yield entry, portions, bad


class MessageNames:
    """Names the messages of one conversation by what they say; the same thing said again is told apart by number."""

    def __init__(self, conversation_id: str) -> None:
        self._conversation_id = conversation_id
        self._seen: Counter[bytes] = Counter()

    def name(self, said: ChatLine) -> str:
        """Return the id of the next message."""
        digest = hashlib.sha256(orjson.dumps([self._conversation_id, *_plain(said)])).digest()[:12]
        self._seen[digest] += 1
        return f"in-{digest.hex()}-{self._seen[digest]}"


def as_id(given: str) -> str:
    """Return an id the service takes: the given one, or a name made from it."""
    try:
        return _ID.validate_python(given)
    except ValidationError:
        return f"chat-{_hex(given.encode())}"


def _content_name(chat: FileChat) -> str:
    return f"chat-{_hex(orjson.dumps([chat.user_id, *map(_plain, chat.said)]))}"


def _plain(said: ChatLine) -> list[Any]:
    # The same message in a file that writes its offset otherwise is the same message.
    own = said.created_at if said.has_own_time else None
    at = own.astimezone(UTC).isoformat() if own is not None else None
    return [said.role.value, said.name, said.content, at] + ([] if said.payload is None else [said.payload])


def _hex(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:_DIGEST_CHARACTERS]
