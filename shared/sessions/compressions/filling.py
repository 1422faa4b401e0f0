"""Fills a draft up to what it may take: what must not be lost first, then what tells most for its length.

What is fixed and what an agent has to do with are chosen before the agent is asked; what finds room beside its answer
afterwards. All of it is greedy and by order alone, so the same input always gives the same draft.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from shared.sessions.compressions.drafting import Draft, fragment
from shared.sessions.compressions.gathering import Said, SaidKind
from shared.sessions.compressions.items import Item, Rank
from shared.sessions.compressions.planning import Plan
from shared.sessions.compressions.rendering import Heading
from shared.sessions.compressions.segments import ToolCall
from shared.sessions.compressions.telling import CHANGING, RUNNING, cut, failure, has_failed

_LABEL = 18
"""Characters that a segment takes beside its text, about."""
_REQUEST_SHARE, _CUT_SHARE = 4, 8
"""What was asked last stands whole where it takes at most a quarter of the whole; else its ends take an eighth."""
_LEAST_REQUEST = 160
_RULES, _FAILURES, _REQUESTS, _CALLS = 0.20, 0.15, 0.30, 0.14
"""The most of a tier's room that goes to each before an agent is asked."""
_FAILURE_CHARS = 200


def open_draft(plan: Plan, heading: Heading) -> Draft:
    """Return a draft with all that is chosen before an agent is asked."""
    draft = Draft(plan, heading)
    if fix_last_request(draft, max(_LEAST_REQUEST, plan.target_chars // _REQUEST_SHARE)) and is_cut(draft):
        fix_last_request(draft, max(_LEAST_REQUEST, plan.target_chars // _CUT_SHARE))
    for tier, room in enumerate(rooms(draft)):
        _rules(draft, tier, int(room * _RULES))
        _failures(draft, tier, int(room * _FAILURES))
        _requests(draft, tier, int(room * _REQUESTS), room)
        _calls(draft, tier, int(room * _CALLS))
    return draft


def rooms(draft: Draft) -> list[int]:
    """Return the characters each tier may yet take: what all may, less what is chosen, by the tiers' budgets."""
    budgets = draft.plan.budgets
    left, total = max(0, draft.plan.target_chars - draft.chars()), max(1, sum(budgets))
    return [left * budget // total for budget in budgets]


def by_worth(draft: Draft, numbers: Iterable[int]) -> list[int]:
    """Return the numbers of items, the most telling first."""
    return sorted(numbers, key=lambda number: (-draft.items[number].worth, number))


def keep(draft: Draft, numbers: Iterable[int], room: int) -> int:
    """Keep items in the order given as far as there is room; return how much was taken."""
    taken, begun = 0, {draft.items[number].said for number in draft.kept}
    for number in numbers:
        item = draft.items[number]
        cost = item.cost + (0 if item.said in begun else label_of(draft.plan.gathered[item.said]))
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


def label_of(said: Said) -> int:
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


def _rules(draft: Draft, tier: int, room: int) -> None:
    keep(draft, by_worth(draft, open_items(draft, [Rank.RULE], tier)), room)


def _requests(draft: Draft, tier: int, room: int, most: int) -> None:
    """Keep what was asked for: the first piece of each prompt before the second of any.

    One of them may take more than its share, up to ``most``: a tier that says nothing of what was asked tells little.
    """
    turn: dict[int, int] = defaultdict(int)
    order: dict[int, tuple[int, float, int]] = {}
    for number in open_items(draft, [Rank.RULE, Rank.REQUEST], tier):
        item: Item = draft.items[number]
        order[number] = (min(turn[item.said], 2), -item.worth, number)
        turn[item.said] += 1
    asked = sorted(order, key=order.__getitem__)
    if not keep(draft, asked, room):
        keep(draft, asked[:1], most)


def _failures(draft: Draft, tier: int, room: int) -> None:
    """Tell each failed attempt in a line, the last ones first; shorter, where there are too many."""
    places = [(place, call) for place, call in reversed(calls_of(draft, tier)) if failed(call)]
    most = max(80, min(_FAILURE_CHARS, room // max(1, len(places))))
    seen = set[str]()
    for place, call in places:
        line = cut(failure(call.name, call.input, call.result or "", most), most)
        if line not in seen and len(line) <= room:
            draft.failures[place] = line
            seen.add(line)
            room -= len(line) + 1


def _calls(draft: Draft, tier: int, room: int) -> None:
    """Tell calls in a few words each: first what changed something, then what ran, then what only looked."""
    open_calls = [(place, call) for place, call in calls_of(draft, tier) if place not in draft.failures]
    known = set[str]()
    for place, call in sorted(open_calls, key=lambda one: (-importance(one[1]), one[0])):
        text = fragment(call)
        if text not in known and len(text) + 2 <= room:
            draft.told.add(place)
            known.add(text)
            room -= len(text) + 2
