"""An original as people read it, page by page, and how much of each message stands in a version.

The file is read from its beginning for every page, block by block, since what a recorder repeats is only known by what
stood before it. So memory is that of one page, however long the file.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from shared.sessions.blocks import Block, BlockKind, writable
from shared.sessions.markers import MarkerNames, PlacedMarker
from shared.sessions.text import GAP

_OF_CALLS = frozenset({BlockKind.TOOL, BlockKind.FAILURE})
_SHOW_RESULTS = frozenset({BlockKind.FAILURE, BlockKind.SUMMARY, BlockKind.SYSTEM})
_PARTS = re.compile(rf"{re.escape(GAP)}|…|\n\n")
"""Between these an excerpt is the message itself."""
_SAYS = re.compile(r"[^\W_]")


class Held(StrEnum):
    """How much of a message a version holds."""

    WHOLE = "whole"
    PART = "part"
    """An excerpt, or other words for it; of a call, that it was made."""
    NONE = "none"


class VersionExtent:
    """What a version holds of the messages it was made from. ``blocks``: the version's."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self._of: dict[str, list[Block]] = defaultdict(list)
        for block in blocks:
            for source in block.sources:
                self._of[source].append(block)

    def extent_of(self, message: Block, markers: Iterable[PlacedMarker]) -> Held:
        """Return how much of a message stands there. ``markers``: its marked parts."""
        from_it = self._of.get(message.uuid, [])
        call = message.call
        if call is None:
            return _extent_of_words(message, markers, [one for one in from_it if one.kind not in _OF_CALLS])
        shown = next((one.call for one in from_it if one.call and one.call.tool_use_id == call.tool_use_id), None)
        other_blocks = [one for one in from_it if one.call is None]
        if message.kind is BlockKind.TOOL_RESULT:
            # A line that tells a call says nothing of its result, unless that is short or says why it failed.
            result = writable(message.text).strip()
            if shown is not None:
                shown_result = (shown.result or "").strip()
                return Held.WHOLE if shown_result == result else Held.PART if shown_result else Held.NONE
            if any(_is_shown(result, one) for one in other_blocks):
                return Held.WHOLE
            return Held.PART if any(one.kind in _SHOW_RESULTS for one in other_blocks) else Held.NONE
        if shown is not None:
            return Held.WHOLE if shown.input == call.input else Held.PART
        is_told = any(one.kind in _OF_CALLS or one.kind is BlockKind.SUMMARY for one in other_blocks)
        return Held.PART if is_told else Held.NONE


def _is_shown(result: str, block: Block) -> bool:
    # In a line of several calls a word may stand by chance; what came back stands there in brackets.
    shown = f"({result})" if block.kind is BlockKind.TOOL else result
    return block.kind in (BlockKind.TOOL, *_SHOW_RESULTS) and shown in block.text


def _extent_of_words(message: Block, markers: Iterable[PlacedMarker], from_it: list[Block]) -> Held:
    parts = [part for part in _parts_of(writable(message.text), markers) if part.strip()]
    texts = [one.text for one in from_it]
    found = [any(part.strip() in text for text in texts) for part in parts]
    if from_it and all(found):
        return Held.WHOLE
    is_summed_up = any(one.kind is BlockKind.SUMMARY for one in from_it)
    is_part = any(found) or is_summed_up or any(_is_excerpt(text, message.text) for text in texts)
    return Held.PART if is_part else Held.NONE


def _parts_of(text: str, markers: Iterable[PlacedMarker]) -> Iterator[str]:
    """Yield the words between marked parts and these, without the marks, which a version does not hold."""
    at = 0
    for marker in markers:
        found = marker.found
        yield text[at : found.start]
        yield text[found.content_start : found.end]
        # A part may hold another's, inside its code; then nothing lies between the two.
        at = max(at, found.end)
    yield text[at:]


def _is_excerpt(text: str, message: str) -> bool:
    words = writable(message)
    return any(one.strip() in words for one in _PARTS.split(text) if _SAYS.search(one))


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
    names, page, characters_left = MarkerNames(session_id), list[ReadMessage](), most_characters
    called: dict[str, str] = {}
    for position, block in enumerate(blocks):
        markers, _ = names.of(block)
        tool = _tool_of(block, called)
        is_sought = message_uuid is None or page or message_uuid in (block.uuid, block.origin)
        if position < begin.message or not is_sought:
            continue
        if len(page) == most_messages or not characters_left:
            return page, ReadingPosition(position)
        start = begin.start if position == begin.message else 0
        text = block.text[start : start + characters_left]
        page.append(ReadMessage(block, position, start, text, markers, tool))
        characters_left -= len(text)
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
