"""Choosers of what there may be too much of to offer at once: apps, projects, sessions, and whose memory it is.

What is typed into one is looked for by the service.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments, ValueChangeEventArguments

from afterthought_client import ApiError
from loop.ui.frame import PageView
from loop.ui.state import PageState

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
        if not (text := str(event.args or "").strip()):
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
