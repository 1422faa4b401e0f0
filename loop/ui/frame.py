"""What surrounds each page: who may see it, the way to the others, light and dark, and how errors are shown.

Shows what others change: one stream of events for each page, and what of it is to be shown anew.

Keeps what is shown whole: of two readings at once, neither shows its rows beside the other's, nor a page twice.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property, wraps
from time import monotonic
from typing import Any, Concatenate, ParamSpec, TypeVar, get_type_hints
from urllib.parse import quote, urlencode

from nicegui import Client, background_tasks, ui
from nicegui.elements.mixins.validation_element import ValidationElement
from starlette.responses import RedirectResponse, Response

from afterthought_client import AfterthoughtError, AsyncAfterthought
from loop.ui.head import add_script, add_style
from loop.ui.state import SCRIPT, PageAddress, PageState, own_drafts_only
from loop.ui.visitors import ENDED, FormError, Visitor, Visitors, login_url, present_login
from loop.ui.wording import message_of

for _kind, _look in (
    (ui.input, "outlined dense"), (ui.number, "outlined dense"), (ui.input_chips, "outlined dense"),
    (ui.select, "outlined dense options-dense"), (ui.textarea, "outlined autogrow"), (ui.button, "no-caps"),
):  # fmt: skip
    # Of all pages: one look of fields and buttons.
    _kind.default_props(_look)
P = ParamSpec("P")
SHOWN_ERRORS = (AfterthoughtError, FormError)
"""What a page shows instead of failing."""
_SHOWN = "shown on a page"
Build = Callable[Concatenate["PageView", P], Awaitable[None]]
_OF_AN_APP = (("Chat", "chat", "forum"), ("Memory", "memory", "psychology"), ("Sessions", "sessions", "terminal"),
              ("Composer", "composer", "dashboard_customize"))  # fmt: skip
_OF_A_PERSON = _OF_AN_APP[:2]
_OF_ALL = (
    ("Operations", "/operations", "monitor_heart"),
    ("Administration", "/administration", "admin_panel_settings"),
)
COLOURS = {"project": "#0891b2", "preference": "#7c3aed", "identity": "#15803d", "pin": "#c2410c"}
MARK = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" aria-hidden="true">'
    '<rect width="24" height="24" rx="6" fill="#0e7490"/>'
    '<g fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round">'
    '<path d="M10.6 7.2a6.6 6.6 0 0 0 0 9.6"/><path d="M6.9 4.2a11 11 0 0 0 0 15.6" opacity=".6"/></g>'
    '<circle cx="15.6" cy="12" r="3.6" fill="#fff"/></svg>'
)
"""A thought, and its echo."""
_PATIENCE_SECONDS = 600.0
"""How long a page is kept whose browser is away, asleep or without a network, with what is open in it."""
_LEFT_SECONDS = 2.0
_STYLE = """
:root { --line: #d4d4d8; --muted: #52525b; --page: #fff; }
.body--light { --q-primary: #0e7490 !important; }
.body--dark { --line: #3f3f46; --muted: #a1a1aa; --page: #121212; --q-primary: #22d3ee !important; }
.body--dark .q-dialog { --page: #1d1d1d; }
.nicegui-content { padding: 1rem; gap: 1rem; max-width: 1400px; margin: 0 auto; width: 100%; }
.muted { color: var(--muted); }
.danger { color: #b91c1c !important; } .body--dark .danger { color: #fca5a5 !important; }
.body--dark .q-field { --q-negative: #fca5a5; }
.nicegui-link:where(:not(.text-inherit)) { color: var(--q-primary); }
.card { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; width: 100%; }
.menu[aria-current] > *, .current { background: rgb(8 145 178 / .16); box-shadow: inset 3px 0 var(--q-primary); }
.menu[aria-current] { font-weight: 600; }
.said { white-space: pre-wrap; overflow-wrap: anywhere; }
.rendered { overflow-wrap: anywhere; } .rendered pre { white-space: pre-wrap; }
.rendered :is(pre, code) { background: rgb(127 127 127 / .12); border-radius: .25rem; padding: .1rem .3rem; }
.rendered pre { padding: .5rem .75rem; } .rendered pre code { background: none; padding: 0; }
.rendered > :first-child { margin-top: 0; } .rendered > :last-child { margin-bottom: 0; }
.rendered h4 { font-size: 1.1rem; font-weight: 600; line-height: 1.5; margin: .75rem 0 .25rem; }
.rendered a { color: var(--q-primary); text-decoration: underline; }
a.skip { position: absolute; left: -999px; } a.skip:focus { left: 1rem; top: .5rem; z-index: 9999; background: white; }
:focus-visible { outline: 2px solid #0891b2; outline-offset: 2px; }
"""


@dataclass(frozen=True)
class PageView:
    """A page as a visitor sees it: of an app, or (without one) of all."""

    visitors: Visitors
    visitor: Visitor
    address: PageAddress
    app_id: str = ""

    @cached_property
    def client(self) -> AsyncAfterthought:
        """The interface, with the visitor's token; a call is about the view's app, where it names no other."""
        # A copy, with the same connections: another page of the visitor's may be about another app.
        client = copy(self.visitor.client)
        client.app = self.app_id or None
        return client

    @property
    def may_write(self) -> bool:
        """Whether anything may be changed."""
        return self.visitor.may_write

    @asynccontextmanager
    async def show_errors(self, beside: ValidationElement[Any] | None = None) -> AsyncIterator[None]:
        """Show what the service refuses, beside a field or else at the page's foot, and go on.

        Without it, that is shown at the foot and ends what was clicked.
        """
        # Asked now: what was clicked may be gone from the page when the service has answered.
        page = ui.context.client
        try:
            yield
        except SHOWN_ERRORS as error:
            with page:
                if beside is None or beside.is_deleted:
                    await self.visitors.show_error(error)
                elif not await self.visitors.has_ended(error):
                    beside.error = message_of(error)


class Frame:
    """Makes functions into pages for visitors who have logged in."""

    def __init__(self, visitors: Visitors) -> None:
        self.visitors = visitors

    def page(self, path: str, title: str) -> Callable[[Build[P]], None]:
        """Return a decorator that serves what a function builds; its first argument is the view.

        Others come from the path, like ``app_id``; an app that the visitor's token does not open is refused by the
        interface as soon as something of it is asked.
        """

        def register(build: Build[P]) -> None:
            async def shown(*args: Any, **given: Any) -> Response | None:
                login = present_login()
                try:
                    visitor = await self.visitors.recognise(login)
                except SHOWN_ERRORS as error:
                    # Who it is cannot be asked now; the login is good for when it can.
                    with ui.column().classes("w-full max-w-md mx-auto mt-16 gap-4 p-4"), bare(title):
                        ui.label(message_of(error)).classes("said").props("role=alert")
                    return None
                if visitor is None:
                    return RedirectResponse(login_url(ENDED if login else ""))
                state = next((one for one in given.values() if isinstance(one, PageState)), PageState())
                view = PageView(self.visitors, visitor, PageAddress(state), given.get("app_id", ""))
                show_errors(self.visitors)
                _release_when_left(ui.context.client)
                with _surroundings(view, title, is_of_app="app_id" in given) as named:
                    try:
                        if view.app_id:
                            named.set_text((await view.client.show_app()).name)
                        await build(view, *args, **given)
                    except SHOWN_ERRORS as error:
                        if not await self.visitors.has_ended(error):
                            ui.label(message_of(error)).classes("said").props("role=alert")
                            ui.link("Go to the apps", "/")
                return None

            # The library reads what a page takes from its signature, which has no view in it.
            hints = get_type_hints(build, include_extras=True)
            taken = list(inspect.signature(build).parameters.values())[1:]
            shown.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
                [one.replace(annotation=hints[one.name]) for one in taken]
            )
            ui.page(path, title=f"{title} - Afterthought", response_timeout=30)(shown)

        return register


def _release_when_left(client: Client) -> None:
    """Have the page forgotten soon after its tab was closed or shows another one."""
    # A page of its own, as what the library hands to all clients of an address is one for all of them.
    client.page = copy(client.page)
    # Nor is a page kept that was left before its browser could say so, on the way to another one.
    client.page.reconnect_timeout = _LEFT_SECONDS
    is_left = False

    def keep() -> None:
        client.page.reconnect_timeout = _LEFT_SECONDS if is_left else _PATIENCE_SECONDS

    def leave() -> None:
        nonlocal is_left
        is_left = True
        keep()

    client.on_connect(lambda: client.run_javascript("emitEvent('page_shown')"))
    ui.on("page_shown", keep)
    ui.on("page_left", leave)


def show_errors(visitors: Visitors) -> None:
    """Have the page that is being built show what the service refuses to what is clicked on it."""

    def show(error: Exception) -> Awaitable[None] | None:
        if not isinstance(error, SHOWN_ERRORS):
            return None
        error.add_note(_SHOWN)
        return visitors.show_error(error)

    ui.on_exception(show)
    # The library writes each down afterwards, with where it was raised; what a page showed is no fault of ours.
    logging.getLogger("nicegui").addFilter(_is_fault)


def _is_fault(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return _SHOWN not in getattr(error, "__notes__", ())


def chat_address(app_id: str, **parameters: str | None) -> str:
    """Return the address of a conversation's page; what is None is left out."""
    query = {name: value for name, value in parameters.items() if value is not None}
    return f"/chat/{quote(app_id, safe='')}?{urlencode(query)}"


@contextmanager
def bare(title: str) -> Iterator[None]:
    """Surround a page for anybody."""
    add_style(_STYLE)
    add_script(SCRIPT)
    ui.dark_mode(None)
    with ui.row().classes("items-center gap-3"):
        ui.html(MARK, sanitize=False).classes("w-8 h-8")
        ui.html(f"<h1 class='text-2xl font-semibold'>{title}</h1>", sanitize=False)
    yield


@contextmanager
def _surroundings(view: PageView, title: str, *, is_of_app: bool) -> Iterator[ui.badge]:
    """Yields where the name of the app is told."""
    visitor = view.visitor
    add_style(_STYLE)
    add_script(SCRIPT)
    own_drafts_only(view)
    dark = ui.dark_mode(visitor.dark)
    header = ui.header(elevated=False).classes("items-center bg-zinc-900 text-white py-2 px-3 gap-2 no-wrap")
    with header:
        # Out of the flow, in which it would leave a gap.
        ui.html("<a class='skip' href='#main'>Skip to the content</a>", sanitize=False).classes("absolute")
    # With a value of its own: without one the library asks the browser, which a busy one answers too late.
    drawer = ui.left_drawer(value=False, bordered=True)
    drawer.props("show-if-above width=220 breakpoint=900 role=navigation aria-label=Pages")
    with drawer:
        _links(view, title)
    with header:
        ui.button(icon="menu", on_click=drawer.toggle).props("flat round dense color=white aria-label=Menu")
        with ui.link(target="/").classes("flex shrink-0").props("aria-label=Afterthought"):
            ui.html(MARK, sanitize=False).classes("w-7 h-7")
        ui.label(title).classes("text-lg font-semibold ellipsis").props("role=heading aria-level=1")
        named = ui.badge(view.app_id).props("color=cyan-9").classes("ellipsis max-w-[40vw]")
        named.set_visibility(is_of_app)
        ui.space()

        async def turn() -> None:
            # Until somebody chooses it is the browser's choice, which only the browser knows.
            visitor.dark = not await ui.run_javascript("Quasar.Dark.isActive")
            dark.set_value(visitor.dark)

        ui.button(icon="contrast", on_click=turn).props("flat round dense color=white aria-label='Light or dark'")

        leave = ui.button(icon="logout").props("flat round dense color=white aria-label='Log out'")
        leave.on("click", js_handler="() => logOut()")
    with ui.column().classes("w-full gap-4").props("id=main tabindex=-1"):
        yield named


def _links(view: PageView, title: str) -> None:
    if view.visitor.user_id is None:
        _link("Apps", "/", "apps", title)
    if app_id := view.app_id or view.visitor.app_id:
        for name, first, icon in _OF_A_PERSON if view.visitor.user_id is not None else _OF_AN_APP:
            path = f"/{first}/{quote(app_id, safe='')}"
            view.address.follow(_link(name, path, icon, title), path)
    if view.visitor.is_admin:
        for name, address, icon in _OF_ALL:
            _link(name, address, icon, title)


def _link(name: str, address: str, icon: str, title: str) -> ui.link:
    link = ui.link(target=address).classes("w-full no-underline text-inherit menu")
    if name == title:
        link.props("aria-current=page")
    with link, ui.row().classes("items-center gap-3 py-2 px-2 rounded hover:bg-zinc-500/10 w-full"):
        ui.icon(icon, size="sm").props("aria-hidden=true")
        ui.label(name)
    return link


def mark_current(entry: ui.element, *, is_current: bool) -> None:
    """Show whether an entry of a list is the one that is open."""
    if is_current:
        entry.classes("current").props("aria-current=true")
    else:
        entry.classes(remove="current").props(remove="aria-current")


_Self = TypeVar("_Self")
_Arguments = ParamSpec("_Arguments")
_Shown = Callable[Concatenate[_Self, _Arguments], Coroutine[Any, Any, None]]


def in_turn(show: _Shown[_Self, _Arguments]) -> _Shown[_Self, _Arguments]:
    """Have the calls of all methods so marked wait for each other, for each object; one must not call another.

    An event, a click and a second click may each show a list anew; between a method's reading and its showing, another
    would add the same rows again, or those of what was chosen before.
    """

    @wraps(show)
    async def waiting(self: _Self, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> None:
        lock = self.__dict__.setdefault("_turn", asyncio.Lock())
        async with lock:
            await show(self, *args, **kwargs)

    return waiting


def press_once(button: ui.button, act: Callable[[], Awaitable[None]]) -> ui.button:
    """Have a button do something, but not again while it does it, nor once it is hidden: a double click is one.

    A button that shows the next page would otherwise show one twice, or begin at the first again after the last. It is
    not disabled meanwhile, as that takes the focus away.
    """
    is_at_it = False

    async def pressed() -> None:
        nonlocal is_at_it
        if is_at_it or not button.visible:
            return
        is_at_it = True
        try:
            await act()
        finally:
            is_at_it = False

    return button.on_click(pressed)


Refresh = Callable[[], Awaitable[None]]
_GAP = "gap"
_SETTLE_SECONDS = 0.15
"""Several changes at once are shown once."""
_SHARE, _MOST_SECONDS = 0.1, 1.0
"""Of the time, what all open pages together may take to show changes; and what one showing counts for at the most."""
_free_at = 0.0
"""When the next page may show changes: their requests are carried out by the process that answers everybody else's."""


class PageEvents:
    """One page's stream of events: an app's, or (without one) those of all with the energy.

    It ends with the page, and when its visitor has logged out.
    """

    def __init__(self, view: PageView) -> None:
        self._view = view
        self._client = ui.context.client
        self._listeners: list[tuple[frozenset[str], Refresh]] = []
        self._happened: set[str] = set()
        self._news = asyncio.Event()
        self._cost = 0.0
        tasks = [background_tasks.create(one, name="events of a page") for one in (self._listen(), self._show())]
        self._client.on_delete(lambda: [task.cancel() for task in tasks])

    def on(self, kinds: Collection[str], refresh: Refresh) -> None:
        """Have something shown anew after events of these kinds."""
        self._listeners.append((frozenset(kinds), refresh))

    async def _listen(self) -> None:
        with self._client:
            async with self._view.show_errors():
                client = self._view.client
                async for event in client.follow_app() if self._view.app_id else client.follow_all():
                    # Of a gap nobody knows what was in it.
                    if event.kind == _GAP or any(event.kind in kinds for kinds, _ in self._listeners):
                        self._happened.add(event.kind)
                        self._news.set()

    async def _show(self) -> None:
        while True:
            await self._news.wait()
            await asyncio.sleep(_SETTLE_SECONDS)
            # Nor while its browser is away: it would be built for nobody, and sent all at once.
            await self._client.connected()
            await _wait_for_a_turn(self._cost)
            self._news.clear()
            happened, self._happened = self._happened, set()
            began = monotonic()
            with self._client:
                for kinds, refresh in self._listeners:
                    if happened & kinds or _GAP in happened:
                        async with self._view.show_errors():
                            await refresh()
            self._cost = min(monotonic() - began, _MOST_SECONDS)


async def _wait_for_a_turn(cost: float) -> None:
    """Wait until showing something anew, which takes so many seconds, leaves the interface most of its time."""
    global _free_at
    start = max(monotonic(), _free_at)
    _free_at = start + cost / _SHARE
    await asyncio.sleep(start - monotonic())


def live(view: PageView) -> PageEvents:
    """Return the stream of the page that is being built; there is one of each app."""
    storage = ui.context.client.storage
    key = f"live of {view.app_id}"
    if key not in storage:
        storage[key] = PageEvents(view)
    found: PageEvents = storage[key]
    return found
