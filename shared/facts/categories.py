"""What kinds of facts there are, how long each lives, and what a statement is about, by its words alone.

Work in hand and plans are ``project``, who the user is ``identity``, and the rest ``preference``: a wish or a habit
wrongly called a preference lives longest and gives way last but one, so the doubt falls on that side. Of some things a
user has only one: a home, an employer, a name, an age; a second value contradicts the first.
Source: seed 000; decisions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from shared.text.likeness import normal
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


_FIRST_PERSON = re.compile(r"^(?:i'm|i am|i've|i have|i|my|we're|we are|we|our) ")
_LIKING = re.compile(
    r"\b(?:prefers?|preferred|likes?|loves?|enjoys?|hates?|dislikes?|favou?rites?|fond of|can't stand|rather|avoids?"
    r"|always|never|usually|wants? (?:answers|replies|code|you|it|the assistant)|please|fan of|interested in)\b"
)
_WORK = re.compile(
    r"\b(?:projects?|deadlines?|milestones?|roadmap|sprint|release|launch(?:es|ing)?|prototype|thesis|dissertation"
    r"|goals?|plans?|planning|intends?|aims?|trying to|hopes? to|wants? to|needs? to|has to|must|due (?:on|by|in)"
    r"|working on|building|developing|writing (?:an?|the|his|her|their|my)|migrating|refactoring|implementing"
    r"|designing|preparing|renovating|organi[sz]ing|learning|studying for|training for|saving (?:up )?for"
    r"|going to|will|next (?:week|month|year|quarter)|tomorrow|by (?:monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december))\b"
)
_KIN = (
    r"(?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]e?|mother|father|mom|mum|dad|parents?|sisters?"
    r"|brothers?|siblings?|sons?|daughters?|kids?|child(?:ren)?|babys?|twins?|grandmother|grandfather|grandchildren"
    r"|aunt|uncle|cousins?|nephews?|nieces?|famil(?:y|ies)|dogs?|cats?|pets?)"
)
_SELF = re.compile(
    rf"\b(?:{_KIN}|names?|named|called|born|birthday|years? old|aged?|lives?|living|resides?|based in|moved (?:to|from)"
    r"|comes? from|grew up|native|nationality|citizen|married|divorced|single|engaged|widowed|allerg(?:y|ic|ies)"
    r"|intoleran(?:t|ce)|diabet(?:es|ic)|asthma|disabilit(?:y|ies)|diagnosed|pregnant|blood type|pronouns|e-?mail"
    r"|phone number|address|speaks|fluent|religio(?:n|us)|vegan|vegetarian|height|studied|graduated|degree"
    r"|works? (?:at|for|as|in)|employed|self-employed|freelancer?|retired|profession|occupation|job|career)\b"
)
_PROFESSION = re.compile(
    r"^(?:is )?(?:an? )(?:[\w-]+ ){0,3}(?:developer|engineer|programmer|designer|teacher|professor|nurse|doctor"
    r"|physician|surgeon|dentist|lawyer|attorney|accountant|architect|artist|musician|writer|author|journalist"
    r"|editor|chef|cook|student|scientist|researcher|analyst|consultant|manager|director|founder|carpenter|plumber"
    r"|electrician|mechanic|pilot|driver|farmer|translator|photographer|librarian|therapist|psychologist|pharmacist"
    r"|veterinarian|administrator|salesperson|parent|mother|father|widow|widower|man|woman)\b"
)


def category_of(statement: str) -> Category:
    """Return what a statement is about."""
    line = _FIRST_PERSON.sub("", normal(statement), count=1)
    if single_value(statement) is not None or _PROFESSION.match(line):
        return Category.IDENTITY
    if _LIKING.search(line):
        return Category.PREFERENCE
    if _WORK.search(line):
        return Category.PROJECT
    return Category.IDENTITY if _SELF.search(line) else Category.PREFERENCE


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
