"""Which files a session touched, from what its tools were given."""

from __future__ import annotations

from dataclasses import dataclass

from shared.sessions.transcripts.turns import Turn, TurnKind

MOST_FILES = 2000
MOST_PATH_CHARACTERS = 500
_NAMES = ("file_path", "notebook_path", "path")
_CHANGING = ("write", "edit", "create", "update", "patch", "replace", "insert")


@dataclass(frozen=True)
class TouchedFile:
    """A file, how often a tool was given it, and whether one wrote it."""

    path: str
    touches: int
    changed: bool


class Touches:
    """Collects files, the first ``MOST_FILES`` of them."""

    def __init__(self) -> None:
        self._files: dict[str, TouchedFile] = {}

    def add(self, turn: Turn) -> None:
        """Take a turn into account."""
        if turn.kind is not TurnKind.TOOL_USE:
            return
        changes = any(word in (turn.tool_name or "").lower() for word in _CHANGING)
        for path in {turn.tool_input.get(name) for name in _NAMES if isinstance(turn.tool_input.get(name), str)}:
            self._touch(str(path), changes)

    def files(self) -> tuple[TouchedFile, ...]:
        """Return the files, those touched most often first."""
        return tuple(sorted(self._files.values(), key=lambda one: (-one.touches, one.path)))

    def _touch(self, path: str, changes: bool) -> None:
        if not path or len(path) > MOST_PATH_CHARACTERS:
            return
        known = self._files.get(path, TouchedFile(path, 0, False))
        if known.touches or len(self._files) < MOST_FILES:
            self._files[path] = TouchedFile(path, known.touches + 1, known.changed or changes)
