"""A composition from its request to its end: planned, its row and job, whole, failed, used, removed.

A request is kept as it was made, so that it can be made again. Source: seed 004, "Composition Algorithm".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID, uuid5

from pydantic import ConfigDict, Field, StrictInt, StringConstraints, field_serializer, model_validator
from pydantic.alias_generators import to_camel
from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.apps.queries import lock_app
from shared.base.audit import Cause
from shared.base.choices import AllocationStrategy, OutputFormat
from shared.base.closed import Closed
from shared.base.errors import Conflict, Invalid, NotFound, Operation
from shared.base.settings import Settings
from shared.contracts.jobs import SESSION_PRIORITY, CompositionPayload, JobKind
from shared.contracts.values import FILE_ID_PATTERN
from shared.db.base import Transactions
from shared.jobs.dispatch import NewJob, enqueue
from shared.jobs.models import OPEN
from shared.jobs.ownership import abandon
from shared.jobs.queries import lock_job
from shared.jobs.tenant_queues import refresh_all
from shared.llm.calls import LAST_RESORT
from shared.sessions import queries
from shared.sessions.compose import plan
from shared.sessions.compose.documents import ComposedContext, CompositionSource, named_beside, overhead_chars
from shared.sessions.compose.queries import composition_by_name, get_composition, linked_to, lock_waiting_for, rows_of
from shared.sessions.compress.settings import CompressionSettings
from shared.sessions.compress.versions import complete_settings, fail_version, request_version
from shared.sessions.models import (
    BuildState,
    Composition,
    CompositionComponent,
    Project,
    RecordedSession,
    SessionVersion,
    project_sequence,
)
from shared.sessions.registry.projects import SessionChangeKind, record_change, settings_of, touch, use_sessions


def complete_composition(
    session: Session,
    project: Project,
    composition: Composition,
    composed: ComposedContext,
    digests: Mapping[str, str],
    cause: Cause,
) -> None:
    """Say that a composition is whole, its files being in place; its versions and sessions were used by this."""
    composition.state, composition.finished_at, composition.failure = BuildState.READY, cause.at, None
    composition.total_tokens, composition.total_messages = composed.tokens, composed.messages()
    composition.digests = dict(digests)
    rows = rows_of(session, [composition.key])[composition.key]
    for row, part in zip(rows, composed.parts, strict=True):
        row.component.tokens, row.component.left_out = part.tokens, part.left_out
        row.recorded.last_accessed = row.project.last_accessed = cause.at
        if row.compression is not None:
            # Reckoned by the database: two compositions of a version may be finished at the same moment.
            row.compression.uses = SessionVersion.uses + 1
            row.compression.last_used = cause.at
    for key in sorted({project.key, *(row.project.key for row in rows)}):
        touch(session.get_one(Project, key), cause.at)
    after = {"tokens": composed.tokens, "budget": composition.budget, "sessions": len(rows)}
    record_change(
        session,
        project,
        composition.composition_id,
        SessionChangeKind.COMPOSED,
        cause,
        {},
        {"name": composition.name} | after,
    )


def fail_composition(session: Session, project: Project, composition: Composition, why: str, cause: Cause) -> None:
    """Say that a composition came to nothing, and let go of the sessions and versions it was to be made of."""
    composition.state, composition.finished_at, composition.failure = BuildState.FAILED, cause.at, why[:500]
    session.execute(delete(CompositionComponent).where(CompositionComponent.composition_key == composition.key))
    record_change(
        session, project, composition.composition_id, SessionChangeKind.FAILED, cause, {}, {"name": composition.name}
    )


def remove_composition(session: Session, project: Project, composition: Composition, cause: Cause) -> None:
    """Remove a composition of a locked project, and stop its job; its files are removed after the commit."""
    # What it was made of, nothing that was said.
    before = {
        "name": composition.name,
        "state": composition.state,
        "tokens": composition.total_tokens,
        "request": composition.request,
    }
    job = None if composition.job_id is None else lock_job(session, composition.job_id)
    if job is not None and job.state in OPEN:
        abandon(session, [job], "its composition was removed", cause.at)
    record_change(session, project, composition.composition_id, SessionChangeKind.REMOVED, cause, before)
    session.execute(delete(CompositionComponent).where(CompositionComponent.composition_key == composition.key))
    session.delete(composition)
    touch(project, cause.at)
    session.flush()


def wake_waiting(session: Session, compression: SessionVersion, now: datetime) -> int:
    """Have the compositions that wait for a version look again at once; return how many do.

    Call it in the transaction in which the version's making ends, whichever way.
    """
    jobs = lock_waiting_for(session, compression.key)
    for job in jobs:
        job.due_at = min(job.due_at, now)
    session.flush()
    refresh_all(session, jobs, now)
    return len(jobs)


MOST_SESSIONS = 1000
"""Remembered as having used a composition; the first to be noted go first."""
NOT_READY = "composition_not_ready"


def count_composition_use(session: Session, composition: Composition, now: datetime) -> None:
    # Its sessions may be of several projects, whose rows others lock in other orders, but only under the app's lock.
    lock_app(session, composition.app_id)
    use_sessions(session, _component_sessions(session, composition), now)
    mine = update(Composition).where(Composition.key == composition.key)
    # Reckoned by the database, as in `count_version_use`.
    session.execute(mine.values(uses=Composition.uses + 1, last_used=now))


def record_session_use(
    session: Session, app_id: str, composition_id: str, session_id: str, cause: Cause
) -> Composition:
    """Note that a session used a composition; noted once, however often it is said. Raises: NotFound, Conflict."""
    lock_app(session, app_id)
    composition = get_composition(session, app_id, composition_id)
    refuse_unready(composition)
    project = queries.lock_project_by_key(session, composition.project_key)
    composition.last_used = project.last_accessed = cause.at
    use_sessions(session, _component_sessions(session, composition), cause.at)
    if session_id in composition.used_in_sessions:
        return composition
    composition.uses += 1
    # A new list: that something is added to the old one a JSON column does not notice.
    composition.used_in_sessions = [*composition.used_in_sessions, session_id][-MOST_SESSIONS:]
    touch(project, cause.at)
    record_change(session, project, composition_id, SessionChangeKind.USED, cause, session_id=session_id)
    return composition


def _component_sessions(session: Session, composition: Composition) -> list[RecordedSession]:
    return [row.recorded for row in rows_of(session, [composition.key])[composition.key]]


def refuse_unready(composition: Composition) -> None:
    """Raises: Conflict for a composition that is not whole."""
    if composition.state == BuildState.READY:
        return
    what = f"failed ({composition.failure}); ask for it again" if composition.failure else "is being made"
    raise Conflict(
        f"Composition {composition.name} {what}.",
        code=NOT_READY,
        details={"state": composition.state, "job": composition.job_id},
    )


JOB_ENDED = "its job ended without it"
_AT_ONCE = 50


def fail_abandoned(database: Transactions, cause: Cause) -> int:
    """Let go of what no job makes any more; return how many were let go of."""
    with database.read() as session:
        left = queries.abandoned(session, _AT_ONCE)
    for app_id, kind, key in left:
        with database.write() as session:
            lock_app(session, app_id)
            making: Any = session.get(kind, key)
            # Looked at again under the lock: since it was read it may have become whole, or gone.
            if making is None or making.state != BuildState.WORKING:
                continue
            if isinstance(making, SessionVersion):
                recorded = session.get_one(RecordedSession, making.session_key)
                project = queries.lock_project_by_key(session, recorded.project_key)
                fail_version(session, making, cause.at)
                record_change(
                    session, project, making.version_id, SessionChangeKind.FAILED, cause, session_id=recorded.session_id
                )
                wake_waiting(session, making, cause.at)
            else:
                fail_composition(
                    session, queries.lock_project_by_key(session, making.project_key), making, JOB_ENDED, cause
                )
    return len(left)


MIN_BUDGET, MAX_BUDGET = 100, 2_000_000
MAX_COMPONENTS = 100
MAX_NAME_CHARS = 100
NAME_PATTERN = rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME_CHARS - 1}}}$"
_VERSION_PATTERN = r"^(auto|original|v[0-9]{3,9})$"

CompositionName = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]


class ComponentOrder(StrEnum):
    """In which order the sessions stand."""

    AS_GIVEN = "as-given"
    OLDEST_FIRST = "oldest-first"


class _Wire(Closed):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class ComponentRequest(_Wire):
    """A session that is to be in it."""

    session_id: str = Field(pattern=FILE_ID_PATTERN)
    version_id: str = Field(
        plan.AUTO,
        pattern=_VERSION_PATTERN,
        description="`auto`, `original`, or a version as `v001`.",
        examples=["auto"],
    )
    allocation: StrictInt | None = Field(None, ge=0, le=MAX_BUDGET, description="Its tokens; with strategy custom.")
    recompress_settings: CompressionSettings | None = Field(
        None, description="Has a new version made for it; with versionId auto."
    )

    @field_serializer("recompress_settings")
    def _as_asked(self, asked: CompressionSettings | None) -> dict[str, Any] | None:
        """Keep what was not said unsaid, so that the project's settings hold when it is asked for again."""
        return None if asked is None else asked.model_dump(mode="json", by_alias=True, exclude_unset=True)

    @model_validator(mode="after")
    def _belongs_together(self) -> ComponentRequest:
        if self.recompress_settings is not None and self.version_id != plan.AUTO:
            raise ValueError("recompressSettings goes with versionId auto")
        return self


class CompositionRequest(_Wire):
    """What a composition is to be made of."""

    components: tuple[ComponentRequest, ...] = Field(min_length=1, max_length=MAX_COMPONENTS)
    total_token_budget: StrictInt = Field(ge=MIN_BUDGET, le=MAX_BUDGET, description="Never exceeded.", examples=[16000])
    strategy: AllocationStrategy = AllocationStrategy.EQUAL
    output_format: OutputFormat = OutputFormat.BOTH
    order: ComponentOrder = ComponentOrder.AS_GIVEN
    min_freshness: StrictInt | None = Field(
        None, ge=1, le=10, description="1: versions must cover all there is now; 10: any version will do."
    )
    model: str | None = Field(None, max_length=200, description="Who compresses where that is needed.")

    @model_validator(mode="after")
    def _add_up(self) -> CompositionRequest:
        named = [one.session_id for one in self.components]
        if len(set(named)) < len(named):
            raise ValueError("each session can be named once")
        is_custom = self.strategy is AllocationStrategy.CUSTOM
        if any((one.allocation is not None) != is_custom for one in self.components):
            raise ValueError("with strategy custom each component has an allocation, with any other none has")
        if is_custom and sum(one.allocation or 0 for one in self.components) > self.total_token_budget:
            raise ValueError("the allocations together pass totalTokenBudget")
        return self


_SPACE = UUID("b0a7b7de-0d4c-5b43-8f5e-5f0f3c1d9a77")
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def request_composition(
    session: Session,
    app: App,
    project_id: str,
    name: str,
    asked: CompositionRequest,
    cause: Cause,
    settings: Settings,
    replaces: bool = False,
) -> Composition:
    """Ask a locked app's project for a composition, or for another of a name. Raises: NotFound, Conflict, Invalid."""
    project = queries.lock_project(session, app.app_id, project_id)
    for session_id in sorted(one.session_id for one in asked.components):
        queries.lock_session(session, app.app_id, session_id)
    foreseen = plan_composition(session, project, name, asked)
    present = composition_by_name(session, project.key, name)
    if present is not None:
        if present.state != BuildState.FAILED and not replaces:
            raise Conflict(
                f"Project {project.project_id} has a composition {name} already ({present.composition_id}); choose "
                "another name, or ask with replace=true.",
                code="name_taken",
                details={"compositionId": present.composition_id},
            )
        remove_composition(session, project, present, cause.by(cause.actor, f"replaced; {cause.reason}"[:300]))
    # The row before is flushed away by now: in one flush inserts come before deletes, and the name would be taken.
    composition = _insert_composition(session, project, name, asked, cause)
    write_components(session, app, composition, foreseen, cause, settings)
    wanted = NewJob(
        kind=JobKind.COMPOSE_CONTEXT,
        app_id=app.app_id,
        dedupe=f"compose:{composition.key}",
        epoch=app.purge_epoch,
        priority=SESSION_PRIORITY,
        sequence=project_sequence(project.key),
        max_attempts=settings.job_max_attempts,
        payload=CompositionPayload(composition_key=composition.key),
    )
    composition.job_id = enqueue(session, wanted, cause.at).job_id
    return composition


def plan_composition(
    session: Session, project: Project, name: str, asked: CompositionRequest
) -> list[plan.ComponentPlan]:
    """Return what each session would get, in their order; nothing is written. Raises: NotFound, Invalid."""
    recorded = [queries.get_session(session, project.app_id, one.session_id) for one in asked.components]
    # A session that is neither the project's nor linked to it is refused.
    others = [one for one in recorded if one.project_key != project.key]
    linked = linked_to(session, project.key, [one.key for one in others]) if others else set()
    strange = [one.session_id for one in others if one.key not in linked]
    if strange:
        raise Invalid(
            f"Session {strange[0]} belongs to another project; link it to {project.project_id} first ({{operation}}).",
            code="session_not_in_project",
            details={"sessions": strange},
            operation=Operation("makeLink", {"appId": project.app_id, "projectId": project.project_id}),
        )
    in_order = sorted(recorded, key=_age_key) if asked.order is ComponentOrder.OLDEST_FIRST else recorded
    shared = dict(zip((one.key for one in in_order), plan.shared_beginnings(in_order), strict=True))
    wishes = _wishes(session, asked, recorded, shared)
    # With "original", the longest word that can stand there: which version it will be is not known yet.
    owners = [session.get_one(Project, one.project_key) for one in recorded]
    sources = (
        CompositionSource(one, None, named_beside(of, project), begins_as=alike.session_id if alike else None)
        for one, of, alike in zip(recorded, owners, map(shared.get, (one.key for one in recorded)), strict=True)
    )
    headings = [one.heading for one in sources]
    taken = LAST_RESORT.tokens_in(overhead_chars(name, headings))
    available = asked.total_token_budget - taken
    if available <= 0:
        raise plan.budget_too_small(1 - available, f"the headings alone take {taken} tokens", asked.total_token_budget)
    found = plan.plan_components(
        wishes, plan.CompositionTerms(asked.strategy, available, asked.min_freshness, asked.model)
    )
    return sorted(found, key=lambda one: in_order.index(one.wish.recorded))


def write_components(
    session: Session,
    app: App,
    composition: Composition,
    foreseen: Sequence[plan.ComponentPlan],
    cause: Cause,
    settings: Settings,
) -> None:
    """Write who is in a composition, and ask for the versions that have to be made."""
    session.execute(delete(CompositionComponent).where(CompositionComponent.composition_key == composition.key))
    for position, one in enumerate(foreseen):
        version = one.version
        if one.way is plan.ComponentForm.COMPRESS:
            assert one.settings is not None
            recorded = one.wish.recorded
            owner = settings_of(session, session.get_one(Project, recorded.project_key))
            complete = complete_settings(one.settings, settings.model, owner)
            reason = f"for composition {composition.name}: {one.reason}"[:300]
            version = request_version(
                session, app, recorded, complete, cause, cause.at, reason=reason, max_attempts=settings.job_max_attempts
            )
        component = CompositionComponent(
            composition_key=composition.key,
            position=position,
            session_key=one.wish.recorded.key,
            compression_key=None if version is None else version.key,
            allocation=one.allocation,
            recompress=one.recompression,
        )
        session.add(component)
    session.flush()


def _age_key(recorded: RecordedSession) -> tuple[datetime, str]:
    return recorded.last_timestamp or _BEGINNING, recorded.session_id


def _wishes(
    session: Session,
    asked: CompositionRequest,
    recorded: Sequence[RecordedSession],
    shared: Mapping[int, plan.SharedBeginning | None],
) -> list[plan.ComponentWish]:
    newest_first = sorted(recorded, key=_age_key, reverse=True)
    ages = {one.key: age for age, one in enumerate(newest_first)}
    versions = queries.versions_by_session(session, list(ages), BuildState.READY, BuildState.WORKING)
    wishes = []
    for component, one in zip(asked.components, recorded, strict=True):
        wish = plan.ComponentWish(
            recorded=one,
            versions=versions[one.key],
            version_id=component.version_id,
            allocation=component.allocation,
            recompress=component.recompress_settings,
            age=ages[one.key],
            shared=shared[one.key],
        )
        if wish.version_id not in (plan.AUTO, plan.ORIGINAL) and wish.named is None:
            raise NotFound(
                f"Session {one.session_id} has no version {component.version_id}; list them under {{address}}.",
                operation=Operation("listVersions", {"appId": one.app_id, "sessionId": one.session_id}),
            )
        wishes.append(wish)
    return wishes


def _insert_composition(
    session: Session, project: Project, name: str, asked: CompositionRequest, cause: Cause
) -> Composition:
    request = asked.model_dump(mode="json", by_alias=True, exclude_none=True)
    composition = Composition(
        composition_id=composition_id(project, name, request),
        app_id=project.app_id,
        project_key=project.key,
        name=name,
        state=BuildState.WORKING,
        request=request,
        budget=asked.total_token_budget,
        asked_by=cause.actor[:200],
        created_at=cause.at,
    )
    session.add(composition)
    session.flush()
    return composition


def composition_id(project: Project, name: str, asked: dict[str, Any]) -> str:
    """Return the id of a composition: the same request has the same, so that its files can be the same bytes."""
    return str(uuid5(_SPACE, json.dumps([project.app_id, project.project_id, name, asked], sort_keys=True)))
