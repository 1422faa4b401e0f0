"""Finding the one value in what a model wrote.

Tolerant of what stands around the answer (fences, prose, a model's thoughts), strict about the answer: exactly one JSON
object, whole, and valid for its type. Nothing is completed, guessed or picked from several. Source: oracles.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

AnswerT = TypeVar("AnswerT", bound=BaseModel)

_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}


class AnswerRefused(ValueError):
    """Why a text is not an answer; written to be shown to the model, and free of the model's own words."""


def parse_answer(text: str, answer: type[AnswerT]) -> AnswerT:
    """Return the one value of type ``answer`` in ``text``.

    Raises:
        AnswerRefused: none, several different ones, half of one, or one of the wrong shape.
    """
    body = _THOUGHTS.sub("", text).strip()
    if not body:
        raise AnswerRefused("it is empty")
    found: list[dict[str, Any]] = []
    for value in _objects(body):
        if value not in found:
            found.append(value)
    if not found:
        raise AnswerRefused("it holds no JSON object")
    if len(found) > 1:
        raise AnswerRefused("it holds more than one JSON object")
    try:
        return answer.model_validate(found[0])
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)[:3]
        said = (f"{_place(one['loc'])}{one['msg'].removeprefix('Value error, ')}" for one in problems)
        raise AnswerRefused("; ".join(said)) from None


def _objects(body: str) -> Iterator[dict[str, Any]]:
    for segment in _segments(body):
        try:
            value = json.loads(segment, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            continue
        yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _segments(body: str) -> Iterator[str]:
    """Yield each outermost bracketed stretch; one that never closes is half an answer."""
    start, stack, quoted, escaped = 0, list[str](), False, False
    for place, character in enumerate(body):
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character in _CLOSERS:
            start = start if stack else place
            stack.append(_CLOSERS[character])
        elif stack and character == '"':
            quoted = True
        elif stack and character == stack[-1]:
            stack.pop()
            if not stack:
                yield body[start : place + 1]
    if stack:
        raise AnswerRefused("its JSON is incomplete")


def _place(location: tuple[int | str, ...]) -> str:
    return f"`{'.'.join(map(str, location))}`: " if location else ""
