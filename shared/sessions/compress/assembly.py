"""From a draft to a version: chunks for an agent, then its answers and what else finds room, at the length asked for.

Surviving markers are never shown, so no agent can change a byte of them. Behind the agent's lines come names that would
be lost; what room is left goes to words, to calls with their results, and last to what hardly counts. Where it came out
too long, the least of it goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.llm.tokens import most_tokens
from shared.sessions.blocks import Block, ToolCall, heading_of, markdown_of
from shared.sessions.compress.draft import (
    Draft,
    SummaryLine,
    by_worth,
    call_text,
    calls_of,
    failed,
    fix_last_request,
    importance,
    keep_pieces,
    open_items,
    tier_budgets,
)
from shared.sessions.compress.plan import Rank
from shared.sessions.compress.sources import CHANGING, RUNNING, Said, SaidKind, shorten_input, shorten_result
from shared.sessions.text import NameRanking, names_in

_CHUNK_NAMES_SHARE = 0.2
"""Of a tier's room what is left for names."""
_LEAST_ROOM = 80
"""Characters below which nothing is asked for."""
NAMED_TOKENS = 16
"""What a piece takes beside its text when it is shown with its number and who says it."""
_SPOKEN = (Rank.RULE, Rank.REQUEST, Rank.WORDS, Rank.REST)
_MUST_KEEP = 40


@dataclass(frozen=True)
class ChunkPiece:
    """A piece of what was said; without a number it is only there to be understood."""

    text: str
    speaker: str
    source: str
    worth: float
    number: int | None = None


@dataclass(frozen=True)
class Chunk:
    """Pieces of one tier in order."""

    position: int
    pieces: tuple[ChunkPiece, ...]
    room: int
    """Characters that what is made of them may take."""
    must_keep: tuple[str, ...]
    """Names that must not be lost, the most important first."""


@dataclass(frozen=True)
class CondensedChunk:
    """What an agent makes of a chunk: pieces it keeps as they are, and lines of its own."""

    kept: tuple[int, ...] = ()
    lines: tuple[SummaryLine, ...] = ()

    def as_rows(self) -> list[dict[str, Any]]:
        """Return it as it is kept until the version is whole."""
        return [
            {"kept": list(self.kept)},
            *({"text": line.text, "sources": list(line.sources)} for line in self.lines),
        ]


def condensed_of(rows: Sequence[Mapping[str, Any]]) -> CondensedChunk:
    """Return what was kept as rows."""
    lines = tuple(SummaryLine(row["text"], tuple(row["sources"])) for row in rows[1:])
    return CondensedChunk(tuple(rows[0]["kept"]), lines)


def chunks_of(draft: Draft, most: int) -> list[Chunk]:
    """Divide what is open into chunks of at most so many tokens (``most_tokens``), with room by length and worth."""
    found: list[Chunk] = []
    for tier, room in enumerate(tier_budgets(draft)):
        groups = list(_groups(draft, tier, most))
        spoken = [_weighted_chars(draft, group) for group in groups]
        free = int(room * (1 - _CHUNK_NAMES_SHARE))
        for group, length in zip(groups, spoken, strict=True):
            share = free * length // max(1, sum(spoken))
            if share >= _LEAST_ROOM:
                found.append(_chunk(draft, len(found), group, share))
    return found


def _groups(draft: Draft, tier: int, most: int) -> Iterator[list[int]]:
    """Yield the open items of a tier in groups of at most ``most`` tokens, the speaker named with each."""
    group: list[int] = []
    length = 0
    for number in open_items(draft, _SPOKEN, tier):
        cost = most_tokens(draft.items[number].text) + NAMED_TOKENS
        if group and length + cost > most:
            yield group
            group, length = [], 0
        group.append(number)
        length += cost
    if group:
        yield group


def _weighted_chars(draft: Draft, group: Sequence[int]) -> int:
    """Return how long a group is, with less for what hardly counts."""
    return sum(int(draft.items[number].cost * min(1.0, draft.items[number].worth)) + 1 for number in group)


def _chunk(draft: Draft, position: int, group: Sequence[int], room: int) -> Chunk:
    pieces = list(_chunk_pieces(draft, group))
    ranking = NameRanking()
    for place, piece in enumerate(pieces):
        ranking.add(piece.text, place, piece.worth)
    must_keep = tuple(name for name, _, _ in ranking.best_first()[:_MUST_KEEP])
    return Chunk(position, tuple(pieces), room, must_keep)


def _chunk_pieces(draft: Draft, group: Sequence[int]) -> Iterator[ChunkPiece]:
    """Yield the items of a group, and between them what was done meanwhile."""
    gathered, place = draft.plan.gathered, draft.items[group[0]].said
    for number in group:
        item = draft.items[number]
        for between in range(place, item.said):
            call = gathered[between].call
            if call is not None:
                yield ChunkPiece(call_text(call), "Assistant did", gathered[between].sources[0], 0.5)
        place = max(place, item.said)
        said = gathered[item.said]
        yield ChunkPiece(item.text, _speaker(said.kind), said.sources[0], item.worth, number)


def _speaker(kind: SaidKind) -> str:
    return {SaidKind.HUMAN: "User", SaidKind.THINKING: "Assistant thought", SaidKind.META: "Tool"}.get(
        kind, "Assistant"
    )


_ROUNDS = 8
_NEAR = 0.02
"""So near the length asked for nothing more is done."""
_NAMES_SHARE = 0.3
"""The most of the free room that names take."""
_NAMES_LABEL = 14
_NAMES_WORTH = {SaidKind.HUMAN: 5.0, SaidKind.ASSISTANT: 2.0, SaidKind.DIGEST: 2.0}
_LONG_PROMPT = 2_000
"""Characters from which on most of a prompt is pasted."""
_LONG_TEXT = 400_000
_RESULT_STEPS = (300, 1_200, 5_000, 10**9)
"""Characters of a call's input and result that are shown, step by step."""
_PAIR = 60
"""What a call with its result takes beside their text, about."""
_LEAST_SHOWN = 80


def assemble(draft: Draft, chunks: Sequence[Chunk], parts: Sequence[CondensedChunk]) -> list[Block]:
    """Complete a draft with what became of its chunks, and return its segments."""
    for chunk, part in zip(chunks, parts, strict=True):
        _add_chunk(draft, chunk, part)
    _add_names(draft)
    for _ in range(_ROUNDS):
        room, near = _free_chars(draft), int(draft.plan.target_chars * _NEAR)
        if room < 0:
            _trim(draft, -room)
        elif room <= near or not (_add_to_tiers(draft, room) or _add(draft, room)):
            break
    if _free_chars(draft) < 0:
        _trim(draft, -_free_chars(draft))
    return draft.segments()


def _free_chars(draft: Draft) -> int:
    return draft.plan.target_chars - draft.chars()


def _missing_by_tier(draft: Draft) -> list[int]:
    """Return the characters each tier lacks of its share; none where it takes more."""
    plan = draft.plan
    taken = Counter[int]()
    for segment in draft.segments():
        taken[segment.tier] += len(markdown_of(segment))
    total, budgets = plan.target_chars - len(heading_of(draft.heading)), plan.budgets
    return [max(0, total * share // max(1, sum(budgets)) - taken[tier]) for tier, share in enumerate(budgets)]


def _add_to_tiers(draft: Draft, room: int) -> bool:
    """Fill each tier up to its share, as far as all of it fits; return whether anything was added."""
    added = False
    lacking = _missing_by_tier(draft)
    for tier, wanted in enumerate(lacking):
        own = min(wanted, room * wanted // max(1, sum(lacking)))
        added = (own > _LEAST_SHOWN and _add(draft, own, tier)) or added
    return added


def _add_chunk(draft: Draft, chunk: Chunk, part: CondensedChunk) -> None:
    numbers = {piece.number for piece in chunk.pieces}
    draft.kept.update(number for number in part.kept if number in numbers)
    first = min(draft.items[piece.number].said for piece in chunk.pieces if piece.number is not None)
    places = {
        draft.plan.gathered[draft.items[piece.number].said].sources[0]: draft.items[piece.number].said
        for piece in chunk.pieces
        if piece.number is not None
    }
    for line in part.lines:
        draft.lines[next((places[one] for one in line.sources if one in places), first)].append(line)


def _add_names(draft: Draft) -> None:
    """Add the names that stand nowhere yet, to the tier in which they were first said, as far as it has room."""
    room = _free_chars(draft)
    if room <= 0:
        return
    text, lacking = "".join(map(markdown_of, draft.segments())), _missing_by_tier(draft)
    most = _NAMES_SHARE * draft.plan.target_chars / max(1, sum(draft.plan.budgets))
    left = [int(min(own, most * share)) for own, share in zip(lacking, draft.plan.budgets, strict=True)]
    present = set(names_in(text))
    for name, place, _ in names_of(draft):
        tier = draft.plan.tier_of[place]
        cost = len(name) + 2 + (0 if draft.names[tier] else _NAMES_LABEL)
        if cost <= min(left[tier], room) and name not in present and (len(text) > _LONG_TEXT or name not in text):
            draft.names[tier].append(name)
            left[tier] -= cost
            room -= cost


def names_of(draft: Draft) -> list[tuple[str, int, float]]:
    """Return the names in all that a draft is made of, looked up once."""
    if draft.ranked is None:
        draft.ranked = ranked_names(draft.plan.gathered)
    return draft.ranked


def ranked_names(gathered: Sequence[Said]) -> list[tuple[str, int, float]]:
    """Return the names in all that was said and done, the most important first, each with its first place."""
    ranking = NameRanking()
    for place, said in enumerate(gathered):
        for text, factor in _named_texts(said):
            ranking.add(text, place, factor * (0.3 if said.is_sidechain else 1.0))
    return ranking.best_first()


def _named_texts(said: Said) -> Iterator[tuple[str, float]]:
    call = said.call
    if call is None:
        is_pasted = said.kind is SaidKind.HUMAN and len(said.text) > _LONG_PROMPT
        yield said.text, 1.5 if is_pasted else _NAMES_WORTH.get(said.kind, 0.7)
        return
    is_change = call.name in CHANGING
    yield call_text(call), 4.0 if is_change else 3.0 if call.name in RUNNING else 1.5
    yield from ((str(value), 1.2 if is_change else 0.8) for value in call.input.values() if isinstance(value, str))
    yield shorten_result(call.result or "", 2_000), 3.0 if failed(call) else 0.5


def _add(draft: Draft, room: int, tier: int | None = None) -> bool:
    """Fill what is left of a tier, or of all; return whether anything was added."""
    before = room
    room -= keep_pieces(draft, by_worth(draft, open_items(draft, [Rank.RULE, Rank.REQUEST, Rank.WORDS], tier)), room)
    room -= _add_calls(draft, room, tier)
    for step in _RESULT_STEPS[:2]:
        room -= _show_results(draft, step, room, tier)
    if tier in (None, len(draft.plan.budgets) - 1):
        room -= fix_last_request(draft, draft.request_room + room)
    room -= keep_pieces(draft, by_worth(draft, open_items(draft, [Rank.REST], tier)), room)
    for step in _RESULT_STEPS[2:]:
        room -= _show_results(draft, step, room, tier)
    room -= keep_pieces(draft, by_worth(draft, open_items(draft, [Rank.ASIDE], tier)), room)
    return room < before


def _add_calls(draft: Draft, room: int, tier: int | None) -> int:
    taken = 0
    for place, call in _by_importance(draft, tier):
        cost = len(call_text(call)) + 2
        is_open = place not in draft.told and place not in draft.pairs and place not in draft.failures
        if is_open and taken + cost <= room:
            draft.told.add(place)
            taken += cost
    return taken


def _show_results(draft: Draft, most: int, room: int, tier: int | None) -> int:
    """Show calls with their results, at most so many characters of either; the last one as far as it goes."""
    taken = 0
    for place, call in _by_importance(draft, tier):
        left = room - taken
        if draft.pairs.get(place, 0) >= most or left < _LEAST_SHOWN:
            continue
        present = _present(draft, place, call)
        fits = _cost(call, most) - present <= left
        wanted = most if fits or place in draft.pairs else (left - _PAIR) // 2
        cost = _cost(call, wanted) - present
        if wanted >= _LEAST_SHOWN and cost <= left:
            draft.told.discard(place)
            draft.pairs[place] = wanted
            taken += max(0, cost)
    return taken


def _by_importance(draft: Draft, tier: int | None = None) -> list[tuple[int, ToolCall]]:
    return sorted(calls_of(draft, tier), key=lambda one: (-importance(one[1]) - 2 * failed(one[1]), -one[0]))


def _present(draft: Draft, place: int, call: ToolCall) -> int:
    if place in draft.pairs:
        return _cost(call, draft.pairs[place])
    return len(draft.failures.get(place, "")) or (len(call_text(call)) + 2 if place in draft.told else 0)


def _cost(call: ToolCall, most: int) -> int:
    given = shorten_input(call.input, most)
    return _PAIR + len(str(given)) + len(shorten_result(call.result or "", most))


def _trim(draft: Draft, excess: int) -> None:
    """Take out what is least: names, then words, calls and failures, by worth; never what is fixed."""
    for take in (_drop_pairs, _drop_words, _drop_names, _drop_told, _drop_requests, _drop_lines):
        if excess <= 0:
            return
        excess -= take(draft, excess)


def _drop_names(draft: Draft, excess: int) -> int:
    dropped = 0
    for tier in sorted(draft.names):
        while draft.names[tier] and dropped < excess:
            dropped += len(draft.names[tier].pop()) + 2
    return dropped


def _drop_words(draft: Draft, excess: int) -> int:
    return _drop_items(draft, (one for one in draft.kept if draft.items[one].rank >= Rank.WORDS), excess)


def _drop_requests(draft: Draft, excess: int) -> int:
    return _drop_items(draft, list(draft.kept), excess) if draft.kept else _drop_failures(draft, excess)


def _drop_items(draft: Draft, numbers: Iterable[int], excess: int) -> int:
    dropped = 0
    for number in reversed(by_worth(draft, list(numbers))):
        if dropped >= excess:
            break
        draft.kept.discard(number)
        dropped += draft.items[number].cost
    return dropped


def _drop_failures(draft: Draft, excess: int) -> int:
    dropped = 0
    for place in sorted(draft.failures):
        if dropped < excess:
            dropped += len(draft.failures.pop(place)) + 2
    return dropped


def _drop_told(draft: Draft, excess: int) -> int:
    dropped = 0
    for place, call in reversed(_by_importance(draft)):
        if place in draft.told and dropped < excess:
            draft.told.discard(place)
            dropped += len(call_text(call)) + 2
    return dropped


def _drop_pairs(draft: Draft, excess: int) -> int:
    dropped = 0
    for place, call in reversed(_by_importance(draft)):
        if place in draft.pairs and dropped < excess:
            dropped += _cost(call, draft.pairs.pop(place)) - len(call_text(call))
            draft.told.add(place)
    return dropped


def _drop_lines(draft: Draft, excess: int) -> int:
    dropped = 0
    for place in sorted(draft.lines, reverse=True):
        while draft.lines[place] and dropped < excess:
            dropped += len(draft.lines[place].pop().text) + 1
    return dropped
