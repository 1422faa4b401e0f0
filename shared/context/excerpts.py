"""Blocks of what else is recalled: the summary so far, the user's profile, and earlier messages that may matter.

Each has a heading, the mark that it is recalled and no instruction, and the mark of its end; by them it is recognised,
and not learnt again, when it comes back inside a transcript. Lines of earlier messages are quoted, so that a block
whose end was cut off can be told from what follows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from shared.context.marks import END, RECALLED

SUMMARY = "What was said so far in this conversation"
PROFILE = "What this user agreed to have known"
EARLIER = "Earlier messages that may matter"
_HEADINGS = "|".join((SUMMARY, PROFILE, EARLIER))
_OURS = (RECALLED, END, SUMMARY, PROFILE, EARLIER)
_BETWEEN = r"(?:[\s>|]|\\+[nrt]){0,40}"
"""White space, marks of quotation, and line ends as JSON writes them."""
_BEGINNING = rf"(?:\#{{1,6}}[ \t]{{0,8}})?(?:{_HEADINGS}){_BETWEEN}{re.escape(RECALLED)}"
_WHOLE = re.compile(rf"{_BEGINNING}(?:(?!{_HEADINGS}).)*?{re.escape(END)}", re.DOTALL)
_LINE = r"(?:>[^\r\n]*|-[ \t][^\r\n]*|\d{4}-\d\d-\d\d)"
_WITHOUT_END = re.compile(rf"{_BEGINNING}(?:{_BETWEEN}{_LINE}(?=[\r\n\\]|$))*")


def opening(heading: str) -> str:
    """Return what a block begins with."""
    return f"## {heading}\n{RECALLED}\n"


def framed(heading: str, text: str) -> str:
    """Return a block of its own around lines of text, a bullet each; empty without any."""
    lines = [line.strip().removeprefix("- ") for line in unmarked(text).splitlines()]
    bullets = [f"- {line}\n" for line in lines if line]
    return f"{opening(heading)}{''.join(bullets)}{END}" if bullets else ""


def quoted(text: str) -> str:
    """Return a text as lines of a quotation."""
    return "\n> ".join(unmarked(text).splitlines())


def unmarked(text: str) -> str:
    """Return text on its own lines, without anything that could pass for a mark or a heading of ours."""
    return "\n".join(map(_harmless, text.splitlines()))


def without_excerpts(text: str) -> str:
    """Return text without the blocks that were put into it, whole or with their end cut off."""
    if not any(heading in text for heading in (SUMMARY, PROFILE, EARLIER)):
        return text
    return _WITHOUT_END.sub("", _WHOLE.sub("", text))


def joined(blocks: Iterable[str]) -> str:
    """Return several blocks as one text."""
    return "\n\n".join(filter(None, blocks))


def _harmless(line: str) -> str:
    while any(words in line for words in _OURS):
        # What is left can form a mark anew, and be one.
        for words in _OURS:
            line = line.replace(words, "")
    return line
