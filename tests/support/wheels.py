"""Wheels of the checkout's projects, as `pip install` puts them into an environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from tests.support.services import CHECKOUT

_OF_THE_SERVER = ("pyproject.toml", "README.md", "LICENSE", "shared", "loop", "worker", "clients/python")


def build_wheel(project: str, folder: Path) -> Path:
    """Build the wheel of a project of the checkout ("." is the server) in a folder, and return where it is."""
    source = folder / "source" / project
    left_out = shutil.ignore_patterns("*.egg-info", "build", "__pycache__")
    for name in _OF_THE_SERVER if project == "." else ("",):
        given = CHECKOUT / project / name
        if given.is_dir():
            shutil.copytree(given, source / name, ignore=left_out)
        else:
            source.mkdir(parents=True, exist_ok=True)
            shutil.copy(given, source)
    build = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", source]
    built = folder / "built" / project
    subprocess.run([sys.executable, "-m", *build, "-w", built], check=True, capture_output=True)
    [wheel] = built.glob("*.whl")
    return wheel


def unpack_wheel(project: str, folder: Path) -> Path:
    """Build the wheel of a project of the checkout in a folder, and return the folder that it is unpacked to."""
    ZipFile(build_wheel(project, folder)).extractall(folder / "installed")
    return folder / "installed"
