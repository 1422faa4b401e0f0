"""Files that are no transcripts, refused by name before anything is taken in."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from shared.errors import Invalid
from shared.sessions.transcripts.lines import MOST_LINE_BYTES
from shared.sessions.transcripts.reading import read_records
from shared.sessions.transcripts.records import KNOWN_KINDS, Record

NOT_A_TRANSCRIPT = "not_a_transcript"
_LOOKED_AT = 200
"""Records within which one of a known kind must stand."""
_FIRST_BYTES = 65_536


def refuse_foreign(path: Path, name: str) -> None:
    """Look at the beginning of a file. Raises: Invalid, naming the file and why it is no transcript."""
    with path.open("rb") as file:
        first = file.read(_FIRST_BYTES)
    if not first.strip():
        raise _refused(name, "it is empty")
    if b"\0" in first:
        raise _refused(name, "it is a binary file")
    for found in islice(read_records(path), _LOOKED_AT):
        if isinstance(found, Record) and found.kind in KNOWN_KINDS:
            return
    raise _refused(name, _why(path, first))


def _why(path: Path, first: bytes) -> str:
    if first.lstrip()[:1] in (b"{", b"[") and first.lstrip()[1:].lstrip(b" \t")[:1] in (b"\n", b"\r"):
        return "it is one JSON document over several lines, not one record a line"
    if b"\n" not in first and path.stat().st_size > MOST_LINE_BYTES:
        return f"its first line does not end within {MOST_LINE_BYTES} bytes"
    return f"none of its first {_LOOKED_AT} records is of a kind that coding sessions hold"


def _refused(name: str, why: str) -> Invalid:
    message = f"{name} is not a recorded session: {why}. Register the .jsonl file that the coding agent wrote."
    return Invalid(message, code=NOT_A_TRANSCRIPT, details={"file": name})
