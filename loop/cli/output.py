"""What the user sees: tables for people, and everything but the answer on standard error.

What an app's users wrote is shown as text: no terminal sequence or markup in it takes effect.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

Row = Mapping[str, Any]
Cell = Callable[[Row], object]
Columns = Mapping[str, str | Cell]
"""Titles, and what stands under them: a field's name, ``outer.inner`` of one within, or a function of the row."""
_PIPE_WIDTH = 10_000


def columns(written: str, **cells: Cell) -> Columns:
    """Return columns as they are written: ``title field | title @time | title field:.2f``, the last word the field.

    A word alone is title and field. A field of ``cells`` is made by a function of the row.
    """
    made: dict[str, str | Cell] = {}
    for part in written.split("|"):
        title, _, name = part.strip().rpartition(" ")
        field, _, how = (f"{name[1:]}:@" if name.startswith("@") else name).partition(":")
        made[title or name] = cells.get(name) or (FormattedField(field, how) if how else field)
    return made


@dataclass(frozen=True)
class FormattedField:
    """Shows a field in a format, or (``@``) as a time, in UTC and without what nobody reads."""

    name: str
    how: str

    def __call__(self, row: Row) -> str:
        return moment(row.get(self.name)) if self.how == "@" else format(row[self.name], self.how)


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def print_view(view: RenderableType) -> None:
    # In a pipe nothing is folded, so that grep and cut see whole rows.
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    Console(file=sys.stdout, width=width, highlight=False, soft_wrap=False).print(view)


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
    grid = _grid(*columns)
    for row in rows:
        grid.add_row(*(plain(_text(_value(row, one))) for one in columns.values()))
    return grid


def card(row: Row, columns: Columns | None = None) -> Table:
    """Return one thing, a line a field, by default its own fields; what is None or empty is left out."""
    grid = _grid("", "", show_header=False)
    for title, one in (columns or {name: name for name in row}).items():
        text = _text(_value(row, one))
        if text:
            grid.add_row(plain(title), plain(text))
    return grid


def plain(text: str) -> Text:
    return Text(_harmless(text), overflow="fold")


def moment(value: object) -> str:
    """Return an ISO time as people read it; what is no time stays."""
    return str(value)[:19].replace("T", " ") if value else ""


@contextmanager
def progress(
    description: str, total: float | None = None, count: ProgressColumn | None = None
) -> Iterator[Callable[..., None]]:
    """Draw a bar on a terminal's standard error until the block ends; gives what updates it."""
    terminal = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), count or MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=terminal, disable=not terminal.is_terminal, transient=True) as bar:
        yield partial(bar.update, bar.add_task(description, total=total))


def _grid(*titles: str, show_header: bool = True) -> Table:
    grid = Table(box=None, pad_edge=False, show_header=show_header, header_style="bold", padding=(0, 2, 0, 0))
    for title in titles:
        grid.add_column(title, overflow="fold")
    return grid


def _value(row: Row, column: str | Cell) -> object:
    if callable(column):
        return column(row)
    value: Any = row
    for field in column.split("."):
        value = None if value is None else value.get(field)
    return value


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}" if abs(value) < 1e6 else f"{value:.0f}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_text(one)}" for key, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_text(one) for one in value)
    return str(value)


def _harmless(text: str) -> str:
    return "".join(character if character.isprintable() or character == "\n" else "\ufffd" for character in text)
