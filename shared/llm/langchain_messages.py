"""Messages as LangChain stores them, in OpenAI's form. Importing this costs most of a second."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import convert_to_openai_messages, messages_from_dict
from pydantic import ValidationError

from shared.base.errors import Invalid

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
