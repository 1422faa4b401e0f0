"""Chat models of an Ollama server, through langchain.

Importing this costs most of a second, so only ``providers`` does, when a model is configured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_ollama import ChatOllama

from shared.llm.chat import ModelRequest, Question
from shared.llm.langchain_chat import Ending, LangchainModel
from shared.llm.ollama_server import OllamaServer
from shared.llm.speed import CallSeconds
from shared.llm.tools import Exchange
from shared.llm.transport import is_loopback


class OllamaModel(LangchainModel):
    """One model of an Ollama server."""

    answer_needs = "Structured answers need Ollama 0.5 or newer and a chat model."
    tool_needs = "Tools were offered to it; its template may not know them."

    def __init__(self, model: str, host: str, context_tokens: int) -> None:
        """Take ``model`` as Ollama names it; ``context_tokens`` is sent as num_ctx with every call.

        It is one constant per model, because Ollama loads a model anew whenever num_ctx changes.
        """
        server = OllamaServer(host)
        super().__init__(f"ollama:{model}", model, server, context_tokens)
        self._langchain = ChatOllama(
            model=model,
            base_url=host,
            temperature=0.0,
            num_ctx=context_tokens,
            reasoning=False,
            # A proxy that the environment names does not lead to this machine itself.
            sync_client_kwargs={"transport": server.transport, "trust_env": not is_loopback(host)},
        )

    def stream_answer(self, question: Question[Any], messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        options = self._options(question) | {"temperature": question.temperature}
        return self._langchain.stream(messages, format=question.answer.model_json_schema(), options=options)

    def stream_reply(self, exchange: Exchange, messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        bound = self._langchain.bind_tools(exchange.tools)
        # A chat model's stream yields chunks, though its type speaks of whole messages.
        return bound.stream(messages, options=self._options(exchange))  # type: ignore[return-value]

    def ending_of(self, chunk: AIMessageChunk) -> Ending:
        about: dict[str, Any] = chunk.response_metadata
        if about.get("done") is not True:
            return Ending()
        return Ending(
            ended=True,
            truncated=about.get("done_reason") == "length",
            prompt_tokens=about.get("prompt_eval_count"),
            completion_tokens=about.get("eval_count"),
            seconds=_seconds_of(about),
        )

    def _options(self, asked: ModelRequest) -> dict[str, Any]:
        """Return everything Ollama would otherwise assume."""
        return {"num_ctx": self.context_tokens, "num_predict": asked.max_completion_tokens, "temperature": 0.0}


def _seconds_of(about: dict[str, Any]) -> CallSeconds | None:
    """Read where the time went. What is neither reading nor writing went by in the queue, and in loading the model."""
    durations = [about.get(f"{name}_duration") for name in ("total", "prompt_eval", "eval")]
    if not all(isinstance(one, int) for one in durations):
        return None
    whole, reading, writing = (one / 1e9 for one in durations if one is not None)
    return CallSeconds(max(0.0, whole - reading - writing), reading, writing)
