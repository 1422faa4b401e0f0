"""A chat with tools over Ollama, bound through langchain."""

from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from shared.llm.calls import Meter
from shared.llm.chat import Reply, check_whole
from shared.llm.ollama_model import Asking, Chunks, OllamaModel
from shared.llm.tools import Exchange, Line, Speaker, ToolChat

_NEEDS = "Thinking needs a model that can use tools, for example llama3.2 or qwen3."


class OllamaToolChat(ToolChat):
    """One model of one Ollama server. Build it after a fork, and close it."""

    def __init__(self, model: str, host: str, context_tokens: int) -> None:
        """Take ``model`` as Ollama names it; ``context_tokens`` is sent as num_ctx with every call."""
        self._model = OllamaModel(model, host, context_tokens, _NEEDS)

    @property
    def name(self) -> str:
        return self._model.name

    def close(self) -> None:
        self._model.close()

    def reply(self, exchange: Exchange, seconds: float, meter: Meter) -> Reply:
        def read(reply: Reply) -> Reply:
            check_whole(exchange, reply, self._model.context_tokens)
            return reply

        return self._model.ask(Asking(exchange, lambda: self._stream(exchange), read), seconds, meter)

    def _stream(self, exchange: Exchange) -> Chunks:
        bound = self._model.langchain.bind_tools(exchange.tools)
        said = [_message(line) for line in exchange.lines]
        # A chat model's stream yields chunks, though its type speaks of whole messages.
        yield from bound.stream(said, options=self._model.options(exchange))  # type: ignore[misc]


def _message(line: Line) -> BaseMessage:
    match line.speaker:
        case Speaker.SYSTEM:
            return SystemMessage(line.text)
        case Speaker.USER:
            return HumanMessage(line.text)
        case Speaker.TOOL:
            return ToolMessage(line.text, tool_call_id=line.call_id)
        case Speaker.MODEL:
            calls = [{"id": call.call_id, "name": call.name, "args": call.arguments} for call in line.calls]
            return AIMessage(line.text, tool_calls=calls)
