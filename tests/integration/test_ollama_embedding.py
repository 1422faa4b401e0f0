"""Embedding through a server that speaks Ollama's wire protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from shared.errors import Configuration, ProviderAway
from shared.llm.calls import CallOutcome, WorkKind
from shared.llm.ollama_embedding import OllamaEmbedder
from tests.support.meters import Calls
from tests.support.ollama_server import OllamaServer


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer() as running:
        yield running


def test_texts_are_embedded_in_batches_and_booked(server: OllamaServer) -> None:
    calls = Calls()
    with closing(OllamaEmbedder("embedder", server.url, 5)) as embedder:
        vectors = embedder.embed([f"text {place}" for place in range(70)], calls)
    assert len(vectors) == 70
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1] * 70, abs=1e-5)
    assert [(call.kind, call.model, call.outcome, call.estimated) for call in calls] == [
        (WorkKind.EMBED, "ollama:embedder", CallOutcome.ANSWERED, False)
    ] * 2


def test_a_model_that_is_missing_can_never_answer(server: OllamaServer) -> None:
    calls = Calls()
    with (
        closing(OllamaEmbedder("nowhere", server.url, 5)) as embedder,
        pytest.raises(Configuration, match="ollama pull nowhere"),
    ):
        embedder.embed(["text"], calls)
    assert [call.outcome for call in calls] == [CallOutcome.REFUSED]


@pytest.mark.parametrize("away", [None, 503, 0], ids=["nobody listens", "a proxy says so", "the connection breaks"])
def test_a_server_that_is_down_is_away(server: OllamaServer, away: int | None) -> None:
    calls = Calls()
    server.script.away = away
    address = "http://127.0.0.1:1" if away is None else server.url
    with closing(OllamaEmbedder("embedder", address, 2)) as embedder, pytest.raises(ProviderAway):
        embedder.embed(["text"], calls)
    # Nobody read anything, so nothing is to be paid for.
    assert [(call.outcome, call.prompt_tokens) for call in calls] == [(CallOutcome.UNAVAILABLE, 0)]
