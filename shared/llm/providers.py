"""The chat and the embedder that a setting like ``ollama:NAME`` names, and what its server tells of the model.

What differs between providers is in the file of each (``shared.llm.provider``).
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import httpx

from shared.base.errors import Configuration
from shared.base.installation import how_to_add
from shared.base.setting_groups import EMBEDDING_PROVIDERS, MODEL_PROVIDERS, ModelSettings, provider_of
from shared.base.settings import Settings
from shared.llm.embedding import Embedder, NgramEmbedder
from shared.llm.minilm import MiniLmEmbedder, is_installed
from shared.llm.model_server import LOOK_SECONDS
from shared.llm.provider import ModelTraits, Provider, ServerStatus, parameters_in

if TYPE_CHECKING:
    from shared.llm.langchain_chat import LangchainChat, LangchainToolChat
    from shared.llm.langchain_model import LangchainModel

NGRAMS = "ngrams"
_AGAIN_SECONDS = 300.0
"""How often a model is tried, or asked about, of which its server does not tell."""


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


def provider_for(setting: str, settings: ModelSettings) -> tuple[Provider, str]:
    """Return the provider of the model that ``setting`` names, and what it calls it. Raises as ``split_model``."""
    name, model = split_model(setting)
    return _provider_named(name, settings), model


def _provider_named(name: str, settings: ModelSettings) -> Provider:
    # By its name, so that nothing has to list the providers, and none is imported that is not asked for.
    declared: type[Provider] = import_module(f"shared.llm.{name}").PROVIDER
    return declared(settings)


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
    # Have nothing sent to langchain's tracing service, whatever the environment says.
    for variable in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"):
        os.environ[variable] = "false"
    provider, model = provider_for(setting, settings)
    with _installed(provider.name):
        return provider.make_model(model)


@contextmanager
def _installed(provider: str) -> Iterator[None]:
    """Say what to install where a provider's libraries are not there. Raises ``Configuration`` then."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise Configuration(_how_to_install(provider, str(error.name))) from error


def _how_to_install(provider: str, module: str) -> str:
    return f"{provider}:NAME needs {module}, which is not installed. {how_to_add(provider)}"


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
    provider, model = provider_for(setting, settings)
    with _installed(provider.name):
        return provider.make_embedder(model, seconds)


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
        if not all(_provider_named(one, settings).is_there() for one in providers):
            return False
        model = settings.model
        if model is None or server_status(model, settings).is_listed:
            return True
        # A model may answer that is in no list. Were it believed at each look, all that waits for a model that is
        # missing would go on, and wait again, every few seconds.
        if provider_for(model, settings)[0].lists_all or time.monotonic() < self._doubt_until:
            return False
        self._doubt_until = time.monotonic() + _AGAIN_SECONDS
        return True


def server_status(setting: str, settings: ModelSettings, timeout_seconds: float = LOOK_SECONDS) -> ServerStatus:
    """Look whether the server of the model that ``setting`` names has it, and say how to mend it where not.

    Does not raise for what is found there.
    """
    provider, model = provider_for(setting, settings)
    missing = next((one for one in provider.libraries if find_spec(one) is None), None)
    if missing is not None:
        return ServerStatus(model, provider.host, remedy=_how_to_install(provider.name, missing))
    return provider.status(model, timeout_seconds)


def model_traits(setting: str, settings: ModelSettings, timeout_seconds: float = LOOK_SECONDS) -> ModelTraits:
    """Ask the server of the model that ``setting`` names about it; empty where nobody answers. Does not raise."""
    if provider_of(setting) is None:
        return ModelTraits()
    provider, model = provider_for(setting, settings)
    try:
        return provider.traits(model, timeout_seconds)
    # ValueError: a key that no header can hold.
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError):
        return ModelTraits()


SMALL_BELOW = 4_000_000_000
"""Parameters below which a model is not asked to choose. Measured up to 1.5 billion, where it chooses worse than the
classifier; what nobody told of is taken for a hosted model, which is large. Source: docs/guides/choose-a-model.md."""


class ModelSize:
    """Whether a model is small, as the setting says, else its server, else its name."""

    def __init__(self, model: str, settings: ModelSettings) -> None:
        self._model, self._settings = model, settings
        self._parameters = parameters_in(model)
        self._ask_at = 0.0

    def is_small(self) -> bool:
        """Ask until the server tells: it may come later than we. One that tells nothing is asked every few minutes."""
        if self._settings.model_size is None and time.monotonic() >= self._ask_at:
            reported = model_traits(self._model, self._settings).parameters
            self._parameters = reported or self._parameters
            self._ask_at = math.inf if reported else time.monotonic() + _AGAIN_SECONDS
        return _is_small(self._parameters, self._settings)


def is_known_small(model: str, settings: ModelSettings) -> bool:
    """Whether a model is small by the setting or its name, without a word of its server."""
    return _is_small(parameters_in(model), settings)


def _is_small(parameters: int | None, settings: ModelSettings) -> bool:
    if settings.model_size is not None:
        return settings.model_size == "small"
    return parameters is not None and parameters < SMALL_BELOW
