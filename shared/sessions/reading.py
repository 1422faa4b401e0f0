"""An original as people read it: page by page, what was said and by whom, with its marked parts.

The file is read from its beginning for every page, block by block, since what a recorder repeats is only known by what
stood before it. So memory is that of one page, however long the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shared.sessions.blocks import Block, BlockKind
from shared.sessions.markers import MarkerNames, PlacedMarker


@dataclass(frozen=True)
class ReadingPosition:
    """Where a page begins: at which message, and at which character of it."""

    message: int = 0
    start: int = 0


@dataclass(frozen=True)
class ReadMessage:
    """A message of an original, or a piece of a long one."""

    block: Block
    position: int
    """Its place among the original's messages, from 0."""
    start: int
    """Where the text begins in the message, characters."""
    text: str
    markers: tuple[PlacedMarker, ...]
    """All of the message's, placed within its whole text."""
    tool: str | None = None
    """Of a call and of its result, which itself names only the call's id."""


def read_page(
    blocks: Iterable[Block],
    session_id: str,
    begin: ReadingPosition,
    most_messages: int,
    most_characters: int,
    message_uuid: str | None = None,
) -> tuple[list[ReadMessage], ReadingPosition | None]:
    """Return some messages and where the next page begins; None at the end.

    ``blocks``: the original's, from its beginning, since ids of markers count on all before them. ``message_uuid``:
    begin with this message; nothing is returned where there is none.
    """
    names, page, room = MarkerNames(session_id), list[ReadMessage](), most_characters
    called: dict[str, str] = {}
    for position, block in enumerate(blocks):
        placed, _ = names.of(block)
        tool = _tool_of(block, called)
        if position < begin.message or (message_uuid is not None and not page and block.uuid != message_uuid):
            continue
        if len(page) == most_messages or not room:
            return page, ReadingPosition(position)
        start = begin.start if position == begin.message else 0
        text = block.text[start : start + room]
        page.append(ReadMessage(block, position, start, text, placed, tool))
        room -= len(text)
        if start + len(text) < len(block.text):
            return page, ReadingPosition(position, start + len(text))
    return page, None


def _tool_of(block: Block, called: dict[str, str]) -> str | None:
    """Return the tool of a call or a result; ``called``: the tools of the calls before it, by their ids."""
    if block.call is None:
        return None
    if block.kind is BlockKind.TOOL_USE:
        called[block.call.tool_use_id] = block.call.name
    return block.call.name or called.get(block.call.tool_use_id)
