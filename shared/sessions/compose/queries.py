"""Reads of compositions and of what they could be made from, always of one app."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from shared.base.errors import NotFound, Operation
from shared.jobs.models import WAITING, Job
from shared.sessions.models import (
    BuildState,
    Composition,
    CompositionComponent,
    Project,
    ProjectLink,
    RecordedSession,
    SessionVersion,
)


@dataclass(frozen=True)
class ComponentRow:
    """A part of a composition, with what it points at."""

    component: CompositionComponent
    recorded: RecordedSession
    project: Project
    """The session's own."""
    compression: SessionVersion | None


def get_composition(session: Session, app_id: str, composition_id: str) -> Composition:
    """Return a composition. Raises: NotFound."""
    query = select(Composition).where(Composition.app_id == app_id, Composition.composition_id == composition_id)
    found = session.scalar(query, execution_options={"populate_existing": True})
    if found is None:
        raise NotFound(
            f"App {app_id} has no composition {composition_id}; list those of a project under {{address}}.",
            details={"appId": app_id, "compositionId": composition_id},
            operation=Operation("listCompositions", {"appId": app_id}),
        )
    return found


def composition_by_key(session: Session, app_id: str, key: int) -> Composition | None:
    """Return the composition a job is for, or None where it is gone."""
    query = select(Composition).where(Composition.app_id == app_id, Composition.key == key)
    return session.scalar(query, execution_options={"populate_existing": True})


def composition_by_name(session: Session, project_key: int, name: str) -> Composition | None:
    """Return a project's composition of that name, whatever its state."""
    return session.scalar(select(Composition).where(Composition.project_key == project_key, Composition.name == name))


def list_compositions(
    session: Session,
    project_key: int,
    state: BuildState | None,
    session_key: int | None,
    limit: int,
    before: int | None = None,
) -> Sequence[Composition]:
    """Return a project's compositions in a state and with a session, or all, newest first, those below ``before``."""
    query = select(Composition).where(Composition.project_key == project_key)
    if state is not None:
        query = query.where(Composition.state == state)
    if session_key is not None:
        having = select(CompositionComponent.composition_key)
        query = query.where(Composition.key.in_(having.where(CompositionComponent.session_key == session_key)))
    query = query if before is None else query.where(Composition.key < before)
    return session.scalars(query.order_by(Composition.key.desc()).limit(limit)).all()


def rows_of(session: Session, composition_keys: Collection[int]) -> dict[int, list[ComponentRow]]:
    query = select(CompositionComponent, RecordedSession, Project, SessionVersion)
    query = query.join(RecordedSession, RecordedSession.key == CompositionComponent.session_key)
    query = query.join(Project, Project.key == RecordedSession.project_key)
    query = query.outerjoin(SessionVersion, SessionVersion.key == CompositionComponent.compression_key)
    query = query.where(CompositionComponent.composition_key.in_(composition_keys))
    ordered = query.order_by(CompositionComponent.composition_key, CompositionComponent.position)
    found: dict[int, list[ComponentRow]] = {key: [] for key in composition_keys}
    for row in session.execute(ordered, execution_options={"populate_existing": True}):
        found[row[0].composition_key].append(ComponentRow(*row))
    return found


def linked_to(session: Session, project_key: int, session_keys: Collection[int]) -> set[int]:
    query = select(ProjectLink.session_key).where(ProjectLink.target_key == project_key)
    return set(session.scalars(query.where(ProjectLink.session_key.in_(session_keys))))


def lock_waiting_for(session: Session, compression_key: int) -> Sequence[Job]:
    """Return the waiting jobs of compositions that a version is made for, locked."""
    waiting = select(Composition.job_id).join(
        CompositionComponent, CompositionComponent.composition_key == Composition.key
    )
    waiting = waiting.where(
        CompositionComponent.compression_key == compression_key, Composition.state == BuildState.WORKING
    )
    query = select(Job).where(Job.job_id.in_(waiting), Job.state.in_(WAITING)).order_by(Job.seq)
    # Read over: their state and their time due are compared and written under this very lock.
    return session.scalars(query.with_for_update(), execution_options={"populate_existing": True}).all()
