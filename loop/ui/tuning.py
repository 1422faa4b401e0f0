"""The settings that can change while the service runs, and what the tables take."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from afterthought_client import models
from loop.ui.frame import PageView
from loop.ui.tables import OUTLINED, PRIMARY, action, card, note, number, show_table
from loop.ui.times import minute
from loop.ui.visitors import in_words_of, notify_success
from loop.ui.wording import Labels
from shared.base.settings import AppTuning, Tuning, bounds_of

_SOURCES = {"everywhere": "changed for all apps", "app": "changed for this app"}


async def show_settings(view: PageView) -> None:
    """Show both."""
    tuning = await view.client.show_tuning()
    with card("Retrieval settings of all apps"):
        note("They hold at once, for apps that have none of their own.")
        _build_form(view, ui.column().classes("w-full gap-3"), tuning)
    with card("Storage"):
        content = ui.column().classes("w-full gap-2")

        async def look() -> None:
            found = await view.client.show_storage()
            content.clear()
            with content:
                ui.label(f"{_size(found.size_bytes)} in all").classes("text-sm")
                rows = [
                    [one.table, number(one.rows), _size(one.size_bytes),
                     minute(one.oldest)]
                    for one in found.tables
                ]  # fmt: skip
                show_table("Tables, the largest first", ["Table", "Rows", "Takes", "Reaches back to"], rows)

        with content:
            # Not by itself: on SQLite it goes through the whole database.
            action("Look at the tables", look, OUTLINED, icon="storage")


async def show_settings_of(view: PageView) -> None:
    """Show an app's own."""
    tuning = await view.client.show_app_tuning()
    with card("Retrieval settings of this app"):
        note("They hold at once, over those of all apps.")
        _build_form(view, ui.column().classes("w-full gap-3"), tuning)


def _build_form(view: PageView, container: ui.column, tuning: models.TuningAnswer) -> None:
    container.clear()
    group = AppTuning if view.app_id else Tuning
    fields: dict[str, Any] = {}
    with container:
        for name in (name for name, one in group.model_fields.items() if one.annotation is bool):
            with ui.row().classes("items-center gap-2"):
                _build_field(fields, name, tuning)
        with ui.element("div").classes("grid gap-3 w-full grid-cols-1 sm:grid-cols-2 lg:grid-cols-3"):
            for name in (name for name in group.model_fields if name not in fields):
                with ui.column().classes("gap-0"):
                    _build_field(fields, name, tuning)
                    fields[name].props("outlined dense").classes("w-full")

        async def change(changes: dict[str, Any]) -> None:
            tune = view.client.tune_app if view.app_id else view.client.tune_all
            with in_words_of(_labels()):
                changed = await tune(**changes)
            labels = _labels()
            within = [f"{labels[one][0]} takes {labels[one][1]} It was set to the nearest." for one in changed.clamped]
            notes = [changed.note or "Changed.", *within]
            notify_success(" ".join(notes))
            _build_form(view, container, changed)

        async def save() -> None:
            # What differs from what is in force; whole numbers as such.
            changes: dict[str, Any] = {}
            for name, field in fields.items():
                is_whole = Tuning.model_fields[name].annotation is int
                value = int(field.value) if is_whole and field.value is not None else field.value
                if value != getattr(tuning, name).value:
                    changes[name] = value
            await change(changes)

        async def take_back() -> None:
            await change(dict.fromkeys(fields))

        with ui.row():
            action("Save settings", save, PRIMARY)
            action("Take all changes back", take_back, OUTLINED)
    if not view.may_write:
        for one in [one for one in container.descendants() if hasattr(one, "disable")]:
            one.disable()


def _build_field(fields: dict[str, Any], name: str, tuning: models.TuningAnswer) -> None:
    """Build a field of the kind of its value, and say beneath it where it was changed."""
    field = Tuning.model_fields[name]
    kind: Any = field.annotation
    label = str(field.title)
    current, bounds = getattr(tuning, name), bounds_of(name)
    if bounds is not None:
        places, step = (0, 1.0) if kind is int else (2, 0.05)
        label = f"{label}, {bounds[0]:,} to {bounds[1]:,}" if kind is int else label
        fields[name] = ui.number(label, value=current.value, precision=places, step=step)
    elif kind is bool:
        fields[name] = ui.switch(label, value=current.value)
    else:
        fields[name] = ui.select([one.value for one in kind], value=current.value, label=label)
    if current.source in _SOURCES:
        ui.label(_SOURCES[current.source]).classes("muted text-xs")


def _labels() -> Labels:
    """Return what the page calls each field of the interface, and what may stand in it."""
    return {
        models.TuneAll.model_fields[name].alias or name: (
            str(field.title),
            f"a {'whole ' if field.annotation is int else ''}number from {bounds[0]:,} to {bounds[1]:,}.",
        )
        for name, field in Tuning.model_fields.items()
        if (bounds := bounds_of(name)) is not None
    }


def _size(count: int | None) -> str:
    if count is None:
        return "–"
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count / 1e3:,.1f} kB"
