"""What a version is made from, in one shape whether it comes from the original or from another version.

A tool's call is brought together with its result, messages are counted, marked parts are set apart from the words
around them, and results are cut to what can be of use, so that a long session takes little memory. What is kept of it
all is left to the planning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from shared.llm.tokens import estimate_tokens
from shared.sessions.compressions.rendering import tokens_of
from shared.sessions.compressions.segments import Segment, SegmentKind, ToolCall
from shared.sessions.compressions.telling import identifying, telling
from shared.sessions.markers import MarkerNames, PlacedMarker
from shared.sessions.transcripts.turns import Turn, TurnKind

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
class Mark:
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
    mark: Mark | None = None
    digest: SegmentKind | None = None
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
    SegmentKind.SUMMARY: SaidKind.SUMMARY, SegmentKind.FAILURE: SaidKind.DIGEST, SegmentKind.NAMES: SaidKind.DIGEST,
    SegmentKind.TOOL: SaidKind.DIGEST,
}  # fmt: skip
_ANSWERS = (TurnKind.ASSISTANT, TurnKind.THINKING, TurnKind.TOOL_USE)


def gather(turns: Iterable[Turn], session_id: str, marks: Sequence[Mark], least_ratio: int) -> list[Said]:
    """Return what an original says, read from its beginning.

    ``least_ratio``: the lowest of its tiers; results are cut by it.
    """
    gathering = _Gathering(MarkerNames(session_id), _by_id(marks), least_ratio)
    for turn in turns:
        gathering.add(turn)
    return gathering.said


def gather_version(segments: Iterable[Segment], marks: Sequence[Mark]) -> list[Said]:
    """Return what a version says; each of its segments is a message."""
    known = _by_id(marks)
    return [_of_segment(place, segment, known) for place, segment in enumerate(segments)]


def messages_in(said: Sequence[Said]) -> int:
    """Return how many messages there are."""
    return said[-1].message + 1 if said else 0


@dataclass
class _Gathering:
    """What was read so far."""

    names: MarkerNames
    marks: Mapping[str, Mark]
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
        kept = telling(text, self._most(text)) if turn.kind is TurnKind.TOOL_RESULT else text
        return Said(
            max(self.message, 0), _KINDS[turn.kind], kept, (turn.uuid,), tokens, turn.at, is_sidechain=turn.is_sidechain
        )

    def _call(self, turn: Turn) -> None:
        given = identifying(turn.tool_input, self._most(turn.text))
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
        call = replace(use.call, result=telling(turn.text, self._most(turn.text)), is_error=turn.is_error)
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
            mark = self.marks.get(one.marker_id, Mark(one.marker_id, one.found.weight))
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


def _by_id(marks: Sequence[Mark]) -> Mapping[str, Mark]:
    return {mark.marker_id: mark for mark in marks}


def _of_segment(place: int, segment: Segment, known: Mapping[str, Mark]) -> Said:
    mark = known.get(segment.marker_ids[0]) if segment.kind is SegmentKind.KEEPIT and segment.marker_ids else None
    kind = _said_kind(segment)
    digest = segment.kind if kind is SaidKind.DIGEST else None
    tokens = tokens_of(segment)
    return Said(place, kind, segment.text, segment.sources, tokens, segment.at, segment.call, mark, digest)


def _said_kind(segment: Segment) -> SaidKind:
    if segment.call is not None:
        return SaidKind.TOOL
    spoken = SaidKind.HUMAN if segment.role == "user" else SaidKind.ASSISTANT
    return _SEGMENT_KINDS.get(segment.kind, spoken)
