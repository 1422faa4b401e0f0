"""A version under way: what of it is chosen so far, and what is chosen before an agent is asked.

What must not be lost comes first: what was asked last and how that came out, what a person typed when they refused or
answered something, how they want things done. Then what tells most for its length. All of it is greedy and by order
alone, so the same input always gives the same draft.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from shared.sessions.blocks import Block, BlockKind, Heading, RecordedToolCall, fill_budget, heading_of, markdown_of
from shared.sessions.compress.plan import BlockPiece, CompressionPlan, Rank, is_asked, pieces_of, statements_in
from shared.sessions.compress.sources import (
    CHANGING,
    RUNNING,
    call_text,
    failure_line,
    has_failed,
    is_told_by_itself,
    run_text,
    shorten_input,
    shorten_result,
)
from shared.sessions.excerpts import Statement, excerpt_of, shortened
from shared.sessions.text import cut

_MERGED = frozenset({BlockKind.WORDS, BlockKind.SUMMARY, BlockKind.FAILURE})
_LONGEST = 4_000
"""Characters from which on a block takes no more in."""
_LABEL = 18
"""Characters that a block takes beside its text, about."""
_REQUEST_SHARE, _CUT_SHARE, _OUTCOME_SHARE = 4, 8, 6
"""What was asked last stands whole where it takes at most a quarter of the whole, else its ends take an eighth; how it
came out takes a sixth."""
_LEAST_REQUEST, _LEAST_OUTCOME = 160, 120
_REPLIES = 0.45
"""The most of the whole that goes to what people typed when they refused or answered something."""
_RULES, _FAILURES, _REQUESTS, _ANSWERS, _CALLS = 0.15, 0.12, 0.50, 0.12, 0.10
"""The most of a tier's budget that goes to each before an agent is asked."""
_FAILURE_CHARS, _QUESTION_CHARS, _OBJECT_CHARS, _SHORT_REPLY = 200, 160, 100, 80
_SHORT_REQUEST = 40
"""So few characters ask for nothing without what was said before."""
_WHOLE_REQUEST = 600
"""Characters up to which a prompt is kept whole or, at first, not at all."""
_LIKELY = 60


@dataclass
class Draft:
    """What is chosen so far."""

    plan: CompressionPlan
    heading: Heading
    statements: list[list[Statement]] = field(init=False)
    pieces: list[BlockPiece] = field(init=False)
    kept: set[int] = field(default_factory=set)
    """Numbers of pieces."""
    cuts: dict[int, int] = field(default_factory=dict)
    """Of pieces that do not stand whole the most characters; only of what must not be lost."""
    must: set[int] = field(default_factory=set)
    """Numbers of pieces that are never taken out again: what was asked last and how it came out."""
    mentioned: set[int] = field(default_factory=set)
    """Positions of calls that are told in a line shared with their neighbours."""
    failures: dict[int, str] = field(default_factory=dict)
    pairs: dict[int, int] = field(default_factory=dict)
    """Positions of calls that are kept with their results: the most characters of either."""
    lines: dict[int, list[Block]] = field(default_factory=lambda: defaultdict(list))
    """An agent's own words, by the position they stand at."""
    names: list[str] = field(default_factory=list)
    ranked: list[tuple[str, int, float]] | None = None
    """All names there are, the most important first, once they were looked up."""

    def __post_init__(self) -> None:
        blocks = self.plan.blocks
        self.statements = [statements_in(block) for block in blocks]
        self.pieces = pieces_of(blocks, self.statements)
        self._of = defaultdict[int, list[BlockPiece]](list)
        for piece in self.pieces:
            self._of[piece.block].append(piece)
        calls = {block.call.tool_use_id: position for position, block in enumerate(blocks) if block.call}
        self.calls_of_replies = {
            position: calls[block.replies_to]
            for position, block in enumerate(blocks)
            if block.kind is BlockKind.HUMAN and block.replies_to in calls
        }
        """Positions of what people typed in answer to a call, each with the call's."""

    def chars(self) -> int:
        """Return how long the whole is as Markdown."""
        return len(heading_of(self.heading)) + sum(len(markdown_of(block)) for block in self.blocks())

    def blocks(self) -> list[Block]:
        """Return the blocks in the order of the session, neighbours of one kind as one."""
        whole: list[Block] = []
        if self.names:
            whole.append(Block(BlockKind.NAMES, "note", ", ".join(self.names)))
        for block in self._in_order():
            last = whole[-1] if whole else None
            if last is None or not _belong_together(last, block):
                whole.append(block)
            else:
                sources = tuple(dict.fromkeys((*last.sources, *block.sources)))
                gap = "\n\n" if block.kind is BlockKind.WORDS else "\n"
                whole[-1] = replace(last, text=f"{last.text}{gap}{block.text}", sources=sources)
        return whole

    def pieces_at(self, position: int) -> list[BlockPiece]:
        """Return the pieces of a block."""
        return self._of.get(position, [])

    def chosen_of(self, position: int) -> list[BlockPiece]:
        """Return what is chosen of a block."""
        return [piece for piece in self.pieces_at(position) if piece.number in self.kept]

    def text_of(self, position: int) -> str:
        """Return what is shown of a block's words, with a sign for what is missing."""
        chosen = self.chosen_of(position)
        cuts = {piece.nth: self.cuts[piece.number] for piece in chosen if piece.number in self.cuts}
        text = self.plan.blocks[position].text
        return excerpt_of(text, self.statements[position], [piece.nth for piece in chosen], cuts)

    def companion_of(self, position: int) -> Block | None:
        """Return what a person's words need beside them to be understood: what was asked, or what they refused."""
        blocks = self.plan.blocks
        if position not in self.calls_of_replies:
            return self._question_before(position)
        asked = blocks[position - 1] if position else None
        if asked and asked.kind is BlockKind.QUESTION and asked.sources == blocks[position].sources:
            return replace(asked, text=shortened(asked.text.strip(), _QUESTION_CHARS), message=0, tokens=0)
        refused = blocks[self.calls_of_replies[position]]
        call = refused.call
        if call is None or not is_told_by_itself(call):
            return None
        line = failure_line(call.name, call.input, call.result or "", _OBJECT_CHARS)
        return Block(BlockKind.FAILURE, "assistant", line, refused.at, refused.sources, tier=blocks[position].tier)

    def _question_before(self, position: int) -> Block | None:
        """Return what the assistant had asked last, where a person says no more than a few words to it."""
        blocks = self.plan.blocks
        if not is_asked(blocks[position]) or len(blocks[position].text) > _SHORT_REPLY:
            return None
        at = next((one for one in range(position - 1, -1, -1) if is_spoken(blocks[one])), None)
        said = [] if at is None or is_asked(blocks[at]) else self.pieces_at(at)
        if (
            at is None
            or not said
            or not said[-1].text.rstrip("*_ ").endswith(("?", "？"))
            or said[-1].number in self.kept
        ):
            return None
        text = shortened(said[-1].text.strip(), _QUESTION_CHARS)
        return Block(
            BlockKind.QUESTION, "assistant", text, blocks[at].at, blocks[at].sources, tier=blocks[position].tier
        )

    def _in_order(self) -> Iterator[Block]:
        run: list[Block] = []
        tier = 0
        for position, block in enumerate(self.plan.blocks):
            own = list(self._shown_of(position, block))
            if run and (own or block.tier != tier):
                yield _mention(run)
                run = []
            yield from own
            run += [block] if position in self.mentioned else []
            tier = block.tier
        if run:
            yield _mention(run)

    def _shown_of(self, position: int, block: Block) -> Iterator[Block]:
        base = Block(BlockKind.WORDS, block.role, "", block.at, block.sources, tier=block.tier, label=block.label)
        for line in self.lines.get(position, ()):
            yield replace(line, at=block.at, tier=block.tier)
        if position in self.plan.kept:
            extra = {"weight": block.weight}
            yield replace(
                base, kind=BlockKind.KEEPIT, text=block.text, marker_ids=block.marker_ids, is_pinned=True, extra=extra
            )
        elif block.kind is BlockKind.LEFT:
            yield replace(base, kind=BlockKind.LEFT, text=block.text)
        elif position in self.pairs and block.call is not None:
            yield self._pair(block, block.call, self.pairs[position])
        elif position in self.failures:
            yield replace(base, kind=BlockKind.FAILURE, role="assistant", text=self.failures[position])
        elif chosen := self.chosen_of(position):
            companion = self.companion_of(position)
            if companion is not None:
                yield companion
            is_pinned = position in self.plan.last_request
            yield replace(base, kind=_kind_of(block, chosen), text=self.text_of(position), is_pinned=is_pinned)

    def _pair(self, block: Block, call: RecordedToolCall, most: int) -> Block:
        result = None if call.result is None else shorten_result(call.result, most)
        shown = replace(call, input=shorten_input(call.input, most), result=result)
        text = run_text([call])
        return Block(BlockKind.TOOL, "assistant", text, block.at, block.sources, call=shown, tier=block.tier)


def is_answer(block: Block) -> bool:
    """Whether the assistant said it to a person."""
    return block.kind is BlockKind.ASSISTANT and not block.is_sidechain and bool(block.text.strip())


def is_spoken(block: Block) -> bool:
    """Whether a person or the assistant said it to the other."""
    return is_asked(block) or is_answer(block)


def _mention(run: Sequence[Block]) -> Block:
    """Return calls that follow each other as one line."""
    sources = tuple(dict.fromkeys(source for block in run for source in block.sources))
    text = run_text([block.call for block in run if block.call])
    return Block(BlockKind.TOOL, "assistant", text, run[0].at, sources, tier=run[0].tier)


def _kind_of(block: Block, chosen: Sequence[BlockPiece]) -> BlockKind:
    if block.kind is BlockKind.HUMAN:
        is_rule = all(piece.rank is Rank.RULE for piece in chosen)
        return BlockKind.INSTRUCTION if is_rule else BlockKind.REQUEST
    return BlockKind.WORDS if block.kind is BlockKind.ASSISTANT else block.kind


def _belong_together(one: Block, other: Block) -> bool:
    if one.call or other.call or one.is_pinned or other.is_pinned or len(one.text) > _LONGEST:
        return False
    return one.kind in _MERGED and (one.kind, one.role, one.label, one.tier) == (
        other.kind, other.role, other.label, other.tier,
    )  # fmt: skip


def open_draft(plan: CompressionPlan, heading: Heading) -> Draft:
    """Return a draft with all that is chosen before an agent is asked."""
    draft = Draft(plan, heading)
    keep_last_request(draft)
    _keep_outcome(draft)
    _keep_replies(draft)
    for tier, budget in enumerate(tier_budgets(draft)):
        keep_pieces(draft, by_worth(draft, open_pieces(draft, [Rank.RULE], tier)), int(budget * _RULES))
        _keep_failures(draft, tier, int(budget * _FAILURES))
        _keep_requests(draft, tier, int(budget * _REQUESTS))
        _keep_answers(draft, tier, int(budget * _ANSWERS))
        _keep_calls(draft, tier, int(budget * _CALLS))
    return draft


def tier_budgets(draft: Draft) -> list[int]:
    """Return the characters each tier may yet take: of what is left by what it lacks of its share."""
    left, missing = max(0, draft.plan.target_chars - draft.chars()), missing_by_tier(draft)
    return [left * own // max(1, sum(missing)) for own in missing]


def missing_by_tier(draft: Draft) -> list[int]:
    """Return the characters each tier lacks of its share; none where it takes more."""
    taken = Counter[int]()
    for block in draft.blocks():
        taken[block.tier] += len(markdown_of(block))
    total, budgets = draft.plan.target_chars - len(heading_of(draft.heading)), draft.plan.budgets
    return [max(0, total * share // max(1, sum(budgets)) - taken[tier]) for tier, share in enumerate(budgets)]


def by_worth(draft: Draft, numbers: Iterable[int]) -> list[int]:
    """Return the numbers of pieces, the most informative first."""
    return sorted(numbers, key=lambda number: (-draft.pieces[number].worth, number))


def keep_pieces(draft: Draft, numbers: Iterable[int], budget: int) -> int:
    """Keep pieces in the order given as far as the budget goes; return how much was taken."""
    begun = {draft.pieces[number].block for number in draft.kept}

    def cost(number: int) -> int:
        piece = draft.pieces[number]
        return piece.cost + (0 if piece.block in begun else _opening_cost(draft, piece.block))

    taken = 0
    for number in fill_budget((number for number in numbers if number not in draft.kept), cost, budget):
        taken += cost(number)
        draft.kept.add(number)
        begun.add(draft.pieces[number].block)
    return taken


def _opening_cost(draft: Draft, position: int) -> int:
    """Return what a block takes beside its pieces once one of them is shown."""
    block = draft.plan.blocks[position]
    if block.kind is not BlockKind.HUMAN:
        return _LABEL // 3
    companion = draft.companion_of(position)
    return _LABEL + (0 if companion is None else len(markdown_of(companion)))


def open_pieces(draft: Draft, ranks: Iterable[Rank], tier: int | None = None) -> list[int]:
    """Return the numbers of pieces that are not chosen and that nothing stands for."""
    wanted, plan = set(ranks), draft.plan
    return [
        number
        for number, piece in enumerate(draft.pieces)
        if piece.rank in wanted
        and number not in draft.kept
        and piece.block not in plan.kept
        and piece.block not in plan.last_request
        and (tier is None or plan.blocks[piece.block].tier == tier)
    ]


def calls_of(draft: Draft, tier: int | None = None) -> list[tuple[int, RecordedToolCall]]:
    """Return the calls of a tier, or all, with their positions; not those that a person's answer tells."""
    return [
        (position, block.call)
        for position, block in enumerate(draft.plan.blocks)
        if block.call is not None and (tier is None or block.tier == tier) and not is_told_by_itself(block.call)
    ]


def importance(call: RecordedToolCall) -> float:
    """Return what it is worth to know that a call was made."""
    return 3.0 if call.name in CHANGING else 2.0 if call.name in RUNNING else 1.0


def failed(call: RecordedToolCall) -> bool:
    """Whether a call did not do what it was made for."""
    return has_failed(call.name, call.result or "", call.is_error)


def keep_last_request(draft: Draft, more: int = 0) -> int:
    """Keep what was asked last, whole or its two ends; return how many characters it takes more than before.

    ``more``: characters it may take beside its share.
    """
    plan = draft.plan
    positions = sorted(plan.last_request - plan.kept)
    if not positions:
        return 0
    pieces = [piece for position in positions for piece in draft.pieces_at(position)]
    before = sum(len(draft.text_of(position)) for position in positions)
    share = max(_LEAST_REQUEST, plan.target_chars // _REQUEST_SHARE) + more
    if sum(len(plan.blocks[position].text) for position in positions) <= share:
        chosen = {piece.number for piece in pieces if piece.number is not None}
        _keep_always(draft, chosen)
    elif not before or more:
        _keep_ends(draft, pieces, max(_LEAST_REQUEST, plan.target_chars // _CUT_SHARE) + more)
    if not before and sum(len(draft.text_of(position)) for position in positions) < _SHORT_REQUEST:
        _keep_what_it_replies_to(draft, positions[0])
    return sum(len(draft.text_of(position)) for position in positions) - before


def _keep_always(draft: Draft, numbers: Iterable[int]) -> None:
    for number in numbers:
        draft.kept.add(number)
        draft.must.add(number)
        draft.cuts.pop(number, None)


def _keep_ends(draft: Draft, pieces: Sequence[BlockPiece], budget: int) -> None:
    """Keep whole statements from the beginning, and from the end, as far as a budget goes; or part of the first."""
    head = _run_of(pieces, budget * 3 // 5) or pieces[:1]
    tail = _run_of(pieces[len(head) :][::-1], budget - sum(piece.cost for piece in head))
    _keep_always(draft, (piece.number for piece in (*head, *tail) if piece.number is not None))
    if head[0].cost > budget and head[0].number is not None:
        draft.cuts[head[0].number] = budget


def _run_of(pieces: Sequence[BlockPiece], budget: int) -> list[BlockPiece]:
    """Return the pieces from the first on that a budget goes for."""
    run: list[BlockPiece] = []
    for piece in pieces:
        budget -= piece.cost
        if budget < 0:
            break
        run.append(piece)
    return run


def _keep_what_it_replies_to(draft: Draft, position: int) -> None:
    """Keep the end of what the assistant said before a short reply, and what had been asked for before that."""
    plan = draft.plan
    said = next((at for at in range(position - 1, -1, -1) if is_answer(plan.blocks[at])), None)
    asked = next(
        (
            at
            for at in range(position - 1, -1, -1)
            if is_asked(plan.blocks[at]) and len(plan.blocks[at].text.strip()) >= _SHORT_REQUEST
        ),
        None,
    )
    share = max(_LEAST_OUTCOME, plan.target_chars // _CUT_SHARE)
    for at, pieces in ((asked, slice(0, 1)), (said, slice(-1, None))):
        if at is not None and at not in plan.kept and (found := draft.pieces_at(at)[pieces]):
            if found[0].cost <= share:
                _keep_always(draft, (piece.number for piece in found if piece.number is not None))
            else:
                _keep_ends(draft, found, share)


def _keep_outcome(draft: Draft) -> None:
    """Keep how it came out: of the last words behind the last request the beginning and the end."""
    plan = draft.plan
    behind = range(max(plan.last_request, default=0), len(plan.blocks))
    said = next((at for at in reversed(behind) if is_answer(plan.blocks[at]) and draft.pieces_at(at)), None)
    share = max(_LEAST_OUTCOME, plan.target_chars // _OUTCOME_SHARE)
    if said is not None and said not in plan.kept:
        pieces = draft.pieces_at(said)
        worded = [piece for piece in pieces if piece.rank is not Rank.ASIDE] or pieces
        _keep_ends(draft, worded, share)
    elif said is None:
        done = [position for position, _ in calls_of(draft) if position in behind]
        draft.mentioned.update(done[-3:])


def _keep_replies(draft: Draft) -> None:
    """Keep what people typed when they refused or answered something, whole, the shorter first: so most of it stays."""
    replies = [
        position for position in draft.calls_of_replies if position not in draft.plan.kept and draft.pieces_at(position)
    ]

    def cost(position: int) -> int:
        return len(draft.plan.blocks[position].text) + _opening_cost(draft, position)

    budget = int(max(0, draft.plan.target_chars - draft.chars()) * _REPLIES / (1 - 1 / _REQUEST_SHARE))
    for position in fill_budget(sorted(replies, key=lambda one: (cost(one), -one)), cost, budget):
        draft.kept.update(piece.number for piece in draft.pieces_at(position) if piece.number is not None)


def _keep_requests(draft: Draft, tier: int, budget: int) -> None:
    """Keep what was asked for: prompts whole, the later and the shorter first; of the long ones how they begin."""
    blocks = draft.plan.blocks
    open_ones = defaultdict[int, list[int]](list)
    for number in open_pieces(draft, [Rank.RULE, Rank.REQUEST], tier):
        if blocks[draft.pieces[number].block].kind is BlockKind.HUMAN:
            open_ones[draft.pieces[number].block].append(number)
    first = min(open_ones, default=-1)

    def wanted(position: int) -> list[int]:
        whole = open_ones[position]
        length = sum(draft.pieces[number].cost for number in whole)
        return whole if length <= min(_WHOLE_REQUEST, budget) else whole[:1]

    def cost(position: int) -> int:
        return sum(draft.pieces[number].cost for number in wanted(position)) + _opening_cost(draft, position)

    def order(position: int) -> tuple[bool, float]:
        recency = 1.0 + 0.5 * position / max(1, len(blocks))
        return position != first, -recency / max(_LIKELY, cost(position))

    for position in fill_budget(sorted(open_ones, key=order), cost, budget):
        draft.kept.update(wanted(position))


def _keep_answers(draft: Draft, tier: int, budget: int) -> None:
    """Keep of what came of each prompt the statement that tells most, so that no prompt stands without its answer."""
    blocks, last = draft.plan.blocks, None
    best: list[int] = []
    for position in range(len(blocks) - 1, -1, -1):
        if is_asked(blocks[position]):
            last = None
        elif last is None and is_answer(blocks[position]) and (pieces := draft.pieces_at(position)):
            last = position
            if blocks[position].tier == tier and not draft.chosen_of(position):
                best.append(
                    max(pieces, key=lambda piece: piece.worth * min(1.0, len(piece.text) / _LIKELY)).number or 0
                )
    keep_pieces(draft, best, budget)


def _keep_failures(draft: Draft, tier: int, budget: int) -> None:
    """Tell each failed attempt in a line, the last ones first; shorter, where there are too many."""
    told = set(draft.calls_of_replies.values())
    calls = [
        (position, block.call)
        for position, block in enumerate(draft.plan.blocks)
        if block.call is not None and block.tier == tier and position not in told and failed(block.call)
    ][::-1]
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
    asked = [position for position, block in enumerate(draft.plan.blocks) if is_asked(block)]
    # What is done again for the same prompt is told once.
    texts: dict[tuple[str, int], int] = {}
    for position, call in sorted(open_calls, key=lambda one: (-importance(one[1]), one[0])):
        texts.setdefault((call_text(call), bisect_left(asked, position)), position)
    draft.mentioned.update(texts[one] for one in fill_budget(texts, lambda one: len(one[0]) + 2, budget))
