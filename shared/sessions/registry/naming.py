"""What projects and sessions are called, from the paths they come from."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import PurePosixPath

from shared.errors import Invalid

_MOST_CHARACTERS = 180
"""So that a folder's name stays below what file systems take, with a hash behind it."""
_HASH_CHARACTERS = 8
_OTHER = re.compile(r"[^A-Za-z0-9-]")


def sanitise(path: str) -> str:
    """Return the project's id of a path, as ``-home-dac-github-myapp``; one too long is cut and gets a hash.

    Raises: Invalid.
    """
    name = _OTHER.sub("-", path.strip())
    if not name.strip("-") and path.strip() != "/":
        raise Invalid(f"{path[:80]!r} names no folder; give its path, as /home/me/myapp.", code="bad_name")
    return name if len(name) <= _MOST_CHARACTERS else with_hash(name, path)


def with_hash(name: str, path: str) -> str:
    """Return a name told apart from others that look the same, by its path's hash."""
    digest = sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:_HASH_CHARACTERS]
    return f"{name[: _MOST_CHARACTERS - _HASH_CHARACTERS]}-{digest}"


def display_name_of(path: str) -> str:
    """Return what people call a folder: the last part of its path."""
    return (PurePosixPath(path).name or path)[:200]
