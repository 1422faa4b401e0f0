"""Says what was just done, and offers to take it back.

How long that is possible the service knows: an offer that is over, or a page that is closed, changes nothing there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from loop.ui.frame import Frame

UNDO_SECONDS = 4
Undo = Callable[[], Awaitable[None]]


class UndoBar:
    """One bar, for one offer at a time."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._timer: ui.timer | None = None
        self._left = 0
        self._bar = ui.element("div").classes("undo-bar w-full").props("role=status")

    def offer(self, done: str, undo: Undo, seconds: int = UNDO_SECONDS, *, counts: bool = False) -> None:
        """Offer for so many seconds to take back what was done; with ``counts`` the seconds that are left are shown."""
        self.withdraw()

        async def take_back() -> None:
            # As the page, as the button this comes from goes.
            with self._bar.client:
                async with self._frame.errors_told():
                    self.withdraw()
                    await undo()

        with self._bar, ui.column().classes("w-full gap-1 rounded bg-zinc-800 text-white px-3 py-2"):
            with ui.row().classes("w-full items-center no-wrap"):
                ui.label(done).classes("grow")
                button = ui.button("Undo", on_click=take_back).props("flat dense no-caps color=cyan-3")
                shown = ui.label(f"{seconds} s").classes("tabular-nums") if counts else None
            bar = ui.linear_progress(1.0, show_value=False, size="3px").props("color=cyan-3 aria-hidden=true")
            bar.set_visibility(counts)
            # What was deleted may have been where the keyboard was.
            ui.run_javascript(f"getHtmlElement({button.id})?.focus()")
            self._left = seconds

            def count_down() -> None:
                self._left -= 1
                if self._left <= 0:
                    self.withdraw()
                elif shown is not None:
                    shown.set_text(f"{self._left} s")
                    bar.set_value(self._left / seconds)

            self._timer = ui.timer(1.0, count_down, immediate=False)

    def withdraw(self) -> None:
        """Offer nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._bar.clear()
