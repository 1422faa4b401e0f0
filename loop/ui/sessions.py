"""The Memory Browser: an app's projects, their recorded sessions by month, registered or not, and one that is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated, TypeVar

from fastapi import Query
from nicegui import ui

from afterthought_client import models
from loop.ui.forms import projects_to_choose
from loop.ui.frame import Frame, PageView, in_turn, live, mark_current
from loop.ui.head import add_style
from loop.ui.project import Learned, ProjectLinks, ProjectRules, Pruning
from loop.ui.session_details import (
    SessionDetails,
    TranscriptSource,
    export_project,
    import_project,
    look_at,
    open_project,
    upload_transcript,
)
from loop.ui.state import PageState, forms_being_written
from loop.ui.tables import FLAT, action, heading, more_button
from loop.ui.wording import counted, day, local, session_name, short, size

Found = TypeVar("Found")
Action = Callable[[], object]
_Session = models.SessionItem | models.SessionForeseen
STYLE = """
.browser { display: grid; grid-template-columns: minmax(16rem, 22rem) minmax(0, 1fr); gap: 1.5rem; width: 100%; }
.browser .back { display: none; }
.browser ul { list-style: none; margin: 0; padding: 0; width: 100%; }
.marked { border: 1px solid #c2410c; border-left-width: 4px; border-radius: .5rem; padding: .5rem .75rem; }
.dropped { border-style: dashed; }
.refusal { border-left: 3px solid #b91c1c; padding-left: .5rem; }
.fields { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: .75rem; width: 100%; }
.side-by-side { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem; width: 100%; }
.panes { flex: 1 1 0; min-height: 20rem; grid-template-rows: minmax(0, 1fr); }
.pane { overflow-y: auto; min-width: 0; flex-wrap: nowrap; }
.dropped > :not(:first-child) { color: var(--muted); }
.folded .q-item { padding-left: 0; } .folded .q-item__label { overflow-wrap: anywhere; }
.reader { max-width: 60rem; margin: 0 auto; }
.body--dark input { color-scheme: dark; }
.cursor-move { cursor: move; }
@media (max-width: 900px) {
  .browser, .side-by-side { grid-template-columns: minmax(0, 1fr); }
  .browser:not(.reading) > .detail { display: none; }
  .browser.reading > .list { display: none; }
  .browser .back { display: inline-flex; }
  .panes { flex: none; grid-template-rows: auto; } .pane { max-height: 60dvh; }
}
"""
_SESSIONS = 50
_SCANNED = 20
_FOUND = 10


class SessionState(PageState):
    """What the address says: a session that is open."""

    session: str = ""


def register(frame: Frame) -> None:
    """Register the page."""

    @frame.page("/sessions/{app_id}", "Sessions")
    async def show(view: PageView, app_id: str, state: Annotated[SessionState, Query()]) -> None:
        add_style(STYLE)
        browser = SessionBrowser(view)
        await browser.build(state.project)
        if state.session:
            async with view.show_errors():
                await browser.open(state.session)
                ui.timer(0, browser.reopen, once=True)


class SessionBrowser:
    """The projects of an app, the sessions of one of them, and one of those."""

    def __init__(self, view: PageView) -> None:
        self._view = view
        self._project_id: str | None = None
        self._session_id: str | None = None
        self._sessions: dict[str, models.SessionItem] = {}
        self._entries: dict[str, ui.button] = {}
        self._foreseen: list[models.SessionForeseen] = []
        self._cursor: str | None = None
        self._scan_cursor: str | None = None
        self._folder: str | None = None
        self._is_searched = False
        self._learned = Learned(view)

    async def build(self, project_id: str) -> None:
        """Build the page, with a project or the newest one."""
        with ui.row().classes("w-full items-center gap-2"):
            self._projects = projects_to_choose(self._view, self._choose)
            self._daily = ui.row().classes("gap-1")
            ui.space()
            self._storage = ui.label().classes("muted text-sm").props("role=note aria-label=Storage")
        with ui.element().classes("browser") as self._whole:
            with ui.column().classes("list gap-2"):
                box = ui.input("Search sessions").props("clearable").classes("w-full")
                box.on("keydown.enter", lambda: self._search(box.value or ""))
                box.on("clear", self._draw)
                self._list = ui.column().classes("w-full gap-1").props("role=region aria-label=Sessions")
                self._more = more_button(self._list_more, "More sessions")
                self._scan = more_button(self._look, "More files of the folder")
            with ui.column().classes("detail gap-3"):
                action("All sessions", self._leave, FLAT, icon="arrow_back").classes("back")
                self._detail = ui.column().classes("w-full gap-3").props("role=region aria-label='Session details'")
        self._build_actions()
        await self._load_projects(project_id)
        live(self._view).on({"job.finished"}, self._refresh)

    def _build_actions(self) -> None:
        """Show what is done daily as buttons, and what is done now and then in a menu."""
        view, taken, one = self._view, self._taken, self._project_id
        self._daily.clear()
        seldom: list[tuple[str, Action]] = []
        with self._daily:
            if one is not None:
                if view.may_write:
                    action("Upload", lambda: upload_transcript(view, one, taken), FLAT, icon="upload_file")
                    seldom += [("Prune versions", Pruning(view, one, self._refresh).open)]
                action("Learned", lambda: self._learned.open(one), FLAT, icon="school")
                seldom += [
                    ("Rules", ProjectRules(view, one, self._refresh).open),
                    ("Links", ProjectLinks(view, one).open),
                    ("Export", lambda: export_project(view, one)),
                ]
            if view.may_write:
                if one is None:
                    action("Open a project", lambda: open_project(view, taken), FLAT, icon="create_new_folder")
                else:
                    seldom += [("Open a project", lambda: open_project(view, taken))]
                seldom += [("Import", lambda: import_project(view, taken))]
            with (
                ui.button("Project", icon="more_horiz").props(f"{FLAT} aria-haspopup=menu"),
                ui.menu().props("role=menu"),
            ):
                for name, act in seldom:
                    ui.menu_item(name, act).props("role=menuitem")

    async def _load_projects(self, project_id: str = "") -> None:
        await self._projects.load(project_id or None)
        self._draw()
        if self._projects.value != self._project_id:
            await self._choose()

    async def _choose(self) -> None:
        if self._projects.value == self._project_id:
            return
        # The newest, which is chosen where the address names none, is no other place.
        is_new = self._project_id is not None
        self._project_id, self._session_id = self._projects.value, None
        closed = {"session": ""} if is_new else {}
        self._view.address.show(is_new=is_new, project=self._project_id or "", **closed)
        self._detail.clear()
        self._close()
        self._build_actions()
        await self._reload()

    async def _reload(self) -> None:
        """Show the first sessions of the project anew."""
        self._sessions.clear()
        self._foreseen.clear()
        self._cursor = self._scan_cursor = None
        async with self._view.show_errors():
            await self._show_storage()
            await self._list_more()
        self._draw()
        # Reads whole files, and what is in memory can be shown meanwhile.
        with self._whole:
            ui.timer(0, self._look, once=True)

    async def _unless_left(self, answer: Awaitable[Found]) -> Found | None:
        """Wait for an answer about the project; None where another was chosen meanwhile, whose it is not."""
        project_id = self._project_id
        found = await answer
        return found if project_id == self._project_id else None

    async def _show_storage(self) -> None:
        if self._project_id is not None:
            found = await self._unless_left(self._view.client.show_project(self._project_id))
            if found is None:
                return
            storage = found.storage
            self._storage.set_text(
                f"Originals {size(storage.original_bytes)} · "
                f"{counted(storage.versions, 'version')} {size(storage.version_bytes)} · "
                f"{counted(storage.compositions, 'composition')} {size(storage.composition_bytes)}"
            )
            self._folder = found.source_folder

    async def _list_more(self) -> None:
        if self._project_id is not None:
            listed = self._view.client.list_project_sessions
            page = await self._unless_left(listed(self._project_id, order="time", limit=_SESSIONS, cursor=self._cursor))
            if page is None:
                return
            self._cursor = page.cursor
            self._sessions |= {one.session_id: one for one in page.sessions}
        self._draw()

    async def _look(self) -> None:
        """Find files of the project's folder that are not registered; only an admin may have it looked through."""
        may_look = self._view.visitor.is_admin and self._view.may_write
        if self._project_id is None or self._folder is None or not may_look:
            return
        scan = self._view.client.scan_project
        found = await self._unless_left(scan(self._project_id, dry_run=True, limit=_SCANNED, cursor=self._scan_cursor))
        if found is None:
            return
        self._scan_cursor = found.cursor
        self._foreseen += found.foreseen or ()
        self._draw()

    def _draw(self) -> None:
        self._is_searched = False
        self._more.set_visibility(self._cursor is not None)
        self._scan.set_visibility(self._scan_cursor is not None)
        self._list.clear()
        self._entries.clear()
        with self._list:
            if self._project_id is None:
                none = "No projects yet. Open one, then upload a transcript."
                ui.label("Choose a project." if self._projects.options else none).classes("muted")
            elif not self._sessions and not self._foreseen:
                ui.label("No sessions yet.").classes("muted")
            every: list[_Session] = [*self._sessions.values(), *self._foreseen]
            for month, of_month in groupby(sorted(every, key=_said_last, reverse=True), _month):
                heading(month).classes("mt-2")
                with ui.element("ul"):
                    for one in of_month:
                        self._entry(one)

    def _entry(self, one: _Session) -> None:
        is_known = isinstance(one, models.SessionItem)
        details = [day(one.last_timestamp), "in memory" if is_known else "not in memory"]
        if one.markers:
            details.append(f"{one.markers} marked")
        if isinstance(one, models.SessionItem) and one.versions:
            details.append(counted(one.versions, "version"))

        async def opened() -> None:
            if isinstance(one, models.SessionItem):
                await self.open(one.session_id)
            else:
                transcript = TranscriptSource(one.project_id, one.session_id, path=one.original_file)
                await look_at(self._view, transcript, self._taken)

        details.append(one.session_id)
        self._entries[one.session_id] = _link(
            session_name(one.session_id, one.metadata),
            f"{short(one.original_tokens)} · {' · '.join(details)}",
            opened,
            icon="bookmark" if is_known else "bookmark_border",
        )
        mark_current(self._entries[one.session_id], is_current=one.session_id == self._session_id)

    async def _search(self, text: str) -> None:
        if not text.strip():
            self._draw()
            return
        found = await self._view.client.search_sessions(text=text, limit=_FOUND)
        self._is_searched = True
        self._list.clear()
        self._entries.clear()
        self._more.set_visibility(False)
        self._scan.set_visibility(False)
        with self._list:
            heading(f"Found for “{text[:60]}”")
            if not found.results:
                ui.label("Nothing.").classes("muted")
            with ui.element("ul"):
                for one in found.results:
                    self._found(one)

    def _found(self, one: models.FoundSession) -> None:
        async def opened() -> None:
            await self.open(one.session_id)
            if one.snippet and one.snippet.message_uuid and one.version_id is None:
                await self._details.read(one.snippet.message_uuid)

        where = f"{one.version_id}, " if one.version_id else ""
        details = f"{where}{one.snippet.text[:200] if one.snippet else day(one.last_timestamp)}"
        self._entries[one.session_id] = _link(one.session_id, details, opened, icon="search")

    @in_turn
    async def open(self, session_id: str) -> None:
        """Show a session's details."""
        self._details = SessionDetails(self._view, session_id, self._detail, self._changed, self._show_storage)
        await self._details.show()
        self._session_id = session_id
        for name, entry in self._entries.items():
            mark_current(entry, is_current=name == session_id)
        self._whole.classes("reading")
        self._view.address.show(session=session_id)

    async def reopen(self) -> None:
        """Open the editor of a marker again that was open when the page was left."""
        for name in await forms_being_written(self._view, f"marker/{self._session_id}/"):
            await self._details.edit(self._session_id or "", name)

    def _leave(self) -> None:
        self._close()
        self._view.address.show(session="")

    def _close(self) -> None:
        self._whole.classes(remove="reading")

    @in_turn
    async def _refresh(self) -> None:
        async with self._view.show_errors():
            await self._show_storage()
            await self._count_versions()
            await self._learned.refresh()
        if self._session_id is not None:
            await self._details.show()

    async def _count_versions(self) -> None:
        """Say in the list how many versions there are now, where that is another number than it says."""
        if self._project_id is None or self._is_searched:
            return
        newest = self._view.client.list_project_sessions(self._project_id, order="time", limit=_SESSIONS)
        if (page := await self._unless_left(newest)) is None:
            return
        known = self._sessions
        changed = [
            one for one in page.sessions
            if one.session_id in known and known[one.session_id].versions != one.versions
        ]  # fmt: skip
        if changed:
            known.update({one.session_id: one for one in changed})
            self._draw()

    async def _changed(self) -> None:
        """A session was removed or synced."""
        self._session_id = None
        self._view.address.show(is_new=False, session="")
        self._detail.clear()
        self._close()
        await self._reload()

    async def _taken(self, project_id: str, session_id: str) -> None:
        # So that the project is read anew, also where it is the one that is shown.
        self._project_id = None
        await self._load_projects(project_id)
        if session_id:
            await self.open(session_id)


def _link(name: str, details: str, opened: Action, *, icon: str) -> ui.button:
    with ui.element("li"):
        button = ui.button(on_click=opened).props("flat no-caps align=left color='' text-color=''")
        with button.classes("w-full font-normal"), ui.row().classes("no-wrap gap-2 w-full items-start"):
            ui.icon(icon, size="xs").props("aria-hidden=true").classes("mt-1")
            with ui.column().classes("gap-0 min-w-0 items-start"):
                ui.label(name).classes("text-left").style("overflow-wrap: anywhere").props("dir=auto")
                ui.label(details).classes("muted text-xs text-left").style("overflow-wrap: anywhere").props("dir=auto")
    return button


def _said_last(one: _Session) -> datetime:
    return one.last_timestamp or (one.registered_at if isinstance(one, models.SessionItem) else datetime.now(UTC))


def _month(one: _Session) -> str:
    return f"{local(_said_last(one)):%B %Y}"
