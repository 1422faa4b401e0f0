"""Chooses whose memory is looked at: everybody's, what names nobody, or one user's."""

from __future__ import annotations

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from loop.ui.visitors import Visitor

_EVERYBODY, _NOBODY, _USER = "everybody", "nobody", "user:"
_SHOWN = 50


async def choose_subject(visitor: Visitor, app_id: str) -> str | None:
    """Show the chooser, and return whose memory it stands at: None everybody's, empty what names nobody.

    Where an app names no users there is nothing to choose. Choosing builds the page anew. Of many users some are
    offered; any other's id can be typed.
    """
    users = await visitor.client.list_users(limit=_SHOWN, app_id=app_id)
    named = [one.user_id for one in users.users if one.user_id]
    chosen = visitor.user_of.get(app_id)
    if not named and not chosen:
        return ""
    options = {_EVERYBODY: "Everybody", _NOBODY: "Nobody named"}
    options |= {_USER + one: one for one in [*named, *([chosen] if chosen else [])]}

    def choose(event: ValueChangeEventArguments[str | None]) -> None:
        visitor.user_of[app_id] = _subject_of(event.value)
        ui.navigate.reload()

    select = ui.select(
        options,
        value=_option_of(chosen),
        label="Whose memory",
        with_input=True,
        new_value_mode="add-unique",
        key_generator=lambda user_id: _USER + str(user_id),
        on_change=choose,
    )
    select.props("outlined dense").classes("w-64 max-w-full")
    return chosen


def _option_of(subject: str | None) -> str:
    if subject is None:
        return _EVERYBODY
    return _USER + subject if subject else _NOBODY


def _subject_of(option: str | None) -> str | None:
    if option is None or option == _EVERYBODY:
        return None
    return option.removeprefix(_USER) if option.startswith(_USER) else ""
