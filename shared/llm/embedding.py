"""What an embedder is; the one of last resort, which hashes letters and words; and that of a server's models.

A vector's cosine tells how close two texts are in meaning. ``ServedEmbedder`` cuts into batches, meters, and says what
becomes of a failure; how one batch is asked for and what a client's errors mean is the provider's to say. Storing
vectors is left to whoever asked for them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Protocol
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from shared.base.errors import AfterthoughtError, ProviderAway, Transient
from shared.llm.calls import (
    EXTRACTIVE,
    CallEstimate,
    CallOutcome,
    Meter,
    ModelCall,
    WorkKind,
    estimate_tokens,
    most_tokens,
)
from shared.llm.model_server import Failure, ModelServer
from shared.llm.transport import GATEWAY_STATUSES, TooMuch

Vectors = NDArray[np.float32]
"""Shape ``(n, dim)``, float32, each row of unit length."""


class Embedder(Protocol):
    """Embeds texts. Implementations hold no state between calls beside the model itself."""

    @property
    def name(self) -> str:
        """Kept with each vector, as vectors of two models cannot be compared.

        ``builtin:all-MiniLM-L6-v2``, ``builtin:ngrams`` or ``ollama:NAME``.
        """

    @property
    def same_meaning(self) -> float:
        """The cosine from which two short statements may say the same, -1..1; it depends on the model."""

    def embed(self, texts: Sequence[str], meter: Meter) -> Vectors:
        """Return one vector for each text, in order; shape ``(len(texts), dim)``.

        ``meter`` is asked before each call of a model, and each call made is reported to it exactly once.

        Raises:
            Transient: the model could not be reached, or not in time.
            OverBudget: the meter does not allow the call; none was made.
            Configuration: it can never answer: the model is missing.
        """


def to_bytes(vector: NDArray[np.float32]) -> bytes:
    """Return a vector as it is stored: float32, little-endian."""
    return vector.astype("<f4").tobytes()


def from_bytes(stored: bytes) -> NDArray[np.float32]:
    """Return a stored vector, shape ``(dim,)``."""
    return np.frombuffer(stored, dtype="<f4")


def normalised(rows: NDArray[np.float32]) -> Vectors:
    """Return the rows at unit length; a row of zeros, as of an empty text, stays one."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(length > 0, length, 1)).astype(np.float32)


@contextmanager
def book_local(texts: Sequence[str], meter: Meter, clock: Callable[[], float]) -> Iterator[None]:
    """Book the embedding done inside as the work of the built-in agent, which is charged a fraction of a model's."""
    tokens = sum(map(estimate_tokens, texts))
    meter.reserve(CallEstimate(WorkKind.EMBED, EXTRACTIVE, tokens, 0))
    began, outcome = clock(), CallOutcome.REFUSED
    try:
        yield
        outcome = CallOutcome.ANSWERED
    finally:
        meter(ModelCall(WorkKind.EMBED, EXTRACTIVE, tokens, 0, True, outcome, clock() - began))


DIMENSIONS = 512
_GRAM = 4
_WORD = re.compile(r"\w+")


class NgramEmbedder:
    """Embeds by hashed words and runs of four letters, so that only what is spelt alike is alike."""

    name = "builtin:ngrams"
    same_meaning = 0.80

    def embed(self, texts: Sequence[str], meter: Meter) -> Vectors:
        """Return one vector for each text, shape ``(len(texts), 512)``."""
        with book_local(texts, meter, perf_counter):
            rows = [self._row(text) for text in texts]
        return normalised(np.stack(rows)) if rows else np.zeros((0, DIMENSIONS), np.float32)

    def _row(self, text: str) -> NDArray[np.float32]:
        row = np.zeros(DIMENSIONS, np.float32)
        for word in _WORD.findall(text.casefold()):
            edged = f"<{word}>"
            for gram in (word, *(edged[at : at + _GRAM] for at in range(max(1, len(edged) - _GRAM + 1)))):
                row[crc32(gram.encode("utf-8", "replace")) % DIMENSIONS] += 1
        # The root: what comes again counts for less each time.
        return np.sqrt(row)


Request = Callable[[list[str]], tuple[Sequence[Sequence[float]], int | None]]
"""Asks a server: returns the vectors of texts in their order, and how many tokens were read where it says so.

Its client's errors come through as they are: the ``ModelServer`` beside it reads them.
"""
_BATCH = 64
_REFUSALS = frozenset({400, 401, 403, 404, 405})
_NEEDS = "Correct AFTERTHOUGHT_EMBEDDING."


class ServedEmbedder:
    """Embeds through a server in batches of 64; ``seconds`` is for each."""

    same_meaning = 0.86

    def __init__(self, model: str, server: ModelServer, seconds: float, request: Request) -> None:
        """Take ``model`` as the server calls it. Build it after a fork."""
        self.name = f"{server.provider.name}:{model}"
        self._model = model
        self._request = request
        self._server = server
        self._seconds = seconds

    def close(self) -> None:
        self._server.close()

    def embed(self, texts: Sequence[str], meter: Meter) -> Vectors:
        """Return one vector for each text, as ``Embedder.embed``."""
        batches = [self._request_vectors(texts[at : at + _BATCH], meter) for at in range(0, len(texts), _BATCH)]
        return np.concatenate(batches) if batches else np.zeros((0, 0), np.float32)

    def _request_vectors(self, texts: Sequence[str], meter: Meter) -> Vectors:
        meter.reserve(CallEstimate(WorkKind.EMBED, self.name, sum(map(most_tokens, texts)), 0))
        server, began, outcome, tokens = self._server, perf_counter(), CallOutcome.UNAVAILABLE, None
        try:
            with server.transport.limit(self._seconds):
                rows, tokens = self._request(list(texts))
            vectors = self._read(rows, len(texts))
            outcome = CallOutcome.ANSWERED
            return vectors
        except (*server.errors, server.transport.http.HTTPError, TooMuch, OSError, ValueError, TypeError) as error:
            ours = self._translate(error)
            if isinstance(ours, ProviderAway):
                tokens = 0  # Nobody was there to read any.
            elif server.failure_of(error) is Failure.STATUS:
                outcome = CallOutcome.REFUSED
            raise ours from None
        finally:
            used = sum(map(estimate_tokens, texts)) if tokens is None else tokens
            seconds = perf_counter() - began
            meter(ModelCall(WorkKind.EMBED, self.name, used, 0, tokens is None, outcome, seconds))

    def _translate(self, error: Exception) -> AfterthoughtError:
        server, failure = self._server, self._server.failure_of(error)
        status = server.status_of(error)
        # A proxy takes the call, and answers, for a server that is not there.
        is_doubtful = status in GATEWAY_STATUSES if failure is Failure.STATUS else failure is not Failure.LATE
        if failure is Failure.UNREACHED or (is_doubtful and not server.provider.is_there()):
            return ProviderAway(
                f"{server.product} at {server.host} cannot be reached; start it, and what waits for it goes on."
            )
        if failure is Failure.FOREIGN:
            return Transient(f"{server.host} does not speak as {server.product} does: {type(error).__name__}.")
        if failure is not Failure.STATUS or status is None:
            why = type(server.cause_of(error)).__name__
            return Transient(f"{server.product} did not embed in time ({why}); try again.")
        if status in _REFUSALS:
            return server.provider.refusal(self._model, status, _NEEDS)
        return Transient(f"{server.product} could not embed (status {status}); try again.")

    def _read(self, rows: Sequence[Sequence[float]], expected: int) -> Vectors:
        vectors = np.array(rows, np.float32)
        if vectors.ndim != 2 or len(vectors) != expected or not np.isfinite(vectors).all() or not vectors.any(1).all():
            raise Transient(f"{self.name} did not return one vector for each text; try again.")
        return normalised(vectors)
