"""Tables, lists of cards, views and headings, as people and screen readers know them; and the looks of buttons.

Who did something, as people know them: a token by what it is for, where that is known, and else by its number.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from markdown_it import MarkdownIt
from nicegui import ui
from nicegui.events import GenericEventArguments

from loop.ui.frame import PageView, in_turn, press_once
from loop.ui.head import add_style
from loop.ui.wording import UNKNOWN, ago, author_of, minute

_MOST_TOKENS = 100
_STYLE = """
/* A shade at the side on which there is more to scroll to. */
.listing { overflow-x: auto; background-repeat: no-repeat;
  background-size: 3rem 100%, 3rem 100%, .75rem 100%, .75rem 100%;
  background-position: 0, 100%, 0, 100%; background-attachment: local, local, scroll, scroll;
  background-image: linear-gradient(90deg, var(--page) 50%, transparent),
    linear-gradient(270deg, var(--page) 50%, transparent),
    radial-gradient(farthest-side at 0 50%, rgb(127 127 127 / .6), transparent),
    radial-gradient(farthest-side at 100% 50%, rgb(127 127 127 / .6), transparent); }
.figures { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .15rem 1rem; margin: 0; }
.figures dd { margin: 0; overflow-wrap: anywhere; }
.tiles { display: grid; gap: 1rem; width: 100%; grid-template-columns: repeat(auto-fill, minmax(9.25rem, 1fr)); }
.tile { display: flex; flex-direction: column; color: inherit; text-decoration: none; border: 1px solid var(--line);
  border-radius: .5rem; padding: .75rem; min-width: 0; border-left: 4px solid var(--line); }
.tile:hover { background: rgb(127 127 127 / .08); } .tile.bad { border-left-color: #c2410c; }
.tile .figure { font-size: 1.5rem; line-height: 2rem; font-weight: 600; }
.listing { background-color: transparent !important; } .listing .q-table__middle { overflow: visible; flex: none; }
.listing .q-table__bottom--nodata .q-icon { display: none; }
.listing .q-badge[outline], .listing .q-badge--outline { color: inherit; }
.listing th { color: var(--muted); font-weight: 500; font-size: .875rem; } .listing td { font-size: .875rem; }
@media (max-width: 599px) { .listing .q-table :is(th, td) { padding-left: .5rem; padding-right: .5rem; }
  .q-dialog .listing .q-table :is(th, td) { padding-left: .2rem; padding-right: .2rem; } }
.listing .short { white-space: nowrap; } .listing .long { min-width: 14rem; overflow-wrap: anywhere; }
.listing .link { color: var(--q-primary); text-decoration: underline; }
.views { display: flex; gap: .25rem; flex-wrap: wrap; border-bottom: 1px solid var(--line); width: 100%; }
.views a { padding: .5rem .75rem; text-decoration: none; color: var(--muted); border-bottom: 2px solid transparent; }
.views a[aria-current] { color: inherit; border-color: var(--q-primary); }
"""


@dataclass
class KeptInPlace:
    """What is shown in a place: what did not change stays there, as what is built anew loses clicks and writing."""

    container: ui.element
    built: dict[str, tuple[object, ui.element]] = field(default_factory=dict)

    def show(self, items: Iterable[tuple[str, object, Callable[[], ui.element]]], anyway: Collection[str] = ()) -> None:
        """Show these, each under its key; one whose ``object`` is the same stays, and so do those of ``anyway``."""
        before, self.built = self.built, {}
        for index, (key, shown, build) in enumerate(items):
            old = before.get(key)
            if old is not None and (old[0] == shown or key in anyway):
                self.built[key] = before.pop(key)
            else:
                with self.container:
                    self.built[key] = (shown, build())
            # Also what stays, as others may have come or gone before it.
            self.built[key][1].move(target_index=index)
        for key, old in before.items():
            if key in anyway:
                self.built[key] = old
            else:
                old[1].delete()


@dataclass(frozen=True)
class Tile:
    """A figure with its name, what it means, and the address where more of it is shown."""

    name: str
    figure: str
    about: str
    address: str
    is_bad: bool = False

    def build(self) -> ui.element:
        """Show it."""
        with ui.link(target=self.address).classes("tile bad" if self.is_bad else "tile") as shown:
            note(self.name)
            ui.label(self.figure).classes("figure")
            note(self.about).classes("said !text-xs")
        return shown


def tiles() -> KeptInPlace:
    """Return a place for tiles."""
    add_style(_STYLE)
    return KeptInPlace(ui.element("div").classes("tiles"))


@dataclass(frozen=True)
class Said:
    """The cell of a table: a text, with the whole of it or its exact time beside the cursor, or the way to more."""

    text: str
    tip: str = ""
    address: str = ""
    badge: str = ""
    """Its colour, where the text stands in a frame."""


@dataclass(frozen=True)
class Act:
    """The cell of a table that is a button; ``name`` says to screen readers what it is about."""

    text: str
    act: Callable[[], object]
    name: str = ""
    is_danger: bool = False


Cell = str | Said | Act
Row = Sequence[Cell]


def time_cell(at: datetime | None, before: str = "") -> Cell:
    """Return the cell that says how long ago something was."""
    return UNKNOWN if at is None else Said(f"{before} {ago(at)}".strip(), minute(at))


_CELL = """
<q-td :props="props">
  <a v-if="props.value.address" class="link" :href="props.value.address">{{ props.value.text }}</a>
  <q-btn v-else-if="props.value.acts" outline no-caps dense size="sm" padding="xs sm" :label="props.value.text"
    :class="{ danger: props.value.is_danger }" :color="props.value.is_danger ? undefined : 'primary'"
    :aria-label="props.value.name" @click="$parent.$emit('act', [props.key, props.col.name])" />
  <q-badge v-else-if="props.value.badge" :color="props.value.badge" role="none">{{ props.value.text }}</q-badge>
  <div v-else dir="auto" :class="(props.value.text ?? props.value).length > 30 ? 'long' : 'short'"
    :title="props.value.tip">{{ props.value.text ?? props.value }}</div>
</q-td>"""
_LAST = "do"
"""What the column is called that has no head."""
_CHOOSE_ALL = '<q-checkbox v-model="props.selected" dense aria-label="Choose all" />'
_CHOOSE = """<q-checkbox v-model="props.selected" dense :aria-label="'Choose ' + props.row.name" />"""


def listing(
    caption: str, columns: Sequence[str], empty: str = "", *, key: str = "#", hidden_on_phones: Collection[str] = ()
) -> ui.table:
    """Show a table of the library's, whose columns have their heads for names; ``key`` is what tells rows apart.

    Rows that can be chosen have a ``name`` too. Pages are fetched by who fills it: the service knows which is the next
    one, and not how many there are.
    """
    add_style(_STYLE)

    def column(name: str) -> dict[str, Any]:
        classes = "gt-xs" if name in hidden_on_phones else ""
        look = {"align": "left", "classes": classes, "headerClasses": classes}
        return {"name": name or _LAST, "label": name, "field": name or _LAST} | look

    table = ui.table(rows=[], columns=[column(name) for name in columns], row_key=key)
    # It can have the focus, or nobody could scroll it by keys.
    table.props("flat dense wrap-cells hide-selected-banner tabindex=0 role=region")
    table.props["aria-label"], table.props["no-data-label"] = caption, empty
    for name, template in (("body-cell", _CELL), ("header-selection", _CHOOSE_ALL), ("body-selection", _CHOOSE)):
        table.add_slot(name, template)
    return table.classes("w-full listing")


def _rows(head: Sequence[str], rows: Iterable[Row]) -> list[dict[str, Any]]:
    def shown(cell: Cell) -> object:
        if isinstance(cell, Act):
            return {"text": cell.text, "name": cell.name or cell.text, "is_danger": cell.is_danger, "acts": True}
        return cell if isinstance(cell, str) else asdict(cell)

    return [
        {"#": number} | {name or _LAST: shown(cell) for name, cell in zip(head, row, strict=True)}
        for number, row in enumerate(rows)
    ]


def show_table(caption: str, head: Sequence[str], rows: Iterable[Row]) -> None:
    """Show rows that are all there; the caption is for screen readers."""
    listing(caption, head).rows = _rows(head, rows)


ItemT = TypeVar("ItemT")


def fill(container: ui.element, items: Collection[ItemT], build: Callable[[ItemT], object], nothing: str = "") -> None:
    """Show items in the place of what was there; a sentence where there are none."""
    container.clear()
    with container:
        if nothing and not items:
            ui.label(nothing).classes("muted").props("role=listitem")
        for one in items:
            build(one)


Fetch = Callable[[str | None], Awaitable[tuple[Iterable[ItemT], str | None]]]
"""Returns the items after a cursor, and the cursor of those after them."""


def rows_of(
    listing: Callable[..., Awaitable[Any]],
    field: str,
    row: Callable[[Any], Any] = lambda one: one,
    limit: int = 25,
    **filters: object,
) -> Fetch[Any]:
    """Return what fetches a listing of the client, of whose answers ``field`` has the items, made into rows."""

    async def fetch(cursor: str | None) -> tuple[list[Any], str | None]:
        page = await listing(limit=limit, cursor=cursor, **filters)
        return [row(one) for one in getattr(page, field)], page.cursor

    return fetch


async def read_pages(fetch: Fetch[ItemT], pages: int) -> tuple[list[ItemT], str | None]:
    """Return what stands on so many pages, and the cursor of the next."""
    items: list[ItemT] = []
    cursor = None
    for _ in range(pages):
        found, cursor = await fetch(cursor)
        items += found
        if cursor is None:
            break
    return items, cursor


class PagedCards(Generic[ItemT]):
    """A list of what is listed page by page, with a card for each: the first, and the next when they are asked for."""

    def __init__(
        self, name: str, fetch: Fetch[ItemT], build: Callable[[ItemT], object], *, empty: str, more: str = "More"
    ) -> None:
        self._fetch, self._build, self._empty = fetch, build, empty
        self._shown: list[ItemT] | None = None
        self._pages = 1
        self.container = ui.column().classes("w-full gap-2").props("role=list")
        self.container.props["aria-label"] = name
        self._more = more_button(self._show_more, more)
        self._more.set_visibility(False)

    @in_turn
    async def refresh(self, *, anew: bool = False) -> None:
        """Show them as they are now, as many pages as were asked for; ``anew`` the first page of others."""
        if anew:
            self._pages = 1
        items, cursor = await read_pages(self._fetch, self._pages)
        self._more.set_visibility(cursor is not None)
        # A button that is made anew loses a click that is on its way.
        if items != self._shown:
            self._shown = items
            fill(self.container, items, self._build, self._empty)

    async def _show_more(self) -> None:
        self._pages += 1
        await self.refresh()


class PagedTable:
    """A table of what is listed page by page: its first rows, and the next ones when they are asked for."""

    def __init__(self, caption: str, head: Sequence[str], fetch: Fetch[Row], *, empty: str) -> None:
        self._head, self._fetch = head, fetch
        self._found: list[Row] = []
        self._pages = 1
        self._cursor: str | None = None
        self._table = listing(caption, head, empty)
        self._table.on("act", self._act)
        self._more = more_button(self._show_more)
        self._more.set_visibility(False)

    @in_turn
    async def refresh(self) -> None:
        """Show the rows as they are now, as many pages as were asked for."""
        self._found, self._cursor = await read_pages(self._fetch, self._pages)
        self._draw()

    def _draw(self) -> None:
        self._more.set_visibility(self._cursor is not None)
        self._table.rows = _rows(self._head, self._found)

    @in_turn
    async def _show_more(self) -> None:
        found, self._cursor = await self._fetch(self._cursor)
        self._found += found
        self._pages += 1
        self._draw()

    async def _act(self, event: GenericEventArguments) -> None:
        row, name = event.args
        cell = self._found[row][self._head.index("" if name == _LAST else name)]
        assert isinstance(cell, Act)
        done = cell.act()
        if isinstance(done, Awaitable):
            await done


def show_views(path: str, views: Mapping[str, str], current: str) -> None:
    """Show links to the views of a page."""
    add_style(_STYLE)
    with ui.element("nav").classes("views").props("aria-label=Views"):
        for view, name in views.items():
            link = ui.link(name, f"{path}?view={view}")
            if view == current:
                link.props("aria-current=page")


@contextmanager
def card(title: str) -> Iterator[None]:
    """Show a section of a page in a frame, under its heading."""
    with ui.column().classes("card gap-2 min-w-0"):
        heading(title)
        yield


def heading(text: str, level: int = 2) -> ui.label:
    """Show the heading of a section."""
    look = "text-base font-semibold" if level == 2 else "font-medium"
    return ui.label(text).classes(look).props(f"role=heading aria-level={level}")


def badge(text: str, colour: str = "grey-8") -> ui.badge:
    """Show a word in a frame. Screen readers know it as a note: the library's own role announces what changes."""
    return ui.badge(text, color=colour).props("role=note")


SERIES_COLOURS = (
    "#0891b2", "#7c3aed", "#15803d", "#c2410c", "#be185d", "#a16207", "#4f46e5", "#0f766e", "#64748b", "#b91c1c",
)  # fmt: skip
"""What is counted beside other things has one of these."""
PRIMARY, OUTLINED, FLAT = "unelevated no-caps color=cyan-9", "outline no-caps", "flat dense no-caps"
"""Looks of buttons: what a form is for, what else it does, and what stands within a text."""


def action(
    name: str,
    act: Callable[[], object],
    look: str,
    *,
    icon: str | None = None,
    color: str | None = "primary",
    of: str = "",
) -> ui.button:
    """Show a button in one of the looks; screen readers say ``of`` what it is, where several have its name."""
    button = ui.button(name, icon=icon, on_click=act, color=color).props(look)
    if of:
        button.props["aria-label"] = f"{name} {of}"
    return button


def danger(name: str, act: Callable[[], object], look: str = OUTLINED) -> ui.button:
    """Show a button that takes something away for good."""
    return action(name, act, look, color=None).classes("danger")


def more_button(act: Callable[[], Awaitable[None]], name: str = "More") -> ui.button:
    """Show a button that shows the next page."""
    return press_once(action(name, lambda: None, FLAT), act)


def note(text: str) -> ui.label:
    """Show a text that explains, smaller and muted."""
    return ui.label(text).classes("muted text-sm")


def said(text: str) -> ui.label:
    """Show a text of somebody's, with its lines, in the direction that it is written in."""
    return ui.label(text).classes("said").props("dir=auto")


_SHOWN_CHARACTERS = 4_000
# HTML in it is text, and a picture a link to it: the browser would ask for one from wherever it lies.
_MARKDOWN = MarkdownIt("js-default").disable("image")


def figures(pairs: Sequence[tuple[str, str]]) -> None:
    """Show names with their values, two columns."""
    add_style(_STYLE)
    with ui.element("dl").classes("figures"):
        for name, value in pairs:
            with ui.element("dt").classes("muted"):
                ui.label(name)
            with ui.element("dd").classes("said"):
                ui.label(value)


def long_text(text: str, most: int = _SHOWN_CHARACTERS) -> None:
    """Show the beginning of a text, and the rest when it is asked for."""
    label = said(text[:most]).classes("w-full")
    if len(text) > most:
        _offer_rest(len(text), lambda: label.set_text(text))


def rendered_text(text: str, most: int = _SHOWN_CHARACTERS) -> None:
    """Show the beginning of a text that is written as Markdown, and the rest when it is asked for."""
    shown = ui.html(_html(text[:most]), sanitize=True).classes("rendered nicegui-markdown w-full").props("dir=auto")
    if len(text) > most:
        _offer_rest(len(text), lambda: shown.set_content(_html(text)))


def _html(markdown: str) -> str:
    # Its headings are not the page's: those of the first level stand where the page has its third.
    return re.sub(r"<(/?)h[1-6]>", r"<\1h4>", _MARKDOWN.render(markdown))


def _offer_rest(characters: int, show_all: Callable[[], object]) -> None:
    def show() -> None:
        show_all()
        more.delete()

    more = action(f"Show all {characters:,} characters", show, FLAT)


def icon_button(icon: str, name: str, act: Callable[[], object]) -> ui.button:
    """Show a small button of which only screen readers say the name."""
    button = ui.button(icon=icon, on_click=act, color=None).props("flat round dense size=sm")
    button.props["aria-label"] = name
    return button


TokenLabels = Mapping[str, str]
"""What tokens are for, by their ids."""
NO_LABELS: TokenLabels = MappingProxyType({})
_TOKEN = "token:"
_SHOWN = 12
"""Characters of an id by which tokens are told apart."""


async def token_labels(view: PageView) -> TokenLabels:
    """Return what an app's first tokens are for, of those of whom that is said."""
    listed = await view.client.list_tokens(limit=_MOST_TOKENS)
    return {one.token_id: one.label for one in listed.tokens if one.label}


def actor_name(actor: str, labels: TokenLabels = NO_LABELS) -> str:
    """Return who somebody is in a few words."""
    token = actor.removeprefix(_TOKEN)
    if token == actor:
        return author_of(actor)
    return f"token {labels.get(token) or f'{token[:_SHOWN]}…'}"


def actor_cell(actor: str, labels: TokenLabels = NO_LABELS) -> Cell:
    """Return the cell that says who somebody is, the whole of it beside the cursor where it is cut."""
    name = actor_name(actor, labels)
    return Said(name, "" if name == actor else actor)
