"""``afterthought export`` and ``import``: everything of an app as one JSON file, and back."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from loop.cli.invocation import AppArgument, Invocation, UserOption
from loop.cli.output import remark
from loop.cli.routes import route
from shared.errors import Configuration, Invalid


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
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        raise Configuration(f"{file}: {error.strerror}") from None
    remark(f"{app} is in {file}, readable by you only.")


def import_app(
    call: Invocation,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="What `afterthought export` wrote.")],
    app: Annotated[str | None, typer.Option("--app", help="The app to import into; else the one exported.")] = None,
) -> None:
    """Read what was exported into an app; what it already has is left as it is."""
    try:
        archive = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{file} is not what `afterthought export` writes: {error}") from None
    except OSError as error:
        raise Configuration(f"{file}: {error.strerror}") from None
    exported = archive.get("app") if isinstance(archive, dict) else None
    target = app or (exported.get("appId") if isinstance(exported, dict) else None)
    if not isinstance(target, str):
        raise Invalid(f"{file} names no app; say which: --app APP")
    call.show_card(call.service.post(route("apps", target, "import"), archive))
