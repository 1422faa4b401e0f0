"""Servers of OpenAI's protocol: OpenAI's own, vLLM, LM Studio, llama.cpp, LiteLLM, OpenRouter; and Ollama's own too.

Chats go through langchain by chat completions, which all such servers have; embeddings through OpenAI's client, as
langchain's class drops the usage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr

from shared.llm.chat import ModelRequest, Question
from shared.llm.embedding import ServedEmbedder
from shared.llm.langchain_model import Ending, LangchainModel
from shared.llm.ollama import ask_shown, traits_shown
from shared.llm.provider import (
    ApiProvider,
    ModelTraits,
    Reported,
    ReportedCount,
    answering_any_name,
    is_same_model,
    parameters_in,
    read_reported,
)
from shared.llm.tools import Exchange
from shared.llm.transport import open_client

if TYPE_CHECKING:
    from langchain_core.messages import AIMessageChunk, BaseMessage

_OWN_HOST = "api.openai.com"
"""Where OpenAI's own server is, which differs from others of its protocol."""
_OLLAMA_TOKENS = 4096
"""The window that Ollama gives over this protocol, which cannot name another; a longer prompt is cut silently."""
_CAN_LEAVE_OUT = ("temperature", "response_format", "stream_options", "max_tokens")
"""What some models and servers refuse, as they name it where they do."""
_BOUNDS = ("maxLength", "maxItems", "minItems", "minimum")
"""Of a schema; a server that takes none of them names one where it refuses, and is asked without all."""


class OpenAi(ApiProvider):
    """A server of OpenAI's protocol."""

    name = "openai"
    product = "OpenAI's API"
    address_setting, key_setting = "openai_base_url", "openai_api_key"
    address_form = "mostly ends in /v1"
    libraries = ("openai", "langchain_openai")
    models_path = probe_path = "models"
    openai_path = ""

    @property
    def headers(self) -> Mapping[str, str]:
        """The key, where one is set."""
        return {} if self.key is None else {"Authorization": f"Bearer {self.key.get_secret_value()}"}

    @property
    def is_own(self) -> bool:
        """Whether it is OpenAI's own server."""
        return urlsplit(self.address).hostname == _OWN_HOST

    def traits(self, model: str, timeout_seconds: float) -> ModelTraits:
        """Read its list of models, and what llama.cpp and Ollama tell beside the protocol."""
        with open_client(self.address, timeout_seconds, self.headers) as client:
            response = client.get(self.models_path)
        listed = read_reported(response, _ListedModels).data
        if listed is None:
            return ModelTraits()
        answering = answering_any_name(response.json()) or model
        entry = next((one for one in listed if one and is_same_model(one.id or "", answering)), _ListedModel())
        root, props = self.address.removesuffix("/v1"), _LlamaProps()
        if entry.meta is not None:
            # llama.cpp's own, outside the protocol; nobody else tells of ``meta``.
            with open_client(root, timeout_seconds, self.headers) as client:
                props = read_reported(client.get("/props"), _LlamaProps)
        elif entry.max_model_len is None and not self.is_own:
            # Without the key: it is not Ollama's.
            with open_client(root, timeout_seconds) as client:
                if read_reported(client.get("/api/version"), _OllamaVersion).version is not None:
                    shown = ask_shown(client, model)
                    traits = traits_shown(shown, model, self.settings.ollama_num_parallel)
                    made_for = re.search(r"^num_ctx\s+(\d{1,9})\b", shown.parameters or "", re.MULTILINE)
                    window = _OLLAMA_TOKENS if made_for is None else int(made_for[1])
                    window = min(window, traits.context_tokens or window)
                    return replace(traits, context_tokens=window, is_behind_ollama=True, ollama_address=root)
        meta, slot = entry.meta or _ListedMeta(), props.default_generation_settings or _LlamaSlot()
        return ModelTraits(
            parameters=meta.n_params or parameters_in(answering),
            context_tokens=meta.n_ctx or slot.n_ctx or entry.max_model_len or meta.n_ctx_train,
            parallel=props.total_slots,
        )

    def make_model(self, model: str) -> LangchainModel:
        return OpenAiModel(self, model)

    def make_embedder(self, model: str, seconds: float) -> ServedEmbedder:
        # Deferred: its libraries are an extra.
        import openai

        # As above.
        from shared.llm.api_client import ApiServer

        server = ApiServer(self, openai)
        client = openai.OpenAI(api_key=server.key, http_client=server.http_client, **server.arguments)

        def request(texts: list[str]) -> tuple[Sequence[Sequence[float]], int | None]:
            # By default the client asks for base64, which not every server knows.
            answer = client.embeddings.create(model=model, input=texts, encoding_format="float")
            rows = [one.embedding for one in sorted(answer.data, key=lambda one: one.index)]
            return rows, answer.usage.prompt_tokens if answer.usage else None

        return ServedEmbedder(model, server, seconds, request)


PROVIDER = OpenAi


class _OllamaVersion(BaseModel):
    version: Reported[str] = None


class _ListedMeta(BaseModel):
    """What llama.cpp alone tells."""

    n_ctx: ReportedCount = None
    n_ctx_train: ReportedCount = None
    n_params: ReportedCount = None


class _ListedModel(BaseModel):
    id: Reported[str] = None
    max_model_len: ReportedCount = None
    meta: Reported[_ListedMeta] = None


class _ListedModels(BaseModel):
    """``/models`` of OpenAI's protocol."""

    data: Reported[list[Reported[_ListedModel]]] = None


class _LlamaSlot(BaseModel):
    n_ctx: ReportedCount = None


class _LlamaProps(BaseModel):
    """llama.cpp's ``/props``."""

    default_generation_settings: Reported[_LlamaSlot] = None
    total_slots: ReportedCount = None


class OpenAiModel(LangchainModel):
    """One model of a server of OpenAI's protocol."""

    answer_needs = "Structured answers are asked for by response_format; its window may be smaller than is set."
    tool_needs = "Tools were offered to it; the server may not take them."

    def __init__(self, provider: OpenAi, model: str) -> None:
        # Deferred: its libraries are an extra, and take seconds.
        import openai
        from langchain_openai import ChatOpenAI

        # As above.
        from shared.llm.api_client import ApiServer

        server = ApiServer(provider, openai)
        super().__init__(model, server)
        key, client = SecretStr(server.key), server.http_client
        self._langchain = ChatOpenAI(
            model=model, api_key=key, http_client=client, use_responses_api=False, **server.arguments
        )
        # OpenAI's own models want `max_completion_tokens`, which other servers do not know.
        self._left_out = {"max_tokens"} if provider.is_own else set()

    def stream_answer(self, question: Question[Any], messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        body = self._body(question, question.temperature)
        if "response_format" not in self._left_out:
            is_bounded = _BOUNDS[0] not in self._left_out
            schema = question.answer.model_json_schema()
            # Whether every field of every object must be there, without which nothing can be answered strictly.
            objects = [one for one in (schema, *schema.get("$defs", {}).values()) if "properties" in one]
            strict = all(set(one["properties"]) == set(one.get("required", ())) for one in objects)
            if strict:
                # Deferred: its libraries are an extra.
                import openai

                # The client's own rules for what strict means, by the only public way to them.
                schema = openai.pydantic_function_tool(question.answer)["function"]["parameters"]
            if not is_bounded:
                schema = _without_bounds(schema)
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": question.answer.__name__.strip("_"), "strict": strict, "schema": schema},
            }
        return self._langchain.stream(messages, extra_body=body, stream_usage=self._wants_usage)

    def stream_reply(self, exchange: Exchange, messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        bound = self._langchain.bind_tools(exchange.tools)
        # A chat model's stream yields chunks, though its type speaks of whole messages.
        return bound.stream(  # type: ignore[return-value]
            messages, extra_body=self._body(exchange, 0.0), stream_usage=self._wants_usage
        )

    def ending_of(self, chunk: AIMessageChunk) -> Ending:
        # The reason stands in one chunk and the usage mostly in the next; some servers report none.
        reason, usage = chunk.response_metadata.get("finish_reason"), chunk.usage_metadata
        return Ending(
            ended=reason is not None,
            truncated=reason == "length",
            declined=reason == "content_filter",
            prompt_tokens=None if usage is None else usage["input_tokens"],
            completion_tokens=None if usage is None else usage["output_tokens"],
        )

    def leaves_out(self, error: Exception) -> bool:
        if self.server.status_of(error) not in (400, 422):
            return False
        if self._leave_out_named(error, _CAN_LEAVE_OUT):
            return True
        # A server that takes no bounds names one of them, and none is sent it any more.
        if not any(one in str(error) for one in _BOUNDS) or _BOUNDS[0] in self._left_out:
            return False
        self._left_out.add(_BOUNDS[0])
        return True

    @property
    def _wants_usage(self) -> bool:
        return "stream_options" not in self._left_out

    def _body(self, request: ModelRequest, temperature: float) -> dict[str, Any]:
        """Return what is sent beside the messages and the tools.

        As ``extra_body``, which goes over the wire as it stands: langchain would rename ``max_tokens``, which is the
        name that servers other than OpenAI's know, and read a structured answer itself.
        """
        limit = "max_completion_tokens" if "max_tokens" in self._left_out else "max_tokens"
        body: dict[str, Any] = {limit: request.max_completion_tokens}
        if "temperature" not in self._left_out:
            body["temperature"] = temperature
        return body


def _without_bounds(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without_bounds(value) for key, value in schema.items() if key not in _BOUNDS}
    return [_without_bounds(one) for one in schema] if isinstance(schema, list) else schema
