"""Projects: opened on their own or with their first session, changed, removed once empty; and their history."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.base.audit import Cause
from shared.base.errors import Conflict, Invalid
from shared.sessions.models import Project, RecordedSession, SessionChange
from shared.sessions.queries import find_project
from shared.sessions.retention.rules import KEEPS

_MOST_CHARACTERS = 180
"""So that a folder's name stays below what file systems take, with a hash behind it."""
_HASH_CHARACTERS = 8
_OTHER = re.compile(r"[^A-Za-z0-9-]")


def sanitise(path: str) -> str:
    """Return the project's id of a path, as ``-home-dac-github-myapp``; one too long is cut and gets a hash.

    Raises: Invalid.
    """
    name = _OTHER.sub("-", path.strip())
    if not name.strip("-") and path.strip() != "/":
        raise Invalid(f"{path[:80]!r} names no folder; give its path, as /home/me/myapp.", code="bad_name")
    return name if len(name) <= _MOST_CHARACTERS else with_hash(name, path)


def with_hash(name: str, path: str) -> str:
    """Return a name told apart from others that look the same, by its path's hash."""
    digest = sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:_HASH_CHARACTERS]
    return f"{name[: _MOST_CHARACTERS - _HASH_CHARACTERS]}-{digest}"


class SessionChangeKind(StrEnum):
    """What was done."""

    CREATED = "created"
    REGISTERED = "registered"
    SYNCED = "synced"
    UNREGISTERED = "unregistered"
    REMOVED = "removed"
    CHANGED = "changed"
    WEIGHED = "weighed"
    """A marker was given another weight, or its own back."""
    COMPRESSED = "compressed"
    COMPOSED = "composed"
    USED = "used"
    FAILED = "failed"
    LINKED = "linked"
    JUDGED = "judged"
    AGED = "aged"
    IMPORTED = "imported"


def touch(project: Project, now: datetime) -> None:
    """Say that what a project's manifest shows has changed."""
    project.revision += 1
    project.last_modified = now


def use_sessions(session: Session, used: Collection[RecordedSession], now: datetime) -> None:
    """Say that sessions were used: they count as recalled then. One that is gone meanwhile stays so."""
    # One by one and in order, so that two uses at once do not wait for each other; projects first, as everywhere.
    for key in sorted({one.project_key for one in used}):
        shown = {"last_accessed": now, "revision": Project.revision + 1}
        session.execute(update(Project).where(Project.key == key).values(shown))
    for key in sorted(one.key for one in used):
        session.execute(update(RecordedSession).where(RecordedSession.key == key).values(last_accessed=now))


def record_change(
    session: Session,
    project: Project,
    subject: str,
    kind: str,
    cause: Cause,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    *,
    session_id: str | None = None,
) -> SessionChange:
    """Write down a change: ids, counts and settings, never what was said or marked."""
    change = SessionChange(
        app_id=project.app_id,
        project_id=project.project_id,
        session_id=session_id,
        subject=subject[:200],
        kind=kind,
        actor=cause.actor[:200],
        reason=cause.reason[:300],
        before=before or {},
        after=after or {},
        at=cause.at,
    )
    session.add(change)
    return change


ALREADY_REGISTERED = "already_registered"


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return one object of JSON above another; None takes away what lies below."""
    found = dict(below)
    for name, value in above.items():
        if value is None:
            found.pop(name, None)
        elif isinstance(value, Mapping):
            found[name] = overlaid(found.get(name, {}), value)
        else:
            found[name] = value
    return {name: value for name, value in found.items() if value != {}}


def create_project(
    session: Session, app_id: str, path: str, cause: Cause, *, display_name: str | None = None, project_id: str = ""
) -> Project:
    """Open a project of a locked app. Raises: Conflict where the path has one, Invalid."""
    name = project_id or sanitise(path)
    known = find_project(session, app_id, name)
    if known is not None and not project_id and known.original_path != path:
        name = with_hash(name, path)
        known = find_project(session, app_id, name)
    if known is not None:
        raise Conflict(f"{known.original_path} is project {name} already.", code=ALREADY_REGISTERED)
    project = Project(
        app_id=app_id,
        project_id=name,
        original_path=path,
        # What people call a folder: the last part of its path.
        display_name=display_name or (PurePosixPath(path).name or path)[:200],
        settings={},
        refused_files={},
        created_at=cause.at,
        last_accessed=cause.at,
        last_modified=cause.at,
    )
    session.add(project)
    session.flush()
    record_change(session, project, name, SessionChangeKind.CREATED, cause)
    return project


def change_project(session: Session, project: Project, wanted: Mapping[str, Any], cause: Cause) -> None:
    """Change a locked project's ``display_name``, ``settings`` and ``source_folder``; what is not named stays.

    Of the settings, by their names on the wire, only those that change; None takes one back, so that its app's is in
    force. A folder that is None is forgotten.
    """
    before = _as_history(project)
    project.display_name = wanted.get("display_name") or project.display_name
    if settings := wanted.get("settings"):
        project.settings = overlaid(project.settings, settings)
        project.tended_at = None if KEEPS in settings else project.tended_at
    if "source_folder" in wanted:
        folder = wanted["source_folder"]
        project.source_folder = None if folder is None else led_to(folder)
        project.refused_files, project.scanned_at = {}, None
    after = _as_history(project)
    if after != before:
        touch(project, cause.at)
        record_change(session, project, project.project_id, SessionChangeKind.CHANGED, cause, before, after)


def _as_history(project: Project) -> dict[str, Any]:
    folder = {"sourceFolder": project.source_folder is not None}
    return {"displayName": project.display_name, "settings": dict(project.settings)} | folder


def led_to(folder: str) -> str:
    """Return where a folder lies once all links are followed, as they lead at this moment; they may be changed later by
    somebody who may not name folders."""
    return os.path.realpath(folder)
