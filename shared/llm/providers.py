"""The chat and the embedder that a setting like ``ollama:NAME`` or ``openai:NAME`` names, and how its server does."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from shared.addresses import without_credentials
from shared.errors import Configuration
from shared.installation import how_to_add
from shared.llm.api_status import Api, api_status
from shared.llm.embedding import Embedder, NgramEmbedder
from shared.llm.minilm import MiniLmEmbedder, is_installed
from shared.llm.model_server import ServerStatus, is_there
from shared.llm.ollama_status import ollama_status
from shared.model_names import EMBEDDING_PROVIDERS, MODEL_PROVIDERS, provider_of
from shared.setting_groups import ModelSettings
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.llm.langchain_chat import LangchainChat, LangchainModel, LangchainToolChat

NGRAMS = "ngrams"
_STATUS_SECONDS = 2.0
_DOUBT_SECONDS = 300.0
"""How often a model is tried of which its server does not tell."""


def split_model(setting: str) -> tuple[str, str]:
    """Return the provider and what it calls the model that ``setting`` names.

    Raises:
        Configuration: it names a provider that is not known, or nothing.
    """
    provider = provider_of(setting)
    if provider is None:
        known = ", ".join(f"{one}:NAME" for one in MODEL_PROVIDERS)
        raise Configuration(f"{setting!r} names no model; write it as {known}, for example ollama:llama3.2:3b.")
    return provider, setting.removeprefix(f"{provider}:")


def make_chat(setting: str, settings: ModelSettings) -> LangchainChat:
    """Build the chat for ``setting``. Call it after a fork; takes about two seconds the first time."""
    # Deferred: langchain takes seconds to import and a machine without a model never needs it.
    from shared.llm.langchain_chat import LangchainChat

    return LangchainChat(_make_model(setting, settings))


def make_tool_chat(setting: str, settings: ModelSettings) -> LangchainToolChat:
    """Build the chat with tools for ``setting``; as ``make_chat``."""
    # Deferred: as above.
    from shared.llm.langchain_chat import LangchainToolChat

    return LangchainToolChat(_make_model(setting, settings))


def _make_model(setting: str, settings: ModelSettings) -> LangchainModel:
    _trace_nothing()
    provider, name = split_model(setting)
    # Deferred: as above.
    with _installed(provider):
        if provider == "openai":
            # Deferred: its libraries are an extra.
            from shared.llm.openai_chat import OpenAiModel

            return OpenAiModel(name, settings.openai_base_url, settings.openai_api_key, settings.model_context_tokens)
        if provider == "anthropic":
            # Deferred: its libraries are an extra.
            from shared.llm.anthropic_chat import AnthropicModel

            return AnthropicModel(
                name, settings.anthropic_base_url, settings.anthropic_api_key, settings.model_context_tokens
            )
        # As above.
        from shared.llm.ollama_chat import OllamaModel

        return OllamaModel(name, settings.ollama_host, settings.model_context_tokens)


@contextmanager
def _installed(provider: str) -> Iterator[None]:
    """Say what to install where a provider's libraries are not there. Raises ``Configuration`` then."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise Configuration(_how_to_install(provider, str(error.name))) from error


def _how_to_install(provider: str, module: str) -> str:
    return f"{provider}:NAME needs {module}, which is not installed. {how_to_add(provider)}"


def _trace_nothing() -> None:
    """Have nothing sent to langchain's tracing service, whatever the environment says."""
    for variable in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"):
        os.environ[variable] = "false"


def make_embedder(
    setting: str | None, settings: ModelSettings, seconds: float, *, in_background: bool = False
) -> Embedder:
    """Build the embedder for ``setting``: a provider's, ``ngrams``, or None for the built-in one; after a fork.

    Where the built-in model is not installed, letters are compared instead, and the embedder's name says so.
    ``in_background``: what is embedded on this machine gives way to whatever else wants to run.
    """
    if setting is None:
        return MiniLmEmbedder(in_background=in_background) if is_installed() else NgramEmbedder()
    if setting == NGRAMS:
        return NgramEmbedder()
    provider, name = split_model(setting)
    # Deferred: a provider's client is of no use to a machine without it.
    with _installed(provider):
        if provider == "openai":
            # Deferred: its libraries are an extra.
            from shared.llm.openai_embedding import OpenAiEmbedder

            return OpenAiEmbedder(name, settings.openai_base_url, settings.openai_api_key, seconds)
        # As above.
        from shared.llm.ollama_embedding import OllamaEmbedder

        return OllamaEmbedder(name, settings.ollama_host, seconds)


def make_embedder_by_name(
    name: str, settings: ModelSettings, seconds: float, *, in_background: bool = False
) -> Embedder | None:
    """Build the embedder that calls itself ``name``, whose vectors are kept; None where it cannot be had here."""
    if name == MiniLmEmbedder.name:
        return MiniLmEmbedder(in_background=in_background) if is_installed() else None
    if name == NgramEmbedder.name:
        return NgramEmbedder()
    return make_embedder(name, settings, seconds) if provider_of(name) in EMBEDDING_PROVIDERS else None


def embedder_name(setting: str | None) -> str:
    """Return what the embedder for ``setting`` is called, without building it."""
    if setting is None:
        return MiniLmEmbedder.name if is_installed() else NgramEmbedder.name
    return NgramEmbedder.name if setting == NGRAMS else setting


class ModelProbe:
    """Whether what jobs need of servers can be asked again; asks for nothing that costs anything. Does not raise."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._doubt_until = -math.inf

    def __call__(self) -> bool:
        settings = self._settings
        models = [one for one in (settings.model, settings.embedding) if one is not None]
        providers = {provider for one in models if (provider := provider_of(one)) is not None}
        if not all(self._is_there(provider) for provider in providers):
            return False
        model = settings.model
        if model is None or server_status(model, settings).is_listed:
            return True
        # Ollama lists all it has; of others, a model may answer that is in no list. Were it believed at each look, all
        # that waits for a model that is missing would go on, and wait again, every few seconds.
        if provider_of(model) == "ollama" or time.monotonic() < self._doubt_until:
            return False
        self._doubt_until = time.monotonic() + _DOUBT_SECONDS
        return True

    def _is_there(self, provider: str) -> bool:
        api = api_of(provider, self._settings)
        address, path = (self._settings.ollama_host, "/api/version") if api is None else (api.base_url, api.models_path)
        return is_there(address, path, _STATUS_SECONDS)


def server_status(setting: str, settings: ModelSettings, timeout_seconds: float = _STATUS_SECONDS) -> ServerStatus:
    """Look whether the server of the model that ``setting`` names has it, and say how to mend it where not.

    Does not raise for what is found there.
    """
    provider, name = split_model(setting)
    api = api_of(provider, settings)
    if api is None:
        return ollama_status(settings.ollama_host, name, timeout_seconds)
    missing = next((one for one in _LIBRARIES[provider] if find_spec(one) is None), None)
    if missing is not None:
        return ServerStatus(name, without_credentials(api.base_url), mend=_how_to_install(provider, missing))
    return api_status(api, name, timeout_seconds)


_LIBRARIES = {"openai": ("openai", "langchain_openai"), "anthropic": ("anthropic", "langchain_anthropic")}
"""What the extra of a provider's name brings."""
_ANTHROPIC_VERSION = "2023-06-01"


def api_of(provider: str, settings: ModelSettings) -> Api | None:
    """Return where a provider's API is; None for Ollama, which has commands of its own."""
    if provider == "openai":
        key = settings.openai_api_key
        headers = {} if key is None else {"Authorization": f"Bearer {key.get_secret_value()}"}
        names = ("OPENAI_API_KEY", "AFTERTHOUGHT_OPENAI_BASE_URL or OPENAI_BASE_URL")
        return Api("OpenAI's API", settings.openai_base_url, "models", headers, *names)
    if provider == "anthropic":
        key = settings.anthropic_api_key
        headers = {} if key is None else {"x-api-key": key.get_secret_value()}
        headers["anthropic-version"] = _ANTHROPIC_VERSION
        names = ("ANTHROPIC_API_KEY", "AFTERTHOUGHT_ANTHROPIC_BASE_URL or ANTHROPIC_BASE_URL")
        return Api("Anthropic's API", settings.anthropic_base_url, "/v1/models?limit=1000", headers, *names)
    return None
