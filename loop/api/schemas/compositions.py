"""Compositions of recorded sessions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from loop.api.schemas.jobs import JobAnswer
from loop.api.schemas.wire import Answer, Body, Flag, Success
from shared.contracts.values import FILE_ID_PATTERN
from shared.sessions.compose.plan import ComponentForm
from shared.sessions.compose.queries import ComponentRow
from shared.sessions.compose.requests import CompositionName, CompositionRequest, NewComposition, PlannedComponent
from shared.sessions.models import BuildState, Composition, version_id


class MakeComposition(CompositionRequest):
    """Asks for a composition."""

    name: CompositionName = Field(description="Unique in its project; also its folder's name.", examples=["feature-x"])
    replace: Flag = Field(False, description="Whether one of that name makes way; it is removed at once.")

    def as_new(self) -> NewComposition:
        """Return what is asked for."""
        asked = CompositionRequest.model_validate(self.model_dump(exclude={"name", "replace"}))
        return NewComposition(self.name, asked, self.replace)


class ForeseeComposition(CompositionRequest):
    """Asks what a composition would be made of."""

    name: CompositionName | None = Field(None, description="Stands above it, so that a long one takes a few tokens.")


class ComposeAgain(Body):
    """Asks for the same composition over what there is now."""

    name: CompositionName | None = Field(None, description="Of the new one; unless said, it takes this one's place.")
    replace: Flag = False


class UseComposition(Body):
    """Says that a session began with a composition."""

    session_id: str = Field(pattern=FILE_ID_PATTERN, description="It need not be registered.")


class ComponentItem(Answer):
    """A session's part in a composition."""

    session_id: str
    project_id: str
    version_id: str = Field(description="The version that is used, or `original`.")
    version_state: BuildState | None = Field(description="Whether that version is there yet; null for the original.")
    order: int
    allocation: int = Field(description="Tokens it may take; more where others leave some.")
    token_contribution: int = Field(description="Tokens it takes, with its heading.")
    left_out: int = Field(description="Segments for which there was no room.")
    stale: bool = Field(description="Whether the version covers less than the session holds by now.")
    recompress: dict[str, Any] | None = Field(description="Settings and reason, where a version was made for it.")

    @classmethod
    def of(cls, row: ComponentRow) -> ComponentItem:
        """Return a part as it goes over the wire."""
        part, version = row.component, row.compression
        return cls(
            session_id=row.recorded.session_id,
            project_id=row.project.project_id,
            version_id="original" if version is None else version.version_id,
            version_state=None if version is None else BuildState(version.state),
            order=part.position,
            allocation=part.allocation,
            token_contribution=part.tokens,
            left_out=part.left_out,
            stale=version is not None and version.source_bytes < row.recorded.size_bytes,
            recompress=part.recompress,
        )


class CompositionAnswer(Answer):
    """A composition, without what it says."""

    composition_id: str
    project_id: str
    name: str
    state: BuildState
    failure: str | None = Field(description="Why it failed, and what to do.")
    job_id: str | None
    token_budget: int
    total_tokens: int
    total_messages: int
    components: list[ComponentItem] = Field(description="In order; none once it has failed.")
    used_in_sessions: list[str]
    uses: int
    last_used: datetime | None
    asked_by: str
    created_at: datetime
    finished_at: datetime | None
    request: dict[str, Any] = Field(description="As it was asked for.")

    @classmethod
    def of(cls, composition: Composition, project_id: str, rows: Sequence[ComponentRow]) -> CompositionAnswer:
        """Return a composition as it goes over the wire."""
        return cls(
            composition_id=composition.composition_id,
            project_id=project_id,
            name=composition.name,
            state=BuildState(composition.state),
            failure=composition.failure,
            job_id=composition.job_id,
            token_budget=composition.budget,
            total_tokens=composition.total_tokens,
            total_messages=composition.total_messages,
            components=[ComponentItem.of(row) for row in rows],
            used_in_sessions=composition.used_in_sessions,
            uses=composition.uses,
            last_used=composition.last_used,
            asked_by=composition.asked_by,
            created_at=composition.created_at,
            finished_at=composition.finished_at,
            request=composition.request,
        )


class CompositionList(Answer):
    """A project's compositions, newest first."""

    compositions: list[CompositionAnswer]
    cursor: str | None


class CompositionMade(Answer):
    """A composition that was asked for, and the job that makes it."""

    composition: CompositionAnswer
    job: JobAnswer


class CompositionRemoved(Success):
    """A composition was removed."""

    composition_id: str


class ForeseenItem(Answer):
    """What a session would get."""

    session_id: str
    way: ComponentForm = Field(description="As its original, a version there is, one being made, or one to be made.")
    version_id: str | None = Field(description="The version that is there or being made.")
    allocation: int
    original_tokens: int
    stale: bool
    settings: dict[str, Any] | None = Field(description="Of the version that would be made.")
    reason: str

    @classmethod
    def of(cls, one: PlannedComponent) -> ForeseenItem:
        """Return what is foreseen as it goes over the wire."""
        planned = one.planned
        settings = planned.settings
        return cls(
            session_id=one.recorded.session_id,
            way=planned.way,
            version_id=None if planned.number is None else version_id(planned.number),
            allocation=planned.allocation,
            original_tokens=one.recorded.original_tokens,
            stale=planned.is_stale,
            settings=None if settings is None else settings.model_dump(mode="json", by_alias=True, exclude_none=True),
            reason=planned.reason,
        )


class CompositionForeseen(Answer):
    """What a composition would be made of; nothing was written."""

    token_budget: int
    allocated: int = Field(description="Tokens allocated to sessions; headings take the rest.")
    components: list[ForeseenItem]
    compressions: int = Field(description="Versions that would have to be made.")
