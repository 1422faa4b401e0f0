"""What kinds of facts there are, how long each lives, and what a statement is about, by its words alone.

Work in hand and plans are ``project``, who the user is ``identity``, and the rest ``preference``: a wish or a habit
wrongly called a preference lives longest and gives way last but one, so the doubt falls on that side. Of some things a
user has only one: a home, an employer, a name, an age; a second value contradicts the first.
Source: seed 000; decisions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from shared.text.classifier import StatementSort, judge
from shared.text.lines import clean


class Category(StrEnum):
    """What a fact is about, the most pressing first."""

    PROJECT = "project"
    """Work in hand, plans and goals."""
    PREFERENCE = "preference"
    """What the user likes, uses or wants done in a certain way."""
    IDENTITY = "identity"
    """Who the user is: name, place, family, health, profession."""


WEIGHTS = {Category.PROJECT: 0.8, Category.PREFERENCE: 0.3, Category.IDENTITY: 0.5}
"""How fast a kind of fact gives way as it grows old."""
LIFETIMES = {
    Category.PROJECT: timedelta(days=60),
    Category.PREFERENCE: timedelta(days=180),
    Category.IDENTITY: timedelta(days=365),
}
"""A fact that was not heard of for longer than this expires, unless it is pinned."""


_USER = re.compile(r"^(?:the )?user(?:['’]s)? ", re.IGNORECASE)
_SORTS = {
    Category.IDENTITY: (StatementSort.HARM, StatementSort.IDENTITY, StatementSort.RELATIVE),
    Category.PREFERENCE: (StatementSort.WISH, StatementSort.LIKE),
    Category.PROJECT: (StatementSort.PLAN, StatementSort.DECISION, StatementSort.NEED),
}


def category_of(statement: str) -> Category:
    """Return what a statement is about; one that says nothing known is a preference."""
    if not re.search(r"[^\W\d_]", statement):
        return Category.PREFERENCE
    if single_value(statement) is not None:
        return Category.IDENTITY
    return category_as(judge(_USER.sub("", statement)).sorts)


def category_as(sorts: Mapping[StatementSort, float]) -> Category:
    """Return what a statement is about that is of such sorts."""
    return max(_SORTS, key=lambda category: sum(sorts[sort] for sort in _SORTS[category]))


_SUBJECT = r"^(?:(?:the )?user(?P<owns>['’]s)? ?|(?P<they>they|he|she) |i )?"
_NOW = r"(?:(?:now|currently|presently) |is now )?"
_NAME = r"(?P<value>[^\W\d_a-z][\w.'’&-]*(?:,? (?:(?:of|the|and|de|la|upon) )?[^\W\d_a-z][\w.'’&-]*){0,4})"
_END = r"(?: (?:now|currently|these days))?\W*$"
_HEADS = {
    "home": rf"(?:lives?|(?:is |am )?living|resides?) {_NOW}in (?-i:{_NAME})",
    "base": rf"(?:is |are |am )?{_NOW}based in (?-i:{_NAME})",
    "employer": rf"(?:works?|is working|(?:is )?employed) {_NOW}(?:at|for|by) (?-i:{_NAME})",
    "job": r"(?:works?|is working) (?:now |currently )?as (?:an? |the )?(?P<value>[\w-]+(?: [\w-]+){0,2})",
    "name": rf"(?:full )?(?:name is|is (?:called|named)) (?-i:{_NAME})",
    "age": r"(?:is|am|age is|are) (?:now )?(?P<value>\d{1,3})(?: years? old| years? of age)?",
    "birthday": r"birthday is (?:on )?(?P<value>[\w.]+(?: \w+){0,2})",
    "email": r"(?:email|e-mail)(?: address)? is (?P<value>\S+@\S+?)",
}
_PATTERNS = {kind: re.compile(_SUBJECT + _NOW + head + _END, re.IGNORECASE) for kind, head in _HEADS.items()}
_JOINTS = frozenset(("and", "or", "but", "with", "part-time", "at", "in", "for", "on", "when", "if"))


@dataclass(frozen=True)
class SingleValue:
    """What a statement says of something there is only one of."""

    kind: str
    words: frozenset[str]


def single_value(statement: str) -> SingleValue | None:
    """Return the single value a statement gives, if that is all it says."""
    line = clean(statement)
    for kind, pattern in _PATTERNS.items():
        if match := pattern.match(line):
            words = match["value"].casefold().rstrip(".!,").replace(",", "").split()
            return None if kind == "job" and _JOINTS & set(words) else SingleValue(kind, frozenset(words))
    return None


def contradict(one: str, other: str) -> bool:
    """Whether two statements give different values of something there is only one of."""
    left, right = single_value(one), single_value(other)
    if left is None or right is None or left.kind != right.kind:
        return False
    return not (left.words <= right.words or right.words <= left.words)
