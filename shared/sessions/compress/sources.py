"""What a version is made from, in one shape whether it comes from the original or from another version.

A tool's call is brought together with its result, messages are counted, marked parts are set apart from the words
around them, and results are cut to what can be of use, so that a long session takes little memory. Tool records are
the bulk of a session and the least of it; they are shortened before any word is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

from shared.errors import Conflict
from shared.llm.tokens import estimate_tokens
from shared.sessions.blocks import Block, BlockKind, ToolCall, block_tokens, blocks_in
from shared.sessions.compress.settings import CompressionSettings
from shared.sessions.markers import MarkerNames, PlacedMarker
from shared.sessions.models import KeepitMarker, SessionVersion
from shared.sessions.store import Store
from shared.sessions.transcripts.turns import Turn, TurnKind, read_turns
from shared.text.lines import clean, shorten

_IDENTIFYING = (
    "command", "file_path", "notebook_path", "path", "pattern", "query", "url", "description", "subagent_type",
    "skill", "prompt", "uri", "name", "glob",
)  # fmt: skip
"""Keys of inputs that say what a call was about, the most telling first."""
_VERBS = {
    "Read": "read", "NotebookRead": "read", "Edit": "edited", "MultiEdit": "edited", "NotebookEdit": "edited",
    "Write": "wrote", "Bash": "ran", "Grep": "searched", "Glob": "listed", "LS": "listed", "WebFetch": "fetched",
    "WebSearch": "searched the web for", "Task": "delegated", "Agent": "delegated", "TodoWrite": "planned",
}  # fmt: skip
CHANGING = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
"""Tools that leave something changed."""
RUNNING = frozenset({"Bash", "BashOutput", "KillShell"})
_ERROR = re.compile(
    r"\b(?:\w*error|errors|\w*exception|traceback|fail(?:ed|ure|ures|s)?|fatal|panic|denied|refused|not found|cannot"
    r"|can't|no such|undefined|unexpected|mismatch|exit code|timed? ?out|assert\w*|warning)\b",
    re.IGNORECASE,
)
_COUNT = re.compile(r"\b\d+\s+(?:\w+\s+)?(?:passed|failed|tests?|errors?|issues?|files?|warnings?|changed)\b", re.I)
_BROKEN = re.compile(
    r"^\s*(?:\w*(?:Error|Exception)\b.{0,4}:|Traceback \(|FAILED\b|FAIL:|fatal:|npm ERR!|panic:|error(?:\[\w+\])?:"
    r"|Exit code [1-9]|command not found|bash: .*: (?:command )?not found)",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = re.compile(r"</?(?:tool_use_error|system-reminder|error)>")
_NUMBERED = re.compile(r"^\s*\d+[→\t]")
_LONGEST_LINE = 240


def verb_of(tool: str) -> str:
    """Return how a use of a tool is told."""
    return _VERBS.get(tool, f"used {tool}:")


def object_of(tool: str, given: Mapping[str, Any], most: int = 160) -> str:
    """Return what a call was about in one line: a path as it is, a command as code."""
    if tool == "TodoWrite":
        return shorten(clean(_todos(given)) or "a list", most)
    for key in _IDENTIFYING:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            text = clean(value)
            if key in ("command", "pattern"):
                return f"`{cut(text, most)}`"
            return cut(text, most) if key.endswith("path") or key in ("url", "uri") else shorten(text, most)
    return cut(clean(json.dumps(given, ensure_ascii=False)), most) if given else ""


def _todos(given: Mapping[str, Any]) -> str:
    todos = given.get("todos")
    entries = [one for one in todos if isinstance(one, dict)] if isinstance(todos, list) else []
    open_ones = [one for one in entries if one.get("status") != "completed"] or entries
    return ", ".join(str(one.get("content", "")) for one in open_ones)


def cut(text: str, most: int) -> str:
    """Return a text cut to so many characters, behind a word where one ends, with a sign that it was."""
    if len(text) <= most:
        return text
    end = max(most - 1, 0)
    if not text[end : end + 1].isspace():
        end = max(text.rfind(space, most // 2, end) for space in " \n") if " " in text[most // 2 : end] else end
    return text[:end].rstrip() + "…"


def shorten_input(given: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Return an input with what identifies it whole, and the rest of it as far as ``most`` characters allow."""
    ordered = sorted(given, key=lambda key: _IDENTIFYING.index(key) if key in _IDENTIFYING else len(_IDENTIFYING))
    kept: dict[str, Any] = {}
    for key in ordered:
        value = given[key]
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if len(text) <= most:
            kept[key] = value
        elif most > len(key) + 20:
            kept[key] = cut(text, most)
        most -= min(len(text), max(most, 0)) + len(key)
    return kept


def shorten_result(result: str, most: int) -> str:
    """Return the lines of a result that say most, in order, in at most so many characters."""
    if len(result) <= most:
        return result
    lines = [cut(line.rstrip(), _LONGEST_LINE) for line in result.splitlines() if line.strip()]
    chosen, room = set[int](), most - 2
    for place in _most_telling(lines):
        if len(lines[place]) + 3 <= room:
            chosen.add(place)
            room -= len(lines[place]) + 3
        if room < 20:
            break
    return _joined_lines(lines, chosen) or cut(clean(result), most)


def _most_telling(lines: list[str]) -> Iterator[int]:
    last = len(lines) - 1
    errors = [place for place, line in enumerate(lines) if _ERROR.search(line) and not _NUMBERED.match(line)]
    yield from dict.fromkeys(
        [*errors[:3], *_counting(lines), 0, last, *errors[-3:], 1, last - 1, *errors, *range(len(lines))]
        if last > 1
        else range(last + 1)
    )


def _counting(lines: list[str]) -> list[int]:
    return [place for place, line in enumerate(lines) if _COUNT.search(line)][-3:]


def _joined_lines(lines: list[str], chosen: set[int]) -> str:
    told: list[str] = []
    before = -1
    for place in sorted(chosen):
        if place != before + 1:
            told.append("…")
        told.append(lines[place])
        before = place
    if chosen and before != len(lines) - 1:
        told.append("…")
    return "\n".join(told)


def has_failed(tool: str, result: str, is_error: bool) -> bool:
    """Whether a call failed: by its own word, or by what a command put out."""
    return is_error or (tool in RUNNING and _BROKEN.search(result[:20_000]) is not None)


def failure_line(tool: str, given: Mapping[str, Any], result: str, most: int = 200) -> str:
    """Return a failed attempt in one line: what was tried, and the first line that says why it failed."""
    tried = f"{verb_of(tool)} {object_of(tool, given, most // 2)}".strip()
    lines = [clean(_TAG.sub("", line)) for line in result.splitlines()]
    worded = [line for line in lines if any(character.isalnum() for character in line)]
    why = next((line for line in worded if _ERROR.search(line)), worded[0] if worded else "it failed")
    return f"{tried}: {cut(why, max(most - len(tried) - 2, 40))}"


LEAST_RESULT = 4_000
"""Characters of a tool's result that are looked at in any case."""


class SaidKind(StrEnum):
    """What is said, as far as a compression tells it apart."""

    HUMAN = "human"
    ASSISTANT = "assistant"
    THINKING = "thinking"
    TOOL = "tool"
    SUMMARY = "summary"
    META = "meta"
    SYSTEM = "system"
    DIGEST = "digest"
    """A line that another version made: of a failure, of several calls, of names."""


@dataclass(frozen=True)
class MarkerWeight:
    """A marked part, as its registry knows it."""

    marker_id: str
    weight: int
    """Hundredths; the one in force."""


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that was said or done."""

    message: int
    """The message it belongs to, from 0: a prompt, or an answer with its calls and their results."""
    kind: SaidKind
    text: str
    sources: tuple[str, ...]
    tokens: int
    """Of all of it, before anything was cut."""
    at: datetime | None = None
    call: ToolCall | None = None
    mark: MarkerWeight | None = None
    digest: BlockKind | None = None
    is_sidechain: bool = False

    @property
    def role(self) -> str:
        """Who is taken to say it."""
        return "user" if self.kind in (SaidKind.HUMAN, SaidKind.META) else "assistant"


_KINDS = {
    TurnKind.HUMAN: SaidKind.HUMAN, TurnKind.ASSISTANT: SaidKind.ASSISTANT, TurnKind.THINKING: SaidKind.THINKING,
    TurnKind.SUMMARY: SaidKind.SUMMARY, TurnKind.META: SaidKind.META, TurnKind.SYSTEM: SaidKind.SYSTEM,
    TurnKind.TOOL_RESULT: SaidKind.SYSTEM,
}  # fmt: skip
_SEGMENT_KINDS = {
    BlockKind.SUMMARY: SaidKind.SUMMARY, BlockKind.FAILURE: SaidKind.DIGEST, BlockKind.NAMES: SaidKind.DIGEST,
    BlockKind.TOOL: SaidKind.DIGEST,
}  # fmt: skip
_ANSWERS = (TurnKind.ASSISTANT, TurnKind.THINKING, TurnKind.TOOL_USE)


def read_original(
    turns: Iterable[Turn], session_id: str, marks: Sequence[MarkerWeight], least_ratio: int
) -> list[Said]:
    """Return what an original says, read from its beginning.

    ``least_ratio``: the lowest of its tiers; results are cut by it.
    """
    gathering = _OriginalReader(MarkerNames(session_id), _by_id(marks), least_ratio)
    for turn in turns:
        gathering.add(turn)
    return gathering.said


def read_version(segments: Iterable[Block], marks: Sequence[MarkerWeight]) -> list[Said]:
    """Return what a version says; each of its segments is a message."""
    known = _by_id(marks)
    return [_of_segment(place, segment, known) for place, segment in enumerate(segments)]


def messages_in(said: Sequence[Said]) -> int:
    """Return how many messages there are."""
    return said[-1].message + 1 if said else 0


@dataclass
class _OriginalReader:
    """What was read so far."""

    names: MarkerNames
    marks: Mapping[str, MarkerWeight]
    least_ratio: int
    said: list[Said] = field(default_factory=list)
    message: int = -1
    key: str = ""
    open_calls: dict[str, int] = field(default_factory=dict)

    def add(self, turn: Turn) -> None:
        self._count(turn)
        placed, _ = self.names.of(turn)
        if turn.kind is TurnKind.TOOL_USE:
            self._call(turn)
        elif turn.kind is TurnKind.TOOL_RESULT and turn.tool_use_id in self.open_calls:
            self._answer(turn, self.open_calls.pop(turn.tool_use_id or ""))
        elif placed:
            self._part(turn, placed)
        elif turn.text.strip():
            self.said.append(self._plain(turn, turn.text, _counted(turn)))

    def _count(self, turn: Turn) -> None:
        key = turn.uuid if turn.kind is TurnKind.HUMAN else turn.message_id if turn.kind in _ANSWERS else None
        if key is not None and key != self.key:
            self.message, self.key = self.message + 1, key

    def _plain(self, turn: Turn, text: str, tokens: int) -> Said:
        kept = shorten_result(text, self._most(text)) if turn.kind is TurnKind.TOOL_RESULT else text
        return Said(
            max(self.message, 0), _KINDS[turn.kind], kept, (turn.uuid,), tokens, turn.at, is_sidechain=turn.is_sidechain
        )

    def _call(self, turn: Turn) -> None:
        given = shorten_input(turn.tool_input, self._most(turn.text))
        call = ToolCall(turn.tool_use_id or "", turn.tool_name or "tool", given, None)
        said = Said(
            max(self.message, 0), SaidKind.TOOL, "", (turn.uuid,), estimate_tokens(turn.text), turn.at, call,
            is_sidechain=turn.is_sidechain,
        )  # fmt: skip
        if turn.tool_use_id:
            self.open_calls[turn.tool_use_id] = len(self.said)
        self.said.append(said)

    def _answer(self, turn: Turn, place: int) -> None:
        use = self.said[place]
        assert use.call is not None
        call = replace(use.call, result=shorten_result(turn.text, self._most(turn.text)), is_error=turn.is_error)
        sources = tuple(dict.fromkeys((*use.sources, turn.uuid)))
        tokens = use.tokens + estimate_tokens(turn.text)
        self.said[place] = replace(use, call=call, sources=sources, tokens=tokens)

    def _most(self, text: str) -> int:
        return max(LEAST_RESULT, len(text) * 5 // (4 * self.least_ratio))

    def _part(self, turn: Turn, placed: Sequence[PlacedMarker]) -> None:
        """Take in a message's words and its marked parts, in order; the marks themselves are no words."""
        end, first = 0, len(self.said)
        for one in placed:
            self._between(turn, turn.text[end : one.found.start])
            mark = self.marks.get(one.marker_id, MarkerWeight(one.marker_id, one.found.weight))
            self.said.append(replace(self._plain(turn, one.found.content, 0), mark=mark))
            end = max(end, one.found.end)
        self._between(turn, turn.text[end:])
        # Parts of one message are of one tier, so that all of it can be counted with the first.
        self.said[first] = replace(self.said[first], tokens=estimate_tokens(turn.text))

    def _between(self, turn: Turn, text: str) -> None:
        if text.strip():
            self.said.append(self._plain(turn, text, 0))


def _counted(turn: Turn) -> int:
    """Return the tokens of a turn as the registry counts them: what the tool wrote about the session is no part."""
    return 0 if turn.kind in (TurnKind.SUMMARY, TurnKind.SYSTEM) else estimate_tokens(turn.text)


def _by_id(marks: Sequence[MarkerWeight]) -> Mapping[str, MarkerWeight]:
    return {mark.marker_id: mark for mark in marks}


def _of_segment(place: int, segment: Block, known: Mapping[str, MarkerWeight]) -> Said:
    mark = known.get(segment.marker_ids[0]) if segment.kind is BlockKind.KEEPIT and segment.marker_ids else None
    kind = _source_kind(segment)
    digest = segment.kind if kind is SaidKind.DIGEST else None
    tokens = block_tokens(segment)
    return Said(place, kind, segment.text, segment.sources, tokens, segment.at, segment.call, mark, digest)


def _source_kind(segment: Block) -> SaidKind:
    if segment.call is not None:
        return SaidKind.TOOL
    spoken = SaidKind.HUMAN if segment.role == "user" else SaidKind.ASSISTANT
    return _SEGMENT_KINDS.get(segment.kind, spoken)


@dataclass(frozen=True)
class CompressionOrigin:
    """Where what is compressed lies, and what is known of it."""

    app_id: str
    project_id: str
    session_id: str
    sha256: str
    size_bytes: int
    """How much of the original counts."""
    version: SessionVersion | None
    """The version it is made from; None for the original."""
    markers: Sequence[KeepitMarker]


@dataclass(frozen=True)
class CompressionTask:
    """What a version is made of and how."""

    session_id: str
    settings: CompressionSettings
    source_sha256: str
    source_version: str | None
    gathered: Sequence[Said]

    @property
    def stamp(self) -> str:
        """A word for what went in: the same for all versions made of the same by the same settings."""
        settings = self.settings.model_dump(mode="json", by_alias=True)
        parts = json.dumps([self.session_id, self.source_sha256, settings], sort_keys=True)
        return sha256(parts.encode()).hexdigest()[:12]


def read_task(store: Store, origin: CompressionOrigin, settings: CompressionSettings) -> CompressionTask:
    """Read what is to be compressed. Raises: Conflict ``source_gone`` where its file is missing."""
    version = None if origin.version is None else origin.version.version_id
    return CompressionTask(origin.session_id, settings, origin.sha256, version, _read_source(store, origin, settings))


def _read_source(store: Store, origin: CompressionOrigin, settings: CompressionSettings) -> list[Said]:
    names = (origin.app_id, origin.project_id, origin.session_id)
    marks = [MarkerWeight(marker.marker_id, marker.weight_in_force) for marker in origin.markers]
    if origin.version is not None:
        return read_version(blocks_in(_present(version_file(store, origin, origin.version, "jsonl"))), marks)
    turns = read_turns(_present(store.original(*names)), origin.size_bytes)
    return read_original(turns, origin.session_id, marks, min(tier.compaction_ratio for tier in settings.tiers))


def version_file(store: Store, origin: CompressionOrigin, version: SessionVersion, ending: str) -> Path:
    """Return where a version's file lies."""
    return store.versions_folder(origin.app_id, origin.project_id, origin.session_id) / f"{version.file}.{ending}"


def _present(path: Path) -> Path:
    if not path.is_file():
        raise Conflict(
            f"{path.name} is not in the store any more; unregister the session and register it again.",
            code="source_gone",
        )
    return path
