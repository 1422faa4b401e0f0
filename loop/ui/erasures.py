"""What ends an app's memories: purged, erased or uninstalled, each confirmed in writing; and the receipts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nicegui import ui

from afterthought_client import models
from loop.ui.actors import TokenLabels, actor_cell, token_labels
from loop.ui.confirmation import confirmed, show_receipt
from loop.ui.frame import Frame
from loop.ui.notices import tell_success
from loop.ui.tables import PagedTable, Row, counted, heading, number
from loop.ui.times import show_time
from loop.ui.visitors import Visitor

_LISTED = 10
_OF_ONE = ("conversation", "memory", "fact")


async def build(frame: Frame, visitor: Visitor, app_id: str) -> None:
    """Build what can be erased, and the receipts of what was."""
    labels = await token_labels(visitor, app_id)
    erasing = Erasing(frame, visitor, app_id)
    with ui.column().classes("card gap-3"):
        heading("Erase")
        _offer(
            "Purge the memories", "All memories go with the text of their history. Conversations stay.", erasing.purge
        )
        _offer("Erase all data", "Everything the app ever held goes. The app stays, empty.", erasing.erase)
        _offer("Uninstall, and keep what it remembers", "Its tokens are revoked.", erasing.uninstall)
        _offer(
            "Uninstall, and purge the memories", "Its tokens are revoked; its memories go.", erasing.uninstall_purged
        )

    async def fetch(cursor: str | None) -> tuple[list[Row], str | None]:
        page = await visitor.client.list_erasure_receipts(limit=_LISTED, cursor=cursor, app_id=app_id)
        return [_row(one, labels) for one in page.erasures], page.cursor

    with ui.column().classes("card gap-2 min-w-0"):
        heading("Receipts")
        head = ["What", "Of", "By", "When", "Rows", ""]
        erasing.receipts = PagedTable(frame, "Receipts, newest first", head, fetch, empty="Nothing was erased yet.")
    await erasing.receipts.refresh()


def _offer(name: str, told: str, action: Any) -> None:
    with ui.row().classes("items-center gap-3 w-full"):
        ui.button(name, on_click=action, color=None).props("outline no-caps").classes("danger")
        ui.label(told).classes("muted text-sm")


def _row(one: models.Receipt, labels: TokenLabels) -> Row:
    def details() -> None:
        ui.button("Show", on_click=lambda: show_receipt(one, labels=labels)).props("outline no-caps dense").classes(
            "px-2"
        )

    whose = one.user_id or (f"one {one.scope}" if one.scope in _OF_ONE else "all of the app")
    return [
        one.scope,
        whose,
        actor_cell(one.actor, labels),
        lambda: show_time(one.at),
        number(sum(one.erased.values())),
        details,
    ]


@dataclass
class Erasing:
    """What is done once it was confirmed."""

    frame: Frame
    visitor: Visitor
    app_id: str
    receipts: PagedTable | None = None

    async def purge(self) -> None:
        """Purge the memories."""
        async with self.frame.errors_told():
            app = await self.visitor.client.show_app(app_id=self.app_id)
            goes = [f"{_memories(app)}, with the text of their history", "Memory work asked for before"]
            if await confirmed(f"Purge the memories of {app.name}?", goes, self.app_id, button="Purge"):
                done = await self.visitor.client.purge_memories(app_id=self.app_id)
                left = done.still_remembered
                told = (
                    f"Still remembered: {counted(left.facts, 'fact')}, {counted(left.messages, 'message')}, "
                    f"{counted(left.summaries, 'summary', 'summaries')}."
                )
                await self._show(done.receipt, f"{told} {done.note or ''}".strip())

    async def erase(self) -> None:
        """Erase everything."""
        async with self.frame.errors_told():
            app = await self.visitor.client.show_app(app_id=self.app_id)
            stats = await self.visitor.client.show_retrieval_stats(app_id=self.app_id)
            goes = [
                f"{counted(app.open_conversations + app.ended_conversations, 'conversation')} with "
                f"{counted(stats.total_messages, 'message')} and "
                f"{counted(stats.total_summaries, 'summary', 'summaries')}",
                f"{_memories(app)} and all facts, with their history",
                "Profiles, recorded sessions, jobs, vectors and events",
            ]
            if await confirmed(f"Erase all data of {app.name}?", goes, self.app_id):
                done = await self.visitor.client.erase_app_data(app_id=self.app_id)
                await self._show(done.receipt, done.note)

    async def uninstall(self) -> None:
        """Uninstall, and keep the memories."""
        await self._uninstall(purge=False)

    async def uninstall_purged(self) -> None:
        """Uninstall, and purge the memories."""
        await self._uninstall(purge=True)

    async def _uninstall(self, *, purge: bool) -> None:
        async with self.frame.errors_told():
            app = await self.visitor.client.show_app(app_id=self.app_id)
            memories = _memories(app)
            goes = ["All its tokens", f"{memories}, with their history" if purge else f"Kept: {memories}"]
            if not await confirmed(f"Uninstall {app.name}?", goes, self.app_id, button="Uninstall"):
                return
            done = await self.visitor.client.uninstall_app(purge_memories=purge, app_id=self.app_id)
            tell_success(f"Uninstalled. Memories kept: {done.memories_kept:,}.")
            if done.receipt is not None:
                await self._show(done.receipt, done.note)

    async def _show(self, receipt: models.Receipt, note: str | None) -> None:
        if self.receipts is not None:
            await self.receipts.refresh()
        show_receipt(receipt, note)


def _memories(app: models.AppDetails) -> str:
    return counted(app.memories, "memory", "memories")
