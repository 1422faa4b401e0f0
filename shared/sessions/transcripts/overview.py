"""What a whole transcript amounts to, found in one pass: counts, times, words, files and marked parts.

The counts are those of the README of the recorded sessions. Source: seed 004, "Session Record".
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

import stopwordsiso

from shared.llm.calls import estimate_tokens
from shared.sessions.blocks import Block, BlockKind
from shared.sessions.markers import MarkerNames, MarkerProblem, PlacedMarker, find_markers, misplaced
from shared.sessions.text import cut
from shared.sessions.transcripts.branches import BranchMap
from shared.sessions.transcripts.contents import TranscriptReader, is_human_prompt, read_records
from shared.sessions.transcripts.records import HARMLESS, REASONS, REPEATED, BadLine, Record, short_hash
from shared.text.languages import empty_words, language_of
from shared.text.sentences import mask_secrets
from shared.text.words import word_set


class RecordChains:
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


_MOST_TOPICS = 12
_MOST_WORDS = 20_000
_NAME_WEIGHT = 3
_TITLE_WEIGHT = 2
_WORD = re.compile(r"[^\W\d_][\w./-]{3,60}(?<![./-])")
_MARKER = re.compile(r"##keepit[^#\s]{0,20}##", re.IGNORECASE)
_IS_NAME = re.compile(r"[a-z][A-Z]|_|\w[./]\w")
_COMMON = stopwordsiso.stopwords("en") | word_set(
    "bring change check code create file files function issue lines question read remove simple tests time update"
    " user write wrong"
)
_LANGUAGE_CHARACTERS = 2_000
"""Of a text, from which its language is told."""


class Topics:
    """Counts words. Feed it what people said."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, text: str, is_title: bool = False) -> None:
        """Take a text into account; a title says more than a prompt."""
        empty = empty_words(language_of(text[:_LANGUAGE_CHARACTERS]))
        for word in _WORD.findall(_MARKER.sub(" ", text)):
            name = bool(_IS_NAME.search(word))
            key = word if name else word.lower()
            if (name or (key not in _COMMON and key not in empty)) and (
                key in self._counts or len(self._counts) < _MOST_WORDS
            ):
                self._counts[key] += (_NAME_WEIGHT if name else 1) * (_TITLE_WEIGHT if is_title else 1)

    def best(self) -> list[str]:
        """Return the words used most, in an order that does not depend on where they stood."""
        ranked = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return [word for word, _ in ranked[:_MOST_TOPICS]]


MOST_FILES = 2000
MOST_PATH_CHARACTERS = 500
_PATH_KEYS = ("file_path", "notebook_path", "path")
_CHANGING_WORDS = ("write", "edit", "create", "update", "patch", "replace", "insert")


@dataclass(frozen=True)
class TouchedFile:
    """A file, how often a tool was given it, and whether one wrote it."""

    path: str
    touches: int
    changed: bool


class FileTouches:
    """Collects files, the first ``MOST_FILES`` of them."""

    def __init__(self) -> None:
        self._files: dict[str, TouchedFile] = {}

    def add(self, block: Block) -> None:
        if block.kind is not BlockKind.TOOL_USE or block.call is None:
            return
        changes = any(word in block.call.name.lower() for word in _CHANGING_WORDS)
        for path in {given for name in _PATH_KEYS if isinstance(given := block.call.input.get(name), str)}:
            if path and len(path) <= MOST_PATH_CHARACTERS:
                known = self._files.get(path, TouchedFile(path, 0, False))
                if known.touches or len(self._files) < MOST_FILES:
                    self._files[path] = TouchedFile(path, known.touches + 1, known.changed or changes)

    def files(self) -> tuple[TouchedFile, ...]:
        """Return the files, those touched most often first."""
        return tuple(sorted(self._files.values(), key=lambda one: (-one.touches, one.path)))


MOST_MARKERS = 5000
_MOST_PROBLEMS = 200
_MOST_PROMPTS = 500
_MOST_NAMES = 10
_MOST_CHARACTERS = 500
_SAID_BY_THE_TOOL = (BlockKind.SUMMARY, BlockKind.SYSTEM, BlockKind.LEFT)
_TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
_DETAILS = {"gitBranch": "gitBranches", "version": "claudeVersions", "cwd": "folders", "sessionId": "recordedIds"}


@dataclass(frozen=True)
class TranscriptOverview:
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
    beginning: tuple[tuple[int, list[int]], ...]
    """Of its first prompts the tokens before each and its identities, by which sessions that begin alike are told."""


def overview_of(path: Path, session_id: str, size_bytes: int | None = None) -> TranscriptOverview:
    """Read the first ``size_bytes`` of a session's file."""
    # Read twice: which records were left by rewinding is known only at the end.
    survey = _Survey(session_id, BranchMap.of(read_records(path, size_bytes)))
    for found in read_records(path, size_bytes):
        survey.add(found)
    return survey.overview()


class _Survey:
    def __init__(self, session_id: str, branches: BranchMap) -> None:
        self._chains, self._reader = RecordChains(), TranscriptReader(branches)
        self._topics, self._touches = Topics(), FileTouches()
        self._marks, self._about = _MarkerList(session_id), _Metadata()
        self._usage: dict[int, int] = {}
        self._bad_lines: set[int] = set()
        self._passed_over = Counter({REASONS[one]: 0 for one in HARMLESS})
        self._tokens = 0
        self._beginning: list[tuple[int, list[int]]] = []
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._counts = dict.fromkeys(
            ("lines", "records", "humanPrompts", "assistantRecords", "toolUses", "outputTokensNaive"), 0
        )

    def add(self, found: Record | BadLine) -> None:
        self._counts["lines"] = found.line
        if isinstance(found, BadLine):
            self._passed_over[REASONS[found.reason]] += found.times
            if found.reason not in HARMLESS:
                self._bad_lines.add(found.line)
            return
        self._counts["records"] += 1
        self._chains.add(found)
        self._about.add(found)
        # Before the record's own words are counted: where a session begins, the tokens before each prompt are noted.
        self._count(found)
        self._time(found.at)
        if (title := found.word(_TITLES.get(found.kind, ""))) and not self._reader.is_of_another(found):
            self._topics.add(mask_secrets(title)[0], is_title=True)
        if self._reader.is_left(found):
            for block in self._reader.blocks_of(found):
                self._marks.add_left(block)
        for block in self._reader.new_blocks(found):
            if block.kind not in _SAID_BY_THE_TOOL:
                self._tokens += estimate_tokens(block.text)
            if block.kind is BlockKind.HUMAN:
                said, _ = mask_secrets(block.text)
                self._topics.add(said)
                self._about.add_prompt(said)
            self._touches.add(block)
            self._marks.add(block)

    def overview(self) -> TranscriptOverview:
        own = {
            "assistantMessages": len(self._usage),
            "outputTokens": sum(self._usage.values()),
            "badLines": len(self._bad_lines),
            **self._passed_over,
        }
        chains = self._chains.counts()
        # Copies are passed over before the chains see them.
        chains["duplicateUuids"] += self._passed_over[REASONS[REPEATED]]
        return TranscriptOverview(
            original_tokens=self._tokens,
            original_messages=self._counts["humanPrompts"] + len(self._usage),
            first_timestamp=self._first,
            last_timestamp=self._last,
            counts=self._counts | own | chains,
            details=self._about.details() | {"primaryTopics": self._topics.best()},
            files=self._touches.files(),
            markers=tuple(self._marks.markers),
            marker_problems=tuple(self._marks.problems),
            beginning=tuple(self._beginning),
        )

    def _count(self, record: Record) -> None:
        is_prompt = is_human_prompt(record)
        self._counts["humanPrompts"] += is_prompt
        if is_prompt and record.identities and len(self._beginning) < _MOST_PROMPTS:
            self._beginning.append((self._tokens, list(record.identities)))
        if record.kind != "assistant":
            return
        key, tokens = short_hash(record.message_key), record.output_tokens
        self._counts["assistantRecords"] += 1
        self._counts["outputTokensNaive"] += tokens
        # The records of one answer carry its count each, so it is the largest and not the sum.
        self._usage[key] = max(tokens, self._usage.get(key, 0))
        self._counts["toolUses"] += sum(block.get("type") == "tool_use" for block in record.blocks)

    def _time(self, at: datetime | None) -> None:
        if at is not None:
            self._first = at if self._first is None else min(at, self._first)
            self._last = at if self._last is None else max(at, self._last)


class _MarkerList:
    """Markers and what is wrong with some, no more of either than can be kept."""

    def __init__(self, session_id: str) -> None:
        self._names = MarkerNames(session_id)
        self.markers: list[PlacedMarker] = []
        self.problems: list[dict[str, str]] = []

    def add(self, block: Block) -> None:
        markers, problems = self._names.of(block)
        self._keep(block, markers, problems)

    def add_left(self, block: Block) -> None:
        """Report the markers of a block that was left by rewinding, which is not what happened."""
        found, problems = find_markers(block.text)
        self._keep(block, (), (*problems, *(misplaced(one, "a branch that was left by rewinding") for one in found)))

    def _keep(self, block: Block, markers: Sequence[PlacedMarker], problems: Sequence[MarkerProblem]) -> None:
        budget = MOST_MARKERS - len(self.markers)
        self.markers += markers[:budget]
        entries = [{"messageUuid": block.uuid, "written": one.written, "reason": one.reason} for one in problems]
        if len(markers) > budget:
            reason = f"a session keeps {MOST_MARKERS} marked parts, and this is one more"
            entries.append({"messageUuid": block.uuid, "written": "", "reason": reason})
        self.problems += entries[: _MOST_PROBLEMS - len(self.problems)]


class _Metadata:
    """Names that records carry: branches, versions, folders, models; the last of each stands for the session."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, None]] = {name: {} for name in (*_DETAILS.values(), "models")}
        self._first: dict[str, str] = {}
        self._title: str | None = None
        self._prompt: str | None = None

    def add(self, record: Record) -> None:
        for name, listed in _DETAILS.items():
            self._see(listed, record.word(name))
        model = record.message.get("model")
        self._see("models", model if isinstance(model, str) and not model.startswith("<") else None)
        if record.kind in ("custom-title", "ai-title"):
            self._title = cut(mask_secrets(record.word(_TITLES[record.kind]) or "")[0], _MOST_CHARACTERS) or self._title

    def add_prompt(self, text: str) -> None:
        """Keep how the first prompt begins, by which people know a session that nobody gave a title."""
        self._prompt = self._prompt or " ".join(_MARKER.sub(" ", cut(text, _MOST_CHARACTERS)).split()) or None

    def details(self) -> dict[str, Any]:
        lists = {name: list(values) for name, values in self._seen.items()}
        # Where it began, though that moves to the end when it is come back to.
        folder = self._first.get("folders")
        return {
            "gitBranch": lists["gitBranches"][-1] if lists["gitBranches"] else None,
            "claudeVersion": lists["claudeVersions"][-1] if lists["claudeVersions"] else None,
            "cwd": folder,
            "projectName": PurePosixPath(folder).name if folder else None,
            "title": self._title,
            "firstPrompt": self._prompt,
            **lists,
        }

    def _see(self, listed: str, value: str | None) -> None:
        seen = self._seen[listed]
        if value:
            value = value[:_MOST_CHARACTERS]
            if value in seen:
                # Moved to the end: what was named last is in force.
                del seen[value]
            first = self._first.setdefault(listed, value)
            if len(seen) == _MOST_NAMES:
                # The first, which is the folder where it began, does not give way.
                del seen[next(one for one in seen if one != first)]
            seen[value] = None
