"""How a transcript's records hang together, counted in one pass: ids seen twice, parents that are missing, order."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from hashlib import blake2b

from shared.sessions.transcripts.records import Record


class Chains:
    """Counts over the records of one file; of ids only eight bytes are kept."""

    def __init__(self) -> None:
        self._uuids: set[int] = set()
        self._awaited: Counter[int] = Counter()
        """Parents not seen yet."""
        self._summarised: Counter[int] = Counter()
        """Records that summaries say they are of."""
        self._last: datetime | None = None
        self._counts: Counter[str] = Counter()

    def add(self, record: Record) -> None:
        """Take a record into account."""
        if record.flag("isSidechain"):
            self._counts["sidechainRecords"] += 1
        if record.is_boundary:
            self._counts["compactionBoundaries"] += 1
        if record.kind == "summary":
            self._summarised[short_hash(record.word("leafUuid") or "")] += 1
        if uuid := record.word("uuid"):
            self._link(short_hash(uuid), record.word("parentUuid"))
            self._time(record.at)

    def counts(self) -> dict[str, int]:
        """Return the counts, once every record was added."""
        return {
            "duplicateUuids": self._counts["duplicateUuids"],
            "orphans": self._unknown(self._awaited),
            "roots": self._counts["roots"],
            "sidechainRecords": self._counts["sidechainRecords"],
            "foreignSummaries": self._unknown(self._summarised),
            "compactionBoundaries": self._counts["compactionBoundaries"],
            "outOfOrder": self._counts["outOfOrder"],
        }

    def _link(self, uuid: int, parent: str | None) -> None:
        if uuid in self._uuids:
            self._counts["duplicateUuids"] += 1
        self._uuids.add(uuid)
        if parent is None:
            self._counts["roots"] += 1
        elif (key := short_hash(parent)) not in self._uuids:
            self._awaited[key] += 1

    def _time(self, at: datetime | None) -> None:
        if at is None:
            return
        if self._last is not None and at < self._last:
            self._counts["outOfOrder"] += 1
        self._last = at

    def _unknown(self, named: Counter[int]) -> int:
        return sum(times for key, times in named.items() if key not in self._uuids)


def short_hash(text: str) -> int:
    """Return eight bytes of a text's hash."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
