"""One memory as a card: where it came from, what happened to it, and the ways to change it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from nicegui import ui

from afterthought_client.models import ChangeAnswer, MemoryAnswer
from loop.ui.frame import COLOURS, chat_address
from loop.ui.tables import badge, icon_button, show_time

_KINDS = {
    "created": "Written", "edited": "Edited", "merged": "Took in another", "absorbed": "Taken into another",
    "removed": "Removed", "gave_way": "Gave way", "restored": "Restored", "erased": "Erased",
}  # fmt: skip
_REWRITES = ("edited", "merged", "restored")


Draft = dict[str, Any]
"""What a form says of a memory, by the names of the client's arguments."""


@dataclass(frozen=True)
class MemoryHandlers:
    """What the page does for its cards."""

    edit: Callable[[int, Draft], Awaitable[bool]]
    """Returns whether it was done."""
    pin: Callable[[MemoryAnswer], Awaitable[None]]
    remove: Callable[[MemoryAnswer], Awaitable[None]]
    history: Callable[[int], Awaitable[list[ChangeAnswer]]]
    restore: Callable[[int, int], Awaitable[None]]


class MemoryCard:
    """A card. What is open in it stays open while the memory changes."""

    def __init__(
        self, app_id: str, memory: MemoryAnswer, handlers: MemoryHandlers, *, may_write: bool, tells_user: bool
    ) -> None:
        self.memory = memory
        self._app_id = app_id
        self._handlers = handlers
        self._may_write = may_write
        self._tells_user = tells_user
        with ui.column().classes("card gap-2").props("role=listitem") as self.element:
            self._view = ui.column().classes("w-full gap-2")
            self._editor = ui.column().classes("w-full empty:hidden")
            self._history = ui.column().classes("w-full gap-2 empty:hidden")
        self.show(memory)

    def show(self, memory: MemoryAnswer) -> None:
        """Show a memory as it is now."""
        # Nothing is built anew that may be about to be clicked.
        if memory == self.memory and self._view.default_slot.children:
            return
        self.memory = memory
        self.element.style(f"border-left: 3px solid {COLOURS['pin'] if memory.pinned else 'var(--line)'}")
        self._view.clear()
        with self._view:
            ui.label(memory.content).classes("said w-full")
            with ui.row().classes("w-full items-center gap-x-3 gap-y-1"):
                self._tell_attributes()
            with ui.row().classes("w-full items-center gap-x-2 gap-y-1"):
                for source in memory.sources:
                    message = {"message": source.message_ids[0]} if source.message_ids else {}
                    count = len(source.message_ids)
                    words = f"From {count} message{'' if count == 1 else 's'}" if count else "From a conversation"
                    link = ui.link(
                        words, chat_address(self._app_id, conversation=source.conversation_id, **message)
                    ).classes("text-xs !text-inherit")
                    link.tooltip(f"Conversation {source.conversation_id}")
                if not memory.sources:
                    ui.label("Written by hand").classes("muted text-xs")
                ui.space()
                with ui.row().classes("no-wrap gap-0"):
                    icon_button("history", "History", self._toggle_history)
                    if self._may_write:
                        pin = icon_button("push_pin", "Unpin" if self.memory.pinned else "Pin", self._pin)
                        pin.style(f"color: {COLOURS['pin'] if self.memory.pinned else 'inherit'}")
                        icon_button("edit", "Edit", self._edit)
                        icon_button("delete_outline", "Delete", self._remove)

    def _tell_attributes(self) -> None:
        memory = self.memory
        if self._tells_user:
            ui.label(memory.user_id or "nobody named").classes("text-xs font-medium")
        ui.label(f"Importance {memory.importance}").classes("muted text-xs")
        for tag in memory.tags:
            badge(tag, "grey-8").classes("max-w-full ellipsis")
        ui.label(_by(memory.agent)).classes("muted text-xs")
        if memory.version > 1:
            ui.label(f"version {memory.version}").classes("muted text-xs")
        show_time(memory.updated_at)

    async def _pin(self) -> None:
        await self._handlers.pin(self.memory)

    async def _remove(self) -> None:
        await self._handlers.remove(self.memory)

    def _edit(self) -> None:
        self._close()

        async def save(draft: Draft) -> None:
            if await self._handlers.edit(self.memory.id, draft):
                self._close()

        with self._editor:
            build_form(self.memory, save, self._close)
        self._view.set_visibility(False)

    def _close(self) -> None:
        self._editor.clear()
        self._view.set_visibility(True)

    async def _toggle_history(self) -> None:
        if self._history.default_slot.children:
            self._history.clear()
            return
        await self.show_history()

    async def show_history(self) -> None:
        """Show each version: who, why, before and after."""
        changes = await self._handlers.history(self.memory.id)
        self._history.clear()
        with self._history:
            ui.separator()
            ui.label("History").classes("text-sm font-medium").props("role=heading aria-level=3")
            for change in reversed(changes):
                show_change(change)
                if self._may_write and change.kind in _REWRITES and change.before is not None:
                    restore = ui.button("Bring this back", on_click=self._restoring(change.change_id), color=None)
                    restore.props("outline dense no-caps size=sm")

    def _restoring(self, change_id: int) -> Callable[[], Awaitable[None]]:
        async def restore() -> None:
            await self._handlers.restore(self.memory.id, change_id)
            await self.show_history()

        return restore


def _by(actor: str) -> str:
    return actor if actor.startswith("by ") else f"by {actor}"


def show_change(change: ChangeAnswer) -> None:
    """Show what happened to a memory: who, why, and its text before and after."""
    with ui.column().classes("w-full gap-1"):
        with ui.row().classes("items-center gap-2"):
            ui.label(_KINDS[change.kind]).classes("text-sm font-medium")
            ui.label(_by(change.actor)).classes("muted text-xs")
            show_time(change.at)
        ui.label(change.reason).classes("muted text-sm said")
        if change.before is not None:
            ui.label(change.before).classes("said text-sm line-through muted")
        if change.after is not None:
            ui.label(change.after).classes("said text-sm")


def build_form(
    present: MemoryAnswer | None, save: Callable[[Draft], Awaitable[None]], cancel: Callable[[], None]
) -> None:
    """Build where a memory is written, a new one where None is present: Ctrl+Enter saves, Escape cancels."""
    content, tags_now, weight = (present.content, present.tags, present.importance) if present else ("", [], 5)
    with ui.column().classes("w-full gap-2"):
        text = ui.textarea("Memory", value=content).props("outlined autogrow autofocus").classes("w-full")
        tags = ui.input_chips("Tags", value=list(tags_now), new_value_mode="add-unique").classes("w-full")
        tags.props("outlined dense")
        importance = ui.number("Importance, 0 to 10", value=weight, min=0, max=10, precision=0)
        importance.props("outlined dense").classes("w-full")
        with ui.row().classes("w-full justify-end gap-2"):
            ui.button("Cancel", on_click=cancel, color=None).props("flat no-caps dense")

            async def write() -> None:
                draft = {
                    "content": text.value or "",
                    "importance": int(importance.value or 0),
                    "tags": list(tags.value),
                }
                await save(draft)

            ui.button("Save", on_click=write, color=None).props("unelevated no-caps dense color=cyan-9").classes("px-3")
        text.on("keydown.ctrl.enter", write, js_handler="() => emit()")
        text.on("keydown.escape.stop", cancel, js_handler="() => emit()")
