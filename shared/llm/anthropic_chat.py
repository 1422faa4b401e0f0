"""Chat models of Anthropic's API, through langchain.

Importing this costs seconds, so only ``providers`` does, when such a model is configured.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import anthropic
import httpx2
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessageChunk, BaseMessage
from pydantic import PrivateAttr, SecretStr

from shared.errors import Configuration
from shared.llm.chat import ModelRequest, Question
from shared.llm.httpx2_transport import Httpx2DeadlineTransport
from shared.llm.langchain_chat import Ending, LangchainModel
from shared.llm.model_server import IN_STREAM, ModelServer
from shared.llm.tools import Exchange
from shared.llm.transport import is_loopback

_CAN_LEAVE_OUT = ("temperature", "output_config")
"""What some models and servers refuse, as they name it where they do."""
_NO_KEY = "none"


class AnthropicServer(ModelServer):
    """One server of Anthropic's protocol."""

    product = "Anthropic's API"
    errors = (anthropic.APIError,)
    probe_path = "/v1/models"

    def __init__(self, base_url: str) -> None:
        transport = Httpx2DeadlineTransport()
        super().__init__(base_url, transport)
        # A proxy that the environment names does not lead to this machine itself.
        self.http_client = httpx2.Client(transport=transport, trust_env=not is_loopback(base_url))

    def close(self) -> None:
        self.http_client.close()
        super().close()

    def status_of(self, error: Exception) -> int | None:
        if isinstance(error, anthropic.APIStatusError):
            # An error inside a stream has the status the stream began with.
            return error.status_code if error.status_code >= 400 else IN_STREAM
        return None

    def cause_of(self, error: Exception) -> Exception:
        # langchain wraps the client's error in one of its own, and the client that of the connection.
        while isinstance(error, anthropic.APIConnectionError) and isinstance(error.__cause__, Exception):
            error = error.__cause__
        return error

    def refusal(self, model: str, status: int, needs: str) -> Configuration:
        if status in (401, 403):
            return Configuration(
                f"{self.product} at {self.host} does not accept the key (status {status}). Set ANTHROPIC_API_KEY to "
                f"one that may use {model}."
            )
        if status == 404:
            return Configuration(
                f"{self.product} at {self.host} has no model {model}. Name one it has, or correct "
                "AFTERTHOUGHT_ANTHROPIC_BASE_URL or ANTHROPIC_BASE_URL, which has no /v1."
            )
        return Configuration(
            f"{self.product} at {self.host} refused the request to anthropic:{model} with status {status}. {needs}"
        )


class _ChatAnthropic(ChatAnthropic):
    """langchain's model with a client of ours: it takes none."""

    _http_client: httpx2.Client = PrivateAttr()

    @cached_property
    def _client(self) -> anthropic.Client:
        return anthropic.Client(**self._client_params, http_client=self._http_client)


class AnthropicModel(LangchainModel):
    """One model of a server of Anthropic's protocol."""

    answer_needs = "Structured answers are asked for by output_config; its credit may be used up."
    tool_needs = "Tools were offered to it; its credit may be used up."

    def __init__(self, model: str, base_url: str, key: SecretStr | None, context_tokens: int) -> None:
        """Take ``model`` as the server names it; the key is sent with every call and is in no message."""
        server = AnthropicServer(base_url)
        super().__init__(f"anthropic:{model}", model, server, context_tokens)
        self._langchain = _ChatAnthropic(
            model=model,
            base_url=base_url,
            api_key=key or SecretStr(_NO_KEY),
            # Whether to ask again is decided in one place for all providers.
            max_retries=0,
            # The deadline is the transport's.
            timeout=None,
            stop=None,
        )
        self._langchain._http_client = server.http_client
        self._left_out: set[str] = set()

    def stream_answer(self, question: Question[Any], messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        options = self._options(question, question.temperature)
        if "output_config" not in self._left_out:
            schema = anthropic.transform_schema(question.answer)
            options["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return self._langchain.stream(messages, **options)

    def stream_reply(self, exchange: Exchange, messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        bound = self._langchain.bind_tools(exchange.tools)
        # A chat model's stream yields chunks, though its type speaks of whole messages.
        return bound.stream(messages, **self._options(exchange, 0.0))  # type: ignore[return-value]

    def ending_of(self, chunk: AIMessageChunk) -> Ending:
        reason, usage = chunk.response_metadata.get("stop_reason"), chunk.usage_metadata
        return Ending(
            ended=reason is not None,
            truncated=reason in ("max_tokens", "model_context_window_exceeded"),
            declined=reason == "refusal",
            # A server that leaves a count out is read as if it had counted nothing.
            prompt_tokens=None if usage is None else usage["input_tokens"] or None,
            completion_tokens=None if usage is None else usage["output_tokens"] or None,
        )

    def leaves_out(self, error: Exception) -> bool:
        # langchain itself refuses a temperature for models it knows to have none.
        if not isinstance(error, anthropic.BadRequestError | ValueError):
            return False
        said = str(error)
        unwanted = next((one for one in _CAN_LEAVE_OUT if one in said and one not in self._left_out), None)
        if unwanted is not None:
            self._left_out.add(unwanted)
        return unwanted is not None

    def _options(self, asked: ModelRequest, temperature: float) -> dict[str, Any]:
        options: dict[str, Any] = {"max_tokens": asked.max_completion_tokens}
        if "temperature" not in self._left_out:
            options["temperature"] = temperature
        return options
