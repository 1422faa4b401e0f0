"""The first page: what needs somebody, and the apps with what they hold. Where there is none yet, what to do first.

How an app begins: it is installed, its first token is shown once beside a first call to try, and that call is awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from nicegui import ui

from afterthought_client import ApiError, AsyncAfterthought, models
from loop.ui.forms import Form, dialog
from loop.ui.frame import PageView, in_turn, live
from loop.ui.head import add_style
from loop.ui.tables import FLAT, OUTLINED, PRIMARY, PagedCards, action, badge, heading, note, rows_of
from loop.ui.visitors import notify_success
from loop.ui.wording import counted, number, show_time

ANSWERED_BY = {"loop": "Afterthought", "app": "The app itself"}
NAME = ("Name", "1 to 200 characters.")
_INSTALL_LABELS = {
    "appId": ("Id", "letters, digits and any of . _ : @ -, at most 100; the first is a letter or a digit."),
    "name": NAME,
}
_LISTED, _COUNTED = 25, 50
_EVENTS = ("energy", "job.deferred", "job.finished", "answer.pending", "answer.sent", "answer.rejected")
_UNREADY = 503
_LOOK_SECONDS, _ASK_AGAIN_SECONDS = 30.0, 1.0
_STYLE = """
.entry { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1rem; width: 100%; color: inherit;
  text-decoration: none; padding: .75rem; border-bottom: 1px solid var(--line); }
.entry:last-child { border-bottom: 0; } .entry:hover { background: rgb(127 127 127 / .08); }
.entry > .grow { flex-basis: 14rem; min-width: 0; } .entry .q-icon { color: var(--muted); }
.entry .figure { min-width: 6.5rem; font-size: .875rem; }
.needs { border-left: 4px solid #c2410c; } .needs .entry > .q-icon:first-child { color: #c2410c; }
.body--dark .needs .entry > .q-icon:first-child { color: #fb923c; }
.snippet { font: .8125rem/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; width: 100%;
  background: rgb(127 127 127 / .12); border-radius: .25rem; padding: .75rem; margin: 0; }
"""


@dataclass(frozen=True)
class Need:
    """Something that somebody should deal with, and the address where."""

    what: str
    why: str
    address: str
    icon: str


async def show_home(view: PageView) -> None:
    """Show what needs somebody and the apps, and go on showing it."""
    add_style(_STYLE)
    home = Home(view)
    await home.refresh_needs()
    await home.show_apps()

    async def follow() -> None:
        live(view).on(_EVENTS, home.refresh_needs)
        await home.refresh_needs()

    # Once its browser is there: who has just logged in is often on the way to another page, and a stream would be kept
    # for them for a minute.
    ui.timer(0, follow, once=True)
    # Of a worker or a model's server that goes away no event tells.
    ui.timer(_LOOK_SECONDS, home.refresh_needs, immediate=False)


class Home:
    """What needs somebody, above the apps."""

    def __init__(self, view: PageView) -> None:
        self._view = view
        self._needs: list[Need] = []
        self._needing = ui.column().classes("w-full gap-2")
        self._needing.set_visibility(False)
        self._apps = ui.column().classes("w-full gap-2")

    @in_turn
    async def refresh_needs(self) -> None:
        """Show what needs somebody now; nothing where nothing does."""
        needs = await find_needs(self._view)
        if needs == self._needs:
            return
        self._needs = needs
        self._needing.set_visibility(bool(needs))
        self._needing.clear()
        with self._needing:
            heading("Needs you")
            with ui.element("div").classes("card needs !p-0").props("role=group aria-label='Needs you'"):
                for one in needs:
                    with ui.link(target=one.address).classes("entry !flex-nowrap"):
                        ui.icon(one.icon, size="sm").props("aria-hidden=true")
                        with ui.column().classes("grow gap-0"):
                            ui.label(one.what).classes("font-medium said")
                            note(one.why).classes("said")
                        ui.icon("chevron_right", size="sm").props("aria-hidden=true")

    async def show_apps(self) -> None:
        """Show the first apps; what to do first where there is none."""
        with self._apps:
            fetch = rows_of(self._view.client.list_apps, "apps", limit=_LISTED, counted=True)
            if not (await fetch(None))[0]:
                _show_beginning(self._view)
                return
            heading("Apps")
            cards = PagedCards[models.ListedApp]("Apps", fetch, _show_app, empty="", more="More apps")
            cards.container.classes("card !p-0", remove="gap-2").props("role=group")
        await cards.refresh()


def _show_app(one: models.ListedApp) -> None:
    holds = one.holds
    assert holds is not None
    with ui.link(target=f"/memory/{quote(one.app_id, safe='')}").classes("entry"):
        with ui.column().classes("grow gap-0"):
            with ui.row().classes("items-center gap-2"):
                ui.label(one.name).classes("font-medium said").props("dir=auto")
                if not one.installed:
                    badge("uninstalled")
            note(one.app_id).classes("said")
        for figure in (
            counted(holds.users, "user"),
            counted(holds.conversations, "conversation"),
            counted(holds.memories, "memory", "memories"),
        ):
            ui.label(figure).classes("figure")
        last = holds.last_active_at
        # What was brought in from elsewhere is there, though nobody has been active here.
        never = "not active here yet" if holds.memories or holds.conversations or holds.users else "not used yet"
        active = note(never) if last is None else show_time(last, "active").classes(replace="muted text-sm")
        active.classes("w-40")


async def find_needs(view: PageView) -> list[Need]:
    """Return what needs somebody now, the most pressing first."""
    client = view.client
    ready = await readiness(client)
    needs = [
        Need(_MISSING.get(name, f"{name} cannot be used"), one.detail, "/operations", "link_off")
        for name, one in ready.dependencies.items()
        if not one.ok
    ]
    if not ready.dependencies["database"].ok:
        return needs
    energy, dead, waiting = await asyncio.gather(
        client.show_energy(), count_dead(client), client.list_apps(approving=True, counted=True)
    )
    if energy.percentage <= energy.gate_percent:
        opens = energy.seconds_until_open
        until = "for ever: it refills by nothing" if opens is None else f"for {timedelta(seconds=round(opens))} more"
        what = f"Memory work has stopped: the energy is at {energy.percentage:.0f} %"
        why = f"Below {energy.gate_percent:g} % it waits, {until}, as long as nothing else spends."
        needs.append(Need(what, why, "/operations", "bolt"))
    if dead:
        what = "1 dead letter" if dead == "1" else f"{dead} dead letters"
        why = "Work that failed for good. See why, and run it again."
        needs.append(Need(what, why, "/operations?view=dead", "report"))
    # Who only reads can approve nothing, nor open the page.
    for app in waiting.apps if view.may_write else ():
        assert app.holds is not None
        what = f"{counted(app.holds.pending_answers, 'answer')} of {app.name} to approve"
        address = f"/administration/{quote(app.app_id, safe='')}?view=answers"
        needs.append(Need(what, "Written by Afterthought, and sent when a person approves.", address, "rate_review"))
    return needs


_MISSING = {
    "database": "The database does not answer",
    "redis": "Redis does not answer",
    "ticker": "The loop stands still",
    "worker": "No worker is there",
    "loop": "The service is being stopped",
}


async def count_dead(client: AsyncAfterthought) -> str:
    """Return how many dead letters there are, as far as they are counted; empty where there is none."""
    page = await client.list_jobs(state="dead", limit=_COUNTED)
    return f"{_COUNTED} or more" if page.cursor else number(len(page.jobs)) if page.jobs else ""


async def readiness(client: AsyncAfterthought) -> models.Ready:
    """Return what is ready, also when something is not: that is no failure of a page's."""
    try:
        return await client.show_readiness()
    except ApiError as error:
        # Others than the service itself may answer so too.
        if error.status != _UNREADY or "ready" not in error.details:
            raise
        return models.Ready.model_validate(error.details)


def _show_beginning(view: PageView) -> None:
    with ui.column().classes("card gap-3"):
        heading("Begin with an app")
        ui.label(
            "An app is whatever talks with people and is to remember them. Install it here: you get a token for it and "
            "a first call to try, and see that call arrive."
        ).classes("muted")
        if view.may_write:
            build_install(view)
        else:
            ui.label("Ask who has the admin's token: yours only reads.").classes("muted")


def build_install(view: PageView) -> None:
    """Build the form that installs an app and shows how it begins."""

    async def install(app_id: str, name: str, answered_by: Any) -> None:
        known = (app_id or "").strip()
        await view.client.install_app(known, (name or "").strip() or known, answered_by=answered_by)
        await _show_first_call(view, known)

    with ui.row().classes("items-start gap-3 w-full"):
        fields = {
            "app_id": ui.input("Id, as in addresses").classes("w-56"),
            "name": ui.input("Name").classes("w-56"),
            "answered_by": ui.select(ANSWERED_BY, value="app", label="Who answers").classes("w-44"),
        }
        Form(view, "install", fields, install, button="Install", icon="add", labels=_INSTALL_LABELS)


async def _show_first_call(view: PageView, app_id: str) -> None:
    """Show an app's first token and a call to try, and that something of it has arrived as soon as it has."""
    add_style(_STYLE)
    client, page = view.client, quote(app_id, safe="")
    issued = await client.issue_token(label="First token", app_id=app_id)
    url = await ui.run_javascript("location.origin", timeout=60)
    # An app that was installed before may have users already.
    before = await client.list_users(app_id=app_id)

    def show_call() -> Callable[[], None]:
        note("Try it: this has something remembered of a user ada.")
        with ui.tabs().props("dense no-caps align=left").classes("w-full") as tabs:
            for language in _SNIPPETS:
                ui.tab(language)
        with ui.tab_panels(tabs, value="curl").classes("w-full bg-transparent"):
            for language, snippet in _SNIPPETS.items():
                text = snippet.replace("URL", url).replace("TOKEN", issued.token or "").replace("APP", app_id)
                with ui.tab_panel(language).classes("p-0 gap-2"):
                    # It can have the focus, or nobody could scroll it by keys.
                    ui.label(text).classes("snippet").props("tabindex=0 role=region").props["aria-label"] = language
                    action(f"Copy the {language} call", partial(_copy, text), FLAT, icon="content_copy")
        with ui.row().classes("card items-center gap-3 no-wrap").props("role=status") as status:
            ui.spinner(size="sm").props("aria-hidden=true")
            ui.label("Waiting for the first call…")

        async def look() -> None:
            if await client.list_users(app_id=app_id) == before:
                return
            timer.cancel()
            status.clear()
            with status:
                ui.icon("check_circle", size="sm").classes("text-green-8").props("aria-hidden=true")
                ui.label("The first call was seen.").classes("grow")
                ui.link("See what is remembered", f"/memory/{page}?{urlencode({'user': 'ada'})}")

        timer = ui.timer(_ASK_AGAIN_SECONDS, look)
        return timer.cancel

    _show_token(f"{app_id} is installed", issued.token or "", show_call, f"/administration/{page}")


_SNIPPETS = {
    "curl": """curl -X POST URL/apps/APP/facts \\
  -H 'Authorization: Bearer TOKEN' \\
  -H 'Content-Type: application/json' \\
  -d '{"userId": "ada", "fact": "Lives in Lisbon."}'""",
    "Python": """# pip install ./clients/python
from afterthought_client import Afterthought

memory = Afterthought("URL", "TOKEN", app="APP")
memory.write_fact("Lives in Lisbon.", user_id="ada")
print(memory.compose_context(message="Where do I live?", user_id="ada").system_prompt)""",
}


def show_new_token(token: str) -> None:
    """Show a token that was issued, this once."""
    _show_token("New token", token)


def _show_token(
    title: str, token: str, build: Callable[[], Callable[[], None]] | None = None, way_on: str | None = None
) -> None:
    """Show a token once, and beneath it what ``build`` builds, which returns what ends it; then go on."""
    with dialog(title, is_final=True) as shown:
        ui.label("Its token is shown this once, and kept nowhere. Copy it now.")
        with ui.row().classes("w-full items-center no-wrap gap-2"):
            field = ui.input("Token", value=token).props("readonly").classes("grow font-mono")
            action("Copy", lambda: _copy(token), OUTLINED, icon="content_copy").props("autofocus")
        end = build() if build is not None else lambda: None

        def close() -> None:
            end()
            if way_on is not None:
                ui.navigate.to(way_on)
            # Nor does the page keep it.
            field.value = ""
            shown.close()

        with ui.row().classes("w-full justify-end"):
            action("Done", close, PRIMARY)


def _copy(text: str) -> None:
    ui.clipboard.write(text)
    notify_success("Copied.")
