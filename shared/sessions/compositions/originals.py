"""An original as segments, so that it can be put into a composition as it is.

A call of a tool and its result become one segment, wherever the result stands; a call without a result, or a result
without its call, becomes text, for no tool may be asked to go on from half a pair. Thinking is left out: no provider
takes it back without a signature. So is what the recorder itself noted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from shared.sessions.compressions.segments import Segment, SegmentKind, ToolCall
from shared.sessions.transcripts.turns import Turn, TurnKind

PATIENCE = 500
"""Segments after a call within which its result is waited for, so that a lost one does not hold up all that follows."""
_LEFT_OUT = (TurnKind.THINKING, TurnKind.SYSTEM)
_KINDS = {
    TurnKind.HUMAN: (SegmentKind.REQUEST, "user"),
    TurnKind.ASSISTANT: (SegmentKind.WORDS, "assistant"),
    TurnKind.SUMMARY: (SegmentKind.SUMMARY, "user"),
    TurnKind.META: (SegmentKind.WORDS, "user"),
}


@dataclass(frozen=True)
class Marked:
    """What is marked in a message."""

    marker_ids: tuple[str, ...] = ()
    is_pinned: bool = False
    """Whether any of it may never be left out."""


Marks = Mapping[str, Marked]
"""By the uuid of the message."""


@dataclass
class _Slot:
    """A segment in its place; of a call, until its result is known, the turn."""

    segment: Segment | None
    call: Turn | None = None


@dataclass
class _Line:
    """What waits to be handed on, in order."""

    slots: deque[_Slot] = field(default_factory=deque)
    open: dict[str, _Slot] = field(default_factory=dict)

    def add(self, segment: Segment) -> None:
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
        slot.segment = _pair(slot.call, result)
        return True

    def close(self, slot: _Slot) -> None:
        """Give up waiting for a result."""
        if slot.call is not None and slot.segment is None:
            slot.segment = _lone(slot.call, f"Called {slot.call.tool_name}: {slot.call.text}", "assistant")
            if self.open.get(slot.call.tool_use_id or "") is slot:
                del self.open[slot.call.tool_use_id or ""]

    def ready(self, patience: int) -> Iterator[Segment]:
        while self.slots and (self.slots[0].segment is not None or len(self.slots) > patience):
            self.close(self.slots[0])
            segment = self.slots.popleft().segment
            if segment is not None:
                yield segment


def segments_of(turns: Iterable[Turn], marks: Marks) -> Iterator[Segment]:
    """Yield what the turns say as segments, in order; at most some hundreds are held at a time."""
    line = _Line()
    for turn in turns:
        _take(line, turn, marks)
        yield from line.ready(PATIENCE)
    yield from line.ready(0)


def _take(line: _Line, turn: Turn, marks: Marks) -> None:
    if turn.kind is TurnKind.TOOL_USE:
        line.ask(turn)
    elif turn.kind is TurnKind.TOOL_RESULT:
        if not line.answer(turn):
            line.add(_lone(turn, f"Result of a call that is not here: {turn.text}", "user"))
    elif turn.kind not in _LEFT_OUT and turn.text.strip():
        line.add(_said(turn, marks))


def _said(turn: Turn, marks: Marks) -> Segment:
    kind, role = _KINDS[turn.kind]
    if turn.is_sidechain:
        kind = SegmentKind.WORDS
    marked = marks.get(turn.uuid, Marked())
    return Segment(
        kind, role, turn.text, turn.at, (turn.uuid,), marker_ids=marked.marker_ids, is_pinned=marked.is_pinned
    )


def _lone(turn: Turn, text: str, role: str) -> Segment:
    kind = SegmentKind.FAILURE if turn.is_error else SegmentKind.WORDS
    return Segment(kind, role, text, turn.at, (turn.uuid,))


def _pair(use: Turn, result: Turn) -> Segment:
    name = use.tool_name or "tool"
    call = ToolCall(use.tool_use_id or "", name, use.tool_input, result.text, result.is_error)
    text = f"{name}: {use.text}"
    return Segment(SegmentKind.TOOL, "assistant", text, use.at, (use.uuid, result.uuid), call=call)
