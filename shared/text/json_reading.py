"""JSON as programs write it: half a character, as a JavaScript program cuts an emoji, becomes U+FFFD."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import orjson

_ODD = re.compile(
    rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]|\xed[\xa0-\xbf][\x80-\xbf]"
    rb"|\\u0000|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
    # Any other escape, so that the second backslash of two is not taken for the beginning of one.
    rb"|\\.",
    re.DOTALL,
)
"""Both halves of a character or one, as bytes (CESU-8) and as escapes; and NUL, which is left to the caller."""
_NUL = rb"\u0000"


def read_json(text: bytes | str, replaces_nul: bool = False) -> Any:
    """Return what JSON says, half characters replaced, and NUL too if told so. Raises: orjson.JSONDecodeError."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if not (replaces_nul and _NUL in raw):
        with suppress(orjson.JSONDecodeError):
            return orjson.loads(raw)
    return orjson.loads(with_whole_characters(raw, replaces_nul))


def with_whole_characters(text: bytes, replaces_nul: bool = False) -> bytes:
    """Return JSON with U+FFFD where half a character stands, and the character where both halves do."""

    def whole(found: re.Match[bytes]) -> bytes:
        odd = found[0]
        if odd.startswith(b"\xed"):
            halves = odd.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass")
            return halves.decode("utf-16-le", "replace").encode()
        is_lone = len(odd) == len(_NUL) and (odd != _NUL or replaces_nul)
        return rb"\ufffd" if is_lone else odd

    return _ODD.sub(whole, text)
