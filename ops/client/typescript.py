"""The types of ``clients/typescript``, written by openapi-typescript from ``/openapi.json``."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

SCHEMA = "src/schema.d.ts"
_NOTE = "// Generated: `python -m ops.client`.\n\n"
_HEAD = "export interface paths"


def schema_module(description: dict[str, Any], project: Path) -> str:
    """Return the module of types; ``project`` holds the generator, in ``node_modules``.

    Raises: FileNotFoundError where the generator is not installed.
    """
    generator = project / "node_modules/.bin/openapi-typescript"
    if not generator.exists():
        raise FileNotFoundError(f"run npm install in {project} first")
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "openapi.json"), Path(folder, "schema.d.ts")
        given.write_text(json.dumps(_bare(description)), "utf-8")
        # What has a default may be left out of a body.
        options = ["--default-non-nullable=false", "--output", made]
        subprocess.run([generator, given, *options], check=True, capture_output=True)
        text = made.read_text("utf-8")
    return _NOTE + text[text.index(_HEAD) :]


def _bare(part: Any, *, named: bool = False) -> Any:
    """Return a description without refusals, which are thrown, and without titles, which repeat names.

    ``named``: its keys are the names of fields, and no words of the description.
    """
    if isinstance(part, list):
        return [_bare(one) for one in part]
    if not isinstance(part, dict):
        return part
    kept = part if named else {key: value for key, value in part.items() if key not in ("title", "examples")}
    if not named and "responses" in part and "operationId" in part:
        kept |= {"responses": {code: one for code, one in part["responses"].items() if code.startswith("2")}}
    return {key: _bare(value, named=not named and key in ("properties", "schemas")) for key, value in kept.items()}
