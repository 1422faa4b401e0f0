"""``afterthought export`` and ``import``: everything of an app as one JSON file, and back."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from loop.cli.invocation import AppArgument, Invocation, UserOption, command, route
from loop.cli.output import card, remark
from shared.errors import Configuration, Invalid


def add_to(program: typer.Typer) -> None:
    """Add the commands."""
    command(program, "export")(export_app)
    command(program, "import")(import_app)


def export_app(
    call: Invocation,
    app: AppArgument,
    user: UserOption = None,
    file: Annotated[Path | None, typer.Option("-o", "--output", help="Where to; else standard output.")] = None,
) -> None:
    """Write everything of an app, or of one user, as JSON: conversations, memories, facts, history.

    Recorded sessions go by project: `afterthought sessions export`.
    """
    text = json.dumps(call.service.get(route("apps", app, "export"), userId=user), ensure_ascii=False, indent=2) + "\n"
    if file is None:
        sys.stdout.write(text)
        return
    _write_private(file, text)
    remark(f"{app} is in {file}, readable by you only.")


def import_app(
    call: Invocation,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="What `afterthought export` wrote.")],
    app: Annotated[str | None, typer.Option("--app", help="The app to import into; else the one exported.")] = None,
) -> None:
    """Read what was exported into an app; what it already has is left as it is."""
    archive = _read(file)
    target = app or _exported_app(archive, file)
    answer = call.service.post(route("apps", target, "import"), archive)
    call.output.show(answer, lambda: card(answer))


def _write_private(file: Path, text: str) -> None:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        raise Configuration(f"{file}: {error.strerror}") from None


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{file} is not what `afterthought export` writes: {error}") from None
    except OSError as error:
        raise Configuration(f"{file}: {error.strerror}") from None


def _exported_app(archive: Any, file: Path) -> str:
    app = archive.get("app") if isinstance(archive, dict) else None
    if not isinstance(app, dict) or not isinstance(app.get("appId"), str):
        raise Invalid(f"{file} names no app; say which: --app APP")
    return str(app["appId"])
