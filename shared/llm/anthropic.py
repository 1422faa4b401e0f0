"""Servers of Anthropic's protocol, through langchain; they have no embedding models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from shared.llm.chat import ModelRequest, Question
from shared.llm.langchain_model import Ending, LangchainModel
from shared.llm.provider import ApiProvider, ModelTraits
from shared.llm.tools import Exchange

if TYPE_CHECKING:
    from langchain_core.messages import AIMessageChunk, BaseMessage

_CAN_LEAVE_OUT = ("temperature", "output_config")
"""What some models and servers refuse, as they name it where they do."""
_VERSION = "2023-06-01"


class Anthropic(ApiProvider):
    """A server of Anthropic's protocol."""

    name = "anthropic"
    product = "Anthropic's API"
    address_setting, key_setting = "anthropic_base_url", "anthropic_api_key"
    address_form = "has no /v1"
    libraries = ("anthropic", "langchain_anthropic")
    models_path, probe_path = "/v1/models?limit=1000", "/v1/models"
    why_refused = ""

    @property
    def headers(self) -> Mapping[str, str]:
        """The protocol's version, and the key where one is set."""
        key = {} if self.key is None else {"x-api-key": self.key.get_secret_value()}
        return key | {"anthropic-version": _VERSION}

    def traits(self, model: str, timeout_seconds: float) -> ModelTraits:
        """Return what holds for all models of it: its server tells nothing that is looked for here."""
        return ModelTraits(has_tools=True)

    def make_model(self, model: str) -> LangchainModel:
        return AnthropicModel(self, model)


PROVIDER = Anthropic


class AnthropicModel(LangchainModel):
    """One model of a server of Anthropic's protocol."""

    answer_needs = "Structured answers are asked for by output_config; its credit may be used up."
    tool_needs = "Tools were offered to it; its credit may be used up."

    def __init__(self, provider: Anthropic, model: str) -> None:
        # Deferred: its libraries are an extra, and take seconds.
        import anthropic
        from langchain_anthropic import ChatAnthropic

        # As above.
        from shared.llm.api_client import ApiServer

        server = ApiServer(provider, anthropic)
        super().__init__(model, server)
        self._langchain = ChatAnthropic(model=model, api_key=SecretStr(server.key), stop=None, **server.arguments)
        # It takes no client of ours: its own is made when it is first needed, and kept here.
        client = anthropic.Client(**self._langchain._client_params, http_client=server.http_client)
        self._langchain.__dict__["_client"] = client

    def stream_answer(self, question: Question[Any], messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        options = self._options(question, question.temperature)
        if "output_config" not in self._left_out:
            # Deferred: its libraries are an extra.
            from anthropic import transform_schema

            schema = transform_schema(question.answer)
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
        if self.server.status_of(error) != 400 and not isinstance(error, ValueError):
            return False
        return self._leave_out_named(error, _CAN_LEAVE_OUT)

    def _options(self, request: ModelRequest, temperature: float) -> dict[str, Any]:
        options: dict[str, Any] = {"max_tokens": request.max_completion_tokens}
        if "temperature" not in self._left_out:
            options["temperature"] = temperature
        return options
