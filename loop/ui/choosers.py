"""Choosers of what there may be too much of to offer at once: apps, projects, sessions, and whose memory it is.

What is typed into one is looked for by the service.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

from nicegui import ui
from nicegui.events import GenericEventArguments, ValueChangeEventArguments

from afterthought_client import ApiError
from loop.ui.frame import PageView, in_turn
from loop.ui.state import PageState

Find = Callable[[str | None], Awaitable[dict[str, str]]]
"""Returns options by their values, those found by a text or (without one) the first."""
CHOICES = 100
"""At once in a chooser."""
_NOTHING = "<q-item><q-item-section class='muted'>{}</q-item-section></q-item>"
_TYPING_SECONDS = 0.2
_MISSING = (404, 422)
"""What is not there, or cannot be: its id is none."""


class FoundSelect:
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
        self._label, self._find, self._show, self._always = label, find, show, dict(always)
        value = next(iter(always), None)
        self.select = ui.select(dict(always), value=value, label=label, with_input=True, on_change=on_change)
        self.select.props("outlined dense options-dense").classes("min-w-0")
        self._unknown = ui.label().classes("said").props("role=alert")
        self._unknown.set_visibility(False)
        _find_by_typing(self.select, self._offer_found, "Nothing is called like this.")

    async def load(self, chosen: str | None = None) -> None:
        """Offer the first, and choose one: the first where none is named, none where there is none of that name."""
        options = {**self._always, **await self._find(None)}
        is_known = not chosen or chosen in options or await _is_there(self._show(chosen))
        self._unknown.set_text(f"There is no {self._label.lower()} {chosen}. Choose another one.")
        self._unknown.set_visibility(not is_known)
        if chosen and is_known and chosen not in options:
            # None of the first.
            options |= {chosen: chosen} | await self._find(chosen)
        first = next(iter(options), None)
        self.select.set_options(options, value=(chosen or first) if is_known else next(iter(self._always), None))

    @in_turn
    async def _offer_found(self, text: str) -> None:
        options = self.select.options
        assert isinstance(options, dict)
        self.select.set_options(options | await self._find(text))


def _find_by_typing(select: ui.select, offer: Callable[[str], Awaitable[None]], nothing: str) -> None:
    """Have what is typed into a chooser offered too; ``offer`` may only add to what is offered.

    A click says the number of an option, and one that is on its way when others are offered must mean the same one.
    """
    select.add_slot("no-option", _NOTHING.format(nothing))

    async def find(event: GenericEventArguments) -> None:
        text = str(event.args or "").strip()
        if text:
            await offer(text)
            # New options are all shown, also those that do not match.
            select.run_method("filter", text)

    select.on("input-value", find, throttle=_TYPING_SECONDS, leading_events=False)


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

    async def offer(text: str | None) -> None:
        users = await view.client.list_users(limit=CHOICES, search=text)
        for one in [one.user_id for one in users.users if one.user_id] + [chosen or ""]:
            if one not in subjects.values():
                # A user may be called as one of the two above.
                subjects[f"{one} (user)" if one in subjects else one] = one

    await offer(None)
    if len(subjects) == 2 and not chosen:
        return ""

    def choose(event: ValueChangeEventArguments[str | None]) -> None:
        label = event.value or _EVERYBODY
        view.address.go(user=subjects.get(label, label))

    # A list, so that what Tab leaves in the box, which is what stands there, counts as that and not as a new value.
    select = ui.select(
        list(subjects),
        value=next(label for label, subject in subjects.items() if subject == chosen),
        label="Whose memory",
        with_input=True,
        new_value_mode="add-unique",
        on_change=choose,
    )
    select.props("outlined dense").classes("w-64 max-w-full")

    async def offer_found(text: str) -> None:
        await offer(text)
        # Also what was typed and is nobody's: it may have been chosen meanwhile.
        select.set_options(list(dict.fromkeys([*select.options, *subjects])))

    _find_by_typing(select, offer_found, "Nobody is called like this.")
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
