"""Reading a transcript from its file, record by record or turn by turn, in one pass and with little memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shared.sessions.transcripts.lines import lines_of, records_of
from shared.sessions.transcripts.records import BadLine, Record
from shared.sessions.transcripts.repeats import Repeats
from shared.sessions.transcripts.saying import turns_of
from shared.sessions.transcripts.turns import Turn


def read_records(path: Path, size_bytes: int | None = None) -> Iterator[Record | BadLine]:
    """Yield the records of a file's first ``size_bytes``, and what could not be read as one."""
    with path.open("rb") as file:
        for line in lines_of(file, size_bytes):
            yield from records_of(line)


def read_turns(path: Path, size_bytes: int | None = None) -> Iterator[Turn]:
    """Yield what a file's first ``size_bytes`` say, in their order, each thing once.

    What the tool repeats after it compacted the session is passed over.
    """
    repeats, position = Repeats(), 0
    for record in read_records(path, size_bytes):
        if isinstance(record, BadLine):
            continue
        repeats.pass_record(record)
        for turn in turns_of(record, position):
            if not repeats.is_repeated(turn):
                yield turn
                position += 1
