"""Reads a session's original page by page, with speakers and marked parts, and what of it a version holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from afterthought_client import models
from loop.ui.frame import PageView, press_once
from loop.ui.session_view import dialog, long_text, minute, weight_name
from loop.ui.tables import badge

EditMarker = Callable[[str, str], Awaitable[None]]
"""Opens the editor of a marker: its session's id and its own."""
_SHOWN = 20
_HELD = {"whole": ("in the version", "green-9"), "part": ("in part", "cyan-9"), "none": ("left out", "grey-8")}


class OriginalReader:
    """The messages of an original, a page at a time, in the place where it is built."""

    def __init__(
        self, view: PageView, session_id: str, edit: EditMarker | None = None, version_id: str | None = None
    ) -> None:
        """``version_id``: a version of which each message says how much of it is there."""
        self._view = view
        self._session_id = session_id
        self._edit = edit
        self._cursor: str | None = None
        self._version_id = version_id

    async def build(self, *, from_uuid: str | None = None) -> None:
        """Show the first page, or that of one message."""
        self._log = ui.column().classes("w-full gap-2").props("role=log aria-label=Original tabindex=0")
        self._more = press_once(ui.button("More messages", icon="expand_more"), self._show_more)
        self._more.props("flat dense no-caps")
        await self._show_more(from_uuid)

    async def _show_more(self, from_uuid: str | None = None) -> None:
        page = await self._view.client.read_original(
            self._session_id, message_uuid=from_uuid, version_id=self._version_id, limit=_SHOWN, cursor=self._cursor
        )
        self._cursor = page.cursor
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
                    badge(*_HELD[message.held])
            if message.held == "none":
                card.classes("dropped")
            self._show_parts(message)

    def _show_parts(self, message: models.OriginalMessage) -> None:
        """Show the text with each marked part in a frame of its own."""
        text, at = message.text, 0
        for marker in message.markers:
            # Of a message that is read in pieces, positions count from its beginning.
            begin = max(marker.start - message.start, 0)
            content = max(marker.content_start - message.start, 0)
            end = min(marker.end - message.start, len(text))
            if end <= at:
                continue
            if text[at:begin].strip():
                long_text(text[at:begin].strip())
            self._show_marker(marker, text[content:end].strip())
            at = end
        if text[at:].strip():
            long_text(text[at:].strip())

    def _show_marker(self, marker: models.MarkerInMessage, content: str) -> None:
        with ui.column().classes("marked gap-1 w-full"):
            with ui.row().classes("items-center gap-2 w-full"):
                ui.label(f"keepit {marker.weight:.2f} {weight_name(marker.weight)}").classes("text-xs font-medium")
                if marker.weight != marker.written_weight:
                    ui.label(f"{marker.written_weight:.2f} is written").classes("muted text-xs")
                if self._edit is not None:
                    edit = self._edit

                    async def opened() -> None:
                        await edit(self._session_id, marker.marker_id)

                    ui.space()
                    ui.button("Weight", icon="tune", on_click=opened).props("flat dense no-caps size=sm")
            long_text(content)


async def read_original(
    view: PageView, session_id: str, *, edit: EditMarker | None = None, from_uuid: str | None = None
) -> None:
    """Open an original."""
    with dialog(f"Original of {session_id}", is_wide=True), ui.column().classes("reader w-full"):
        await OriginalReader(view, session_id, edit).build(from_uuid=from_uuid)
