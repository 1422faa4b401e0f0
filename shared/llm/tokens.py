"""How many tokens a text has, where no provider has counted them.

One best guess and two bounds. A provider's own count always goes before these.
"""

from __future__ import annotations

_CHARS_PER_TOKEN = 4
_FEWEST_CHARS_PER_TOKEN = 3
_LAST_ASCII = 0x7F
_LAST_COMMON = 0xFFFF


def estimate_tokens(text: str) -> int:
    """Return the estimate of last resort: a quarter of the characters, rounded up."""
    return -(-len(text) // _CHARS_PER_TOKEN)


def most_tokens(text: str) -> int:
    """Return a figure that running text in the vocabularies in use does not pass.

    Three ASCII characters a token (prose has four to five, code about three), one for any other character, three for
    those beyond the common plane.
    """
    ascii_chars = sum(1 for character in text if ord(character) <= _LAST_ASCII)
    rare = sum(1 for character in text if ord(character) > _LAST_COMMON)
    return -(-ascii_chars // _FEWEST_CHARS_PER_TOKEN) + (len(text) - ascii_chars) + 2 * rare


def least_tokens(text: str) -> int:
    """Return a figure no vocabulary in use stays below: they never join two words into one token."""
    return len(text.split())
