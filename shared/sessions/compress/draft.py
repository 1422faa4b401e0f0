"""A version under way: what of it is chosen so far, and what is chosen before an agent is asked.

What must not be lost comes first, then what tells most for its length. All of it is greedy and by order alone, so the
same input always gives the same draft.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from shared.sessions.blocks import Block, BlockKind, Heading, RecordedToolCall, fill_budget, heading_of, markdown_of
from shared.sessions.compress.plan import BlockPiece, CompressionPlan, Rank, pieces_of
from shared.sessions.compress.sources import (
    CHANGING,
    DIGESTS,
    RUNNING,
    failure_line,
    has_failed,
    object_of,
    shorten_input,
    shorten_result,
    verb_of,
)
from shared.sessions.text import cut, head_of, tail_of

_MERGED = frozenset({BlockKind.WORDS, BlockKind.SUMMARY, BlockKind.FAILURE, BlockKind.NAMES})
_LONGEST = 4_000
"""Characters from which on a block takes no more in."""
_LABEL = 18
"""Characters that a block takes beside its text, about."""
_REQUEST_SHARE, _CUT_SHARE = 4, 8
"""What was asked last stands whole where it takes at most a quarter of the whole; else its ends take an eighth."""
_LEAST_REQUEST = 160
_RULES, _FAILURES, _REQUESTS, _CALLS = 0.20, 0.15, 0.30, 0.14
"""The most of a tier's budget that goes to each before an agent is asked."""
_FAILURE_CHARS = 200


@dataclass
class Draft:
    """What is chosen so far."""

    plan: CompressionPlan
    heading: Heading
    pieces: list[BlockPiece] = field(init=False)
    kept: set[int] = field(default_factory=set)
    """Numbers of pieces."""
    fixed: dict[int, str] = field(default_factory=dict)
    """What stands in place of a block, never to be cut: by its position."""
    request_chars: int = 0
    """Characters that what was asked last may take."""
    mentioned: set[int] = field(default_factory=set)
    """Positions of calls that are told in a line shared with their neighbours."""
    failures: dict[int, str] = field(default_factory=dict)
    pairs: dict[int, int] = field(default_factory=dict)
    """Positions of calls that are kept with their results: the most characters of either."""
    lines: dict[int, list[Block]] = field(default_factory=lambda: defaultdict(list))
    """An agent's own words, by the position they stand at."""
    names: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    """By tier."""
    ranked: list[tuple[str, int, float]] | None = None
    """All names there are, the most important first, once they were looked up."""

    def __post_init__(self) -> None:
        self.pieces = pieces_of(self.plan.blocks)
        self._of = defaultdict[int, list[BlockPiece]](list)
        for piece in self.pieces:
            self._of[piece.block].append(piece)

    def chars(self) -> int:
        """Return how long the whole is as Markdown."""
        return len(heading_of(self.heading)) + sum(len(markdown_of(block)) for block in self.blocks())

    def blocks(self) -> list[Block]:
        """Return the blocks in the order of the session, neighbours of one kind as one."""
        whole: list[Block] = []
        for block in self._in_order():
            last = whole[-1] if whole else None
            if last is None or not _belong_together(last, block):
                whole.append(block)
            else:
                sources = tuple(dict.fromkeys((*last.sources, *block.sources)))
                whole[-1] = replace(last, text=f"{last.text}\n{block.text}", sources=sources)
        return whole

    def chosen_of(self, position: int) -> list[BlockPiece]:
        """Return what is chosen of a block."""
        return [piece for piece in self._of.get(position, ()) if piece.number in self.kept]

    def _in_order(self) -> Iterator[Block]:
        run: list[Block] = []
        before: Block | None = None
        for position, block in enumerate(self.plan.blocks):
            own = list(self._shown_of(position, block))
            is_new_tier = before is not None and block.tier != before.tier
            if run and (own or is_new_tier):
                yield _mention(run)
                run = []
            if before is not None and is_new_tier:
                yield from self._names_of(before)
            yield from own
            run += [block] if position in self.mentioned else []
            before = block
        if run:
            yield _mention(run)
        if before is not None:
            yield from self._names_of(before)

    def _shown_of(self, position: int, block: Block) -> Iterator[Block]:
        base = Block(BlockKind.WORDS, block.role, "", block.at, block.sources, tier=block.tier)
        for line in self.lines.get(position, ()):
            yield replace(line, at=block.at, tier=block.tier)
        if position in self.plan.kept:
            extra = {"weight": block.weight}
            yield replace(
                base, kind=BlockKind.KEEPIT, text=block.text, marker_ids=block.marker_ids, is_pinned=True, extra=extra
            )
        elif position in self.fixed:
            yield replace(base, kind=BlockKind.REQUEST, text=self.fixed[position], is_pinned=True)
        elif position in self.pairs and block.call is not None:
            yield self._pair(block, block.call, self.pairs[position])
        elif position in self.failures:
            yield replace(base, kind=BlockKind.FAILURE, role="assistant", text=self.failures[position])
        else:
            for kind, pieces in _by_kind(block, self.chosen_of(position)):
                yield replace(base, kind=kind, text=joined_text(pieces))

    def _pair(self, block: Block, call: RecordedToolCall, most: int) -> Block:
        result = None if call.result is None else shorten_result(call.result, most)
        shown = replace(call, input=shorten_input(call.input, most), result=result)
        text = run_text([call])
        return Block(BlockKind.TOOL, "assistant", text, block.at, block.sources, call=shown, tier=block.tier)

    def _names_of(self, last: Block) -> Iterator[Block]:
        if self.names.get(last.tier):
            text = ", ".join(self.names[last.tier])
            yield Block(BlockKind.NAMES, "assistant", text, last.at, last.sources, tier=last.tier)


def _mention(run: Sequence[Block]) -> Block:
    """Return calls that follow each other as one line."""
    sources = tuple(dict.fromkeys(source for block in run for source in block.sources))
    text = run_text([block.call for block in run if block.call])
    return Block(BlockKind.TOOL, "assistant", text, run[0].at, sources, tier=run[0].tier)


def _by_kind(block: Block, pieces: Sequence[BlockPiece]) -> Iterator[tuple[BlockKind, list[BlockPiece]]]:
    """Yield pieces of a block that follow each other and become blocks of one kind."""
    group: list[BlockPiece] = []
    kinds = [_kind_of(block, piece) for piece in pieces]
    for nth, piece in enumerate(pieces):
        if group and kinds[nth - 1] is not kinds[nth]:
            yield kinds[nth - 1], group
            group = []
        group.append(piece)
    if group:
        yield kinds[-1], group


def _kind_of(block: Block, piece: BlockPiece) -> BlockKind:
    if block.kind is BlockKind.HUMAN:
        return BlockKind.INSTRUCTION if piece.rank is Rank.RULE else BlockKind.REQUEST
    return block.kind if block.kind in (BlockKind.SUMMARY, *DIGESTS) else BlockKind.WORDS


def _belong_together(one: Block, other: Block) -> bool:
    if one.call or other.call or one.is_pinned or other.is_pinned or len(one.text) > _LONGEST:
        return False
    return one.kind in _MERGED and (one.kind, one.role, one.tier) == (other.kind, other.role, other.tier)


def joined_text(pieces: Sequence[BlockPiece]) -> str:
    """Return pieces of one text as text: sentences of a line in one line, code between fences."""
    written: list[str] = []
    fence, line = None, -1
    for piece in pieces:
        if piece.fence != fence:
            written += ["\n```"] if fence is not None else []
            written += [f"\n```{piece.fence}"] if piece.fence is not None else []
            fence = piece.fence
        same_line = piece.line == line and piece.fence is None
        written.append(f"{' ' if same_line else chr(10)}{piece.text}")
        line = piece.line
    written += ["\n```"] if fence is not None else []
    return "".join(written)[1:]


def call_text(call: RecordedToolCall) -> str:
    """Return a call in a few words."""
    return f"{verb_of(call.name)} {object_of(call.name, call.input)}".strip()


def run_text(calls: Sequence[RecordedToolCall]) -> str:
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


def open_draft(plan: CompressionPlan, heading: Heading) -> Draft:
    """Return a draft with all that is chosen before an agent is asked."""
    draft = Draft(plan, heading)
    if fix_last_request(draft, max(_LEAST_REQUEST, plan.target_chars // _REQUEST_SHARE)) and is_cut(draft):
        fix_last_request(draft, max(_LEAST_REQUEST, plan.target_chars // _CUT_SHARE))
    for tier, budget in enumerate(tier_budgets(draft)):
        keep_pieces(draft, by_worth(draft, open_pieces(draft, [Rank.RULE], tier)), int(budget * _RULES))
        _keep_failures(draft, tier, int(budget * _FAILURES))
        _keep_requests(draft, tier, int(budget * _REQUESTS), budget)
        _keep_calls(draft, tier, int(budget * _CALLS))
    return draft


def tier_budgets(draft: Draft) -> list[int]:
    """Return the characters each tier may yet take: what all may, less what is chosen, by the tiers' budgets."""
    budgets = draft.plan.budgets
    left, total = max(0, draft.plan.target_chars - draft.chars()), max(1, sum(budgets))
    return [left * budget // total for budget in budgets]


def by_worth(draft: Draft, numbers: Iterable[int]) -> list[int]:
    """Return the numbers of pieces, the most informative first."""
    return sorted(numbers, key=lambda number: (-draft.pieces[number].worth, number))


def keep_pieces(draft: Draft, numbers: Iterable[int], budget: int) -> int:
    """Keep pieces in the order given as far as the budget goes; return how much was taken."""
    begun = {draft.pieces[number].block for number in draft.kept}

    def cost(number: int) -> int:
        piece = draft.pieces[number]
        is_human = draft.plan.blocks[piece.block].kind is BlockKind.HUMAN
        return piece.cost + (0 if piece.block in begun else _LABEL if is_human else _LABEL // 3)

    taken = 0
    for number in fill_budget((number for number in numbers if number not in draft.kept), cost, budget):
        taken += cost(number)
        draft.kept.add(number)
        begun.add(draft.pieces[number].block)
    return taken


def open_pieces(draft: Draft, ranks: Iterable[Rank], tier: int | None = None) -> list[int]:
    """Return the numbers of pieces that are not chosen and that nothing stands for."""
    wanted, plan = set(ranks), draft.plan
    return [
        number
        for number, piece in enumerate(draft.pieces)
        if piece.rank in wanted
        and number not in draft.kept
        and piece.block not in plan.kept
        and piece.block not in draft.fixed
        and (tier is None or plan.blocks[piece.block].tier == tier)
    ]


def calls_of(draft: Draft, tier: int | None = None) -> list[tuple[int, RecordedToolCall]]:
    """Return the calls of a tier, or all, with their positions."""
    return [
        (position, block.call)
        for position, block in enumerate(draft.plan.blocks)
        if block.call is not None and (tier is None or block.tier == tier)
    ]


def importance(call: RecordedToolCall) -> float:
    """Return what it is worth to know that a call was made."""
    return 3.0 if call.name in CHANGING else 2.0 if call.name in RUNNING else 1.0


def failed(call: RecordedToolCall) -> bool:
    """Whether a call did not do what it was made for."""
    return has_failed(call.name, call.result or "", call.is_error)


def fix_last_request(draft: Draft, budget: int) -> int:
    """Fix what was asked last, whole or its two ends; return how many characters more it takes than before."""
    positions = sorted(draft.plan.last_request - draft.plan.kept)
    texts = {position: draft.plan.blocks[position].text.strip() for position in positions}
    before = sum(map(len, draft.fixed.values()))
    if sum(map(len, texts.values())) > budget:
        first, last = positions[0], positions[-1]
        head, tail = head_of(texts[first], budget * 3 // 5), tail_of(texts[last], budget * 2 // 5)
        texts = {first: f"{head}\n…\n{tail}"} if first == last else {first: f"{head}\n…", last: f"…\n{tail}"}
    draft.request_chars, draft.fixed = budget, texts
    return sum(map(len, texts.values())) - before


def is_cut(draft: Draft) -> bool:
    """Whether what was asked last does not stand whole."""
    return any(text != draft.plan.blocks[position].text.strip() for position, text in draft.fixed.items())


def _keep_requests(draft: Draft, tier: int, budget: int, most: int) -> None:
    """Keep what was asked for: the first piece of each prompt before the second of any.

    One of them may take more than its share, up to ``most``: a tier that says nothing of what was asked tells little.
    """
    nth: dict[int, int] = defaultdict(int)
    order: dict[int, tuple[int, float, int]] = {}
    for number in open_pieces(draft, [Rank.RULE, Rank.REQUEST], tier):
        piece = draft.pieces[number]
        order[number] = (min(nth[piece.block], 2), -piece.worth, number)
        nth[piece.block] += 1
    asked = sorted(order, key=order.__getitem__)
    if not keep_pieces(draft, asked, budget):
        keep_pieces(draft, asked[:1], most)


def _keep_failures(draft: Draft, tier: int, budget: int) -> None:
    """Tell each failed attempt in a line, the last ones first; shorter, where there are too many."""
    calls = [(position, call) for position, call in reversed(calls_of(draft, tier)) if failed(call)]
    most = max(80, min(_FAILURE_CHARS, budget // max(1, len(calls))))
    lines: dict[str, int] = {}
    for position, call in calls:
        lines.setdefault(cut(failure_line(call.name, call.input, call.result or "", most), most), position)
    # The end of the last line costs nothing.
    for line in fill_budget(lines, lambda line: len(line) + 1, budget + 1):
        draft.failures[lines[line]] = line


def _keep_calls(draft: Draft, tier: int, budget: int) -> None:
    """Tell calls in a few words each: first what changed something, then what ran, then what only looked."""
    open_calls = [(position, call) for position, call in calls_of(draft, tier) if position not in draft.failures]
    texts: dict[str, int] = {}
    for position, call in sorted(open_calls, key=lambda one: (-importance(one[1]), one[0])):
        texts.setdefault(call_text(call), position)
    draft.mentioned.update(texts[text] for text in fill_budget(texts, lambda text: len(text) + 2, budget))
