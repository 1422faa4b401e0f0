"""What a way to state something is made of: the pattern of a clause, and what it says in the third person.

A predicate is one way, with at most one free place, ``rest``; classes of verbs are open where grammar tells what lasts
(the simple present of a deed with how often, a state with since when), and word lists stand only where it does not.
Whether what stands in the free place is whole in itself is left to ``fact_rules``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from shared.facts.categories import Category
from shared.text.words import MONTHS, word_set
from worker.agent import fact_words as words
from worker.agent.fact_grammar import third_person, turned

Says = str | Callable[[re.Match[str], str], str]
"""The phrase, made of the pattern's groups and of what stands in the free place; an empty one states nothing."""


@dataclass(frozen=True)
class Predicate:
    """One way to state something."""

    example: str
    """A clause of which this predicate decides what it states."""
    pattern: re.Pattern[str]
    says: Says
    """``{v}`` is the verb in the third person."""
    category: Category
    the: bool = False
    """Whether ``the …`` in the free place can be whole without more."""
    wide: bool = False
    """Whether days of the week are those of every week, and ``his`` and ``her`` are the subject's."""


ADVERBS = (
    r"(?:(?:really|also|still|currently|actually|just|now|absolutely|totally|definitely|truly|personally|particularly"
    r"|especially|primarily|generally|recently|finally|even|already|genuinely|simply|honestly|lately|both|all|so|very"
    r"|super|pretty|quite|deeply|extremely|mainly|busy|proudly)\s+)*"
)
FEW = r"(?:[a-z][\w-]*\s+){0,3}?"
"""Up to three adjectives."""
REST = r"(?P<rest>.+)"
MORE = r"(?:\s+(?P<rest>.+))?"
NAME = r"(?P<rest>(?-i:[A-Z])[\w'’-]*(?: (?-i:[A-Z])[\w'’-]*){0,3})"
PROJECT, PREFERENCE, IDENTITY = Category.PROJECT, Category.PREFERENCE, Category.IDENTITY


def i_state(
    example: str, pattern: str, says: Says, category: Category, the: bool = False, wide: bool = False
) -> Predicate:
    return Predicate(example, re.compile(rf"^(?:i|we)\s+{ADVERBS}{pattern}$", re.IGNORECASE), says, category, the, wide)


def my_state(example: str, pattern: str, says: Says, category: Category, wide: bool = False) -> Predicate:
    """Return a way to state what begins with ``my`` or ``our``."""
    return Predicate(example, re.compile(rf"^(?:my|our)\s+{pattern}$", re.IGNORECASE), says, category, True, wide)


def bare(example: str, pattern: str, says: Says, category: Category, wide: bool = False) -> Predicate:
    """Return a way to state something that names neither."""
    return Predicate(example, re.compile(rf"^{pattern}$", re.IGNORECASE), says, category, wide=wide)


_FURTHER_VERB = re.compile(
    r"(?P<joint>(?:,|\band)\s+(?:and\s+)?)(?P<verb>sleep|work|eat|drink|go|read|write|play|live|study|teach|cook"
    r"|bake|run"
    r"|swim|walk|take|help|watch|listen|travel|visit|make|do|have|start|stay|use|train|paint|draw|sing|dance)"
    r"(?=(?:(?<=play)|(?<=teach))\s+\w|\s+(?:till|until|at|in|a|an|the|to|my|for|with|on|from|as|every|most|about)\b)",
    re.IGNORECASE,
)
_VERB_LEFT = re.compile(
    r"(?:,|\band)\s+(?:and\s+)?(?:sleep|eat|drink|go|read|write|live|teach|cook|bake|swim|walk|take|watch|listen"
    r"|make|do|have|use|wear|buy|visit|attend|bring)\b",
    re.IGNORECASE,
)
"""It would have to be put in the third person too, and may be a noun."""
_NO_OBJECT = re.compile(rf"(?:{words.REGULARLY}|for\b|with\b|at\b|together\b|$)")
_NEEDS_OBJECT = word_set(
    "play collect watch buy wear use bring carry keep check order visit attend avoid skip take make do"
)


VERB_BEHIND = re.compile(
    r"\s*(?:,|\band)\s+(?:carry|take|use|wear|need|keep|see|get|must|should|avoid)\b.*", re.IGNORECASE
)
"""The same, behind what somebody has or is; it is left out."""


def habit(found: re.Match[str], rest: str) -> str:
    """Say that it is a habit, unless what is done cannot be told."""
    verb = found["verb"].lower()
    if verb in words.NOT_A_HABIT or verb.endswith("ed") or (verb in _NEEDS_OBJECT and _NO_OBJECT.match(rest)):
        return ""
    if words.MOMENT.match(rest):
        return ""
    rest = _FURTHER_VERB.sub(lambda met: met["joint"] + third_person(met["verb"]), rest)
    if _VERB_LEFT.search(rest):
        return ""
    often = (found.groupdict().get("often") or "").lower()
    return f"{often} {third_person(verb)} {rest}"


def in_hand(found: re.Match[str], rest: str) -> str:
    if words.MOMENT.match(rest):
        return ""
    return f"{'has been' if 'been' in found['be'].lower() else 'is'} {turned(found['verb'].lower())} {rest}"


def lasting_past(found: re.Match[str], rest: str) -> str:
    return "" if words.MOMENT.match(rest) else f"{'has ' if found['has'] else ''}{found['verb'].lower()} {rest}"


def inclined(found: re.Match[str], rest: str) -> str:
    return f"is {'not ' if found['not'] else ''}{found['how'].lower()} {rest}"


def works(found: re.Match[str], rest: str) -> str:
    how = found["how"].lower()
    if found["verb"].lower() == "work":
        return f"works {how} " + _FURTHER_VERB.sub(lambda met: met["joint"] + third_person(met["verb"]), rest)
    before = "worked" if found["verb"].lower() == "worked" else "has worked"
    return f"{before} {how} {rest}" if how in ("as", "at", "for") else ""


def among_favourites(found: re.Match[str], rest: str) -> str:
    verb = "include" if "one of" in found[0].lower() else found["is"].lower()
    first = rest.split(" ", 1)[0]
    return f"'s {turned(found['what'])} {verb} {rest[:1].lower() + rest[1:] if first.endswith('ing') else rest}"


def somebody(found: re.Match[str], rest: str) -> str:
    return f"'s {turned(found['kin'])} {found['is'].lower()} {VERB_BEHIND.sub('', rest)}"


NUMBER = r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}|no|several|twin)"
_TENS = r"(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)"
_ONES = r"(?:one|two|three|four|five|six|seven|eight|nine)"
AGE = rf"(?:\d{{1,3}}|{_TENS}(?:[- ]{_ONES})?|{_ONES}|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen)"
OLD = r"(?:[- ](?:years?|months?|weeks?)(?:[- ]old| of age)?)?"
WHOSE = (
    rf"(?P<kin>(?:[a-z-]+ )?(?:{words.KIN}(?:,? (?-i:[A-Z][^\W\d_]+),?)?|{words.ACQUAINTANCE},? "
    rf"(?-i:[A-Z][^\W\d_]+),?))"
)
DAY = (
    rf"(?:(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{'|'.join(MONTHS)})|{'|'.join(MONTHS)}|the \d{{1,2}}(?:st|nd"
    rf"|rd|th)|christmas|easter|spring|summer|autumn|winter)"
)
WEEKLY = r"(?:\w+ ){0,2}?\w+ (?:on |every |each )?(?:mon|tue|wed|thu|fri|sat|sun)\w*\b.*"
SINCE = r"(?:.+ )?(?:since (?!then|that)|for (?:an?|the (?:last|past)|\w+) (?:\w+ )?(?:years?|months?|weeks?)\b).*"
VENTURE = rf"(?=(?:an?|my|our|the|my own|a new) {FEW}{words.VENTURES}\b)"
