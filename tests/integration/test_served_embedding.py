"""Embedding through a server, over the wire protocol of each provider that has embedding models."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from shared.base.errors import Configuration, ProviderAway
from shared.base.setting_groups import EMBEDDING_PROVIDERS
from shared.llm.calls import CallOutcome, WorkKind
from shared.llm.embedding import ServedEmbedder
from shared.llm.providers import make_embedder
from tests.support.meters import Calls
from tests.support.model_server import ModelServer
from tests.support.providers import SERVERS
from tests.support.settings import served_at


@pytest.fixture(params=EMBEDDING_PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def embedder_of(provider: str, model: str, address: str) -> ServedEmbedder:
    embedder = make_embedder(f"{provider}:{model}", served_at(address), 5)
    assert isinstance(embedder, ServedEmbedder)
    return embedder


def test_texts_are_embedded_in_batches_and_booked(provider: str, server: ModelServer) -> None:
    calls = Calls()
    with closing(embedder_of(provider, "embedder", server.url)) as embedder:
        vectors = embedder.embed([f"text {place}" for place in range(70)], calls)
    assert len(vectors) == 70
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1] * 70, abs=1e-5)
    assert [(call.kind, call.model, call.outcome, call.estimated) for call in calls] == [
        (WorkKind.EMBED, f"{provider}:embedder", CallOutcome.ANSWERED, False)
    ] * 2


def test_a_model_that_is_missing_can_never_answer(provider: str, server: ModelServer) -> None:
    calls = Calls()
    with (
        closing(embedder_of(provider, "nowhere", server.url)) as embedder,
        pytest.raises(Configuration, match="has no model nowhere"),
    ):
        embedder.embed(["text"], calls)
    assert [call.outcome for call in calls] == [CallOutcome.REFUSED]


@pytest.mark.parametrize("away", [None, 503, 0], ids=["nobody listens", "a proxy says so", "the connection breaks"])
def test_a_server_that_is_down_is_away(provider: str, server: ModelServer, away: int | None) -> None:
    calls = Calls()
    server.script.away = away
    address = "http://127.0.0.1:1" if away is None else server.url
    with closing(embedder_of(provider, "embedder", address)) as embedder, pytest.raises(ProviderAway):
        embedder.embed(["text"], calls)
    # Nobody read anything, so nothing is to be paid for.
    assert [(call.outcome, call.prompt_tokens) for call in calls] == [(CallOutcome.UNAVAILABLE, 0)]


def test_vectors_belong_to_their_texts(provider: str, server: ModelServer) -> None:
    texts = ["bees in spring", "goats in winter", "a greyhound"]
    with closing(embedder_of(provider, "embedder", server.url)) as embedder:
        together = embedder.embed(texts, Calls())
        alone = np.concatenate([embedder.embed([text], Calls()) for text in texts])
    assert together == pytest.approx(alone)


def test_a_server_that_speaks_something_else_is_said_to(provider: str) -> None:
    other = next(name for name in SERVERS if name != provider)
    calls = Calls()
    with (
        SERVERS[other]() as server,
        closing(embedder_of(provider, "embedder", server.url)) as embedder,
        pytest.raises(Configuration, match="has no model embedder"),
    ):
        embedder.embed(["text"], calls)
    assert [call.outcome for call in calls] == [CallOutcome.REFUSED]
