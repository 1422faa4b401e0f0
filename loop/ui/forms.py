"""What people fill in, choose and answer: dialogs, forms, choosers, questions before something goes, and its receipt.

Says what was just done, and offers to take it back. How long that is possible the service knows: an offer that is over,
or a page that is closed, changes nothing there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement
from nicegui.elements.mixins.value_element import ValueElement
from nicegui.events import GenericEventArguments, UploadEventArguments, ValueChangeEventArguments

from afterthought_client import ApiError, models
from loop.ui.frame import PageView, press_once
from loop.ui.state import Draft, PageState
from loop.ui.tables import (
    FLAT,
    NO_LABELS,
    OUTLINED,
    PRIMARY,
    TokenLabels,
    action,
    actor_name,
    heading,
    note,
    said,
    show_table,
)
from loop.ui.visitors import FormError, in_words_of, notify_error
from loop.ui.wording import Labels, minute, number, problems_of

_BARE = "() => emit()"
"""Sends that something happened, without all that a browser knows of it."""


@contextmanager
def dialog(title: str, *, width: str = "44rem", is_wide: bool = False, is_final: bool = False) -> Iterator[ui.dialog]:
    """Open a dialog with a title; it is gone once it is closed, which one that ``is_final`` leaves to what is in it."""
    # Not where the button stands: that part of the page may be built anew meanwhile.
    with ui.context.client.content, ui.dialog() as shown:
        shown.props["aria-label"] = title
        shown.on("hide", shown.delete)
        if is_wide:
            shown.props("maximized")
        if is_final:
            shown.props("persistent")
        with ui.card().classes("w-full gap-3 p-4").props("flat bordered") as card:
            if not is_wide:
                card.style(f"max-width: {width}")
            with ui.row().classes("w-full items-center no-wrap gap-2"):
                heading(title).classes("text-lg min-w-0 said grow")
                if not is_final:
                    ui.button(icon="close", on_click=shown.close).props("flat round dense aria-label=Close")
            yield shown
    shown.open()


class Form:
    """Fields and what is done with them, built behind the fields: a notice of what was kept, and the buttons.

    ``save`` is given what stands in the fields by their names, which are the client's. While it is at it the button is
    busy. What the service does not accept stands beside its field; what is being written is kept under ``name`` in the
    browser's tab until it is saved or given up, which closes ``within``. Enter saves, in a long text Ctrl+Enter; Escape
    gives up.
    """

    def __init__(
        self,
        view: PageView,
        name: str,
        fields: Mapping[str, ValueElement[Any]],
        save: Callable[..., Awaitable[object]],
        *,
        button: str = "Save",
        icon: str | None = None,
        labels: Labels = MappingProxyType({}),
        within: ui.dialog | Callable[[], object] | None = None,
        is_danger: bool = False,
    ) -> None:
        self._fields, self._save, self._labels, self._within = dict(fields), save, labels, within
        for one in self._fields.values():
            is_long = isinstance(one, ui.textarea)
            if is_long or isinstance(one, (ui.input, ui.number)):
                one.on("keydown.ctrl.enter" if is_long else "keydown.enter", self.submit, js_handler=_BARE)
            if within is not None and not isinstance(within, ui.dialog):
                # Stopped, as what is around it would close too.
                one.on("keydown.escape.stop", self.cancel, js_handler=_BARE)
        with ui.row().classes("justify-end gap-2" + (" w-full" if within is not None else "")) as self.row:
            self._draft = Draft(view, name, fields) if fields else None
            if within is not None:
                action("Cancel", self.cancel, FLAT)
            look = PRIMARY.replace("cyan-9", "red-9") if is_danger else PRIMARY
            self.button = action(button, self.submit, look, icon=icon)
        if isinstance(within, ui.dialog) and self._draft is not None:
            self._draft.forget_when_hidden(within)

    def cancel(self) -> None:
        """Keep what is being written no more, as it is saved or given up, and close."""
        if self._draft is not None:
            self._draft.forget()
        if isinstance(self._within, ui.dialog):
            self._within.close()
        elif self._within is not None:
            self._within()

    async def submit(self) -> None:
        """Save it once, however often it is asked for. Raises: FormError for what is wrong with no field."""
        if "loading" in self.button.props:
            return
        for one in self._fields.values():
            if isinstance(one, ValidationElement):
                one.error = None
        self.button.props("loading")
        try:
            await self._save(**{name: one.value for name, one in self._fields.items()})
        except FormError as error:
            if error.field is None:
                raise
            error.field.error = str(error)
        except ApiError as error:
            with in_words_of(self._labels):
                self._show_beside(error)
        else:
            self.cancel()
        finally:
            # What was saved may have been shown anew by now, with another form in this one's place.
            if not self.button.is_deleted:
                self.button.props(remove="loading")

    def _show_beside(self, error: ApiError) -> None:
        """Show each problem beside its field. Raises: the error again, where something is about none of them."""
        problems = problems_of(error, self._labels)
        known = {name: self._fields.get(re.sub("([A-Z])", r"_\1", name).lower()) for name in problems}
        for name, field in known.items():
            if isinstance(field, ValidationElement):
                field.error = problems[name]
        if not problems or not all(isinstance(one, ValidationElement) for one in known.values()):
            raise error


# The library's own button has no name that a screen reader could say, and its field within it is a button in a button.
_CHOOSER = """
<div class="row items-center q-pa-sm q-gutter-sm">
  <q-btn v-if="props.canAddFiles" label="Choose a file" icon="attach_file" flat no-caps @click="props.pickFiles" />
  <div class="hidden"><q-uploader-add-trigger></q-uploader-add-trigger></div>
  <span>or drop it here</span>
</div>
"""


def upload_field(
    label: str,
    accepted: str,
    given: Callable[[UploadEventArguments], Awaitable[None]],
    most_bytes: int = 100_000_000,
    too_large: str = "This file is too large, or of another kind.",
) -> None:
    """Show where a file is given, by choosing or dropping it; it is taken at once."""

    async def taken(event: UploadEventArguments) -> None:
        try:
            await given(event)
        finally:
            # A file that was refused can be given once more, under another name say; the library takes it for sent.
            if not upload.is_deleted:
                upload.reset()

    refuse = partial(notify_error, too_large)
    upload = ui.upload(label=label, auto_upload=True, max_file_size=most_bytes, on_upload=taken, on_rejected=refuse)
    upload.props(f"accept={accepted} flat bordered color=transparent text-color=primary").classes("w-full max-w-md")
    upload.add_slot("header", _CHOOSER)


def whole_number(field: ui.number, least: int, most: int | None = None) -> int:
    """Return what a field holds. Raises: FormError where it holds nothing, or what is out of bounds."""
    if field.value is None or field.value < least or (most is not None and field.value > most):
        bounds = f"{least} or more" if most is None else f"from {least} to {most}"
        raise FormError(f"{field.props['label']}: give a number, {bounds}.", field)
    return int(field.value)


async def confirmed(
    title: str,
    goes: Sequence[str],
    word: str = "",
    *,
    button: str = "Erase",
    cancel: str = "Cancel",
    more: str = "",
    act: Callable[[], Awaitable[None]] | None = None,
) -> bool:
    """Say what goes, and return whether the visitor typed the word (where there is one) and agreed.

    ``act`` is done before it closes: where it is refused, it can be tried again.
    """
    with dialog(title, width="32rem") as shown:
        with ui.element("ul").classes("list-disc pl-5"):
            for one in goes:
                with ui.element("li"):
                    said(one)
        if more:
            ui.label(more)
        if word:
            said(f"Type {word} to confirm.")
            typed = ui.input("Confirmation").props("autofocus autocomplete=off").classes("w-full")
        with ui.row().classes("w-full justify-end"):
            refuse = action(cancel, lambda: shown.submit(False), FLAT)

            async def agreed() -> None:
                is_meant = not word or typed.value == word
                if is_meant and act is not None:
                    await act()
                shown.submit(is_meant)

            agree = press_once(ui.button(button).props("unelevated color=red-8"), agreed)
        if word:
            agree.bind_enabled_from(typed, "value", lambda value: value == word)
        else:
            refuse.props("autofocus")
    return bool(await shown)


def show_receipt(receipt: models.Receipt, remark: str | None = None, labels: TokenLabels = NO_LABELS) -> None:
    """Show what was erased and what is left, until it is closed."""
    with dialog("Receipt", width="36rem") as shown:
        whose = f", user {receipt.user_id}" if receipt.user_id else ""
        said(f"Erased: {receipt.scope} of app {receipt.app_id}{whose}")
        who = actor_name(receipt.actor, labels)
        note(f"{minute(receipt.at)} by {who}, number {receipt.receipt_id}").classes("said").tooltip(receipt.actor)
        rows = [
            [store, number(receipt.erased.get(store)), number(receipt.left.get(store))]
            for store in {**receipt.erased, **receipt.left}
        ]
        show_table("What was erased and what is left, by store", ["Store", "Erased", "Left"], rows)
        if remark:
            said(remark)
        text, file = receipt.model_dump_json(by_alias=True, indent=2), f"receipt-{receipt.receipt_id}.json"
        with ui.row().classes("w-full justify-end"):
            download = lambda: ui.download.content(text, file, "application/json")  # noqa: E731
            action("Download JSON", download, OUTLINED, icon="download")
            action("Done", shown.close, FLAT).props("autofocus")


UNDO_SECONDS = 4
Undo = Callable[[], Awaitable[None]]


class UndoBar:
    """One bar, for one offer at a time."""

    def __init__(self) -> None:
        self._timer: ui.timer | None = None
        self._left = 0
        self._bar = ui.element("div").classes("undo-bar w-full").props("role=status")

    def offer(self, done: str, undo: Undo, seconds: int = UNDO_SECONDS, *, counts: bool = False) -> None:
        """Offer for so many seconds to take back what was done; with ``counts`` the seconds that are left are shown."""
        self.withdraw()

        async def take_back() -> None:
            # As the page, as the button this comes from goes.
            with self._bar.client:
                self.withdraw()
                await undo()

        with self._bar, ui.column().classes("w-full gap-1 rounded bg-zinc-800 text-white px-3 py-2"):
            with ui.row().classes("w-full items-center no-wrap"):
                ui.label(done).classes("grow")
                button = ui.button("Undo", on_click=take_back).props("flat dense no-caps color=cyan-3")
                shown = ui.label(f"{seconds} s").classes("tabular-nums") if counts else None
            bar = ui.linear_progress(1.0, show_value=False, size="3px").props("color=cyan-3 aria-hidden=true")
            bar.set_visibility(counts)
            # What was deleted may have been where the keyboard was.
            ui.run_javascript(f"getHtmlElement({button.id})?.focus()")
            self._left = seconds

            def count_down() -> None:
                self._left -= 1
                if self._left <= 0:
                    self.withdraw()
                elif shown is not None:
                    shown.set_text(f"{self._left} s")
                    bar.set_value(self._left / seconds)

            self._timer = ui.timer(1.0, count_down, immediate=False)

    def withdraw(self) -> None:
        """Offer nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._bar.clear()


Options = list[str] | dict[str, str]
Find = Callable[[str | None], Awaitable[dict[str, str]]]
"""Returns options by their values, those found by a text or (without one) the first."""
CHOICES = 100
"""At once in a chooser."""
_NOTHING = "<q-item><q-item-section class='muted'>{}</q-item-section></q-item>"
_TYPING_SECONDS = 0.2
_MISSING = (404, 422)
"""What is not there, or cannot be: its id is none."""


class _SearchedSelect(ui.select):
    """A chooser that offers also what is found of what is typed."""

    def __init__(self, options: Options, find: Callable[[str], Awaitable[Options]], nothing: str, **given: Any) -> None:
        super().__init__(options, with_input=True, **given)
        self._find_typed = find
        self.props("outlined dense options-dense").add_slot("no-option", _NOTHING.format(nothing))
        self.on("input-value", self._offer_found, throttle=_TYPING_SECONDS, leading_events=False)

    async def _offer_found(self, event: GenericEventArguments) -> None:
        text = str(event.args or "").strip()
        # What is chosen stands in the box too, and was not typed to be looked for.
        if not text or text == (self.options.get(self.value) if isinstance(self.options, dict) else self.value):
            return
        found, before = await self._find_typed(text), self.options
        # Only added: a click says the number of an option, and one that is on its way must mean the same one.
        added = dict(before) | found if isinstance(found, dict) else list(dict.fromkeys([*before, *found]))
        if added == before:
            return
        self.options = added
        with self.props.suspend_updates():
            self._update_values_and_labels()
            self._update_options()
        # Not as the library does it: it shows all of them for a moment, also those that do not match, and a click in
        # that moment chooses another one than stood there before.
        self.client.run_javascript(f"offer({self.id}, {json.dumps(self.props['options'])})")


class FoundSelect(_SearchedSelect):
    """A chooser: it offers the first, and what is found of others by typing."""

    def __init__(
        self,
        label: str,
        find: Find,
        show: Callable[[str], Awaitable[object]],
        always: Mapping[str, str] = MappingProxyType({}),
        on_change: Callable[[], object] | None = None,
    ) -> None:
        """Offers ``always`` too, the first is chosen until another is. ``show`` fails for what is not there."""
        self._find, self._show, self._always = find, show, dict(always)
        value = next(iter(always), None)
        nothing = "Nothing is called like this."
        super().__init__(dict(always), find, nothing, value=value, label=label, on_change=on_change)
        self.classes("min-w-0")
        self._unknown = ui.label().classes("said").props("role=alert")
        self._unknown.set_visibility(False)

    async def load(self, chosen: str | None = None) -> None:
        """Offer the first, and choose one: the first where none is named, none where there is none of that name."""
        options = {**self._always, **await self._find(None)}
        is_known = not chosen or chosen in options or await _is_there(self._show(chosen))
        self._unknown.set_text(f"There is no {self.label.lower()} {chosen}. Choose another one.")
        self._unknown.set_visibility(not is_known)
        if chosen and is_known and chosen not in options:
            # None of the first.
            options |= {chosen: chosen} | await self._find(chosen)
        first = next(iter(options), None)
        self.set_options(options, value=(chosen or first) if is_known else next(iter(self._always), None))


def apps_to_choose(view: PageView, label: str, everything: str, on_change: Callable[[], object]) -> FoundSelect:
    """Show a chooser of apps, of which none may be chosen."""

    async def find(text: str | None) -> dict[str, str]:
        page = await view.client.list_apps(limit=CHOICES, search=text)
        return {one.app_id: one.name for one in page.apps}

    return FoundSelect(label, find, lambda app_id: view.client.show_app(app_id=app_id), {"": everything}, on_change)


def projects_to_choose(view: PageView, on_change: Callable[[], object]) -> FoundSelect:
    """Show a chooser of an app's projects."""

    async def find(text: str | None) -> dict[str, str]:
        page = await view.client.list_projects(limit=CHOICES, search=text)
        return {one.project_id: one.display_name for one in page.projects}

    return FoundSelect("Project", find, view.client.show_project, on_change=on_change)


_EVERYBODY, _NOBODY = "Everybody", "Nobody named"


async def choose_subject(view: PageView, state: PageState) -> str | None:
    """Show the chooser, and return whose memory it is: None everybody's, empty what names nobody.

    Where an app names no users, or it is a user who looks, there is nothing to choose. Choosing loads the page anew,
    with nothing open in it that may be another's.
    """
    if view.visitor.user_id is not None:
        return view.visitor.user_id
    chosen = state.user
    subjects: dict[str, str | None] = {_EVERYBODY: None, _NOBODY: ""}

    async def find(text: str | None) -> list[str]:
        users = await view.client.list_users(limit=CHOICES, search=text)
        for one in [one.user_id for one in users.users if one.user_id] + [chosen or ""]:
            if one not in subjects.values():
                # A user may be called as one of the two above.
                subjects[f"{one} (user)" if one in subjects else one] = one
        return list(subjects)

    # A list, so that what Tab leaves in the box, which is what stands there, counts as that and not as a new value.
    labels = await find(None)
    if len(subjects) == 2 and not chosen:
        return ""

    def choose(event: ValueChangeEventArguments[str | None]) -> None:
        label = event.value or _EVERYBODY
        view.address.go(user=subjects.get(label, label))

    _SearchedSelect(
        labels,
        find,
        "Nobody is called like this.",
        value=next(label for label, subject in subjects.items() if subject == chosen),
        label="Whose memory",
        new_value_mode="add-unique",
        on_change=choose,
    ).classes("w-64 max-w-full")
    if chosen and not await _is_there(view.client.show_user(chosen)):
        with ui.row().classes("card items-center w-full").props("role=alert"):
            ui.icon("person_off").props("aria-hidden=true")
            ui.label(f"There is no user {chosen}: nothing of anybody called so is kept here. Is it mistyped?").classes(
                "said grow"
            )
    return chosen


async def _is_there(answer: Awaitable[object]) -> bool:
    try:
        await answer
    except ApiError as error:
        if error.status not in _MISSING:
            raise
        return False
    return True
