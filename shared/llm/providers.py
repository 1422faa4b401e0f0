"""The chat and the provider that a setting like ``ollama:NAME`` names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from shared.errors import Configuration

if TYPE_CHECKING:
    from shared.llm.ollama_chat import OllamaChat
    from shared.llm.ollama_tools import OllamaToolChat

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
    from shared.llm.ollama_tools import OllamaToolChat

    return OllamaToolChat(model_name(setting), host, context_tokens)


def _trace_nothing() -> None:
    """Have nothing sent to langchain's tracing service, whatever the environment says."""
    for variable in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"):
        os.environ[variable] = "false"
