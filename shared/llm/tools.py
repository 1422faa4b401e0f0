"""Talking with a model that uses tools: what is sent, what comes back, and what it meant when it only wrote of a tool.

The tools are classes of arguments; what becomes of a call is the caller's. Reaching a model is left to the adapters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

from pydantic import BaseModel

from shared.base.errors import Configuration
from shared.llm.calls import Meter, WorkKind, estimate_tokens, most_tokens
from shared.llm.chat import FRAME_TOKENS, Chat, Reply, ToolCall

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
            Transient, OverBudget, Configuration: as ``Chat.answer`` raises them.
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
    names = {tool_name(tool) for tool in tools}
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
