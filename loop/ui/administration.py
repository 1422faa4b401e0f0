"""What an admin decides: which apps there are, and how each behaves; its tokens, its users, and its export.

The settings that can change while the service runs. Answers that wait, erasures and who changed what are in ``audit``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import Query
from nicegui import ui
from nicegui.elements.mixins.value_element import ValueElement
from nicegui.events import UploadEventArguments

from afterthought_client import models
from loop.ui.audit import AdministrationState, Audit, build_erasures, show_answers
from loop.ui.forms import Form, confirmed, show_receipt, upload_field
from loop.ui.frame import Frame, PageView
from loop.ui.home import ANSWERED_BY, NAME, build_install, show_new_token
from loop.ui.jobs import jobs_at
from loop.ui.tables import (
    OUTLINED,
    PRIMARY,
    Act,
    Cell,
    PagedTable,
    Row,
    Said,
    Tile,
    action,
    card,
    note,
    rows_of,
    show_table,
    show_views,
    tiles,
    time_cell,
)
from loop.ui.visitors import FormError, notify_success
from loop.ui.wording import Labels, amount, counted, minute, number, size, words_of
from shared.base.settings import AppTuning, Tuning, bounds_of
from shared.text.lines import read_json


async def show_users(view: PageView) -> None:
    """Show the users by id, each of whom can be erased."""

    def row(one: models.UserAnswer) -> Row:
        counts = (one.conversations, one.messages, one.memories, one.facts)
        erase = Act("Erase", lambda: erase_all(one), f"Erase {one.user_id}", is_danger=True)
        profile, active = "yes" if one.has_profile else "no", time_cell(one.last_active_at)
        return [one.user_id or "nobody named", *map(number, counts), profile, active, erase if one.user_id else ""]

    async def erase_all(one: models.UserAnswer) -> None:
        user_id = one.user_id
        assert user_id is not None
        goes = [
            f"{counted(one.conversations, 'conversation')} with {counted(one.messages, 'message')}",
            f"{counted(one.memories, 'memory', 'memories')}, with their history",
            f"{counted(one.facts, 'fact')}, with their history",
            "The profile and the consent" if one.has_profile else "No profile: there is none",
        ]
        if await confirmed(f"Erase everything of {user_id}?", goes, user_id):
            done = await view.client.erase_user_data(user_id)
            await table.refresh()
            show_receipt(done.receipt, done.note)

    with card("Users"):
        head = ["User", "Conversations", "Messages", "Memories", "Facts", "Profile", "Last active", ""]
        fetch = rows_of(view.client.list_users, "users", row)
        table = PagedTable("Users by id", head, fetch, empty="The app holds nothing of anybody yet.")
    await table.refresh()


Grant = Literal["tokens", "uninstall", "answers"]
_GRANTS: dict[Grant, str] = {"tokens": "issue tokens", "uninstall": "uninstall", "answers": "choose who answers"}


async def show_tokens(view: PageView) -> None:
    """Show the tokens of an app, the oldest first, and the form that issues one."""

    async def issue(label: str, user_id: str, **granted: bool) -> None:
        grants = [grant for grant in _GRANTS if granted[grant] and not user_id]
        issued = await view.client.issue_token(label=label or "", grants=grants, user_id=user_id or None)
        for field in fields.values():
            field.value = False if isinstance(field, ui.checkbox) else ""
        await table.refresh()
        show_new_token(issued.token or "")

    def row(one: models.TokenAnswer) -> Row:
        end: Cell = time_cell(one.revoked_at, "revoked")
        if one.revoked_at is None:
            end = Act("Revoke", lambda: revoke(one), f"Revoke {one.label or one.token_id}", is_danger=True)
        may = ", ".join(_GRANTS[grant] for grant in one.grants) or "–"
        whose = one.user_id or "the app's"
        return [one.label or "–", one.token_id, whose, may, time_cell(one.created_at), one.parent_id or "an admin", end]

    async def revoke(one: models.TokenAnswer) -> None:
        goes = [
            "Whoever uses it is refused from now on, and so is whoever uses a token that was issued with it.",
            "It cannot be brought back.",
        ]
        if await confirmed(f"Revoke {one.label or one.token_id}?", goes, button="Revoke"):
            await view.client.revoke_token(one.token_id)
            await table.refresh()

    with card("Issue a token"), ui.row().classes("items-center gap-3 w-full"):
        label = ui.input("What it is for").props("maxlength=200").classes("w-64")
        user = (
            ui.input("A user's own (their id), or empty: the app's").props("maxlength=200").classes("w-80 max-w-full")
        )
        fields: dict[str, ValueElement[Any]] = {"label": label, "user_id": user}
        for grant, name in _GRANTS.items():
            # A user's own token has no more than what is theirs.
            box = fields[grant] = ui.checkbox(f"May {name}").props("dense")
            box.bind_enabled_from(user, "value", lambda user_id: not user_id)
        Form(view, "token", fields, issue, button="Issue", icon="key")
    with card("Tokens"):
        head = ["For", "Number", "Whose", "May also", "Issued", "By", ""]
        fetch = rows_of(view.client.list_tokens, "tokens", row)
        table = PagedTable("Tokens, the oldest first", head, fetch, empty="The app has no token.")
    await table.refresh()


_MOST_BYTES = 64_000_000


def build_archives(view: PageView) -> None:
    """Build both ways."""
    with card("Export and import"):
        with ui.row().classes("items-end gap-3"):
            user = ui.input("Only of this user (empty: of all)").classes("w-64")

            async def export() -> None:
                user_id = (user.value or "").strip() or None
                archive = await view.client.export_app(user_id=user_id)
                text = archive.model_dump_json(by_alias=True, exclude_unset=True)
                ui.download.content(text, f"{view.app_id}.json", "application/json")

            action("Export", export, OUTLINED, icon="download")

        done = ui.label().classes("text-sm").props("role=status")

        async def put_in(event: UploadEventArguments) -> None:
            found = None
            # Raised by what is not JSON, and by what is nested too deeply to be sent on.
            with suppress(ValueError):
                archive = read_json(await event.file.read())
                if isinstance(archive, dict):
                    found = await view.client.import_app(archive)
            if found is None:
                raise FormError("The file is no exported app.")
            added = {
                "conversations": found.conversations.imported,
                "messages": found.messages,
                "memories": found.memories.imported,
                "facts": found.facts.imported,
            }
            skipped = found.conversations.skipped + found.memories.skipped + found.facts.skipped
            counts = ", ".join(f"{number(count)} {name}" for name, count in added.items())
            done.set_text(f"Added {counts}; {number(skipped)} were there already.")

        note("Import an exported app (JSON)")
        too_large = "The file is larger than 64 MB; use: afterthought import"
        upload_field("Import an exported app (JSON)", ".json", put_in, _MOST_BYTES, too_large)


_VIEWS = {"app": "App", "tokens": "Tokens", "answers": "Answers", "users": "Users", "data": "Data", "audit": "Audit"}
_BUDGET = "a number, 0 or more; or nothing."
_LABELS = {
    "name": NAME,
    "weight": ("Weight beside other apps", "a whole number from 1 to 100."),
    "hourlyBudget": ("Units in any hour", _BUDGET),
    "dailyBudget": ("Units in any day", _BUDGET),
}


def register(frame: Frame) -> None:
    """Register the pages."""

    @frame.page("/administration", "Administration")
    async def show_all(page: PageView) -> None:
        if _may_not(page):
            return
        with card("Install an app"):
            build_install(page)

        with card("Apps"):
            head = ["Name", "Id", "State", "Answered by", "Weight", "Budget an hour", "Budget a day", "Since"]
            fetch = rows_of(page.client.list_apps, "apps", _row)
            table = PagedTable("Apps by id", head, fetch, empty="No app is installed yet.")
        await table.refresh()

    @frame.page("/administration/{app_id}", "Administration")
    async def show(page: PageView, app_id: str, state: Annotated[AdministrationState, Query()]) -> None:
        if _may_not(page):
            return
        view = state.view if state.view in _VIEWS else "app"
        show_views(f"/administration/{quote(app_id, safe='')}", _VIEWS, view)
        await _BUILD[view](page)


def _may_not(view: PageView) -> bool:
    if view.visitor.is_admin and view.may_write:
        return False
    ui.label("Only the admin's token opens this page.").classes("muted")
    return True


def _row(one: models.ListedApp) -> Row:
    return [
        Said(one.name, address=f"/administration/{quote(one.app_id, safe='')}"),
        one.app_id,
        "installed" if one.installed else "uninstalled",
        ANSWERED_BY[one.answered_by],
        number(one.weight),
        amount(one.hourly_budget),
        amount(one.daily_budget),
        time_cell(one.created_at),
    ]


async def show_app(view: PageView) -> None:
    """Show how an app behaves, to be changed."""
    details = await view.client.show_app()
    energy = await view.client.show_app_energy()
    with card("How it behaves"):
        if not details.installed:
            ui.label("It is uninstalled; what it remembers is kept.").classes("muted")

            async def install() -> None:
                await view.client.install_app(details.app_id, details.name)
                ui.navigate.reload()

            action("Install it again", install, PRIMARY, icon="add")
            return
        _build_form(view, details)
    with card("What it holds and spends"):
        chat, memory = (f"/{page}/{quote(details.app_id, safe='')}" for page in ("chat", "memory"))
        work = jobs_at(app=details.app_id)
        both = details.open_conversations + details.ended_conversations
        shown = (
            Tile("Memories", number(details.memories), "that stand", memory),
            Tile("Conversations", number(both), f"{number(details.open_conversations)} of them open", chat),
            _spent("Spent in an hour", energy.last1h, energy.hourly_budget, energy.hourly_status, work),
            _spent("Spent in a day", energy.last24h, energy.daily_budget, energy.daily_status, work),
            Tile("Spent in all", amount(energy.total), "units", work),
        )
        tiles().show((one.name, one, one.build) for one in shown)
        if energy.by_kind:
            note("Of it: " + ", ".join(f"{words_of(kind)} {amount(units)}" for kind, units in energy.by_kind.items()))
    await show_settings_of(view)


def _spent(name: str, units: float, budget: float | None, status: str | None, address: str) -> Tile:
    about = "units, no budget" if budget is None else f"of {amount(budget)} units, {status}"
    return Tile(name, amount(units), about, address, status in ("depleted", "exceeded"))


def _build_form(view: PageView, details: models.AppDetails) -> None:
    with ui.element("div").classes("grid gap-3 w-full grid-cols-1 sm:grid-cols-2 lg:grid-cols-3"):
        fields: dict[str, ValueElement[Any]] = {
            "name": ui.input("Name", value=details.name),
            "weight": ui.number("Weight beside other apps, 1 to 100", value=details.weight, precision=0, step=1),
            "hourly_budget": ui.number("Units in any hour, empty: no budget", value=details.hourly_budget),
            "daily_budget": ui.number("Units in any day, empty: no budget", value=details.daily_budget),
            "answered_by": ui.select(ANSWERED_BY, value=details.answered_by, label="Who answers"),
        }
    fields |= {
        "approve_answers": ui.switch("A person approves each answer first", value=details.approve_answers),
        "shared_memory": ui.switch("What names no user is recalled for every user", value=details.shared_memory),
    }
    saved = {name: getattr(details, name) for name in fields}

    async def save(**given: Any) -> None:
        # Only these, so that what another admin changed meanwhile stays.
        changes = {name: value for name, value in given.items() if value != saved[name]}
        if changes.get("weight") is not None:
            changes["weight"] = int(changes["weight"])
        changed = await view.client.change_app(**changes)
        saved.update({name: getattr(changed, name) for name in fields})
        notify_success("Saved.")

    Form(view, "app", fields, save, labels=_LABELS)


async def show_data(view: PageView) -> None:
    """Show what can be taken out, put in, and erased."""
    build_archives(view)
    await build_erasures(view)


Build = Callable[[PageView], Awaitable[None]]
_BUILD: dict[str, Build] = {
    "app": show_app,
    "tokens": show_tokens,
    "answers": show_answers,
    "users": show_users,
    "data": show_data,
    "audit": lambda view: Audit(view).build(),
}


_SOURCES = {"everywhere": "changed for all apps", "app": "changed for this app"}


async def show_settings(view: PageView) -> None:
    """Show both."""
    tuning = await view.client.show_tuning()
    with card("Retrieval settings of all apps"):
        note("They hold at once, for apps that have none of their own.")
        _build_tuning(view, ui.column().classes("w-full gap-3"), tuning)
    with card("Storage"):
        content = ui.column().classes("w-full gap-2")

        async def look() -> None:
            found = await view.client.show_storage()
            content.clear()
            with content:
                ui.label(f"{size(found.size_bytes)} in all").classes("text-sm")
                rows = [
                    [one.table, number(one.rows), size(one.size_bytes),
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
        _build_tuning(view, ui.column().classes("w-full gap-3"), tuning)


def _build_tuning(view: PageView, container: ui.column, tuning: models.TuningAnswer) -> None:
    container.clear()
    group = AppTuning if view.app_id else Tuning
    fields: dict[str, ValueElement[Any]] = {}
    with container:
        for name in (name for name, one in group.model_fields.items() if one.annotation is bool):
            with ui.row().classes("items-center gap-2"):
                fields[name] = _build_field(name, tuning)
        with ui.element("div").classes("grid gap-3 w-full grid-cols-1 sm:grid-cols-2 lg:grid-cols-3"):
            for name in (name for name in group.model_fields if name not in fields):
                with ui.column().classes("gap-0"):
                    fields[name] = _build_field(name, tuning).classes("w-full")

        async def change(changes: dict[str, Any]) -> None:
            tune = view.client.tune_app if view.app_id else view.client.tune_all
            changed, labels = await tune(**changes), _labels()
            within = [f"{labels[one][0]} takes {labels[one][1]} It was set to the nearest." for one in changed.clamped]
            with container:
                notify_success(" ".join([changed.note or "Changed.", *within]))
            _build_tuning(view, container, changed)

        async def save(**given: Any) -> None:
            # What differs from what is in force; whole numbers as such.
            changes: dict[str, Any] = {}
            for name, found in given.items():
                is_whole = Tuning.model_fields[name].annotation is int and found is not None
                if (value := int(found) if is_whole else found) != getattr(tuning, name).value:
                    changes[name] = value
            await change(changes)

        form = Form(view, f"tuning/{view.app_id}", fields, save, button="Save settings", labels=_labels())
        with form.row:
            action("Take all changes back", lambda: change(dict.fromkeys(fields)), OUTLINED)
    if not view.may_write:
        for one in [one for one in container.descendants() if hasattr(one, "disable")]:
            one.disable()


def _build_field(name: str, tuning: models.TuningAnswer) -> ValueElement[Any]:
    """Build a field of the kind of its value, and say beneath it where it was changed."""
    field = Tuning.model_fields[name]
    kind: Any = field.annotation
    label = str(field.title)
    current, bounds = getattr(tuning, name), bounds_of(name)
    built: ValueElement[Any]
    if bounds is not None:
        places, step = (0, 1.0) if kind is int else (2, 0.05)
        label = f"{label}, {bounds[0]:,} to {bounds[1]:,}" if kind is int else label
        built = ui.number(label, value=current.value, precision=places, step=step)
    elif kind is bool:
        built = ui.switch(label, value=current.value)
    else:
        built = ui.select([one.value for one in kind], value=current.value, label=label)
    if current.source in _SOURCES:
        ui.label(_SOURCES[current.source]).classes("muted text-xs")
    return built


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
