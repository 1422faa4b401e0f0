"""The compositions of a project: read, handed out, composed again and removed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal

from nicegui import ui

from afterthought_client import models
from loop.ui.forms import Form, confirmed, dialog
from loop.ui.frame import PageView
from loop.ui.tables import FLAT, PagedCards, action, badge, heading, note, rendered_text
from loop.ui.visitors import notify_success
from loop.ui.wording import counted, minute

TakeOver = Callable[[models.CompositionAnswer], Awaitable[None]]
_Written = Literal["markdown", "jsonl"]
_SHOWN = 10
_READ_CHARACTERS = 20_000
_SMALL = f"{FLAT} size=sm"
_COLOURS = {"working": "cyan-9", "ready": "green-9", "failed": "red-9"}


class CompositionHistory:
    """The list, newest first; ``take_over`` puts what was asked for back into the builder."""

    def __init__(self, view: PageView, take_over: TakeOver) -> None:
        self._view, self._take_over = view, take_over
        self._project_id: str | None = None

    def build(self) -> None:
        """Build the place of the list."""
        heading("History")
        empty, more = "Nothing was composed yet.", "More compositions"
        self._cards = PagedCards("History", self._fetch, self._entry, empty=empty, more=more)

    async def _fetch(self, cursor: str | None) -> tuple[list[models.CompositionAnswer], str | None]:
        if self._project_id is None:
            return [], None
        page = await self._view.client.list_compositions(self._project_id, limit=_SHOWN, cursor=cursor)
        return page.compositions, page.cursor

    async def show(self, project_id: str | None) -> None:
        """Show a project's."""
        self._project_id = project_id
        async with self._view.show_errors():
            await self._cards.refresh(anew=True)

    async def refresh(self) -> None:
        """Show them as they are now, as many as were shown."""
        async with self._view.show_errors():
            await self._cards.refresh()

    def _entry(self, one: models.CompositionAnswer) -> None:
        with ui.column().classes("card gap-1").props("role=listitem"):
            with ui.row().classes("items-center gap-2 w-full"):
                ui.label(one.name).classes("font-medium").style("overflow-wrap: anywhere")
                badge(one.state, _COLOURS[one.state])
            tokens = f"{one.total_tokens:,} of {one.token_budget:,} tokens" if one.state == "ready" else "…"
            note(f"{tokens} · {counted(one.total_messages, 'message')} · {minute(one.created_at)}")
            parts = ", ".join(f"{part.session_id} {part.version_id}" for part in one.components)
            note(parts).classes("said")
            used = note(_use_of(one)).classes("said")
            if one.failure:
                ui.label(one.failure).classes("said refusal text-sm")
            acts: list[tuple[str, str, Callable[[], object]]] = []
            formats = one.request.get("outputFormat", "both") if one.state == "ready" else ""
            if formats in ("markdown", "both"):
                acts.append(("Read", "article", partial(self._read, one, used)))
                acts.append(("Markdown", "download", partial(self._download, one, "markdown", used)))
            if formats in ("jsonl", "both"):
                acts.append(("JSONL", "download", partial(self._download, one, "jsonl", used)))
            if self._view.may_write:
                acts.append(("Take over", "edit", partial(self._take_over, one)))
                if one.state == "ready":
                    acts.append(("Used in…", "how_to_reg", partial(self._ask_who_used, one)))
                if one.state != "working":
                    acts.append(("Compose again", "replay", partial(self._again, one)))
                acts.append(("Remove", "delete", partial(self._remove, one)))
            with ui.row().classes("gap-1"):
                for name, icon, act in acts:
                    action(name, act, _SMALL, icon=icon, of=one.name)

    async def _read(self, one: models.CompositionAnswer, used: ui.label) -> None:
        text = await self._view.client.show_composition_text(one.composition_id, "markdown")
        with dialog(one.name, is_wide=True), ui.column().classes("reader card").props("role=document"):
            rendered_text(text, _READ_CHARACTERS)
        await self._show_use(one, used)

    async def _download(self, one: models.CompositionAnswer, form: _Written, used: ui.label) -> None:
        text = await self._view.client.show_composition_text(one.composition_id, form)
        ui.download.content(text, f"{one.name}.{'md' if form == 'markdown' else 'jsonl'}")
        await self._show_use(one, used)

    async def _show_use(self, one: models.CompositionAnswer, used: ui.label) -> None:
        used.set_text(_use_of(await self._view.client.show_composition(one.composition_id)))

    async def _again(self, one: models.CompositionAnswer) -> None:
        await self._view.client.compose_again(one.composition_id)
        notify_success(f"{one.name} is composed again.")
        await self.refresh()

    def _ask_who_used(self, one: models.CompositionAnswer) -> None:
        async def note_use(session_id: str) -> None:
            await self._view.client.use_composition(one.composition_id, session_id or "")
            await self.refresh()

        with dialog(f"Who began with {one.name}?") as shown:
            session = ui.input("Session's id").props("autofocus").classes("w-full")
            name = f"used/{one.composition_id}"
            Form(self._view, name, {"session_id": session}, note_use, button="Note it", within=shown)

    async def _remove(self, one: models.CompositionAnswer) -> None:
        goes = ["Its documents go; its sessions and their versions stay."]

        async def remove() -> None:
            await self._view.client.remove_composition(one.composition_id)
            await self.refresh()

        await confirmed(f"Remove {one.name}?", goes, button="Remove", act=remove)


def _use_of(one: models.CompositionAnswer) -> str:
    used = ", ".join(one.used_in_sessions) or "none"
    return f"Handed out {counted(one.uses, 'time')} · used in sessions: {used}"
