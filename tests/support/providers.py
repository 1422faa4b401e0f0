"""Every provider with a server of its protocol, for tests that say the same of each."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.support.anthropic_server import AnthropicServer
from tests.support.model_server import ModelServer
from tests.support.ollama_server import OllamaServer
from tests.support.openai_server import OpenAiServer

SERVERS: Mapping[str, type[ModelServer]] = {
    "ollama": OllamaServer,
    "openai": OpenAiServer,
    "anthropic": AnthropicServer,
}
over_each = pytest.mark.parametrize("provider", SERVERS, indirect=True)
"""Has a test's fixture ``provider`` stand for each of them."""


def environment(server: ModelServer) -> dict[str, str]:
    """Return the environment of processes whose models are all at ``server``, whoever's protocol is spoken."""
    return {
        "OLLAMA_HOST": server.url,
        "AFTERTHOUGHT_OPENAI_BASE_URL": f"{server.url}/v1",
        "AFTERTHOUGHT_ANTHROPIC_BASE_URL": server.url,
    }
