"""A chat that says what it was told to say: the double for tests of everything above a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import BaseModel

from shared.errors import AfterthoughtError
from shared.llm.calls import CallOutcome, Meter
from shared.llm.chat import (
    AnswerT,
    Chat,
    PromptCut,
    Question,
    Reply,
    Unusable,
    call_of,
    check_fit,
    prospect_of,
    read_reply,
)

Line = str | dict[str, Any] | BaseModel | Reply | AfterthoughtError
"""Raw text, an object to be written as JSON, a whole reply, or the error that ends the call."""


class ScriptedChat(Chat):
    """Answers question after question from a script, and keeps the questions.

    A line may also be a function of the question. A script that runs out is a mistake of the test.
    """

    def __init__(
        self,
        lines: Iterable[Line | Callable[[Question[Any]], Line]] = (),
        *,
        name: str = "ollama:scripted",
        context_tokens: int = 8192,
    ) -> None:
        self.name = name
        self.questions: list[Question[Any]] = []
        self.seconds: list[float] = []
        self._lines = list(lines)
        self._context_tokens = context_tokens

    def ask(self, question: Question[AnswerT], seconds: float, meter: Meter) -> AnswerT:
        check_fit(question, self._context_tokens)
        meter.reserve(prospect_of(question, self.name))
        self.questions.append(question)
        self.seconds.append(seconds)
        if not self._lines:
            raise AssertionError(f"The script has no line left for: {question.user[:200]}")
        line = self._lines.pop(0)
        line = line if not callable(line) or isinstance(line, BaseModel) else line(question)
        reply = _reply(line)
        outcome = CallOutcome.UNAVAILABLE
        try:
            if isinstance(line, AfterthoughtError):
                raise line
            answer = read_reply(question, reply, self._context_tokens)
            outcome = CallOutcome.ANSWERED
            return answer
        except Unusable as unusable:
            outcome = unusable.outcome
            raise
        except PromptCut:
            outcome = CallOutcome.PROMPT_CUT
            raise
        finally:
            meter(call_of(question, self.name, reply, outcome, 0.0))


def _reply(line: Line) -> Reply:
    match line:
        case Reply():
            return line
        case str():
            return Reply(line)
        case BaseModel():
            return Reply(line.model_dump_json())
        case dict():
            return Reply(json.dumps(line))
        case AfterthoughtError():
            return Reply("", completion_tokens=0)
