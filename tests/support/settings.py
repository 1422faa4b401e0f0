"""Settings for tests, which do not read the environment."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from shared.base.setting_groups import AddressOf, ModelSettings
from shared.base.settings import Settings


def default_settings(**chosen: Any) -> Settings:
    """Return the default settings, whatever the environment says, but for what is chosen."""
    return Settings.model_construct(**chosen)


def served_at(address: str, context_tokens: int = 8192, **chosen: Any) -> Settings:
    """Return the settings of an installation whose models are all at ``address``, whoever's protocol is spoken."""
    return default_settings(model_context_tokens=context_tokens, **addresses_at(address), **chosen)


def addresses_at(address: str) -> dict[str, str]:
    """Return by setting where each provider is, all at one address, with the path that its own has by default."""
    fields = ModelSettings.model_fields.items()
    are_addresses = {name: one for name, one in fields if any(isinstance(part, AddressOf) for part in one.metadata)}
    return {name: address + urlsplit(str(one.default)).path for name, one in are_addresses.items()}
