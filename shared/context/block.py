"""The block of memories a conversation starts with, as text for a system prompt.

Its lines are those of seed 003, "Memory Context Format". Two more say where the recalled text begins and ends, and that
it is no instruction, both for the model that reads it and so that it can be recognised, and not remembered again, when
it comes back inside a transcript.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from shared.context.counting import Counting, Scale
from shared.context.excerpts import without_excerpts
from shared.context.marks import END, RECALLED, one_line
from shared.context.sections import without_facts

_HEADER = "(memories for app: {name})"
_LEAD = "The following are memories from previous conversations with this app:"
_CLOSING = "Use these memories to provide context-aware responses."
# Each part has a longest: a text of the same beginnings over and over would else be read to its end from every one.
_BETWEEN = r"(?:[\s>|]|\\+[nrt]){0,40}"
"""White space, marks of quotation, and line ends as JSON writes them."""
_HEAD = r"\(memories for app: [^\r\n]{0,400}?\)"
_BEGINNING = rf"(?:{_HEAD}{_BETWEEN}{re.escape(_LEAD)}{_BETWEEN})?{re.escape(RECALLED)}"
_NUMBERED = r"\d{1,3}\.[ \t]{1,8}\[Created: [0-9-]{1,16}\]"
_WHOLE = re.compile(rf"{_BEGINNING}{_BETWEEN}{_NUMBERED}(?:(?!{re.escape(RECALLED)}).)*?{re.escape(END)}", re.DOTALL)
_WITHOUT_END = re.compile(rf"{_BEGINNING}(?:{_BETWEEN}{_NUMBERED}[^\r\n]*)+")
_MARKED_LINE = re.compile(
    r"(?:\d{1,3}\.\s{0,8})?(?:\[Created: [0-9-]{1,16}\]\s{0,8})?" + re.escape(RECALLED) + r"[^\r\n]*"
)
"""A memory as blocks had it when each line had a mark, quoted or indented as it may be."""
_LONE_HEAD = re.compile(rf"{_HEAD}(?=\s|\\n|$)")


@dataclass(frozen=True)
class Recalled:
    """A memory as the block shows it."""

    memory_id: int
    content: str
    created_at: datetime


@dataclass(frozen=True)
class Block:
    """The text and what it holds."""

    text: str
    tokens: int
    included: tuple[Recalled, ...]


def memories_block(app_name: str, memories: Sequence[Recalled], token_budget: int, scale: Scale | None = None) -> Block:
    """Write the block of memories in their order, as many as fit ``token_budget`` tokens; empty when none do."""
    scale = scale or Counting()
    included = list(memories)
    while included:
        text = _write(app_name, included)
        tokens = scale.tokens(text)
        if tokens <= token_budget:
            return Block(text, tokens, tuple(included))
        included.pop()
    return Block("", 0, ())


def without_recalled(text: str) -> str:
    """Return text without what was recalled into it, so that it is not learnt again."""
    if RECALLED not in text:
        return text
    kept = _WITHOUT_END.sub("", _WHOLE.sub("", without_facts(without_excerpts(text))))
    kept = _MARKED_LINE.sub("", kept).replace(_LEAD, "").replace(_CLOSING, "")
    return _LONE_HEAD.sub("", kept).strip()


def _write(app_name: str, memories: Sequence[Recalled]) -> str:
    lines = [
        f"{place}. [Created: {memory.created_at:%Y-%m-%d}] {one_line(memory.content)}"
        for place, memory in enumerate(memories, start=1)
    ]
    return "\n".join([_HEADER.format(name=one_line(app_name)), _LEAD, RECALLED, "", *lines, "", _CLOSING, END])
