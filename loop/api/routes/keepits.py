"""Marked parts of sessions: listed, weighed, and what a compression would make of them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import Field, model_validator
from sqlalchemy.orm import Session

from loop.api.dependencies import PageOf50, Reads, SessionInPath, SessionsAppId, Writes, as_write
from loop.api.policy import OF_APP_IN_QUERY, Trait, policy, under
from loop.api.routes.projects import shown
from loop.api.routes.session_items import MarkerForeseen, MarkerProblemItem
from loop.api.schema import RequestModel, ResponseModel
from loop.api.writes import WriteResult
from shared.base.audit import BY_HAND
from shared.base.choices import DecayLevel
from shared.contracts.values import ID_PATTERN
from shared.sessions import manifest
from shared.sessions.markers import WEIGHT_PRESETS, survives, threshold
from shared.sessions.models import KeepitMarker
from shared.sessions.queries import get_session, list_markers, markers_of, project_by_key
from shared.sessions.registry.projects import settings_of
from shared.sessions.registry.registration import set_marker_weight


class WeightPreset(StrEnum):
    """Weights that have a name."""

    PINNED = "PINNED"
    CRITICAL = "CRITICAL"
    IMPORTANT = "IMPORTANT"
    NOTABLE = "NOTABLE"
    MINOR = "MINOR"
    HINT = "HINT"


class Position(ResponseModel):
    """Where a marked part stands in its message, in characters."""

    start: int = Field(description="Where the marker itself begins.")
    end: int = Field(description="Where what it marks ends.")


class MarkerItem(ResponseModel):
    """A marked part of a message."""

    marker_id: str
    message_uuid: str
    weight: float = Field(description="The weight in force.")
    written_weight: float = Field(description="What the message says.")
    overridden_by: str | None = Field(description="Who put another weight in its place.")
    overridden_at: datetime | None
    content: str
    position: Position
    context: str = Field(description="What stands around it, with `[...]` in its place.")
    before: str = Field(description="What stands before the marker in its message, its last 80 characters.")
    after: str = Field(description="What stands behind the marked part in its message, its first 80 characters.")
    created_at: datetime | None
    survived_in: list[str] = Field(description="Versions that hold it word for word.")
    summarized_in: list[str]

    @classmethod
    def of(cls, marker: KeepitMarker, entry: dict[str, Any]) -> MarkerItem:
        """Return a marked part as it goes over the wire; ``entry`` is how its manifest shows it."""
        before, after = marker.surroundings
        return cls.model_validate(
            entry
            | {
                "before": before,
                "after": after,
                "createdAt": marker.said_at,
                "writtenWeight": marker.weight / 100,
                "overriddenBy": marker.overridden_by,
                "overriddenAt": marker.overridden_at,
            }
        )


class MarkerList(ResponseModel):
    """A session's marked parts, in their order."""

    session_id: str
    keepits: list[MarkerItem]
    problems: list[MarkerProblemItem] = Field(description="What looks like a marker and is not well written.")
    cursor: str | None


class Weigh(RequestModel):
    """A weight to put in the place of what is written; null takes it back."""

    weight: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)] | None = Field(
        None, description="Two digits behind the point, as 0.80.", examples=[0.8]
    )
    preset: WeightPreset | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Weigh:
        if len(self.model_fields_set) != 1 or (self.preset is None and "preset" in self.model_fields_set):
            raise ValueError("give weight, null to take it back, or preset")
        # Not for equality: 0.07 * 100 is 7.000000000000001.
        if self.weight is not None and abs(self.weight * 100 - round(self.weight * 100)) > 1e-9:
            raise ValueError("a weight has two digits behind the point, as 0.80")
        return self

    @property
    def hundredths(self) -> int | None:
        if self.preset is not None:
            return WEIGHT_PRESETS[self.preset]
        return None if self.weight is None else round(self.weight * 100)


class PreviewDecay(RequestModel):
    """A compression to look ahead to."""

    session_id: str = Field(pattern=ID_PATTERN, examples=["abc123"])
    compression_ratio: Annotated[int, Field(strict=True, ge=1, le=100)]
    aggressiveness: DecayLevel
    session_distance: Annotated[int, Field(strict=True, ge=0, le=1000)]


class DecayPreview(ResponseModel):
    """What would become of a session's marked parts."""

    markers: list[MarkerForeseen]
    threshold: float = Field(description="The least weight that survives.", examples=[0.65])
    pinned_weight: float = Field(description="What weighs this much always survives.", examples=[1.0])


router = APIRouter(prefix="/api/memory", tags=["Sessions"], route_class=under(OF_APP_IN_QUERY))
MarkerInPath = Annotated[str, Path(alias="markerId", pattern=ID_PATTERN)]


@router.get("/sessions/{sessionId}/keepits", summary="List marked parts")
def list_keepits(ctx: Reads, page: PageOf50, app_id: SessionsAppId, session_id: SessionInPath) -> MarkerList:
    """List a session's marked parts in their order, and what is wrong with those that are not well written."""
    with ctx.read() as session:
        recorded = get_session(session, app_id, session_id)
        rows, following = page.numbered("keepits", partial(list_markers, session, recorded.key), "ordinal")
        entries = manifest.marker_entries(session, rows)
        return MarkerList(
            session_id=session_id,
            keepits=[MarkerItem.of(one, entries[one.key]) for one in rows],
            problems=[MarkerProblemItem.model_validate(one) for one in recorded.marker_problems],
            cursor=following,
        )


@router.put("/sessions/{sessionId}/keepits/{markerId}", response_model=MarkerItem, summary="Weigh a marked part")
@as_write
def weigh_keepit(
    ctx: Writes,
    session: Session,
    app_id: SessionsAppId,
    session_id: SessionInPath,
    marker_id: MarkerInPath,
    body: Weigh,
) -> WriteResult:
    """Put another weight in the place of the one that is written, or take it back. No file is changed.

    Versions that are there stay as they are; those made from now on go by it.
    """
    marker = set_marker_weight(session, app_id, session_id, marker_id, body.hundredths, ctx.cause(BY_HAND))
    recorded = get_session(session, app_id, session_id)
    project_id = project_by_key(session, recorded.project_key).project_id
    item = MarkerItem.of(marker, manifest.marker_entries(session, [marker])[marker.key])
    return WriteResult(item, about=app_id, then=lambda: shown(ctx, app_id, project_id))


@router.post("/decay/preview", summary="Preview decay")
@policy(OF_APP_IN_QUERY, Trait.READS)
def preview_decay(ctx: Reads, app_id: SessionsAppId, body: PreviewDecay) -> DecayPreview:
    """Say which marked parts of a session a compression would keep word for word."""
    with ctx.read() as session:
        recorded = get_session(session, app_id, body.session_id)
        decay = settings_of(session, project_by_key(session, recorded.project_key)).keepit_decay
        markers = markers_of(session, recorded.key)
    how = (body.aggressiveness.aggressiveness, body.compression_ratio, body.session_distance, decay)
    return DecayPreview(
        markers=[
            MarkerForeseen(
                marker_id=one.marker_id, weight=one.weight_in_force / 100, survives=survives(one.weight_in_force, *how)
            )
            for one in markers
        ],
        threshold=float(threshold(*how) / 1000),
        pinned_weight=decay.pinned_weight,
    )
