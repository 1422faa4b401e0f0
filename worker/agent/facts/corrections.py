"""When what is said sets right what is known: only where the user says so, and only where one known fact is meant.

Other contradictions (a second place to live) are found by ``shared.facts.merging``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.facts.categories import Category
from worker.agent.facts.clauses import Said
from worker.agent.facts.patterns import Matched, is_whole, matched
from worker.agent.facts.protocol import KnownFact
from worker.agent.facts.wording import third_person, turned
from worker.agent.vocabulary import EMPTY, WORD, stem

_ONCE = r"(?:(?:just|recently|have|finally|now) )*"
_STOPPED = re.compile(r"^(?:I|we) no longer (?P<verb>\w+) (?P<rest>.+)$", re.IGNORECASE)
_NOT_ANY_MORE = re.compile(
    r"^(?:I|we) (?:do not|cannot) (?:\w+ly )?(?P<verb>\w+) (?P<rest>.+?) (?:any ?more|any longer)$", re.IGNORECASE
)
_MOVED = re.compile(rf"^(?:I|we) {_ONCE}moved from (?P<old>.+?) to (?P<new>(?-i:[A-Z])[^,]*?)$", re.IGNORECASE)
_SWITCHED = re.compile(
    rf"^(?:I|we) {_ONCE}(?:switched|changed|migrated) from (?P<old>.+?) to (?P<new>.+)$", re.IGNORECASE
)
_PLANS = re.compile(r"(?:plans|is planning|is going|wants|aims|is looking)\b")
_OUTING = re.compile(
    r"\b(?:walk|stroll|movie|film|dinner|lunch|breakfast|picnic|nap|shower|rest|shopping|coffee"
    r"|drink)\b(?!.*\b20\d\d\b)|\bgo (?:out|home|to bed|back)\b",
    re.IGNORECASE,
)
_SLOTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:lives|living|is based|based|resides) (?:in|near|on|at|outside)\b",
        r"\bworks as\b",
        r"\bworks (?:at|for)\b",
        r"\b(?:name is|is called|is named)\b",
        r"\byears old\b",
        r"\bbirthday is\b",
        r"\bemail(?: address)? is\b",
        r"\bphone number is\b",
        r"\bis from\b",
    )
)
_FAVOURITE = re.compile(r"\bfavou?rite (.+?) (?:is|are)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Found:
    """What a clause states, and the known fact it sets right."""

    matched: Matched
    updates: int | None = None
    ends: bool = False
    """Whether it only says that something is no longer so."""


def found_in(said: Said, known: Sequence[KnownFact]) -> Found | None:
    """Return what a clause states, with the one known fact it explicitly corrects."""
    explicit = _moved(said.text, known) or _switched(said.text, known) or _ended(said.text, known)
    if explicit:
        return explicit
    stated = matched(said.text)
    if stated is None or _is_passing(said, stated.phrase):
        return None
    return Found(stated, _same_slot(stated.phrase, known) if said.corrects else None)


def _is_passing(said: Said, phrase: str) -> bool:
    """Say whether a plan is over before it is of use: one for the day it is told on, or for an outing."""
    return _PLANS.match(phrase) is not None and (said.passing or _OUTING.search(phrase) is not None)


def settled(found: Sequence[Found], known: Sequence[KnownFact]) -> list[Found]:
    """Let what is so now take the place of what is said to be over: ``not at A any more, at B``."""
    kept = list(found)
    for over in [one for one in found if one.ends and one.updates is not None]:
        before = next(fact for fact in known if fact.fact_id == over.updates)
        slot = slot_of(before.statement)
        instead = next((one for one in kept if not one.ends and slot and slot_of(one.matched.phrase) == slot), None)
        if instead is not None:
            kept[kept.index(instead)] = replace(instead, updates=over.updates)
            kept.remove(over)
    return kept


def slot_of(statement: str) -> str | None:
    """Name what a statement gives the one value of, or None where there can be several."""
    favourite = _FAVOURITE.search(statement)
    if favourite:
        return f"favourite {favourite[1].lower()}"
    return next((slot.pattern for slot in _SLOTS if slot.search(statement)), None)


def _same_slot(phrase: str, known: Sequence[KnownFact]) -> int | None:
    slot = slot_of(phrase)
    return _only([fact for fact in known if slot is not None and slot_of(fact.statement) == slot])


def _only(facts: Sequence[KnownFact]) -> int | None:
    return facts[0].fact_id if len(facts) == 1 else None


def _moved(clause: str, known: Sequence[KnownFact]) -> Found | None:
    move = _MOVED.match(clause)
    if not move or not is_whole(move["new"]):
        return None
    phrase = f"lives in {turned(move['new'])}"
    return Found(Matched(phrase, Category.IDENTITY), _same_slot(phrase, known))


def _switched(clause: str, known: Sequence[KnownFact]) -> Found | None:
    switch = _SWITCHED.match(clause)
    if not switch or not (is_whole(switch["old"]) and is_whole(switch["new"])):
        return None
    phrase = f"switched from {turned(switch['old'])} to {turned(switch['new'])}"
    return Found(Matched(phrase, Category.PREFERENCE), _only(_telling(switch["old"], known)))


def _ended(clause: str, known: Sequence[KnownFact]) -> Found | None:
    end = _STOPPED.match(clause) or _NOT_ANY_MORE.match(clause)
    if not end:
        return None
    before = matched(f"I {end['verb']} {end['rest']}")
    if before is None:
        return None
    phrase = f"no longer {third_person(end['verb'])} {turned(end['rest'])}"
    said = _only(_telling(f"{end['verb']} {end['rest']}", known))
    return Found(Matched(phrase, before.category), said, ends=True)


def _telling(text: str, known: Sequence[KnownFact]) -> list[KnownFact]:
    """Return the known facts in which every word of weight in ``text`` stands."""
    wanted = _roots(text)
    return [fact for fact in known if wanted and wanted <= _roots(fact.statement)]


def _roots(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in WORD.findall(text.lower()) if word not in EMPTY)
