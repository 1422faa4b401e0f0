"""Reads a session's original page by page, with speakers and marked parts, and what of it a version holds.

The editor of a marked part: what it says, how it decays, and another weight in the place of the written one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from nicegui import ui

from afterthought_client import models
from loop.ui.frame import PageView, press_once
from loop.ui.session_view import PRESETS, dialog, long_text, rendered_text, weight_name
from loop.ui.state import Draft
from loop.ui.tables import badge, heading, note
from loop.ui.times import minute
from loop.ui.visitors import FormError, notify_success

EditMarker = Callable[[str, str], Awaitable[None]]
"""Opens the editor of a marker: its session's id and its own."""
_SHOWN = 20
_FOLDED_CHARACTERS = 80
_OF_TOOLS, _RENDERED = ("tool_use", "tool_result"), ("assistant", "thinking", "summary")
_EXTENT_BADGES = {"whole": ("in the version", "green-9"), "part": ("in part", "cyan-9"), "none": ("left out", "grey-8")}


@dataclass
class OriginalReader:
    """The messages of an original, a page at a time, in the place where it is built."""

    view: PageView
    session_id: str
    edit: EditMarker | None = None
    version_id: str | None = None
    """A version of which each message says how much of it is there."""
    cursor: str | None = None

    async def build(self, *, from_uuid: str | None = None) -> None:
        """Show the first page, or that of one message."""
        self._log = ui.column().classes("w-full gap-2").props("role=log aria-label=Original tabindex=0")
        self._more = press_once(ui.button("More messages", icon="expand_more"), self._show_more)
        self._more.props("flat dense no-caps")
        async with self.view.show_errors():
            await self._show_more(from_uuid)

    async def _show_more(self, from_uuid: str | None = None) -> None:
        page = await self.view.client.read_original(
            self.session_id, message_uuid=from_uuid, version_id=self.version_id, limit=_SHOWN, cursor=self.cursor
        )
        self.cursor = page.cursor
        self._more.set_visibility(page.cursor is not None)
        with self._log:
            for message in page.messages:
                self._show(message)

    def _show(self, message: models.OriginalMessage) -> None:
        with ui.column().classes("card gap-1 message") as card:
            with ui.row().classes("items-center gap-2"):
                ui.label(f"#{message.position}").classes("muted text-xs")
                # Who says a message; of a tool which one, and whether it is called or answers.
                who = (
                    f"Call of {message.tool}"
                    if message.kind == "tool_use"
                    else (f"Result of {message.tool or 'a tool'}" if message.kind == "tool_result" else message.speaker)
                )
                ui.label(who).classes("text-xs font-medium").props("dir=auto")
                ui.label(minute(message.at)).classes("muted text-xs")
                if message.start:
                    ui.label("continued").classes("muted text-xs")
                if message.is_error:
                    badge("failed", "red-9")
                if message.held is not None:
                    badge(*_EXTENT_BADGES[message.held])
            if message.held == "none":
                card.classes("dropped")
            if message.kind not in _OF_TOOLS or message.markers:
                self._show_parts(message)
            elif message.text.strip():
                # Mostly long, and seldom what one looks for.
                first_line = message.text.strip().partition("\n")[0][:_FOLDED_CHARACTERS]
                with ui.expansion(first_line).props("dense").classes("w-full folded"):
                    _show_of_tool(message.text)

    def _show_parts(self, message: models.OriginalMessage) -> None:
        """Show the text with each marked part in a frame of its own."""
        text, at = message.text, 0
        show = rendered_text if message.kind in _RENDERED else long_text
        for marker in message.markers:
            # Of a message that is read in pieces, positions count from its beginning.
            begin = max(marker.start - message.start, 0)
            content = max(marker.content_start - message.start, 0)
            end = min(marker.end - message.start, len(text))
            if end <= at:
                continue
            if text[at:begin].strip():
                show(text[at:begin].strip())
            self._show_marker(marker, text[content:end].strip())
            at = end
        if text[at:].strip():
            show(text[at:].strip())

    def _show_marker(self, marker: models.MarkerInMessage, content: str) -> None:
        with ui.column().classes("marked gap-1 w-full"):
            with ui.row().classes("items-center gap-2 w-full"):
                ui.label(f"keepit {marker.weight:.2f} {weight_name(marker.weight)}").classes("text-xs font-medium")
                if marker.weight != marker.written_weight:
                    ui.label(f"{marker.written_weight:.2f} is written").classes("muted text-xs")
                if self.edit is not None:
                    edit = self.edit

                    async def opened() -> None:
                        await edit(self.session_id, marker.marker_id)

                    ui.space()
                    ui.button("Weight", icon="tune", on_click=opened).props("flat dense no-caps size=sm")
            long_text(content)


async def read_original(
    view: PageView, session_id: str, *, edit: EditMarker | None = None, from_uuid: str | None = None
) -> None:
    """Open an original."""
    with dialog(f"Original of {session_id}", is_wide=True), ui.column().classes("reader w-full"):
        await OriginalReader(view, session_id, edit).build(from_uuid=from_uuid)


def _show_of_tool(text: str) -> None:
    """Show what a tool was given by its names, with its lines as such; what came back as it is."""
    try:
        given = json.loads(text)
    except ValueError:
        # What a tool gave back, or one of the pieces of a long message.
        given = None
    if not isinstance(given, dict):
        long_text(text)
        return
    for name, value in given.items():
        note(str(name))
        long_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2))


_DISTANCES = (1, 5, 10)
Level = Literal["light", "moderate", "aggressive"]
_RATIOS: dict[int, Level] = {5: "light", 10: "moderate", 30: "aggressive", 50: "aggressive"}
_BARELY = 0.02
_PAGE = 200


async def edit_keepit(view: PageView, session_id: str, marker_id: str, changed: Callable[[], Awaitable[None]]) -> None:
    """Open the editor of a marker; ``changed`` is called once another weight holds."""
    marker = await _marker(view, session_id, marker_id)
    # The thresholds of all cells of the table, at once.
    thresholds = [(ratio, distance) for distance in _DISTANCES for ratio in _RATIOS]
    found = await asyncio.gather(
        *(view.client.preview_decay(session_id, ratio, _RATIOS[ratio], distance) for ratio, distance in thresholds)
    )
    cells = dict(zip(thresholds, found, strict=True))
    KeepitEditor(view, session_id, marker, cells, changed).build()


@dataclass
class KeepitEditor:
    """A dialog about one marker. Nothing of the original is changed: the weight is kept in the registry."""

    view: PageView
    session_id: str
    marker: models.MarkerItem
    cells: dict[tuple[int, int], models.DecayPreview]
    changed: Callable[[], Awaitable[None]]

    def build(self) -> None:
        """Show the marker in its message, its weight, and what becomes of it."""
        marker = self.marker
        with dialog("Keepit marker") as self._dialog:
            if marker.before.strip():
                long_text(marker.before.strip())
            with ui.column().classes("marked gap-1 w-full"):
                self._status = ui.label().classes("text-xs font-medium")
                long_text(marker.content)
            if marker.after.strip():
                long_text(marker.after.strip())
            ui.label("Weight").classes("font-medium")
            self._slider = ui.slider(min=0, max=1, step=0.01, value=marker.weight, on_change=self._show)
            self._slider.props("aria-label=Weight label color=cyan-9").classes("px-3")
            draft = Draft(self.view, f"marker/{self.session_id}/{marker.marker_id}", {"weight": self._slider})
            draft.forget_when_hidden(self._dialog)
            with ui.row().classes("gap-1").props("role=group aria-label=Presets"):
                for weight, name in PRESETS.items():
                    button = ui.button(f"{name} {weight:.2f}", on_click=partial(self._slider.set_value, weight))
                    button.props("outline dense no-caps size=sm").classes("px-2")
            heading("Decay preview", 3)
            self._fates: dict[tuple[int, int], ui.label] = {}
            self._table()
            marker = self.marker
            written = f"{marker.written_weight:.2f} is written in the original, which stays as it is."
            note(f"{written} Versions that are there stay too; new ones go by the weight saved here.")
            with ui.row().classes("w-full justify-end gap-2"):
                if marker.weight != marker.written_weight and self.view.may_write:
                    ui.button("Take back", on_click=lambda: self._save(None)).props("flat no-caps")
                ui.button("Cancel", on_click=self._dialog.close).props("flat no-caps")
                if self.view.may_write:
                    save = ui.button("Save weight", on_click=lambda: self._save(round(float(self._slider.value), 2)))
                    save.props("unelevated no-caps color=cyan-9")
        self._show()

    def _table(self) -> None:
        with ui.element("table").classes("decay w-full text-xs sm:text-sm"):
            with ui.element("thead"), ui.element("tr"):
                for name in ("Distance", *(f"{ratio}:1" for ratio in _RATIOS)):
                    with ui.element("th").props("scope=col"):
                        ui.label(name)
            with ui.element("tbody"):
                for distance in _DISTANCES:
                    with ui.element("tr"):
                        with ui.element("th").props("scope=row"):
                            ui.label(str(distance))
                        for ratio in _RATIOS:
                            with ui.element("td"):
                                self._fates[ratio, distance] = ui.label()

    def _show(self) -> None:
        weight = float(self._slider.value)
        self._status.set_text(f"keepit {weight:.2f} {weight_name(weight)}")
        for (ratio, distance), label in self._fates.items():
            label.set_text(fate(weight, self.cells[ratio, distance]))

    async def _save(self, weight: float | None) -> None:
        await self.view.client.weigh_keepit(self.session_id, self.marker.marker_id, weight=weight)
        notify_success("Weight saved. The original was not touched.")
        await self.changed()
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
        if found := next((one for one in page.keepits if one.marker_id == marker_id), None):
            return found
        if (cursor := page.cursor) is None:
            raise FormError("This marker is not in the session any more.")
