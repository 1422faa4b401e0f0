"""The records of a transcript, line by line, none longer in memory than may be.

Recorders change and files get damaged, so nothing here trusts a field to be there or to be of the right type: a record
that was cut off takes no other along, and runs of zero bytes, as crashes leave them, are passed over. The last line may
still be being written: without its newline it counts only where it holds whole records already.
"""

import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

from shared.text.lines import with_whole_characters

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
    def origin(self) -> str:
        """The id of the record it is a copy of, in a session that was branched off; else what a copy has as well."""
        forked = self.fields.get("forkedFrom")
        copied = forked.get("messageUuid") if isinstance(forked, dict) else None
        if isinstance(copied, str) and copied:
            return copied[:200]
        # Without an id of its own it has that of its line, which is another one where the file was damaged before it.
        said = f"{self.fields.get('timestamp')} {self.kind} {self.blocks!r}"
        return self.uuid if self.word("uuid") else f"said-{short_hash(said):016x}"

    @property
    def at(self) -> datetime | None:
        """When it was written, UTC; None where it does not say, or says nonsense."""
        try:
            at = datetime.fromisoformat(self.word("timestamp") or "")
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            return None

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
    def identities(self) -> tuple[int, ...]:
        """Hashes of its id and of what it says: a copy has the same, wherever it hangs; none where it has no id.

        In a session that was branched off a record has the id of the one it is a copy of as well.
        """
        origin = self.fields.get("forkedFrom")
        ids = (self.word("uuid"), origin.get("messageUuid") if isinstance(origin, dict) else None)
        identifying = [self.kind, self.blocks, *map(self.fields.get, ("content", "summary", "attachment", "data"))]
        text = repr(identifying) if ids[0] else ""
        return tuple(short_hash(f"{one} {text}") for one in dict.fromkeys(ids) if text and isinstance(one, str))

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


MAX_LINE_BYTES = 16 * 2**20
"""A longer line is passed over: no recorder writes such, and to work on one message of 60 MB took a job longer than its
limit, five times over."""
_MOST_DEPTH = 200
"""So that a line is a record or none by itself, however deep in its calls the process is that reads it."""
TOO_LONG, TOO_DEEP = f"longer than {MAX_LINE_BYTES} bytes", f"nested deeper than {_MOST_DEPTH}"
NOT_UTF8, NOT_JSON, NO_OBJECT, CUT_OFF = "not UTF-8", "not JSON", "not a JSON object", "cut off"
ZERO_BYTES, REPEATED = "zero bytes", "said before"
REASONS = {
    TOO_LONG: "tooLong", TOO_DEEP: "tooDeep", NOT_UTF8: "notUtf8", NOT_JSON: "notJson", NO_OBJECT: "notAnObject",
    CUT_OFF: "cutOff", ZERO_BYTES: "zeroByteRuns", REPEATED: "repeatedRecords",
}  # fmt: skip
"""Why something is passed over, with the name under which it is counted."""
HARMLESS = (NOT_UTF8, ZERO_BYTES, REPEATED)
"""Of these nothing that was said is lost but the bytes themselves; a record in which they stood is read."""


@dataclass(frozen=True)
class BadLine:
    """A line, or a part of one, that is passed over; of ``NOT_UTF8`` bytes of the record that follows."""

    line: int
    offset: int
    reason: str
    """One of ``REASONS``."""
    times: int = 1


def _content_block(value: object) -> dict[str, Any] | None:
    if isinstance(value, str):
        return {"type": "text", "text": value}
    return value if isinstance(value, dict) else None


_STEP = 2**16
_ESCAPED = ("\\u0000", "\\ud", "\\uD")
"""Where these stand, a text can hold what neither UTF-8 nor a database takes."""
_REPLACED = str.maketrans(dict.fromkeys([0, *range(0xD800, 0xE000)], "�"))
_ZERO_RUN = re.compile(rb"\0+")
_OBJECT = re.compile(r'\{\s*"[^"\\]{1,100}"\s*:')
_HALF_AS_BYTES = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
"""Bytes as ``surrogateescape`` reads them."""
_MOST_TRIES, _MOST_WORK = 1_000, 10
"""Places of a damaged line at which a record is looked for, and how many times its length is read for that."""


@dataclass(frozen=True)
class TranscriptLine:
    """One line; ``text`` is None where it is longer than may be."""

    number: int
    offset: int
    end: int
    """Where the next one begins."""
    text: bytes | None
    """Without zero bytes."""
    zero_runs: int = 0


def lines_of(file: IO[bytes], size_bytes: int | None = None) -> Iterator[TranscriptLine]:
    """Yield a file's lines from where it stands, of its first ``size_bytes`` only."""
    number, offset, left = 0, 0, size_bytes
    while True:
        text: bytes | None = b""
        start, runs, piece = offset, 0, b""
        # A run of zero bytes may be longer than a line may be.
        while not piece.endswith(b"\n") and (piece := file.readline(_most(left))):
            offset, left = offset + len(piece), None if left is None else left - len(piece)
            found = piece.count(b"\0") and len(_ZERO_RUN.findall(piece))
            text = None if text is None else text + (piece.replace(b"\0", b"") if found else piece)
            text, runs = None if text is None or len(text) > MAX_LINE_BYTES else text, runs + found
        if offset == start:
            return
        number += 1
        yield TranscriptLine(number, start, offset, text, runs)


def records_of(line: TranscriptLine) -> Iterator[Record | BadLine]:
    """Yield what a line holds: a record; several, where they were glued; and what is passed over of it."""
    if line.zero_runs:
        yield BadLine(line.number, line.offset, ZERO_BYTES, line.zero_runs)
    if line.text is None:
        yield BadLine(line.number, line.offset, TOO_LONG)
        return
    # Some editors put a byte order mark at the beginning of a file.
    encoding = "utf-8-sig" if line.number == 1 else "utf-8"
    text = with_whole_characters(line.text) if _HALF_AS_BYTES.search(line.text) else line.text
    # What is no character is put right in each record by itself, so that it is counted there.
    yield from _records_in(line, text.decode(encoding, "surrogateescape").strip())


def complete_bytes(path: Path) -> int:
    """Return how much of a file can be taken: all but a last line that is still being written."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        start = _last_line(file, size)
        if start == size or size - start > MAX_LINE_BYTES:
            return start
        file.seek(start)
        found = [found for line in lines_of(file) for found in records_of(line)]
    return size if all(isinstance(one, Record) or one.reason in HARMLESS for one in found) else start


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


def _records_in(line: TranscriptLine, text: str) -> Iterator[Record | BadLine]:
    position, tries, work, bad = 0, 0, len(text) * _MOST_WORK, ""
    while (position := _skip_space(text, position)) < len(text) and tries < _MOST_TRIES and work >= 0:
        value, reason, end = _decoded(text, position)
        tries, work = tries + (reason == NOT_JSON), work - (end - position)
        # Behind a break an object may be a part of the record that is broken (decision 33).
        if not reason and (not bad or _is_record(value, text[end : end + 1])):
            if bad:
                yield BadLine(line.number, line.offset, CUT_OFF if bad == NOT_JSON else bad)
            if not text.isascii() and _NOT_UTF8.search(text, position, end):
                yield BadLine(line.number, line.offset, NOT_UTF8)
                value = _cleaned(value)
            kind, bad, position = value.get("type"), "", end
            yield Record(line.number, line.offset, kind if isinstance(kind, str) else "", value)
            continue
        bad = bad or reason
        # Behind what is whole but no record; else within what is not whole, where the next one may have begun.
        following = _OBJECT.search(text, position + 1 if reason == NOT_JSON else end)
        position = following.start() if following else len(text)
    if bad or position < len(text):
        yield BadLine(line.number, line.offset, bad or NOT_JSON)


def _decoded(text: str, position: int) -> tuple[Any, str, int]:
    """Return the value that begins at a position, why it is no record ("" where it is one), and where it ends."""
    try:
        value, end = _DECODER.raw_decode(text, position)
    except RecursionError:
        # Where it ends is not known, so the rest of the line is given up.
        return None, NOT_JSON, len(text)
    except ValueError as error:
        return None, NOT_JSON, error.pos if isinstance(error, json.JSONDecodeError) else position
    if not isinstance(value, dict):
        # What is left of a record can end in a quote, which then ends in the first one of the next record.
        return None, NO_OBJECT, end if isinstance(value, list) else position + 1
    # Brackets in texts count as well, so this only says whether it is worth a look.
    whole = text[position:end]
    if whole.count("[") + whole.count("{") > _MOST_DEPTH and _is_deep(value):
        return None, TOO_DEEP, end
    return _cleaned(value) if any(mark in whole for mark in _ESCAPED) else value, "", end


def _is_record(value: dict[str, Any], following: str) -> bool:
    """Whether an object behind something that was cut off is a record of its own, and not a part of that."""
    is_named = isinstance(value.get("type"), str) and not {"parentUuid", "sessionId"}.isdisjoint(value)
    return is_named or (value.get("type") in KNOWN_KINDS and following in ("", "{"))


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
    """Put the replacement character where half of a surrogate pair, a byte that is not UTF-8 or a NUL stands."""
    if isinstance(value, str):
        return value.translate(_REPLACED)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {_cleaned(name): _cleaned(item) for name, item in value.items()}
    return value
