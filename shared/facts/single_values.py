"""What a user has only one of: a home, an employer, a name, an age. A second value contradicts the first.

On the side of caution: only where the same head words are followed by another short value, and neither value is a
part of the other ("London" and "North London" do not contradict each other).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.text.lines import clean

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
    "email": r"(?:email|e-mail)(?: address)? is (?P<value>\S+@\S+?)",
}
_PATTERNS = {kind: re.compile(_SUBJECT + _NOW + head + _END, re.IGNORECASE) for kind, head in _HEADS.items()}
_JOINTS = frozenset(("and", "or", "but", "with", "part-time", "at", "in", "for", "on", "when", "if"))


@dataclass(frozen=True)
class Value:
    """What a statement says of something there is only one of."""

    kind: str
    words: frozenset[str]


def single_value(statement: str) -> Value | None:
    """Return the single value a statement gives, if that is all it says."""
    line = clean(statement)
    for kind, pattern in _PATTERNS.items():
        if match := pattern.match(line):
            words = match["value"].casefold().rstrip(".!,").replace(",", "").split()
            return None if kind == "job" and _JOINTS & set(words) else Value(kind, frozenset(words))
    return None


def contradict(one: str, other: str) -> bool:
    """Whether two statements give different values of something there is only one of."""
    left, right = single_value(one), single_value(other)
    if left is None or right is None or left.kind != right.kind:
        return False
    return not (left.words <= right.words or right.words <= left.words)
