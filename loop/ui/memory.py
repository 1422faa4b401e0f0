"""What an app remembers of somebody: the at most ten memories, beside them facts, summaries and the profile.

A memory is a card: where it came from, what happened to it, and the ways to change it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any

from fastapi import Query
from nicegui import ui
from nicegui.elements.mixins.value_element import ValueElement

from afterthought_client import models
from loop.ui.forms import Form, UndoBar, choose_subject
from loop.ui.frame import COLOURS, Frame, PageView, chat_address, live
from loop.ui.memory_panel import MemoryPanel
from loop.ui.profile import ProfileSection
from loop.ui.state import PageState, forms_being_written
from loop.ui.tables import OUTLINED, action, badge, fill, heading, icon_button, more_button
from loop.ui.wording import author_of, counted, show_time

_CONVERSATIONS = 5
_TITLE_CHARACTERS = 80


class SummarySection:
    """Each recent conversation with its newest summary."""

    def __init__(self, view: PageView, user_id: str | None) -> None:
        self._view = view
        self._user_id = user_id
        with ui.column().classes("w-full gap-3"):
            heading("Summaries").classes("text-lg")
            self._list = ui.column().classes("w-full gap-3").props("role=list aria-label=Summaries")

    async def refresh(self) -> None:
        """Show the summaries as they are now."""
        recent = await self._view.client.list_conversations(user_id=self._user_id, limit=_CONVERSATIONS)
        found: list[tuple[str, str, models.SummaryItem]] = []
        for one in recent.conversations:
            latest = await self._view.client.list_summaries(one.conversation_id, limit=1)
            title = str(one.metadata.get("title") or "Conversation")[:_TITLE_CHARACTERS]
            found += [(one.conversation_id, title, summary) for summary in latest.summaries]
        fill(self._list, found, lambda one: self._show(*one), "No recent conversation has a summary.")

    def _show(self, conversation_id: str, title: str, summary: models.SummaryItem) -> None:
        with ui.column().classes("card gap-1").props("role=listitem"):
            ui.label(summary.content).classes("said text-sm w-full")
            with ui.row().classes("items-center gap-3"):
                user_id = self._view.address.state.user
                address = chat_address(self._view.app_id, user=user_id, conversation=conversation_id)
                ui.link(title, address).classes("text-xs !text-inherit ellipsis").tooltip(conversation_id)
                show_time(summary.created_at, "summarised")


_PAGE = 20
_HISTORY = 50
_MOST_CHANGES = 200
_MEMORY_EVENTS = frozenset({"memory.created", "memory.changed", "memory.removed", "memories.purged"})
_REMOVALS = ("removed", "absorbed", "gave_way")
_OUTCOMES = {
    "deleted": "was removed", "merged": "was taken into another",
    "oldest_went": "was the oldest of those that mattered least, and went",
    "least_went": "mattered least, and went", "new_gave_way": "is new and gave way",
}  # fmt: skip
_KINDS = {
    "created": "Written", "edited": "Edited", "merged": "Took in another", "absorbed": "Taken into another",
    "removed": "Removed", "gave_way": "Gave way", "restored": "Restored", "erased": "Erased",
}  # fmt: skip
_REWRITES = ("edited", "merged", "restored")
_FORMS, _NEW = "memory/", "new/"


def register(frame: Frame) -> None:
    """Register the page."""

    @frame.page("/memory/{app_id}", "Memory")
    async def show(view: PageView, app_id: str, state: Annotated[PageState, Query()]) -> None:
        with ui.row().classes("w-full items-center gap-3"):
            user_id = await choose_subject(view, state)
            ui.space()
            MemoryPanel(view, user_id)
        with ui.element("div").classes("w-full grid grid-cols-1 lg:grid-cols-[3fr_2fr] gap-6"):
            with ui.column().classes("w-full min-w-0 gap-6"):
                memories = MemorySection(view, user_id)
                removed = RemovedSection(view, user_id, memories)
            with ui.column().classes("w-full min-w-0 gap-6"):
                profile = ProfileSection(view, user_id)
                summaries = SummarySection(view, user_id)
        changes = live(view)
        changes.on(_MEMORY_EVENTS, memories.refresh)
        changes.on(_MEMORY_EVENTS, removed.refresh)
        changes.on({"job.finished", "memories.purged"}, summaries.refresh)
        changes.on({"profile.changed"}, profile.refresh_unless_written)
        for section in (memories, removed, profile, summaries):
            await section.refresh()
        if view.may_write:
            ui.timer(0, memories.reopen, once=True)


class MemorySection:
    """The memories of one subject, how many of how many places are taken, and where one is written by hand."""

    def __init__(self, view: PageView, user_id: str | None) -> None:
        self.view = view
        self.user_id = user_id
        self._limit = _PAGE
        self._cards: dict[int, MemoryCard] = {}
        with ui.column().classes("w-full gap-3"):
            with ui.row().classes("w-full items-center gap-3"):
                heading("Memories").classes("text-lg")
                self._used = ui.label().classes("muted text-sm tabular-nums")
                ui.space()
                if self.view.may_write and self.user_id is not None:
                    action("Write a memory", self._open_form, OUTLINED, icon="add", color=None).props("dense").classes(
                        "px-2"
                    )
            self._bar = ui.linear_progress(0, show_value=False, size="4px").props("color=cyan-8 aria-hidden=true")
            # One after the other without a gap, as they are there while they say nothing: else nobody is told of them.
            with ui.column().classes("w-full gap-0"):
                self._notice = ui.element("div").classes("w-full").props("role=status")
                self._undo = UndoBar()
            self._form = ui.column().classes("w-full card")
            self._form.set_visibility(False)
            self._list = ui.column().classes("w-full gap-3").props("role=list aria-label=Memories")
            self._empty = ui.label("No memories yet. One is made when a conversation ends.").classes("muted")
            self._more = more_button(self._show_more)

    async def refresh(self) -> None:
        """Show the memories as they are now."""
        found = await self.view.client.list_memories(user_id=self.user_id, limit=self._limit)
        shown = {memory.id for memory in found.memories}
        for gone in set(self._cards) - shown:
            self._cards.pop(gone).element.delete()
        for index, memory in enumerate(found.memories):
            card = self._cards.get(memory.id)
            if card is None:
                with self._list:
                    card = self._cards[memory.id] = MemoryCard(self, memory)
            else:
                card.show(memory)
            # Moved only where it stands elsewhere, as moving an element takes the focus away.
            siblings = self._list.default_slot.children
            if siblings[index] is not card.element:
                card.element.move(self._list, index)
        is_one = self.user_id is not None
        self._used.set_text(f"{len(found.memories)} of {found.cap}" if is_one else f"at most {found.cap} of each user")
        self._bar.set_value(len(found.memories) / found.cap)
        self._bar.set_visibility(is_one)
        self._empty.set_visibility(not shown)
        self._more.set_visibility(found.cursor is not None)

    async def reopen(self) -> None:
        """Open the forms again in which something was being written when the page was left."""
        for name in await forms_being_written(self.view, _FORMS):
            if name == f"{_NEW}{self.user_id}":
                self._open_form()
            elif name.isdigit() and int(name) in self._cards:
                self._cards[int(name)].edit()

    async def _show_more(self) -> None:
        self._limit = min(self._limit + _PAGE, 200)
        await self.refresh()

    def _open_form(self) -> None:
        self._form.clear()
        self._form.set_visibility(True)
        with self._form:
            name, close = f"{_FORMS}{_NEW}{self.user_id}", partial(self._form.set_visibility, False)
            build_form(self.view, name, None, self._save_new, close)

    async def _save_new(self, **given: Any) -> None:
        written = await self.view.client.write_memory(**given, user_id=self.user_id or None)
        self._tell_what_went(written.made_room)
        await self.refresh()

    async def remove(self, memory_id: int) -> None:
        """Delete a memory, and offer to bring it back."""
        await self.view.client.delete_memory(memory_id)
        await self.refresh()
        self._undo.offer("Memory deleted", lambda: self.restore(memory_id))

    async def restore(self, memory_id: int, change_id: int | None = None) -> None:
        """Take back a memory's latest change, or the one named, and say what went for it."""
        restored = await self.view.client.restore_memory(memory_id, change_id=change_id)
        self._tell_what_went(restored.made_room)
        await self.refresh()

    def _tell_what_went(self, made_room: list[models.MemoryEviction]) -> None:
        self._notice.clear()
        if not made_room:
            return
        with self._notice, ui.row().classes("card items-start no-wrap w-full"):
            ui.icon("info").classes("muted").props("aria-hidden=true")
            with ui.column().classes("grow gap-1"):
                ui.label("All places were taken:").classes("font-medium")
                for one in made_room:
                    card = self._cards.get(one.memory_id)
                    what = f"“{card.memory.content}”" if card else "The new one"
                    ui.label(f"{what} {_OUTCOMES[one.outcome]}. {one.reason}").classes("said text-sm")
            icon_button("close", "Close", self._notice.clear)


class RemovedSection:
    """Memories that stand no more and can be brought back."""

    def __init__(self, view: PageView, user_id: str | None, memories: MemorySection) -> None:
        self._view, self._user_id, self._memories = view, user_id, memories
        self._limit = _PAGE
        with ui.expansion("Removed memories", icon="restore").classes("w-full card p-0") as self._expansion:
            self._list = ui.column().classes("w-full gap-3").props("role=list aria-label='Removed memories'")
            self._more = more_button(self._show_more, "Look further back")
        self._expansion.on_value_change(self.refresh)

    async def refresh(self) -> None:
        """Show what was removed lately, where this is open."""
        if not self._expansion.value:
            return
        found = await self._view.client.list_memory_changes(user_id=self._user_id, limit=self._limit)
        latest: dict[int, models.ChangeAnswer] = {}
        for change in found.changes:
            # They come newest first, and only the last tells whether the memory stands.
            latest.setdefault(change.memory_id, change)
        self._more.set_visibility(found.cursor is not None and self._limit < _MOST_CHANGES)
        removed = [one for one in latest.values() if one.kind in _REMOVALS and one.before is not None]
        fill(self._list, removed, self._show, "None of the latest changes removed one.")

    def _show(self, change: models.ChangeAnswer) -> None:
        async def restore() -> None:
            await self._memories.restore(change.memory_id)
            await self.refresh()

        with ui.row().classes("w-full items-start no-wrap gap-2").props("role=listitem"):
            show_change(change)
            if self._view.may_write:
                action("Restore", restore, OUTLINED, color=None).props("dense").classes("px-2")

    async def _show_more(self) -> None:
        self._limit = min(self._limit + _PAGE, _MOST_CHANGES)
        await self.refresh()


class MemoryCard:
    """A card. What is open in it stays open while the memory changes."""

    def __init__(self, section: MemorySection, memory: models.MemoryAnswer) -> None:
        self.memory = memory
        self._section = section
        self._client, self._may_write = section.view.client, section.view.may_write
        with ui.column().classes("card gap-2").props("role=listitem") as self.element:
            self._view = ui.column().classes("w-full gap-2")
            self._editor = ui.column().classes("w-full empty:hidden")
            self._history = ui.column().classes("w-full gap-2 empty:hidden")
        self.show(memory)

    def show(self, memory: models.MemoryAnswer) -> None:
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
                    message = source.message_ids[0] if source.message_ids else None
                    count, view = len(source.message_ids), self._section.view
                    words = f"From {counted(count, 'message')}" if count else "From a conversation"
                    given = {"user": view.address.state.user, "conversation": source.conversation_id}
                    link = ui.link(words, chat_address(view.app_id, **given, message=message))
                    link.classes("text-xs !text-inherit").tooltip(f"Conversation {source.conversation_id}")
                if not memory.sources:
                    ui.label("Written by hand").classes("muted text-xs")
                ui.space()
                with ui.row().classes("no-wrap gap-0"):
                    icon_button("history", "History", self._toggle_history)
                    if self._may_write:
                        pin = icon_button("push_pin", "Unpin" if self.memory.pinned else "Pin", self._pin)
                        pin.style(f"color: {COLOURS['pin'] if self.memory.pinned else 'inherit'}")
                        icon_button("edit", "Edit", self.edit)
                        icon_button("delete_outline", "Delete", lambda: self._section.remove(self.memory.id))

    def _tell_attributes(self) -> None:
        memory = self.memory
        if self._section.user_id is None:
            ui.label(memory.user_id or "nobody named").classes("text-xs font-medium")
        ui.label(f"Importance {memory.importance}").classes("muted text-xs")
        for tag in memory.tags:
            badge(tag, "grey-8").classes("max-w-full ellipsis")
        ui.label(_by(memory.agent)).classes("muted text-xs")
        if memory.version > 1:
            ui.label(f"version {memory.version}").classes("muted text-xs")
        show_time(memory.updated_at)

    async def _pin(self) -> None:
        await self._client.edit_memory(self.memory.id, pinned=not self.memory.pinned)
        await self._section.refresh()

    def edit(self) -> None:
        """Open its editor."""
        self._close()

        async def save(**given: Any) -> None:
            await self._client.edit_memory(self.memory.id, **given)
            await self._section.refresh()

        with self._editor:
            build_form(self._section.view, f"{_FORMS}{self.memory.id}", self.memory, save, self._close)
        self._view.set_visibility(False)

    def _close(self) -> None:
        self._editor.clear()
        self._view.set_visibility(True)

    async def _toggle_history(self) -> None:
        if self._history.default_slot.children:
            self._history.clear()
        else:
            await self._show_history()

    async def _show_history(self) -> None:
        changes = (await self._client.show_memory_history(self.memory.id, limit=_HISTORY)).changes
        self._history.clear()
        with self._history:
            ui.separator()
            heading("History", 3).classes("text-sm")
            for change in reversed(changes):
                show_change(change)
                if self._may_write and change.kind in _REWRITES and change.before is not None:
                    restore = partial(self._restore, change.change_id)
                    action("Bring this back", restore, OUTLINED, color=None).props("dense size=sm")

    async def _restore(self, change_id: int) -> None:
        await self._section.restore(self.memory.id, change_id)
        await self._show_history()


def _by(actor: str) -> str:
    return actor if actor.startswith("by ") else f"by {author_of(actor)}"


def show_change(change: models.ChangeAnswer) -> None:
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
    view: PageView,
    form: str,
    present: models.MemoryAnswer | None,
    save: Callable[..., Awaitable[None]],
    close: Callable[[], object],
) -> None:
    """Build where a memory is written, a new one where None is present; ``save`` is given the client's arguments."""
    content, tags_now, weight = (present.content, present.tags, present.importance) if present else ("", [], 5)
    with ui.column().classes("w-full gap-2"):
        fields: dict[str, ValueElement[Any]] = {
            "content": ui.textarea("Memory", value=content).props("autofocus").classes("w-full"),
            "tags": ui.input_chips("Tags", value=list(tags_now), new_value_mode="add-unique").classes("w-full"),
            "importance": ui.number("Importance, 0 to 10", value=weight, min=0, max=10, precision=0).classes("w-full"),
        }

        async def write(content: str, tags: list[str], importance: float | None) -> None:
            await save(content=content or "", tags=list(tags), importance=int(importance or 0))

        Form(view, form, fields, write, within=close)
