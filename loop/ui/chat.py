"""Conversations: read, continued and ended, with what was recalled for each message beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Annotated, Any
from urllib.parse import quote
from uuid import uuid4

from fastapi import Query
from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from afterthought_client import models
from loop.ui.forms import choose_subject
from loop.ui.frame import SHOWN_ERRORS, Frame, PageView, in_turn, live, mark_current
from loop.ui.head import add_style
from loop.ui.memory_panel import MemoryPanel
from loop.ui.recall import RecallPanel
from loop.ui.state import Draft, PageState
from loop.ui.tables import FLAT, OUTLINED, PRIMARY, action, badge, heading, long_text, more_button, note, rendered_text
from loop.ui.visitors import FormError, notify_success
from loop.ui.wording import counted, day_group, local, long_day, message_of, minute

_LISTED = 30
_SHOWN = 50
_TITLE_CHARACTERS = 60
_SHOWN_CHARACTERS = 20_000
"""Of one message; the rest is shown when asked for."""
_GENERATED = "conv_"
"""How an id begins that the service gave."""
_EVENTS = frozenset({
    "answer.sent", "answer.pending", "answer.rejected", "conversation.ended", "conversation.snoozed",
    "conversation.woken", "job.finished",
})  # fmt: skip
_FIRST_WORDS = """What would you like to be remembered?
Say what you work on, what you like, who you are. Under the number of facts you see what was learned."""
_MEMORY = {"on": "Remembered", "read": "Recalled into, not remembered", "off": "No memory"}
_STYLE = """
.q-page-container:has(.chat) { height: 100dvh; }
.q-page:has(.chat) { height: 100%; min-height: 0 !important; }
.nicegui-content:has(.chat) { height: 100%; flex-wrap: nowrap; }
#main:has(.chat) { flex: 1 1 0; min-height: 0; flex-wrap: nowrap; }
.chat { display: grid; gap: 1rem; width: 100%; flex: 1 1 0; min-height: 0; grid-template-columns: minmax(0, 1fr);
  grid-template-rows: minmax(0, 1fr) auto; }
.chat > * { min-width: 0; min-height: 0; width: 100%; overflow-y: auto; flex-wrap: nowrap; }
.chat > .reading { overflow: hidden; }
.chat > .beside { max-height: 40dvh; border-top: 1px solid var(--line); padding-top: .5rem; }
.chat:not(.recalling) > .beside { display: none; }
@media (min-width: 700px) { .chat { grid-template-columns: 15rem minmax(0, 1fr); } .chat > .beside { grid-column: 2; }
  .chat > .list { grid-row: 1 / span 2; } .back { display: none; } }
@media (min-width: 1200px) { .chat { grid-template-columns: 15rem minmax(0, 1fr) 18rem; }
  .chat > .list { grid-row: 1; } .to-recalled { display: none; }
  .chat > .beside, .chat:not(.recalling) > .beside { display: flex; grid-column: 3; max-height: none; border: 0;
  padding: 0; } }
/* Where both are one below the other, what was recalled takes the place of where one writes. */
@media (max-width: 1199px) { .chat.recalling .foot { display: none; } }
@media (max-width: 699px) { .slim .block { display: none !important; } .slim .on-left { margin-right: 0; } }
@media (max-width: 699px) { .chat.reading > .list { display: none; } .chat:not(.reading) > .reading { display: none; } }
/* From its end: it opens there, stays there when something is said, and where one reads when earlier ones come. */
.messages { display: flex; flex-direction: column-reverse; flex: 1 1 0; min-height: 0; overflow-y: auto; width: 100%; }
/* What goes up when earlier messages come: the browser would keep that in view, and not what is read. */
.messages .q-btn, .day { overflow-anchor: none; }
.bubble { border: 1px solid var(--line); border-radius: .75rem; padding: .5rem .75rem; max-width: min(46rem, 92%); }
.bubble.user { align-self: flex-end; background: rgb(8 145 178 / .12); }
.bubble.system, .bubble.tool { border-style: dashed; }
.bubble:target, .bubble.sought { outline: 2px solid #0891b2; outline-offset: -2px; }
.day { align-self: center; }
.remember { position: fixed; z-index: 6000; display: none; }
"""
# Offers to remember what is selected of one message. A triple click ends in the next one: what lies there is cut off.
_SCRIPT = """
const offerToRemember = () => {
  const offer = document.querySelector('.remember'), chosen = document.getSelection();
  const bubble = chosen.rangeCount && chosen.getRangeAt(0).startContainer.parentElement?.closest('.bubble');
  if (!offer || !bubble || chosen.isCollapsed) {
    if (offer) offer.style.display = 'none';
    return;
  }
  const range = chosen.getRangeAt(0).cloneRange();
  if (!bubble.contains(range.endContainer)) range.setEndAfter(bubble.lastChild);
  const place = range.getBoundingClientRect();
  window.chosenText = range.toString().trim().slice(0, 2000);
  offer.style.display = 'block';
  offer.style.top = `${Math.min(place.bottom + 6, window.innerHeight - 40)}px`;
  offer.style.left = `${Math.max(8, Math.min(place.left, window.innerWidth - 150))}px`;
};
document.addEventListener('selectionchange', offerToRemember);
// Also of a pane: it stays at what is selected.
document.addEventListener('scroll', offerToRemember, true);
"""


class ChatState(PageState):
    """What the address says: a conversation, and one of its messages that is sought."""

    conversation: str = ""
    message: str = ""


def register(frame: Frame) -> None:
    """Register the page."""

    @frame.page("/chat/{app_id}", "Chat")
    async def show(view: PageView, app_id: str, state: Annotated[ChatState, Query()]) -> None:
        add_style(_STYLE)
        with ui.row().classes("w-full items-center gap-3"):
            user_id = await choose_subject(view, state)
            ui.space()
            MemoryPanel(view, user_id)
        chat = ChatPage(view, user_id, state, await view.client.show_app())
        await chat.build()
        if state.conversation:
            async with view.show_errors():
                await chat.open(state.conversation, around=state.message or None)


@dataclass
class ChatPage:
    """The conversations of an app's user, and one of them that is open."""

    view: PageView
    user_id: str | None
    """Whose conversations are listed; None: everybody's, empty: those that name nobody."""
    state: ChatState
    app: models.AppDetails
    conversation: models.ConversationDetails | None = None
    first_position: int = 0
    bubbles: dict[str, ui.column] = field(default_factory=dict)
    """Messages that are shown, by their ids."""
    days: dict[date, ui.label] = field(default_factory=dict)
    """What stands above the first message of each day."""
    entries: dict[str, ui.button] = field(default_factory=dict)
    status_labels: dict[str, ui.label] = field(default_factory=dict)
    """What the list says of each conversation."""
    cursor: str | None = None
    group: str = ""
    """The days of the last conversation that is listed."""

    async def build(self) -> None:
        """Build the list and the place of what is open."""
        with ui.element().classes("chat") as self.whole:
            with ui.column().classes("list gap-2"):
                if self.view.may_write:
                    new = ui.button("New conversation", icon="add").props("outline").classes("w-full")
                    # A double click begins one.
                    new.on("click", self.begin, throttle=1.0, trailing_events=False)
                    if not self.user_id:
                        note("Of nobody in particular: choose whose memory it is for.")
                self.list = ui.column().classes("w-full gap-1").props("role=list aria-label=Conversations")
                self.more = more_button(self.list_more)
            with ui.column().classes("reading gap-2"):
                with ui.row().classes("w-full items-start no-wrap gap-2"):
                    back = ui.button(icon="arrow_back", on_click=self.close)
                    back.props("flat dense round aria-label='All conversations'").classes("back")
                    self.head = ui.row().classes("grow min-w-0 items-center gap-2")
                pane = ui.element().classes("messages").props("tabindex=0 role=region aria-label=Conversation")
                with pane, ui.column().classes("w-full gap-2 no-wrap"):
                    self.earlier = action("Earlier messages", self.show_earlier, FLAT, icon="expand_less")
                    self.log = ui.column().classes("w-full gap-2").props("role=log aria-label=Messages")
                self.nothing = ui.column().classes("w-full items-center gap-2 py-8 text-center")
                self.foot = ui.column().classes("foot w-full gap-2")
            self.recall = RecallPanel(self.view)
        action("Remember", self.remember, PRIMARY, icon="psychology").classes("remember").props("size=sm")
        ui.run_javascript(_SCRIPT)
        self.earlier.set_visibility(False)
        self._welcome("Choose a conversation, or begin one.")
        await self.list_more()
        live(self.view).on(_EVENTS, self._refresh)

    @in_turn
    async def list_more(self) -> None:
        """Show the next page of conversations."""
        await self._list()

    @in_turn
    async def _list_anew(self) -> None:
        self.cursor, self.group = None, ""
        self.list.clear()
        self.entries.clear()
        await self._list()

    async def _list(self) -> None:
        async with self.view.show_errors():
            page = await self.view.client.list_conversations(user_id=self.user_id, limit=_LISTED, cursor=self.cursor)
            self.cursor = page.cursor
            self.more.set_visibility(page.cursor is not None)
            with self.list:
                for one in page.conversations:
                    if (group := day_group(one.created_at)) != self.group:
                        self.group = group
                        note(group).classes("pt-2 pl-2").props("role=listitem")
                    self._entry(one)
            if not page.conversations and not self.list.default_slot.children:
                with self.list:
                    ui.label("No conversations yet.").classes("muted").props("role=listitem")

    def _entry(self, one: models.ConversationAnswer) -> None:
        entry = ui.button(on_click=lambda: self.open(one.conversation_id)).classes("w-full font-normal")
        entry.props("flat align=left role=listitem text-color='' color=''")
        with entry, ui.column().classes("gap-0 w-full min-w-0 items-start"):
            ui.label(_title_of(one)).classes("ellipsis w-full text-left")
            self.status_labels[one.conversation_id] = ui.label(_status_of(one)).classes("muted text-xs text-left")
        self.entries[one.conversation_id] = entry
        self._mark_current()

    def _mark_current(self) -> None:
        """Show which conversation of the list is open."""
        for name, entry in self.entries.items():
            is_current = self.conversation is not None and name == self.conversation.conversation_id
            mark_current(entry, is_current=is_current)

    async def begin(self) -> None:
        """Open a conversation of the user's who is looked at."""
        begun = await self.view.client.start_conversation(user_id=self.user_id or None)
        await self._list_anew()
        await self.open(begun.conversation_id)

    @in_turn
    async def open(self, conversation_id: str, around: str | None = None) -> None:
        """Show a conversation: its last messages, or those around one."""
        client = self.view.client
        found = await client.show_conversation(conversation_id)
        if self.state.user is not None and (found.user_id or "") != self.state.user:
            whose = f"{found.user_id}'s" if found.user_id else "nobody's who is named"
            raise FormError(f"This conversation is {whose}: choose whose memory it is first.")
        self.conversation = found
        self.whole.classes("reading", remove="recalling")
        self.log.clear()
        self.bubbles.clear()
        self.days.clear()
        self.recall.clear()
        if around:
            page = await client.list_messages(conversation_id, around=around, limit=_SHOWN)
        else:
            page = await client.list_messages(conversation_id, before=max(found.message_count, 1), limit=_SHOWN)
        self.earlier.set_visibility(False)
        self._show_messages(page.messages, sought=around)
        self._build_head()
        self._build_foot()
        self._mark_current()
        self.view.address.show(conversation=conversation_id, message=around or "")

    def close(self) -> None:
        """Go back to the list, where there is no room for both."""
        self.whole.classes(remove="reading")
        self.view.address.show(conversation="", message="")

    @in_turn
    async def show_earlier(self) -> None:
        """Show what was said before the first message that is shown."""
        assert self.conversation is not None
        name = self.conversation.conversation_id
        page = await self.view.client.list_messages(name, before=self.first_position, limit=_SHOWN)
        self._show_messages(page.messages, at_the_top=True)

    def _show_messages(
        self, messages: list[dict[str, Any]], *, at_the_top: bool = False, sought: str | None = None
    ) -> None:
        new = [one for one in messages if one["messageId"] not in self.bubbles]
        if new and (at_the_top or not self.bubbles):
            self.first_position = new[0]["position"]
            self.earlier.set_visibility(self.first_position > 0)
        index = 0 if at_the_top else len(self.log.default_slot.children)
        with self.log:
            for one in new:
                its_day = local(datetime.fromisoformat(one["createdAt"])).date()
                if its_day not in self.days:
                    self.days[its_day] = note(long_day(its_day)).classes("day")
                    self.days[its_day].move(target_index=index)
                    index += 1
                elif at_the_top and self.log.default_slot.children[index] is self.days[its_day]:
                    # Of the first day that was shown there are earlier messages: it begins with them.
                    index += 1
                bubble = self.bubbles[one["messageId"]] = _bubble(one)
                bubble.move(target_index=index)
                index += 1
                if one["messageId"] == sought:
                    bubble.classes("sought")
        self._welcome("" if self.bubbles else _FIRST_WORDS)
        if sought:
            ui.run_javascript("document.querySelector('.bubble.sought')?.scrollIntoView({block: 'center'})")

    def _welcome(self, words: str) -> None:
        self.nothing.clear()
        self.nothing.set_visibility(bool(words))
        with self.nothing:
            ui.icon("forum", size="3rem").classes("muted opacity-60").props("aria-hidden=true")
            for one in words.splitlines():
                ui.label(one).classes("muted max-w-md")

    def _build_head(self) -> None:
        conversation = self.conversation
        assert conversation is not None
        self.head.clear()
        with self.head:
            title = heading(_title_of(conversation)).classes("text-lg ellipsis max-w-full")
            title.tooltip(conversation.conversation_id)
            badge(conversation.state, "cyan-9" if conversation.state == "open" else "grey-8")
            ui.label(conversation.user_id or "nobody named").classes("muted")
            ui.space()
            recalled = action("Recalled", lambda: self.whole.classes(toggle="recalling"), FLAT, icon="manage_search")
            recalled.props("aria-label=Recalled").classes("to-recalled slim")
            if not self.view.may_write:
                return
            if conversation.state == "ended":
                action("Summarise now", self.summarise, FLAT, icon="summarize")
                return
            memory = ui.select(_MEMORY, value=conversation.memory, label="Memory", on_change=self._change_memory)
            memory.classes("w-40")
            slim = action("Summarise now", self.summarise, FLAT, icon="summarize").classes("slim")
            slim.props("aria-label='Summarise now'")
            action("End", self.end, OUTLINED, icon="done_all").props("dense").classes("px-3")

    def _build_foot(self) -> None:
        conversation = self.conversation
        assert conversation is not None
        self.foot.clear()
        with self.foot:
            if conversation.state == "ended":
                note("Ended. What was said here is thought over; what is found worth it is remembered.")
                return
            self.status = ui.row().classes("items-center gap-2").props("role=status")
            self._show_status()
            if not self.view.may_write:
                return
            self.unsent = ui.label().classes("said refusal").props("role=alert")
            self.unsent.set_visibility(False)
            hint = "Enter sends, Shift+Enter begins a new line"
            field = ui.textarea("Message").props(f"rows=2 hint='{hint}'").classes("w-full")
            draft = Draft(self.view, f"message/{conversation.conversation_id}", {"message": field}, says_so=False)

            async def send() -> None:
                if (text := field.value or "").strip():
                    # Emptied before anything is waited for: a second Enter finds nothing to send.
                    field.value = ""
                    if await self.send(text):
                        draft.forget_text("message", text)
                    elif not field.is_deleted:
                        # Before what was written meanwhile.
                        field.value = "\n".join(filter(None, [text, field.value]))

            field.on("keydown.enter.exact.prevent", send)
            with field.add_slot("append"):
                ui.button(icon="send", on_click=send).props("unelevated dense color=cyan-9 aria-label=Send")

    def _show_status(self) -> None:
        """Say who will answer, and what is being done about it."""
        conversation = self.conversation
        assert conversation is not None
        self.status.clear()
        with self.status:
            if conversation.pending_answer_id:
                note("An answer waits to be approved.")
                if self.view.visitor.is_admin:
                    address = f"/administration/{quote(self.view.app_id, safe='')}?view=answers"
                    ui.link("Look at it", address).classes("text-sm")
            elif self.app.loop_answers and conversation.unanswered_since is not None:
                ui.spinner("dots").props("aria-hidden=true")
                approved = "; a person approves it before you see it" if self.app.approve_answers else ""
                note(f"Afterthought is thinking about an answer{approved}.")
            elif self.app.answered_by == "app":
                note("Afterthought does not answer in this app: the app itself does, if anybody.")
            elif not self.app.loop_answers:
                note("Nobody answers, as no model is set. It is a notebook: what you write is kept and remembered.")
            elif self.app.approve_answers:
                note("Afterthought answers, once a person has approved each answer.")
            else:
                note("Afterthought answers.")

    async def send(self, text: str) -> bool:
        """Say something, show it at once, and then what is recalled for it; return whether it was taken."""
        conversation = self.conversation
        assert conversation is not None
        name, unsent = conversation.conversation_id, self.unsent
        stored = {"role": "user", "content": text, "messageId": f"page_{uuid4().hex}"}
        sent = {**stored, "position": conversation.message_count, "createdAt": datetime.now(UTC).isoformat()}
        unsent.set_visibility(False)
        self._show_messages([sent])
        ui.run_javascript("document.querySelector('.messages').scrollTop = 0")
        try:
            await self.view.client.add_messages(name, [stored])
        except SHOWN_ERRORS as error:
            # Another conversation was opened meanwhile, or the token is not accepted any more.
            if unsent.is_deleted or await self.view.visitors.has_ended(error):
                raise
            self.bubbles.pop(stored["messageId"]).delete()
            unsent.set_text(f"Not sent: {message_of(error)} It is in the box again.")
            unsent.set_visibility(True)
            return False
        await self._refresh()
        # Only now, and without an end to the sending: that does not depend on what can be recalled.
        if self.conversation is not None and self.conversation.conversation_id == name:
            async with self.view.show_errors():
                await self.recall.show(self.conversation, text)
        return True

    @in_turn
    async def _refresh(self) -> None:
        if self.conversation is None:
            return
        name = self.conversation.conversation_id
        found = await self.view.client.show_conversation(name)
        page = await self.view.client.list_messages(name, before=max(found.message_count, 1), limit=_SHOWN)
        before, self.conversation = self.conversation, found
        if name in self.status_labels:
            self.status_labels[name].set_text(_status_of(found))
        self._show_messages(page.messages)
        if found.state != before.state:
            self._build_head()
            # What is being written stays where nobody ended it.
            if "ended" in (found.state, before.state):
                self._build_foot()
        if found.state != "ended":
            self._show_status()

    async def _change_memory(self, event: ValueChangeEventArguments[Any]) -> None:
        assert self.conversation is not None
        await self.view.client.change_conversation(self.conversation.conversation_id, memory=event.value)
        await self._refresh()

    async def summarise(self) -> None:
        """Ask for a summary of what was said since the last; Memory shows it."""
        assert self.conversation is not None
        await self.view.client.make_summary(self.conversation.conversation_id)
        notify_success("It is being summarised; Memory shows it once it is there.")

    async def end(self) -> None:
        """End what is open."""
        assert self.conversation is not None
        await self.view.client.end_conversation(self.conversation.conversation_id)
        await self._refresh()

    async def remember(self) -> None:
        """Write what is selected down as a fact of the conversation's user."""
        text = await ui.run_javascript("window.chosenText || ''")
        if not text or self.conversation is None:
            return
        user_id = self.conversation.user_id
        kept = await self.view.client.write_fact(text, user_id=user_id)
        notify_success(f"Remembered as {kept.category}.")
        ui.run_javascript("document.getSelection().removeAllRanges()")


def _title_of(one: models.ConversationAnswer | models.ConversationDetails) -> str:
    """Return what a conversation is called: by its app, or by when it began, where nobody gave it a name or an id."""
    if title := one.metadata.get("title"):
        return str(title)[:_TITLE_CHARACTERS]
    is_given = not one.conversation_id.startswith(_GENERATED)
    return one.conversation_id if is_given else f"Of {minute(one.created_at)}"


def _status_of(one: models.ConversationAnswer | models.ConversationDetails) -> str:
    return f"{one.user_id or 'nobody named'} · {counted(one.message_count, 'message')} · {one.state}"


def _bubble(message: dict[str, Any]) -> ui.column:
    role = message["role"]
    with ui.column().classes(f"bubble gap-1 {role}") as bubble:
        name = message.get("name") or {"user": "User", "assistant": "Assistant"}.get(role, role.capitalize())
        with ui.row().classes("items-center gap-2"):
            ui.label(str(name)).classes("text-xs font-medium")
            at = datetime.fromisoformat(message["createdAt"])
            ui.label(f"{local(at):%H:%M}").classes("muted text-xs").tooltip(minute(at))
        show = rendered_text if role == "assistant" else long_text
        show(text_of(message), _SHOWN_CHARACTERS)
        for call in message.get("tool_calls") or ():
            note(f"calls {call.get('function', call).get('name', '?')}")
    return bubble


def text_of(message: dict[str, Any]) -> str:
    """Return what a message says, its parts that are no text by what they are."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = [
        one if isinstance(one, str) else one.get("text") or f"[{one.get('type', 'part')}]" for one in content or ()
    ]
    return "\n".join(parts)
