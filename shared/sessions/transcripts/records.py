"""The records of a transcript, line by line, none longer in memory than may be.

Recorders change and files get damaged, so nothing here trusts a field to be there or to be of the right type. The last
line may still be being written: without its newline it counts only where it holds whole records already.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

_LARGEST_COUNT = 2**53

KNOWN_KINDS = frozenset(
    {
        "user", "assistant", "system", "summary", "file-history-snapshot", "queue-operation", "progress", "pr-link",
        "attachment", "ai-title", "custom-title", "last-prompt",
    }
)  # fmt: skip
"""Kinds of records that transcripts are known to hold; of a file without any it is said that it is none."""


@dataclass(frozen=True)
class Record:
    """A JSON object of a transcript."""

    line: int
    """Counted from 1."""
    offset: int
    """Bytes from the beginning of the file to its line."""
    kind: str
    """Empty where the record names none."""
    fields: dict[str, Any]

    def word(self, name: str) -> str | None:
        """Return a field that is a non-empty string, else None."""
        value = self.fields.get(name)
        return value if isinstance(value, str) and value else None

    def flag(self, name: str) -> bool:
        """Return whether a field is true."""
        return self.fields.get(name) is True

    @property
    def uuid(self) -> str:
        """Its own id; where it has none, one made of its line."""
        return (self.word("uuid") or f"line-{self.line}")[:200]

    @property
    def at(self) -> datetime | None:
        """When it was written, UTC; None where it does not say, or says nonsense."""
        return _time_of(self.word("timestamp"))

    @property
    def message(self) -> dict[str, Any]:
        """Its message; a bare string is a message that says so."""
        value = self.fields.get("message")
        if isinstance(value, str):
            return {"content": value}
        return value if isinstance(value, dict) else {}

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The blocks of its message; what stands there as a string is a block of text."""
        content = self.message.get("content")
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        return [block for block in map(_content_block, content) if block] if isinstance(content, list) else []

    @property
    def message_key(self) -> str:
        """What an answer's records share: the message's id, else the request's, else the record's own."""
        own = self.message.get("id")
        return own if isinstance(own, str) and own else self.word("requestId") or self.uuid

    @property
    def output_tokens(self) -> int:
        """What its usage says was generated; 0 where it says nothing that can be believed."""
        usage = self.message.get("usage")
        tokens = usage.get("output_tokens") if isinstance(usage, dict) else None
        return tokens if isinstance(tokens, int) and 0 <= tokens < _LARGEST_COUNT else 0

    @property
    def is_boundary(self) -> bool:
        """Whether the tool compacted the session here."""
        return self.kind == "system" and self.fields.get("subtype") == "compact_boundary"


def short_hash(text: str) -> int:
    """Return eight bytes of a text's hash."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


@dataclass(frozen=True)
class BadLine:
    """A line, or the rest of one, that is no record."""

    line: int
    offset: int
    reason: str


def _content_block(value: object) -> dict[str, Any] | None:
    if isinstance(value, str):
        return {"type": "text", "text": value}
    return value if isinstance(value, dict) else None


def _time_of(text: str | None) -> datetime | None:
    try:
        at = datetime.fromisoformat(text or "")
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


MAX_LINE_BYTES = 16 * 2**20
"""A longer line is passed over: no recorder writes such, and to work on one message of 60 MB took a job longer than its
limit, five times over."""
_STEP = 2**16
_ESCAPED = (b"\\u0000", b"\\ud", b"\\uD", b"\x00")
"""Where these stand, a text can hold what neither UTF-8 nor a database takes."""
_MOST_DEPTH = 200
"""So that a line is a record or none by itself, however deep in its calls the process is that reads it."""
_REPLACED = str.maketrans(dict.fromkeys([0, *range(0xD800, 0xE000)], "�"))


@dataclass(frozen=True)
class TranscriptLine:
    """One line; ``text`` is None where it is longer than may be."""

    number: int
    offset: int
    end: int
    """Where the next one begins."""
    text: bytes | None


def lines_of(file: IO[bytes], size_bytes: int | None = None) -> Iterator[TranscriptLine]:
    """Yield a file's lines from where it stands, of its first ``size_bytes`` only."""
    number, offset, left = 0, 0, size_bytes
    while raw := file.readline(_most(left)):
        number, start = number + 1, offset
        text, length = (raw, len(raw)) if len(raw) <= MAX_LINE_BYTES else (None, len(raw) + _rest(file, left, raw))
        offset += length
        left = None if left is None else left - length
        yield TranscriptLine(number, start, offset, text)


def records_of(line: TranscriptLine) -> Iterator[Record | BadLine]:
    """Yield what a line holds: a record; several, where two were glued; or why it holds none."""
    if line.text is None:
        yield BadLine(line.number, line.offset, f"longer than {MAX_LINE_BYTES} bytes")
        return
    try:
        text = line.text.decode("utf-8-sig" if line.number == 1 else "utf-8").strip()
    except UnicodeDecodeError:
        yield BadLine(line.number, line.offset, "not UTF-8")
        return
    is_odd = any(mark in line.text for mark in _ESCAPED)
    yield from _records_in(line, text, is_odd)


def complete_bytes(path: Path) -> int:
    """Return how much of a file can be taken: all but a last line that is still being written."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        start = _last_line(file, size)
        if start == size or size - start > MAX_LINE_BYTES:
            return start
        file.seek(start)
        line = TranscriptLine(2, start, size, file.read(size - start))
    return size if all(isinstance(found, Record) for found in records_of(line)) else start


def _last_line(file: IO[bytes], size: int) -> int:
    """Return where what follows the last newline begins."""
    end = size
    while end:
        start = max(0, end - _STEP)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _most(left: int | None) -> int:
    return MAX_LINE_BYTES + 1 if left is None else max(0, min(left, MAX_LINE_BYTES + 1))


def _rest(file: IO[bytes], left: int | None, read: bytes) -> int:
    """Pass over what is left of a line that is too long; return its bytes."""
    passed, last = 0, read
    while not last.endswith(b"\n"):
        last = file.readline(_most(None if left is None else left - len(read) - passed))
        if not last:
            break
        passed += len(last)
    return passed


def _records_in(line: TranscriptLine, text: str, is_odd: bool) -> Iterator[Record | BadLine]:
    position = 0
    while position < len(text):
        try:
            value, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            yield BadLine(line.number, line.offset, "not JSON")
            return
        if not isinstance(value, dict):
            yield BadLine(line.number, line.offset, "not a JSON object")
            return
        if text.count("[") + text.count("{") > _MOST_DEPTH and _is_deep(value):
            yield BadLine(line.number, line.offset, f"nested deeper than {_MOST_DEPTH}")
            return
        fields = _cleaned(value) if is_odd else value
        kind = fields.get("type")
        yield Record(line.number, line.offset, kind if isinstance(kind, str) else "", fields)
        position = _skip_space(text, position)


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_MOST_DEPTH):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _number(text: str) -> float | str:
    """Return a number; what is larger than any stays the text it is, as it could not be written as a number again."""
    value = float(text)
    return value if math.isfinite(value) else text


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_number)


def _cleaned(value: Any) -> Any:
    """Put the replacement character where half of a surrogate pair or a NUL stands."""
    if isinstance(value, str):
        return value.translate(_REPLACED)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {_cleaned(name): _cleaned(item) for name, item in value.items()}
    return value
