"""Ollama as a server: what its client's errors mean. Importing this takes the client with it, so only adapters do."""

from __future__ import annotations

from ollama import ResponseError

from shared.errors import Configuration
from shared.llm.model_server import ModelServer
from shared.llm.transport import DeadlineTransport


class OllamaServer(ModelServer):
    """One Ollama server."""

    product = "Ollama"
    errors = (ResponseError,)
    more_at_once = "Raise OLLAMA_NUM_PARALLEL, for Ollama and here"
    probe_path = "/api/version"

    def __init__(self, host: str) -> None:
        super().__init__(host, DeadlineTransport())

    def status_of(self, error: Exception) -> int | None:
        # -1 is how Ollama's client itself reports an error line inside a stream.
        return error.status_code if isinstance(error, ResponseError) else None

    def refusal(self, model: str, status: int, needs: str) -> Configuration:
        if status == 404:
            return Configuration(f"Ollama at {self.host} has no model {model}. Run: ollama pull {model}")
        return Configuration(
            f"Ollama at {self.host} refused the request to ollama:{model} with status {status}; its own log says why. "
            + needs
        )
