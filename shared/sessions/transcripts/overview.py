"""What a whole transcript amounts to, found in one pass: counts, times, words, files and marked parts.

The counts are those of the README of the recorded sessions. Source: seed 004, "Session Record".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from shared.llm.tokens import estimate_tokens
from shared.sessions.markers import MarkerNames, PlacedMarker
from shared.sessions.transcripts.chains import Chains, short_hash
from shared.sessions.transcripts.reading import read_records
from shared.sessions.transcripts.records import BadLine, Record
from shared.sessions.transcripts.repeats import Repeats
from shared.sessions.transcripts.saying import is_human_prompt, turns_of
from shared.sessions.transcripts.topics import Topics
from shared.sessions.transcripts.touching import TouchedFile, Touches
from shared.sessions.transcripts.turns import Turn, TurnKind

MOST_MARKERS = 5000
_MOST_PROBLEMS = 200
_MOST_NAMES = 10
_MOST_CHARACTERS = 500
_SAID_BY_THE_TOOL = (TurnKind.SUMMARY, TurnKind.SYSTEM)
_TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
_DETAILS = {"gitBranch": "gitBranches", "version": "claudeVersions", "cwd": "folders", "sessionId": "recordedIds"}


@dataclass(frozen=True)
class Overview:
    """What was read in a transcript."""

    original_tokens: int
    """An estimate over what the conversation says: words, thinking, what tools were given and gave, each once."""
    original_messages: int
    """Human prompts and distinct messages of the assistant's."""
    first_timestamp: datetime | None
    last_timestamp: datetime | None
    counts: dict[str, int]
    details: dict[str, Any]
    files: tuple[TouchedFile, ...]
    markers: tuple[PlacedMarker, ...]
    marker_problems: tuple[dict[str, str], ...]


def overview_of(path: Path, session_id: str, size_bytes: int | None = None) -> Overview:
    """Read the first ``size_bytes`` of a session's file."""
    survey = _Survey(session_id)
    for found in read_records(path, size_bytes):
        survey.add(found)
    return survey.overview()


class _Survey:
    def __init__(self, session_id: str) -> None:
        self._chains, self._repeats = Chains(), Repeats()
        self._topics, self._touches = Topics(), Touches()
        self._marks, self._about = _Marks(session_id), _About()
        self._usage: dict[int, int] = {}
        self._bad_lines: set[int] = set()
        self._tokens = 0
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._counts = dict.fromkeys(
            ("lines", "records", "humanPrompts", "assistantRecords", "toolUses", "outputTokensNaive"), 0
        )

    def add(self, found: Record | BadLine) -> None:
        self._counts["lines"] = found.line
        if isinstance(found, BadLine):
            self._bad_lines.add(found.line)
            return
        self._counts["records"] += 1
        self._chains.add(found)
        self._about.add(found)
        self._count(found)
        self._time(found.at)
        if title := found.word(_TITLES.get(found.kind, "")):
            self._topics.add(title, is_title=True)
        for turn in self._new_turns(found):
            self._add_turn(turn)

    def overview(self) -> Overview:
        messages = self._counts["humanPrompts"] + len(self._usage)
        return Overview(
            original_tokens=self._tokens,
            original_messages=messages,
            first_timestamp=self._first,
            last_timestamp=self._last,
            counts=self._all_counts(),
            details=self._about.details() | {"primaryTopics": self._topics.best()},
            files=self._touches.files(),
            markers=tuple(self._marks.placed),
            marker_problems=tuple(self._marks.problems),
        )

    def _all_counts(self) -> dict[str, int]:
        own = {
            "assistantMessages": len(self._usage),
            "outputTokens": sum(self._usage.values()),
            "badLines": len(self._bad_lines),
        }
        return self._counts | own | self._chains.counts()

    def _new_turns(self, record: Record) -> Iterator[Turn]:
        self._repeats.pass_record(record)
        return (turn for turn in turns_of(record, 0) if not self._repeats.is_repeated(turn))

    def _add_turn(self, turn: Turn) -> None:
        if turn.kind not in _SAID_BY_THE_TOOL:
            self._tokens += estimate_tokens(turn.text)
        if turn.kind is TurnKind.HUMAN:
            self._topics.add(turn.text)
        self._touches.add(turn)
        self._marks.add(turn)

    def _count(self, record: Record) -> None:
        self._counts["humanPrompts"] += is_human_prompt(record)
        if record.kind != "assistant":
            return
        key, tokens = short_hash(record.message_key), record.output_tokens
        self._counts["assistantRecords"] += 1
        self._counts["outputTokensNaive"] += tokens
        self._usage[key] = max(tokens, self._usage.get(key, 0))
        self._counts["toolUses"] += sum(block.get("type") == "tool_use" for block in record.blocks)

    def _time(self, at: datetime | None) -> None:
        if at is not None:
            self._first = at if self._first is None else min(at, self._first)
            self._last = at if self._last is None else max(at, self._last)


class _Marks:
    """Markers and what is wrong with some, no more of either than can be kept."""

    def __init__(self, session_id: str) -> None:
        self._names = MarkerNames(session_id)
        self.placed: list[PlacedMarker] = []
        self.problems: list[dict[str, str]] = []

    def add(self, turn: Turn) -> None:
        placed, problems = self._names.of(turn)
        room = MOST_MARKERS - len(self.placed)
        self.placed += placed[:room]
        said = [{"messageUuid": turn.uuid, "written": one.written, "reason": one.reason} for one in problems]
        if len(placed) > room:
            reason = f"a session keeps {MOST_MARKERS} marked parts, and this is one more"
            said.append({"messageUuid": turn.uuid, "written": "", "reason": reason})
        self.problems += said[: _MOST_PROBLEMS - len(self.problems)]


class _About:
    """Names that records carry: branches, versions, folders, models; the last of each stands for the session."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, None]] = {name: {} for name in (*_DETAILS.values(), "models")}
        self._title: str | None = None

    def add(self, record: Record) -> None:
        for name, listed in _DETAILS.items():
            self._see(listed, record.word(name))
        model = record.message.get("model")
        self._see("models", model if isinstance(model, str) and not model.startswith("<") else None)
        if record.kind in ("custom-title", "ai-title"):
            self._title = (record.word(_TITLES[record.kind]) or "")[:_MOST_CHARACTERS] or self._title

    def details(self) -> dict[str, Any]:
        lists = {name: list(values) for name, values in self._seen.items()}
        folder = next(iter(lists["folders"]), None)
        return {
            "gitBranch": lists["gitBranches"][-1] if lists["gitBranches"] else None,
            "claudeVersion": lists["claudeVersions"][-1] if lists["claudeVersions"] else None,
            "cwd": folder,
            "projectName": PurePosixPath(folder).name if folder else None,
            "title": self._title,
            **lists,
        }

    def _see(self, listed: str, value: str | None) -> None:
        seen = self._seen[listed]
        if value:
            value = value[:_MOST_CHARACTERS]
            if value in seen:
                # Moved to the end: what was named last is in force.
                del seen[value]
            if len(seen) < _MOST_NAMES:
                seen[value] = None
