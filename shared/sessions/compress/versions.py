"""The life of a version's row: requested with its job in one transaction, then whole, failed or removed.

One version of a session is made at a time, and numbers only ever grow, so a version's name never means another one
later. Files are in place before a version is said to be whole, and go only after its row has gone.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.base.audit import Cause
from shared.base.choices import KeepitMode
from shared.base.errors import Conflict
from shared.contracts.jobs import SESSION_PRIORITY, JobKind, VersionPayload, WorkClass
from shared.jobs.dispatch import NewJob, enqueue
from shared.llm.calls import EXTRACTIVE
from shared.sessions.compress.plan import MarkerDecision
from shared.sessions.compress.queries import compositions_with, is_under_way, made_from, version_by_number, working_of
from shared.sessions.compress.run import Version
from shared.sessions.compress.settings import CompressionMode, CompressionSettings, KeepitDecay
from shared.sessions.models import (
    BuildState,
    KeepitMarker,
    MarkerOutcome,
    Project,
    RecordedSession,
    SessionVersion,
    VersionPart,
    project_sequence,
)
from shared.sessions.registry import projects


def request_version(
    session: Session,
    app: App,
    recorded: RecordedSession,
    settings: CompressionSettings,
    cause: Cause,
    now: datetime,
    source: SessionVersion | None = None,
    reason: str = "",
    max_attempts: int = 5,
) -> SessionVersion:
    """Ask for a version of a locked app's locked session, with complete settings.

    ``source``: a version to make it from; the original unless said. ``reason``: why, where nobody asked for it.

    Raises: Conflict ``compression_running``.
    """
    assert settings.model is not None, "settings must be complete"
    _refuse_second(session, recorded, now)
    compression = SessionVersion(
        session_key=recorded.key,
        number=recorded.next_version,
        state=BuildState.WORKING,
        settings=settings.model_dump(mode="json", by_alias=True, exclude_none=True),
        source_number=None if source is None else source.number,
        source_sha256=recorded.sha256 if source is None else source.digests["jsonl"],
        source_bytes=recorded.size_bytes if source is None else source.source_bytes,
        asked_by=cause.actor[:200],
        reason=reason[:300],
        created_at=now,
    )
    # Written first, as its key names the job.
    session.add(compression)
    session.flush()
    recorded.next_version += 1
    compression.job_id = enqueue(session, _version_job(app, recorded, compression, max_attempts), now).job_id
    session.flush()
    return compression


def _refuse_second(session: Session, recorded: RecordedSession, now: datetime) -> None:
    """Refuse while a version is being made; one whose job has ended without it has failed."""
    working = working_of(session, recorded.key)
    if working is None:
        return
    if is_under_way(session, working):
        raise Conflict(
            f"Version {working.version_id} of session {recorded.session_id} is being made; wait for its job, or cancel "
            "it.",
            code="compression_running",
            details={"sessionId": recorded.session_id, "versionId": working.version_id, "job": working.job_id},
        )
    # The loop lets go of it too, but only when it comes round; who asks again must not wait for that.
    fail_version(session, working, now)
    session.flush()


def complete_settings(
    settings: CompressionSettings, configured: str | None, project: projects.ProjectSettings | None = None
) -> CompressionSettings:
    """Return settings with every default written out: those of their project, and who compresses.

    ``configured``: the model of the settings; None where there is none. Raises: Invalid for another model.
    """
    projects.refuse_unknown_model(settings.model, configured)
    settings = settings if project is None else _by_project(settings, project)
    present = configured or EXTRACTIVE
    # What a project named may have been set up once; nobody is there to be told.
    is_gone = settings.model not in (EXTRACTIVE, present)
    return (settings.model_copy(update={"model": None}) if is_gone else settings).complete(present)


def _by_project(settings: CompressionSettings, project: projects.ProjectSettings) -> CompressionSettings:
    own = {} if settings.decay is None else settings.decay.model_dump(exclude_unset=True)
    decay = KeepitDecay.model_validate(projects.overlaid(project.keepit_decay.model_dump(), own))
    filled: dict[str, object] = {"decay": decay, "model": settings.model or project.model}
    named = settings.tier_preset is not None or settings.custom_tiers is not None
    if settings.mode is CompressionMode.TIERED and not named:
        filled["tier_preset"] = project.default_compression_preset
    if "keepit_mode" not in settings.model_fields_set and not project.keepit_decay_enabled:
        filled["keepit_mode"] = KeepitMode.PRESERVE_ALL
    return settings.model_copy(update=filled)


def _version_job(app: App, recorded: RecordedSession, compression: SessionVersion, max_attempts: int) -> NewJob:
    return NewJob(
        kind=JobKind.COMPRESS_SESSION,
        app_id=app.app_id,
        dedupe=f"{JobKind.COMPRESS_SESSION}:{compression.session_key}:{compression.number}",
        epoch=app.purge_epoch,
        priority=SESSION_PRIORITY,
        sequence=project_sequence(recorded.project_key),
        work_class=WorkClass.THOUGHT,
        max_attempts=max_attempts,
        payload=VersionPayload(compression=compression.key),
    )


FORMATS = ("md", "jsonl")
"""The endings of a version's files."""


@dataclass(frozen=True)
class WrittenVersion:
    """A version whose files are in place."""

    version: Version
    agent: str
    seconds: float
    file: str
    digests: Mapping[str, str]
    gone: Sequence[MarkerDecision] = ()
    """Of markers that were summarised before, in the version it was made from."""

    @property
    def decisions(self) -> Sequence[MarkerDecision]:
        return (*self.version.plan.decisions, *self.gone)


def file_name(compression: SessionVersion, label: str, output_tokens: int) -> str:
    """Return the name of a version's files without their endings, as ``v001_tiered-standard_10k``."""
    return f"{compression.version_id}_{label}_{max(1, (output_tokens + 500) // 1000)}k"


def finish_version(
    session: Session,
    project: Project,
    recorded: RecordedSession,
    compression: SessionVersion,
    written: WrittenVersion,
    markers: Sequence[KeepitMarker],
    now: datetime,
) -> None:
    """Say that a version is whole, and what became of each marker that was there when it was asked for."""
    version = written.version
    compression.state, compression.finished_at = BuildState.READY, now
    compression.file, compression.digests, compression.agent = written.file, dict(written.digests), written.agent
    compression.input_tokens, compression.output_tokens = version.plan.input_tokens, version.output_tokens
    compression.output_messages, compression.ratio = version.messages, version.ratio
    compression.keepit_stats = keepit_stats(written.decisions)
    statistics = version.statistics(written.seconds, written.agent)
    source = compression.source_number and version_by_number(session, recorded.key, compression.source_number)
    # What is made of a version that lacks the beginning lacks it too.
    if skipped := compression.settings.get("skipFirstMessages", 0) + (source.skipped_messages if source else 0):
        statistics["skippedMessages"] = skipped
    compression.statistics = statistics
    keys = {marker.marker_id: marker.key for marker in markers}
    for decision in written.decisions:
        if decision.marker_id in keys:
            session.add(
                MarkerOutcome(
                    compression_key=compression.key, marker_key=keys[decision.marker_id], survived=decision.survived
                )
            )
    drop_parts(session, compression)
    projects.touch(project, now)
    cause = Cause(compression.asked_by, compression.reason, now, compression.job_id)
    after = {"outputTokens": version.output_tokens, "ratio": round(version.ratio, 2), "agent": written.agent}
    projects.record_change(
        session, project, compression.version_id, projects.SessionChangeKind.COMPRESSED, cause, after=after,
        session_id=recorded.session_id,
    )  # fmt: skip


def keepit_stats(decisions: Iterable[MarkerDecision]) -> dict[str, Any]:
    """Return how many markers survived, how many were summarised, and how many there were of each weight."""
    decisions = list(decisions)
    preserved = sum(decision.survived for decision in decisions)
    weights = Counter(f"{decision.weight / 100:.2f}" for decision in decisions)
    return {
        "preserved": preserved,
        "summarized": len(decisions) - preserved,
        "weights": dict(sorted(weights.items(), reverse=True)),
    }


def fail_version(session: Session, compression: SessionVersion, now: datetime) -> None:
    """Say that a version will not come about; what was made of it goes, its number is not used again."""
    compression.state, compression.finished_at = BuildState.FAILED, now
    drop_parts(session, compression)


def drop_parts(session: Session, compression: SessionVersion) -> None:
    """Forget what parts of a version came to."""
    session.execute(delete(VersionPart).where(VersionPart.compression_key == compression.key))


def count_version_use(session: Session, compression: SessionVersion, now: datetime) -> None:
    """Say that a version was read by who can make use of it; one that was removed meanwhile stays so."""
    recorded = session.get(RecordedSession, compression.session_key)
    projects.use_sessions(session, [] if recorded is None else [recorded], now)
    mine = update(SessionVersion).where(SessionVersion.key == compression.key)
    # Reckoned by the database: readers hold no lock on it, and of two at once both count.
    session.execute(mine.values(uses=SessionVersion.uses + 1, last_used=now))


def refuse_in_use(session: Session, recorded: RecordedSession, compression: SessionVersion) -> None:
    """Refuse to remove a version that something else needs. Raises: Conflict ``version_in_use``."""
    users = compositions_with(session, [compression.key])
    if users:
        names = ", ".join(name for _, _, name in users)
        raise Conflict(
            f"Version {compression.version_id} of session {recorded.session_id} is used by {names}; "
            "delete these compositions first.",
            code="version_in_use",
            details={"compositions": [{"compositionId": one, "name": name} for _, one, name in users]},
        )
    maker = made_from(session, compression)
    if maker is not None:
        raise Conflict(
            f"Version {maker.version_id} is being made from {compression.version_id}; wait for its job, or cancel it.",
            code="version_in_use",
            details={"versionId": maker.version_id, "job": maker.job_id},
        )


def remove_version(
    session: Session, project: Project, recorded: RecordedSession, compression: SessionVersion, kind: str, cause: Cause
) -> list[str]:
    """Remove a version of a locked session that nothing needs; return the names of its files, which may go then.

    Raises: Conflict ``version_in_use``.
    """
    refuse_in_use(session, recorded, compression)
    before = {
        "outputTokens": compression.output_tokens,
        "ratio": round(compression.ratio, 2),
        "settings": compression.settings,
        "uses": compression.uses,
    }
    projects.record_change(
        session, project, compression.version_id, kind, cause, before=before, session_id=recorded.session_id
    )
    session.delete(compression)
    projects.touch(project, cause.at)
    session.flush()
    # Named and not removed: after a rollback the row would stand there without them.
    return [f"{compression.file}.{ending}" for ending in FORMATS]
