"""Reads what suggestions are chosen from: the sessions of a project and those linked to it, with files and versions."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy.orm import Session

from shared.sessions.compositions.selecting import Candidate, candidate_of
from shared.sessions.models import Project
from shared.sessions.queries import ready_versions
from shared.sessions.searching import queries
from shared.sessions.searching.finding import scores_of
from shared.sessions.searching.suggesting import Past


def pasts_of(session: Session, app_id: str, project: Project, text: str, files: Collection[str] = ()) -> list[Past]:
    """Return a project's sessions as suggestions see them; of their files those called like one of ``files``."""
    facts = queries.facts_of(session, app_id, project)
    touched = queries.touched(session, app_id, files)
    answers = scores_of(session, app_id, text) if text else {}
    versions: dict[int, list[Candidate]] = {}
    for version in ready_versions(session, [one.key for one in facts]):
        versions.setdefault(version.session_key, []).append(candidate_of(version))
    return [
        Past(one, tuple(touched.get(one.key, ())), tuple(versions.get(one.key, ())), answers.get(one.key, 0.0))
        for one in facts
    ]
