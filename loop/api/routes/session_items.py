"""Sessions as they go over the wire: registered, listed, or foreseen, and what is kept of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy.orm import Session

from loop.api.cursors import PageRequest
from loop.api.schema import From, ResponseModel
from shared.sessions import queries
from shared.sessions.models import RecordedSession
from shared.sessions.queries import SessionFilter
from shared.sessions.registry.intake import Intake

_BY_TIME = "sessions by time"


class MarkerProblemItem(ResponseModel):
    """Something written like a marker that is none, or not as it is written."""

    message_uuid: str
    written: str
    reason: str


class MarkerForeseen(ResponseModel):
    """What would become of a marked part."""

    marker_id: str
    weight: float
    survives: bool


class _SessionFigures(ResponseModel):
    session_id: str
    project_id: str
    original_file: str | None = Field(description="Where it is from; null for an upload.")
    size_bytes: int = Field(description="Without a last line that is still being written.")
    sha256: str = Field(description="Of those bytes of the original.")
    original_tokens: int
    original_messages: int
    first_timestamp: datetime | None
    last_timestamp: datetime | None
    metadata: Annotated[dict[str, Any], From("details")] = Field(
        description="Title, how the first prompt begins, branch, version, folder, models, topics."
    )
    counts: dict[str, int] = Field(description="Lines, prompts, messages, tool uses, tokens by usage, oddities.")
    markers: int
    marker_problems: list[MarkerProblemItem]


class SessionForeseen(_SessionFigures):
    """What a transcript would be registered as; nothing was written."""

    marker_weights: dict[str, int] = Field(
        description="How many markers there are of each weight, the heaviest first.", examples=[{"1.00": 2}]
    )

    @classmethod
    def of(cls, intake: Intake, project_id: str, session_id: str) -> SessionForeseen:
        overview, markers = intake.overview, intake.overview.markers
        weights = Counter(one.found.weight for one in markers)
        return cls.from_row(
            overview,
            session_id=session_id,
            project_id=project_id,
            original_file=intake.original_file,
            size_bytes=intake.size_bytes,
            sha256=intake.sha256,
            markers=len(markers),
            marker_weights={f"{weight / 100:.2f}": weights[weight] for weight in sorted(weights, reverse=True)},
        )


class StorageFigures(ResponseModel):
    """What is in the store, in bytes on its disk."""

    original_bytes: int = Field(description="Of the copies of originals.")
    versions: int
    version_bytes: int
    compositions: int = Field(description="Of a session: those that use it.")
    composition_bytes: int | None = Field(description="null for a session, since a composition is made of several.")


class SessionItem(_SessionFigures):
    """A registered session."""

    registered_at: datetime
    synced_at: datetime
    last_accessed: datetime
    used_at: datetime | None = Field(
        description="When it was last used: composed, handed out as a version, read; null before."
    )
    versions: int


class SessionList(ResponseModel):
    """Sessions, in the order that was asked for."""

    sessions: list[SessionItem]
    cursor: str | None


def session_page(session: Session, app_id: str, session_filter: SessionFilter, page: PageRequest) -> SessionList:
    """Return a page of an app's sessions, those registered last first."""
    rows, following = page.numbered("sessions", partial(queries.list_sessions, session, app_id, session_filter))
    return SessionList(sessions=session_items(session, rows), cursor=following)


def session_page_by_time(session: Session, project_key: int, page: PageRequest) -> SessionList:
    """Return a page of a project's sessions, those that went on last first."""
    rows, following = page.timed(
        _BY_TIME,
        partial(queries.list_sessions_by_time, session, project_key),
        lambda one: (one.last_timestamp or one.registered_at, one.key),
    )
    return SessionList(sessions=session_items(session, rows), cursor=following)


def session_items(session: Session, rows: Sequence[RecordedSession]) -> list[SessionItem]:
    keys = [one.key for one in rows]
    marked, made = queries.count_markers(session, keys), queries.count_versions(session, keys)
    names = {one.project_key: queries.project_by_key(session, one.project_key).project_id for one in rows}
    return [
        SessionItem.from_row(
            one, project_id=names[one.project_key], markers=marked.get(one.key, 0), versions=made.get(one.key, 0)
        )
        for one in rows
    ]
