"""Others' generators make clients of ``/openapi.json`` without a warning."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ops.client.writing import description_of_release

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
_NO_INDEX = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "No matching distribution")
# It knows no archives and no lines of JSON; both are bytes.
_AS_BYTES = dict.fromkeys(("application/zip", "application/x-ndjson"), "application/octet-stream")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "openapi.json").write_text(json.dumps(description_of_release()))
    (tmp_path / "package.json").write_text('{"private": true}')
    # Nor is what it makes formatted afterwards, by a tool of its own.
    (tmp_path / "options.json").write_text(json.dumps({"content_type_overrides": _AS_BYTES, "post_hooks": []}))
    return tmp_path


def run(folder: Path, *command: str | Path) -> str:
    """Return what a command prints. Skips where it reaches no index of packages."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    printed = done.stdout + done.stderr
    if done.returncode and any(sign in printed for sign in _NO_INDEX):
        pytest.skip(f"{command[0]} reaches no index of packages")
    assert done.returncode == 0, printed
    return printed


def warned(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if any(word in line.lower() for word in ("warn", "error", "cannot"))]


@pytest.mark.skipif(shutil.which("npm") is None, reason="Node with npm is not installed")
@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("openapi-typescript@7.13.0", ("openapi-typescript", "openapi.json", "--output", "made/schema.d.ts")),
        ("@hey-api/openapi-ts@0.99.0", ("openapi-ts", "--input", "openapi.json", "--output", "made")),
    ],
)
def test_a_generator_of_typescript_warns_of_nothing(folder: Path, package: str, command: tuple[str, ...]) -> None:
    run(folder, "npm", "install", "--no-audit", "--no-fund", "--save-exact", package, "typescript@5.9.3")
    assert warned(run(folder, folder / "node_modules/.bin" / command[0], *command[1:])) == []
    made = "".join(path.read_text("utf-8") for path in (folder / "made").rglob("*.ts"))
    assert "purgeMemories" in made


def test_a_generator_of_python_warns_of_nothing_and_makes_what_can_be_imported(folder: Path) -> None:
    run(folder, sys.executable, "-m", "venv", "env")
    python = folder / "env/bin/python"
    run(folder, python, "-m", "pip", "install", "--quiet", "openapi-python-client==0.29.1")
    command = ("generate", "--path", "openapi.json", "--config", "options.json", "--output-path", "made")
    assert warned(run(folder, folder / "env/bin/openapi-python-client", *command)) == []
    program = "import sys; sys.path.append('made'); from afterthought_client.api.memories import purge_memories as it"
    assert "sync_detailed" in run(folder, python, "-c", f"{program}; print(dir(it))")
