"""What every part of the Memory Sub-Agent has that asks a language model: whom it asks, under which limits.

What is asked, and what becomes of an answer, is each part's own.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from shared.llm.chat import Chat


def _mark() -> str:
    return secrets.token_hex(4)


class ModelPart:
    """A part that asks a chat. ``timeout_seconds`` is for one question with its repair."""

    def __init__(
        self, chat: Chat, name: str, context_tokens: int, timeout_seconds: float, mark: Callable[[], str] = _mark
    ) -> None:
        """``mark`` gives an unforeseeable word, so that nothing that is shown can pretend to end the material."""
        self._chat = chat
        self._name = name
        self._context_tokens = context_tokens
        self._timeout_seconds = timeout_seconds
        self._mark = mark

    @property
    def name(self) -> str:
        """Recorded with what it makes: ``ollama:NAME``."""
        return self._name
