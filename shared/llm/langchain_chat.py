"""The chats of langchain's models, with and without tools, and messages as it stores them.

Importing this takes most of a second, so only ``providers`` does, when a model is configured, and an import of chats.
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
    messages_from_dict,
)
from pydantic import ValidationError

from shared.base.errors import Invalid
from shared.llm.calls import Meter
from shared.llm.chat import AnswerT, Chat, Question, Reply, check_whole, read_reply
from shared.llm.langchain_model import Chunks, LangchainModel, LangchainRequest
from shared.llm.tools import Exchange, ExchangeLine, Speaker, ToolChat


class LangchainChat(Chat):
    """A model that answers questions."""

    def __init__(self, model: LangchainModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """``ollama:NAME``."""
        return self._model.name

    def close(self) -> None:
        self._model.server.close()

    def answer(self, question: Question[AnswerT], seconds: float, meter: Meter) -> AnswerT:
        model = self._model

        def stream() -> Chunks:
            messages: list[BaseMessage] = [SystemMessage(question.system)]
            for example_question, example_answer in question.examples:
                messages += [HumanMessage(example_question), AIMessage(example_answer)]
            messages.append(HumanMessage(question.user))
            if question.previous is not None and question.complaint is not None:
                messages += [AIMessage(question.previous), HumanMessage(question.complaint)]
            yield from model.stream_answer(question, messages)

        def read(reply: Reply) -> AnswerT:
            return read_reply(question, reply, model.context_tokens)

        return model.answer(LangchainRequest(question, stream, read), seconds, meter)

    def least_seconds(self, question: Question[Any]) -> float:
        # A short good answer takes about an eighth of the room there is for the longest.
        return self._model.speed.least_seconds(question.estimated_tokens, question.max_completion_tokens // 8)


class LangchainToolChat(LangchainChat, ToolChat):
    """A model that uses tools, and answers questions."""

    def reply(self, exchange: Exchange, seconds: float, meter: Meter) -> Reply:
        model = self._model

        def stream() -> Chunks:
            # The lines as messages; a call that came without an id is given one, as some servers insist on it.
            messages, stand_in = list[BaseMessage](), ""
            for position, line in enumerate(exchange.lines):
                stand_in = f"call_{position}" if line.speaker is Speaker.MODEL else stand_in
                messages.append(_message(line, stand_in))
            yield from model.stream_reply(exchange, messages)

        def read(reply: Reply) -> Reply:
            check_whole(exchange, reply, model.context_tokens)
            return reply

        return model.answer(LangchainRequest(exchange, stream, read, offers_tools=True), seconds, meter)


def _message(line: ExchangeLine, stand_in: str) -> BaseMessage:
    match line.speaker:
        case Speaker.SYSTEM:
            return SystemMessage(line.text)
        case Speaker.USER:
            return HumanMessage(line.text)
        case Speaker.TOOL:
            return ToolMessage(line.text, tool_call_id=line.call_id or stand_in)
        case Speaker.MODEL:
            calls = [{"id": call.call_id or stand_in, "name": call.name, "args": call.arguments} for call in line.calls]
            return AIMessage(line.text, tool_calls=calls)


_KINDS = {"Human": "human", "AI": "ai", "System": "system", "Tool": "tool", "Function": "function", "Chat": "chat"}
_KIND_OF_CLASS = {f"{name}Message{ending}": kind for name, kind in _KINDS.items() for ending in ("", "Chunk")}


def as_openai(value: Any) -> dict[str, Any]:
    """Return one message that ``messages_to_dict`` or ``dumpd`` wrote as OpenAI has it. Raises: Invalid."""
    kind, data = _kind_and_data(value)
    try:
        [read] = messages_from_dict([{"type": kind, "data": {"type": kind, **data}}])
        return dict(convert_to_openai_messages([read])[0])
    # The library takes what it is given for what it wrote itself.
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, NotImplementedError) as error:
        raise Invalid(f"a message of LangChain cannot be read: {_why(error, kind, data)}") from None


def _why(error: Exception, kind: str, data: Mapping[str, Any]) -> str:
    """Say what is wrong with a message, and not with the library's classes."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        if first["type"] == "missing":
            return f"it has no `{'.'.join(map(str, first['loc']))}`"
        field = first["loc"][0]
        return "its `content` is neither text nor a list of parts" if field == "content" else _is_odd(field)
    if isinstance(error, KeyError):
        return f"it has no `{error.args[0]}`, or a part of it has none"
    if kind.removesuffix("MessageChunk").lower() not in _KINDS.values():
        return f"its type {kind[:40]!r} is not known; known are {', '.join(_KINDS.values())}"
    return _is_odd("tool_calls" if data.get("tool_calls") and not isinstance(error, ValueError) else "content")


def _is_odd(field: Any) -> str:
    return f"its `{field}` is not as LangChain writes it"


def data_of(value: Any) -> Mapping[str, Any]:
    """Return the fields of a message, in whichever way LangChain wrote it. Raises: Invalid."""
    return _kind_and_data(value)[1]


def _kind_and_data(value: Any) -> tuple[str, Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if isinstance(value.get("data"), Mapping) and isinstance(value.get("type"), str):
            return value["type"], value["data"]
        path = value.get("id")
        if isinstance(value.get("kwargs"), Mapping) and isinstance(path, list) and path:
            name = str(path[-1])
            return _KIND_OF_CLASS.get(name, name), value["kwargs"]
    raise Invalid("has a message that is neither `type` and `data` nor what LangChain's dumpd writes")
