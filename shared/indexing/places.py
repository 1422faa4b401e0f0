"""A place is one number for where a message stands: its conversation, then its position in it.

Neighbours in a conversation are neighbours as numbers, and a conversation is a range of them, so what an index returns
can be filtered and joined to its surroundings without asking the database.
"""

from __future__ import annotations

POSITION_BITS = 20
LAST_POSITION = (1 << POSITION_BITS) - 1
"""Messages beyond it are kept but not indexed."""
LAST_CONVERSATION = (1 << (63 - POSITION_BITS)) - 1


def place_of(conversation_key: int, position: int) -> int | None:
    """Return a message's place; None for one that lies too far in to be indexed."""
    if position > LAST_POSITION or conversation_key > LAST_CONVERSATION:
        return None
    return conversation_key << POSITION_BITS | position


def conversation_of(place: int) -> int:
    """Return the key of the conversation a place lies in."""
    return place >> POSITION_BITS


def position_of(place: int) -> int:
    """Return where in its conversation a place lies, from 0."""
    return place & LAST_POSITION


def places_of(conversation_key: int) -> tuple[int, int]:
    """Return the first and the last place of a conversation."""
    first = conversation_key << POSITION_BITS
    return first, first | LAST_POSITION
