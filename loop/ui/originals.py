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
from loop.ui.forms import Form, dialog
from loop.ui.frame import PageView
from loop.ui.tables import FLAT, OUTLINED, action, badge, heading, listing, long_text, more_button, note, rendered_text
from loop.ui.visitors import FormError, notify_success
from loop.ui.wording import PRESETS, minute, weight_name

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
        self._more = more_button(self._show_more, "More messages")
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
                of_tool = {
                    "tool_use": f"Call of {message.tool}",
                    "tool_result": f"Result of {message.tool or 'a tool'}",
                }
                who = of_tool.get(message.kind, message.speaker)
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
                    ui.space()
                    edit = partial(self.edit, self.session_id, marker.marker_id)
                    action("Weight", edit, FLAT, icon="tune").props("size=sm")
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
        is_changed = marker.weight != marker.written_weight
        with dialog("Keepit marker") as shown:
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
            with ui.row().classes("gap-1").props("role=group aria-label=Presets"):
                for weight, name in PRESETS.items():
                    set_weight = partial(self._slider.set_value, weight)
                    action(f"{name} {weight:.2f}", set_weight, OUTLINED).props("dense size=sm").classes("px-2")
            heading("Decay preview", 3)
            self._fates = listing("Decay preview", ["Distance", *(f"{ratio}:1" for ratio in _RATIOS)])
            self._fates.add_slot("body-cell-Distance", '<th scope="row" class="text-left">{{ props.value }}</th>')
            written = f"{marker.written_weight:.2f} is written in the original, which stays as it is."
            note(f"{written} Versions that are there stay too; new ones go by the weight saved here.")
            if self.view.may_write:
                name = f"marker/{self.session_id}/{marker.marker_id}"
                form = Form(self.view, name, {"weight": self._slider}, self._save, button="Save weight", within=shown)
                if is_changed:
                    with form.row:
                        action("Take back", lambda: self._take_back(form), FLAT).move(target_index=0)
        self._show()

    def _show(self) -> None:
        weight = float(self._slider.value)
        self._status.set_text(f"keepit {weight:.2f} {weight_name(weight)}")
        self._fates.rows = [
            {"#": distance, "Distance": str(distance)}
            | {f"{ratio}:1": fate(weight, self.cells[ratio, distance]) for ratio in _RATIOS}
            for distance in _DISTANCES
        ]

    async def _take_back(self, form: Form) -> None:
        await self._save(None)
        form.cancel()

    async def _save(self, weight: float | None) -> None:
        given = None if weight is None else round(float(weight), 2)
        await self.view.client.weigh_keepit(self.session_id, self.marker.marker_id, weight=given)
        notify_success("Weight saved. The original was not touched.")
        await self.changed()


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
