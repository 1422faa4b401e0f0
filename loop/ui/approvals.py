"""Answers that the loop thought out, and a person approves or rejects before they are sent."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from nicegui import ui

from afterthought_client import models
from loop.ui.frame import Frame
from loop.ui.live import live
from loop.ui.tables import heading
from loop.ui.times import show_time
from loop.ui.turns import in_turn
from loop.ui.visitors import Visitor

_LISTED = 10
_EVENTS = ("answer.pending", "answer.sent", "answer.rejected")
_STATES = {"pending": "Waiting", "sent": "Sent", "rejected": "Rejected", "superseded": "Superseded"}


async def show_answers(frame: Frame, visitor: Visitor, app_id: str) -> None:
    """Show those that wait, and go on showing them."""
    answers = AnswerQueue(frame, visitor, app_id)
    answers.build()
    await answers.refresh()
    live(frame, visitor, app_id).on(_EVENTS, answers.refresh_unless_written)


@dataclass
class AnswerQueue:
    """Answers of a state, newest first."""

    frame: Frame
    visitor: Visitor
    app_id: str
    cursor: str | None = None
    written: bool = False
    """Whether the visitor is changing the words of one, which must not be lost."""

    def build(self) -> None:
        """Build the choice of a state and the place of the answers."""
        heading("Answers")
        self.state = ui.toggle(_STATES, value="pending", on_change=self._show).props("no-caps outline")
        self.list = ui.column().classes("w-full gap-3")
        self.more = ui.button("More", on_click=self._more).props("flat dense no-caps")

    @in_turn
    async def refresh(self) -> None:
        """Show the first answers anew."""
        self.cursor, self.written = None, False
        self.list.clear()
        await self._add()

    async def refresh_unless_written(self) -> None:
        """Show what others did, unless that would lose what is being written."""
        if not self.written:
            await self.refresh()

    async def _add(self) -> None:
        page = await self.visitor.client.list_answers(
            state=self.state.value, limit=_LISTED, cursor=self.cursor, app_id=self.app_id
        )
        self.cursor = page.cursor
        self.more.set_visibility(page.cursor is not None)
        with self.list:
            for one in page.answers:
                self._card(one)
            if not self.list.default_slot.children:
                ui.label("No answer is here.").classes("muted")

    async def _show(self) -> None:
        async with self.frame.errors_told():
            await self.refresh()

    @in_turn
    async def _more(self) -> None:
        async with self.frame.errors_told():
            await self._add()

    def _card(self, one: models.AnswerAnswer) -> None:
        with ui.column().classes("card gap-2").props("role=group") as card:
            card.props["aria-label"] = f"Answer in {one.conversation_id}"
            with ui.row().classes("items-center gap-3"):
                address = f"/chat/{quote(self.app_id, safe='')}?conversation={quote(one.conversation_id, safe='')}"
                ui.link(one.conversation_id, address)
                ui.label(one.model).classes("muted text-sm")
                show_time(one.created_at)
            if one.state != "pending":
                decided = f"{_STATES[one.state]} by {one.decided_by or '–'}"
                ui.label(f"{decided}: {one.reason}" if one.reason else decided).classes("said text-sm")
                return
            words = ui.textarea("Answer", value=one.content or "").props("outlined autogrow dir=auto").classes("w-full")
            words.on_value_change(self._note_writing)
            reason = ui.input("Why it is rejected").props("outlined dense").classes("w-full")
            reason.on_value_change(self._note_writing)

            async def approve() -> None:
                async with self.frame.errors_told():
                    changed = {} if words.value == one.content else {"content": words.value}
                    await self.visitor.client.approve_answer(one.answer_id, app_id=self.app_id, **changed)
                    await self.refresh()

            async def reject() -> None:
                async with self.frame.errors_told():
                    why = {"reason": reason.value} if reason.value else {}
                    await self.visitor.client.reject_answer(one.answer_id, app_id=self.app_id, **why)
                    await self.refresh()

            with ui.row():
                ui.button("Approve and send", icon="check", on_click=approve).props("unelevated no-caps color=cyan-9")
                ui.button("Reject", icon="close", on_click=reject).props("outline no-caps")

    def _note_writing(self) -> None:
        self.written = True
