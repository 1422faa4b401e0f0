"""One recorded session: what it is, its versions, its marked parts, and what can be done with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from nicegui import ui

from afterthought_client import models
from loop.ui import originals, versions
from loop.ui.compression_form import VersionRequest
from loop.ui.confirmation import confirmed
from loop.ui.frame import PageView
from loop.ui.session_view import made_how, rows, session_name, short, size, weight_name
from loop.ui.tables import FLAT, OUTLINED, PRIMARY, action, badge, counted, fill, heading, note
from loop.ui.times import UNKNOWN, minute, time_range
from loop.ui.visitors import notify_success

_VERSIONS = 20
_MARKERS = 20
_FILES = 10
_JOBS = 20
_PROBLEMS = 10


@dataclass
class SessionDetails:
    """A session's details, in a place of a page.

    ``removed`` is called once it is no longer registered, ``thinned`` once versions were removed.
    """

    view: PageView
    session_id: str
    container: ui.column
    removed: Callable[[], Awaitable[None]]
    thinned: Callable[[], Awaitable[None]]
    shown: object = None

    async def show(self) -> None:
        """Show everything as it is now."""
        view, name = self.view, self.session_id
        async with view.show_errors():
            session = await view.client.show_session(name)
            listed = await view.client.list_versions(name, limit=_VERSIONS)
            markers = await view.client.list_keepits(name, limit=_MARKERS)
            progress = await self._progress(listed.working)
            # Without when it was last looked at, which this does itself.
            read = (session.model_copy(update={"last_accessed": None}), listed, markers, progress)
            if read == self.shown:
                return  # A button that is made anew loses a click that is on its way.
            self.shown = read
            self.container.clear()
            with self.container:
                heading(session_name(name, session.metadata)).classes("text-lg").style("overflow-wrap: anywhere")
                note(name).style("overflow-wrap: anywhere")
                self._figures(session)
                self._actions(session)
                self._versions(session, listed, progress)
                more = "" if markers.cursor is None else ", the first of them"
                heading(f"Keepit markers: {len(markers.keepits)}{more}", 3)
                shown = ui.column().classes("w-full gap-1").props("role=list aria-label='Keepit markers'")
                fill(shown, markers.keepits, self._marker, "Nothing is marked.")
                for problem in markers.problems[:_PROBLEMS]:
                    ui.label(f"Not well marked: {problem.written} ({problem.reason})").classes("said muted text-sm")
                if session.files:
                    heading("Files", 3)
                    for file in session.files[:_FILES]:
                        ui.label(f"{file.path} · {file.touches} × {'changed' if file.changed else 'read'}").classes(
                            "said text-sm"
                        )
                    if len(session.files) > _FILES:
                        note(f"and {len(session.files) - _FILES} more")

    async def _progress(self, working: models.VersionAnswer | None) -> str:
        if working is None:
            return ""
        jobs = await self.view.client.list_session_jobs(limit=_JOBS)
        for job in jobs.jobs:
            if (job.session_id, job.version_id) == (self.session_id, working.version_id):
                parts = f", {job.progress.done} of {job.progress.total} parts" if job.progress.total else ""
                return f"{job.state}{parts}"
        return "asked for"

    def _figures(self, session: models.SessionDetail) -> None:
        storage = session.storage
        figures = [
            ("Original", f"{session.original_tokens:,} tokens, {size(session.size_bytes)}"),
            ("Messages", f"{session.original_messages:,}"),
            ("Date", time_range(session.first_timestamp, session.last_timestamp)),
            ("Registered", minute(session.registered_at)),
            ("Last used", minute(session.used_at) if session.used_at else "never"),
            ("Branch", str(session.metadata.get("gitBranch") or UNKNOWN)),
            ("Topics", ", ".join(session.metadata.get("primaryTopics") or ()) or UNKNOWN),
            (
                "Storage",
                f"{counted(storage.versions, 'version')} {size(storage.version_bytes)}, "
                f"{counted(storage.compositions, 'composition')}",
            ),
        ]
        rows(figures)

    def _actions(self, session: models.SessionDetail) -> None:
        view = self.view
        with ui.row().classes("gap-2"):
            if view.may_write:

                async def request() -> None:
                    await VersionRequest(view, session, self.show).open()

                action("Create compression", request, PRIMARY, icon="compress")
            action("View original", self.read, OUTLINED, icon="article")
            query = urlencode({"project": session.project_id, "session": session.session_id})
            target = f"/composer/{quote(view.app_id, safe='')}?{query}"
            action("Compose with it", lambda: ui.navigate.to(target), OUTLINED, icon="dashboard_customize")
            if view.may_write:
                if session.original_file:
                    ui.button("Sync", icon="sync", on_click=self._sync).props("flat no-caps")
                ui.button("Remove", icon="delete", on_click=lambda: self._remove(session)).props("flat no-caps")

    async def read(self, from_uuid: object = None) -> None:
        """Open the original, at a message where one is named."""
        await originals.read_original(
            self.view, self.session_id, edit=self.edit, from_uuid=from_uuid if isinstance(from_uuid, str) else None
        )

    async def edit(self, session_id: str, marker_id: str) -> None:
        await originals.edit_keepit(self.view, session_id, marker_id, self.show)

    def _versions(self, session: models.SessionDetail, listed: models.VersionList, progress: str) -> None:
        async def compare() -> None:
            await versions.Comparison(self.view, self.session_id, listed.versions).open()

        async def changed() -> None:
            await self.show()
            await self.thinned()

        async def manage() -> None:
            await versions.VersionManager(self.view, session, changed).open()

        with ui.row().classes("items-center gap-2 w-full"):
            heading(f"Compressions: {session.versions}", 3)
            ui.space()
            if len(listed.versions) > 1:
                action("Compare versions", compare, FLAT, icon="compare_arrows")
            if listed.versions:
                action("Manage compressions", manage, FLAT, icon="inventory_2")
        with ui.column().classes("w-full gap-1").props("role=list aria-label=Compressions"):
            if listed.working is not None:
                with ui.row().classes("card items-center gap-2").props("role=listitem"):
                    ui.spinner(size="sm").props("aria-hidden=true")
                    ui.label(f"{listed.working.version_id} {made_how(listed.working)} is being made: {progress}")
            for version in listed.versions:
                self._version(version)
            if not listed.versions and listed.working is None:
                ui.label("No compressions yet.").classes("muted").props("role=listitem")

    def _version(self, version: models.VersionAnswer) -> None:
        async def read() -> None:
            await versions.read_version(self.view, self.session_id, version)

        with ui.row().classes("card items-center gap-2").props("role=listitem"):
            ui.label(version.version_id).classes("font-medium")
            ui.label(made_how(version))
            ui.label(f"{short(version.output_tokens)} tokens, {version.compression_ratio:.1f} to 1").classes("muted")
            if version.used_in:
                badge("in use", "cyan-9").tooltip(", ".join(version.used_in))
            ui.space()
            ui.button("Read", icon="chrome_reader_mode", on_click=read).props(
                f"flat dense no-caps aria-label='Read {version.version_id}'"
            )

    def _marker(self, marker: models.MarkerItem) -> None:
        async def edit() -> None:
            await self.edit(self.session_id, marker.marker_id)

        with ui.row().classes("marked w-full no-wrap items-start gap-2").props("role=listitem"):
            with ui.column().classes("gap-0 min-w-0 grow"):
                title = f"keepit {marker.weight:.2f} {weight_name(marker.weight)}"
                if marker.weight != marker.written_weight:
                    title += f", {marker.written_weight:.2f} is written"
                ui.label(title).classes("text-xs font-medium")
                ui.label(marker.content[:300]).classes("said").props("dir=auto")
                kept = ", ".join(marker.survived_in) or "none"
                lost = ", ".join(marker.summarized_in) or "none"
                ui.label(f"survived in {kept} · summarised in {lost}").classes("muted text-xs")
            action("Edit", edit, FLAT, icon="tune").classes("shrink-0")

    async def _sync(self) -> None:
        found = await self.view.client.sync_session(self.session_id)
        notify_success(f"{size(found.added_bytes)} were added.")
        await self.show()

    async def _remove(self, session: models.SessionDetail) -> None:
        versions = counted(session.versions, "version")
        goes = [f"{session.session_id} leaves memory with its {versions}. Its file stays."]

        async def remove() -> None:
            await self.view.client.unregister_session(session.project_id, session.session_id)
            await self.removed()

        await confirmed("Remove from memory?", goes, button="Remove", act=remove)
