"""Administration."""

from __future__ import annotations

from nicegui import ui

from loop.ui.frame import Frame
from loop.ui.visitors import Visitor


def register(frame: Frame) -> None:
    """Register the page."""

    @frame.page("/administration", "Administration")
    async def show(visitor: Visitor) -> None:
        ui.label("Administration")
