"""Originals of sessions: read page by page, with who says what and what is marked."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from loop.api import cursors
from loop.api.dependencies import CursorInQuery, LimitInQuery, Reads, SessionInPath, SessionsAppId
from loop.api.policy import OF_APP_IN_QUERY, Trait, policy, under
from loop.api.routes.versions import VERSION_ID_PATTERN, version_file
from loop.api.schema import From, ResponseModel
from shared.base.errors import Conflict, Invalid, NotFound
from shared.contracts.values import Words
from shared.sessions.blocks import speaker_of
from shared.sessions.compress.queries import get_version
from shared.sessions.extent import Held, ReadingPosition, ReadMessage, VersionExtent, read_page
from shared.sessions.markers import PlacedMarker
from shared.sessions.queries import get_session, markers_of, project_by_key
from shared.sessions.recording import blocks_in
from shared.sessions.registry.projects import use_sessions
from shared.sessions.transcripts.contents import read_blocks

router = APIRouter(prefix="/api/memory", tags=["Sessions"], route_class=under(OF_APP_IN_QUERY))
_MESSAGES = "session-messages"
_MOST_CHARACTERS = 200_000
"""Of the messages of one page."""


class MarkerInMessage(ResponseModel):
    """A marked part, where it stands in its message."""

    marker_id: str
    weight: float = Field(description="The weight in force.")
    written_weight: float
    start: int = Field(description="Where the marker begins in the whole message, characters.")
    content_start: int = Field(description="Where what it marks begins.")
    end: int = Field(description="Where what it marks ends.")

    @classmethod
    def of(cls, marker: PlacedMarker, weights: dict[str, int]) -> MarkerInMessage:
        """Return a marker as it goes over the wire. ``weights``: those in force by id, hundredths."""
        written = marker.found.weight
        return cls.from_row(
            marker.found,
            marker_id=marker.marker_id,
            weight=weights.get(marker.marker_id, written) / 100,
            written_weight=written / 100,
        )


class OriginalMessage(ResponseModel):
    """What was said or done at one point of a session; a long one comes in pieces, on several pages."""

    position: int = Field(description="Its place in the session, from 0; the same for all pieces of one message.")
    uuid: Annotated[str, From("block.uuid")] = Field(
        description="Of its record; several messages may be of one record."
    )
    speaker: str = Field(examples=["User"])
    kind: Annotated[str, From("block.kind")] = Field(
        description="human, assistant, question, thinking, tool_use, tool_result, meta, left, system, summary."
    )
    at: Annotated[datetime | None, From("block.at")]
    text: str = Field(description="Of a tool's use what it was given, as JSON; of its result what came back.")
    start: int = Field(description="Where this text begins in the whole message, characters; 0 but for later pieces.")
    characters: int = Field(description="Of the whole message.")
    tool: str | None = Field(description="Of a call and of its result.")
    tool_use_id: str | None = Field(description="What a use of a tool and its result share.")
    is_error: bool
    markers: list[MarkerInMessage]
    held: Held | None = Field(description="How much of it the version holds that was asked about: whole, part, none.")

    @classmethod
    def of(cls, read: ReadMessage, weights: dict[str, int], extent: VersionExtent | None) -> OriginalMessage:
        """Return a message as it goes over the wire, with how much of it a version holds where one was asked about."""
        block, call = read.block, read.block.call
        return cls.from_row(
            read,
            speaker=speaker_of(block),
            characters=len(block.text),
            tool_use_id=(call and call.tool_use_id) or None,
            is_error=call is not None and call.is_error,
            markers=[MarkerInMessage.of(one, weights) for one in read.markers],
            held=extent and extent.extent_of(block, read.markers),
        )


class OriginalPage(ResponseModel):
    """Messages of an original, in their order."""

    session_id: str
    messages: list[OriginalMessage]
    cursor: str | None


@router.get("/sessions/{sessionId}/messages", summary="Read a session's original")
@policy(OF_APP_IN_QUERY, Trait.COSTLY)
def read_original(
    ctx: Reads,
    app_id: SessionsAppId,
    session_id: SessionInPath,
    message_uuid: Annotated[
        Words | None,
        Query(alias="messageUuid", max_length=200, description="Begin with this message, as a search names it."),
    ] = None,
    version_id: Annotated[
        str | None,
        Query(
            alias="versionId",
            pattern=VERSION_ID_PATTERN,
            description="Say of each message how much of it this version holds.",
        ),
    ] = None,
    limit: LimitInQuery = 50,
    cursor: CursorInQuery = None,
) -> OriginalPage:
    """Read what was said in a session, at most 200,000 characters at once. To begin to read it counts as a use."""
    begin = _begin(cursor)
    with ctx.read() as session:
        recorded = get_session(session, app_id, session_id)
        project_id = project_by_key(session, recorded.project_key).project_id
        weights = {one.marker_id: one.weight_in_force for one in markers_of(session, recorded.key)}
        version = None if version_id is None else get_version(session, recorded, version_id)
    path = ctx.loop.store.original(app_id, project_id, session_id)
    if not path.is_file():
        raise Conflict(
            f"The copy of session {session_id} is not in the store any more; unregister it and register it again.",
            code="source_gone",
        )
    blocks = read_blocks(path, recorded.size_bytes)
    # Only for the first page: from there on the cursor knows the place.
    sought = message_uuid if cursor is None else None
    page, following = read_page(blocks, session_id, begin, limit, _MOST_CHARACTERS, sought)
    if sought is not None and not page:
        raise NotFound(f"Session {session_id} has no message {sought}.")
    if cursor is None:
        with ctx.loop.database.write() as session:
            use_sessions(session, [recorded], ctx.now())
    extent = None
    if version is not None:
        folder = ctx.loop.store.versions_folder(app_id, project_id, session_id)
        extent = VersionExtent(blocks_in(version_file(folder, version, "jsonl")))
    return OriginalPage(
        session_id=session_id,
        messages=[OriginalMessage.of(one, weights, extent) for one in page],
        cursor=following and cursors.encode(_MESSAGES, f"{following.message} {following.start}"),
    )


def _begin(cursor: str | None) -> ReadingPosition:
    numbers = (cursors.decode_text(_MESSAGES, cursor) or "0 0").split(" ")
    if len(numbers) != 2 or not all(one.isascii() and one.isdigit() and len(one) < 16 for one in numbers):
        raise Invalid("cursor: it is not one this listing gave; leave it out to begin at the start.")
    return ReadingPosition(*map(int, numbers))
