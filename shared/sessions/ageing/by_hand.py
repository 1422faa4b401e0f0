"""Removing versions by hand: named one by one, or by rules that a person gives; looked at first, then done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from shared.causes import Cause
from shared.errors import NotFound
from shared.sessions.ageing.pruning import Decision, Pruning, Removals, prune, warnings_of
from shared.sessions.ageing.queries import Subject, subjects_of
from shared.sessions.ageing.running import BY_HAND, Done, Plan, Removal, remove_all
from shared.sessions.models import Project

NAMED = "named by hand"


@dataclass(frozen=True)
class Choice:
    """What goes and what stays, with what a person should know."""

    remove: tuple[Removal, ...]
    stay: tuple[Decision, ...]
    warnings: tuple[str, ...]


def by_rules(session: Session, project: Project, wanted: Pruning, now: datetime) -> Choice:
    """Return what goes by rules; what is in use stays."""
    subjects = subjects_of(session, project, wanted.sessions)
    return _choice((subject, prune(subject.ageing.versions, wanted, now)) for subject in subjects)


def by_name(session: Session, project: Project, named: Sequence[tuple[str, str]]) -> Choice:
    """Return versions that were named, by session and version. Raises: NotFound."""
    subjects = {one.recorded.session_id: one for one in subjects_of(session, project)}
    wanted: dict[str, list[Decision]] = {}
    for session_id, version_id in dict.fromkeys(named):
        wanted.setdefault(session_id, []).append(_named(project, subjects.get(session_id), session_id, version_id))
    return _choice((subjects[session_id], Removals.of(found)) for session_id, found in wanted.items())


def remove(session: Session, project: Project, choice: Choice, cause: Cause) -> Done:
    """Remove what was chosen, of a locked project. Raises: Conflict."""
    done = Done(Plan(remove=choice.remove, stay=choice.stay), is_dry=False)
    remove_all(session, project, choice.remove, cause, done)
    return done


def _choice(found: Iterable[tuple[Subject, Removals]]) -> Choice:
    remove: list[Removal] = []
    stay: list[Decision] = []
    warnings: list[str] = []
    for subject, removals in found:
        remove += [Removal(subject, one, BY_HAND) for one in removals.go]
        stay += removals.stay
        warnings += warnings_of(removals, subject.ageing.versions)
    return Choice(tuple(remove), tuple(stay), tuple(warnings))


def _named(project: Project, subject: Subject | None, session_id: str, version_id: str) -> Decision:
    versions = () if subject is None else subject.ageing.versions
    found = next((one for one in versions if one.version_id == version_id), None)
    if found is None:
        raise NotFound(
            f"Project {project.project_id} has no version {version_id} of session {session_id}.",
            details={"sessionId": session_id, "versionId": version_id},
        )
    return Decision(found, NAMED)
