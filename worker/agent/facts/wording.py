"""What somebody said of themselves, put into the third person: contractions, verbs, pronouns, the name before it."""

from __future__ import annotations

import re

from shared.wording import clean

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
