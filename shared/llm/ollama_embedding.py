"""An embedding model of an Ollama server. Importing this takes Ollama's client with it, so only ``embedders`` does."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import httpx
import numpy as np
import ollama

from shared.errors import Configuration, ProviderAway, Transient
from shared.llm.calls import CallOutcome, Meter, ModelCall, Prospect, WorkKind
from shared.llm.embedding import Vectors, normalised
from shared.llm.ollama_status import GATEWAY_STATUSES, is_there
from shared.llm.tokens import estimate_tokens, most_tokens
from shared.llm.transport import DeadlineTransport, is_loopback

_BATCH = 64
_REFUSALS = frozenset({400, 401, 403, 404, 405})


class OllamaEmbedder:
    """Embeds through ``/api/embed``, in batches of 64; ``seconds`` is for each."""

    same_meaning = 0.86

    def __init__(self, model: str, host: str, seconds: float) -> None:
        """Take ``model`` as Ollama names it. Build it after a fork."""
        self.name = f"ollama:{model}"
        self._model = model
        self._host = host
        self._seconds = seconds
        self._transport = DeadlineTransport()
        self._client = ollama.Client(host, transport=self._transport, trust_env=not is_loopback(host))

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def embed(self, texts: Sequence[str], meter: Meter) -> Vectors:
        """Return one vector for each text, as ``Embedder.embed``."""
        batches = [self._ask(texts[at : at + _BATCH], meter) for at in range(0, len(texts), _BATCH)]
        return np.concatenate(batches) if batches else np.zeros((0, 0), np.float32)

    def _ask(self, texts: Sequence[str], meter: Meter) -> Vectors:
        meter.reserve(Prospect(WorkKind.EMBED, self.name, sum(map(most_tokens, texts)), 0))
        began, outcome, tokens = perf_counter(), CallOutcome.UNAVAILABLE, None
        try:
            with self._transport.limit(self._seconds):
                answer = self._client.embed(self._model, list(texts))
            tokens = answer.prompt_eval_count
            vectors = self._read(answer.embeddings, len(texts))
            outcome = CallOutcome.ANSWERED
            return vectors
        except (ollama.ResponseError, httpx.HTTPError, ConnectionError) as error:
            if self._is_away(error):
                tokens = 0  # Nobody was there to read any.
                why = f"Ollama at {self._host} cannot be reached; start it, and what waits for it goes on."
                raise ProviderAway(why) from error
            if isinstance(error, ollama.ResponseError):
                outcome = CallOutcome.REFUSED
                raise self._refused(error) from error
            raise Transient(f"Ollama did not embed in time ({type(error).__name__}); try again.") from error
        finally:
            used = sum(map(estimate_tokens, texts)) if tokens is None else tokens
            seconds = perf_counter() - began
            meter(ModelCall(WorkKind.EMBED, self.name, used, 0, tokens is None, outcome, seconds))

    def _is_away(self, error: Exception) -> bool:
        """Whether nobody took the call; a proxy takes it, and answers, for a server that is not there."""
        if isinstance(error, ollama.ResponseError):
            return error.status_code in GATEWAY_STATUSES and not is_there(self._host)
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | ConnectionError):
            return True
        return not isinstance(error, httpx.TimeoutException) and not is_there(self._host)

    def _read(self, rows: Sequence[Sequence[float]], expected: int) -> Vectors:
        vectors = np.array(rows, np.float32)
        if vectors.ndim != 2 or len(vectors) != expected or not np.isfinite(vectors).all() or not vectors.any(1).all():
            raise Transient(f"{self.name} did not return one vector for each text; try again.")
        return normalised(vectors)

    def _refused(self, error: ollama.ResponseError) -> Configuration | Transient:
        if error.status_code in _REFUSALS:
            return Configuration(
                f"Ollama at {self._host} refuses to embed with {self._model} (status {error.status_code}). "
                f"Run: ollama pull {self._model}, or correct AFTERTHOUGHT_EMBEDDING."
            )
        return Transient(f"Ollama could not embed (status {error.status_code}); try again.")
