"""What the pages about recorded sessions share: whose sessions they show, dialogs, and how figures are told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from markdown_it import MarkdownIt
from nicegui import ui

from afterthought_client.models import VersionAnswer
from loop.ui.tables import FLAT, action, heading
from loop.ui.times import UNKNOWN
from loop.ui.visitors import FormError

PRESETS = {1.0: "Pinned", 0.9: "Critical", 0.75: "Important", 0.5: "Notable", 0.25: "Minor", 0.1: "Hint"}
"""Weights that have a name."""
_SHOWN_CHARACTERS = 4_000
_NAME_CHARACTERS = 100
# HTML in it is text, and a picture a link to it: the browser would ask for one from wherever it lies.
_MARKDOWN = MarkdownIt("js-default").disable("image")
_UNITS = ("B", "kB", "MB", "GB")


@contextmanager
def dialog(title: str, *, is_wide: bool = False) -> Iterator[ui.dialog]:
    """Open a dialog with a title; it is gone once it is closed."""
    # Not where the button stands: that part of the page may be built anew meanwhile.
    with ui.context.client.content, ui.dialog() as shown:
        shown.props["aria-label"] = title
        shown.on("hide", shown.delete)
        if is_wide:
            shown.props("maximized")
        card = ui.card().classes("w-full gap-3 p-4").props("flat bordered")
        if not is_wide:
            card.style("max-width: 44rem")
        with card:
            with ui.row().classes("w-full items-center no-wrap gap-2"):
                heading(title).classes("text-lg min-w-0").style("overflow-wrap: anywhere")
                ui.space()
                ui.button(icon="close", on_click=shown.close).props("flat round dense aria-label=Close")
            yield shown
    shown.open()


def foot(shown: ui.dialog, name: str, act: Callable[[], object], *, is_danger: bool = False) -> ui.button:
    """End a dialog with a way out of it, and with the button that does what it is for."""
    with ui.row().classes("w-full justify-end gap-2"):
        ui.button("Cancel", on_click=shown.close).props("flat no-caps")
        return ui.button(name, on_click=act).props(f"unelevated no-caps color={'red-9' if is_danger else 'cyan-9'}")


def rows(pairs: Sequence[tuple[str, str]]) -> None:
    """Show names with their values, two columns."""
    with ui.element("dl").classes("figures"):
        for name, value in pairs:
            with ui.element("dt").classes("muted"):
                ui.label(name)
            with ui.element("dd").classes("said"):
                ui.label(value)


def long_text(text: str, most: int = _SHOWN_CHARACTERS) -> None:
    """Show the beginning of a text, and the rest when it is asked for."""
    label = ui.label(text[:most]).classes("said w-full").props("dir=auto")
    if len(text) > most:
        _offer_rest(len(text), lambda: label.set_text(text))


def rendered_text(text: str, most: int = _SHOWN_CHARACTERS) -> None:
    """Show the beginning of a text that is written as Markdown, and the rest when it is asked for."""
    shown = ui.html(_html(text[:most]), sanitize=True).classes("rendered nicegui-markdown w-full").props("dir=auto")
    if len(text) > most:
        _offer_rest(len(text), lambda: shown.set_content(_html(text)))


def _html(markdown: str) -> str:
    # Its headings are not the page's: those of the first level stand where the page has its third.
    return re.sub(r"<(/?)h[1-6]>", r"<\1h4>", _MARKDOWN.render(markdown))


def _offer_rest(characters: int, show_all: Callable[[], object]) -> None:
    def show() -> None:
        show_all()
        more.delete()

    more = action(f"Show all {characters:,} characters", show, FLAT)


def session_name(session_id: str, metadata: Mapping[str, Any]) -> str:
    """Return what people know a session by: its title, how its first prompt begins, or else its file's name."""
    name = str(metadata.get("title") or metadata.get("firstPrompt") or session_id)
    return name if len(name) <= _NAME_CHARACTERS else f"{name[: _NAME_CHARACTERS - 1].rstrip()}…"


def size(count: int | None) -> str:
    """Return a number of bytes as people say it."""
    if count is None:
        return UNKNOWN
    amount, unit = float(count), _UNITS[0]
    for unit in _UNITS:
        if amount < 1000 or unit == _UNITS[-1]:
            break
        amount /= 1000
    return f"{amount:,.0f} {unit}" if unit == _UNITS[0] else f"{amount:,.1f} {unit}"


def short(tokens: int) -> str:
    """Return a number of tokens in a few characters."""
    return f"{tokens / 1000:,.0f}k" if tokens >= 10_000 else f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)


def weight_name(weight: float) -> str:
    """Return the name of the heaviest preset that a weight reaches."""
    return next((name for least, name in PRESETS.items() if weight >= least), "Light")


def made_how(version: VersionAnswer) -> str:
    """Return what a version was made with, in a few words."""
    settings = version.settings
    skipped = version.statistics.get("skippedMessages") or settings.get("skipFirstMessages")
    skips = f", skips the first {skipped}" if skipped else ""
    if settings.get("mode") == "uniform":
        how = f"uniform {settings.get('compactionRatio') or 10}:1 {settings.get('aggressiveness') or ''}".strip()
    else:
        how = f"tiered {settings.get('tierPreset') or ('custom' if settings.get('customTiers') else 'standard')}"
    return how + skips


def whole_number(field: ui.number, least: int, most: int | None = None) -> int:
    """Return what a field holds. Raises: FormError where it holds nothing, or what is out of bounds."""
    name = field.props["label"]
    if field.value is None or field.value < least or (most is not None and field.value > most):
        bounds = f"{least} or more" if most is None else f"from {least} to {most}"
        raise FormError(f"{name}: give a number, {bounds}.")
    return int(field.value)
