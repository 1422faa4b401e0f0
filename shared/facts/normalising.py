"""The normal form of a statement, and the key under which an app holds it once.

Two statements with one normal form say the same in the same words. Whether different words say the same is left to
``merging``.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from shared.text.lines import clean

_QUOTES = str.maketrans({"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_ENDS = " .,;:!?…\"'`()[]-*•"
_SUBJECT = re.compile(r"(?:the )?user(?=[\s'])\s*")


def normal(statement: str) -> str:
    """Return a statement without what does not change its meaning: case, white space, ends, quotes, its subject.

    A statement that consists of such things only is its own cleaned text.
    """
    line = unicodedata.normalize("NFKC", clean(statement)).translate(_QUOTES).translate(_DASHES).casefold()
    bare = " ".join(line.split()).strip(_ENDS)
    said = _SUBJECT.sub("", bare, count=1) if _SUBJECT.match(bare) else bare
    return said.lstrip() or bare or line


def said_key(user_id: str, statement: str) -> str:
    """Return the digest under which an app holds a statement about one user (or about nobody in particular)."""
    whose = f"u{user_id}" if user_id else ""
    return hashlib.sha256(f"{whose}\0{normal(statement)}".encode()).hexdigest()
