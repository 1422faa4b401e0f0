"""Keeps what is shown whole: of two readings at once, neither shows its rows beside the other's, nor a page twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from nicegui import ui

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


def press_once(button: ui.button, act: Callable[[], Awaitable[None]]) -> ui.button:
    """Have a button do something, but not again while it does it, nor once it is hidden: a double click is one.

    A button that shows the next page would otherwise show one twice, or begin at the first again after the last. It is
    not disabled meanwhile, as that takes the focus away.
    """
    is_at_it = False

    async def pressed() -> None:
        nonlocal is_at_it
        if is_at_it or not button.visible:
            return
        is_at_it = True
        try:
            await act()
        finally:
            is_at_it = False

    return button.on_click(pressed)
