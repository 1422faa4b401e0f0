"""What ends an app's memories: purged, erased or uninstalled, each confirmed in writing; and the receipts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nicegui import ui

from afterthought_client import models
from loop.ui.confirmation import confirmed, show_receipt
from loop.ui.frame import Frame
from loop.ui.tables import counted, heading, number, show_table
from loop.ui.times import show_time
from loop.ui.visitors import Visitor

_LISTED = 10


async def build(frame: Frame, visitor: Visitor, app_id: str) -> None:
    """Build what can be erased, and the receipts of what was."""
    receipts = Receipts(frame, visitor, app_id)
    erasing = Erasing(frame, visitor, app_id, receipts)
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
    await receipts.build()


def _offer(name: str, told: str, action: Any) -> None:
    with ui.row().classes("items-center gap-3 w-full"):
        ui.button(name, on_click=action).props("outline no-caps").classes("danger")
        ui.label(told).classes("muted text-sm")


@dataclass
class Receipts:
    """The receipts of an app, newest first."""

    frame: Frame
    visitor: Visitor
    app_id: str
    cursor: str | None = None
    rows: list[list[Any]] = field(default_factory=list)

    async def build(self) -> None:
        """Build the place of them, and show the first."""
        with ui.column().classes("card gap-2 min-w-0"):
            heading("Receipts")
            self.found = ui.column().classes("w-full min-w-0")
            self.more = ui.button("More", on_click=self._more).props("flat dense no-caps")
        await self.show_more()

    async def refresh(self) -> None:
        """Show the first anew."""
        self.cursor, self.rows = None, []
        await self.show_more()

    async def _more(self) -> None:
        async with self.frame.errors_told():
            await self.show_more()

    async def show_more(self) -> None:
        """Add the next receipts."""
        page = await self.visitor.client.list_erasure_receipts(limit=_LISTED, cursor=self.cursor, app_id=self.app_id)
        self.cursor = page.cursor
        self.more.set_visibility(page.cursor is not None)
        self.rows += [_row(one) for one in page.erasures]
        self.found.clear()
        with self.found:
            if not self.rows:
                ui.label("Nothing was erased yet.").classes("muted")
                return
            show_table("Receipts, newest first", ["What", "Of", "By", "When", "Rows", ""], self.rows)


def _row(one: models.Receipt) -> list[Any]:
    def details() -> None:
        ui.button("Show", on_click=lambda: show_receipt(one)).props("outline no-caps dense").classes("px-2")

    whose = one.user_id or ("all of the app" if one.scope != "conversation" else "a conversation")
    return [one.scope, whose, one.actor, lambda: show_time(one.at), number(sum(one.erased.values())), details]


@dataclass
class Erasing:
    """What is done once it was confirmed."""

    frame: Frame
    visitor: Visitor
    app_id: str
    receipts: Receipts

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
            ui.notify(f"Uninstalled. Memories kept: {done.memories_kept:,}.", type="positive")
            if done.receipt is not None:
                await self._show(done.receipt, done.note)

    async def _show(self, receipt: models.Receipt, note: str | None) -> None:
        await self.receipts.refresh()
        show_receipt(receipt, note)


def _memories(app: models.AppDetails) -> str:
    return counted(app.memories, "memory", "memories")
