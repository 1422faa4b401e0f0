"""Whose models there are, and how settings and rows name them: ``PROVIDER:NAME``."""

from __future__ import annotations

MODEL_PROVIDERS = ("ollama", "openai", "anthropic")
"""Whoever serves models, as settings and rows name them: ``PROVIDER:NAME``."""
EMBEDDING_PROVIDERS = ("ollama", "openai")
"""Those of them that serve embedding models too."""
OPENAIS_OWN = "api.openai.com"
"""Where OpenAI's own server is, which differs from others of its protocol."""


def provider_of(model: str) -> str | None:
    """Return whose ``model`` is; None where it is nobody's, or has no name."""
    provider, _, name = model.partition(":")
    return provider if name and provider in MODEL_PROVIDERS else None


def forms_of(providers: tuple[str, ...]) -> str:
    """Return how models of the providers are written, for a message."""
    return " or ".join(f"{provider}:NAME" for provider in providers)


def same_model(one: str, other: str) -> bool:
    """Whether two names that a server knows mean one model: Ollama reads a missing tag as ``latest``."""
    return _with_tag(one) == _with_tag(other)


def _with_tag(name: str) -> str:
    return name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"
