"""An app's users, how much there is of each, and the erasure of all of it."""

from __future__ import annotations

from dataclasses import dataclass

from nicegui import ui

from afterthought_client import models
from loop.ui.confirmation import confirmed, show_receipt
from loop.ui.frame import Frame
from loop.ui.tables import PagedTable, Row, counted, heading, number
from loop.ui.times import show_time
from loop.ui.visitors import Visitor

_LISTED = 25


async def show_users(frame: Frame, visitor: Visitor, app_id: str) -> None:
    """Show the first users."""
    await UserTable(frame, visitor, app_id).build()


@dataclass
class UserTable:
    """Users by id."""

    frame: Frame
    visitor: Visitor
    app_id: str

    async def build(self) -> None:
        """Build the place of the table, and show the first."""
        with ui.column().classes("card gap-2 min-w-0"):
            heading("Users")
            head = ["User", "", "Conversations", "Messages", "Memories", "Facts", "Profile", "Last active"]
            self.table = PagedTable(
                self.frame, "Users by id", head, self._fetch, empty="The app holds nothing of anybody yet."
            )
        await self.table.refresh()

    async def _fetch(self, cursor: str | None) -> tuple[list[Row], str | None]:
        page = await self.visitor.client.list_users(limit=_LISTED, cursor=cursor, app_id=self.app_id)
        return [self._row(one) for one in page.users], page.cursor

    def _row(self, one: models.UserAnswer) -> Row:
        def active() -> None:
            ui.label("–") if one.last_active_at is None else show_time(one.last_active_at)

        def erase() -> None:
            if one.user_id is None:
                return
            button = ui.button("Erase", icon="delete_forever", on_click=lambda: self._erase(one), color=None)
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
        with self.table.place:
            async with self.frame.errors_told():
                done = await self.visitor.client.erase_user_data(user_id, app_id=self.app_id)
                await self.table.refresh()
                show_receipt(done.receipt, done.note)
