"""Who changed what in an app: its memories, facts, profiles and settings of sessions.

Answers that the loop thought out, and a person approves or rejects before they are sent.

What ends an app's memories: purged, erased or uninstalled, each confirmed in writing; and the receipts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from nicegui import ui

from afterthought_client import models
from loop.ui.chat import text_of
from loop.ui.forms import confirmed, show_receipt
from loop.ui.frame import PageView, chat_address, in_turn, live
from loop.ui.head import add_style
from loop.ui.state import Draft, PageState
from loop.ui.tables import (
    OUTLINED,
    PRIMARY,
    Act,
    Cell,
    KeptInPlace,
    PagedTable,
    Row,
    TokenLabels,
    action,
    actor_cell,
    card,
    danger,
    heading,
    long_text,
    more_button,
    note,
    read_pages,
    rows_of,
    time_cell,
    token_labels,
)
from loop.ui.visitors import notify_success
from loop.ui.wording import counted, number, show_time, words_of

_SHOWN_CHARACTERS = 300
_CHOICE = "no-caps unelevated toggle-color=cyan-9"
_OF = {"memories": "Memories", "facts": "Facts", "profiles": "Profiles", "settings": "Settings of sessions"}
_HEAD = {
    "memories": ["When", "What", "Memory", "Who", "Why", "Before", "After"],
    "facts": ["When", "What", "Of", "Who", "Why", "Before", "After"],
    "profiles": ["When", "What", "Of", "Who", "Times"],
    "settings": ["When", "What", "Who", "Why", "Before", "After"],
}


class AdministrationState(PageState):
    """What the address says: which view, of what the changes, and of which state the answers."""

    view: str = "app"
    of: str = "memories"
    state: str = "pending"


@dataclass
class Audit:
    """Changes of one kind of thing, newest first."""

    view: PageView
    labels: TokenLabels = field(default_factory=dict)
    """Of the app's tokens."""

    async def build(self) -> None:
        """Build the choice and the place of the changes, and show the first."""
        heading("Who changed what")
        self.labels = await token_labels(self.view)
        chosen = self.view.address.of(AdministrationState).of
        self.of = ui.toggle(_OF, value=chosen if chosen in _OF else "memories", on_change=self.show)
        self.of.props(_CHOICE).classes("flex-wrap")
        self.found = ui.column().classes("card w-full min-w-0")
        await self.show()

    @in_turn
    async def show(self) -> None:
        """Show the newest changes of what is chosen."""
        self.view.address.show(of=self.of.value)
        client = self.view.client
        fetch = {
            "memories": rows_of(client.list_memory_changes, "changes", lambda one: self._row(one, str(one.memory_id))),
            "facts": rows_of(client.list_fact_changes, "changes", lambda one: self._row(one, _whose(one))),
            "profiles": rows_of(client.list_profile_changes, "audit", self._profile_row),
            "settings": rows_of(client.list_session_settings_changes, "changes", self._row),
        }[self.of.value]
        self.found.clear()
        with self.found:
            caption = f"Changes of {_OF[self.of.value].lower()}, newest first"
            await PagedTable(caption, _HEAD[self.of.value], fetch, empty="Nothing was changed.").refresh()

    def _row(self, one: Any, *about: str) -> Row:
        who, what = actor_cell(one.actor, self.labels), words_of(one.kind)
        return [time_cell(one.at), what, *about, who, one.reason, _in_short(one.before), _in_short(one.after)]

    def _profile_row(self, one: models.AuditLine) -> Row:
        who, what = actor_cell(one.actor, self.labels), words_of(one.kind)
        return [time_cell(one.last_at), what, _whose(one), who, number(one.count)]


def _whose(one: Any) -> str:
    return one.user_id or "nobody named"


def _in_short(value: Any) -> str:
    """Return a text, or fields and their values, not longer than a cell can be read."""
    if not value:
        return "–"
    text = value if isinstance(value, str) else ", ".join(f"{name}: {one}" for name, one in value.items())
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


_LISTED = 10
_STYLE = ".quoted { border-left: 3px solid var(--line); padding-left: .75rem; }"
_EVENTS = ("answer.pending", "answer.sent", "answer.rejected")
_STATES = {"pending": "Waiting", "sent": "Sent", "rejected": "Rejected", "superseded": "Superseded"}


async def show_answers(view: PageView) -> None:
    """Show those that wait, and go on showing them."""
    answers = AnswerQueue(view)
    answers.build()
    await answers.refresh()
    live(view).on(_EVENTS, answers.refresh)


@dataclass
class AnswerQueue:
    """Answers of a state, newest first."""

    view: PageView
    pages: int = 1
    questions: dict[str, str] = field(default_factory=dict)
    """What each answer that waits answers."""
    written: set[str] = field(default_factory=set)
    """Of the answers in which the visitor is writing, which must not be lost whatever others do."""

    def build(self) -> None:
        """Build the choice of a state and the place of the answers."""
        add_style(_STYLE)
        heading("Answers")
        chosen = self.view.address.of(AdministrationState).state
        self.state = ui.toggle(_STATES, value=chosen if chosen in _STATES else "pending", on_change=self._choose)
        self.state.props(_CHOICE)
        self.cards = KeptInPlace(ui.column().classes("w-full gap-3"))
        self.none = ui.label("No answer is here.").classes("muted")
        self.more = more_button(self._more)

    @in_turn
    async def refresh(self) -> None:
        """Show the answers as they are now, as many pages as were asked for."""
        fetch = rows_of(self.view.client.list_answers, "answers", limit=_LISTED, state=self.state.value)
        answers, cursor = await read_pages(fetch, self.pages)
        for one in answers:
            if one.state == "pending" and one.answer_id not in self.questions:
                list_messages, before = self.view.client.list_messages, one.answers_position + 1
                page = await list_messages(one.conversation_id, before=before, limit=1)
                self.questions[one.answer_id] = "\n".join(text_of(message) for message in page.messages)
        self.cards.show(((one.answer_id, one, partial(self._card, one)) for one in answers), self.written)
        self.none.set_visibility(not self.cards.built)
        self.more.set_visibility(cursor is not None)

    async def _choose(self) -> None:
        self.view.address.show(state=self.state.value)
        self.pages = 1
        self.written.clear()
        await self.refresh()

    async def _more(self) -> None:
        self.pages += 1
        await self.refresh()

    def _card(self, one: models.AnswerAnswer) -> ui.element:
        with ui.column().classes("card gap-2").props("role=group") as card:
            card.props["aria-label"] = f"Answer in {one.conversation_id}"
            with ui.row().classes("items-center gap-3"):
                ui.link(one.conversation_id, chat_address(self.view.app_id, conversation=one.conversation_id))
                note(one.model)
                show_time(one.created_at)
            if one.state != "pending":
                decided = f"{_STATES[one.state]} by {one.decided_by or '–'}"
                ui.label(f"{decided}: {one.reason}" if one.reason else decided).classes("said text-sm")
                return card

            note("It answers")
            with ui.column().classes("quoted w-full"):
                long_text(self.questions[one.answer_id])

            words = ui.textarea("Answer", value=one.content or "").props("dir=auto").classes("w-full")
            reason = ui.input("Why it is rejected").classes("w-full")
            for field in (words, reason):
                field.on_value_change(lambda: self.written.add(one.answer_id))
            draft = Draft(self.view, f"answer/{one.answer_id}", {"words": words, "reason": reason})

            async def decide(*, is_approved: bool) -> None:
                if is_approved:
                    changed = {} if words.value == one.content else {"content": words.value}
                    await self.view.client.approve_answer(one.answer_id, **changed)
                else:
                    why = {"reason": reason.value} if reason.value else {}
                    await self.view.client.reject_answer(one.answer_id, **why)
                self.written.discard(one.answer_id)
                draft.forget()
                await self.refresh()

            with ui.row():
                action("Approve and send", partial(decide, is_approved=True), PRIMARY, icon="check")
                action("Reject", partial(decide, is_approved=False), OUTLINED, icon="close")
        return card


_OF_ONE = ("conversation", "memory", "fact")


async def build_erasures(view: PageView) -> None:
    """Build what can be erased, and the receipts of what was."""
    labels = await token_labels(view)
    erasing = Erasing(view)
    offers: tuple[tuple[str, str, Callable[[], Awaitable[None]]], ...] = (
        ("Purge the memories", "All memories go with the text of their history. Conversations stay.", erasing.purge),
        ("Erase all data", "Everything the app ever held goes. The app stays, empty.", erasing.erase),
        ("Uninstall, and keep what it remembers", "Its tokens are revoked.", partial(erasing.uninstall, purge=False)),
        (
            "Uninstall, and purge the memories", "Its tokens are revoked; its memories go.",
            partial(erasing.uninstall, purge=True),
        ),
    )  # fmt: skip
    with card("Erase"):
        for name, explanation, act in offers:
            with ui.row().classes("items-center gap-3 w-full"):
                danger(name, act)
                note(explanation)
    fetch = rows_of(view.client.list_erasure_receipts, "erasures", lambda one: _row(one, labels), _LISTED)
    with card("Receipts"):
        head = ["What", "Of", "By", "When", "Rows", ""]
        erasing.receipts = PagedTable("Receipts, newest first", head, fetch, empty="Nothing was erased yet.")
    await erasing.receipts.refresh()


def _row(one: models.Receipt, labels: TokenLabels) -> list[Cell]:
    whose = one.user_id or (f"one {one.scope}" if one.scope in _OF_ONE else "all of the app")
    count = number(sum(one.erased.values()))

    show = Act("Show", lambda: show_receipt(one, labels=labels))
    return [one.scope, whose, actor_cell(one.actor, labels), time_cell(one.at), count, show]


@dataclass
class Erasing:
    """What is done once it was confirmed."""

    view: PageView
    receipts: PagedTable | None = None

    async def purge(self) -> None:
        """Purge the memories."""
        app = await self.view.client.show_app()
        goes = [f"{_memories(app)}, with the text of their history", "Memory work asked for before"]
        if await confirmed(f"Purge the memories of {app.name}?", goes, self.view.app_id, button="Purge"):
            done = await self.view.client.purge_memories()
            left = done.still_remembered
            summaries = counted(left.summaries, "summary", "summaries")
            stays = f"{counted(left.facts, 'fact')}, {counted(left.messages, 'message')}, {summaries}"
            await self._show(done.receipt, f"Still remembered: {stays}. {done.note or ''}".strip())

    async def erase(self) -> None:
        """Erase everything."""
        app = await self.view.client.show_app()
        stats = await self.view.client.show_retrieval_stats()
        conversations = counted(app.open_conversations + app.ended_conversations, "conversation")
        summaries = counted(stats.total_summaries, "summary", "summaries")
        goes = [
            f"{conversations} with {counted(stats.total_messages, 'message')} and {summaries}",
            f"{_memories(app)} and all facts, with their history",
            "Profiles, recorded sessions, jobs, vectors and events",
        ]
        if await confirmed(f"Erase all data of {app.name}?", goes, self.view.app_id):
            done = await self.view.client.erase_app_data()
            await self._show(done.receipt, done.note)

    async def uninstall(self, *, purge: bool) -> None:
        """Uninstall, and keep the memories or purge them."""
        app = await self.view.client.show_app()
        memories = _memories(app)
        goes = ["All its tokens", f"{memories}, with their history" if purge else f"Kept: {memories}"]
        if not await confirmed(f"Uninstall {app.name}?", goes, self.view.app_id, button="Uninstall"):
            return
        done = await self.view.client.uninstall_app(purge_memories=purge)
        notify_success(f"Uninstalled. Memories kept: {done.memories_kept:,}.")
        if done.receipt is not None:
            await self._show(done.receipt, done.note)

    async def _show(self, receipt: models.Receipt, note: str | None) -> None:
        if self.receipts is not None:
            await self.receipts.refresh()
        show_receipt(receipt, note)


def _memories(app: models.AppDetails) -> str:
    return counted(app.memories, "memory", "memories")
