"""JSON as programs write it: half a character, as JavaScript cuts an emoji in two, becomes the replacement character."""

from __future__ import annotations

import re
from typing import Any

import orjson

_ODD = re.compile(
    rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]|\xed[\xa0-\xbf][\x80-\xbf]"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
    # Any other escape, so that the second backslash of two is not taken for the beginning of one.
    rb"|\\.",
    re.DOTALL,
)
"""Both halves of a character or one, as bytes (CESU-8) and as escapes."""
_LONE_ESCAPE = 6


def read_json(text: bytes | str) -> Any:
    """Return what JSON says, half characters replaced. Raises: orjson.JSONDecodeError."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        whole = with_whole_characters(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
        return orjson.loads(whole)


def with_whole_characters(text: bytes) -> bytes:
    """Return JSON with U+FFFD where half a character stands, and the character where both halves do."""
    return _ODD.sub(_whole, text)


def _whole(found: re.Match[bytes]) -> bytes:
    odd = found[0]
    if odd.startswith(b"\xed"):
        halves = odd.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass")
        return halves.decode("utf-16-le", "replace").encode()
    is_lone = odd[:3].lower() == b"\\ud" and len(odd) == _LONE_ESCAPE
    return rb"\ufffd" if is_lone else odd
