"""Sentences of what somebody wrote, without what is not their own statement.

Code, addresses, quotations of others and recalled memories are left out.
"""

from __future__ import annotations

import re

from shared.text.lines import shorten

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
_LONGEST = 2000
"""No memory may be longer, so no more of one sentence is read, characters."""


def sentences(content: str) -> list[str]:
    """Cut a message into sentences, without what is not this person's own statement."""
    own = _QUOTED_LINE.sub("", _ADDRESS.sub("", _RECALLED.sub("", _FENCE.sub("\n", content))))
    plain = _MARKUP.sub("", _BULLET.sub("", own))
    return [cleaned for part in _SENTENCE.split(plain) if (cleaned := shorten(part[:_LONGEST], _LONGEST))]
