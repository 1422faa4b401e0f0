"""Answers that the loop thought out, and a person approves or rejects before they are sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from nicegui import ui

from afterthought_client import models
from loop.ui.frame import Frame, chat_address
from loop.ui.live import live
from loop.ui.tables import KeptInPlace, heading
from loop.ui.times import show_time
from loop.ui.turns import in_turn, press_once
from loop.ui.visitors import Visitor

_LISTED = 10
_EVENTS = ("answer.pending", "answer.sent", "answer.rejected")
_STATES = {"pending": "Waiting", "sent": "Sent", "rejected": "Rejected", "superseded": "Superseded"}


async def show_answers(frame: Frame, visitor: Visitor, app_id: str) -> None:
    """Show those that wait, and go on showing them."""
    answers = AnswerQueue(frame, visitor, app_id)
    answers.build()
    await answers.refresh()
    live(frame, visitor, app_id).on(_EVENTS, answers.refresh)


@dataclass
class AnswerQueue:
    """Answers of a state, newest first."""

    frame: Frame
    visitor: Visitor
    app_id: str
    pages: int = 1
    written: set[str] = field(default_factory=set)
    """Of the answers in which the visitor is writing, which must not be lost whatever others do."""

    def build(self) -> None:
        """Build the choice of a state and the place of the answers."""
        heading("Answers")
        self.state = ui.toggle(_STATES, value="pending", on_change=self._choose).props("no-caps outline")
        self.cards = KeptInPlace(ui.column().classes("w-full gap-3"))
        self.none = ui.label("No answer is here.").classes("muted")
        self.more = press_once(ui.button("More").props("flat dense no-caps"), self._more)

    @in_turn
    async def refresh(self) -> None:
        """Show the answers as they are now, as many pages as were asked for."""
        answers: list[models.AnswerAnswer] = []
        cursor = None
        for _ in range(self.pages):
            page = await self.visitor.client.list_answers(
                state=self.state.value, limit=_LISTED, cursor=cursor, app_id=self.app_id
            )
            answers += page.answers
            cursor = page.cursor
            if cursor is None:
                break
        self.cards.show(((one.answer_id, one, partial(self._card, one)) for one in answers), self.written)
        self.none.set_visibility(not self.cards.built)
        self.more.set_visibility(cursor is not None)

    async def _choose(self) -> None:
        self.pages = 1
        self.written.clear()
        await self._show()

    async def _show(self) -> None:
        async with self.frame.errors_told():
            await self.refresh()

    async def _more(self) -> None:
        self.pages += 1
        await self._show()

    def _card(self, one: models.AnswerAnswer) -> ui.element:
        with ui.column().classes("card gap-2").props("role=group") as card:
            card.props["aria-label"] = f"Answer in {one.conversation_id}"
            with ui.row().classes("items-center gap-3"):
                ui.link(one.conversation_id, chat_address(self.app_id, conversation=one.conversation_id))
                ui.label(one.model).classes("muted text-sm")
                show_time(one.created_at)
            if one.state != "pending":
                decided = f"{_STATES[one.state]} by {one.decided_by or '–'}"
                ui.label(f"{decided}: {one.reason}" if one.reason else decided).classes("said text-sm")
                return card

            def note_writing() -> None:
                self.written.add(one.answer_id)

            words = ui.textarea("Answer", value=one.content or "").props("outlined autogrow dir=auto").classes("w-full")
            words.on_value_change(note_writing)
            reason = ui.input("Why it is rejected").props("outlined dense").classes("w-full")
            reason.on_value_change(note_writing)

            async def approve() -> None:
                async with self.frame.errors_told():
                    changed = {} if words.value == one.content else {"content": words.value}
                    await self.visitor.client.approve_answer(one.answer_id, app_id=self.app_id, **changed)
                    self.written.discard(one.answer_id)
                    await self.refresh()

            async def reject() -> None:
                async with self.frame.errors_told():
                    why = {"reason": reason.value} if reason.value else {}
                    await self.visitor.client.reject_answer(one.answer_id, app_id=self.app_id, **why)
                    self.written.discard(one.answer_id)
                    await self.refresh()

            with ui.row():
                ui.button("Approve and send", icon="check", on_click=approve).props("unelevated no-caps color=cyan-9")
                ui.button("Reject", icon="close", on_click=reject).props("outline no-caps")
        return card
