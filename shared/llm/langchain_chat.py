"""The chats of langchain's models, with and without tools: what is asked, as langchain's messages.

Importing this takes most of a second, so only ``providers`` does, when a model is configured.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

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
        """Close the connections."""
        self._model.server.close()

    def ask(self, question: Question[AnswerT], seconds: float, meter: Meter) -> AnswerT:
        model = self._model

        def stream() -> Chunks:
            messages: list[BaseMessage] = [SystemMessage(question.system)]
            for asked, answered in question.examples:
                messages += [HumanMessage(asked), AIMessage(answered)]
            messages.append(HumanMessage(question.user))
            if question.previous is not None and question.complaint is not None:
                messages += [AIMessage(question.previous), HumanMessage(question.complaint)]
            yield from model.stream_answer(question, messages)

        def read(reply: Reply) -> AnswerT:
            return read_reply(question, reply, model.context_tokens)

        return model.ask(LangchainRequest(question, stream, read), seconds, meter)

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
            for place, line in enumerate(exchange.lines):
                stand_in = f"call_{place}" if line.speaker is Speaker.MODEL else stand_in
                messages.append(_message(line, stand_in))
            yield from model.stream_reply(exchange, messages)

        def read(reply: Reply) -> Reply:
            check_whole(exchange, reply, model.context_tokens)
            return reply

        return model.ask(LangchainRequest(exchange, stream, read, offers_tools=True), seconds, meter)


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
