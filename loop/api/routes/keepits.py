"""Marked parts of sessions: listed, weighed, and what a compression would make of them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from sqlalchemy.orm import Session

from loop.api import cursors
from loop.api.dependencies import AppAsked, CursorInQuery, LimitInQuery, Reads, SessionInPath, Writes
from loop.api.routes.projects import shown
from loop.api.schemas.keepits import DecayPreview, MarkerItem, MarkerList, PreviewDecay, PreviewedMarker, Weigh
from loop.api.schemas.projects import MarkerProblemItem
from loop.api.writes import Done
from shared.causes import BY_HAND
from shared.contracts.values import ID_PATTERN
from shared.sessions import manifest
from shared.sessions.markers import survives, threshold
from shared.sessions.models import KeepitMarker, RecordedSession
from shared.sessions.queries import get_session, list_markers, markers_of, project_by_key
from shared.sessions.registry.registration import set_marker_weight

router = APIRouter(prefix="/api/memory", tags=["Sessions"])
MarkerInPath = Annotated[str, Path(alias="markerId", pattern=ID_PATTERN)]
_KEEPITS = "keepits"


@router.get("/sessions/{sessionId}/keepits", response_model=MarkerList, summary="List marked parts")
def list_keepits(
    desk: Reads, app_id: AppAsked, session_id: SessionInPath, limit: LimitInQuery = 50, cursor: CursorInQuery = None
) -> MarkerList:
    """List a session's marked parts in their order, and what is wrong with those that are not well written."""
    after = cursors.decode_number(_KEEPITS, cursor)
    with desk.read() as session:
        recorded = get_session(session, app_id, session_id)
        rows, more = cursors.page(list_markers(session, recorded.key, limit + 1, after), limit)
        entries = manifest.marker_entries(session, recorded.key, rows)
        return MarkerList(
            session_id=session_id,
            keepits=[MarkerItem.of(one, entries[one.marker_id]) for one in rows],
            problems=[MarkerProblemItem.model_validate(one) for one in recorded.marker_problems],
            cursor=cursors.encode(_KEEPITS, rows[-1].ordinal) if more else None,
        )


@router.put("/sessions/{sessionId}/keepits/{markerId}", response_model=MarkerItem, summary="Weigh a marked part")
def weigh_keepit(
    desk: Writes, app_id: AppAsked, session_id: SessionInPath, marker_id: MarkerInPath, body: Weigh
) -> Response:
    """Put another weight in the place of the one that is written, or take it back. No file is changed.

    Versions that are there stay as they are; those made from now on go by it.
    """

    def work(session: Session) -> Done:
        marker = set_marker_weight(session, app_id, session_id, marker_id, body.hundredths, desk.cause(BY_HAND))
        recorded = get_session(session, app_id, session_id)
        project_id = project_by_key(session, recorded.project_key).project_id
        item = _item(session, recorded, marker)
        return Done(item, about=app_id, then=lambda: shown(desk, app_id, project_id))

    return desk.write(work)


@router.post("/decay/preview", response_model=DecayPreview, summary="Preview decay")
def preview_decay(desk: Reads, app_id: AppAsked, body: PreviewDecay) -> DecayPreview:
    """Say which marked parts of a session a compression would keep word for word."""
    how = (body.aggressiveness.aggressiveness, body.compression_ratio, body.session_distance)
    with desk.read() as session:
        recorded = get_session(session, app_id, body.session_id)
        markers = markers_of(session, recorded.key)
    return DecayPreview(
        markers=[
            PreviewedMarker(
                marker_id=one.marker_id,
                weight=one.weight_in_force / 100,
                survives=survives(one.weight_in_force, *how),
            )
            for one in markers
        ],
        threshold=threshold(*how) / 1000,
    )


def _item(session: Session, recorded: RecordedSession, marker: KeepitMarker) -> MarkerItem:
    return MarkerItem.of(marker, manifest.marker_entries(session, recorded.key, [marker])[marker.marker_id])
