"""A version under way: what of it is chosen so far, and what is chosen before an agent is asked.

What must not be lost comes first, then what tells most for its length. All of it is greedy and by order alone, so the
same input always gives the same draft.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from shared.sessions.blocks import Block, BlockKind, Heading, ToolCall, heading_of, markdown_of
from shared.sessions.compress.plan import CompressionPlan, Piece, Rank, pieces_of
from shared.sessions.compress.sources import (
    CHANGING,
    RUNNING,
    Said,
    SaidKind,
    cut,
    failure_line,
    has_failed,
    object_of,
    shorten_input,
    shorten_result,
    verb_of,
)

_MERGED = frozenset({BlockKind.WORDS, BlockKind.SUMMARY, BlockKind.FAILURE, BlockKind.NAMES})

_LONGEST = 4_000
"""Characters from which on a segment takes no more in."""


@dataclass(frozen=True)
class SummaryLine:
    """A line of an agent's own words, and the records it stands for."""

    text: str
    sources: tuple[str, ...]


@dataclass
class Draft:
    """What is chosen so far."""

    plan: CompressionPlan
    heading: Heading
    items: list[Piece] = field(init=False)
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
    lines: dict[int, list[SummaryLine]] = field(default_factory=lambda: defaultdict(list))
    names: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    """By tier."""
    ranked: list[tuple[str, int, float]] | None = None
    """All names there are, the most important first, once they were looked up."""

    def __post_init__(self) -> None:
        self.items = pieces_of(self.plan.gathered)
        self._of = defaultdict[int, list[int]](list)
        for number, item in enumerate(self.items):
            self._of[item.said].append(number)

    def chars(self) -> int:
        """Return how long the whole is as Markdown."""
        return len(heading_of(self.heading)) + sum(len(markdown_of(segment)) for segment in self.segments())

    def segments(self) -> list[Block]:
        """Return the segments in the order of the session, neighbours of one kind as one."""
        whole: list[Block] = []
        for segment in self._in_order():
            if whole and _belongs(whole[-1], segment):
                whole[-1] = _joined_blocks(whole[-1], segment)
            else:
                whole.append(segment)
        return whole

    def texts_of(self, place: int) -> str:
        """Return what is chosen of something said."""
        return joined_text([self.items[number] for number in self._of[place] if number in self.kept])

    def _in_order(self) -> Iterator[Block]:
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

    def _of_place(self, place: int) -> Iterator[Block]:
        said, tier = self.plan.gathered[place], self.plan.tier_of[place]
        for line in self.lines.get(place, ()):
            yield Block(BlockKind.SUMMARY, "assistant", line.text, said.at, line.sources, tier=tier)
        if place in self.plan.kept:
            yield _keepit_block(said, tier)
        elif place in self.fixed:
            segment = Block(BlockKind.REQUEST, said.role, self.fixed[place], said.at, said.sources, tier=tier)
            yield replace(segment, is_pinned=True)
        elif place in self.pairs and said.call is not None:
            yield self._pair(said, said.call, tier, self.pairs[place])
        elif place in self.failures:
            yield Block(BlockKind.FAILURE, "assistant", self.failures[place], said.at, said.sources, tier=tier)
        else:
            yield from self._words(place, said, tier)

    def _words(self, place: int, said: Said, tier: int) -> Iterator[Block]:
        chosen = [self.items[number] for number in self._of.get(place, ()) if number in self.kept]
        for kind, items in _by_kind(said, chosen):
            yield Block(kind, said.role, joined_text(items), said.at, said.sources, tier=tier)

    def _run(self, places: Sequence[int]) -> Block:
        told = [self.plan.gathered[place] for place in places]
        sources = tuple(dict.fromkeys(source for said in told for source in said.sources))
        text, tier = run_text([said.call for said in told if said.call]), self.plan.tier_of[places[0]]
        return Block(BlockKind.TOOL, "assistant", text, told[0].at, sources, tier=tier)

    def _pair(self, said: Said, call: ToolCall, tier: int, most: int) -> Block:
        result = None if call.result is None else shorten_result(call.result, most)
        shown = replace(call, input=shorten_input(call.input, most), result=result)
        text = run_text([call])
        return Block(BlockKind.TOOL, "assistant", text, said.at, said.sources, call=shown, tier=tier)

    def _named(self, tier: int, place: int) -> Iterator[Block]:
        if self.names.get(tier):
            text, said = ", ".join(self.names[tier]), self.plan.gathered[place]
            yield Block(BlockKind.NAMES, "assistant", text, said.at, said.sources, tier=tier)


def _keepit_block(said: Said, tier: int) -> Block:
    assert said.mark is not None
    return Block(
        BlockKind.KEEPIT, said.role, said.text, said.at, said.sources, (said.mark.marker_id,), is_pinned=True,
        tier=tier, extra={"weight": said.mark.weight},
    )  # fmt: skip


def _by_kind(said: Said, items: Sequence[Piece]) -> Iterator[tuple[BlockKind, list[Piece]]]:
    """Yield items that follow each other and are of one kind."""
    group: list[Piece] = []
    for item in items:
        if group and _kind(said, group[-1]) is not _kind(said, item):
            yield _kind(said, group[-1]), group
            group = []
        group.append(item)
    if group:
        yield _kind(said, group[-1]), group


def _kind(said: Said, item: Piece) -> BlockKind:
    if said.kind is SaidKind.HUMAN:
        return BlockKind.INSTRUCTION if item.rank is Rank.RULE else BlockKind.REQUEST
    return BlockKind.SUMMARY if said.kind is SaidKind.SUMMARY else said.digest or BlockKind.WORDS


def joined_text(items: Sequence[Piece]) -> str:
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


def call_text(call: ToolCall) -> str:
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


def _belongs(one: Block, other: Block) -> bool:
    if one.call or other.call or one.is_pinned or other.is_pinned or len(one.text) > _LONGEST:
        return False
    return one.kind in _MERGED and (one.kind, one.role, one.tier) == (other.kind, other.role, other.tier)


def _joined_blocks(one: Block, other: Block) -> Block:
    sources = tuple(dict.fromkeys((*one.sources, *other.sources)))
    return replace(one, text=f"{one.text}\n{other.text}", sources=sources)


_LABEL = 18
"""Characters that a segment takes beside its text, about."""
_REQUEST_SHARE, _CUT_SHARE = 4, 8
"""What was asked last stands whole where it takes at most a quarter of the whole; else its ends take an eighth."""
_LEAST_REQUEST = 160
_RULES, _FAILURES, _REQUESTS, _CALLS = 0.20, 0.15, 0.30, 0.14
"""The most of a tier's room that goes to each before an agent is asked."""
_FAILURE_CHARS = 200


def open_draft(plan: CompressionPlan, heading: Heading) -> Draft:
    """Return a draft with all that is chosen before an agent is asked."""
    draft = Draft(plan, heading)
    if fix_last_request(draft, max(_LEAST_REQUEST, plan.target_chars // _REQUEST_SHARE)) and is_cut(draft):
        fix_last_request(draft, max(_LEAST_REQUEST, plan.target_chars // _CUT_SHARE))
    for tier, room in enumerate(tier_budgets(draft)):
        _keep_rules(draft, tier, int(room * _RULES))
        _keep_failures(draft, tier, int(room * _FAILURES))
        _keep_requests(draft, tier, int(room * _REQUESTS), room)
        _keep_calls(draft, tier, int(room * _CALLS))
    return draft


def tier_budgets(draft: Draft) -> list[int]:
    """Return the characters each tier may yet take: what all may, less what is chosen, by the tiers' budgets."""
    budgets = draft.plan.budgets
    left, total = max(0, draft.plan.target_chars - draft.chars()), max(1, sum(budgets))
    return [left * budget // total for budget in budgets]


def by_worth(draft: Draft, numbers: Iterable[int]) -> list[int]:
    """Return the numbers of items, the most telling first."""
    return sorted(numbers, key=lambda number: (-draft.items[number].worth, number))


def keep_pieces(draft: Draft, numbers: Iterable[int], room: int) -> int:
    """Keep items in the order given as far as there is room; return how much was taken."""
    taken, begun = 0, {draft.items[number].said for number in draft.kept}
    for number in numbers:
        item = draft.items[number]
        cost = item.cost + (0 if item.said in begun else label_chars(draft.plan.gathered[item.said]))
        if number not in draft.kept and taken + cost <= room:
            draft.kept.add(number)
            begun.add(item.said)
            taken += cost
    return taken


def open_items(draft: Draft, ranks: Iterable[Rank], tier: int | None = None) -> list[int]:
    """Return the numbers of items that are not chosen and that nothing stands for."""
    wanted, plan = set(ranks), draft.plan
    return [
        number
        for number, item in enumerate(draft.items)
        if item.rank in wanted
        and number not in draft.kept
        and item.said not in plan.kept
        and item.said not in draft.fixed
        and (tier is None or plan.tier_of[item.said] == tier)
    ]


def label_chars(said: Said) -> int:
    """Return about how many characters a first piece of something said takes beside its text."""
    return _LABEL if said.kind is SaidKind.HUMAN else _LABEL // 3


def calls_of(draft: Draft, tier: int | None = None) -> list[tuple[int, ToolCall]]:
    """Return the calls of a tier, or all, with their places."""
    return [
        (place, said.call)
        for place, said in enumerate(draft.plan.gathered)
        if said.call is not None and (tier is None or draft.plan.tier_of[place] == tier)
    ]


def importance(call: ToolCall) -> float:
    """Return what it is worth to know that a call was made."""
    return 3.0 if call.name in CHANGING else 2.0 if call.name in RUNNING else 1.0


def failed(call: ToolCall) -> bool:
    """Whether a call did not do what it was made for."""
    return has_failed(call.name, call.result or "", call.is_error)


def fix_last_request(draft: Draft, room: int) -> int:
    """Fix what was asked last, whole or its two ends; return how many characters more it takes than before."""
    places = sorted(draft.plan.last_request - draft.plan.kept)
    texts = {place: draft.plan.gathered[place].text.strip() for place in places}
    before = sum(map(len, draft.fixed.values()))
    if sum(map(len, texts.values())) > room:
        texts = _ends(texts, room)
    draft.request_room, draft.fixed = room, texts
    return sum(map(len, texts.values())) - before


def is_cut(draft: Draft) -> bool:
    """Whether what was asked last does not stand whole."""
    return any(text != draft.plan.gathered[place].text.strip() for place, text in draft.fixed.items())


def _ends(texts: dict[int, str], room: int) -> dict[int, str]:
    """Return the beginning of the first text and the end of the last, within the room."""
    first, last = min(texts), max(texts)
    head, tail = _head(texts[first], room * 3 // 5), _tail(texts[last], room * 2 // 5)
    return {first: f"{head}\n…\n{tail}"} if first == last else {first: f"{head}\n…", last: f"…\n{tail}"}


def _head(text: str, most: int) -> str:
    end = max(text.rfind(" ", most // 2, most), text.rfind("\n", most // 2, most)) if len(text) > most else len(text)
    return text[: end if end > 0 else most].rstrip()


def _tail(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    starts = [place for mark in " \n" if (place := text.find(mark, len(text) - most, len(text) - most // 2)) >= 0]
    return text[min(starts, default=len(text) - most) :].lstrip()


def _keep_rules(draft: Draft, tier: int, room: int) -> None:
    keep_pieces(draft, by_worth(draft, open_items(draft, [Rank.RULE], tier)), room)


def _keep_requests(draft: Draft, tier: int, room: int, most: int) -> None:
    """Keep what was asked for: the first piece of each prompt before the second of any.

    One of them may take more than its share, up to ``most``: a tier that says nothing of what was asked tells little.
    """
    turn: dict[int, int] = defaultdict(int)
    order: dict[int, tuple[int, float, int]] = {}
    for number in open_items(draft, [Rank.RULE, Rank.REQUEST], tier):
        item: Piece = draft.items[number]
        order[number] = (min(turn[item.said], 2), -item.worth, number)
        turn[item.said] += 1
    asked = sorted(order, key=order.__getitem__)
    if not keep_pieces(draft, asked, room):
        keep_pieces(draft, asked[:1], most)


def _keep_failures(draft: Draft, tier: int, room: int) -> None:
    """Tell each failed attempt in a line, the last ones first; shorter, where there are too many."""
    places = [(place, call) for place, call in reversed(calls_of(draft, tier)) if failed(call)]
    most = max(80, min(_FAILURE_CHARS, room // max(1, len(places))))
    seen = set[str]()
    for place, call in places:
        line = cut(failure_line(call.name, call.input, call.result or "", most), most)
        if line not in seen and len(line) <= room:
            draft.failures[place] = line
            seen.add(line)
            room -= len(line) + 1


def _keep_calls(draft: Draft, tier: int, room: int) -> None:
    """Tell calls in a few words each: first what changed something, then what ran, then what only looked."""
    open_calls = [(place, call) for place, call in calls_of(draft, tier) if place not in draft.failures]
    known = set[str]()
    for place, call in sorted(open_calls, key=lambda one: (-importance(one[1]), one[0])):
        text = call_text(call)
        if text not in known and len(text) + 2 <= room:
            draft.told.add(place)
            known.add(text)
            room -= len(text) + 2
