"""Which release of Afterthought this is."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


@cache
def release() -> str:
    """Return the version of the installed package, or of the checkout that runs without being installed."""
    try:
        return version("afterthought")
    except PackageNotFoundError:
        return str(tomllib.loads(_PROJECT.read_text("utf-8"))["project"]["version"])
