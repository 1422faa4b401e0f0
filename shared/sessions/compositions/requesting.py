"""Asking for a composition: its row, who is in it as which version, the versions that have to be made, and its job."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy import delete
from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.causes import Cause
from shared.contracts.jobs import SESSION_PRIORITY, JobKind
from shared.errors import Conflict, Invalid, NotFound
from shared.llm.tokens import LAST_RESORT
from shared.outbox.dispatch import NewJob, enqueue
from shared.sessions.compositions import queries
from shared.sessions.compositions.allocating import too_small
from shared.sessions.compositions.asking import ORIGINAL, ComponentAsked, CompositionAsked, Order
from shared.sessions.compositions.documents import Read, Source, overhead_chars
from shared.sessions.compositions.ending import remove
from shared.sessions.compositions.planning import Planned, Terms, Way, Wish, plan
from shared.sessions.compositions.selecting import candidate_of
from shared.sessions.compressions import requesting as compressions
from shared.sessions.models import (
    Composition,
    CompositionComponent,
    Compression,
    Making,
    Project,
    RecordedSession,
)
from shared.sessions.queries import get_session, lock_project, lock_session
from shared.sessions.registry.projects import ProjectSettings

PAYLOAD_KEY = "compositionKey"
_SPACE = UUID("b0a7b7de-0d4c-5b43-8f5e-5f0f3c1d9a77")
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class NewComposition:
    """What is asked for, and under which name."""

    name: str
    asked: CompositionAsked
    replaces: bool = False
    """Whether one that has the name makes way."""


@dataclass(frozen=True)
class Means:
    """With what versions are made that a composition needs."""

    model: str | None = None
    """The model of the settings, if one is."""
    max_attempts: int = 5


@dataclass(frozen=True)
class Foreseen:
    """A session and what it gets."""

    recorded: RecordedSession
    wish: Wish
    planned: Planned


def request(
    session: Session, app: App, project_id: str, new: NewComposition, cause: Cause, means: Means
) -> Composition:
    """Ask a locked app's project for a composition. Raises: NotFound, Conflict, Invalid."""
    project = lock_project(session, app.app_id, project_id)
    for session_id in sorted(one.session_id for one in new.asked.components):
        lock_session(session, app.app_id, session_id)
    foreseen = foresee(session, project, new.name, new.asked)
    _make_way(session, project, new, cause)
    composition = _written(session, project, new, cause)
    take_up(session, app, composition, foreseen, cause, means)
    wanted = NewJob(
        kind=JobKind.COMPOSE_CONTEXT,
        app_id=app.app_id,
        dedupe=f"compose:{composition.key}",
        epoch=app.purge_epoch,
        priority=SESSION_PRIORITY,
        max_attempts=means.max_attempts,
        payload={PAYLOAD_KEY: composition.key},
    )
    composition.job_id = enqueue(session, wanted, cause.at).job_id
    return composition


def foresee(session: Session, project: Project, name: str, asked: CompositionAsked) -> list[Foreseen]:
    """Return what each session would get, in their order; nothing is written. Raises: NotFound, Invalid."""
    recorded = [get_session(session, project.app_id, one.session_id) for one in asked.components]
    _refuse_strangers(session, project, recorded)
    wishes = _wishes(session, asked, recorded)
    # With "original", the longest word that can stand there: which version it will be is not known yet.
    owners = [session.get_one(Project, one.project_key) for one in recorded]
    headings = [source_of(project, *one).heading for one in zip(owners, recorded, strict=True)]
    taken = LAST_RESORT.tokens_in(overhead_chars(name, headings))
    available = asked.total_token_budget - taken
    if available <= 0:
        raise too_small(1 - available, f"the headings alone take {taken} tokens", asked.total_token_budget)
    plans = plan(wishes, Terms(asked.strategy, available, asked.min_freshness, asked.model))
    found = [Foreseen(*one) for one in zip(recorded, wishes, plans, strict=True)]
    return found if asked.order is Order.AS_GIVEN else sorted(found, key=lambda one: _age_key(one.recorded))


def take_up(
    session: Session,
    app: App,
    composition: Composition,
    foreseen: Sequence[Foreseen],
    cause: Cause,
    means: Means,
) -> None:
    """Write who is in a composition, and ask for the versions that have to be made."""
    session.execute(delete(CompositionComponent).where(CompositionComponent.composition_key == composition.key))
    versions = queries.versions_in_hand(session, [one.recorded.key for one in foreseen])
    for position, one in enumerate(foreseen):
        if one.planned.way is Way.COMPRESS:
            version: Compression | None = _ask(session, app, composition, one, cause, means)
        else:
            version = _numbered(versions[one.recorded.key], one.planned.number)
        component = CompositionComponent(
            composition_key=composition.key,
            position=position,
            session_key=one.recorded.key,
            compression_key=None if version is None else version.key,
            allocation=one.planned.allocation,
            recompress=_recompress(one.planned),
        )
        session.add(component)
    session.flush()


def source_of(
    project: Project,
    owner: Project,
    recorded: RecordedSession,
    version: Compression | None = None,
    allocation: int = 0,
    read: Read = tuple,
) -> Source:
    """Return a session's part of a project's composition."""
    return Source(
        session_id=recorded.session_id,
        version_id=ORIGINAL if version is None else version.version_id,
        last_said=recorded.last_timestamp,
        allocation=allocation,
        read=read,
        project=None if owner.key == project.key else owner.display_name,
        first_said=recorded.first_timestamp,
    )


def _age_key(recorded: RecordedSession) -> tuple[datetime, str]:
    return recorded.last_timestamp or _BEGINNING, recorded.session_id


def _refuse_strangers(session: Session, project: Project, recorded: Sequence[RecordedSession]) -> None:
    """Raises: Invalid, for a session that is neither the project's nor linked to it."""
    others = [one for one in recorded if one.project_key != project.key]
    linked = queries.linked_to(session, project.key, [one.key for one in others]) if others else set()
    strange = [one.session_id for one in others if one.key not in linked]
    if strange:
        raise Invalid(
            f"Session {strange[0]} belongs to another project; link it to {project.project_id} first "
            "(POST /api/memory/projects/{projectId}/links, or `afterthought sessions link`).",
            code="session_not_in_project",
            details={"sessions": strange},
        )


def _wishes(session: Session, asked: CompositionAsked, recorded: Sequence[RecordedSession]) -> list[Wish]:
    newest_first = sorted(recorded, key=_age_key, reverse=True)
    ages = {one.key: age for age, one in enumerate(newest_first)}
    versions = queries.versions_in_hand(session, list(ages))
    return [
        _wish(component, one, versions[one.key], ages[one.key])
        for component, one in zip(asked.components, recorded, strict=True)
    ]


def _wish(asked: ComponentAsked, recorded: RecordedSession, versions: Sequence[Compression], age: int) -> Wish:
    running = next((one.number for one in versions if one.state == Making.WORKING), None)
    wish = Wish(
        session_id=recorded.session_id,
        original_tokens=recorded.original_tokens,
        size_bytes=recorded.size_bytes,
        candidates=tuple(candidate_of(one) for one in versions if one.state == Making.READY),
        running=running,
        version_id=asked.version_id,
        allocation=asked.allocation,
        recompress=asked.recompress_settings,
        age=age,
    )
    if wish.is_unknown:
        raise NotFound(
            f"Session {recorded.session_id} has no version {asked.version_id}; list them under "
            f"/api/memory/sessions/{recorded.session_id}/versions."
        )
    return wish


def _make_way(session: Session, project: Project, new: NewComposition, cause: Cause) -> None:
    present = queries.composition_by_name(session, project.key, new.name)
    if present is None:
        return
    if present.state != Making.FAILED and not new.replaces:
        raise Conflict(
            f"Project {project.project_id} has a composition {new.name} already ({present.composition_id}); choose "
            "another name, or ask with replace=true.",
            code="name_taken",
            details={"compositionId": present.composition_id},
        )
    remove(session, project, present, cause.by(cause.actor, f"replaced; {cause.reason}"[:300]))


def _written(session: Session, project: Project, new: NewComposition, cause: Cause) -> Composition:
    asked = new.asked.model_dump(mode="json", by_alias=True, exclude_none=True)
    composition = Composition(
        composition_id=id_of(project, new.name, asked),
        app_id=project.app_id,
        project_key=project.key,
        name=new.name,
        state=Making.WORKING,
        request=asked,
        budget=new.asked.total_token_budget,
        asked_by=cause.actor[:200],
        created_at=cause.at,
    )
    session.add(composition)
    session.flush()
    return composition


def id_of(project: Project, name: str, asked: dict[str, Any]) -> str:
    """Return the id of a composition: the same request has the same, so that its files can be the same bytes."""
    return str(uuid5(_SPACE, json.dumps([project.app_id, project.project_id, name, asked], sort_keys=True)))


def _ask(
    session: Session, app: App, composition: Composition, one: Foreseen, cause: Cause, means: Means
) -> Compression:
    assert one.planned.settings is not None
    owner = ProjectSettings.of(session.get_one(Project, one.recorded.project_key))
    settings = compressions.check_model(one.planned.settings, means.model, owner)
    reason = f"for composition {composition.name}: {one.planned.reason}"[:300]
    return compressions.ask(
        session, app, one.recorded, settings, cause, cause.at, reason=reason, max_attempts=means.max_attempts
    )


def _numbered(versions: Sequence[Compression], number: int | None) -> Compression | None:
    return next((one for one in versions if one.number == number), None)


def _recompress(planned: Planned) -> dict[str, Any] | None:
    """Return what is kept of a version that is made for a composition, and whether it was only joined."""
    kept: dict[str, Any] = {"joined": True} if planned.way is Way.JOIN else {}
    if planned.settings is not None:
        settings = planned.settings.model_dump(mode="json", by_alias=True, exclude_none=True)
        kept |= {"settings": settings, "reason": planned.reason}
    return kept or None
