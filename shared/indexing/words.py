"""The words a text is found by: what the index keeps of it, and what is looked for of a question.

Pure functions of text. How words are kept and counted is left to the index, how much each of them says to the ranking.
"""

from __future__ import annotations

import re
from functools import lru_cache

import snowballstemmer

_WORD = re.compile(r"\w+")
_STEMMER = snowballstemmer.stemmer("porter")


def words_of(text: str) -> tuple[str, ...]:
    """Return the words a text is found by, each once."""
    return tuple(dict.fromkeys(_stem(word) for word in _WORD.findall(text.lower())))


def query_words(text: str) -> tuple[str, ...]:
    """Return the words to look for of a question, each once."""
    return words_of(text)


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    return str(_STEMMER.stemWord(word))
