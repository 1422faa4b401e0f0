"""Hands the thinker what to attend to next, when it is free. Without anything to attend to no model is called."""

from __future__ import annotations

from loop.thinking.choosing import Chooser
from loop.thinking.thinker import Thinker


class ChooseAndThink:
    """A tick step; it never waits for a turn."""

    name = "think"
    every_seconds = 0.0

    def __init__(self, chooser: Chooser, thinker: Thinker) -> None:
        self._chooser = chooser
        self._thinker = thinker

    def run(self) -> bool:
        """Begin a turn about the next focus, if there is one and none is under way."""
        if not self._thinker.is_free:
            return False
        focus = self._chooser.choose(self._thinker.next_selected)
        if focus is not None:
            self._thinker.begin(focus)
        return False
