"""Opaque cursors: where a listing goes on, in a form that clients pass back and never read."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import TypeVar

from shared.base.errors import Invalid
from shared.contracts.values import LARGEST_INTEGER

_Item = TypeVar("_Item")


def encode(listing: str, position: int | str) -> str:
    """Return the cursor that goes on behind ``position`` of a listing."""
    # Without padding, which addresses would have to escape.
    return base64.urlsafe_b64encode(f"{listing}|{position}".encode()).decode().rstrip("=")


def decode_text(listing: str, cursor: str | None) -> str | None:
    """Return the position a cursor stands for. Raises: Invalid when it is not one of this listing's."""
    if cursor is None:
        return None
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError, ValueError):
        raise _refused() from None
    name, _, position = text.partition("|")
    if name != listing or not position or not position.isprintable():
        raise _refused()
    return position


def decode_number(listing: str, cursor: str | None) -> int | None:
    """Return the numeric position a cursor stands for. Raises: Invalid."""
    text = decode_text(listing, cursor)
    if text is None:
        return None
    # The length first, as `int` refuses thousands of digits.
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LARGEST_INTEGER):
        raise _refused()
    return int(text)


def encode_id(listing: str, name: str) -> str:
    """Return the cursor that goes on behind an id that may hold anything, or nothing."""
    # The point, because an empty id (what names nobody) would be no position.
    return encode(listing, f".{name.encode().hex()}")


def decode_id(listing: str, cursor: str | None) -> str | None:
    """Return the id a cursor stands for. Raises: Invalid."""
    text = decode_text(listing, cursor)
    if text is None:
        return None
    try:
        return bytes.fromhex(text.removeprefix(".")).decode()
    except ValueError:
        raise _refused() from None


def encode_moment(listing: str, at: datetime, number: int) -> str:
    """Return the cursor that goes on behind what happened then and has that number."""
    return encode(listing, f"{at.isoformat()} {number}")


def decode_moment(listing: str, cursor: str | None) -> tuple[datetime, int] | None:
    """Return the time and the number a cursor stands for. Raises: Invalid."""
    text = decode_text(listing, cursor)
    if text is None:
        return None
    at, _, number = text.partition(" ")
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        raise _refused() from None
    if moment.tzinfo is None or not (number.isascii() and number.isdigit() and int(number) <= LARGEST_INTEGER):
        raise _refused()
    return moment, int(number)


@dataclass(frozen=True)
class PageRequest:
    """Which page of a listing is asked for. A page comes with the cursor of the next one; None ends the listing."""

    limit: int = 50
    cursor: str | None = None

    def numbered(
        self, listing: str, read: Callable[[int, int | None], Sequence[_Item]], number: str = "key"
    ) -> tuple[Sequence[_Item], str | None]:
        """Return a page of what goes on by a number of its rows; ``read`` takes how many, and what came last before."""
        rows, more = self.cut(read(self.limit + 1, decode_number(listing, self.cursor)))
        return rows, encode(listing, attrgetter(number)(rows[-1])) if more else None

    def timed(
        self,
        listing: str,
        read: Callable[[int, tuple[datetime, int] | None], Sequence[_Item]],
        moment: Callable[[_Item], tuple[datetime, int]],
    ) -> tuple[Sequence[_Item], str | None]:
        """Return a page of what goes on by the time of its rows, and a number where times are alike."""
        rows, more = self.cut(read(self.limit + 1, decode_moment(listing, self.cursor)))
        return rows, encode_moment(listing, *moment(rows[-1])) if more else None

    def part(self, listing: str, items: Sequence[_Item]) -> tuple[Sequence[_Item], str | None]:
        """Return a page of a short list that was read whole."""
        start = decode_number(listing, self.cursor) or 0
        end = start + self.limit
        return items[start:end], encode(listing, end) if end < len(items) else None

    def cut(self, rows: Sequence[_Item]) -> tuple[Sequence[_Item], bool]:
        """Return the page of rows that were read with one more, and whether there is more."""
        return rows[: self.limit], len(rows) > self.limit


def _refused() -> Invalid:
    return Invalid("cursor: it is not one this listing gave; leave it out to begin at the start.")
