"""Two versions of a session compared: settings, figures, marked parts, and what is said in one only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from loop.api.dependencies import PageOf50, Reads, SessionInPath, SessionsAppId
from loop.api.policy import OF_APP_IN_QUERY, under
from loop.api.routes.versions import VERSION_ID_PATTERN, VersionAnswer, VersionInPath, version_file
from loop.api.schema import ResponseModel
from shared.sessions.blocks import markdown_of, speaker_of
from shared.sessions.compress.queries import BlockDifference, compare_blocks, compare_settings, get_version, names_using
from shared.sessions.models import KeepitMarker
from shared.sessions.queries import get_session, markers_of, outcomes_of, project_by_key
from shared.sessions.recording import blocks_in

router = APIRouter(prefix="/api/memory", tags=["Versions"], route_class=under(OF_APP_IN_QUERY))
_MOST_CHARACTERS = 1_000


class DifferingSetting(ResponseModel):
    """A setting that is not the same; null where a version has it not."""

    version: Any
    other: Any


class MarkerSurvival(ResponseModel):
    """A marked part that one version holds word for word."""

    marker_id: str
    weight: float
    content: str


class OnlyIn(ResponseModel):
    """What one of two versions has and the other lacks."""

    blocks: dict[str, int] = Field(description="How many pieces of each kind stand nowhere in the other.")
    markers: list[MarkerSurvival] = Field(description="Marked parts that survived here and not in the other.")


class TextDifference(ResponseModel):
    """A piece that stands in one of the versions only, or elsewhere in the other."""

    is_in: str = Field(description="The version's id.", examples=["v001"])
    position: int = Field(description="Its place among that version's pieces, from 0.")
    speaker: str
    kind: str
    at: datetime | None
    text: str = Field(description="Its first 1,000 characters.")
    characters: int = Field(description="Of all of it.")

    @classmethod
    def of(cls, one: BlockDifference, version_id: str) -> TextDifference:
        block = one.block
        text = block.text if block.call is None else markdown_of(block).strip()
        return cls.from_row(
            block,
            is_in=version_id,
            position=one.position,
            speaker=speaker_of(block),
            text=text[:_MOST_CHARACTERS],
            characters=len(text),
        )


class VersionComparison(ResponseModel):
    """Two versions of a session beside each other."""

    session_id: str
    version: VersionAnswer
    other: VersionAnswer
    settings: dict[str, DifferingSetting] = Field(description="Only those that differ.")
    same_blocks: int = Field(description="Pieces that both have.")
    only_in_version: OnlyIn
    only_in_other: OnlyIn
    differences: list[TextDifference] = Field(description="In the order in which both stand.")
    cursor: str | None


@router.get("/sessions/{sessionId}/versions/{versionId}/comparison", summary="Compare two versions")
def compare_versions(
    ctx: Reads,
    page: PageOf50,
    app_id: SessionsAppId,
    session_id: SessionInPath,
    version_id: VersionInPath,
    other_id: Annotated[str, Query(alias="with", pattern=VERSION_ID_PATTERN, description="The other version's id.")],
) -> VersionComparison:
    """Say what a version has that another lacks, by kind and count, and which texts differ, page by page."""
    with ctx.read() as session:
        recorded = get_session(session, app_id, session_id)
        pair = [get_version(session, recorded, one) for one in (version_id, other_id)]
        project_id = project_by_key(session, recorded.project_key).project_id
        used = names_using(session, [one.key for one in pair])
        outcomes = outcomes_of(session, [one.key for one in pair])
        first, second = (
            {one.marker_key for one in outcomes if one.survived and one.compression_key == of.key} for of in pair
        )
        markers = markers_of(session, recorded.key)
        survivors = _named(markers, first - second), _named(markers, second - first)
    folder = ctx.loop.store.versions_folder(app_id, project_id, session_id)
    compared = compare_blocks(*(list(blocks_in(version_file(folder, one, "jsonl"))) for one in pair))
    shown, following = page.part("differences", compared.differences)
    ids = {True: version_id, False: other_id}
    differing = compare_settings(pair[0].settings, pair[1].settings)
    return VersionComparison(
        session_id=session_id,
        version=VersionAnswer.of(pair[0], session_id, used[pair[0].key]),
        other=VersionAnswer.of(pair[1], session_id, used[pair[1].key]),
        settings={name: DifferingSetting(version=one, other=other) for name, (one, other) in differing.items()},
        same_blocks=compared.same,
        only_in_version=OnlyIn(blocks=dict(compared.only_first), markers=survivors[0]),
        only_in_other=OnlyIn(blocks=dict(compared.only_second), markers=survivors[1]),
        differences=[TextDifference.of(one, ids[one.is_first]) for one in shown],
        cursor=following,
    )


def _named(markers: Sequence[KeepitMarker], keys: set[int]) -> list[MarkerSurvival]:
    return [
        MarkerSurvival.from_row(one, weight=one.weight_in_force / 100, content=one.content[:_MOST_CHARACTERS])
        for one in markers
        if one.key in keys
    ]
