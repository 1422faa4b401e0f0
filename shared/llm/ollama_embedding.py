"""Embedding models of an Ollama server. Importing this takes Ollama's client with it, so only ``providers`` does."""

from __future__ import annotations

from collections.abc import Sequence

import ollama

from shared.llm.ollama_server import OllamaServer
from shared.llm.served_embedding import ServedEmbedder
from shared.llm.transport import is_loopback


class OllamaEmbedder(ServedEmbedder):
    """Embeds through ``/api/embed``."""

    def __init__(self, model: str, host: str, seconds: float) -> None:
        """Take ``model`` as Ollama names it. Build it after a fork."""
        server = OllamaServer(host)
        super().__init__(f"ollama:{model}", model, server, seconds)
        self._client = ollama.Client(host, transport=server.transport, trust_env=not is_loopback(host))

    def _request(self, texts: list[str]) -> tuple[Sequence[Sequence[float]], int | None]:
        answer = self._client.embed(self._model, texts)
        return answer.embeddings, answer.prompt_eval_count
