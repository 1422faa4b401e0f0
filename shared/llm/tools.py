"""Talking with a model that uses tools: what is sent, what comes back, and what it meant when it only wrote of a tool.

The tools are classes of arguments; what becomes of a call is the caller's. Reaching a model is left to the adapters.

Messages as LangChain stores them, in OpenAI's form. Importing this costs most of a second.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any, Protocol

from langchain_core.messages import convert_to_openai_messages, messages_from_dict
from pydantic import BaseModel, ValidationError

from shared.base.errors import Configuration, Invalid
from shared.llm.calls import Meter, WorkKind
from shared.llm.chat import FRAME_TOKENS, Chat, Reply, ToolCall
from shared.llm.tokens import estimate_tokens, most_tokens

_AROUND_PROSE = re.compile(
    r"\A\s*(?:<think(?:ing)?>.*?</think(?:ing)?>)?\s*(?:```(?:json)?|<tool_call>|<\|python_tag\|>)?\s*"
    r"(.*?)\s*(?:```|</tool_call>)?\s*\Z",
    re.DOTALL,
)
_ARGUMENTS = ("arguments", "parameters", "args")


class Speaker(StrEnum):
    """Who says a line of an exchange with a model."""

    SYSTEM = "system"
    USER = "user"
    MODEL = "model"
    TOOL = "tool"


@dataclass(frozen=True)
class ExchangeLine:
    """One line of an exchange; of a tool: what became of the call ``call_id``."""

    speaker: Speaker
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""

    @property
    def written(self) -> str:
        """Everything of it that is sent, as one text."""
        return self.text + "".join(f" {call.name} {json.dumps(call.arguments)}" for call in self.calls)


@dataclass(frozen=True)
class Exchange:
    """Everything that was said in a turn so far, and the tools the model may use."""

    kind: WorkKind
    lines: tuple[ExchangeLine, ...]
    tools: tuple[type[BaseModel], ...]
    max_completion_tokens: int
    fresh: str
    """The end of the prompt from where a server cannot have it cached, because it begins with something unique."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text sent, in order; the tools go beside them."""
        return tuple(line.written for line in self.lines)

    @property
    def estimated_tokens(self) -> int:
        """The best guess at the prompt's length."""
        return sum(map(estimate_tokens, self.texts)) + estimate_tokens(described(self.tools))

    @property
    def most_tokens(self) -> int:
        """A figure the prompt's length hardly ever passes."""
        return sum(map(most_tokens, self.texts)) + tools_tokens(self.tools) + FRAME_TOKENS

    def going_on(self, *lines: ExchangeLine) -> Exchange:
        """Return the exchange with more said; the server may have cached what it saw before."""
        return replace(self, lines=self.lines + lines, fresh="\n".join(line.text for line in lines))


class NoTools(Configuration):
    """The server says that the model has no tools. It can still answer questions."""

    code = "no_tools"


class ToolChat(Chat, Protocol):
    """A model that uses tools, where it has them, and answers questions. Implementations hold no state."""

    @property
    def name(self) -> str:
        """``ollama:NAME``."""

    def reply(self, exchange: Exchange, seconds: float, meter: Meter) -> Reply:
        """Return what the model says next, within ``seconds`` in total; its tool calls are not checked.

        ``meter`` is asked before each call, and each call made is reported to it exactly once.

        Raises:
            Unusable: its answer was cut off, or its tool calls cannot be read.
            NoTools: the server does not take tools for this model.
            Transient, OverBudget, Configuration: as ``Chat.ask`` raises them.
        """

    def close(self) -> None:
        """Close the connections."""


def tool_name(tool: type[BaseModel]) -> str:
    """Return what a model calls a tool: the title of its arguments."""
    return str(tool.model_config.get("title") or tool.__name__)


# Bounded: a tool offered with the bounds of one situation is a class of its own.
@lru_cache(maxsize=64)
def described(tools: tuple[type[BaseModel], ...]) -> str:
    """Return the tools as text, about as long as what is sent."""
    return json.dumps([tool.model_json_schema() for tool in tools])


def tools_tokens(tools: tuple[type[BaseModel], ...]) -> int:
    """Return a figure the tools' descriptions hardly ever pass: JSON takes a token for every two characters."""
    return 2 * estimate_tokens(described(tools))


def call_in_prose(text: str, tools: Sequence[type[BaseModel]]) -> ToolCall | None:
    """Return the tool call that a model wrote as text instead of making it.

    Only when it is all the model wrote, thoughts and fences aside: a call inside other words may be a quotation.
    """
    match = _AROUND_PROSE.match(text)
    try:
        value = json.loads(match.group(1)) if match else None
    except (ValueError, RecursionError):
        return None
    return _as_call(value, {tool_name(tool) for tool in tools})


def _as_call(value: Any, names: set[str]) -> ToolCall | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None
    value = value.get("function", value) if isinstance(value.get("function"), dict) else value
    given = [value[key] for key in _ARGUMENTS if isinstance(value.get(key), dict)]
    name = value.get("name")
    if not isinstance(name, str) or name not in names or len(given) != 1:
        return None
    return ToolCall("", name, given[0])


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
