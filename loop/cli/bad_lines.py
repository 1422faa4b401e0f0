"""What of a file cannot be used, where it stands and why."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

_KINDS = {dict: "an object", list: "a list", bool: "true or false", int: "a number", float: "a number", str: "text"}
_SHOWN = 60


class UnusableFile(Exception):
    """A line, or a part of one, cannot be used; the text says why, ``place`` which part it is."""

    def __init__(self, reason: str, place: str | None = None) -> None:
        super().__init__(reason)
        self.place = place


class NothingSaid(UnusableFile):
    """A conversation is well formed and empty."""


@dataclass(frozen=True, slots=True)
class BadChatLine:
    """A line that cannot be used, and why."""

    where: str
    reason: str
    read_bytes: int = 0


def kind_of(value: Any) -> str:
    """Return what a value of JSON is, in a word."""
    return _KINDS.get(type(value), "null")


def shown(value: Any) -> str:
    """Return a value as a reason names it: its beginning, or only what it is."""
    return kind_of(value) if isinstance(value, dict | list) else json.dumps(value, ensure_ascii=False)[:_SHOWN]
