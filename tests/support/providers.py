"""Every provider with a server of its protocol, for tests that say the same of each."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import pytest

from shared.base.settings import environment_names
from shared.llm.provider import Provider
from tests.support.anthropic_server import AnthropicServer
from tests.support.model_server import ModelServer
from tests.support.ollama_server import OllamaServer
from tests.support.openai_server import OpenAiServer
from tests.support.settings import addresses_at

SERVERS: Mapping[str, type[ModelServer]] = {
    "ollama": OllamaServer,
    "openai": OpenAiServer,
    "anthropic": AnthropicServer,
}
CHATS = [name for name in SERVERS if import_module(f"shared.llm.{name}").PROVIDER.make_model is not Provider.make_model]
"""Those that have chats, and not embeddings alone."""
over_each = pytest.mark.parametrize("provider", CHATS, indirect=True)
"""Has a test's fixture ``provider`` stand for each of them."""


def environment(server: ModelServer) -> dict[str, str]:
    """Return the environment of processes whose models are all at ``server``, whoever's protocol is spoken."""
    return {environment_names(name)[0]: address for name, address in addresses_at(server.url).items()}
