"""What the user sees: tables for people, JSON for machines, and everything else on standard error.

What an app's users wrote is shown as text: no terminal sequence or markup in it takes effect.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

Row = Mapping[str, Any]
Cell = Callable[[Row], object]
Columns = Mapping[str, str | Cell]
"""Titles, and what stands under them: a field's name or a function of the row."""
_PIPE_WIDTH = 10_000


class Output:
    """Standard output, as tables or as JSON."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def show(self, value: object, render: Callable[[], RenderableType]) -> None:
        """Print the value as JSON, or what ``render`` makes of it for people."""
        if self.as_json:
            sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
        else:
            _console(sys.stdout).print(render())

    def done(self, value: object, sentence: str) -> None:
        """Print the value as JSON, or one sentence for people."""
        self.show(value, lambda: plain(sentence))


def complain(message: str) -> None:
    """Say on standard error what went wrong."""
    remark(f"Error: {message}")


def remark(message: str) -> None:
    """Say something on standard error, so that standard output stays what was asked for."""
    print(_harmless(message), file=sys.stderr)  # noqa: T201


def table(rows: Iterable[Row], columns: Columns, nothing: str = "Nothing to show.") -> RenderableType:
    """Return rows under their titles, or a sentence where there are none."""
    rows = list(rows)
    if not rows:
        return plain(nothing)
    made = _grid(*columns)
    for row in rows:
        cells = (one(row) if callable(one) else row.get(one) for one in columns.values())
        made.add_row(*(plain(_said(cell)) for cell in cells))
    return made


def card(fields: Mapping[str, object]) -> Table:
    """Return one thing, a line for each of its fields; what is None is left out."""
    made = _grid("", "", show_header=False)
    for title, value in fields.items():
        if value is not None:
            made.add_row(plain(title), plain(_said(value)))
    return made


def plain(text: str) -> Text:
    """Return text that is shown as it is."""
    return Text(_harmless(text), overflow="fold")


def at(field: str) -> Cell:
    """Return a column that shows a time, in UTC and without what nobody reads."""
    return lambda row: moment(row.get(field))


def moment(value: object) -> str:
    """Return an ISO time as people read it; what is no time stays."""
    return str(value)[:19].replace("T", " ") if value else ""


def progress_terminal() -> Console:
    """Return the console that progress is drawn on."""
    return Console(stderr=True)


def _console(file: Any) -> Console:
    # In a pipe nothing is folded, so that grep and cut see whole rows.
    return Console(file=file, width=None if file.isatty() else _PIPE_WIDTH, highlight=False, soft_wrap=False)


def _grid(*titles: str, show_header: bool = True) -> Table:
    made = Table(box=None, pad_edge=False, show_header=show_header, header_style="bold", padding=(0, 2, 0, 0))
    for title in titles:
        made.add_column(title, overflow="fold")
    return made


def _said(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}" if abs(value) < 1e6 else f"{value:.0f}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_said(one)}" for key, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_said(one) for one in value)
    return str(value)


def _harmless(text: str) -> str:
    return "".join(character if character.isprintable() or character == "\n" else "\ufffd" for character in text)
