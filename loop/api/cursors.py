"""Opaque cursors: where a listing goes on, in a form that clients pass back and never read."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from shared.base.errors import Invalid
from shared.contracts.values import LARGEST_INTEGER

_Item = TypeVar("_Item")


def encode(listing: str, position: int | str) -> str:
    """Return the cursor that goes on behind ``position`` of a listing."""
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
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LARGEST_INTEGER):
        raise _refused()
    return int(text)


def encode_id(listing: str, name: str) -> str:
    """Return the cursor that goes on behind an id that may hold anything, or nothing."""
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


def slice_of(
    listing: str, items: Sequence[_Item], limit: int, cursor: str | None
) -> tuple[Sequence[_Item], str | None]:
    """Return one page of a short list that was read whole, and the cursor of the next one."""
    start = decode_number(listing, cursor) or 0
    return items[start : start + limit], encode(listing, start + limit) if start + limit < len(items) else None


def page(rows: Sequence[_Item], limit: int) -> tuple[Sequence[_Item], bool]:
    """Return the first ``limit`` of rows that were read with one more, and whether there is more."""
    return rows[:limit], len(rows) > limit


def _refused() -> Invalid:
    return Invalid("cursor: it is not one this listing gave; leave it out to begin at the start.")
