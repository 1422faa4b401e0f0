"""The editor of a marked part: what it says, how it decays, and another weight in the place of the written one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

from nicegui import ui

from afterthought_client import models
from loop.ui.frame import PageView
from loop.ui.session_view import PRESETS, dialog, long_text, weight_name
from loop.ui.tables import heading, note
from loop.ui.visitors import tell_success

_DISTANCES = (1, 5, 10)
_RATIOS: tuple[tuple[int, Literal["light", "moderate", "aggressive"]], ...] = (
    (5, "light"),
    (10, "moderate"),
    (30, "aggressive"),
    (50, "aggressive"),
)
_BARELY = 0.02
_PAGE = 200


async def edit_keepit(view: PageView, session_id: str, marker_id: str, changed: Callable[[], Awaitable[None]]) -> None:
    """Open the editor of a marker; ``changed`` is called once another weight holds."""
    marker = await _marker(view, session_id, marker_id)
    # Ask for the thresholds of all cells of the table at once.

    async def ask(ratio: int, level: Literal["light", "moderate", "aggressive"], distance: int) -> models.DecayPreview:
        return await view.client.preview_decay(session_id, ratio, level, distance)

    wanted = [(ratio, level, distance) for distance in _DISTANCES for ratio, level in _RATIOS]
    found = await asyncio.gather(*(ask(*one) for one in wanted))
    cells = {(ratio, distance): cell for (ratio, _, distance), cell in zip(wanted, found, strict=True)}
    KeepitEditor(view, session_id, marker, cells, changed).build()


class KeepitEditor:
    """A dialog about one marker. Nothing of the original is changed: the weight is kept in the registry."""

    def __init__(
        self,
        view: PageView,
        session_id: str,
        marker: models.MarkerItem,
        cells: dict[tuple[int, int], models.DecayPreview],
        changed: Callable[[], Awaitable[None]],
    ) -> None:
        self._view = view
        self._session_id = session_id
        self._marker = marker
        self._cells = cells
        self._changed = changed

    def build(self) -> None:
        """Show the marker in its message, its weight, and what becomes of it."""
        marker = self._marker
        with dialog("Keepit marker") as self._dialog:
            if marker.before.strip():
                long_text(marker.before.strip())
            with ui.column().classes("marked gap-1 w-full"):
                self._told = ui.label().classes("text-xs font-medium")
                long_text(marker.content)
            if marker.after.strip():
                long_text(marker.after.strip())
            ui.label("Weight").classes("font-medium")
            self._slider = ui.slider(min=0, max=1, step=0.01, value=marker.weight, on_change=self._show)
            self._slider.props("aria-label=Weight label color=cyan-9").classes("px-3")
            with ui.row().classes("gap-1").props("role=group aria-label=Presets"):
                for weight, name in PRESETS.items():
                    self._preset(weight, name)
            heading("Decay preview", 3)
            self._fates: dict[tuple[int, int], ui.label] = {}
            self._table()
            marker = self._marker
            written = f"{marker.written_weight:.2f} is written in the original, which stays as it is."
            note(f"{written} Versions that are there stay too; new ones go by the weight saved here.")
            with ui.row().classes("w-full justify-end gap-2"):
                if marker.weight != marker.written_weight and self._view.may_write:
                    ui.button("Take back", on_click=lambda: self._save(None)).props("flat no-caps")
                ui.button("Cancel", on_click=self._dialog.close).props("flat no-caps")
                if self._view.may_write:
                    save = ui.button("Save weight", on_click=lambda: self._save(round(float(self._slider.value), 2)))
                    save.props("unelevated no-caps color=cyan-9")
        self._show()

    def _preset(self, weight: float, name: str) -> None:
        button = ui.button(f"{name} {weight:.2f}", on_click=lambda: self._slider.set_value(weight))
        button.props("outline dense no-caps size=sm").classes("px-2")

    def _table(self) -> None:
        with ui.element("table").classes("decay w-full text-xs sm:text-sm"):
            with ui.element("thead"), ui.element("tr"):
                for name in ("Distance", *(f"{ratio}:1" for ratio, _ in _RATIOS)):
                    with ui.element("th").props("scope=col"):
                        ui.label(name)
            with ui.element("tbody"):
                for distance in _DISTANCES:
                    with ui.element("tr"):
                        with ui.element("th").props("scope=row"):
                            ui.label(str(distance))
                        for ratio, _ in _RATIOS:
                            with ui.element("td"):
                                self._fates[ratio, distance] = ui.label()

    def _show(self) -> None:
        weight = float(self._slider.value)
        self._told.set_text(f"keepit {weight:.2f} {weight_name(weight)}")
        for (ratio, distance), label in self._fates.items():
            label.set_text(fate(weight, self._cells[ratio, distance]))

    async def _save(self, weight: float | None) -> None:
        await self._view.client.weigh_keepit(self._session_id, self._marker.marker_id, weight=weight)
        await self._changed()
        tell_success("Weight saved. The original was not touched.")
        self._dialog.close()


def fate(weight: float, cell: models.DecayPreview) -> str:
    """Return what becomes of a part of some weight, where a threshold holds. The service decides in thousandths."""
    margin = round(weight * 1000) - round(cell.threshold * 1000)
    if weight >= cell.pinned_weight or margin > _BARELY * 1000:
        return "survives"
    return "barely survives" if margin >= 0 else "summarised"


async def _marker(view: PageView, session_id: str, marker_id: str) -> models.MarkerItem:
    cursor: str | None = None
    while True:
        page = await view.client.list_keepits(session_id, limit=_PAGE, cursor=cursor)
        for one in page.keepits:
            if one.marker_id == marker_id:
                return one
        cursor = page.cursor
        if cursor is None:
            raise ValueError("This marker is not in the session any more.")
