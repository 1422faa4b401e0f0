"""What an app remembers of somebody: the at most ten memories, beside them facts, summaries and the profile.

The latest summaries of somebody's recent conversations.
"""

from __future__ import annotations

from nicegui import ui

from afterthought_client.models import ChangeAnswer, MemoryAnswer, MemoryEviction
from loop.ui.confirmation import UndoBar
from loop.ui.frame import Frame, chat_address
from loop.ui.live import live
from loop.ui.memory_card import Draft, MemoryCard, MemoryHandlers, build_form, show_change
from loop.ui.memory_panel import MemoryPanel, choose_subject
from loop.ui.profile import ProfileSection
from loop.ui.tables import show_time
from loop.ui.visitors import Visitor

_CONVERSATIONS = 5
_TITLE_CHARACTERS = 80


class SummarySection:
    """Each recent conversation with its newest summary."""

    def __init__(self, visitor: Visitor, app_id: str, user_id: str | None) -> None:
        self._client = visitor.client
        self._app_id = app_id
        self._user_id = user_id
        with ui.column().classes("w-full gap-3"):
            ui.label("Summaries").classes("text-lg font-semibold").props("role=heading aria-level=2")
            self._list = ui.column().classes("w-full gap-3").props("role=list aria-label=Summaries")

    async def refresh(self) -> None:
        """Show the summaries as they are now."""
        recent = await self._client.list_conversations(user_id=self._user_id, limit=_CONVERSATIONS, app_id=self._app_id)
        found = []
        for one in recent.conversations:
            latest = await self._client.list_summaries(one.conversation_id, limit=1, app_id=self._app_id)
            title = str(one.metadata.get("title") or "Conversation")[:_TITLE_CHARACTERS]
            found += [(one.conversation_id, title, summary) for summary in latest.summaries]
        self._list.clear()
        with self._list:
            if not found:
                ui.label("No recent conversation has a summary.").classes("muted").props("role=listitem")
            for conversation_id, title, summary in found:
                with ui.column().classes("card gap-1").props("role=listitem"):
                    ui.label(summary.content).classes("said text-sm w-full")
                    with ui.row().classes("items-center gap-3"):
                        address = chat_address(self._app_id, conversation=conversation_id)
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


def register(frame: Frame) -> None:
    """Register the page."""

    @frame.page("/memory/{app_id}", "Memory")
    async def show(visitor: Visitor, app_id: str) -> None:
        with ui.row().classes("w-full items-center gap-3"):
            user_id = await choose_subject(visitor, app_id)
            ui.space()
            MemoryPanel(frame, visitor, app_id, user_id).pill("fact", "facts")
        with ui.element("div").classes("w-full grid grid-cols-1 lg:grid-cols-[3fr_2fr] gap-6"):
            with ui.column().classes("w-full min-w-0 gap-6"):
                memories = MemorySection(frame, visitor, app_id, user_id)
                removed = RemovedSection(frame, visitor, app_id, user_id, memories)
            with ui.column().classes("w-full min-w-0 gap-6"):
                profile = ProfileSection(frame, visitor, app_id, user_id)
                summaries = SummarySection(visitor, app_id, user_id)
        changes = live(frame, visitor, app_id)
        changes.on(_MEMORY_EVENTS, memories.refresh)
        changes.on(_MEMORY_EVENTS, removed.refresh)
        changes.on({"job.finished", "memories.purged"}, summaries.refresh)
        changes.on({"profile.changed"}, profile.refresh_unless_written)
        for section in (memories, removed, profile, summaries):
            await section.refresh()


class MemorySection:
    """The memories of one subject, how many of how many places are taken, and where one is written by hand."""

    def __init__(self, frame: Frame, visitor: Visitor, app_id: str, user_id: str | None) -> None:
        self._frame = frame
        self._client = visitor.client
        self._may_write = visitor.may_write
        self._app_id = app_id
        self._user_id = user_id
        self._wanted = _PAGE
        self._cards: dict[int, MemoryCard] = {}
        self._handlers = MemoryHandlers(self._edit, self._pin, self._remove, self._history, self._restore)
        with ui.column().classes("w-full gap-3"):
            self._build()

    def _build(self) -> None:
        with ui.row().classes("w-full items-center gap-3"):
            ui.label("Memories").classes("text-lg font-semibold").props("role=heading aria-level=2")
            self._used = ui.label().classes("muted text-sm tabular-nums")
            ui.space()
            if self._may_write and self._user_id is not None:
                self._write = ui.button("Write a memory", icon="add", on_click=self._open_form, color=None)
                self._write.props("outline no-caps dense").classes("px-2")
        self._bar = ui.linear_progress(0, show_value=False, size="4px").props("color=cyan-8 aria-hidden=true")
        # One after the other without a gap, as they are there while they say nothing: else nobody is told of them.
        with ui.column().classes("w-full gap-0"):
            self._notice = ui.element("div").classes("w-full").props("role=status")
            self._undo = UndoBar(self._frame)
        self._form = ui.column().classes("w-full card")
        self._form.set_visibility(False)
        self._list = ui.column().classes("w-full gap-3").props("role=list aria-label=Memories")
        self._empty = ui.label("No memories yet. One is made when a conversation ends.").classes("muted")
        self._more = ui.button("More", on_click=self._show_more, color=None).props("flat no-caps dense")

    async def refresh(self) -> None:
        """Show the memories as they are now."""
        found = await self._client.list_memories(user_id=self._user_id, limit=self._wanted, app_id=self._app_id)
        shown = {memory.id for memory in found.memories}
        for gone in set(self._cards) - shown:
            self._cards.pop(gone).element.delete()
        for index, memory in enumerate(found.memories):
            card = self._cards.get(memory.id)
            if card is None:
                tells_user = self._user_id is None
                with self._list:
                    card = MemoryCard(
                        self._app_id, memory, self._handlers, may_write=self._may_write, tells_user=tells_user
                    )
                self._cards[memory.id] = card
            else:
                card.show(memory)
            beside = self._list.default_slot.children
            if beside[index] is not card.element:
                card.element.move(self._list, index)
        is_one = self._user_id is not None
        self._used.set_text(f"{len(found.memories)} of {found.cap}" if is_one else f"at most {found.cap} of each user")
        self._bar.set_value(len(found.memories) / found.cap)
        self._bar.set_visibility(is_one)
        self._empty.set_visibility(not shown)
        self._more.set_visibility(found.cursor is not None)

    async def _show_more(self) -> None:
        self._wanted = min(self._wanted + _PAGE, 200)
        async with self._frame.errors_told():
            await self.refresh()

    def _open_form(self) -> None:
        self._form.clear()
        self._form.set_visibility(True)
        with self._form:
            build_form(None, self._save_new, self._close_form)

    def _close_form(self) -> None:
        self._form.set_visibility(False)

    async def _save_new(self, draft: Draft) -> None:
        async with self._frame.errors_told():
            user_id = self._user_id or None
            written = await self._client.write_memory(**draft, user_id=user_id, app_id=self._app_id)
            self._close_form()
            self.tell_what_went(written.made_room)
            await self.refresh()

    async def _edit(self, memory_id: int, draft: Draft) -> bool:
        async with self._frame.errors_told():
            await self._client.edit_memory(memory_id, **draft, app_id=self._app_id)
            await self.refresh()
            return True
        return False

    async def _pin(self, memory: MemoryAnswer) -> None:
        async with self._frame.errors_told():
            await self._client.edit_memory(memory.id, pinned=not memory.pinned, app_id=self._app_id)
            await self.refresh()

    async def _remove(self, memory: MemoryAnswer) -> None:
        async def undo() -> None:
            restored = await self._client.restore_memory(memory.id, app_id=self._app_id)
            self.tell_what_went(restored.made_room)
            await self.refresh()

        async with self._frame.errors_told():
            await self._client.delete_memory(memory.id, app_id=self._app_id)
            await self.refresh()
            self._undo.offer("Memory deleted", undo)

    async def _history(self, memory_id: int) -> list[ChangeAnswer]:
        async with self._frame.errors_told():
            return (await self._client.show_memory_history(memory_id, limit=_HISTORY, app_id=self._app_id)).changes
        return []

    async def _restore(self, memory_id: int, change_id: int) -> None:
        async with self._frame.errors_told():
            restored = await self._client.restore_memory(memory_id, change_id=change_id, app_id=self._app_id)
            self.tell_what_went(restored.made_room)
            await self.refresh()

    def tell_what_went(self, made_room: list[MemoryEviction]) -> None:
        """Say what went to make room, until it is read."""
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
            ui.button(icon="close", on_click=self._notice.clear, color=None).props("flat round dense aria-label=Close")


class RemovedSection:
    """Memories that stand no more and can be brought back."""

    def __init__(
        self, frame: Frame, visitor: Visitor, app_id: str, user_id: str | None, memories: MemorySection
    ) -> None:
        self._frame = frame
        self._client = visitor.client
        self._may_write = visitor.may_write
        self._app_id = app_id
        self._user_id = user_id
        self._memories = memories
        self._wanted = _PAGE
        with ui.expansion("Removed memories", icon="restore").classes("w-full card p-0") as self._expansion:
            self._list = ui.column().classes("w-full gap-3").props("role=list aria-label='Removed memories'")
            self._more = ui.button("Look further back", on_click=self._show_more, color=None).props(
                "flat no-caps dense"
            )
        self._expansion.on_value_change(self._opened)

    async def _opened(self) -> None:
        async with self._frame.errors_told():
            await self.refresh()

    async def refresh(self) -> None:
        """Show what was removed lately, where this is open."""
        if not self._expansion.value:
            return
        found = await self._client.list_memory_changes(user_id=self._user_id, limit=self._wanted, app_id=self._app_id)
        latest: dict[int, ChangeAnswer] = {}
        for change in found.changes:
            latest.setdefault(change.memory_id, change)
        self._more.set_visibility(found.cursor is not None and self._wanted < _MOST_CHANGES)
        removed = [one for one in latest.values() if one.kind in _REMOVALS and one.before is not None]
        self._list.clear()
        with self._list:
            if not removed:
                ui.label("None of the latest changes removed one.").classes("muted").props("role=listitem")
            for one in removed:
                self._show(one)

    def _show(self, change: ChangeAnswer) -> None:
        async def restore() -> None:
            async with self._frame.errors_told():
                restored = await self._client.restore_memory(change.memory_id, app_id=self._app_id)
                self._memories.tell_what_went(restored.made_room)
                await self._memories.refresh()
                await self.refresh()

        with ui.row().classes("w-full items-start no-wrap gap-2").props("role=listitem"):
            show_change(change)
            if self._may_write:
                ui.button("Restore", on_click=restore, color=None).props("outline dense no-caps").classes("px-2")

    async def _show_more(self) -> None:
        self._wanted = min(self._wanted + _PAGE, _MOST_CHANGES)
        await self._opened()
