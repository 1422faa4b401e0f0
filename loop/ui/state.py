"""What outlasts a page: its address says what is looked at, and the browser's tab keeps what is being written in it.

The service knows neither: it may restart, and a page that was left long enough is forgotten.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import urlencode

from nicegui import ui
from nicegui.elements.mixins.value_element import ValueElement
from pydantic import BaseModel, ConfigDict

SCRIPT = Path(__file__).with_name("state.js").read_text("utf-8")
_ADDRESS = "address of the page"
_OWNER = "draft:{}:"
_ANSWER_SECONDS = 60.0
"""How long a busy browser may take to say what was being written."""


class PageState(BaseModel):
    """What a page's address says of it, and what is carried on to the app's other pages; a page may add its own."""

    # What is not known is passed over, as links of a former release may say it.
    model_config = ConfigDict(frozen=True)

    user: str | None = None
    """Whose memory is looked at; None: everybody's, empty: what names nobody."""
    project: str = ""

    def address(self, path: str, **changes: object) -> str:
        """Return the address of a page at a path with this state, changed."""
        query = self.model_copy(update=changes).model_dump(exclude_defaults=True, exclude_none=True)
        return f"{path}?{urlencode(query)}" if query else path


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class DraftOwner(Protocol):
    """Whose drafts they are: a view of a page, by its visitor and app."""

    @property
    def visitor(self) -> _Named:
        """Who writes."""

    @property
    def app_id(self) -> str:
        """Of which app the page is."""


_StateT = TypeVar("_StateT", bound=PageState)


class PageAddress:
    """The address of the page that is being built, which goes with what is looked at."""

    def __init__(self, state: PageState) -> None:
        self.state = state
        self._client = ui.context.client
        self._path = self._client.request.url.path
        self._links: list[tuple[ui.link, str]] = []
        self._note()

    def of(self, kind: type[_StateT]) -> _StateT:
        """Return the state as the page declares it."""
        assert isinstance(self.state, kind)
        return self.state

    def show(self, *, is_new: bool = True, **changes: object) -> None:
        """Write into the address what is looked at from now on; a new place is one that Back leaves again."""
        state = self.state.model_copy(update=changes)
        if state == self.state:
            return
        self.state = state
        self._client.run_javascript(f"showAt({json.dumps(state.address(self._path))}, {json.dumps(is_new)})")
        for link, path in self._links:
            link.props["href"] = self._carried().address(path)
        self._note()

    def go(self, **changes: object) -> None:
        """Load the page anew, with only what it shares with others, changed."""
        ui.navigate.to(self._carried().address(self._path, **changes))

    def follow(self, link: ui.link, path: str) -> None:
        """Have a link to another of the app's pages carry what it shares with this one."""
        self._links.append((link, path))
        link.props["href"] = self._carried().address(path)

    def _carried(self) -> PageState:
        return PageState(user=self.state.user, project=self.state.project)

    def _note(self) -> None:
        self._client.storage[_ADDRESS] = self.state.address(self._path)


def present_address() -> str:
    """Return the address of the page that is being built or used."""
    client = ui.context.client
    url = client.request.url
    asked_for = url.path + (f"?{url.query}" if url.query else "")
    address: str = client.storage.get(_ADDRESS, asked_for)
    return address


def own_drafts_only(view: DraftOwner) -> None:
    """Have the tab forget what others than the visitor were writing in it."""
    ui.run_javascript(f"drafts.keepOnly({json.dumps(_OWNER.format(view.visitor.name))})")


class Draft:
    """What is being written in a form, which is there again after the page was loaded anew, until it is saved.

    ``resume`` is given what else was noted, by its names. Without ``says_so`` nobody is told that it was not saved.
    """

    def __init__(
        self,
        view: DraftOwner,
        form: str,
        fields: Mapping[str, ValueElement[Any]],
        resume: Callable[[dict[str, Any]], Awaitable[None]] | None = None,
        *,
        says_so: bool = True,
    ) -> None:
        self._client = ui.context.client
        self._form = json.dumps(_owner(view) + form)
        self._fields, self._resume, self._says_so = dict(fields), resume, says_so
        self._before = {name: one.value for name, one in fields.items()}
        # What is noted before it is known what was kept: it must not take its place.
        self._early: dict[str, object] | None = {}
        for name, field in fields.items():
            if isinstance(field, (ui.input, ui.number)):
                # In the browser itself, as people go on writing while the service is away.
                note = f"(value) => drafts.note({self._form}, {json.dumps(name)}, value)"
                field.on(f"update:{field.VALUE_PROP}", js_handler=note)
            else:
                field.on_value_change(lambda event, name=name: self.note(name, event.value))
        self._notice = ui.row().classes("w-full items-center gap-2 empty:hidden").props("role=status")
        ui.timer(0, self._restore, once=True)

    def note(self, name: str, value: object) -> None:
        """Keep something that is no field."""
        if self._early is not None:
            self._early[name] = value
            return
        self._client.run_javascript(f"drafts.note({self._form}, {json.dumps(name)}, {json.dumps(value)})")

    def forget(self) -> None:
        """Keep nothing any more: it was saved, or given up."""
        # What closes the form may have been first.
        if not self._notice.is_deleted:
            self._notice.clear()
        self._client.run_javascript(f"drafts.forget({self._form})")

    def forget_when_hidden(self, dialog: ui.dialog) -> None:
        """Keep nothing any more once a dialog is closed, saved or given up."""
        # In the browser, as the service forgets a dialog with the first that it hears of this.
        dialog.on("hide", js_handler=f"() => drafts.forget({self._form})")

    def forget_text(self, name: str, text: str) -> None:
        """Keep a text no more, unless something else was written in its place meanwhile."""
        self._client.run_javascript(f"drafts.forgetText({self._form}, {json.dumps(name)}, {json.dumps(text)})")

    async def _restore(self) -> None:
        kept = await ui.run_javascript(f"drafts.read({self._form})", timeout=_ANSWER_SECONDS) or {}
        changed = [name for name in self._fields.keys() & kept.keys() if kept[name] != self._fields[name].value]
        for name in changed:
            self._fields[name].set_value(kept[name])
        others = {name: value for name, value in kept.items() if name not in self._fields}
        if self._resume is not None and others:
            await self._resume(others)
        early, self._early = self._early or {}, None
        for name, value in early.items():
            self.note(name, value)
        if changed and self._says_so:
            with self._notice:
                ui.label("Not saved yet: it was kept from before.").classes("muted text-sm")
                ui.button("Discard", on_click=self._discard, color=None).props("flat dense no-caps size=sm")

    def _discard(self) -> None:
        for name, value in self._before.items():
            self._fields[name].set_value(value)
        # After those that are noted for being set.
        self.forget()


async def forms_being_written(view: DraftOwner, kind: str) -> list[str]:
    """Return the names of this page's forms of a kind in which something was being written, without the kind."""
    prefix = _owner(view) + kind
    found = await ui.run_javascript(f"drafts.names({json.dumps(prefix)})", timeout=_ANSWER_SECONDS) or []
    return [name.removeprefix(prefix) for name in found]


def _owner(view: DraftOwner) -> str:
    return f"{_OWNER.format(view.visitor.name)}{view.app_id}:"
