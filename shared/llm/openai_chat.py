"""Chat models of a server of OpenAI's protocol, through langchain: chat completions, which all such servers have.

Importing this costs seconds, so only ``providers`` does, when such a model is configured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import openai
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from shared.llm.chat import ModelRequest, Question
from shared.llm.langchain_chat import Ending, LangchainModel
from shared.llm.openai_server import OpenAiServer
from shared.llm.tools import Exchange
from shared.model_names import OPENAIS_OWN

_CAN_LEAVE_OUT = ("temperature", "response_format", "stream_options", "max_tokens")
"""What some models and servers refuse, as they name it where they do."""
_BOUNDS = ("maxLength", "maxItems", "minItems", "minimum")
"""Of a schema; a server that takes none of them names one where it refuses, and is asked without all."""


class OpenAiModel(LangchainModel):
    """One model of a server of OpenAI's protocol."""

    answer_needs = "Structured answers are asked for by response_format; its window may be smaller than is set."
    tool_needs = "Tools were offered to it; the server may not take them."

    def __init__(self, model: str, base_url: str, key: SecretStr | None, context_tokens: int) -> None:
        """Take ``model`` as the server names it; the key is sent with every call and is in no message."""
        server = OpenAiServer(base_url, key)
        super().__init__(f"openai:{model}", model, server, context_tokens)
        self._langchain = ChatOpenAI(
            model=model,
            base_url=base_url,
            api_key=server.key,
            http_client=server.http_client,
            # Whether to ask again is decided in one place for all providers.
            max_retries=0,
            # The deadline is the transport's.
            timeout=None,
            use_responses_api=False,
        )
        self._left_out: set[str] = set()
        if urlsplit(base_url).hostname == OPENAIS_OWN:
            self._left_out.add("max_tokens")

    def stream_answer(self, question: Question[Any], messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        body = self._body(question, question.temperature)
        if "response_format" not in self._left_out:
            body["response_format"] = _response_format(question.answer, is_bounded=_BOUNDS[0] not in self._left_out)
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
        if not isinstance(error, openai.BadRequestError | openai.UnprocessableEntityError):
            return False
        said = f"{error.param} {error.message}"
        unwanted = next((one for one in _CAN_LEAVE_OUT if one in said and one not in self._left_out), None)
        if unwanted is None and any(one in said for one in _BOUNDS) and _BOUNDS[0] not in self._left_out:
            unwanted = _BOUNDS[0]
        if unwanted is not None:
            self._left_out.add(unwanted)
        return unwanted is not None

    @property
    def _wants_usage(self) -> bool:
        return "stream_options" not in self._left_out

    def _body(self, asked: ModelRequest, temperature: float) -> dict[str, Any]:
        """Return what is sent beside the messages and the tools.

        As ``extra_body``, which goes over the wire as it stands: langchain would rename ``max_tokens``, which is the
        name that servers other than OpenAI's know, and read a structured answer itself.
        """
        limit = "max_completion_tokens" if "max_tokens" in self._left_out else "max_tokens"
        body: dict[str, Any] = {limit: asked.max_completion_tokens}
        if "temperature" not in self._left_out:
            body["temperature"] = temperature
        return body


def _response_format(answer: type[BaseModel], *, is_bounded: bool) -> dict[str, Any]:
    schema = answer.model_json_schema()
    strict = _is_strict(schema)
    if strict:
        # The client's own rules for what strict means, by the only public way to them.
        schema = openai.pydantic_function_tool(answer)["function"]["parameters"]
    if not is_bounded:
        schema = _without_bounds(schema)
    return {
        "type": "json_schema",
        "json_schema": {"name": answer.__name__.strip("_"), "strict": strict, "schema": schema},
    }


def _without_bounds(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without_bounds(value) for key, value in schema.items() if key not in _BOUNDS}
    return [_without_bounds(one) for one in schema] if isinstance(schema, list) else schema


def _is_strict(schema: dict[str, Any]) -> bool:
    """Whether every field of every object must be there, without which nothing can be answered strictly."""
    objects = [one for one in (schema, *schema.get("$defs", {}).values()) if "properties" in one]
    return all(set(one["properties"]) == set(one.get("required", ())) for one in objects)
