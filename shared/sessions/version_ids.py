"""How the versions of a session are called."""

from __future__ import annotations


def version_id(number: int) -> str:
    """Return the id of a version: ``v001`` and so on."""
    return f"v{number:03d}"
