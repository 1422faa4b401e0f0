"""Which facts a context needs, in which order, and which of them give way when the window is full.

Pure rules over values. How many fit is decided where they are written down. Source: seed 000, "Memory Organization" and
"Context Compaction"; seed 001, task 1; decisions, "Facts and context".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from shared.context.places import speaks_of_persons_or_places
from shared.facts.categories import Category

SURE = 0.8
"""A preference has to be surer than this to stay in a full window."""
_WORD = re.compile(r"[^\W_]{3,}")
_SAYING_NOTHING = """
the and for are was were has have had not but can could would should will shall did does done this that these those
with from into onto over under about what when where which who whom whose why how all any some more most than then
there here its our ours your yours her hers his him she they them their theirs you get got let use uses user used
please help need want like just also very much many make makes give tell show
"""
_EMPTY_WORDS = frozenset(_SAYING_NOTHING.split())
_ORDER = {category: place for place, category in enumerate(Category)}


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact as far as choosing and showing it needs it."""

    fact_id: int
    statement: str
    category: Category
    confidence: float
    last_seen: datetime
    pin: int | None = None
    """Its place among the pinned ones."""


def in_order(facts: Iterable[KnownFact], message: str | None) -> tuple[KnownFact, ...]:
    """Return the facts a context with this message may show, the most needed first.

    Pinned ones in the order of their places; then project, preference, identity, each by the words it shares with the
    message, by confidence, by how lately it was heard. Identity only when the message speaks of persons or places.
    """
    candidates = list(facts)
    if not _asks_who(message, candidates):
        candidates = [fact for fact in candidates if fact.pin is not None or fact.category is not Category.IDENTITY]
    words = keywords(message or "")
    return tuple(sorted(candidates, key=lambda fact: _rank(fact, words)))


def reduced(shown: Sequence[KnownFact]) -> tuple[KnownFact, ...]:
    """Return which of the facts shown stay in a full window.

    Pinned ones and projects do, identity does not, and of the preferences the sure ones, at most half.
    """
    preferences = [fact for fact in shown if fact.category is Category.PREFERENCE and fact.pin is None]
    sure = [fact for fact in preferences if fact.confidence > SURE][: len(preferences) // 2]
    staying = {fact.fact_id for fact in sure}
    return tuple(
        fact for fact in shown if fact.pin is not None or fact.category is Category.PROJECT or fact.fact_id in staying
    )


def keywords(text: str) -> frozenset[str]:
    """Return the words that say what a text is about, in singular and plural."""
    words = {word.removesuffix("s") for word in words_of(text) - _EMPTY_WORDS}
    return frozenset(words | {f"{word}s" for word in words})


def words_of(text: str) -> set[str]:
    """Return the words of a text that are not very short."""
    return set(_WORD.findall(text.lower()))


def _asks_who(message: str | None, facts: Sequence[KnownFact]) -> bool:
    identity = [fact.statement for fact in facts if fact.category is Category.IDENTITY]
    return bool(message) and bool(identity) and speaks_of_persons_or_places(message or "", identity)


def _rank(fact: KnownFact, words: frozenset[str]) -> tuple[float, ...]:
    if fact.pin is not None:
        return (-1, fact.pin, fact.fact_id)
    shared = len(words & words_of(fact.statement)) if words else 0
    return (_ORDER[fact.category], -shared, -fact.confidence, -fact.last_seen.timestamp(), fact.fact_id)
