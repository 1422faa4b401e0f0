"""What a question asks for, as far as its wording tells: words, identifiers, time, names, code.

Pure functions of text. What each of them is worth is left to the ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from shared.indexing.identifiers import identifiers_of
from shared.indexing.words import query_words
from shared.retrieval.dates import Stretch, stretches_of

_WHEN = re.compile(
    r"\b(?:when|what (?:day|date|month|year|time)|which (?:day|date|month|year)|how long ago)\b", re.IGNORECASE
)
_CODE = re.compile(
    r"```|`[^`]+`|\b(?:functions?|methods?|code|coding|snippets?|regex|stack ?trace|exceptions?|compiles?|compiler"
    r"|scripts?|sql|api|endpoints?|refactor\w*|debug\w*|import)\b",
    re.IGNORECASE,
)
_CAPITALISED = re.compile(r"(?<![\w'’])[^\W\d_a-z][^\W\d_]+(?=['’]s\b|['’]|\b)")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Question:
    """A question as it was read."""

    text: str
    words: tuple[str, ...]
    """What is looked for; see ``shared.indexing.words``."""
    identifiers: frozenset[str]
    stretches: tuple[Stretch, ...]
    """When it asks about."""
    asks_when: bool
    about_code: bool
    names: tuple[str, ...]
    """Capitalised words, lower case: those of them that are people's are known by who speaks in the app."""


def read_question(text: str, now: datetime) -> Question:
    """Read a question asked ``now``."""
    identifiers = identifiers_of(text)
    return Question(
        text=text,
        words=query_words(text),
        identifiers=identifiers,
        stretches=stretches_of(text, now),
        asks_when=_WHEN.search(text) is not None,
        about_code=bool(identifiers) or _CODE.search(text) is not None,
        names=tuple(dict.fromkeys(name.lower() for name in _CAPITALISED.findall(text))),
    )


def without_names(text: str, names: Iterable[str]) -> str:
    """Return a question without the names of who speaks, for the vector that is made of it.

    A name draws the vector to every turn that says it, which is mostly the other speaker's greeting. What would leave
    nothing stays as it is.
    """
    known = sorted({name for name in names if name.strip()}, key=len, reverse=True)
    if not known:
        return text
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, known))})(?:['’]s)?(?!\w)"
    rest = _SPACES.sub(" ", re.sub(pattern, " ", text, flags=re.IGNORECASE)).strip()
    return rest if re.search(r"\w", rest) else text
