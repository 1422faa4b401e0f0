"""Chats that say what they were told to say: the doubles for tests of everything above a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from shared.base.errors import AfterthoughtError
from shared.llm.calls import CallOutcome, Meter, WorkKind, most_tokens
from shared.llm.chat import (
    AnswerT,
    Chat,
    ModelRequest,
    PromptCut,
    Question,
    Reply,
    ToolCall,
    Unusable,
    call_of,
    check_fit,
    check_whole,
    estimate_call,
    read_reply,
)
from shared.llm.tools import Exchange, ToolChat
from worker.agent.prompt import Answer

ValueT = TypeVar("ValueT")
ScriptLine = str | dict[str, Any] | BaseModel | Reply | AfterthoughtError
"""Raw text, an object to be written as JSON, a whole reply, or the error that ends the call."""


class ScriptedChat(Chat):
    """Answers question after question from a script, and keeps the questions.

    A line may also be a function of the question. A script that runs out is a mistake of the test.
    """

    def __init__(
        self,
        lines: Iterable[ScriptLine | Callable[[Question[Any]], ScriptLine]] = (),
        *,
        name: str = "ollama:scripted",
        context_tokens: int = 8192,
    ) -> None:
        self.name = name
        self.questions: list[Question[Any]] = []
        self.seconds: list[float] = []
        self._lines = list(lines)
        self._context_tokens = context_tokens

    def answer(self, question: Question[AnswerT], seconds: float, meter: Meter) -> AnswerT:
        check_room(question)
        check_fit(question, self._context_tokens)
        meter.reserve(estimate_call(question, self.name))
        self.questions.append(question)
        self.seconds.append(seconds)
        if not self._lines:
            raise AssertionError(f"The script has no line left for: {question.user[:200]}")
        line = self._lines.pop(0)
        line = line if not callable(line) or isinstance(line, BaseModel) else line(question)
        return _play(question, line, lambda reply: read_reply(question, reply, self._context_tokens), self.name, meter)


ToolStep = str | dict[str, Any] | ToolCall | Sequence[ToolCall] | Reply | AfterthoughtError
"""Text, an object to be written as JSON, calls of tools, a whole reply, or the error that ends the call."""


class ScriptedToolChat(ToolChat):
    """Says step after step of a script, and keeps what it was asked; a step may be a function of that."""

    def __init__(
        self,
        steps: Iterable[ToolStep | Callable[[Any], ToolStep]] = (),
        *,
        name: str = "ollama:scripted",
        context_tokens: int = 8192,
    ) -> None:
        self._name = name
        self._context_tokens = context_tokens
        self.steps = list(steps)
        self.exchanges: list[Exchange] = []
        self.questions: list[Question[Any]] = []
        self.closed = False

    @property
    def name(self) -> str:
        return self._name

    def reply(self, exchange: Exchange, seconds: float, meter: Meter) -> Reply:
        def read(reply: Reply) -> Reply:
            check_whole(exchange, reply, self._context_tokens)
            return reply

        self._reserve(exchange, meter)
        self.exchanges.append(exchange)
        return self._step(exchange, read, meter)

    def answer(self, question: Question[AnswerT], seconds: float, meter: Meter) -> AnswerT:
        check_room(question)
        self._reserve(question, meter)
        self.questions.append(question)
        return self._step(question, lambda reply: read_reply(question, reply, self._context_tokens), meter)

    def _reserve(self, asked: ModelRequest, meter: Meter) -> None:
        check_fit(asked, self._context_tokens)
        meter.reserve(estimate_call(asked, self.name))

    def _step(self, asked: ModelRequest, read: Callable[[Reply], ValueT], meter: Meter) -> ValueT:
        if not self.steps:
            raise AssertionError("The script has no step left.")
        step = self.steps.pop(0)
        return _play(asked, step(asked) if callable(step) else step, read, self.name, meter)

    def close(self) -> None:
        self.closed = True


def check_room(question: Question[Any], letter: str = "a") -> None:
    """Refuse a question whose longest answer, written in such letters, is cut off by the tokens that it may take."""
    if not issubclass(question.answer, Answer) or question.kind is WorkKind.COMPRESS:
        # Shapes of the tests' own; and lines that are bounded together, which no schema can say.
        return
    schema = question.answer.model_json_schema()
    needed = most_tokens(json.dumps(_fullest(schema, schema.get("$defs", {}), letter)))
    room = question.max_completion_tokens
    assert needed <= room, f"{question.answer.__name__} has {room} tokens and its bounds allow {needed}"


def _fullest(schema: dict[str, Any], named: dict[str, Any], letter: str) -> Any:
    match schema:
        case {"$ref": str(name)}:
            return _fullest(named[name.rpartition("/")[2]], named, letter)
        case {"const": value}:
            return value
        case {"enum": values}:
            return max(values, key=lambda value: len(str(value)))
        case {"anyOf": choices}:
            return max((_fullest(one, named, letter) for one in choices), key=lambda value: len(json.dumps(value)))
        case {"type": "object", "properties": fields}:
            return {name: _fullest(field, named, letter) for name, field in fields.items()}
        case {"type": "array", "items": item, "maxItems": most}:
            return [_fullest(item, named, letter)] * most
        case {"type": "string", "maxLength": most}:
            return letter * most
        case {"type": "integer", "maximum": most}:
            return most
        case {"type": "boolean"}:
            return False
    raise AssertionError(f"A shape without bounds: {schema}")


def _play(
    asked: ModelRequest, line: ScriptLine | ToolStep, read: Callable[[Reply], ValueT], name: str, meter: Meter
) -> ValueT:
    reply, outcome = _reply(line), CallOutcome.UNAVAILABLE
    try:
        if isinstance(line, AfterthoughtError):
            raise line
        value = read(reply)
        outcome = CallOutcome.ANSWERED
        return value
    except Unusable as unusable:
        outcome = unusable.outcome
        raise
    except PromptCut:
        outcome = CallOutcome.PROMPT_CUT
        raise
    finally:
        meter(call_of(asked, name, reply, outcome, 0.0))


def _reply(line: ScriptLine | ToolStep) -> Reply:
    match line:
        case ToolCall():
            return Reply("", calls=(line,))
        case list() | tuple():
            return Reply("", calls=tuple(line))
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
    raise AssertionError(f"No step of a script: {line!r}")
