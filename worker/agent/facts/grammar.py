"""What somebody said of themselves, put into the third person, and the frames by which it is recognised.

A frame is one way people state something about themselves. It has at most one free place, ``rest``; whether what
stands there is whole in itself is left to ``rules``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from shared.facts.categories import Category
from shared.text.lines import clean
from worker.agent.facts import words

_CONTRACTIONS = (
    (re.compile(r"\b(i)['’]?m\b", re.IGNORECASE), "I am"),
    (re.compile(r"\b(i)['’]?ve\b", re.IGNORECASE), "I have"),
    (re.compile(r"\bwe['’]re\b", re.IGNORECASE), "we are"),
    (re.compile(r"\bwe['’]ve\b", re.IGNORECASE), "we have"),
    (re.compile(r"\b(?:can['’]?t|can not)\b", re.IGNORECASE), "cannot"),
    (re.compile(r"\bwon['’]t\b", re.IGNORECASE), "will not"),
    (re.compile(r"\b(do|does|did|is|are|was|were|have|has|had)n['’]?t\b", re.IGNORECASE), r"\1 not"),
    (re.compile(r"\bname['’]s\b", re.IGNORECASE), "name is"),
    (re.compile(r"\bfavou?rite\b", re.IGNORECASE), "favourite"),
    (re.compile(r"\bgonna\b", re.IGNORECASE), "going to"),
    (re.compile(r"\bwanna\b", re.IGNORECASE), "want to"),
)
_TURNED = {
    "i am": "they are",
    "i was": "they were",
    "i have": "they have",
    "we are": "they are",
    "am i": "are they",
    "i": "they",
    "we": "they",
    "me": "them",
    "us": "them",
    "my": "their",
    "our": "their",
    "mine": "theirs",
    "ours": "theirs",
    "myself": "themselves",
    "ourselves": "themselves",
}
_PERSON = re.compile(r"\b(?:" + "|".join(sorted(_TURNED, key=len, reverse=True)) + r")\b(?!['’.]\w)", re.IGNORECASE)
_IRREGULAR = {"have": "has", "do": "does", "go": "goes", "am": "is", "are": "is", "get up": "gets up"}
_LONGEST_NAME = 40
_NAME = re.compile(r"[^\W\d_][\w'’.-]*(?: [^\W\d_][\w'’.-]*){0,3}")
_NO_NAMES = frozenset({"user", "human", "me", "you", "customer", "client", "guest", "anonymous", "unknown"})


def expand(clause: str) -> str:
    """Write contractions out, so that each pattern needs one form only."""
    for pattern, written in _CONTRACTIONS:
        clause = pattern.sub(written, clause)
    return clause


def third_person(verb: str) -> str:
    """Return the present tense of a verb for one other person: ``play`` becomes ``plays``."""
    lowered = verb.lower()
    if lowered in _IRREGULAR:
        return _IRREGULAR[lowered]
    if lowered.endswith(("s", "x", "ch", "sh", "z")):
        return lowered + "es"
    if lowered.endswith("y") and lowered[-2:-1] not in "aeiou":
        return lowered[:-1] + "ies"
    return lowered + "s"


def turned(text: str) -> str:
    """Turn the first person into the third: ``my kids and me`` becomes ``their kids and them``."""
    return _PERSON.sub(_other_person, text)


def _other_person(match: re.Match[str]) -> str:
    # "US" and "ME" are places.
    named = match[0].isupper() and len(match[0]) == 2
    return match[0] if named else _TURNED[" ".join(match[0].lower().split())]


def capitalised(text: str) -> str:
    """Write the first letter large and leave the others."""
    return text[:1].upper() + text[1:]


def name_of(name: str | None) -> str | None:
    """Return a speaker's name where it can stand before a statement."""
    written = clean(name or "")
    if len(written) > _LONGEST_NAME or not _NAME.fullmatch(written) or written.lower() in _NO_NAMES:
        return None
    return written


def stated(phrase: str, name: str | None) -> str:
    """Write a phrase as a statement, with its subject where that has a name.

    A phrase begins with a verb in the third person, or with ``'s`` and what is the speaker's.
    """
    if name is not None:
        return f"{name}{phrase}" if phrase.startswith("'s ") else f"{name} {phrase}"
    bare = re.sub(r"^is (?=(?:\w+ly )?\w+ing\b)", "", phrase.removeprefix("'s "))
    return capitalised(bare)


Says = str | Callable[[re.Match[str], str], str]
"""The phrase, made of the pattern's groups and of what stands in the free place; an empty one states nothing."""


@dataclass(frozen=True)
class Frame:
    """One way to state something."""

    example: str
    """A clause of which this frame decides what it states."""
    pattern: re.Pattern[str]
    says: Says
    category: Category
    the: bool = False
    """Whether ``the …`` in the free place can be whole without more."""


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


def i_state(example: str, pattern: str, says: Says, category: Category, the: bool = False) -> Frame:
    """Return a frame of what begins with ``I`` or ``we`` and perhaps an adverb."""
    return Frame(example, re.compile(rf"^(?:i|we)\s+{ADVERBS}{pattern}$", re.IGNORECASE), says, category, the)


def my_state(example: str, pattern: str, says: Says, category: Category) -> Frame:
    """Return a frame of what begins with ``my`` or ``our``."""
    return Frame(example, re.compile(rf"^(?:my|our)\s+{pattern}$", re.IGNORECASE), says, category, the=True)


def bare(example: str, pattern: str, says: Says, category: Category) -> Frame:
    """Return a frame of what names neither."""
    return Frame(example, re.compile(rf"^{pattern}$", re.IGNORECASE), says, category)


def present(found: re.Match[str], rest: str) -> str:
    """Say it in the present tense."""
    return f"{third_person(found['verb'])} {rest}"


def past(found: re.Match[str], rest: str) -> str:
    """Say it in the past tense, which is the same for all persons."""
    return f"{found['verb'].lower()} {rest}"


def denied(found: re.Match[str], rest: str) -> str:
    """Say that it is not so."""
    return f"{found['not'].lower()} {found['verb'].lower()} {rest}"


_FURTHER_VERB = re.compile(rf"(?:,|\band)\s+(?:and\s+)?(?:{words.DEEDS})\b")
"""It would have to be put in the third person too."""
_NO_OBJECT = re.compile(rf"(?:{words.REGULARLY}|for\b|with\b|at\b|in\b|on\b|together\b|$)")


def habit(found: re.Match[str], rest: str) -> str:
    """Say that it is a habit, unless what is done, or done besides, cannot be told."""
    if _FURTHER_VERB.search(rest):
        return ""
    if found["verb"].lower() in words.NEEDS_OBJECT and _NO_OBJECT.match(rest):
        return ""
    often = found.groupdict().get("often") or ""
    return f"{often.lower()} {third_person(found['verb'])} {rest}"
