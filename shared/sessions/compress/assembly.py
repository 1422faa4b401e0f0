"""From a draft to a version: chunks for an agent, then its answers and what else finds room, at the length asked for.

Surviving markers are never shown, so no agent can change a byte of them. What room the agent's lines leave goes to
words, to calls with their results, and last to what hardly counts; where it came out too long, the least of it goes.
Names that would be lost come last, in a section of their own.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.llm.calls import most_tokens
from shared.sessions.blocks import Block, BlockKind, RecordedToolCall, fill_budget, heading_of, markdown_of
from shared.sessions.compress.draft import (
    Draft,
    by_worth,
    calls_of,
    failed,
    importance,
    keep_pieces,
    missing_by_tier,
    open_pieces,
    tier_budgets,
)
from shared.sessions.compress.opening import keep_failures, keep_last_request
from shared.sessions.compress.plan import BlockPiece, Rank
from shared.sessions.compress.sources import (
    CHANGING,
    DIGESTS,
    RUNNING,
    call_text,
    is_done,
    shorten_input,
    shorten_result,
)
from shared.sessions.text import NameRanking, names_in

_CHUNK_SHARE = 0.8
"""Of a tier's budget what is asked of an agent; the rest goes to calls and names."""
_LEAST_BUDGET = 80
"""Characters below which nothing is asked for."""
NAMED_TOKENS = 16
"""What a piece takes beside its text when it is shown with its number and who says it."""
_SPOKEN = (Rank.RULE, Rank.REQUEST, Rank.WORDS, Rank.REST)
_MUST_KEEP = 40
_ROUNDS = 8
_NEAR = 0.02
"""So near the length asked for nothing more is done."""
_NAMES_SHARE = 0.05
"""The most of a version that names take."""
_NAMES_LABEL = 14
_NO_NAME = re.compile(r"[\d.,:%-]+|[A-Za-z]+/[A-Za-z]+|\W+|true|false|null|nil|none|yes|no", re.IGNORECASE)
"""Shaped like a name, and says nothing in a list: measured numbers, either/or, signs, values."""
_NAMES_WORTH = {BlockKind.HUMAN: 5.0, BlockKind.ASSISTANT: 2.0, **dict.fromkeys(DIGESTS, 2.0)}
_LONG_PROMPT = 2_000
"""Characters from which on most of a prompt is pasted."""
_LONG_TEXT = 400_000
_RESULT_STEPS = (300, 1_200, 5_000, 10**9)
"""Characters of a call's input and result that are shown, step by step."""
_PAIR = 60
"""What a call with its result takes beside their text, about."""
_LEAST_SHOWN, _LEAST_LONGER = 80, 20


@dataclass(frozen=True)
class Chunk:
    """What an agent is given to condense: pieces of one tier in order."""

    position: int
    pieces: tuple[BlockPiece, ...]
    budget: int
    """Characters that what is made of them may take."""
    must_keep: tuple[str, ...]
    """Names that must not be lost, the most important first."""


@dataclass(frozen=True)
class CondensedChunk:
    """What an agent makes of a chunk: pieces it keeps as they are, and lines of its own; taken as it is."""

    kept: tuple[int, ...] = ()
    lines: tuple[Block, ...] = ()

    def as_rows(self) -> list[dict[str, Any]]:
        """Return it as it is kept until the version is whole."""
        lines = ({"text": line.text, "sources": list(line.sources)} for line in self.lines)
        return [{"kept": list(self.kept)}, *lines]


def summary_line(text: str, sources: Sequence[str]) -> Block:
    """Return a line of an agent's own words about some records."""
    return Block(BlockKind.SUMMARY, "assistant", text, sources=tuple(sources))


def condensed_of(rows: Sequence[Mapping[str, Any]]) -> CondensedChunk:
    """Return what was kept as rows."""
    lines = tuple(summary_line(row["text"], row["sources"]) for row in rows[1:])
    return CondensedChunk(tuple(rows[0]["kept"]), lines)


def chunks_of(draft: Draft, most: int) -> list[Chunk]:
    """Divide what is open into chunks of at most so many tokens (``most_tokens``), with budgets by length and worth."""
    found: list[Chunk] = []
    for tier, budget in enumerate(tier_budgets(draft)):
        groups = list(_groups(draft, tier, most))
        spoken = [sum(int(piece.cost * min(1.0, piece.worth)) + 1 for piece in group) for group in groups]
        free = int(budget * _CHUNK_SHARE)
        for group, length in zip(groups, spoken, strict=True):
            share = free * length // max(1, sum(spoken))
            if share < _LEAST_BUDGET:
                continue
            pieces = tuple(_with_calls(draft, group))
            ranking = NameRanking()
            for nth, piece in enumerate(pieces):
                ranking.add(piece.text, nth, piece.worth)
            must_keep = tuple(name for name, _, _ in ranking.best_first()[:_MUST_KEEP])
            found.append(Chunk(len(found), pieces, share, must_keep))
    return found


def _groups(draft: Draft, tier: int, most: int) -> Iterator[list[BlockPiece]]:
    """Yield the open pieces of a tier in groups of at most ``most`` tokens, the speaker named with each."""
    group: list[BlockPiece] = []
    length = 0
    for number in open_pieces(draft, _SPOKEN, tier):
        cost = most_tokens(draft.pieces[number].text) + NAMED_TOKENS
        if group and length + cost > most:
            yield group
            group, length = [], 0
        group.append(draft.pieces[number])
        length += cost
    if group:
        yield group


def _with_calls(draft: Draft, group: Sequence[BlockPiece]) -> Iterator[BlockPiece]:
    """Yield the pieces of a group, and between them what was done meanwhile."""
    blocks, position = draft.plan.blocks, group[0].block
    for piece in group:
        for between in range(position, piece.block):
            call = blocks[between].call
            if call is not None:
                text, source = call_text(call), blocks[between].sources[0]
                yield BlockPiece(between, text, Rank.REST, 0.5, speaker="Assistant did", source=source)
        position = max(position, piece.block)
        yield piece


def assemble(draft: Draft, chunks: Sequence[Chunk], parts: Sequence[CondensedChunk]) -> list[Block]:
    """Complete a draft with what became of its chunks, and return its blocks."""
    for chunk, part in zip(chunks, parts, strict=True):
        pieces = [piece for piece in chunk.pieces if piece.number is not None]
        numbers = {piece.number for piece in pieces}
        draft.kept |= {number for number in part.kept if number in numbers}
        positions = {piece.source: piece.block for piece in pieces}
        first = min(piece.block for piece in pieces)
        for line in part.lines:
            draft.lines[next((positions[one] for one in line.sources if one in positions), first)].append(line)
    near, added, over = int(draft.plan.target_chars * _NEAR), 0, 0
    for _ in range(_ROUNDS):
        free = _free_chars(draft)
        if free < 0:
            # What pieces take with labels and gaps is known only roughly: by what was too much, less is tried next.
            over = -free if added else 0
            _trim(draft, -free)
        elif free <= near + over or not (added := _add_to_tiers(draft, free - over) or _add(draft, free - over)):
            break
    _trim(draft, -_free_chars(draft))
    # List the names that stand nowhere, the most important first, as far as their share of the whole goes.
    text = "".join(map(markdown_of, draft.blocks()))
    present = set(names_in(text))
    missing = (
        name
        for name, _, _ in names_of(draft)
        if name not in present and (len(text) > _LONG_TEXT or name not in text) and not _NO_NAME.fullmatch(name)
    )
    chars = draft.chars()
    # The heading may yet become shorter, so it does not count for what they are a share of.
    share = _NAMES_SHARE * (chars - len(heading_of(draft.heading)))
    most = int(min(share, draft.plan.target_chars - chars)) - _NAMES_LABEL
    draft.names = list(fill_budget(missing, lambda name: len(name) + 2, most, least=4))
    return draft.blocks()


def names_of(draft: Draft) -> list[tuple[str, int, float]]:
    """Return the names in all that a draft is made of, looked up once."""
    if draft.ranked is None:
        draft.ranked = ranked_names(draft.plan.blocks)
    return draft.ranked


def ranked_names(blocks: Sequence[Block]) -> list[tuple[str, int, float]]:
    """Return the names in all that was said and done, the most important first, each with its first position."""
    ranking = NameRanking()
    for position, block in enumerate(blocks):
        for text, factor in _named_texts(block):
            ranking.add(text, position, factor * (0.3 if block.is_sidechain else 1.0))
    return ranking.best_first()


def _free_chars(draft: Draft) -> int:
    """Return the characters that are left beside those for names, where there are any."""
    most = draft.plan.target_chars
    return most - int(most * _NAMES_SHARE * bool(names_of(draft))) - draft.chars()


def _named_texts(block: Block) -> Iterator[tuple[str, float]]:
    call = block.call
    if call is None:
        is_pasted = block.kind is BlockKind.HUMAN and len(block.text) > _LONG_PROMPT
        yield block.text, 1.5 if is_pasted else _NAMES_WORTH.get(block.kind, 0.7)
        return
    is_change = call.name in CHANGING
    yield call_text(call), 4.0 if is_change else 3.0 if call.name in RUNNING else 1.5
    yield from ((str(value), 1.2 if is_change else 0.8) for value in call.input.values() if isinstance(value, str))
    yield shorten_result(call.result or "", 2_000), 3.0 if failed(call) else 0.5


def _add_to_tiers(draft: Draft, free: int) -> bool:
    """Fill each tier up to its share, as far as all of it fits; return whether anything was added."""
    added = False
    missing = missing_by_tier(draft)
    for tier, wanted in enumerate(missing):
        own = min(wanted, free * wanted // max(1, sum(missing)))
        added = (own > _LEAST_SHOWN // 2 and _add(draft, own, tier)) or added
    return added


def _add(draft: Draft, budget: int, tier: int | None = None) -> bool:
    """Fill what is left of a tier, or of all; return whether anything was added."""
    left = budget
    # Show whole what had to be cut, where there is room for it now.
    costs = {number: draft.pieces[number].cost - most for number, most in draft.cuts.items()}
    mended = list(fill_budget(costs, costs.__getitem__, left))
    for number in mended:
        del draft.cuts[number]
    left -= sum(costs[number] for number in mended)
    left -= _keep_ranks(draft, [Rank.RULE, Rank.REQUEST, Rank.WORDS], left, tier)
    left -= keep_failures(draft, tier, left)
    costs = {
        position: len(call_text(call)) + 2
        for position, call in _by_importance(draft, tier)
        if position not in draft.mentioned and position not in draft.pairs and is_done(call)
    }
    mentioned = list(fill_budget(costs, costs.__getitem__, left))
    draft.mentioned.update(mentioned)
    left -= sum(costs[position] for position in mentioned)
    for step in _RESULT_STEPS[:2]:
        left -= _show_results(draft, step, left, tier)
    if tier in (None, len(draft.plan.budgets) - 1):
        left -= keep_last_request(draft, left)
    left -= _keep_ranks(draft, [Rank.REST], left, tier)
    for step in _RESULT_STEPS[2:]:
        left -= _show_results(draft, step, left, tier)
    left -= _keep_ranks(draft, [Rank.ASIDE, Rank.INSERTED], left, tier)
    left -= _lengthen_cuts(draft, left) if tier is None else 0
    return left < budget


def _lengthen_cuts(draft: Draft, budget: int) -> int:
    """Show more of what cannot be shown whole; return the characters it takes."""
    if not draft.cuts or budget < _LEAST_LONGER:
        return 0
    draft.cuts[max(draft.cuts)] += budget
    return budget


def _keep_ranks(draft: Draft, ranks: Sequence[Rank], budget: int, tier: int | None) -> int:
    return keep_pieces(draft, by_worth(draft, open_pieces(draft, ranks, tier)), budget)


def _show_results(draft: Draft, most: int, budget: int, tier: int | None) -> int:
    """Show calls with their results, at most so many characters of either; the last one as far as it goes."""
    left = budget
    for position, call in _by_importance(draft, tier):
        is_others = draft.plan.blocks[position].is_sidechain
        if is_others or draft.pairs.get(position, 0) >= most or left < _LEAST_SHOWN:
            continue
        if position in draft.pairs:
            present = _pair_chars(call, draft.pairs[position])
        else:
            mentioned = len(call_text(call)) + 2 if position in draft.mentioned else 0
            present = len(draft.failures.get(position, "")) or mentioned
        fits = _pair_chars(call, most) - present <= left
        wanted = most if fits or position in draft.pairs else (left - _PAIR) // 2
        cost = _pair_chars(call, wanted) - present
        if wanted >= _LEAST_SHOWN and cost <= left:
            draft.mentioned.discard(position)
            draft.pairs[position] = wanted
            left -= max(0, cost)
    return budget - left


def _by_importance(draft: Draft, tier: int | None = None) -> list[tuple[int, RecordedToolCall]]:
    return sorted(calls_of(draft, tier), key=lambda one: (-importance(one[1]) - 2 * failed(one[1]), -one[0]))


def _pair_chars(call: RecordedToolCall, most: int) -> int:
    given = shorten_input(call.input, most)
    return _PAIR + len(str(given)) + len(shorten_result(call.result or "", most))


def _trim(draft: Draft, excess: int) -> None:
    """Take out what is least until it fits; never what is fixed."""
    removed = _removals(draft)
    while excess > 0 and (chars := next(removed, None)) is not None:
        excess -= chars


def _removals(draft: Draft) -> Iterator[int]:
    """Take out one thing after the other and yield the characters it took: results, words, calls, failures, requests.

    What a person typed when they refused or answered something goes last, what was asked last never.
    """
    for position, call in reversed(_by_importance(draft)):
        if position in draft.pairs:
            chars = _pair_chars(call, draft.pairs.pop(position))
            if is_done(call):
                draft.mentioned.add(position)
                chars -= len(call_text(call))
            yield chars
    yield from _pieces_out(draft, lambda piece: piece.rank >= Rank.WORDS)
    for position, call in reversed(_by_importance(draft)):
        if position in draft.mentioned and position not in draft.last_calls:
            draft.mentioned.discard(position)
            yield len(call_text(call)) + 2
    for position in sorted(draft.lines, reverse=True):
        while draft.lines[position]:
            yield len(draft.lines[position].pop().text) + 1
    for position in sorted(draft.failures):
        yield len(draft.failures.pop(position)) + 2
    yield from _pieces_out(draft, lambda piece: piece.block not in draft.calls_of_replies)
    yield from _pieces_out(draft, lambda piece: True)


def _pieces_out(draft: Draft, may_go: Callable[[BlockPiece], bool]) -> Iterator[int]:
    for number in reversed(by_worth(draft, draft.kept - draft.must)):
        if may_go(draft.pieces[number]):
            draft.kept.discard(number)
            yield draft.pieces[number].cost
