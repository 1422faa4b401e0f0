"""Operations."""

from __future__ import annotations

from nicegui import ui

from loop.ui.frame import Frame
from loop.ui.visitors import Visitor


def register(frame: Frame) -> None:
    """Register the page."""

    @frame.page("/operations", "Operations")
    async def show(visitor: Visitor) -> None:
        ui.label("Operations")
