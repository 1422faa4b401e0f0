"""A version under way: what of it is chosen so far, what that comes to as blocks, and what is still open."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from shared.sessions.blocks import Block, BlockKind, Heading, RecordedToolCall, fill_budget, heading_of, markdown_of
from shared.sessions.compress.plan import BlockPiece, CompressionPlan, Rank, is_asked, pieces_of, statements_in
from shared.sessions.compress.sources import (
    CHANGING,
    RUNNING,
    failure_line,
    has_failed,
    is_told_by_itself,
    run_text,
    shorten_input,
    shorten_result,
)
from shared.sessions.text import GAP, StatementSpan, excerpt_of, shortened
from shared.sessions.transcripts.typed import SUB_AGENT

_MERGED = frozenset({BlockKind.WORDS, BlockKind.SUMMARY, BlockKind.FAILURE})
_LONGEST = 4_000
"""Characters from which on a block takes no more in."""
_LABEL = 18
"""Characters that a block takes beside its text, about."""
_QUESTION_CHARS, _OBJECT_CHARS, _SHORT_REPLY = 160, 100, 80


@dataclass
class Draft:
    """What is chosen so far."""

    plan: CompressionPlan
    heading: Heading
    statements: list[list[StatementSpan]] = field(init=False)
    pieces: list[BlockPiece] = field(init=False)
    kept: set[int] = field(default_factory=set)
    """Numbers of pieces."""
    cuts: dict[int, int] = field(default_factory=dict)
    """Of pieces that do not stand whole the most characters; only of what must not be lost."""
    must: set[int] = field(default_factory=set)
    """Numbers of pieces that are never taken out again: what was asked last and how it came out."""
    mentioned: set[int] = field(default_factory=set)
    """Positions of calls that are told in a line shared with their neighbours."""
    last_calls: set[int] = field(default_factory=set)
    """Of those with which the session ends, which are never taken out again."""
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

    def is_shown(self, position: int) -> bool:
        """Whether any of a block's words stand there."""
        return position in self.plan.kept or bool(self.chosen_of(position))

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
        at = position - 1
        while at >= 0 and blocks[at].kind is BlockKind.HUMAN and blocks[at].sources == blocks[position].sources:
            if self.chosen_of(at):
                return None  # What it answers stands there already.
            at -= 1
        asked = blocks[at] if at >= 0 else None
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
        is_cut = len(said) > 1 and said[-2].number not in self.kept
        text = (f"{GAP} " if is_cut else "") + shortened(said[-1].text.strip(), _QUESTION_CHARS)
        return Block(
            BlockKind.QUESTION, "assistant", text, blocks[at].at, blocks[at].sources, tier=blocks[position].tier
        )

    def _in_order(self) -> Iterator[Block]:
        run: list[Block] = []
        for position, block in enumerate(self.plan.blocks):
            own = list(self._shown_of(position, block))
            is_mentioned = position in self.mentioned
            if run and (
                own or block.tier != run[0].tier or (is_mentioned and block.is_sidechain != run[0].is_sidechain)
            ):
                yield _mention(run)
                run = []
            yield from own
            run += [block] if is_mentioned else []
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
            most = self.pairs[position]
            result = None if block.call.result is None else shorten_result(block.call.result, most)
            shown = replace(block.call, input=shorten_input(block.call.input, most), result=result)
            text = run_text([block.call])
            pair = Block(BlockKind.TOOL, "assistant", text, block.at, block.sources, call=shown, tier=block.tier)
            yield pair
        elif position in self.failures:
            yield replace(base, kind=BlockKind.FAILURE, role="assistant", text=self.failures[position])
        elif chosen := self.chosen_of(position):
            companion = self.companion_of(position)
            if companion is not None:
                yield companion
            is_pinned = position in self.plan.last_request
            yield replace(base, kind=_kind_of(block, chosen), text=self.text_of(position), is_pinned=is_pinned)
        elif self.pieces_at(position) and any(
            self._is_kept_beside(position, at) for at in (position - 1, position + 1)
        ):
            yield replace(base, kind=_kind_of(block, ()), text=GAP)

    def _is_kept_beside(self, position: int, at: int) -> bool:
        """Whether a marked part of the same message stands there."""
        return at in self.plan.kept and self.plan.blocks[at].sources == self.plan.blocks[position].sources


def is_answer(block: Block) -> bool:
    """Whether the assistant said it to a person."""
    return block.kind is BlockKind.ASSISTANT and not block.is_sidechain and bool(block.text.strip())


def is_spoken(block: Block) -> bool:
    """Whether a person or the assistant said it to the other."""
    return is_asked(block) or is_answer(block)


def _mention(run: Sequence[Block]) -> Block:
    """Return calls that follow each other as one line; those of a sub-agent under its name."""
    sources = tuple(dict.fromkeys(source for block in run for source in block.sources))
    text = run_text([block.call for block in run if block.call])
    role, label = ("note", SUB_AGENT) if run[0].is_sidechain else ("assistant", "")
    return Block(BlockKind.TOOL, role, text, run[0].at, sources, tier=run[0].tier, label=label)


def _kind_of(block: Block, chosen: Sequence[BlockPiece]) -> BlockKind:
    if block.kind is BlockKind.HUMAN:
        is_rule = bool(chosen) and all(piece.rank is Rank.RULE for piece in chosen)
        return BlockKind.INSTRUCTION if is_rule else BlockKind.REQUEST
    return BlockKind.WORDS if block.kind is BlockKind.ASSISTANT else block.kind


def _belong_together(one: Block, other: Block) -> bool:
    if one.call or other.call or one.is_pinned or other.is_pinned or len(one.text) > _LONGEST:
        return False
    return one.kind in _MERGED and (one.kind, one.role, one.label, one.tier) == (
        other.kind, other.role, other.label, other.tier,
    )  # fmt: skip


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
        return piece.cost + (0 if piece.block in begun else opening_cost(draft, piece.block))

    taken = 0
    for number in fill_budget((number for number in numbers if number not in draft.kept), cost, budget):
        taken += cost(number)
        draft.kept.add(number)
        begun.add(draft.pieces[number].block)
    return taken


def opening_cost(draft: Draft, position: int) -> int:
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
    return 3.0 if call.name in (*CHANGING, "ExitPlanMode") else 2.0 if call.name in RUNNING else 1.0


def failed(call: RecordedToolCall) -> bool:
    """Whether a call did not do what it was made for."""
    return has_failed(call.name, call.result or "", call.is_error)
