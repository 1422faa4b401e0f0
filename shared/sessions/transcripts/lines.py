"""The lines of a transcript, each where it begins, none longer in memory than may be.

The last line may still be being written: without its newline it counts only where it holds whole records already.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from shared.sessions.transcripts.records import BadLine, Record

MOST_LINE_BYTES = 64 * 2**20
"""A longer line is passed over: no recorder writes such, and holding it would take a multiple of it."""
_STEP = 2**16
_ESCAPED = (b"\\u0000", b"\\ud", b"\\uD", b"\x00")
"""Where these stand, a text can hold what neither UTF-8 nor a database takes."""
_MOST_DEPTH = 200
"""So that a line is a record or none by itself, however deep in its calls the process is that reads it."""
_REPLACED = str.maketrans(dict.fromkeys([0, *range(0xD800, 0xE000)], "�"))


@dataclass(frozen=True)
class Line:
    """One line; ``text`` is None where it is longer than may be."""

    number: int
    offset: int
    end: int
    """Where the next one begins."""
    text: bytes | None


def lines_of(file: IO[bytes], size_bytes: int | None = None) -> Iterator[Line]:
    """Yield a file's lines from where it stands, of its first ``size_bytes`` only."""
    number, offset, left = 0, 0, size_bytes
    while raw := file.readline(_most(left)):
        number, start = number + 1, offset
        text, length = (raw, len(raw)) if len(raw) <= MOST_LINE_BYTES else (None, len(raw) + _rest(file, left, raw))
        offset += length
        left = None if left is None else left - length
        yield Line(number, start, offset, text)


def records_of(line: Line) -> Iterator[Record | BadLine]:
    """Yield what a line holds: a record; several, where two were glued; or why it holds none."""
    if line.text is None:
        yield BadLine(line.number, line.offset, f"longer than {MOST_LINE_BYTES} bytes")
        return
    try:
        text = line.text.decode("utf-8-sig" if line.number == 1 else "utf-8").strip()
    except UnicodeDecodeError:
        yield BadLine(line.number, line.offset, "not UTF-8")
        return
    is_odd = any(mark in line.text for mark in _ESCAPED)
    yield from _parsed(line, text, is_odd)


def complete_bytes(path: Path) -> int:
    """Return how much of a file can be taken: all but a last line that is still being written."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        start = _last_line(file, size)
        if start == size or size - start > MOST_LINE_BYTES:
            return start
        file.seek(start)
        line = Line(2, start, size, file.read(size - start))
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
    return MOST_LINE_BYTES + 1 if left is None else max(0, min(left, MOST_LINE_BYTES + 1))


def _rest(file: IO[bytes], left: int | None, read: bytes) -> int:
    """Pass over what is left of a line that is too long; return its bytes."""
    passed, last = 0, read
    while not last.endswith(b"\n"):
        last = file.readline(_most(None if left is None else left - len(read) - passed))
        if not last:
            break
        passed += len(last)
    return passed


def _parsed(line: Line, text: str, is_odd: bool) -> Iterator[Record | BadLine]:
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
        position = _next(text, position)


def _next(text: str, position: int) -> int:
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


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _number(text: str) -> float | str:
    """Return a number; what is larger than any stays the text it is, as it could not be written as a number again."""
    value = float(text)
    return value if math.isfinite(value) else text


_DECODER = json.JSONDecoder(parse_constant=_refused, parse_float=_number)


def _cleaned(value: Any) -> Any:
    """Put the replacement character where half of a surrogate pair or a NUL stands."""
    if isinstance(value, str):
        return value.translate(_REPLACED)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {_cleaned(name): _cleaned(item) for name, item in value.items()}
    return value
