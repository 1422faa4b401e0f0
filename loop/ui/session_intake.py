"""Takes sessions and projects in: transcripts with a look at them first, new projects, and archives of whole ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import PurePath

from nicegui import events, ui

from afterthought_client import models
from afterthought_client.calls import OMIT, Omit
from loop.ui.frame import PageView
from loop.ui.session_view import dialog, foot, rows, size, weight_name
from loop.ui.tables import counted, heading
from loop.ui.times import time_range
from loop.ui.visitors import in_words_of, notify_error, notify_success

Taken = Callable[[str, str], Awaitable[None]]
"""Called with the project and the session that were taken in; the latter is empty where it is a project."""
_MOST_BYTES = 100_000_000
_PROBLEMS = 10
# The library's own button has no name that a screen reader could say.
_CHOOSER = """
<div class="row items-center q-pa-sm q-gutter-sm">
  <q-btn v-if="props.canAddFiles" type="a" label="Choose a file" icon="attach_file" flat no-caps
         @click="props.pickFiles">
    <q-uploader-add-trigger></q-uploader-add-trigger>
  </q-btn>
  <span>or drop it here</span>
</div>
"""


@dataclass(frozen=True)
class TranscriptSource:
    """A transcript that is not registered: its bytes, or where the service reads it."""

    project_id: str
    session_id: str
    content: bytes | None = None
    path: str | None = None


async def look_at(view: PageView, transcript: TranscriptSource, taken: Taken) -> None:
    """Show what a transcript holds, and add it to memory where that is wanted."""
    foreseen = await _register(view, transcript, dry_run=True)
    assert isinstance(foreseen, models.SessionForeseen)

    async def add() -> None:
        await _register(view, transcript, dry_run=False)
        notify_success(f"{transcript.session_id} is in memory.")
        await taken(transcript.project_id, transcript.session_id)
        shown.close()

    with dialog("Add session to memory") as shown:
        _show_foreseen(foreseen)
        foot(shown, "Add to memory", add).set_visibility(view.may_write)


async def _register(
    view: PageView, transcript: TranscriptSource, *, dry_run: bool
) -> models.SessionItem | models.SessionForeseen:
    path: str | Omit = OMIT if transcript.path is None else transcript.path
    return await view.client.register_session(
        transcript.project_id, transcript.session_id,
        content=transcript.content, path=path, dry_run=dry_run,
    )  # fmt: skip


def _show_foreseen(found: models.SessionForeseen) -> None:
    rows(
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
        ui.label(f"Not well marked: {problem.written} ({problem.reason})").classes("said muted text-sm")


def upload_transcript(view: PageView, project_id: str, taken: Taken) -> None:
    """Ask for a transcript to look at."""
    with dialog("Upload a transcript") as shown:
        ui.label("A .jsonl file of at most 100 MB; its name becomes the session's id.").classes("muted")

        async def given(event: events.UploadEventArguments) -> None:
            content = await event.file.read()
            shown.close()
            await look_at(view, TranscriptSource(project_id, PurePath(event.file.name).stem, content), taken)

        _upload("Transcript", ".jsonl", given)


def import_project(view: PageView, taken: Taken) -> None:
    """Ask for the archive of a project."""
    with dialog("Import a project") as shown:
        ui.label("An archive that was exported here or elsewhere, of at most 100 MB.").classes("muted")
        name = ui.input("Project's id, where it is to be another").props("outlined dense").classes("w-full")

        async def given(event: events.UploadEventArguments) -> None:
            found = await view.client.import_project(await event.file.read(), project_id=name.value or None)
            notify_success(
                f"Imported {found.display_name}: {counted(found.sessions, 'session')}, "
                f"{counted(found.versions, 'version')}, {counted(found.compositions, 'composition')}."
            )
            await taken(found.project_id, "")
            shown.close()

        _upload("Archive", ".zip", given)


def _upload(label: str, accepted: str, given: Callable[[events.UploadEventArguments], Awaitable[None]]) -> None:
    async def taken(event: events.UploadEventArguments) -> None:
        try:
            await given(event)
        finally:
            # A file that was refused can be given once more, under another name say; the library takes it for sent.
            if not upload.is_deleted:
                upload.reset()

    upload = ui.upload(
        label=label,
        auto_upload=True,
        max_file_size=_MOST_BYTES,
        on_upload=taken,
        on_rejected=lambda: notify_error("This file is too large, or of another kind."),
    )
    upload.props(f"accept={accepted} flat bordered").classes("w-full")
    upload.add_slot("header", _CHOOSER)


def open_project(view: PageView, taken: Taken) -> None:
    """Ask for a folder that was worked in, and make it a project."""
    with dialog("Open a project") as shown:
        path = ui.input("Folder that was worked in", placeholder="/home/me/myapp").props("outlined dense autofocus")
        named = ui.input("Name, where it is to be another than the folder's").props("outlined dense")
        folder = ui.input("Folder of its transcripts").props("outlined dense")
        folder.set_visibility(view.visitor.is_admin)
        for field in (path, named, folder):
            field.classes("w-full")

        async def opened() -> None:
            with in_words_of({"originalPath": (path.props["label"], "the path of a folder.")}):
                found = await view.client.open_project(
                    path.value or "", display_name=named.value or OMIT, source_folder=folder.value or OMIT,
                )  # fmt: skip
            await taken(found.project_id, "")
            shown.close()

        path.on("keydown.enter", opened)
        foot(shown, "Open project", opened)


async def export_project(view: PageView, project_id: str) -> None:
    """Hand a project out as an archive."""
    ui.download.content(await view.client.export_project(project_id), f"{project_id.strip('-')}.zip")
