"""The sheet of what is remembered about somebody, over any page: a pill with how much it is, and the facts as cards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from math import ceil
from typing import Any, cast

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from afterthought_client.models import FactAnswer
from loop.ui.fact_card import CATEGORIES, STYLE, Category, FactCard, FactHandlers
from loop.ui.forms import UndoBar
from loop.ui.frame import PageView, in_turn, live
from loop.ui.head import add_script, add_style
from loop.ui.tables import FLAT, OUTLINED, action, fill, heading, more_button, note, said
from loop.ui.visitors import FormError
from loop.ui.wording import clock, counted

PAGE = 50
_MOST_AT_ONCE = 200
_ALL, _AUTOMATIC = "all", "automatic"
EMPTY = "No memories yet. I'll learn as we talk."


class FactCards:
    """What the sheet of memories holds."""

    def __init__(
        self, view: PageView, user_id: str | None, *, manage: ui.button, changed: Callable[[], Awaitable[None]]
    ) -> None:
        self._view, self._user_id, self._changed = view, user_id, changed
        self._category: Category | None = None
        self._limit = PAGE
        self._total = 0
        self._cursor: str | None = None
        self._clear_undo_until: datetime | None = None
        self._managing = False
        self._cards: dict[int, FactCard] = {}
        self._going: set[int] = set()
        self._handlers = FactHandlers(self._save, self._pin, self._remove, self._tell_chosen)
        self._manage = manage
        manage.on_click(self._turn_managing)
        self._build()

    def _build(self) -> None:
        tabs = ui.tabs().props("dense no-caps narrow-indicator align=justify active-color=primary").classes("w-full")
        with tabs:
            ui.tab(_ALL, "All")
            for name, label in CATEGORIES.items():
                ui.tab(name, label)
        tabs.set_value(_ALL)
        tabs.on_value_change(self._filter)
        with ui.column().classes("w-full grow overflow-y-auto min-h-0 gap-3 no-wrap pr-1") as self._scrolled:
            with ui.column().classes("w-full items-center gap-2 py-12 text-center") as self._empty:
                ui.icon("psychology_alt", size="4rem").classes("muted opacity-60").props("aria-hidden=true")
                ui.label(EMPTY).classes("muted")
            self._empty.set_visibility(False)
            self._groups = {name: self._build_group(name, label) for name, label in CATEGORIES.items()}
            with ui.row().classes("w-full items-center gap-2") as self._rest:
                more_button(self._show_more)
                self._shown = note("")
            self._clear_all = ui.row().classes("w-full items-center gap-2 mt-2")
            self._deleted = DeletedFacts(self._view, self._user_id, self._after_change)
        with ui.row().classes("w-full items-center gap-2 rounded border border-[color:var(--line)] p-2") as self._bulk:
            self._bulk.props("role=toolbar aria-label='Chosen memories'")
            self._chosen_count = ui.label().classes("grow").props("role=status")
            action("Choose all", self._choose_all, FLAT, color=None)
            self._move = ui.button("Move to", color=None).props("outline dense icon-right=expand_more").classes("px-2")
            with self._move, ui.menu():
                for name, label in CATEGORIES.items():
                    ui.menu_item(label, lambda name=name: self._move_chosen(name))
            self._delete = ui.button("Delete", on_click=self._delete_chosen, color="red-9").props("unelevated dense")
        self._bulk.set_visibility(False)
        self._undo = UndoBar()
        if self._view.may_write:
            self._build_composer()

    def _build_group(self, name: Category, label: str) -> tuple[ui.column, ui.element]:
        with ui.column().classes("w-full gap-2") as group:
            heading(label, 3).classes("muted text-sm")
            with ui.column().classes("w-full gap-2") as cards:
                cards.props(f"role=list aria-label={name}")
        return group, cards

    def _build_composer(self) -> None:
        if self._user_id is None:
            note("Choose whose memory it is to write into it.")
            return
        with ui.row().classes("w-full items-center no-wrap gap-2 pt-2 border-t border-[color:var(--line)]"):
            text = ui.input(placeholder="Remember something…").classes("grow").props("aria-label='Remember something'")
            category = ui.select({_AUTOMATIC: "Automatic", **CATEGORIES}, value=_AUTOMATIC).classes("w-36")
            category.props("aria-label=Category")

            async def write() -> None:
                async with self._view.show_errors(beside=text):
                    chosen = None if category.value == _AUTOMATIC else cast(Category, category.value)
                    user_id = self._user_id or None
                    written = await self._view.client.write_fact(_written(text), category=chosen, user_id=user_id)
                    await self._after_change()
                    if written.merged:
                        ui.notify("This is known already; it is more certain now.")
                    if written.evicted:
                        ui.notify(f"{len(written.evicted)} went to make room.")
                    if card := self._cards.get(written.id):
                        card.pulse()
                    text.set_value("")

            text.on("keydown.enter", write, js_handler="() => emit()")
            ui.button(icon="add", on_click=write).props("round dense unelevated color=cyan-9 aria-label=Remember")

    @in_turn
    async def refresh(self) -> None:
        """Show the facts as they are now. Cards that stay are the same ones, with what is being written in them."""
        facts = await self._fetch(self._limit)
        if self._view.may_write:
            await self._deleted.refresh(self._clear_undo_until)
        shown = {fact.id for fact in facts}
        for gone in set(self._cards) - shown:
            self._cards.pop(gone).element.delete()
        indexes = dict.fromkeys(self._groups, 0)
        for fact in facts:
            self._show_at(fact, indexes[fact.category])
            indexes[fact.category] += 1
        for name, (group, _) in self._groups.items():
            group.set_visibility(indexes[name] > 0)
        self._empty.set_visibility(not facts)
        self._tell_rest()
        self._manage.set_visibility(self._view.may_write and (bool(facts) or self._managing))
        self._show_clear_all()
        self._tell_chosen()

    async def _fetch(self, count: int, cursor: str | None = None) -> list[FactAnswer]:
        facts: list[FactAnswer] = []
        while True:
            limit = min(count - len(facts), _MOST_AT_ONCE)
            page = await self._view.client.list_facts(
                category=self._category, user_id=self._user_id, limit=limit, cursor=cursor
            )
            facts, cursor, self._total = facts + page.facts, page.cursor, page.total
            self._offer_to_undo_clear(page.clear_undo_until)
            if cursor is None or len(facts) >= count:
                self._cursor = cursor
                return facts

    def _tell_rest(self) -> None:
        self._rest.set_visibility(self._cursor is not None)
        self._shown.set_text(f"{len(self._cards):,} of {self._total:,} are shown")

    def _show_at(self, fact: FactAnswer, index: int) -> None:
        _, cards = self._groups[fact.category]
        card = self._cards.get(fact.id)
        if card is None:
            with cards:
                card = FactCard(fact, self._handlers, may_write=self._view.may_write, tells_user=self._user_id is None)
            card.manage(self._managing)
            self._cards[fact.id] = card
        else:
            card.show(fact)
        siblings = cards.default_slot.children
        # Only where it stands elsewhere, as moving an element takes the focus away.
        if index >= len(siblings) or siblings[index] is not card.element:
            card.element.move(cards, index)

    async def _filter(self, event: ValueChangeEventArguments[Any]) -> None:
        self._category = None if event.value == _ALL else cast(Category, event.value)
        self._limit = PAGE
        await self.refresh()

    @in_turn
    async def _show_more(self) -> None:
        """Show the next facts behind those that are shown, which are not asked for again."""
        if self._cursor is None:
            return
        self._limit += PAGE
        for fact in await self._fetch(PAGE, self._cursor):
            self._show_at(fact, len(self._groups[fact.category][1].default_slot.children))
            self._groups[fact.category][0].set_visibility(True)
        self._tell_rest()

    async def _after_change(self) -> None:
        await self.refresh()
        await self._changed()

    async def _save(self, card: FactCard, text: ui.input, category: Category | None) -> None:
        async with self._view.show_errors(beside=text):
            await self._view.client.edit_fact(card.fact.id, fact=_written(text), category=category)
            card.close()
            await self._after_change()
            card.pulse()

    async def _pin(self, card: FactCard) -> None:
        change = self._view.client.unpin_fact if card.fact.pinned else self._view.client.pin_fact
        await change(card.fact.id)
        await self._after_change()

    async def _remove(self, card: FactCard) -> None:
        if card.fact.id in self._going:
            return  # A double click.
        self._going.add(card.fact.id)
        try:
            await self._view.client.delete_fact(card.fact.id)
            await self._after_change()
            self._offer_undo([card.fact.id])
        finally:
            self._going.discard(card.fact.id)

    def _offer_undo(self, ids: list[int]) -> None:
        async def undo() -> None:
            for fact_id in ids:
                await self._view.client.undo_deleting_fact(fact_id)
            await self._after_change()

        self._undo.offer("Memory deleted" if len(ids) == 1 else f"{len(ids)} memories deleted", undo)

    def _turn_managing(self) -> None:
        self._managing = not self._managing
        self._manage.set_text("Done" if self._managing else "Manage")
        self._bulk.set_visibility(self._managing)
        for card in self._cards.values():
            card.manage(self._managing)
        self._tell_chosen()

    def _chosen(self) -> list[int]:
        return [card.fact.id for card in self._cards.values() if card.is_chosen]

    def _choose_all(self) -> None:
        for card in self._cards.values():
            card.box.set_value(True)

    def _tell_chosen(self) -> None:
        count = len(self._chosen())
        self._chosen_count.set_text(f"{count} chosen")
        self._move.set_enabled(count > 0)
        self._delete.set_enabled(count > 0)

    async def _delete_chosen(self) -> None:
        ids = self._chosen()
        await self._view.client.change_facts("delete", ids)
        await self._after_change()
        self._offer_undo(ids)

    async def _move_chosen(self, category: Category) -> None:
        await self._view.client.change_facts("move", self._chosen(), category=category)
        await self._after_change()

    def _show_clear_all(self) -> None:
        self._clear_all.clear()
        if not self._view.may_write or self._category is not None or not self._total:
            return
        with self._clear_all:
            action("Clear all memory", self._ask_to_clear, FLAT, color=None).classes("muted")

    def _ask_to_clear(self) -> None:
        self._clear_all.clear()
        whose = " of everybody's" if self._user_id is None else ""
        what = "the 1 fact" if self._total == 1 else f"all {self._total:,} facts"
        with self._clear_all:
            ui.label(f"This will remove {what}{whose}").classes("grow")
            action("Cancel", self._show_clear_all, FLAT, color=None)
            action("Clear", self._clear, OUTLINED, color=None).props("dense autofocus")

    async def _clear(self) -> None:
        await self._view.client.clear_facts(user_id=self._user_id)
        if self._managing:
            self._turn_managing()
        await self._after_change()

    def _offer_to_undo_clear(self, until: datetime | None) -> None:
        """Offer it where the service says that it can be done, also to a page that was opened since."""
        former, self._clear_undo_until = self._clear_undo_until, until
        # Every reading tells it again, and it is offered once.
        if until is None or until == former or not self._view.may_write:
            return

        async def undo() -> None:
            await self._view.client.undo_clearing_facts(user_id=self._user_id)
            await self._after_change()

        seconds = ceil((until - datetime.now(UTC)).total_seconds())
        self._undo.offer("Memory cleared", undo, max(seconds, 1), counts=True)


def _written(field: ui.input) -> str:
    """Return what stands in a field, whose error goes. Raises: FormError where nothing does."""
    field.error = None
    if not (field.value or "").strip():
        raise FormError("Write something first.")
    return str(field.value)


class DeletedFacts:
    """Facts that were deleted one by one, for as long as the service keeps them to be brought back."""

    def __init__(self, view: PageView, user_id: str | None, changed: Callable[[], Awaitable[None]]) -> None:
        self._view, self._user_id, self._changed = view, user_id, changed
        self._timer: ui.timer | None = None
        self._whole = ui.expansion("Deleted", icon="restore_from_trash").props("dense").classes("w-full")
        with self._whole:
            self._list = ui.column().classes("w-full gap-2").props("role=list aria-label=Deleted")
        self._whole.set_visibility(False)

    async def refresh(self, cleared_until: datetime | None) -> None:
        """Show them as they are now, without those that a clear took until some time: that is taken back as a whole."""
        found = await self._view.client.list_facts(state="deleted", user_id=self._user_id, limit=_MOST_AT_ONCE)
        kept = [one for one in found.facts if one.undo_until is not None and one.undo_until != cleared_until]
        self._whole.set_visibility(bool(kept))
        fill(self._list, kept, self._show)
        if self._timer is not None:
            self._timer.cancel()
        if kept:
            # Looked at once more when the first of them is gone for good.
            first = min(one.undo_until for one in kept if one.undo_until is not None)
            left = (first - datetime.now(UTC)).total_seconds()
            with self._whole:
                self._timer = ui.timer(max(left, 0) + 1, lambda: self.refresh(cleared_until), once=True)

    def _show(self, fact: FactAnswer) -> None:
        async def restore() -> None:
            # Not in the list, which is shown anew.
            with self._whole:
                await self._view.client.undo_deleting_fact(fact.id)
                await self._changed()

        with ui.row().classes("w-full items-start no-wrap gap-2").props("role=listitem"):
            with ui.column().classes("grow min-w-0 gap-0"):
                said(fact.fact).classes("text-sm")
                ui.label(f"kept until {clock(fact.undo_until)}").classes("muted text-xs")
            button = action("Restore", restore, OUTLINED, color=None).props("dense").classes("px-2")
            button.props["aria-label"] = f"Restore: {fact.fact[:80]}"


FACT_EVENTS = frozenset({"fact.created", "fact.changed", "fact.removed", "memories.purged"})
_STYLE = """
.memory-sheet .q-dialog__inner { padding: 0; }
.memory-sheet .q-dialog__inner > div {
  height: 100vh; height: 100dvh; max-height: none; max-width: 100vw; border-radius: 0;
}
"""
_SHORTCUT = """
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.shiftKey && event.key.toLowerCase() === "m") {
    event.preventDefault();
    emitEvent("memory_panel");
  }
});
"""


class MemoryPanel:
    """The sheet of one subject, and a pill with how many facts there are, which opens it; at most one on a page.

    ``user_id``: None is everybody, empty is what names nobody.
    """

    def __init__(self, view: PageView, user_id: str | None) -> None:
        self._view, self._user_id = view, user_id
        add_style(STYLE + _STYLE)
        add_script(_SHORTCUT)
        ui.on("memory_panel", self._toggle)
        with ui.dialog() as self._dialog:
            self._dialog.props("position=right aria-label=Memory").classes("memory-sheet")
            with ui.card().classes("w-[28rem] no-wrap gap-2 p-3"):
                with ui.row().classes("w-full items-center no-wrap"):
                    heading("Memory").classes("text-lg grow")
                    manage = action("Manage", lambda: None, FLAT, color=None).classes("px-2")
                    close = ui.button(icon="close", on_click=self._dialog.close, color=None)
                    close.props("flat round dense aria-label='Close memory'")
                self._facts = FactCards(self._view, self._user_id, manage=manage, changed=self.count)
        pill = self._pill = ui.button("– facts", icon="psychology", on_click=self.open, color=None)
        pill.props("outline rounded dense aria-haspopup=dialog").classes("px-3")
        pill.props["aria-keyshortcuts"] = "Control+Shift+M Meta+Shift+M"
        self._dialog.on("hide", js_handler=f"() => getHtmlElement({pill.id})?.focus()")
        live(view).on(FACT_EVENTS, self._refresh)
        # Once the page is there, which does not wait for the count.
        ui.timer(0, self.count, once=True)

    async def open(self) -> None:
        """Open the sheet over the page."""
        self._dialog.open()
        await self._facts.refresh()

    async def count(self) -> None:
        """Show on the pill how many facts there are now."""
        found = await self._view.client.list_facts(user_id=self._user_id, limit=1)
        self._pill.set_text(counted(found.total, "fact"))

    async def _toggle(self) -> None:
        if self._dialog.value:
            self._dialog.close()
        else:
            await self.open()

    async def _refresh(self) -> None:
        await self.count()
        if self._dialog.value:
            await self._facts.refresh()
