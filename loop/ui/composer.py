"""Composer."""

from __future__ import annotations

from nicegui import ui

from loop.ui.frame import Frame
from loop.ui.visitors import Visitor


def register(frame: Frame) -> None:
    """Register the page."""

    @frame.page("/composer/{app_id}", "Composer")
    async def show(visitor: Visitor, app_id: str) -> None:
        ui.label("Composer")
