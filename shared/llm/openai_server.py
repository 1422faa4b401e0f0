"""A server of OpenAI's protocol: OpenAI's own, vLLM, LM Studio, llama.cpp, LiteLLM, OpenRouter. What its errors mean.

Importing this takes OpenAI's client with it, so only adapters do.
"""

from __future__ import annotations

import httpx2
import openai
from pydantic import SecretStr

from shared.errors import Configuration
from shared.llm.httpx2_transport import Httpx2DeadlineTransport
from shared.llm.model_server import IN_STREAM, ModelServer
from shared.llm.transport import is_loopback

NO_KEY = "none"
"""Sent where no key is set: the client insists on one, and servers without keys do not look at it."""


class OpenAiServer(ModelServer):
    """One server of OpenAI's protocol."""

    product = "OpenAI's API"
    errors = (openai.APIError,)
    probe_path = "models"

    def __init__(self, base_url: str, key: SecretStr | None) -> None:
        transport = Httpx2DeadlineTransport()
        super().__init__(base_url, transport)
        self.key = SecretStr(NO_KEY) if key is None else key
        # A proxy that the environment names does not lead to this machine itself.
        self.http_client = httpx2.Client(transport=transport, trust_env=not is_loopback(base_url))

    def close(self) -> None:
        self.http_client.close()
        super().close()

    def status_of(self, error: Exception) -> int | None:
        if isinstance(error, openai.APIStatusError):
            return error.status_code
        # What is left of the client's errors once those of the connection are gone is an error line in a stream.
        is_line = isinstance(error, openai.APIError) and not isinstance(error, openai.APIConnectionError)
        return IN_STREAM if is_line and not isinstance(error, openai.APIResponseValidationError) else None

    def cause_of(self, error: Exception) -> Exception:
        # langchain wraps the client's error in one of its own, and the client that of the connection.
        while isinstance(error, openai.APIConnectionError) and isinstance(error.__cause__, Exception):
            error = error.__cause__
        return error

    def refusal(self, model: str, status: int, needs: str) -> Configuration:
        if status in (401, 403):
            return Configuration(
                f"{self.product} at {self.host} does not accept the key (status {status}). Set OPENAI_API_KEY to one "
                f"that may use {model}."
            )
        if status == 404:
            return Configuration(
                f"{self.product} at {self.host} has no model {model}. Name one it has, or correct "
                "AFTERTHOUGHT_OPENAI_BASE_URL or OPENAI_BASE_URL, which mostly ends in /v1."
            )
        return Configuration(
            f"{self.product} at {self.host} refused the request to openai:{model} with status {status}; its own log "
            f"says why. {needs}"
        )
