"""Who changed what in an app: its memories, facts, profiles and settings of sessions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nicegui import ui

from loop.ui.actors import Labels, actor_cell, token_labels
from loop.ui.frame import Frame
from loop.ui.tables import Cell, PagedTable, Row, heading, number
from loop.ui.times import show_time
from loop.ui.turns import in_turn
from loop.ui.visitors import Visitor

_LISTED = 25
_SHOWN_CHARACTERS = 300
_OF = {"memories": "Memories", "facts": "Facts", "profiles": "Profiles", "settings": "Settings of sessions"}
_HEAD = {
    "memories": ["When", "What", "Memory", "Who", "Why", "Before", "After"],
    "facts": ["When", "What", "Of", "Who", "Why", "Before", "After"],
    "profiles": ["When", "What", "Of", "Who", "Times"],
    "settings": ["When", "What", "Who", "Why", "Before", "After"],
}
Rows = tuple[list[Row], str | None]


async def show_audit(frame: Frame, visitor: Visitor, app_id: str) -> None:
    """Show the newest changes of memories; others can be chosen."""
    await Audit(frame, visitor, app_id).build()


@dataclass
class Audit:
    """Changes of one kind of thing, newest first."""

    frame: Frame
    visitor: Visitor
    app_id: str
    labels: Labels = field(default_factory=dict)
    """Of the app's tokens."""

    async def build(self) -> None:
        """Build the choice and the place of the changes, and show the first."""
        heading("Who changed what")
        self.labels = await token_labels(self.visitor, self.app_id)
        self.of = ui.toggle(_OF, value="memories", on_change=self._choose).props("no-caps outline").classes("flex-wrap")
        self.found = ui.column().classes("card w-full min-w-0")
        await self.show()

    async def _choose(self) -> None:
        async with self.frame.errors_told():
            await self.show()

    @in_turn
    async def show(self) -> None:
        """Show the newest changes of what is chosen."""
        read = {
            "memories": self._memories, "facts": self._facts, "profiles": self._profiles, "settings": self._settings,
        }  # fmt: skip
        caption = f"Changes of {_OF[self.of.value].lower()}, newest first"
        self.found.clear()
        with self.found:
            table = PagedTable(
                self.frame, caption, _HEAD[self.of.value], read[self.of.value], empty="Nothing was changed."
            )
            await table.refresh()

    def _who(self, actor: str) -> Cell:
        return actor_cell(actor, self.labels)

    async def _memories(self, cursor: str | None) -> Rows:
        page = await self.visitor.client.list_memory_changes(limit=_LISTED, cursor=cursor, app_id=self.app_id)
        rows: list[Row] = [
            [_at(one.at), one.kind, str(one.memory_id), self._who(one.actor), one.reason, _in_short(one.before),
             _in_short(one.after)]
            for one in page.changes
        ]  # fmt: skip
        return rows, page.cursor

    async def _facts(self, cursor: str | None) -> Rows:
        page = await self.visitor.client.list_fact_changes(limit=_LISTED, cursor=cursor, app_id=self.app_id)
        rows: list[Row] = [
            [_at(one.at), one.kind, one.user_id or "nobody named", self._who(one.actor), one.reason,
             _in_short(one.before), _in_short(one.after)]
            for one in page.changes
        ]  # fmt: skip
        return rows, page.cursor

    async def _profiles(self, cursor: str | None) -> Rows:
        page = await self.visitor.client.list_profile_changes(limit=_LISTED, cursor=cursor, app_id=self.app_id)
        rows: list[Row] = [
            [_at(one.last_at), one.kind, one.user_id or "nobody named", self._who(one.actor), number(one.count)]
            for one in page.audit
        ]
        return rows, page.cursor

    async def _settings(self, cursor: str | None) -> Rows:
        page = await self.visitor.client.list_session_settings_changes(limit=_LISTED, cursor=cursor, app_id=self.app_id)
        rows: list[Row] = [
            [_at(one.at), one.kind, self._who(one.actor), one.reason, _in_short(one.before), _in_short(one.after)]
            for one in page.changes
        ]
        return rows, page.cursor


def _at(at: Any) -> Callable[[], object]:
    return lambda: show_time(at)


def _in_short(value: Any) -> str:
    """Return a text, or fields and their values, not longer than a cell can be read."""
    if not value:
        return "–"
    text = value if isinstance(value, str) else ", ".join(f"{name}: {one}" for name, one in value.items())
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
