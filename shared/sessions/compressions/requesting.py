"""Asking for a version: its row and its job in one transaction, and one at a time of a session.

Numbers only ever grow, so a version's name never means another one later. How it is made is left to the pipeline.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.causes import Cause
from shared.contracts.jobs import SESSION_PRIORITY, JobKind, Track
from shared.errors import Conflict, Invalid
from shared.llm.calls import EXTRACTIVE
from shared.outbox.dispatch import NewJob, enqueue
from shared.sessions.compressions import queries
from shared.sessions.compressions.asking import CompressionSettings, KeepitMode, Mode
from shared.sessions.compressions.finishing import fail
from shared.sessions.models import Compression, Making, RecordedSession
from shared.sessions.registry.projects import ProjectSettings

PAYLOAD_KEY = "compression"


def ask(
    session: Session,
    app: App,
    recorded: RecordedSession,
    settings: CompressionSettings,
    cause: Cause,
    now: datetime,
    source: Compression | None = None,
    reason: str = "",
    max_attempts: int = 5,
) -> Compression:
    """Ask for a version of a locked app's locked session, with complete settings.

    ``source``: a version to make it from; the original unless said. ``reason``: why, where nobody asked for it.

    Raises: Conflict ``compression_running``.
    """
    assert settings.model is not None, "settings must be complete"
    _refuse_second(session, recorded, now)
    compression = _row(recorded, settings, cause, now, source, reason)
    session.add(compression)
    session.flush()
    recorded.next_version += 1
    compression.job_id = enqueue(session, _job(app, compression, max_attempts), now).job_id
    session.flush()
    return compression


def _refuse_second(session: Session, recorded: RecordedSession, now: datetime) -> None:
    """Refuse while a version is being made; one whose job has ended without it has failed."""
    working = queries.working_of(session, recorded.key)
    if working is None:
        return
    if queries.is_under_way(session, working):
        raise _running(recorded, working)
    fail(session, working, now)
    session.flush()


def check_model(
    settings: CompressionSettings, configured: str | None, project: ProjectSettings | None = None
) -> CompressionSettings:
    """Return settings with every default written out: those of their project, and who compresses.

    ``configured``: the model of the settings; None where there is none. Raises: Invalid for another model.
    """
    settings = settings if project is None else _by_project(settings, project)
    present = configured or EXTRACTIVE
    if settings.model not in (None, EXTRACTIVE, present):
        others = f"{EXTRACTIVE} or {present}" if configured else f"{EXTRACTIVE}; set AFTERTHOUGHT_MODEL for a model"
        raise Invalid(f"No agent {settings.model} is set up here; say {others}.", code="unknown_model")
    return settings.complete(present)


def _by_project(settings: CompressionSettings, project: ProjectSettings) -> CompressionSettings:
    filled: dict[str, object] = {}
    named = settings.tier_preset is not None or settings.custom_tiers is not None
    if settings.mode is Mode.TIERED and not named:
        filled["tier_preset"] = project.default_compression_preset
    if "keepit_mode" not in settings.model_fields_set and not project.keepit_decay_enabled:
        filled["keepit_mode"] = KeepitMode.PRESERVE_ALL
    return settings.model_copy(update=filled)


def _row(
    recorded: RecordedSession,
    settings: CompressionSettings,
    cause: Cause,
    now: datetime,
    source: Compression | None,
    reason: str,
) -> Compression:
    return Compression(
        session_key=recorded.key,
        number=recorded.next_version,
        state=Making.WORKING,
        settings=settings.model_dump(mode="json", by_alias=True, exclude_none=True),
        source_number=None if source is None else source.number,
        source_sha256=recorded.sha256 if source is None else source.digests["jsonl"],
        source_bytes=recorded.size_bytes if source is None else source.source_bytes,
        asked_by=cause.actor[:200],
        reason=reason[:300],
        created_at=now,
    )


def _job(app: App, compression: Compression, max_attempts: int) -> NewJob:
    return NewJob(
        kind=JobKind.COMPRESS_SESSION,
        app_id=app.app_id,
        dedupe=f"{JobKind.COMPRESS_SESSION}:{compression.session_key}:{compression.number}",
        epoch=app.purge_epoch,
        priority=SESSION_PRIORITY,
        track=Track.THOUGHT,
        max_attempts=max_attempts,
        payload={PAYLOAD_KEY: compression.key},
    )


def _running(recorded: RecordedSession, working: Compression) -> Conflict:
    return Conflict(
        f"Version {working.version_id} of session {recorded.session_id} is being made; wait for its job, or cancel it.",
        code="compression_running",
        details={"sessionId": recorded.session_id, "versionId": working.version_id, "job": working.job_id},
    )
