"""An app's tokens: issued, shown once, listed, revoked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from nicegui import ui

from afterthought_client import models
from loop.ui.confirmation import confirmed
from loop.ui.frame import Frame
from loop.ui.notices import tell_success
from loop.ui.tables import PagedTable, Row, heading
from loop.ui.times import show_time
from loop.ui.visitors import Visitor

Grant = Literal["tokens", "uninstall", "answers"]
_LISTED = 25
_GRANTS: dict[Grant, str] = {"tokens": "issue tokens", "uninstall": "uninstall", "answers": "choose who answers"}


async def show_tokens(frame: Frame, visitor: Visitor, app_id: str) -> None:
    """Show them."""
    await TokenTable(frame, visitor, app_id).build()


@dataclass
class TokenTable:
    """The tokens of an app, the oldest first."""

    frame: Frame
    visitor: Visitor
    app_id: str
    granted: dict[Grant, ui.checkbox] = field(default_factory=dict)

    async def build(self) -> None:
        """Build the form and the table."""
        with ui.column().classes("card gap-3"):
            heading("Issue a token")
            with ui.row().classes("items-center gap-3 w-full"):
                self.label = ui.input("What it is for").props("outlined dense maxlength=200").classes("w-64")
                self.label.on("keydown.enter", self._issue)
                for grant, told in _GRANTS.items():
                    self.granted[grant] = ui.checkbox(f"May {told}").props("dense")
                ui.button("Issue", icon="key", on_click=self._issue).props("unelevated no-caps color=cyan-9")
        with ui.column().classes("card gap-2 min-w-0"):
            heading("Tokens")
            head = ["For", "Number", "May also", "Issued", "By", ""]
            self.table = PagedTable(
                self.frame, "Tokens, the oldest first", head, self._fetch, empty="The app has no token."
            )
        await self.table.refresh()

    async def _fetch(self, cursor: str | None) -> tuple[list[Row], str | None]:
        page = await self.visitor.client.list_tokens(limit=_LISTED, cursor=cursor, app_id=self.app_id)
        return [self._row(one) for one in page.tokens], page.cursor

    def _row(self, one: models.TokenAnswer) -> Row:
        def end() -> None:
            if one.revoked_at is not None:
                show_time(one.revoked_at, "revoked")
                return
            button = ui.button("Revoke", icon="block", on_click=lambda: self._revoke(one))
            button.props("outline no-caps dense").classes("px-2")
            button.props["aria-label"] = f"Revoke {one.label or one.token_id}"

        may = ", ".join(_GRANTS[grant] for grant in one.grants) or "–"
        by = one.parent_id or "an admin"
        return [one.label or "–", one.token_id, may, lambda: show_time(one.created_at), by, end]

    async def _issue(self) -> None:
        async with self.frame.errors_told():
            grants = [grant for grant, box in self.granted.items() if box.value]
            issued = await self.visitor.client.issue_token(
                label=self.label.value or "", grants=grants, app_id=self.app_id
            )
            self.label.value = ""
            for box in self.granted.values():
                box.value = False
            await self.table.refresh()
            _show_once(issued.token or "")

    async def _revoke(self, one: models.TokenAnswer) -> None:
        goes = [
            "Whoever uses it is refused from now on, and so is whoever uses a token that was issued with it.",
            "It cannot be brought back.",
        ]
        if await confirmed(f"Revoke {one.label or one.token_id}?", goes, button="Revoke"):
            async with self.frame.errors_told():
                await self.visitor.client.revoke_token(one.token_id, app_id=self.app_id)
                await self.table.refresh()


def _show_once(token: str) -> None:
    dialog = ui.dialog(value=True).props("persistent aria-label='New token'")
    with dialog, ui.card().classes("w-full max-w-lg gap-3"):
        ui.label("New token").classes("text-lg font-semibold").props("role=heading aria-level=2")
        ui.label("It is shown this once, and kept nowhere. Copy it now.")
        field = ui.input("Token", value=token).props("outlined readonly").classes("w-full font-mono")

        async def copy() -> None:
            ui.clipboard.write(token)
            tell_success("Copied.")

        def close() -> None:
            field.value = ""
            dialog.close()
            dialog.clear()

        with ui.row().classes("w-full justify-end"):
            ui.button("Copy", icon="content_copy", on_click=copy).props("outline no-caps autofocus")
            ui.button("Done", on_click=close).props("unelevated no-caps color=cyan-9")
