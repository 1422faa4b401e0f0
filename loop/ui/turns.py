"""Keeps what is shown whole: of two readings at once, neither shows its rows beside the other's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

_Self = TypeVar("_Self")
_Arguments = ParamSpec("_Arguments")
_Shown = Callable[Concatenate[_Self, _Arguments], Coroutine[Any, Any, None]]


def in_turn(show: _Shown[_Self, _Arguments]) -> _Shown[_Self, _Arguments]:
    """Have the calls of all methods so marked wait for each other, for each object; one must not call another.

    An event, a click and a second click may each show a list anew; between a method's reading and its showing, another
    would add the same rows again, or those of what was chosen before.
    """

    @wraps(show)
    async def waiting(self: _Self, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> None:
        lock = self.__dict__.setdefault("_turn", asyncio.Lock())
        async with lock:
            await show(self, *args, **kwargs)

    return waiting
