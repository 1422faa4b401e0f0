"""The embedder that a setting names."""

from __future__ import annotations

from shared.llm.embedding import Embedder
from shared.llm.minilm import MiniLmEmbedder, is_installed
from shared.llm.ngrams import NgramEmbedder
from shared.llm.providers import model_name

NGRAMS = "ngrams"


def make_embedder(setting: str | None, host: str, seconds: float) -> Embedder:
    """Build the embedder for ``setting``: ``ollama:NAME``, ``ngrams``, or None for the built-in one; after a fork.

    Where the built-in model is not installed, letters are compared instead, and the embedder's name says so.
    """
    if setting is None:
        return MiniLmEmbedder() if is_installed() else NgramEmbedder()
    if setting == NGRAMS:
        return NgramEmbedder()
    # Deferred: Ollama's client is of no use to a machine without it.
    from shared.llm.ollama_embedding import OllamaEmbedder

    return OllamaEmbedder(model_name(setting), host, seconds)
