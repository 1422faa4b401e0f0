"""What was said, cut into clauses: the pieces a memory is made of.

Code, addresses, quotations of others and recalled memories are left out: they are not what this person said now. What a
clause is worth is left to ``value``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.wording import shorten

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+")
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_RECALLED = re.compile(
    r"^[ \t]*(?:\(memories for app\b.*|(?:\d+\.[ \t]*)?\[(?:created|recalled)\b[^\]]*\].*)$",
    re.MULTILINE | re.IGNORECASE,
)
_BULLET = re.compile(r"^[ \t]*(?:[-*•+]|\d{1,2}[.)])[ \t]+", re.MULTILINE)
_MARKUP = re.compile(r"[*_`#]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}|^#+\s*", re.MULTILINE)
_SENTENCE = re.compile(
    r"(?<=[.!?…])(?<!\b[A-Z]\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bMrs\.)(?<!\bSt\.)[\"'”’)\]]*\s+|(?<=[。！？])|\n+"
)
_CLAUSE = re.compile(
    r"\s+[-–—]+\s+|\s*[;—]\s*"
    r"|,?\s+(?=(?:but|which|because(?! of)|since|although|though)\s)"
    # "So" joins clauses only where it begins one: not in "were so kind".
    r"|,\s+(?=so\s)|\s+(?=so\s+(?:i|i['’]\w+|we|we['’]\w+|it|it['’]s|he|she|they|they['’]\w+|you|that)\s)"
    r"|,?\s+(?=and\s+(?:i|i['’]\w+|we|we['’]\w+|it|it['’]s|he|she|they|they['’]\w+|my|that|that['’]s|now|then|you)\s)"
    r"|,\s+(?=(?:i|i['’]\w+|we|we['’]\w+|it|it['’]s|he|she|they|you)\s)",
    re.IGNORECASE,
)

_LONGEST = 2000
"""No memory may be longer, so no more of one sentence is read, characters."""


@dataclass(frozen=True)
class Clause:
    """A part of a sentence that can stand alone."""

    text: str
    asks: bool
    """The sentence it belongs to is a question."""


def clauses(content: str) -> list[Clause]:
    """Cut a message into clauses, in the order they were said."""
    return [clause for sentence in sentences(content) for clause in _parts(sentence)]


def sentences(content: str) -> list[str]:
    """Cut a message into sentences, without what is not this person's own statement."""
    own = _QUOTED_LINE.sub("", _ADDRESS.sub("", _RECALLED.sub("", _FENCE.sub("\n", content))))
    plain = _MARKUP.sub("", _BULLET.sub("", own))
    return [cleaned for part in _SENTENCE.split(plain) if (cleaned := shorten(part[:_LONGEST], _LONGEST))]


def _parts(sentence: str) -> list[Clause]:
    asks = sentence.rstrip("\"'”’) ").endswith(("?", "？"))
    return [Clause(part.strip(" ,"), asks) for part in _CLAUSE.split(sentence) if part and part.strip(" ,.!?")]
