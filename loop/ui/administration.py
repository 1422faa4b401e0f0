"""What an admin decides: which apps there are, and how each behaves; its tokens, its users, and its
export as one JSON document. Answers that wait, erasures and who changed what are in ``audit``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import Query
from nicegui import ui
from nicegui.events import UploadEventArguments

from afterthought_client import models
from loop.ui import tuning
from loop.ui.audit import AdministrationState, Audit, build_erasures, show_answers
from loop.ui.confirmation import confirmed, show_receipt
from loop.ui.frame import Frame, PageView
from loop.ui.home import ANSWERED_BY, NAME, build_install, show_new_token
from loop.ui.jobs import jobs_at
from loop.ui.state import Draft
from loop.ui.tables import (
    OUTLINED,
    PRIMARY,
    Act,
    ListedCell,
    PagedTable,
    Said,
    Tile,
    action,
    amount,
    card,
    counted,
    note,
    number,
    rows_of,
    show_views,
    tiles,
    time_cell,
)
from loop.ui.visitors import FormError, in_words_of, notify_error, notify_success
from loop.ui.wording import words_of
from shared.text.lines import read_json


@dataclass
class UserTable:
    """Users by id."""

    view: PageView

    async def build(self) -> None:
        """Build the place of the table, and show the first."""
        with card("Users"):
            head = ["User", "Conversations", "Messages", "Memories", "Facts", "Profile", "Last active", ""]
            self.table = PagedTable(
                "Users by id",
                head,
                rows_of(self.view.client.list_users, "users", self._row),
                empty="The app holds nothing of anybody yet.",
            )
        await self.table.refresh()

    def _row(self, one: models.UserAnswer) -> list[ListedCell]:
        counts = (one.conversations, one.messages, one.memories, one.facts)
        erase = Act("Erase", lambda: self._erase(one), f"Erase {one.user_id}", is_danger=True)
        profile, active = "yes" if one.has_profile else "no", time_cell(one.last_active_at)
        return [one.user_id or "nobody named", *map(number, counts), profile, active, erase if one.user_id else ""]

    async def _erase(self, one: models.UserAnswer) -> None:
        user_id = one.user_id
        assert user_id is not None
        goes = [
            f"{counted(one.conversations, 'conversation')} with {counted(one.messages, 'message')}",
            f"{counted(one.memories, 'memory', 'memories')}, with their history",
            f"{counted(one.facts, 'fact')}, with their history",
            "The profile and the consent" if one.has_profile else "No profile: there is none",
        ]
        if not await confirmed(f"Erase everything of {user_id}?", goes, user_id):
            return
        done = await self.view.client.erase_user_data(user_id)
        await self.table.refresh()
        show_receipt(done.receipt, done.note)


Grant = Literal["tokens", "uninstall", "answers"]
_GRANTS: dict[Grant, str] = {"tokens": "issue tokens", "uninstall": "uninstall", "answers": "choose who answers"}


@dataclass
class TokenTable:
    """The tokens of an app, the oldest first."""

    view: PageView
    granted: dict[Grant, ui.checkbox] = field(default_factory=dict)

    async def build(self) -> None:
        """Build the form and the table."""
        with card("Issue a token"), ui.row().classes("items-center gap-3 w-full"):
            self.label = ui.input("What it is for").props("outlined dense maxlength=200").classes("w-64")
            self.label.on("keydown.enter", self._issue)
            self.user = ui.input("A user's own (their id), or empty: the app's").props("outlined dense maxlength=200")
            self.user.classes("w-80 max-w-full").on("keydown.enter", self._issue)
            for grant, label in _GRANTS.items():
                self.granted[grant] = ui.checkbox(f"May {label}").props("dense")
                # A user's own token has no more than what is theirs.
                self.granted[grant].bind_enabled_from(self.user, "value", lambda user: not user)
            fields: dict[str, Any] = {"label": self.label, "user": self.user} | self.granted
            self.draft = Draft(self.view, "token", fields)
            action("Issue", self._issue, PRIMARY, icon="key")
        with card("Tokens"):
            head = ["For", "Number", "Whose", "May also", "Issued", "By", ""]
            self.table = PagedTable(
                "Tokens, the oldest first",
                head,
                rows_of(self.view.client.list_tokens, "tokens", self._row),
                empty="The app has no token.",
            )
        await self.table.refresh()

    def _row(self, one: models.TokenAnswer) -> list[ListedCell]:
        end: ListedCell = time_cell(one.revoked_at, "revoked")
        if one.revoked_at is None:
            end = Act("Revoke", lambda: self._revoke(one), f"Revoke {one.label or one.token_id}", is_danger=True)
        may = ", ".join(_GRANTS[grant] for grant in one.grants) or "–"
        whose = one.user_id or "the app's"
        return [one.label or "–", one.token_id, whose, may, time_cell(one.created_at), one.parent_id or "an admin", end]

    async def _issue(self) -> None:
        user_id = self.user.value or None
        grants = [grant for grant, box in self.granted.items() if box.value and not user_id]
        issued = await self.view.client.issue_token(label=self.label.value or "", grants=grants, user_id=user_id)
        self.label.value = self.user.value = ""
        for box in self.granted.values():
            box.value = False
        self.draft.forget()
        await self.table.refresh()
        show_new_token(issued.token or "")

    async def _revoke(self, one: models.TokenAnswer) -> None:
        goes = [
            "Whoever uses it is refused from now on, and so is whoever uses a token that was issued with it.",
            "It cannot be brought back.",
        ]
        if await confirmed(f"Revoke {one.label or one.token_id}?", goes, button="Revoke"):
            await self.view.client.revoke_token(one.token_id)
            await self.table.refresh()


_MOST_BYTES = 64_000_000


def build_archives(view: PageView) -> None:
    """Build both ways."""
    with card("Export and import"):
        with ui.row().classes("items-end gap-3"):
            user = ui.input("Only of this user (empty: of all)").props("outlined dense").classes("w-64")

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

        upload = ui.upload(
            label="Import an exported app (JSON)", auto_upload=True, max_file_size=_MOST_BYTES, on_upload=put_in,
            on_rejected=lambda: notify_error("The file is larger than 64 MB; use: afterthought import"),
        )  # fmt: skip
        upload.props("accept=.json flat bordered color=transparent text-color=primary").classes("w-full max-w-md")


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
            table = PagedTable(
                "Apps by id", head, rows_of(page.client.list_apps, "apps", _row), empty="No app is installed yet."
            )
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


def _row(one: models.ListedApp) -> list[ListedCell]:
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
    await tuning.show_settings_of(view)


def _spent(name: str, units: float, budget: float | None, status: str | None, address: str) -> Tile:
    about = "units, no budget" if budget is None else f"of {amount(budget)} units, {status}"
    return Tile(name, amount(units), about, address, status in ("depleted", "exceeded"))


def _build_form(view: PageView, details: models.AppDetails) -> None:
    with ui.element("div").classes("grid gap-3 w-full grid-cols-1 sm:grid-cols-2 lg:grid-cols-3"):
        fields: dict[str, Any] = {
            "name": ui.input("Name", value=details.name),
            "weight": ui.number("Weight beside other apps, 1 to 100", value=details.weight, precision=0, step=1),
            "hourly_budget": ui.number("Units in any hour, empty: no budget", value=details.hourly_budget),
            "daily_budget": ui.number("Units in any day, empty: no budget", value=details.daily_budget),
            "answered_by": ui.select(ANSWERED_BY, value=details.answered_by, label="Who answers"),
        }
        for one in fields.values():
            one.props("outlined dense").classes("w-full")
    switches = {
        "approve_answers": ui.switch("A person approves each answer first", value=details.approve_answers),
        "shared_memory": ui.switch("What names no user is recalled for every user", value=details.shared_memory),
    }
    fields |= switches
    saved = {name: getattr(details, name) for name in fields}

    draft = Draft(view, "app", fields)

    async def save() -> None:
        # Only these, so that what another admin changed meanwhile stays.
        changes = {name: one.value for name, one in fields.items() if one.value != saved[name]}
        if "weight" in changes and changes["weight"] is not None:
            changes["weight"] = int(changes["weight"])
        with in_words_of(_LABELS):
            changed = await view.client.change_app(**changes)
        saved.update({name: getattr(changed, name) for name in fields})
        draft.forget()
        notify_success("Saved.")

    action("Save", save, PRIMARY)


async def show_data(view: PageView) -> None:
    """Show what can be taken out, put in, and erased."""
    build_archives(view)
    await build_erasures(view)


Build = Callable[[PageView], Awaitable[None]]
_BUILD: dict[str, Build] = {
    "app": show_app,
    "tokens": lambda view: TokenTable(view).build(),
    "answers": show_answers,
    "users": lambda view: UserTable(view).build(),
    "data": show_data,
    "audit": lambda view: Audit(view).build(),
}
