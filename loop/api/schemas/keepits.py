"""Marked parts of sessions, their weights, and what would become of them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, model_validator

from loop.api.schemas.projects import MarkerProblemItem
from loop.api.schemas.wire import Answer, Body
from shared.contracts.values import ID_PATTERN
from shared.sessions.compress.settings import Aggressiveness
from shared.sessions.markers import WEIGHT_PRESETS
from shared.sessions.models import KeepitMarker


class WeightPreset(StrEnum):
    """Weights that have a name."""

    PINNED = "PINNED"
    CRITICAL = "CRITICAL"
    IMPORTANT = "IMPORTANT"
    NOTABLE = "NOTABLE"
    MINOR = "MINOR"
    HINT = "HINT"


class Position(Answer):
    """Where a marked part stands in its message, in characters."""

    start: int = Field(description="Where the marker itself begins.")
    end: int = Field(description="Where what it marks ends.")


class MarkerItem(Answer):
    """A marked part of a message."""

    marker_id: str
    message_uuid: str
    weight: float = Field(description="The weight in force.")
    written_weight: float = Field(description="What the message says.")
    overridden_by: str | None = Field(description="Who put another weight in its place.")
    overridden_at: datetime | None
    content: str
    position: Position
    context: str
    created_at: datetime | None
    survived_in: list[str] = Field(description="Versions that hold it word for word.")
    summarized_in: list[str]

    @classmethod
    def of(cls, marker: KeepitMarker, entry: dict[str, Any]) -> MarkerItem:
        """Return a marked part as it goes over the wire; ``entry`` is how its manifest shows it."""
        return cls.model_validate(
            entry
            | {
                "createdAt": marker.said_at,
                "writtenWeight": marker.weight / 100,
                "overriddenBy": marker.overridden_by,
                "overriddenAt": marker.overridden_at,
            }
        )


class MarkerList(Answer):
    """A session's marked parts, in their order."""

    session_id: str
    keepits: list[MarkerItem]
    problems: list[MarkerProblemItem] = Field(description="What looks like a marker and is not well written.")
    cursor: str | None


class Weigh(Body):
    """A weight to put in the place of what is written; null takes it back."""

    weight: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)] | None = Field(
        None, description="Two digits behind the point, as 0.80.", examples=[0.8]
    )
    preset: WeightPreset | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Weigh:
        if len(self.model_fields_set) != 1 or (self.preset is None and "preset" in self.model_fields_set):
            raise ValueError("give weight, null to take it back, or preset")
        if self.weight is not None and abs(self.weight * 100 - round(self.weight * 100)) > 1e-9:
            raise ValueError("a weight has two digits behind the point, as 0.80")
        return self

    @property
    def hundredths(self) -> int | None:
        """The weight as it is kept."""
        if self.preset is not None:
            return WEIGHT_PRESETS[self.preset]
        return None if self.weight is None else round(self.weight * 100)


class DecayLevel(StrEnum):
    """How readily marked parts are given up; light is also called minimal."""

    LIGHT = "light"
    MINIMAL = "minimal"
    MODERATE = "moderate"
    AGGRESSIVE = "aggressive"

    @property
    def aggressiveness(self) -> Aggressiveness:
        """The same by its one name."""
        return Aggressiveness.MINIMAL if self is DecayLevel.LIGHT else Aggressiveness(self.value)


class PreviewDecay(Body):
    """A compression to look ahead to."""

    session_id: str = Field(pattern=ID_PATTERN, examples=["abc123"])
    compression_ratio: Annotated[int, Field(strict=True, ge=1, le=100)]
    aggressiveness: DecayLevel
    session_distance: Annotated[int, Field(strict=True, ge=0, le=1000)]


class PreviewedMarker(Answer):
    """What would become of one marked part."""

    marker_id: str
    weight: float
    survives: bool


class DecayPreview(Answer):
    """What would become of a session's marked parts."""

    markers: list[PreviewedMarker]
    threshold: float = Field(description="The least weight that survives.", examples=[0.65])
