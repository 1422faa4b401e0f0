"""Embedding models of a server, of whatever provider: batches, metering, and what becomes of a failure.

How one batch is asked for and what its client's errors mean is left to the providers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np

from shared.errors import AfterthoughtError, ProviderAway, Transient
from shared.llm.calls import CallOutcome, Meter, ModelCall, Prospect, WorkKind
from shared.llm.embedding import Vectors, normalised
from shared.llm.model_server import Failure, ModelServer
from shared.llm.tokens import estimate_tokens, most_tokens
from shared.llm.transport import GATEWAY_STATUSES, TooMuch

Request = Callable[[list[str]], tuple[Sequence[Sequence[float]], int | None]]
"""Returns the vectors of texts in their order, and how many tokens were read where the server says so."""
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
        """Close the connections."""
        self._server.close()

    def embed(self, texts: Sequence[str], meter: Meter) -> Vectors:
        """Return one vector for each text, as ``Embedder.embed``."""
        batches = [self._ask(texts[at : at + _BATCH], meter) for at in range(0, len(texts), _BATCH)]
        return np.concatenate(batches) if batches else np.zeros((0, 0), np.float32)

    def _ask(self, texts: Sequence[str], meter: Meter) -> Vectors:
        meter.reserve(Prospect(WorkKind.EMBED, self.name, sum(map(most_tokens, texts)), 0))
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
