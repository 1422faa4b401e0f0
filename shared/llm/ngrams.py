"""The embedder of last resort: letters and words hashed into a vector, so that only what is spelt alike is alike.

It knows nothing of meaning; it is what a machine without an embedding model has, and says so by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from time import perf_counter
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from shared.llm.calls import Meter
from shared.llm.embedding import Vectors, book_local, normalised

DIMENSIONS = 512
_GRAM = 4
_WORD = re.compile(r"\w+")


class NgramEmbedder:
    """Embeds by hashed words and runs of four letters."""

    name = "builtin:ngrams"
    same_meaning = 0.80

    def embed(self, texts: Sequence[str], meter: Meter) -> Vectors:
        """Return one vector for each text, shape ``(len(texts), 512)``."""
        with book_local(texts, meter, perf_counter):
            rows = [_counts(text) for text in texts]
        return normalised(np.stack(rows)) if rows else np.zeros((0, DIMENSIONS), np.float32)


def _counts(text: str) -> NDArray[np.float32]:
    row = np.zeros(DIMENSIONS, np.float32)
    for gram in _grams(text.casefold()):
        row[crc32(gram.encode("utf-8", "replace")) % DIMENSIONS] += 1
    return np.sqrt(row)


def _grams(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        yield word
        edged = f"<{word}>"
        yield from (edged[at : at + _GRAM] for at in range(max(1, len(edged) - _GRAM + 1)))
