"""Settings for tests, which do not read the environment."""

from __future__ import annotations

from typing import Any

from shared.settings import Settings


def default_settings(**chosen: Any) -> Settings:
    """Return the default settings, whatever the environment says, but for what is chosen."""
    return Settings.model_construct(**chosen)
