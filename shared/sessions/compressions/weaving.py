"""Brings what was fixed and what an agent made of the rest together, and lands at the length that was asked for.

Names that would be lost come next, the most important first; what room is left then goes to words, to calls with their
results, and last to what hardly counts. Where it came out too long, the least of it goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from shared.sessions.compressions.chunks import Chunk, Condensed
from shared.sessions.compressions.drafting import Draft, fragment
from shared.sessions.compressions.filling import (
    by_worth,
    calls_of,
    failed,
    fix_last_request,
    importance,
    keep,
    open_items,
)
from shared.sessions.compressions.gathering import Said, SaidKind
from shared.sessions.compressions.items import Rank
from shared.sessions.compressions.names import Ranking, names_in
from shared.sessions.compressions.rendering import heading_of, markdown_of
from shared.sessions.compressions.segments import Segment, ToolCall
from shared.sessions.compressions.telling import CHANGING, RUNNING, identifying, telling

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
_LEAST_RESULT = 80


def weave(draft: Draft, chunks: Sequence[Chunk], parts: Sequence[Condensed]) -> list[Segment]:
    """Complete a draft with what became of its chunks, and return its segments."""
    for chunk, part in zip(chunks, parts, strict=True):
        _take_in(draft, chunk, part)
    _name(draft)
    for _ in range(_ROUNDS):
        room, near = _room(draft), int(draft.plan.target_chars * _NEAR)
        if room < 0:
            _trim(draft, -room)
        elif room <= near or not (_add_to_tiers(draft, room) or _add(draft, room)):
            break
    if _room(draft) < 0:
        _trim(draft, -_room(draft))
    return draft.segments()


def _room(draft: Draft) -> int:
    return draft.plan.target_chars - draft.chars()


def _rooms(draft: Draft) -> list[int]:
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
    lacking = _rooms(draft)
    for tier, wanted in enumerate(lacking):
        own = min(wanted, room * wanted // max(1, sum(lacking)))
        added = (own > _LEAST_RESULT and _add(draft, own, tier)) or added
    return added


def _take_in(draft: Draft, chunk: Chunk, part: Condensed) -> None:
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


def _name(draft: Draft) -> None:
    """Add the names that stand nowhere yet, to the tier in which they were first said, as far as it has room."""
    room = _room(draft)
    if room <= 0:
        return
    text, lacking = "".join(map(markdown_of, draft.segments())), _rooms(draft)
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
    ranking = Ranking()
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
    yield fragment(call), 4.0 if is_change else 3.0 if call.name in RUNNING else 1.5
    yield from ((str(value), 1.2 if is_change else 0.8) for value in call.input.values() if isinstance(value, str))
    yield telling(call.result or "", 2_000), 3.0 if failed(call) else 0.5


def _add(draft: Draft, room: int, tier: int | None = None) -> bool:
    """Fill what is left of a tier, or of all; return whether anything was added."""
    before = room
    room -= keep(draft, by_worth(draft, open_items(draft, [Rank.RULE, Rank.REQUEST, Rank.WORDS], tier)), room)
    room -= _tell(draft, room, tier)
    for step in _RESULT_STEPS[:2]:
        room -= _show(draft, step, room, tier)
    if tier in (None, len(draft.plan.budgets) - 1):
        room -= fix_last_request(draft, draft.request_room + room)
    room -= keep(draft, by_worth(draft, open_items(draft, [Rank.REST], tier)), room)
    for step in _RESULT_STEPS[2:]:
        room -= _show(draft, step, room, tier)
    room -= keep(draft, by_worth(draft, open_items(draft, [Rank.ASIDE], tier)), room)
    return room < before


def _tell(draft: Draft, room: int, tier: int | None) -> int:
    taken = 0
    for place, call in _by_importance(draft, tier):
        cost = len(fragment(call)) + 2
        is_open = place not in draft.told and place not in draft.pairs and place not in draft.failures
        if is_open and taken + cost <= room:
            draft.told.add(place)
            taken += cost
    return taken


def _show(draft: Draft, most: int, room: int, tier: int | None) -> int:
    """Show calls with their results, at most so many characters of either; the last one as far as it goes."""
    taken = 0
    for place, call in _by_importance(draft, tier):
        left = room - taken
        if draft.pairs.get(place, 0) >= most or left < _LEAST_RESULT:
            continue
        present = _present(draft, place, call)
        fits = _cost(call, most) - present <= left
        wanted = most if fits or place in draft.pairs else (left - _PAIR) // 2
        cost = _cost(call, wanted) - present
        if wanted >= _LEAST_RESULT and cost <= left:
            draft.told.discard(place)
            draft.pairs[place] = wanted
            taken += max(0, cost)
    return taken


def _by_importance(draft: Draft, tier: int | None = None) -> list[tuple[int, ToolCall]]:
    return sorted(calls_of(draft, tier), key=lambda one: (-importance(one[1]) - 2 * failed(one[1]), -one[0]))


def _present(draft: Draft, place: int, call: ToolCall) -> int:
    if place in draft.pairs:
        return _cost(call, draft.pairs[place])
    return len(draft.failures.get(place, "")) or (len(fragment(call)) + 2 if place in draft.told else 0)


def _cost(call: ToolCall, most: int) -> int:
    given = identifying(call.input, most)
    return _PAIR + len(str(given)) + len(telling(call.result or "", most))


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
            dropped += len(fragment(call)) + 2
    return dropped


def _drop_pairs(draft: Draft, excess: int) -> int:
    dropped = 0
    for place, call in reversed(_by_importance(draft)):
        if place in draft.pairs and dropped < excess:
            dropped += _cost(call, draft.pairs.pop(place)) - len(fragment(call))
            draft.told.add(place)
    return dropped


def _drop_lines(draft: Draft, excess: int) -> int:
    dropped = 0
    for place in sorted(draft.lines, reverse=True):
        while draft.lines[place] and dropped < excess:
            dropped += len(draft.lines[place].pop().text) + 1
    return dropped
