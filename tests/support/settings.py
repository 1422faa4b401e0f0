"""Settings for tests, which do not read the environment."""

from __future__ import annotations

from typing import Any

from shared.base.settings import Settings


def default_settings(**chosen: Any) -> Settings:
    """Return the default settings, whatever the environment says, but for what is chosen."""
    return Settings.model_construct(**chosen)


def served_at(address: str, context_tokens: int = 8192, **chosen: Any) -> Settings:
    """Return the settings of an installation whose models are all at ``address``, whoever's protocol is spoken."""
    return default_settings(
        ollama_host=address,
        openai_base_url=f"{address}/v1",
        anthropic_base_url=address,
        model_context_tokens=context_tokens,
        **chosen,
    )
