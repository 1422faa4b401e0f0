"""A version under way: what of it is chosen so far, and the segments that makes.

A draft only keeps and shows; who chooses, and by what measure, is left to the filling.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from shared.sessions.compressions.gathering import Said, SaidKind
from shared.sessions.compressions.items import Item, Rank, items_of
from shared.sessions.compressions.planning import Plan
from shared.sessions.compressions.rendering import Heading, heading_of, markdown_of
from shared.sessions.compressions.segments import Segment, SegmentKind, ToolCall
from shared.sessions.compressions.telling import identifying, object_of, telling, verb_of

_MERGED = frozenset({SegmentKind.WORDS, SegmentKind.SUMMARY, SegmentKind.FAILURE, SegmentKind.NAMES})

_LONGEST = 4_000
"""Characters from which on a segment takes no more in."""


@dataclass(frozen=True)
class Line:
    """A line of an agent's own words, and the records it stands for."""

    text: str
    sources: tuple[str, ...]


@dataclass
class Draft:
    """What is chosen so far."""

    plan: Plan
    heading: Heading
    items: list[Item] = field(init=False)
    kept: set[int] = field(default_factory=set)
    """Numbers of items."""
    fixed: dict[int, str] = field(default_factory=dict)
    """What stands in place of something said, never to be cut: by its place."""
    request_room: int = 0
    """Characters that what was asked last may take."""
    told: set[int] = field(default_factory=set)
    """Places of calls that are told in a line shared with their neighbours."""
    failures: dict[int, str] = field(default_factory=dict)
    pairs: dict[int, int] = field(default_factory=dict)
    """Places of calls that are kept with their results: the most characters of either."""
    lines: dict[int, list[Line]] = field(default_factory=lambda: defaultdict(list))
    names: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    """By tier."""
    ranked: list[tuple[str, int, float]] | None = None
    """All names there are, the most important first, once they were looked up."""

    def __post_init__(self) -> None:
        self.items = items_of(self.plan.gathered)
        self._of = defaultdict[int, list[int]](list)
        for number, item in enumerate(self.items):
            self._of[item.said].append(number)

    def chars(self) -> int:
        """Return how long the whole is as Markdown."""
        return len(heading_of(self.heading)) + sum(len(markdown_of(segment)) for segment in self.segments())

    def segments(self) -> list[Segment]:
        """Return the segments in the order of the session, neighbours of one kind as one."""
        whole: list[Segment] = []
        for segment in self._in_order():
            if whole and _belongs(whole[-1], segment):
                whole[-1] = _joined(whole[-1], segment)
            else:
                whole.append(segment)
        return whole

    def texts_of(self, place: int) -> str:
        """Return what is chosen of something said."""
        return assembled([self.items[number] for number in self._of[place] if number in self.kept])

    def _in_order(self) -> Iterator[Segment]:
        run: list[int] = []
        tiers = self.plan.tier_of
        for place in range(len(self.plan.gathered)):
            if run and tiers[place] != tiers[run[-1]]:
                yield self._run(run)
                run = []
            if place and tiers[place] != tiers[place - 1]:
                yield from self._named(tiers[place - 1], place - 1)
            own = list(self._of_place(place))
            if run and own:
                yield self._run(run)
                run = []
            yield from own
            run += [place] if place in self.told else []
        if run:
            yield self._run(run)
        if tiers:
            yield from self._named(tiers[-1], len(tiers) - 1)

    def _of_place(self, place: int) -> Iterator[Segment]:
        said, tier = self.plan.gathered[place], self.plan.tier_of[place]
        for line in self.lines.get(place, ()):
            yield Segment(SegmentKind.SUMMARY, "assistant", line.text, said.at, line.sources, tier=tier)
        if place in self.plan.kept:
            yield _keepit(said, tier)
        elif place in self.fixed:
            segment = Segment(SegmentKind.REQUEST, said.role, self.fixed[place], said.at, said.sources, tier=tier)
            yield replace(segment, is_pinned=True)
        elif place in self.pairs and said.call is not None:
            yield self._pair(said, said.call, tier, self.pairs[place])
        elif place in self.failures:
            yield Segment(SegmentKind.FAILURE, "assistant", self.failures[place], said.at, said.sources, tier=tier)
        else:
            yield from self._words(place, said, tier)

    def _words(self, place: int, said: Said, tier: int) -> Iterator[Segment]:
        chosen = [self.items[number] for number in self._of.get(place, ()) if number in self.kept]
        for kind, items in _by_kind(said, chosen):
            yield Segment(kind, said.role, assembled(items), said.at, said.sources, tier=tier)

    def _run(self, places: Sequence[int]) -> Segment:
        told = [self.plan.gathered[place] for place in places]
        sources = tuple(dict.fromkeys(source for said in told for source in said.sources))
        text, tier = run_text([said.call for said in told if said.call]), self.plan.tier_of[places[0]]
        return Segment(SegmentKind.TOOL, "assistant", text, told[0].at, sources, tier=tier)

    def _pair(self, said: Said, call: ToolCall, tier: int, most: int) -> Segment:
        result = None if call.result is None else telling(call.result, most)
        shown = replace(call, input=identifying(call.input, most), result=result)
        text = run_text([call])
        return Segment(SegmentKind.TOOL, "assistant", text, said.at, said.sources, call=shown, tier=tier)

    def _named(self, tier: int, place: int) -> Iterator[Segment]:
        if self.names.get(tier):
            text, said = ", ".join(self.names[tier]), self.plan.gathered[place]
            yield Segment(SegmentKind.NAMES, "assistant", text, said.at, said.sources, tier=tier)


def _keepit(said: Said, tier: int) -> Segment:
    assert said.mark is not None
    return Segment(
        SegmentKind.KEEPIT, said.role, said.text, said.at, said.sources, (said.mark.marker_id,), is_pinned=True,
        tier=tier, extra={"weight": said.mark.weight},
    )  # fmt: skip


def _by_kind(said: Said, items: Sequence[Item]) -> Iterator[tuple[SegmentKind, list[Item]]]:
    """Yield items that follow each other and are of one kind."""
    group: list[Item] = []
    for item in items:
        if group and _kind(said, group[-1]) is not _kind(said, item):
            yield _kind(said, group[-1]), group
            group = []
        group.append(item)
    if group:
        yield _kind(said, group[-1]), group


def _kind(said: Said, item: Item) -> SegmentKind:
    if said.kind is SaidKind.HUMAN:
        return SegmentKind.INSTRUCTION if item.rank is Rank.RULE else SegmentKind.REQUEST
    return SegmentKind.SUMMARY if said.kind is SaidKind.SUMMARY else said.digest or SegmentKind.WORDS


def assembled(items: Sequence[Item]) -> str:
    """Return items of one text as text: sentences of a line in one line, code between fences."""
    written: list[str] = []
    fence, line = None, -1
    for item in items:
        if item.fence != fence:
            written += ["\n```"] if fence is not None else []
            written += [f"\n```{item.fence}"] if item.fence is not None else []
            fence = item.fence
        same_line = item.line == line and item.fence is None
        written.append(f"{' ' if same_line else chr(10)}{item.text}")
        line = item.line
    written += ["\n```"] if fence is not None else []
    return "".join(written)[1:]


def fragment(call: ToolCall) -> str:
    """Return a call in a few words."""
    return f"{verb_of(call.name)} {object_of(call.name, call.input)}".strip()


def run_text(calls: Sequence[ToolCall]) -> str:
    """Return calls as one line, as ``Read a.py, b.py; edited c.py``: what is done twice is told once."""
    groups: list[tuple[str, list[str]]] = []
    for call in calls:
        verb, about = verb_of(call.name), object_of(call.name, call.input)
        if not groups or groups[-1][0] != verb:
            groups.append((verb, []))
        if about not in groups[-1][1]:
            groups[-1][1].append(about)
    text = "; ".join(f"{verb} {', '.join(filter(None, objects))}".strip() for verb, objects in groups)
    return text[:1].upper() + text[1:]


def _belongs(one: Segment, other: Segment) -> bool:
    if one.call or other.call or one.is_pinned or other.is_pinned or len(one.text) > _LONGEST:
        return False
    return one.kind in _MERGED and (one.kind, one.role, one.tier) == (other.kind, other.role, other.tier)


def _joined(one: Segment, other: Segment) -> Segment:
    sources = tuple(dict.fromkeys((*one.sources, *other.sources)))
    return replace(one, text=f"{one.text}\n{other.text}", sources=sources)
