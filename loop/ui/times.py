"""Shows times as people say them, with the exact one as a tooltip."""

from __future__ import annotations

from datetime import UTC, datetime

from nicegui import ui

_STEPS = (("minute", 60), ("hour", 3600), ("day", 86400), ("month", 30 * 86400), ("year", 365 * 86400))


def ago(at: datetime, now: datetime | None = None) -> str:
    """Return how long ago something was."""
    seconds = ((now or datetime.now(UTC)) - at).total_seconds()
    if seconds < 60:
        return "just now"
    name, length = [step for step in _STEPS if seconds >= step[1]][-1]
    count = int(seconds // length)
    return f"{count} {name}{'' if count == 1 else 's'} ago"


def show_time(at: datetime, before: str = "") -> ui.label:
    """Show how long ago something was, after some words."""
    label = ui.label(f"{before} {ago(at)}".strip()).classes("muted text-xs")
    return label.tooltip(at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
