"""The Composition Builder: sessions in a row, each as a version, with what they take of a budget before it is made."""

from __future__ import annotations

from itertools import cycle
from typing import Annotated, Any, Literal

from fastapi import Query
from nicegui import ui
from nicegui.elements.mixins.value_element import ValueElement
from nicegui.events import SortableEventArguments

from afterthought_client import models
from loop.ui.composition_history import CompositionHistory
from loop.ui.forms import CHOICES, FoundSelect, projects_to_choose
from loop.ui.frame import Frame, PageView, in_turn, live
from loop.ui.head import add_style
from loop.ui.sessions import STYLE
from loop.ui.state import Draft, PageState
from loop.ui.tables import FLAT, OUTLINED, PRIMARY, SERIES_COLOURS, action, fill, heading, icon_button, note
from loop.ui.versions import CompressionForm
from loop.ui.visitors import FormError, in_words_of, notify_success
from loop.ui.wording import counted, day, made_how, session_name, short

AUTOMATIC, ORIGINAL = "auto", "original"
_WAYS = {"original": "The original", "version": "Version {}", "join": "Version {}, as soon as it is made",
         "compress": "A new version"}  # fmt: skip


_STYLE = """
.timeline, .timeline > .q-list { display: flex; align-items: flex-start; gap: 1.75rem; }
.timeline { width: 100%; overflow-x: auto; padding: .25rem; } .timeline > .q-list:empty { display: none; }
.part, .composed { position: relative; width: 17rem; flex: none; border-top: 6px solid var(--part); }
.part::after { content: "→"; position: absolute; right: -1.5rem; top: 4.5rem; color: var(--muted); }
.composed { width: 11rem; border: 2px dashed var(--line); justify-content: center; }
.budget { position: relative; display: flex; gap: 1px; width: 100%; height: 1.25rem; border-radius: .25rem;
  background: rgb(127 127 127 / .18); overflow: hidden; }
.budget > .limit { position: absolute; inset: 0 auto; border-left: 3px solid #dc2626; box-shadow: 0 0 0 1px #fff; }
@media (min-width: 900px) { .sticky-top { position: sticky; top: 3.5rem; z-index: 2; background: var(--page); } }
@media (max-width: 899px) {
  .timeline, .timeline > .q-list { flex-direction: column; } .part, .composed { width: 100%; }
  .part::after { content: "↓"; right: 50%; top: auto; bottom: -1.6rem; }
  /* There they stand one below the other. */
  .part .q-btn[aria-label^="Move "] .q-icon { transform: rotate(90deg); }
}
"""


class PartCard:
    """A session's card. Where it stands among the others is for the composition to say."""

    def __init__(
        self, composer: Composer, session: models.SessionDetail, versions: list[models.VersionAnswer], colour: str
    ) -> None:
        self.session, self.colour = session, colour
        self.cost = 0  # Tokens, as they were foreseen last.
        self._changed, self._versions = composer.change, versions
        self._form: CompressionForm | None = None
        name = session.session_id
        with ui.column().classes("card part gap-2").props("role=listitem").style(f"--part: {colour}") as self.card:
            with ui.row().classes("w-full items-center no-wrap gap-1"):
                ui.icon("drag_indicator", size="sm").props("aria-hidden=true").classes("handle cursor-move muted")
                self._cost = ui.label().classes("text-lg font-semibold")
                ui.space()
                self.earlier = icon_button("arrow_back", f"Move earlier: {name}", lambda: composer.move(self, -1))
                self.later = icon_button("arrow_forward", f"Move later: {name}", lambda: composer.move(self, 1))
                icon_button("close", f"Remove: {name}", lambda: composer.remove(self))
            self._title = heading("", 3).style("overflow-wrap: anywhere").props("dir=auto")
            about = f"{name} · {day(session.last_timestamp)} · original {short(session.original_tokens)} tokens"
            note(about).style("overflow-wrap: anywhere")
            self._version = ui.select(self._options(), value=AUTOMATIC, label="Version", on_change=self._changed)
            self._tokens = ui.number("Allocation (tokens)", min=0, step=100, on_change=self._change_tokens)
            for field in (self._version, self._tokens):
                field.props("debounce=200").classes("w-full")
            self._recompress = ui.checkbox("Recompress from original", on_change=self._switch).props("dense")
            self._form_area = ui.column().classes("w-full")
            self._status = note("").classes("said")
        self.allow_allocation(False)

    def set_number(self, number: int, count: int) -> None:
        """Show the number it has among the parts, from 1."""
        self._title.set_text(f"{number}. {session_name(self.session.session_id, self.session.metadata)}")
        self.earlier.set_enabled(number > 1)
        self.later.set_enabled(number < count)

    def allow_allocation(self, is_allowed: bool) -> None:
        """Have its tokens given by hand, or by the strategy."""
        self._tokens.set_visibility(is_allowed)
        if is_allowed:
            self._show_cost(self.tokens)

    def choose(self, request: models.ComponentRequest) -> None:
        """Choose what was chosen before; how it is recompressed has to be said anew."""
        if request.version_id in self._options():
            self._version.set_value(request.version_id)
        self._tokens.set_value(request.allocation)

    def written(self) -> dict[str, Any]:
        """Return what is chosen on the card as it stands, to be resumed."""
        form = {name: one.value for name, one in self._form.fields.items()} if self._form else None
        return {
            "session": self.session.session_id,
            "version": self._version.value,
            "tokens": self._tokens.value if self._tokens.visible else None,
            "recompress": form,
        }

    def resume(self, written: dict[str, Any]) -> None:
        """Choose what was chosen when the page was left."""
        if written["version"] in self._options():
            self._version.set_value(written["version"])
        self._tokens.set_value(written["tokens"])
        self._recompress.set_value(written["recompress"] is not None)
        if self._form is not None:
            for name, value in written["recompress"].items():
                self._form.fields[name].set_value(value)

    @property
    def tokens(self) -> int:
        """How many tokens it is to get."""
        return int(self._tokens.value or 0)

    def request(self, *, with_tokens: bool) -> models.ComponentRequest:
        """Return it as it is asked for. Raises: FormError where a number is missing."""
        form = self._form
        return models.ComponentRequest(
            session_id=self.session.session_id,
            version_id=AUTOMATIC if form else self._version.value,
            allocation=self.tokens if with_tokens else None,
            recompress_settings=form.settings() if form else None,
        )

    def foresee(self, item: models.ForeseenItem) -> None:
        """Show what it would be."""
        way = _WAYS[item.way].format(item.version_id)
        stale = " It covers less than the session holds by now." if item.stale else ""
        self._show_status(f"{way}{f': {item.reason}' if item.reason else ''}.{stale}", item.allocation)

    def show_composed(self, name: str, item: models.ComponentItem) -> None:
        """Show as what it went into a composition."""
        is_original, is_made = item.version_id == ORIGINAL, item.version_state == "working"
        way = _WAYS["original" if is_original else "join" if is_made else "version"].format(item.version_id)
        self._show_status(f"Composed as part of {name}. {way}.", item.allocation)

    def _show_status(self, text: str, tokens: int) -> None:
        self._status.set_text(text)
        self._show_cost(tokens)
        if not self._tokens.visible:
            # Where somebody begins who goes on by hand.
            self._tokens.set_value(tokens)

    def _show_cost(self, tokens: int) -> None:
        self.cost = tokens
        self._cost.set_text(f"{tokens:,} tokens")

    def _change_tokens(self) -> None:
        # What the strategy gives out is shown here, and is no change of what is asked for.
        if self._tokens.visible:
            self._changed()

    def _switch(self) -> None:
        self._form_area.clear()
        self._status.set_text("")
        self._form = None
        self._version.set_enabled(not self._recompress.value)
        if self._recompress.value:
            with self._form_area:
                self._form = CompressionForm(self._changed)
        self._changed()

    def _options(self) -> dict[str, str]:
        original = f"Original - {short(self.session.original_tokens)} tokens"
        made = {
            one.version_id: f"{one.version_id} {made_how(one)} - {short(one.output_tokens)} tokens"
            for one in self._versions
        }
        return {AUTOMATIC: "Best that fits", ORIGINAL: original} | made


Strategy = Literal["equal", "proportional", "recent-first", "custom"]
Order = Literal["as-given", "oldest-first"]
_STRATEGIES: dict[Strategy, str] = {
    "equal": "Equal", "proportional": "By length", "recent-first": "Recent first", "custom": "By hand",
}  # fmt: skip
_ORDERS: dict[Order, str] = {"as-given": "As arranged", "oldest-first": "Oldest first"}
_LISTED = 100
_LABELS = {
    "totalTokenBudget": ("Token budget", "a whole number, 100 or more."),
    "tokenBudget": ("Token budget", "a whole number, 100 or more."),
    "allocation": ("Allocation (tokens)", "a whole number, 0 or more."),
    "name": ("Name", "letters, digits and any of . _ -; the first is a letter or a digit."),
}
_SETTLE_SECONDS = 0.3
_ARRANGED = "arranged"


class ComposerState(PageState):
    """What the address says: the sessions that are parts, in their order."""

    session: str = ""


def register(frame: Frame) -> None:
    """Register the page."""

    @frame.page("/composer/{app_id}", "Composer")
    async def show(view: PageView, app_id: str, state: Annotated[ComposerState, Query()]) -> None:
        add_style(STYLE + _STYLE)
        composer = Composer(view)
        await composer.build(state.project)
        for one in filter(None, state.session.split(",")):
            async with view.show_errors():
                await composer.add(one)
        composer.keep()


class Composer:
    """What is to be composed, and what was."""

    def __init__(self, view: PageView) -> None:
        self._view = view
        self._project_id: str | None = None
        self._parts: list[PartCard] = []
        self._colours = cycle(SERIES_COLOURS)
        self._history = CompositionHistory(view, self.take_over)
        self._foreseen = ""
        self._changes = 0
        self._draft: Draft | None = None

    async def build(self, project_id: str) -> None:
        """Build the page, for a project or the newest one."""
        self._fields()
        with ui.column().classes("card gap-2 sticky-top"):
            self._bar = ui.element("div").classes("budget").props("role=img aria-label='What each part takes'")
            self._status = ui.label().props("role=status aria-label=Budget").classes("said")
            with ui.row().classes("w-full items-center gap-x-3 gap-y-2"):
                self._name = ui.input("Name", placeholder="feature-x").classes("grow min-w-[12rem]")
                self._name.props("debounce=200")
                self._markdown = ui.checkbox("Markdown", value=True)
                self._jsonl = ui.checkbox("JSONL", value=True)
                if self._view.may_write:
                    action("Compose", self.compose, PRIMARY, icon="layers")
        heading("Parts")
        with ui.element("div").classes("timeline"):
            self._list = ui.list().props("role=list aria-label=Parts")
            self._list.make_sortable(handle=".handle", on_end=self._drop)
            with ui.column().classes("card composed gap-1 items-center"):
                note("Composed context")
                self._total = ui.label().classes("text-lg font-semibold text-center")
        with ui.row().classes("w-full items-center gap-2"):
            self._session = FoundSelect("Session to add", self._find_sessions, self._view.client.show_session)
            self._session.classes("grow")
            action("Add session", self._add_chosen, OUTLINED, icon="add")
        with ui.row().classes("w-full items-center gap-2"):
            self._work = ui.input("What you work on").classes("grow min-w-[14rem]")
            self._work.on("keydown.enter", self.suggest)
            action("Suggest sessions", self.suggest, OUTLINED, icon="lightbulb")
        self._suggested = ui.column().classes("w-full gap-1").props("role=list aria-label='Suggested sessions'")
        # Once what is changed has settled for a moment.
        self._due = ui.timer(_SETTLE_SECONDS, self._foresee, active=False)
        self._history.build()
        await self._projects.load(project_id or None)
        await self._choose()
        self._show_budget()
        live(self._view).on({"job.finished"}, self._history.refresh)

    def _fields(self) -> None:
        with ui.element("div").classes("fields").style("grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr))"):
            self._projects = projects_to_choose(self._view, self._choose)
            self._budget = ui.number("Token budget", value=16_000, min=100, step=500, on_change=self.change)
            self._window = ui.number("Context window", value=200_000, min=1, step=1000, on_change=self._show_budget)
            self._strategy = ui.select(_STRATEGIES, value="equal", label="Allocation", on_change=self.change)
            self._order = ui.select(_ORDERS, value="as-given", label="Order", on_change=self.change)
            for field in (self._budget, self._window, self._strategy, self._order):
                field.props("debounce=200")

    async def _choose(self) -> None:
        if self._projects.value == self._project_id or self._projects.value is None:
            return
        is_new = self._project_id is not None
        self._project_id = str(self._projects.value)
        self._view.address.show(is_new=is_new, project=self._project_id, **({"session": ""} if is_new else {}))
        self._parts.clear()
        self._list.clear()
        self._suggested.clear()
        async with self._view.show_errors():
            await self._session.load()
            self._session.set_value(None)
        await self._history.show(self._project_id)
        self.change()

    async def _find_sessions(self, text: str | None) -> dict[str, str]:
        page = await self._view.client.list_sessions(project_id=self._project_id, search=text, limit=CHOICES)
        return {one.session_id: f"{one.session_id} ({short(one.original_tokens)})" for one in page.sessions}

    def keep(self) -> None:
        """Keep what is put together here in the tab from now on, and resume what was kept."""
        fields: dict[str, ValueElement[Any]] = {
            "name": self._name, "budget": self._budget, "window": self._window, "strategy": self._strategy,
            "order": self._order, "work": self._work, "markdown": self._markdown, "jsonl": self._jsonl,
        }  # fmt: skip
        self._draft = Draft(self._view, "composition", fields, self._resume, says_so=False)

    async def _resume(self, kept: dict[str, Any]) -> None:
        arranged = kept[_ARRANGED]
        if arranged["project"] != self._project_id:
            return
        # What the address names and was not kept comes last: somebody came with it from another page.
        present = {part.session.session_id: part for part in self._parts}
        for index, written in enumerate(arranged["parts"]):
            async with self._view.show_errors():
                if (part := present.get(written["session"])) is None:
                    await self.add(written["session"])
                    part = self._parts[-1]
                part.resume(written)
                self._insert_part(part, index)

    async def _add_chosen(self) -> None:
        if self._session.value:
            await self.add(self._session.value)
            self._session.set_value(None)

    async def add(self, session_id: str, chosen: models.ComponentRequest | None = None) -> None:
        """Add a session behind the others."""
        session = await self._view.client.show_session(session_id)
        versions = await self._view.client.list_versions(session_id, limit=_LISTED)
        with self._list:
            part = PartCard(self, session, versions.versions, next(self._colours))
        if chosen is not None:
            part.choose(chosen)
        self._parts.append(part)
        self._arrange()

    async def suggest(self) -> None:
        """Show which sessions would help with what is worked on, within the budget."""
        found = await self._view.client.suggest_sessions(
            self._project_id or "", text=self._work.value or None, token_budget=int(self._budget.value or 0),
        )  # fmt: skip
        fill(self._suggested, found.suggestions, self._suggestion, "No session seems to help.")

    def _suggestion(self, one: models.SuggestedSession) -> None:
        why = ", ".join([*one.matched_topics[:3], *one.matched_files[:3]])
        form = one.version_id or "a new version"
        summary = f"{one.session_id}, {form}: about {one.suggested_tokens:,} tokens" + (f" ({why})" if why else "")
        with ui.row().classes("card items-center no-wrap gap-2").props("role=listitem") as row:
            ui.label(summary).classes("said grow min-w-0 text-sm")

            async def take() -> None:
                row.delete()
                await self.add(one.session_id, one.component)

            action("Add", take, FLAT, icon="add", of=one.session_id).classes("shrink-0")

    @in_turn
    async def take_over(self, former: models.CompositionAnswer) -> None:
        """Put what a composition was asked for back into the fields."""
        request = former.request
        self._name.set_value(former.name)
        self._budget.set_value(former.token_budget)
        self._strategy.set_value(request.get("strategy", "equal"))
        self._order.set_value(request.get("order", "as-given"))
        self._markdown.set_value(request.get("outputFormat", "both") != "jsonl")
        self._jsonl.set_value(request.get("outputFormat", "both") != "markdown")
        self._parts.clear()
        self._list.clear()
        for one in request["components"]:
            chosen = models.ComponentRequest.model_validate(one)
            async with self._view.show_errors():
                await self.add(chosen.session_id, chosen)

    def move(self, part: PartCard, by: int) -> None:
        """Move a part by so many places."""
        self._insert_part(part, self._parts.index(part) + by)
        # Moving an element takes the focus away; at an end its button cannot have it any more.
        button = part.earlier if by < 0 else part.later
        if not button.enabled:
            button = part.later if by < 0 else part.earlier
        ui.run_javascript(f"setTimeout(() => getHtmlElement({button.id}).focus(), 50)")

    def _insert_part(self, part: PartCard, index: int) -> None:
        self._parts.remove(part)
        self._parts.insert(index, part)
        part.card.move(target_index=index)
        self._arrange()

    def _drop(self, event: SortableEventArguments) -> None:
        self._parts.sort(key=lambda part: event.target.default_slot.children.index(part.card))
        self._arrange()

    def remove(self, part: PartCard) -> None:
        """Take a part away."""
        self._parts.remove(part)
        part.card.delete()
        self._arrange()

    def _arrange(self) -> None:
        for number, part in enumerate(self._parts, 1):
            part.set_number(number, len(self._parts))
        self.change()

    def change(self) -> None:
        """Something else would be composed than what was foreseen."""
        self._changes += 1
        self._foreseen = ""
        self._show_budget()
        self._due.activate()
        if self._draft is not None:
            parts = [part.written() for part in self._parts]
            self._draft.note(_ARRANGED, {"project": self._project_id, "parts": parts})
            names = ",".join(part.session.session_id for part in self._parts)
            self._view.address.show(is_new=False, session=names)

    def _show_budget(self) -> None:
        """Show what each part takes of the budget, and the budget against the window."""
        budget, window = int(self._budget.value or 0), int(self._window.value or 0)
        for part in self._parts:
            part.allow_allocation(self._strategy.value == "custom")
        total = sum(part.cost for part in self._parts)
        whole = max(total, budget, 1)
        self._bar.clear()
        with self._bar:
            for part in self._parts:
                segment = ui.element("div").style(f"background: {part.colour}; width: {100 * part.cost / whole:.2f}%")
                segment.props["title"] = f"{part.session.session_id}: {part.cost:,} tokens"
            if total > budget:
                ui.element("div").classes("limit").style(f"left: {100 * budget / whole:.2f}%")
        taken = ", ".join(f"{part.session.session_id} {part.cost:,}" for part in self._parts) or "nothing yet"
        self._bar.props["aria-label"] = f"What each part takes, in tokens: {taken}"
        self._total.set_text(f"{total:,} tokens" if self._parts else "Add a session")
        status = f"Total: {total:,} / {budget:,} tokens."
        if total > budget:
            status += f" That is more than the budget, by {total - budget:,}."
        for label in (self._status, self._total):
            label.classes(**{"add" if total > budget else "remove": "danger"})
        if window:
            status += f" The budget is {budget / window:.0%} of the context window of {window:,}."
        self._status.set_text(f"{status} {self._foreseen}".strip())

    def _component_requests(self) -> list[models.ComponentRequest]:
        if not self._parts or self._project_id is None:
            raise FormError("Add a session first.")
        return [part.request(with_tokens=self._strategy.value == "custom") for part in self._parts]

    async def _foresee(self) -> None:
        """Show what each part would be and take."""
        self._due.deactivate()
        before, is_by_hand = self._changes, self._strategy.value == "custom"
        # What is more than the budget is shown, and is nothing to ask for.
        if not self._parts or (is_by_hand and sum(part.tokens for part in self._parts) > (self._budget.value or 0)):
            return
        async with self._view.show_errors():
            try:
                with in_words_of(_LABELS):
                    found = await self._view.client.preview_composition(
                        self._project_id or "", self._component_requests(), int(self._budget.value or 0),
                        strategy=self._strategy.value, order=self._order.value,
                    )  # fmt: skip
            except FormError as error:
                self._foreseen = str(error)
            else:
                # Something else was chosen while it was asked for.
                if before != self._changes:
                    return
                of_session = {one.session_id: one for one in found.components}
                for part in self._parts:
                    part.foresee(of_session[part.session.session_id])
                made = counted(found.compressions, "new version")
                self._foreseen = f"{made} would be made." if found.compressions else "All versions are there."
            self._show_budget()

    async def compose(self) -> None:
        """Ask for it."""
        with in_words_of(_LABELS):
            components, before = self._component_requests(), self._changes
            if not self._name.value:
                raise FormError("Give the composition a name.")
            made = await self._view.client.make_composition(
                self._project_id or "", components, int(self._budget.value or 0), self._name.value,
                strategy=self._strategy.value, order=self._order.value, output_format=self._format(),
            )  # fmt: skip
            notify_success(f"{made.composition.name} is being composed.")
            if before == self._changes:
                # In the place of what was foreseen, and of what is still being foreseen.
                self._due.deactivate()
                self._changes += 1
                of_session = {one.session_id: one for one in made.composition.components}
                for part in self._parts:
                    part.show_composed(made.composition.name, of_session[part.session.session_id])
                self._foreseen = ""
                self._show_budget()
            if self._draft is not None:
                self._draft.forget()
            await self._history.refresh()

    def _format(self) -> Literal["markdown", "jsonl", "both"]:
        if self._markdown.value and self._jsonl.value:
            return "both"
        if not self._markdown.value and not self._jsonl.value:
            raise FormError("Choose Markdown, JSONL or both.")
        return "markdown" if self._markdown.value else "jsonl"
