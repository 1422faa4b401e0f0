"""Conversations: read, continued and ended, with what was recalled for each turn beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Query
from nicegui import ui

from afterthought_client import models
from loop.ui.choosers import choose_subject
from loop.ui.frame import Frame, PageView, in_turn, live, mark_current, press_once
from loop.ui.memory_panel import MemoryPanel
from loop.ui.session_view import long_text
from loop.ui.state import Draft, PageState
from loop.ui.tables import FLAT, PRIMARY, action, badge, counted, note
from loop.ui.visitors import FormError, notify_success

_LISTED = 30
_SHOWN = 50
_TITLE_CHARACTERS = 60
_SHOWN_CHARACTERS = 20_000
"""Of one message; the rest is shown when asked for."""
_WINDOW_TOKENS = 8192
_MOST_LISTED = 200
_GENERATED = "conv_"
"""How an id begins that the service gave."""
_EVENTS = frozenset({"answer.sent", "conversation.ended", "conversation.snoozed", "conversation.woken", "job.finished"})
_SIGNALS = {
    "dense": "meaning", "window": "what was said around it", "words": "words", "window_words": "words nearby",
    "author": "who said it", "date": "when it was said", "coverage": "rare words", "when": "words of time",
    "question": "is a question",
}  # fmt: skip
_STYLE = """
.chat { display: grid; gap: 1rem; width: 100%; grid-template-columns: minmax(0, 1fr); align-items: start; }
.chat > * { min-width: 0; width: 100%; }
@media (min-width: 700px) { .chat { grid-template-columns: 14rem minmax(0, 1fr); } .chat > .beside { grid-column: 2; }
  .back { display: none; } }
@media (min-width: 1200px) { .chat { grid-template-columns: 14rem minmax(0, 1fr) 17rem; }
  .chat > .beside { grid-column: 3; } }
@media (max-width: 699px) { .chat.reading > .list { display: none; } .chat:not(.reading) > .reading { display: none; } }
.bubble { border: 1px solid var(--line); border-radius: .75rem; padding: .5rem .75rem; max-width: 46rem; }
.bubble.user { align-self: flex-end; background: rgb(8 145 178 / .12); }
.bubble.system, .bubble.tool { border-style: dashed; }
.bubble:target, .bubble.sought { outline: 2px solid #0891b2; }
.remember { position: absolute; z-index: 6000; display: none; }
"""
# Offers to remember what is selected of one message. A triple click ends in the next one: what lies there is cut off.
_SCRIPT = """
document.addEventListener('selectionchange', () => {
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
  offer.style.top = `${place.bottom + window.scrollY + 6}px`;
  offer.style.left = `${Math.max(8, Math.min(place.left, window.innerWidth - 150))}px`;
});
"""


class ChatState(PageState):
    """What the address says: a conversation, and one of its messages that is sought."""

    conversation: str = ""
    message: str = ""


def register(frame: Frame) -> None:
    """Register the page."""

    @frame.page("/chat/{app_id}", "Chat")
    async def show(view: PageView, app_id: str, state: Annotated[ChatState, Query()]) -> None:
        ui.add_css(_STYLE)
        with ui.row().classes("w-full items-center gap-3"):
            user_id = await choose_subject(view, state)
            ui.space()
            MemoryPanel(view, user_id).pill()
        chat = ChatPage(view, user_id, state)
        chat.is_answered = (await view.client.show_app()).answered_by == "loop"
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
    conversation: models.ConversationDetails | None = None
    first_position: int = 0
    shown: set[str] = field(default_factory=set)
    entries: dict[str, ui.button] = field(default_factory=dict)
    status_labels: dict[str, ui.label] = field(default_factory=dict)
    """What the list says of each conversation."""
    cursor: str | None = None
    is_answered: bool = True
    """Whether the loop answers what the user says."""

    async def build(self) -> None:
        """Build the list and the place of what is open."""
        with ui.element().classes("chat") as self.whole:
            with ui.column().classes("list gap-2"):
                if self.view.may_write:
                    new = ui.button("New conversation", icon="add").props("outline no-caps").classes("w-full")
                    # A double click begins one.
                    new.on("click", self.begin, throttle=1.0, trailing_events=False)
                    if not self.user_id:
                        ui.label("Of nobody named: choose whose memory it is for.").classes("muted text-xs")
                self.list = ui.column().classes("w-full gap-1").props("role=list aria-label=Conversations")
                self.more = press_once(ui.button("More").props("flat dense no-caps"), self.list_more)
            with ui.column().classes("reading gap-3"):
                back = ui.button("All conversations", icon="arrow_back", on_click=self.close)
                back.props("flat dense no-caps").classes("back")
                self.head = ui.row().classes("w-full items-center gap-2")
                self.earlier = action("Earlier messages", self.show_earlier, FLAT, icon="expand_less")
                self.log = ui.column().classes("w-full gap-2").props("role=log aria-label=Messages")
                self.foot = ui.column().classes("w-full gap-2")
            self.recalled_panel = (
                ui.column().classes("beside gap-2").props("role=complementary aria-label='What was recalled'")
            )
        remember = ui.button("Remember", icon="psychology", on_click=self.remember)
        remember.classes("remember").props("unelevated no-caps size=sm color=cyan-9")
        ui.run_javascript(_SCRIPT)
        self.earlier.set_visibility(False)
        await self.list_more()
        live(self.view).on(_EVENTS, self._refresh)

    @in_turn
    async def list_more(self) -> None:
        """Show the next page of conversations."""
        await self._list()

    @in_turn
    async def _list_anew(self) -> None:
        self.cursor = None
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
                    self._entry(one)
            if not page.conversations and not self.list.default_slot.children:
                with self.list:
                    ui.label("No conversations yet.").classes("muted")

    def _entry(self, one: models.ConversationAnswer) -> None:
        async def opened() -> None:
            await self.open(one.conversation_id)

        entry = (
            ui.button(on_click=opened)
            .props("flat no-caps align=left role=listitem text-color='' color=''")
            .classes("w-full font-normal")
        )
        with entry, ui.column().classes("gap-0 w-full min-w-0 items-start"):
            ui.label(_title_of(one)).classes("ellipsis w-full text-left")
            self.status_labels[one.conversation_id] = ui.label(_status_of(one)).classes("muted text-xs")
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
        self.whole.classes("reading")
        self.log.clear()
        self.shown.clear()
        self.recalled_panel.clear()
        if around:
            page = await client.list_messages(conversation_id, around=around, limit=_SHOWN)
        else:
            page = await client.list_messages(
                conversation_id, before=max(self.conversation.message_count, 1), limit=_SHOWN
            )
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
        page = await self.view.client.list_messages(
            self.conversation.conversation_id, before=self.first_position, limit=_SHOWN
        )
        self._show_messages(page.messages, at_the_top=True)

    def _show_messages(
        self, messages: list[dict[str, Any]], *, at_the_top: bool = False, sought: str | None = None
    ) -> None:
        new = [one for one in messages if one["messageId"] not in self.shown]
        self.shown |= {one["messageId"] for one in new}
        if new and (at_the_top or len(self.shown) == len(new)):
            self.first_position = new[0]["position"]
            self.earlier.set_visibility(self.first_position > 0)
        with self.log:
            for index, one in enumerate(new):
                bubble = _bubble(one)
                if at_the_top:
                    bubble.move(target_index=index)
                if one["messageId"] == sought:
                    bubble.classes("sought")
        if not at_the_top:
            target = (
                "document.querySelector('.bubble.sought')"
                if sought
                else "[...document.querySelectorAll('.bubble')].pop()"
            )
            ui.run_javascript(f"{target}?.scrollIntoView({{block: 'center'}})")

    def _build_head(self) -> None:
        conversation = self.conversation
        assert conversation is not None
        self.head.clear()
        with self.head:
            title = ui.label(_title_of(conversation)).classes("text-lg font-medium ellipsis")
            title.props("role=heading aria-level=2").tooltip(conversation.conversation_id)
            badge(conversation.state).props("outline")
            ui.label(conversation.user_id or "nobody named").classes("muted")
            ui.space()
            if conversation.state != "ended" and self.view.may_write:
                ui.button("End", icon="done_all", on_click=self.end).props("outline no-caps dense").classes("px-3")

    def _build_foot(self) -> None:
        conversation = self.conversation
        assert conversation is not None
        self.foot.clear()
        if not self.view.may_write:
            return
        with self.foot:
            if conversation.state == "ended":
                ui.label("Ended. What was said here is thought over; what is found worth it is remembered.").classes(
                    "muted"
                )
                return
            if not self.is_answered:
                note("Nobody answers here: it is kept as what the user said.")
            field = ui.textarea("Message").props("outlined autogrow rows=2").classes("w-full")
            draft = Draft(self.view, f"message/{conversation.conversation_id}", {"message": field}, says_so=False)

            async def send() -> None:
                if field.value and field.value.strip():
                    # Emptied at once, or a second Enter would send it twice.
                    text, field.value = field.value, ""
                    if await self.send(text):
                        draft.forget_text("message", text)
                    # Not taken: put back, unless something else was written meanwhile.
                    elif not field.value:
                        field.value = text

            field.on("keydown.enter.exact.prevent", send)
            action("Send", send, PRIMARY, icon="send")

    async def send(self, text: str) -> bool:
        """Say something, and show what is recalled for it; return whether it was taken."""
        assert self.conversation is not None
        name = self.conversation.conversation_id
        async with self.view.show_errors():
            await self._show_recalled(text)
            await self.view.client.add_messages(name, [{"role": "user", "content": text}])
            await self._refresh()
            return True
        return False

    @in_turn
    async def _refresh(self) -> None:
        if self.conversation is None:
            return
        name = self.conversation.conversation_id
        found = await self.view.client.show_conversation(name)
        page = await self.view.client.list_messages(name, before=max(found.message_count, 1), limit=_SHOWN)
        changed, self.conversation = found.state != self.conversation.state, found
        if name in self.status_labels:
            self.status_labels[name].set_text(_status_of(found))
        self._show_messages(page.messages)
        if changed:
            self._build_head()
            self._build_foot()

    async def _show_recalled(self, text: str) -> None:
        assert self.conversation is not None
        client, name = self.view.client, self.conversation.conversation_id
        context = await client.compose_context(conversation_id=name, message=text, context_window=_WINDOW_TOKENS)
        found = await client.search_messages(text, conversation_id=name, limit=20, explain=True)
        why = {one.message_id: one for one in found.results}
        facts: dict[int, models.FactAnswer] = {}
        memories: dict[int, models.MemoryAnswer] = {}
        # Also what names nobody, which an app may share; of a subject one page holds all.
        for subject in {self.conversation.user_id or "", ""}:
            if context.included.facts:
                listed = await client.list_facts(user_id=subject, limit=_MOST_LISTED)
                facts |= {one.id: one for one in listed.facts}
            if context.included.memories:
                remembered = await client.list_memories(user_id=subject, limit=_MOST_LISTED)
                memories |= {one.id: one for one in remembered.memories}
        if name != self.conversation.conversation_id:
            return  # Another was opened meanwhile, perhaps another user's.
        self.recalled_panel.clear()
        with self.recalled_panel:
            ui.label("Recalled for this turn").classes("font-medium").props("role=heading aria-level=2")
            used = f"{context.memory_tokens} tokens, {context.percent_used or 0:.0f} % of the window used"
            stays = f"the first {context.stable_prefix_tokens} stay the same for the next question"
            note(f"{used}; {stays}")
            for fact_id in context.included.facts:
                if fact := facts.get(fact_id):
                    pinned = "pinned, " if fact.pinned else ""
                    _recalled("Fact", fact.fact, f"{pinned}{fact.category}, confidence {fact.confidence:.0%}")
            for memory_id in context.included.memories:
                if memory := memories.get(memory_id):
                    _recalled("Memory", memory.content, f"one of the ten, last changed {memory.updated_at:%d %b %Y}")
            for message_id in context.included.retrieved:
                if message_id in why:
                    _recalled("Message", why[message_id].content, _why_found(why[message_id]))
            for part in (*context.missing, *context.degraded):
                note(f"Without: {part}")
            if not context.system_prompt:
                ui.label("Nothing that is remembered fits.").classes("muted")

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
    return one.conversation_id if is_given else f"Of {one.created_at:%d %b %Y, %H:%M} UTC"


def _status_of(one: models.ConversationAnswer | models.ConversationDetails) -> str:
    return f"{one.user_id or 'nobody named'} · {counted(one.message_count, 'message')} · {one.state}"


def _bubble(message: dict[str, Any]) -> ui.column:
    role = message["role"]
    with ui.column().classes(f"bubble gap-1 {role}") as bubble:
        name = message.get("name") or {"user": "User", "assistant": "Assistant"}.get(role, role.capitalize())
        with ui.row().classes("items-center gap-2"):
            ui.label(str(name)).classes("text-xs font-medium")
            ui.label(str(message.get("createdAt", ""))[:16].replace("T", " ")).classes("muted text-xs")
        long_text(_text_of(message), _SHOWN_CHARACTERS)
        for call in message.get("tool_calls") or ():
            note(f"calls {call.get('function', call).get('name', '?')}")
    return bubble


def _text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = [
        one if isinstance(one, str) else one.get("text") or f"[{one.get('type', 'part')}]" for one in content or ()
    ]
    return "\n".join(parts)


def _recalled(kind: str, text: str, why: str) -> None:
    with ui.column().classes("card gap-1"):
        ui.label(kind).classes("muted text-xs")
        ui.label(text[:500]).classes("said text-sm").props("dir=auto")
        ui.label(f"Why: {why}").classes("muted text-xs")


def _why_found(found: models.SearchResult) -> str:
    parts = sorted((found.explanation or {}).items(), key=lambda one: -one[1])
    signals = [f"{_SIGNALS.get(name, name)} {value:.2f}" for name, value in parts if value > 0.005]
    return ", ".join(signals[:4]) or f"score {found.score:.2f}"
