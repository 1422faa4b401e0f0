"""What a transcript says a second time after it was compacted: the tool then repeats what it kept.

Text before a compaction boundary is not counted twice. Only hashes are remembered, so that a long file takes little.
"""

from __future__ import annotations

from hashlib import blake2b

from shared.sessions.transcripts.records import Record
from shared.sessions.transcripts.turns import Turn

_LONG_CHARACTERS = 200
"""So long a text is taken for repeated under another id as well; shorter ones people do say twice."""


class Repeats:
    """Knows what was said before the last boundary. Feed it a file's records and turns in order."""

    def __init__(self) -> None:
        self._before: set[int] = set()
        self._since: set[int] = set()

    def pass_record(self, record: Record) -> None:
        """Take note of a boundary."""
        if record.is_boundary:
            self._before |= self._since
            self._since.clear()

    def is_repeated(self, turn: Turn) -> bool:
        """Return whether a turn was said before the last boundary already, and remember it."""
        keys = {_hash(turn.uuid, turn)} | ({_hash("", turn)} if len(turn.text) >= _LONG_CHARACTERS else set())
        if keys & self._before:
            return True
        self._since |= keys
        return False


def _hash(uuid: str, turn: Turn) -> int:
    parts = "\0".join((uuid, turn.kind, turn.tool_use_id or "", turn.text))
    return int.from_bytes(blake2b(parts.encode(), digest_size=8).digest())
