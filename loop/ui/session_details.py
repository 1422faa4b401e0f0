"""A recorded session: taken in after a look at it; its versions, its marked parts, and what can be done with it.

New projects, and archives of whole ones.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Any
from urllib.parse import quote, urlencode

from nicegui import events, ui

from afterthought_client import models
from afterthought_client.calls import OMIT, Omit
from loop.ui import originals, versions
from loop.ui.forms import Form, confirmed, dialog, upload_field
from loop.ui.frame import PageView
from loop.ui.tables import FLAT, OUTLINED, PRIMARY, action, badge, figures, fill, heading, note, said
from loop.ui.versions import VersionRequest
from loop.ui.visitors import notify_success
from loop.ui.wording import UNKNOWN, counted, made_how, minute, session_name, short, size, time_range, weight_name

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
                _show_figures(session)
                self._actions(session)
                self._versions(session, listed, progress)
                more = "" if markers.cursor is None else ", the first of them"
                heading(f"Keepit markers: {len(markers.keepits)}{more}", 3)
                shown = ui.column().classes("w-full gap-1").props("role=list aria-label='Keepit markers'")
                fill(shown, markers.keepits, self._marker, "Nothing is marked.")
                for problem in markers.problems[:_PROBLEMS]:
                    note(f"Not well marked: {problem.written} ({problem.reason})").classes("said")
                if session.files:
                    heading("Files", 3)
                    for file in session.files[:_FILES]:
                        how = "changed" if file.changed else "read"
                        ui.label(f"{file.path} · {file.touches} × {how}").classes("said text-sm")
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

    def _actions(self, session: models.SessionDetail) -> None:
        view = self.view
        with ui.row().classes("gap-2"):
            if view.may_write:
                request = VersionRequest(view, session, self.show)
                action("Create compression", request.open, PRIMARY, icon="compress")
            action("View original", self.read, OUTLINED, icon="article")
            query = urlencode({"project": session.project_id, "session": session.session_id})
            target = f"/composer/{quote(view.app_id, safe='')}?{query}"
            action("Compose with it", lambda: ui.navigate.to(target), OUTLINED, icon="dashboard_customize")
            if view.may_write:
                if session.original_file:
                    action("Sync", self._sync, FLAT, icon="sync")
                action("Remove", lambda: self._remove(session), FLAT, icon="delete")

    async def read(self, from_uuid: object = None) -> None:
        """Open the original, at a message where one is named."""
        begin = from_uuid if isinstance(from_uuid, str) else None
        await originals.read_original(self.view, self.session_id, edit=self.edit, from_uuid=begin)

    async def edit(self, session_id: str, marker_id: str) -> None:
        """Open the editor of a marker."""
        await originals.edit_keepit(self.view, session_id, marker_id, self.show)

    def _versions(self, session: models.SessionDetail, listed: models.VersionList, progress: str) -> None:
        async def changed() -> None:
            await self.show()
            await self.thinned()

        with ui.row().classes("items-center gap-2 w-full"):
            heading(f"Compressions: {session.versions}", 3)
            ui.space()
            if len(listed.versions) > 1:
                compare = versions.Comparison(self.view, self.session_id, listed.versions)
                action("Compare versions", compare.open, FLAT, icon="compare_arrows")
            if listed.versions:
                manage = versions.VersionManager(self.view, session, changed)
                action("Manage compressions", manage.open, FLAT, icon="inventory_2")
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
        with ui.row().classes("card items-center gap-2").props("role=listitem"):
            ui.label(version.version_id).classes("font-medium")
            ui.label(made_how(version))
            ui.label(f"{short(version.output_tokens)} tokens, {version.compression_ratio:.1f} to 1").classes("muted")
            if version.used_in:
                badge("in use", "cyan-9").tooltip(", ".join(version.used_in))
            ui.space()
            read = partial(versions.read_version, self.view, self.session_id, version)
            action("Read", read, FLAT, icon="chrome_reader_mode", of=version.version_id)

    def _marker(self, marker: models.MarkerItem) -> None:
        with ui.row().classes("marked w-full no-wrap items-start gap-2").props("role=listitem"):
            with ui.column().classes("gap-0 min-w-0 grow"):
                title = f"keepit {marker.weight:.2f} {weight_name(marker.weight)}"
                if marker.weight != marker.written_weight:
                    title += f", {marker.written_weight:.2f} is written"
                ui.label(title).classes("text-xs font-medium")
                said(marker.content[:300])
                kept, lost = (", ".join(one) or "none" for one in (marker.survived_in, marker.summarized_in))
                ui.label(f"survived in {kept} · summarised in {lost}").classes("muted text-xs")
            edit = partial(self.edit, self.session_id, marker.marker_id)
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


def _show_figures(session: models.SessionDetail) -> None:
    storage, metadata = session.storage, session.metadata
    compositions = counted(storage.compositions, "composition")
    figures(
        [
            ("Original", f"{session.original_tokens:,} tokens, {size(session.size_bytes)}"),
            ("Messages", f"{session.original_messages:,}"),
            ("Date", time_range(session.first_timestamp, session.last_timestamp)),
            ("Registered", minute(session.registered_at)),
            ("Last used", minute(session.used_at) if session.used_at else "never"),
            ("Branch", str(metadata.get("gitBranch") or UNKNOWN)),
            ("Topics", ", ".join(metadata.get("primaryTopics") or ()) or UNKNOWN),
            ("Storage", f"{counted(storage.versions, 'version')} {size(storage.version_bytes)}, {compositions}"),
        ]
    )


Taken = Callable[[str, str], Awaitable[None]]
"""Called with the project and the session that were taken in; the latter is empty where it is a project."""


@dataclass(frozen=True)
class TranscriptSource:
    """A transcript that is not registered: its bytes, or where the service reads it."""

    project_id: str
    session_id: str
    content: bytes | None = None
    path: str | None = None


async def look_at(view: PageView, transcript: TranscriptSource, taken: Taken) -> None:
    """Show what a transcript holds, and add it to memory where that is wanted."""
    path: str | Omit = OMIT if transcript.path is None else transcript.path
    source = (transcript.project_id, transcript.session_id)
    register = partial(view.client.register_session, *source, content=transcript.content, path=path)
    found = await register(dry_run=True)
    assert isinstance(found, models.SessionForeseen)

    async def add() -> None:
        await register(dry_run=False)
        notify_success(f"{transcript.session_id} is in memory.")
        await taken(*source)

    with dialog("Add session to memory") as shown:
        figures(
            [
                ("Session", found.session_id),
                ("Messages", f"{found.original_messages:,}"),
                ("Tokens", f"{found.original_tokens:,}"),
                ("Size", size(found.size_bytes)),
                ("Time range", time_range(found.first_timestamp, found.last_timestamp)),
            ]
        )
        heading(f"Detected keepit markers: {found.markers}", 3)
        for weight, count in sorted(found.marker_weights.items(), reverse=True):
            ui.label(f"keepit {weight}: {count} {weight_name(float(weight)).lower()}")
        for problem in found.marker_problems[:_PROBLEMS]:
            note(f"Not well marked: {problem.written} ({problem.reason})").classes("said")
        if view.may_write:
            Form(view, f"add/{transcript.session_id}", {}, add, button="Add to memory", within=shown)


def upload_transcript(view: PageView, project_id: str, taken: Taken) -> None:
    """Ask for a transcript to look at."""
    with dialog("Upload a transcript") as shown:
        ui.label("A .jsonl file of at most 100 MB; its name becomes the session's id.").classes("muted")

        async def given(event: events.UploadEventArguments) -> None:
            content = await event.file.read()
            await look_at(view, TranscriptSource(project_id, PurePath(event.file.name).stem, content), taken)
            # Not before: nothing can be shown from within a dialog that is gone, and what was refused is given anew.
            shown.close()

        upload_field("Transcript", ".jsonl", given)


def import_project(view: PageView, taken: Taken) -> None:
    """Ask for the archive of a project."""
    with dialog("Import a project") as shown:
        ui.label("An archive that was exported here or elsewhere, of at most 100 MB.").classes("muted")
        name = ui.input("Project's id, where it is to be another").classes("w-full")

        async def given(event: events.UploadEventArguments) -> None:
            found = await view.client.import_project(await event.file.read(), project_id=name.value or None)
            notify_success(
                f"Imported {found.display_name}: {counted(found.sessions, 'session')}, "
                f"{counted(found.versions, 'version')}, {counted(found.compositions, 'composition')}."
            )
            await taken(found.project_id, "")
            shown.close()

        upload_field("Archive", ".zip", given)


def open_project(view: PageView, taken: Taken) -> None:
    """Ask for a folder that was worked in, and make it a project."""
    with dialog("Open a project") as shown:
        fields = {
            "original_path": ui.input("Folder that was worked in", placeholder="/home/me/myapp").props("autofocus"),
            "display_name": ui.input("Name, where it is to be another than the folder's"),
            "source_folder": ui.input("Folder of its transcripts"),
        }
        fields["source_folder"].set_visibility(view.visitor.is_admin)
        for field in fields.values():
            field.classes("w-full")

        async def opened(original_path: str, **others: str) -> None:
            given: Any = {name: value or OMIT for name, value in others.items()}
            await taken((await view.client.open_project(original_path, **given)).project_id, "")

        labels = {"originalPath": ("Folder that was worked in", "the path of a folder.")}
        Form(view, "project", fields, opened, button="Open project", labels=labels, within=shown)


async def export_project(view: PageView, project_id: str) -> None:
    """Hand a project out as an archive."""
    ui.download.content(await view.client.export_project(project_id), f"{project_id.strip('-')}.zip")
