"""An app's users, how much there is of each, and the erasure of all of it."""

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

_LISTED = 25


async def show_users(frame: Frame, visitor: Visitor, app_id: str) -> None:
    """Show the first users."""
    await UserTable(frame, visitor, app_id).build()


@dataclass
class UserTable:
    """Users by id, as far as they were asked for."""

    frame: Frame
    visitor: Visitor
    app_id: str
    cursor: str | None = None
    users: list[models.UserAnswer] = field(default_factory=list)

    async def build(self) -> None:
        """Build the place of the table, and show the first."""
        with ui.column().classes("card gap-2 min-w-0"):
            heading("Users")
            self.found = ui.column().classes("w-full gap-2 min-w-0")
            self.more = ui.button("More", on_click=self._more).props("flat dense no-caps")
        await self.show_more()

    async def _more(self) -> None:
        async with self.frame.errors_told():
            await self.show_more()

    async def show_more(self) -> None:
        """Add the next users."""
        page = await self.visitor.client.list_users(limit=_LISTED, cursor=self.cursor, app_id=self.app_id)
        self.cursor = page.cursor
        self.users += page.users
        self.more.set_visibility(page.cursor is not None)
        self._show()

    def _show(self) -> None:
        self.found.clear()
        with self.found:
            if not self.users:
                ui.label("The app holds nothing of anybody yet.").classes("muted")
                return
            head = ["User", "", "Conversations", "Messages", "Memories", "Facts", "Profile", "Last active"]
            show_table("Users by id", head, [self._row(one) for one in self.users])

    def _row(self, one: models.UserAnswer) -> list[Any]:
        def active() -> None:
            ui.label("–") if one.last_active_at is None else show_time(one.last_active_at)

        def erase() -> None:
            if one.user_id is None:
                return
            button = ui.button("Erase", icon="delete_forever", on_click=lambda: self._erase(one))
            button.props("outline no-caps dense").classes("px-2 danger")
            button.props["aria-label"] = f"Erase {one.user_id}"

        counts = (one.conversations, one.messages, one.memories, one.facts)
        return [
            one.user_id or "nobody named",
            erase,
            *map(number, counts),
            "yes" if one.has_profile else "no",
            active,
        ]

    async def _erase(self, one: models.UserAnswer) -> None:
        user_id = one.user_id
        assert user_id is not None
        goes = [
            f"{counted(one.conversations, 'conversation')} with {counted(one.messages, 'message')}",
            f"{counted(one.memories, 'memory', 'memories')}, with their history",
            f"{counted(one.facts, 'fact')}, with their history",
            "The profile and the consent" if one.has_profile else "No profile: there is none",
        ]
        if not await confirmed(f"Erase everything of {user_id}?", goes, user_id):
            return
        # Not in the row, which is shown anew.
        with self.found:
            await self._erase_now(user_id)

    async def _erase_now(self, user_id: str) -> None:
        async with self.frame.errors_told():
            done = await self.visitor.client.erase_user_data(user_id, app_id=self.app_id)
            self.users, self.cursor = [], None
            await self.show_more()
            show_receipt(done.receipt, done.note)
