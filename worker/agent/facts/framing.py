"""What a frame is: one way people state something about themselves, and how that is put in the third person.

A frame has at most one free place, ``rest``; whether what stands there is whole in itself is left to ``patterns``.
The frames themselves stand in ``identity`` and ``frames``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from shared.facts.categories import Category
from worker.agent.facts import words
from worker.agent.facts.wording import third_person

Says = str | Callable[[re.Match[str], str], str]
"""The phrase, made of the pattern's groups and of what stands in the free place; an empty one states nothing."""


@dataclass(frozen=True)
class Frame:
    """One way to state something."""

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


def i_state(pattern: str, says: Says, category: Category, the: bool = False) -> Frame:
    """Return a frame of what begins with ``I`` or ``we`` and perhaps an adverb."""
    return Frame(re.compile(rf"^(?:i|we)\s+{ADVERBS}{pattern}$", re.IGNORECASE), says, category, the)


def my_state(pattern: str, says: Says, category: Category) -> Frame:
    """Return a frame of what begins with ``my`` or ``our``."""
    return Frame(re.compile(rf"^(?:my|our)\s+{pattern}$", re.IGNORECASE), says, category, the=True)


def bare(pattern: str, says: Says, category: Category) -> Frame:
    """Return a frame of what names neither."""
    return Frame(re.compile(rf"^{pattern}$", re.IGNORECASE), says, category)


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
