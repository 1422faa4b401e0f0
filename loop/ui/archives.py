"""An app as one JSON document: taken out to a file, and put in from one."""

from __future__ import annotations

from nicegui import ui
from nicegui.events import UploadEventArguments

from loop.ui.frame import Frame
from loop.ui.notices import tell_error
from loop.ui.tables import heading, number
from loop.ui.visitors import Visitor
from shared.text.json_reading import read_json

_MOST_BYTES = 64_000_000


def build(frame: Frame, visitor: Visitor, app_id: str) -> None:
    """Build both ways."""
    with ui.column().classes("card gap-3"):
        heading("Export and import")
        with ui.row().classes("items-end gap-3"):
            user = ui.input("Only of this user (empty: of all)").props("outlined dense").classes("w-64")

            async def export() -> None:
                async with frame.errors_told():
                    wanted = (user.value or "").strip() or None
                    archive = await visitor.client.export_app(user_id=wanted, app_id=app_id)
                    text = archive.model_dump_json(by_alias=True, exclude_unset=True)
                    ui.download.content(text, f"{app_id}.json", "application/json")

            ui.button("Export", icon="download", on_click=export).props("outline no-caps")

        done = ui.label().classes("text-sm").props("role=status")

        async def put_in(event: UploadEventArguments) -> None:
            async with frame.errors_told():
                archive = read_json(await event.file.read())
                if not isinstance(archive, dict):
                    raise ValueError("The file is no exported app.")
                found = await visitor.client.import_app(archive, app_id=app_id)
                added = {
                    "conversations": found.conversations.imported,
                    "messages": found.messages,
                    "memories": found.memories.imported,
                    "facts": found.facts.imported,
                }
                skipped = found.conversations.skipped + found.memories.skipped + found.facts.skipped
                told = ", ".join(f"{number(count)} {name}" for name, count in added.items())
                done.set_text(f"Added {told}; {number(skipped)} were there already.")

        upload = ui.upload(
            label="Import an exported app (JSON)", auto_upload=True, max_file_size=_MOST_BYTES, on_upload=put_in,
            on_rejected=lambda: tell_error("The file is larger than 64 MB; use: afterthought import"),
        )  # fmt: skip
        upload.props("accept=.json flat bordered color=blue-grey-9").classes("w-full max-w-md")
