"""The latest summaries of somebody's recent conversations."""

from __future__ import annotations

from nicegui import ui

from loop.ui.frame import chat_address
from loop.ui.times import show_time
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
