"""Versions of recorded sessions, and the jobs that make them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from loop.api.schemas.jobs import JobAnswer
from loop.api.schemas.wire import Answer, Flag, Success
from shared.contracts.values import Words
from shared.sessions.compress.queries import SessionJob
from shared.sessions.compress.run import Version
from shared.sessions.compress.settings import CompressionSettings
from shared.sessions.models import BuildState, SessionVersion, version_id

VERSION_ID_PATTERN = r"^v\d{3,9}$"


class MakeVersion(CompressionSettings):
    """Asks for a version; what is left out is as the project says."""

    source_version: Annotated[str, Field(pattern=VERSION_ID_PATTERN)] | None = Field(
        None, description="The version to make it from; the original unless said."
    )
    reason: Words = Field("", max_length=300, description="Kept with the version.")
    dry_run: Flag = Field(False, description="Only say what would come of it.")

    def as_settings(self) -> CompressionSettings:
        """Return how it is to be made."""
        own = self.model_dump(exclude={"source_version", "reason", "dry_run"}, exclude_unset=True)
        return CompressionSettings.model_validate(own)


class KeepitStats(Answer):
    """What became of marked parts."""

    preserved: int
    summarized: int
    weights: dict[str, int] = Field(description="How many there were of each weight.")


class Progress(Answer):
    """How far a job has come, in parts; both are 0 while it is not known how many there are."""

    done: int
    total: int


class VersionAnswer(Answer):
    """A version of a session."""

    session_id: str
    version_id: str = Field(examples=["v001"])
    state: BuildState
    file: str | None = Field(description="Name of its files, without `.md` and `.jsonl`.")
    created_at: datetime
    finished_at: datetime | None
    settings: dict[str, Any]
    source_version: str | None = Field(description="The version it was made from; null for the original.")
    source_bytes: int = Field(description="How much of the original it covers.")
    input_tokens: int
    output_tokens: int
    output_messages: int
    compression_ratio: float
    keepit_stats: KeepitStats | None
    statistics: dict[str, Any]
    agent: str | None
    asked_by: str
    reason: str
    uses: int
    last_used: datetime | None

    @classmethod
    def of(cls, version: SessionVersion, session_id: str) -> VersionAnswer:
        """Return a version as it goes over the wire."""
        return cls(
            session_id=session_id,
            version_id=version.version_id,
            state=BuildState(version.state),
            file=version.file,
            created_at=version.created_at,
            finished_at=version.finished_at,
            settings=version.settings,
            source_version=None if version.source_number is None else version_id(version.source_number),
            source_bytes=version.source_bytes,
            input_tokens=version.input_tokens,
            output_tokens=version.output_tokens,
            output_messages=version.output_messages,
            compression_ratio=round(version.ratio, 2),
            keepit_stats=KeepitStats.model_validate(version.keepit_stats) if version.keepit_stats else None,
            statistics=version.statistics,
            agent=version.agent,
            asked_by=version.asked_by,
            reason=version.reason,
            uses=version.uses,
            last_used=version.last_used,
        )


class VersionContent(Answer):
    """A version and what it says."""

    version: VersionAnswer
    content: str = Field(description="As Markdown.")


class VersionList(Answer):
    """Versions of a session that are whole, newest first."""

    session_id: str
    versions: list[VersionAnswer]
    working: VersionAnswer | None = Field(description="The one that is being made.")
    cursor: str | None


class MarkerForeseen(Answer):
    """What would become of a marked part."""

    marker_id: str
    weight: float
    survives: bool


class VersionForeseen(Answer):
    """What would come of a compression, by the built-in agent."""

    input_tokens: int
    output_tokens: int
    output_messages: int
    compression_ratio: float
    markers: list[MarkerForeseen]
    note: str | None = Field(description="Why the ratio would not be near the one asked for.")

    @classmethod
    def of(cls, made: Version) -> VersionForeseen:
        """Return what was foreseen as it goes over the wire."""
        return cls(
            input_tokens=made.plan.input_tokens,
            output_tokens=made.output_tokens,
            output_messages=made.messages,
            compression_ratio=round(made.ratio, 2),
            markers=[
                MarkerForeseen(marker_id=fate.marker_id, weight=fate.weight / 100, survives=fate.survived)
                for fate in made.plan.decisions
            ],
            note=made.note,
        )


class VersionMade(Answer):
    """A version was asked for; its job says when it is there. Of a dry run only ``foreseen`` is given."""

    version_id: str | None = None
    job: JobAnswer | None = None
    foreseen: VersionForeseen | None = None


class VersionRemoved(Success):
    """A version was removed; its id is not given again."""

    version_id: str


class SessionJobAnswer(JobAnswer):
    """A job about recorded sessions."""

    session_id: str | None = None
    version_id: str | None = None
    composition_id: str | None = None
    progress: Progress

    @classmethod
    def about(cls, found: SessionJob, expected_at: datetime | None) -> SessionJobAnswer:
        """Return a job with what it makes as it goes over the wire."""
        version, composition = found.compression, found.composition
        return cls(
            **JobAnswer.of(found.job, expected_at).model_dump(),
            session_id=found.session_id,
            version_id=None if version is None else version.version_id,
            composition_id=None if composition is None else composition.composition_id,
            progress=_progress(found),
        )


def _progress(found: SessionJob) -> Progress:
    if found.learnt is not None:
        return Progress(done=found.learnt[0], total=found.learnt[1])
    version = found.compression
    if version is None:
        return Progress(done=0, total=0)
    is_whole = version.state == BuildState.READY
    return Progress(done=version.parts_total if is_whole else version.parts_done, total=version.parts_total)


class SessionJobList(Answer):
    """Jobs about recorded sessions, newest first."""

    jobs: list[SessionJobAnswer]
    cursor: str | None
