"""The embedder that a setting names."""

from __future__ import annotations

from shared.llm.embedding import Embedder
from shared.llm.minilm import MiniLmEmbedder, is_installed
from shared.llm.ngrams import NgramEmbedder
from shared.llm.providers import model_name

NGRAMS = "ngrams"
OLLAMA = "ollama:"


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


def make_embedder_by_name(name: str, host: str, seconds: float) -> Embedder | None:
    """Build the embedder that calls itself ``name``, whose vectors are kept; None where it cannot be had here."""
    if name == MiniLmEmbedder.name:
        return MiniLmEmbedder() if is_installed() else None
    if name == NgramEmbedder.name:
        return NgramEmbedder()
    return make_embedder(name, host, seconds) if name.startswith(OLLAMA) else None


def embedder_name(setting: str | None) -> str:
    """Return what the embedder for ``setting`` is called, without building it."""
    if setting is None:
        return MiniLmEmbedder.name if is_installed() else NgramEmbedder.name
    return NgramEmbedder.name if setting == NGRAMS else setting
