"""What texts say, in numbers: which words, whether of the speaker, whether a time, and what equal texts share.

A search weighs hundreds of messages, nearly all of which another one weighed before. What is found out of a text is
kept under its digest, in bounds: which words it has, not in which order, and no text. What is erased is read no more,
so nothing asks for what is kept of it.
"""

import re
import threading
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shared.search.words import LONGEST, words_of
from shared.text.words import any_words

SPOKEN_CHARS = 4000
"""Of one text: what comes later in a very long one is known to the index."""
MOST_WORDS = 20_000
"""Words that have a number which is kept; when there are more, all begins anew."""
_MOST_TEXTS, _MOST_NUMBERS = 30_000, 1_000_000
"""What is kept of texts: some 15 MB."""
_LONGEST_ALIKE = 400
"""Characters; a longer text says the same only where it is the same."""
_NUMBER = np.dtype(np.int32)

_DAYS = ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
_SAYING_WHEN = frozenset(
    {"today", "yesterday", "tomorrow", "tonight", "last", "next", "ago", "week", "weekend", "month", "year", "since"}
    | {"january", "february", "march", "april", "june", "july", "august", "september", "october", "november"}
    | {"december", "recently", *(f"{day}day" for day in _DAYS)}
)
_SAYING_I = frozenset({"i", "me", "my", "mine", "we", "us", "our", "ours"})
_WHEN, _FIRST_PERSON = (
    re.compile(rf"\b(?:{'|'.join(sorted(words))})\b", re.IGNORECASE) for words in (_SAYING_WHEN, _SAYING_I)
)
# What is looked behind for comes last, so that a text is searched for digits and not for the ends of words.
_YEAR = re.compile(r"\d{4}\b(?<!\w\d{4})")


class SpokenText(NamedTuple):
    """What one text says."""

    numbers: bytes
    """Its words, each once, by the numbers of ``SpokenWords``."""
    gist: int
    """The same for texts whose words are the same, whatever the case and the signs between them."""
    says_i: bool
    """Whether who says it speaks of themself."""
    says_when: bool
    """Whether it says a time."""


def spoken_words(text: str) -> list[str]:
    """Return the words of a text as they are said, in lower case, as far as it is looked at."""
    return any_words(text[:SPOKEN_CHARS].lower())


class _KeptWords:
    """Words with their numbers and stems, and what is known of texts; for any number of threads."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.words: list[str] = []
        self.of_stem: defaultdict[str, list[int]] = defaultdict(list)
        self.texts: dict[int, SpokenText] = {}
        self._lock = threading.Lock()
        self._counted = 0

    def add(self, words: Iterable[str]) -> None:
        """Give numbers to words that are not too long, as far as there is room."""
        with self._lock:
            for word in words:
                if word not in self.numbers and len(word) <= LONGEST and len(self.words) < MOST_WORDS:
                    for stem in words_of(word):
                        self.of_stem[stem].append(len(self.words))
                    self.words.append(word)
                    # Last: who finds a number finds its word and stems.
                    self.numbers[word] = len(self.words) - 1

    def keep(self, digest: int, text: SpokenText) -> None:
        with self._lock:
            if len(self.texts) >= _MOST_TEXTS or self._counted > _MOST_NUMBERS:
                self.texts.clear()
                self._counted = 0
            self.texts[digest] = text
            self._counted += len(text.numbers) // _NUMBER.itemsize


_kept = _KeptWords()


class SpokenWords:
    """The words of the texts that one search reads, by number."""

    def __init__(self) -> None:
        global _kept
        if len(_kept.words) >= MOST_WORDS:
            # Another thread may do so too, which does no harm: a search stays with the one it began with.
            _kept = _KeptWords()
        self._kept = _kept
        # Of this search alone: some scripts write a whole sentence as one word.
        self._own: dict[str, int] = {}

    def read(self, text: str) -> SpokenText:
        """Return what a text says, as far as it is looked at."""
        # Python's own digest, keyed anew in each process: any other takes as long as all else that is done here.
        digest = hash(text)
        known = self._kept.texts.get(digest)
        return self._read(digest, text) if known is None else known

    def _read(self, digest: int, text: str) -> SpokenText:
        said = spoken_words(text)
        words = set(said)
        numbers, is_kept = self._numbers_of(words)
        # Its own words are quicker to look through, but not those of a text that is cut, or where case is no simple
        # matter.
        is_plain = text.isascii() and len(text) <= SPOKEN_CHARS
        says_i = not _SAYING_I.isdisjoint(words) if is_plain else _FIRST_PERSON.search(text) is not None
        says_when = not _SAYING_WHEN.isdisjoint(words) if is_plain else _WHEN.search(text) is not None
        says_when = says_when or _YEAR.search(text) is not None
        found = SpokenText(array("i", sorted(numbers)).tobytes(), _gist(text, said), says_i, says_when)
        if is_kept:
            self._kept.keep(digest, found)
        return found

    def _numbers_of(self, words: Iterable[str]) -> tuple[list[int], bool]:
        """Return the numbers of words, and whether all of them are kept."""
        known = self._kept.numbers
        new = [word for word in words if word not in known]
        if new:
            self._kept.add(new)
        own = [word for word in new if word not in known]
        for word in own:
            self._own.setdefault(word, MOST_WORDS + len(self._own))
        return [known[word] if word in known else self._own[word] for word in words], not own

    def columns_of(self, texts: Sequence[SpokenText]) -> "WordColumns":
        """Lay out the words of texts."""
        spoken = np.frombuffer(b"".join([one.numbers for one in texts]), _NUMBER)
        lengths = np.fromiter((len(one.numbers) for one in texts), np.intp, len(texts)) // _NUMBER.itemsize
        stands = np.zeros(MOST_WORDS + len(self._own), np.bool_)
        stands[spoken] = True
        numbers = np.flatnonzero(stands)
        column = np.full(len(stands), -1, np.int32)
        column[numbers] = np.arange(len(numbers), dtype=np.int32)
        first_own = int(np.searchsorted(numbers, MOST_WORDS))
        words = list(map(self._kept.words.__getitem__, numbers[:first_own].tolist()))
        if first_own < len(numbers):
            own = list(self._own)
            words += [own[one - MOST_WORDS] for one in numbers[first_own:].tolist()]
        return WordColumns(words, column[spoken], lengths, column, self)

    def with_stems(self, stems: Iterable[str]) -> Mapping[str, Sequence[int]]:
        """Return for each stem the numbers of the words that have it."""
        # By stem and not by word: hardly any of some thousand words has one of those that are looked for.
        found = {stem: list(self._kept.of_stem.get(stem, ())) for stem in stems}
        for word, number in self._own.items():
            for stem in found.keys() & words_of(word):
                found[stem].append(number)
        return found


class WordColumns(NamedTuple):
    """The words of texts, each once in a column of its own."""

    words: Sequence[str]
    spoken: NDArray[np.int32]
    """Columns of the words of each text, one text after the other."""
    lengths: NDArray[np.intp]
    """How many words each text has."""
    of_number: NDArray[np.int32]
    """The column of each word by its number; -1 for what none of the texts says."""
    known: SpokenWords

    def with_stems(self, stems: Iterable[str]) -> dict[str, NDArray[np.int32]]:
        """Return for each stem the columns of the words that have it."""
        found = self.known.with_stems(stems)
        columns = {stem: self.of_number[numbers] for stem, numbers in found.items() if numbers}
        return {stem: one[one >= 0] for stem, one in columns.items()}


def _gist(text: str, said: Sequence[str]) -> int:
    if len(text) > _LONGEST_ALIKE:
        return hash(text)
    folded = said if text.isascii() else any_words(text.casefold())
    return hash(" ".join(folded) or text.strip())
