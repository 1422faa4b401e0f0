"""The two documents of a composition, one to read, one that tools go on from: what is pinned, then the most valuable.

A part may be read twice, once to be weighed and once to be written, so that no session has to be in memory whole. In an
original a call of a tool and its result become one block, wherever the result stands; half a pair becomes text, and
thinking is left out: no provider takes it back without a signature. Source: seed 004, "File Naming Conventions".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from shared.llm.tokens import LAST_RESORT
from shared.sessions.blocks import Block, BlockKind, Heading, ToolCall, heading_of, line_of, markdown_of, records_of
from shared.sessions.compose.plan import ORIGINAL, budget_too_small
from shared.sessions.transcripts.turns import Turn, TurnKind

PATIENCE = 500
"""Segments after a call within which its result is waited for, so that a lost one does not hold up all that follows."""
_LEFT_OUT = (TurnKind.THINKING, TurnKind.SYSTEM)
_KINDS = {
    TurnKind.HUMAN: (BlockKind.REQUEST, "user"),
    TurnKind.ASSISTANT: (BlockKind.WORDS, "assistant"),
    TurnKind.SUMMARY: (BlockKind.SUMMARY, "user"),
    TurnKind.META: (BlockKind.WORDS, "user"),
}


@dataclass(frozen=True)
class BlockMarks:
    """What is marked in a message."""

    marker_ids: tuple[str, ...] = ()
    is_pinned: bool = False
    """Whether any of it may never be left out."""


MarksByUuid = Mapping[str, BlockMarks]
"""By the uuid of the message."""


@dataclass
class _Slot:
    """A segment in its place; of a call, until its result is known, the turn."""

    segment: Block | None
    call: Turn | None = None


@dataclass
class _Line:
    """What waits to be handed on, in order."""

    slots: deque[_Slot] = field(default_factory=deque)
    open: dict[str, _Slot] = field(default_factory=dict)

    def add(self, segment: Block) -> None:
        self.slots.append(_Slot(segment))

    def ask(self, turn: Turn) -> None:
        slot = _Slot(None, turn)
        self.slots.append(slot)
        if not turn.tool_use_id:
            self.close(slot)
            return
        former = self.open.get(turn.tool_use_id)
        if former is not None:
            self.close(former)
        self.open[turn.tool_use_id] = slot

    def answer(self, result: Turn) -> bool:
        slot = self.open.pop(result.tool_use_id or "", None)
        if slot is None or slot.call is None:
            return False
        slot.segment = _paired(slot.call, result)
        return True

    def close(self, slot: _Slot) -> None:
        """Give up waiting for a result."""
        if slot.call is not None and slot.segment is None:
            slot.segment = _unpaired(slot.call, f"Called {slot.call.tool_name}: {slot.call.text}", "assistant")
            if self.open.get(slot.call.tool_use_id or "") is slot:
                del self.open[slot.call.tool_use_id or ""]

    def ready(self, patience: int) -> Iterator[Block]:
        while self.slots and (self.slots[0].segment is not None or len(self.slots) > patience):
            self.close(self.slots[0])
            segment = self.slots.popleft().segment
            if segment is not None:
                yield segment


def blocks_of(turns: Iterable[Turn], marks: MarksByUuid) -> Iterator[Block]:
    """Yield what the turns say as segments, in order; at most some hundreds are held at a time."""
    line = _Line()
    for turn in turns:
        _add_turn(line, turn, marks)
        yield from line.ready(PATIENCE)
    yield from line.ready(0)


def _add_turn(line: _Line, turn: Turn, marks: MarksByUuid) -> None:
    if turn.kind is TurnKind.TOOL_USE:
        line.ask(turn)
    elif turn.kind is TurnKind.TOOL_RESULT:
        if not line.answer(turn):
            line.add(_unpaired(turn, f"Result of a call that is not here: {turn.text}", "user"))
    elif turn.kind not in _LEFT_OUT and turn.text.strip():
        line.add(_text_block(turn, marks))


def _text_block(turn: Turn, marks: MarksByUuid) -> Block:
    kind, role = _KINDS[turn.kind]
    if turn.is_sidechain:
        kind = BlockKind.WORDS
    marked = marks.get(turn.uuid, BlockMarks())
    return Block(kind, role, turn.text, turn.at, (turn.uuid,), marker_ids=marked.marker_ids, is_pinned=marked.is_pinned)


def _unpaired(turn: Turn, text: str, role: str) -> Block:
    kind = BlockKind.FAILURE if turn.is_error else BlockKind.WORDS
    return Block(kind, role, text, turn.at, (turn.uuid,))


def _paired(use: Turn, result: Turn) -> Block:
    name = use.tool_name or "tool"
    call = ToolCall(use.tool_use_id or "", name, use.tool_input, result.text, result.is_error)
    text = f"{name}: {use.text}"
    return Block(BlockKind.TOOL, "assistant", text, use.at, (use.uuid, result.uuid), call=call)


MARKDOWN_FILE, LINES_FILE, RECORD_FILE = "composed.md", "composed.jsonl", "composition.json"
FILES = {"md": MARKDOWN_FILE, "jsonl": LINES_FILE}


VALUES = {
    BlockKind.NAMES: 0,
    BlockKind.TOOL: 1,
    BlockKind.SUMMARY: 2,
    BlockKind.WORDS: 2,
    BlockKind.FAILURE: 3,
    BlockKind.REQUEST: 4,
    BlockKind.INSTRUCTION: 5,
    BlockKind.KEEPIT: 6,
}
"""What goes first when there is no room: the least."""
_LAST_REQUEST_SHARE = 4


@dataclass(frozen=True, slots=True)
class SizedBlock:
    """A segment, as far as fitting goes."""

    chars: int
    value: int
    is_pinned: bool = False


@dataclass(frozen=True)
class SizedPart:
    """The segments of a session, in order."""

    pieces: tuple[SizedBlock, ...]
    room: int
    """Characters it may take; more where others leave some."""

    @property
    def pinned(self) -> int:
        """Characters it takes in any case."""
        return sum(piece.chars for piece in self.pieces if piece.is_pinned)


def sized(segment: Block) -> SizedBlock:
    """Return how much a segment takes and what it is worth; what was marked goes last."""
    value = VALUES[BlockKind.KEEPIT if segment.marker_ids else segment.kind]
    return SizedBlock(len(markdown_of(segment)), value, segment.is_pinned)


def pin_last_request(pieces: Sequence[SizedBlock], last: int, room: int) -> list[SizedBlock]:
    """Pin what an original was asked last, unless that alone would take more than a quarter of the room."""
    pinned = list(pieces)
    if pieces[last].chars * _LAST_REQUEST_SHARE <= room:
        pinned[last] = replace(pieces[last], is_pinned=True)
    return pinned


def fit(parts: Sequence[SizedPart], budget: int, fixed: int) -> tuple[tuple[int, ...], ...]:
    """Return the places of the pieces to keep, for each part in order.

    ``budget``: tokens; ``fixed``: characters that headings take. Raises: Invalid when that and what is pinned alone
    take more.
    """
    free = LAST_RESORT.chars_in(budget) - fixed - sum(part.pinned for part in parts)
    if free < 0:
        missing = LAST_RESORT.tokens_in(-free)
        raise budget_too_small(missing, "what is pinned, and the headings, may not be left out", budget)
    chosen = [{place for place, piece in enumerate(part.pieces) if piece.is_pinned} for part in parts]
    left = _fill_rooms(parts, chosen, free)
    for part, kept in zip(parts, chosen, strict=True):
        left -= _take_best(part.pieces, kept, left)
    return tuple(tuple(sorted(kept)) for kept in chosen)


def _fill_rooms(parts: Sequence[SizedPart], chosen: Sequence[set[int]], free: int) -> int:
    """Fill each part's room, and what one leaves is the next one's; return what is left of ``free``."""
    carried = 0
    for part, kept in zip(parts, chosen, strict=True):
        room = min(free, max(0, part.room - part.pinned) + carried)
        taken = _take_best(part.pieces, kept, room)
        free, carried = free - taken, room - taken
    return free


def _take_best(pieces: Sequence[SizedBlock], kept: set[int], room: int) -> int:
    """Keep the most valuable that fit, of equal ones the later; return the characters they take."""
    left = room
    others = (place for place in range(len(pieces)) if place not in kept)
    for place in sorted(others, key=lambda place: (-pieces[place].value, -place)):
        if pieces[place].chars <= left:
            kept.add(place)
            left -= pieces[place].chars
    return room - left


VERSION = "composed"
"""Stands in the records where those of a version name it."""
ReadBlocks = Callable[[], Iterable[Block]]


@dataclass(frozen=True)
class CompositionSource:
    """A session's part before anything is left out."""

    session_id: str
    version_id: str
    """Or ``original``."""
    last_said: datetime | None
    allocation: int
    """Tokens."""
    read: ReadBlocks
    project: str | None = None
    """Named where it is another project's."""
    first_said: datetime | None = None

    @property
    def heading(self) -> str:
        """The line above what it says."""
        day = f"{self.last_said:%Y-%m-%d}" if self.last_said else "no date"
        of = f" of {self.project}" if self.project else ""
        return f"## Session {self.session_id}{of} ({day}, {self.version_id})"


@dataclass(frozen=True)
class CompositionPart:
    """What goes in of a source."""

    source: CompositionSource
    places: frozenset[int]
    left_out: int
    chars: int

    @property
    def tokens(self) -> int:
        """What it takes with its heading."""
        return LAST_RESORT.tokens_in(self.chars)

    def segments(self) -> Iterator[Block]:
        """Yield what goes in, in order."""
        for place, segment in enumerate(self.source.read()):
            if place in self.places:
                yield segment


@dataclass(frozen=True)
class ComposedContext:
    """A composition that fits its budget, ready to be written."""

    title: str
    parts: tuple[CompositionPart, ...]

    @property
    def tokens(self) -> int:
        """Tokens of its Markdown, of which the records say no more."""
        return LAST_RESORT.tokens_in(len(heading_of(Heading(self.title))) + sum(part.chars for part in self.parts))

    def markdown(self) -> Iterator[str]:
        """Yield the document to read."""
        yield heading_of(Heading(self.title))
        for part in self.parts:
            yield _above(part.source)
            for segment in part.segments():
                yield markdown_of(segment)

    def lines(self, chain: str) -> Iterator[str]:
        """Yield the document to go on from, line by line: one chain under the id ``chain``."""
        for record in records_of(_with_own_calls(self._said()), chain, VERSION):
            yield line_of(record)

    def messages(self) -> int:
        """Return how many messages it has, headings not counted."""
        return sum(len(part.places) for part in self.parts)

    def _said(self) -> Iterator[Block]:
        for part in self.parts:
            yield Block(BlockKind.WORDS, "user", part.source.heading, part.source.first_said)
            yield from part.segments()


def compose_documents(title: str, sources: Sequence[CompositionSource], budget: int) -> ComposedContext:
    """Return what fits. Raises: Invalid (``budget_too_small``) where what may not be left out does not."""
    parts = [_sized_part(source) for source in sources]
    fixed = overhead_chars(title, [source.heading for source in sources])
    kept = fit(parts, budget, fixed)
    return ComposedContext(title, tuple(_chosen(*one) for one in zip(sources, parts, kept, strict=True)))


def overhead_chars(title: str, headings: Iterable[str]) -> int:
    """Return the characters that stand there whatever is left out."""
    return len(heading_of(Heading(title))) + sum(len(heading) + 2 for heading in headings)


def _above(source: CompositionSource) -> str:
    return f"{source.heading}\n\n"


def _sized_part(source: CompositionSource) -> SizedPart:
    room = LAST_RESORT.chars_in(source.allocation)
    pieces: list[SizedBlock] = []
    last_request: int | None = None
    for place, segment in enumerate(source.read()):
        pieces.append(sized(segment))
        if segment.kind is BlockKind.REQUEST:
            last_request = place
    if source.version_id == ORIGINAL and last_request is not None:
        pieces = pin_last_request(pieces, last_request, room)
    return SizedPart(tuple(pieces), room)


def _chosen(source: CompositionSource, part: SizedPart, kept: Sequence[int]) -> CompositionPart:
    chars = len(_above(source)) + sum(part.pieces[place].chars for place in kept)
    return CompositionPart(source, frozenset(kept), len(part.pieces) - len(kept), chars)


def _with_own_calls(segments: Iterable[Block]) -> Iterator[Block]:
    """Give every call an id of its own: sessions that were resumed share ids."""
    seen: set[str] = set()
    for segment in segments:
        if segment.call is None:
            yield segment
            continue
        name = _unused(segment.call.tool_use_id or "toolu", seen)
        seen.add(name)
        yield replace(segment, call=replace(segment.call, tool_use_id=name))


def _unused(name: str, seen: set[str]) -> str:
    if name not in seen:
        return name
    number = 2
    while f"{name}_{number}" in seen:
        number += 1
    return f"{name}_{number}"
