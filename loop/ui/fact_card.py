"""One fact as a card: read, mended in place, put in other words with its category, pinned, chosen and deleted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import Literal

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from afterthought_client.models import FactAnswer
from loop.ui.frame import COLOURS
from loop.ui.tables import FLAT, PRIMARY, action, icon_button
from loop.ui.wording import ago

Category = Literal["project", "preference", "identity"]
CATEGORIES: dict[Category, str] = {"project": "Project", "preference": "Preference", "identity": "Identity"}
_DOUBLE_CLICK_SECONDS = 1.0
_BARE = "() => emit()"
"""Sends that something happened, without all that a browser knows of it."""
STYLE = f"""
.fact {{ border: 1px solid var(--line); border-left: 4px solid var(--accent); border-radius: .5rem;
  padding: .5rem .5rem .5rem .75rem; width: 100%; position: relative; }}
.fact.pinned {{ border-color: {COLOURS["pin"]}; border-left-color: var(--accent); }}
.fact-text {{ text-align: left; background: none; border: 0; padding: 0 5.5rem 0 0; font: inherit; color: inherit;
  width: 100%; cursor: text; border-radius: .25rem; }}
div.fact-text {{ cursor: default; }}
.fact-acts {{ position: absolute; top: .35rem; right: .35rem; }}
.fact-acts > * {{ opacity: 0; transition: opacity .12s; }}
.fact:hover .fact-acts > *, .fact:focus-within .fact-acts > *, .fact-acts.stays > :first-child {{ opacity: 1; }}
.confidence {{ height: 3px; border-radius: 2px; background: var(--line); overflow: hidden; }}
.confidence > div {{ height: 100%; background: var(--accent); }}
.saved-0 {{ animation: saved-0 .9s ease-out; }} .saved-1 {{ animation: saved-1 .9s ease-out; }}
@keyframes saved-0 {{ 0% {{ border-left-color: #22c55e; box-shadow: -3px 0 8px #22c55e; }} }}
@keyframes saved-1 {{ 0% {{ border-left-color: #22c55e; box-shadow: -3px 0 8px #22c55e; }} }}
@media (hover: none) {{ .fact-acts > * {{ opacity: 1; }} }}
@media (prefers-reduced-motion: reduce) {{
  .fact-acts > * {{ transition: none; }}
  .saved-0, .saved-1 {{ animation: none; }}
}}
"""


@dataclass(frozen=True)
class FactHandlers:
    """What the list of facts does for its cards."""

    save: Callable[[FactCard, ui.input, Category | None], Awaitable[None]]
    pin: Callable[[FactCard], Awaitable[None]]
    remove: Callable[[FactCard], Awaitable[None]]
    choose: Callable[[], None]


class FactCard:
    """A card; it stays the same element while its fact changes, so that whoever is at it stays there."""

    def __init__(self, fact: FactAnswer, handlers: FactHandlers, *, may_write: bool, tells_user: bool) -> None:
        self.fact = fact
        self._handlers = handlers
        self._may_write = may_write
        self._tells_user = tells_user
        self._edited_at = 0.0
        self._saves = 0
        self.is_managed = False
        with ui.element("div").classes("fact").props("role=listitem") as self.element:
            with ui.row().classes("w-full items-start no-wrap gap-2") as self._view:
                self.box = ui.checkbox(on_change=self._handlers.choose).props("dense")
                self.box.set_visibility(False)
                with ui.column().classes("grow min-w-0 gap-1"):
                    self._text = TextElement(tag="button" if self._may_write else "div", text="")
                    self._text.classes("fact-text said").on("click", self._click, js_handler=_BARE)
                    self._bar = ui.element("div").classes("confidence w-full")
                    self._bar.props("role=meter aria-valuemin=0 aria-valuemax=100")
                    with self._bar:
                        self._fill = ui.element("div")
                    self._heard_label = ui.label().classes("muted text-xs ellipsis w-full")
                # In the place of the button, while many are managed.
                self._pinned = ui.icon("push_pin", size="xs", color="deep-orange-9")
                self._pinned.props("role=img aria-label=Pinned aria-hidden=false").set_visibility(False)
                with ui.row().classes("fact-acts no-wrap gap-0") as self._acts:
                    self._pin = icon_button("push_pin", "Pin", lambda: self._handlers.pin(self))
                    icon_button("edit_note", "Edit in full", self._open_in_full)
                    icon_button("delete_outline", "Delete", lambda: self._handlers.remove(self))
                self._acts.set_visibility(self._may_write)
            self._editor = ui.element("div").classes("w-full")
        self.element.on("dblclick", self._open_in_full, js_handler=_BARE)
        self.show(fact)

    @property
    def _shows_no_acts(self) -> bool:
        return self.is_managed or not self._may_write

    @property
    def is_chosen(self) -> bool:
        """Whether it is chosen while many are managed."""
        return self.is_managed and bool(self.box.value)

    def show(self, fact: FactAnswer) -> None:
        """Show a fact as it is now; what is being written in its place is left alone."""
        self.fact = fact
        self._text.set_text(fact.fact)
        percent = round(fact.confidence * 100)
        self._bar.props(f"aria-label='Confidence {percent} percent' aria-valuenow={percent}")
        self._fill.style(f"width: {percent}%")
        self.element.style(f"--accent: {COLOURS[fact.category]}")
        self.element.classes("pinned") if fact.pinned else self.element.classes(remove="pinned")
        self._pinned.set_visibility(fact.pinned and self._shows_no_acts)
        self._acts.classes("stays") if fact.pinned else self._acts.classes(remove="stays")
        name, colour = ("Unpin", "deep-orange-9") if fact.pinned else ("Pin", "")
        self._pin.props(f"aria-label={name} color={colour}")
        when = f"heard {ago(fact.last_seen)}" + (f", {fact.mention_count} times" if fact.mention_count > 1 else "")
        self._heard_label.set_text(f"{fact.user_id or 'nobody named'} · {when}" if self._tells_user else when)

    def manage(self, on: bool) -> None:
        """Let the card be chosen, or be mended again."""
        self.is_managed = on
        self.box.set_value(False)
        self.box.set_visibility(on)
        self.box.props["aria-label"] = f"Choose: {self.fact.fact[:80]}"
        self._acts.set_visibility(self._may_write and not on)
        self._pinned.set_visibility(self.fact.pinned and self._shows_no_acts)

    def pulse(self) -> None:
        """Say by a moment of green that it was saved."""
        # Two classes in turn: one that is taken away and given again at once does not begin its animation anew.
        self.element.classes(remove=f"saved-{self._saves % 2}")
        self._saves += 1
        self.element.classes(f"saved-{self._saves % 2}")

    def close(self) -> None:
        """Show the fact again instead of the place to write, and be there."""
        self._editor.clear()
        self._view.set_visibility(True)
        # By the page's own name: what was clicked to come here may be gone with the editor.
        self.element.client.run_javascript(f"getHtmlElement({self._text.id})?.focus()")

    def _click(self) -> None:
        if not self._may_write:
            return
        if self.is_managed:
            self.box.set_value(not self.box.value)
            return
        self._edited_at = monotonic()
        self._view.set_visibility(False)
        with self._editor:
            text = ui.input(value=self.fact.fact).classes("w-full")
            text.props("autofocus aria-label='Fact' hint='Enter saves, Escape cancels'")
            text.on("keydown.enter", lambda: self._handlers.save(self, text, None), js_handler=_BARE)
            # Stopped, as the sheet around it would close too.
            text.on("keydown.escape.stop", self.close, js_handler=_BARE)

    def _open_in_full(self) -> None:
        in_place = len(self._editor.default_slot.children) > 0
        # The first of two clicks has opened the place to write; the second means to open it in full.
        is_double = monotonic() - self._edited_at < _DOUBLE_CLICK_SECONDS
        if not self._may_write or self.is_managed or (in_place and not is_double):
            return
        self._edited_at = 0.0
        self._view.set_visibility(False)
        self._editor.clear()
        with self._editor, ui.column().classes("w-full gap-2"):
            text = ui.textarea(value=self.fact.fact).classes("w-full").props("autofocus aria-label='Fact'")
            category = ui.select(CATEGORIES, value=self.fact.category, label="Category").classes("w-full")

            async def save() -> None:
                await self._handlers.save(self, text, category.value)

            text.on("keydown.escape.stop", self.close, js_handler=_BARE)
            text.on("keydown.ctrl.enter", save, js_handler=_BARE)
            with ui.row().classes("w-full justify-end gap-2"):
                action("Cancel", self.close, FLAT, color=None)
                action("Save", save, PRIMARY).props("dense").classes("px-3")
