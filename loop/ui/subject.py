"""Chooses whose memory is looked at: everybody's, what names nobody, or one user's."""

from __future__ import annotations

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from loop.ui.visitors import Visitor

_EVERYBODY, _NOBODY = "Everybody", "Nobody named"
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
    subjects: dict[str, str | None] = {_EVERYBODY: None, _NOBODY: ""}
    for one in dict.fromkeys([*named, *([chosen] if chosen else [])]):
        subjects[f"{one} (user)" if one in subjects else one] = one

    def choose(event: ValueChangeEventArguments[str | None]) -> None:
        visitor.user_of[app_id] = subjects.get(event.value or _EVERYBODY, event.value)
        ui.navigate.reload()

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
    return chosen
