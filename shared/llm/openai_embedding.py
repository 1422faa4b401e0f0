"""Embedding models of a server of OpenAI's protocol, through OpenAI's client, as langchain's class drops the usage."""

from __future__ import annotations

from collections.abc import Sequence

import openai
from pydantic import SecretStr

from shared.llm.openai_server import OpenAiServer
from shared.llm.served_embedding import ServedEmbedder


class OpenAiEmbedder(ServedEmbedder):
    """Embeds through ``/embeddings``."""

    def __init__(self, model: str, base_url: str, key: SecretStr | None, seconds: float) -> None:
        """Take ``model`` as the server names it. Build it after a fork."""
        server = OpenAiServer(base_url, key)
        super().__init__(f"openai:{model}", model, server, seconds)
        self._client = openai.OpenAI(
            base_url=base_url,
            api_key=server.key.get_secret_value(),
            http_client=server.http_client,
            max_retries=0,
            timeout=None,
        )

    def _request(self, texts: list[str]) -> tuple[Sequence[Sequence[float]], int | None]:
        # By default the client asks for base64, which not every server knows.
        answer = self._client.embeddings.create(model=self._model, input=texts, encoding_format="float")
        rows = [one.embedding for one in sorted(answer.data, key=lambda one: one.index)]
        return rows, answer.usage.prompt_tokens if answer.usage else None
