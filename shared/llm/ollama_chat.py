"""A chat over Ollama: questions whose answers have a type, by the schema that is sent along."""

from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from shared.llm.calls import Meter
from shared.llm.chat import AnswerT, Chat, Question, read_reply
from shared.llm.ollama_model import Asking, Chunks, OllamaModel

_NEEDS = "Structured answers need Ollama 0.5 or newer and a chat model."


class OllamaChat(Chat):
    """One model of one Ollama server. Build it after a fork, and close it."""

    def __init__(self, model: str, host: str, context_tokens: int) -> None:
        """Take ``model`` as Ollama names it; ``context_tokens`` is sent as num_ctx with every call."""
        self._model = OllamaModel(model, host, context_tokens, _NEEDS)
        self.name = self._model.name

    def close(self) -> None:
        """Close the connections."""
        self._model.close()

    def ask(self, question: Question[AnswerT], seconds: float, meter: Meter) -> AnswerT:
        asking = Asking(
            question,
            lambda: self._stream(question),
            lambda reply: read_reply(question, reply, self._model.context_tokens),
        )
        return self._model.ask(asking, seconds, meter)

    def _stream(self, question: Question[AnswerT]) -> Chunks:
        yield from self._model.langchain.stream(
            _messages(question), format=question.answer.model_json_schema(), options=self._model.options(question)
        )


def _messages(question: Question[AnswerT]) -> list[BaseMessage]:
    messages: list[BaseMessage] = [SystemMessage(question.system), HumanMessage(question.user)]
    if question.previous is not None and question.complaint is not None:
        messages += [AIMessage(question.previous), HumanMessage(question.complaint)]
    return messages
