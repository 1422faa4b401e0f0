"""Which messages of a file make one conversation, and what it and they are called.

The names follow from what is in the file and from nothing else, so that a file read twice, or read again after it was
cut off, names everything as before and nothing is stored twice.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from loop.cli.chats import Chat, Said, Shape, Unusable
from shared.contracts.values import ID_PATTERN

_ID = re.compile(ID_PATTERN)
_DIGEST_CHARACTERS = 24


class Per(StrEnum):
    """What becomes one conversation."""

    AUTO = "auto"
    """A line that holds a whole one; otherwise the messages that share a conversation id."""
    DAY = "day"
    """The messages of one day (UTC) of what ``auto`` would have made one."""
    FILE = "file"
    """Everything."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Messages of one conversation; ``whole`` when no more of it can come."""

    conversation_id: str
    user_id: str | None
    said: Sequence[Said]
    whole: bool


class Grouping:
    """Gives each message of one file its conversation."""

    def __init__(self, per: Per, path: Path) -> None:
        self._per = per
        self._file = f"file-{_digest_of_file(path)}" if per is not Per.AUTO else ""

    def portions(self, chat: Chat) -> Iterator[Portion]:
        """Yield the conversations that a line adds to. Raises: Unusable."""
        if not chat.said:
            raise Unusable("no message has any text")
        whole = chat.shape is not Shape.SINGLE
        if self._per is Per.FILE:
            yield Portion(self._file, chat.user_id, chat.said, False)
        elif self._per is Per.DAY:
            base = chat.conversation_id or (_content_name(chat) if whole else self._file)
            for day, said in _by_day(chat.said).items():
                yield Portion(as_id(f"{base}-{day}"), chat.user_id, said, whole)
        else:
            yield Portion(_own_name(chat, whole), chat.user_id, chat.said, whole)


class MessageNames:
    """Names the messages of one conversation by what they say; the same thing said again is told apart by number."""

    def __init__(self, conversation_id: str) -> None:
        self._conversation_id = conversation_id
        self._seen: Counter[bytes] = Counter()

    def name(self, said: Said) -> str:
        """Return the id of the next message."""
        digest = hashlib.sha256(orjson.dumps([self._conversation_id, *_plain(said)])).digest()[:12]
        self._seen[digest] += 1
        return f"in-{digest.hex()}-{self._seen[digest]}"


def as_id(given: str) -> str:
    """Return an id the service takes: the given one, or a name made from it."""
    return given if _ID.fullmatch(given) else f"chat-{_hex(given.encode())}"


def _own_name(chat: Chat, whole: bool) -> str:
    if chat.conversation_id is not None:
        return as_id(chat.conversation_id)
    if not whole:
        raise Unusable("a message without a conversation id; --conversation-per file or day does without")
    return _content_name(chat)


def _content_name(chat: Chat) -> str:
    return f"chat-{_hex(orjson.dumps([chat.user_id, *map(_plain, chat.said)]))}"


def _plain(said: Said) -> list[Any]:
    at = said.created_at.isoformat() if said.created_at is not None else None
    return [said.role.value, said.name, said.content, at] + ([] if said.payload is None else [said.payload])


def _by_day(said: Sequence[Said]) -> dict[str, list[Said]]:
    days: dict[str, list[Said]] = defaultdict(list)
    for one in said:
        if one.created_at is None:
            raise Unusable("a message without a time cannot be put on a day")
        days[one.created_at.date().isoformat()].append(one)
    return days


def _hex(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:_DIGEST_CHARACTERS]


def _digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:_DIGEST_CHARACTERS]
