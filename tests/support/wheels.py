"""Wheels of the clients, as `pip install` puts them into an environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from tests.support.services import CHECKOUT


def unpack_wheel(project: str, folder: Path) -> Path:
    """Build the wheel of a project of the checkout in a folder, and return the folder that it is unpacked to."""
    left_out = shutil.ignore_patterns("*.egg-info", "build")
    source = shutil.copytree(CHECKOUT / project, folder / "source" / project, ignore=left_out)
    build = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", source]
    built = folder / "built" / project
    subprocess.run([sys.executable, "-m", *build, "-w", built], check=True, capture_output=True)
    [wheel] = built.glob("*.whl")
    ZipFile(wheel).extractall(folder / "installed")
    return folder / "installed"
