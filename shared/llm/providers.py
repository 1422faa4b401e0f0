"""The chat and the embedder that a setting like ``ollama:NAME`` names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from shared.errors import Configuration
from shared.llm.embedding import Embedder, NgramEmbedder
from shared.llm.minilm import MiniLmEmbedder, is_installed, runtime

if TYPE_CHECKING:
    from shared.llm.ollama_chat import OllamaChat, OllamaToolChat

_OLLAMA = "ollama:"


def model_name(setting: str) -> str:
    """Return what Ollama calls the model that ``setting`` names.

    Raises:
        Configuration: it names another provider, or nothing.
    """
    name = setting.removeprefix(_OLLAMA)
    if not name or name == setting:
        raise Configuration(f"{setting!r} names no model; write it as ollama:NAME, for example ollama:llama3.2:3b.")
    return name


def make_chat(setting: str, host: str, context_tokens: int) -> OllamaChat:
    """Build the chat for ``setting``. Call it after a fork; takes about two seconds the first time."""
    _trace_nothing()
    # Deferred: langchain takes seconds to import and a machine without a model never needs it.
    from shared.llm.ollama_chat import OllamaChat

    return OllamaChat(model_name(setting), host, context_tokens)


def make_tool_chat(setting: str, host: str, context_tokens: int) -> OllamaToolChat:
    """Build the chat with tools for ``setting``; as ``make_chat``."""
    _trace_nothing()
    # Deferred: langchain takes seconds to import and a machine without a model never needs it.
    from shared.llm.ollama_chat import OllamaToolChat

    return OllamaToolChat(model_name(setting), host, context_tokens)


def _trace_nothing() -> None:
    """Have nothing sent to langchain's tracing service, whatever the environment says."""
    for variable in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"):
        os.environ[variable] = "false"


NGRAMS = "ngrams"
OLLAMA = "ollama:"


def make_embedder(setting: str | None, host: str, seconds: float, *, in_background: bool = False) -> Embedder:
    """Build the embedder for ``setting``: ``ollama:NAME``, ``ngrams``, or None for the built-in one; after a fork.

    Where the built-in model is not installed, letters are compared instead, and the embedder's name says so.
    ``in_background``: what is embedded on this machine gives way to whatever else wants to run.
    """
    if setting is None:
        return MiniLmEmbedder(in_background=in_background) if is_installed() else NgramEmbedder()
    if setting == NGRAMS:
        return NgramEmbedder()
    # Deferred: Ollama's client is of no use to a machine without it.
    from shared.llm.ollama_embedding import OllamaEmbedder

    return OllamaEmbedder(model_name(setting), host, seconds)


def make_embedder_by_name(name: str, host: str, seconds: float, *, in_background: bool = False) -> Embedder | None:
    """Build the embedder that calls itself ``name``, whose vectors are kept; None where it cannot be had here."""
    if name == MiniLmEmbedder.name:
        return MiniLmEmbedder(in_background=in_background) if is_installed() else None
    if name == NgramEmbedder.name:
        return NgramEmbedder()
    return make_embedder(name, host, seconds) if name.startswith(OLLAMA) else None


def embedding_runtime(setting: str | None) -> str:
    """Return in what the embedder for ``setting`` runs: ``onnxruntime`` or ``numpy``, else its own name."""
    name = embedder_name(setting)
    return runtime() if name == MiniLmEmbedder.name else name


def embedder_name(setting: str | None) -> str:
    """Return what the embedder for ``setting`` is called, without building it."""
    if setting is None:
        return MiniLmEmbedder.name if is_installed() else NgramEmbedder.name
    return NgramEmbedder.name if setting == NGRAMS else setting
