"""The two documents of a composition: one to read, one that tools go on from. Functions of their parts alone.

A part may be read twice, once to be weighed and once to be written, so that no session has to be in memory whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from shared.llm.tokens import LAST_RESORT
from shared.sessions.compositions.fitting import Part, Piece, fit, pin_last_request, weighed
from shared.sessions.compressions.rendering import Heading, heading_of, line_of, markdown_of, records_of
from shared.sessions.compressions.segments import Segment, SegmentKind

VERSION = "composed"
"""Stands in the records where those of a version name it."""
ORIGINAL = "original"
Read = Callable[[], Iterable[Segment]]


@dataclass(frozen=True)
class Source:
    """A session's part before anything is left out."""

    session_id: str
    version_id: str
    """Or ``original``."""
    last_said: datetime | None
    allocation: int
    """Tokens."""
    read: Read
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
class Chosen:
    """What goes in of a source."""

    source: Source
    places: frozenset[int]
    left_out: int
    chars: int

    @property
    def tokens(self) -> int:
        """What it takes with its heading."""
        return LAST_RESORT.tokens_in(self.chars)

    def segments(self) -> Iterator[Segment]:
        """Yield what goes in, in order."""
        for place, segment in enumerate(self.source.read()):
            if place in self.places:
                yield segment


@dataclass(frozen=True)
class Composed:
    """A composition that fits its budget, ready to be written."""

    title: str
    parts: tuple[Chosen, ...]

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

    def _said(self) -> Iterator[Segment]:
        for part in self.parts:
            yield Segment(SegmentKind.WORDS, "user", part.source.heading, part.source.first_said)
            yield from part.segments()


def compose(title: str, sources: Sequence[Source], budget: int) -> Composed:
    """Return what fits. Raises: Invalid (``budget_too_small``) where what may not be left out does not."""
    parts = [_measured(source) for source in sources]
    fixed = overhead_chars(title, [source.heading for source in sources])
    kept = fit(parts, budget, fixed)
    return Composed(title, tuple(_chosen(*one) for one in zip(sources, parts, kept, strict=True)))


def overhead_chars(title: str, headings: Iterable[str]) -> int:
    """Return the characters that stand there whatever is left out."""
    return len(heading_of(Heading(title))) + sum(len(heading) + 2 for heading in headings)


def _above(source: Source) -> str:
    return f"{source.heading}\n\n"


def _measured(source: Source) -> Part:
    room = LAST_RESORT.chars_in(source.allocation)
    pieces: list[Piece] = []
    last_request: int | None = None
    for place, segment in enumerate(source.read()):
        pieces.append(weighed(segment))
        if segment.kind is SegmentKind.REQUEST:
            last_request = place
    if source.version_id == ORIGINAL and last_request is not None:
        pieces = pin_last_request(pieces, last_request, room)
    return Part(tuple(pieces), room)


def _chosen(source: Source, part: Part, kept: Sequence[int]) -> Chosen:
    chars = len(_above(source)) + sum(part.pieces[place].chars for place in kept)
    return Chosen(source, frozenset(kept), len(part.pieces) - len(kept), chars)


def _with_own_calls(segments: Iterable[Segment]) -> Iterator[Segment]:
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
