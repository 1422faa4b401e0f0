"""Links: a session of one project that another project of the same app may find, be suggested, and compose.

Source: seed 004, "Cross-Project Memory Sharing".
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from shared.apps.queries import lock_app
from shared.audit import Cause
from shared.errors import Conflict
from shared.ids import new_id
from shared.sessions.compose.queries import linked_to
from shared.sessions.models import ProjectLink
from shared.sessions.queries import compositions_using, get_project, lock_project, lock_session, project_by_key
from shared.sessions.registry.projects import SessionChangeKind, record_change, touch
from shared.sessions.search.queries import LinkedSession, get_link


def link_session(
    session: Session, app_id: str, target_id: str, source_id: str, session_id: str, reason: str, cause: Cause
) -> LinkedSession:
    """Link a session to another project. Raises: NotFound, Conflict where it stands already or is the project's own."""
    lock_app(session, app_id)
    target = lock_project(session, app_id, target_id)
    source = get_project(session, app_id, source_id)
    recorded = lock_session(session, app_id, session_id)
    if recorded.project_key != source.key:
        raise Conflict(f"Session {recorded.session_id} does not belong to {source.project_id}.", code="not_its_session")
    if recorded.project_key == target.key:
        raise Conflict(f"Session {recorded.session_id} is {target.project_id}'s own; it needs no link.", code="own")
    if linked_to(session, target.key, [recorded.key]):
        raise Conflict(
            f"Session {recorded.session_id} is linked to {target.project_id} already.", code="already_linked"
        )
    made = ProjectLink(
        link_id=new_id("lnk", cause.at),
        session_key=recorded.key,
        target_key=target.key,
        reason=reason,
        linked_by=cause.actor,
        linked_at=cause.at,
    )
    session.add(made)
    touch(target, cause.at)
    after = {"sourceProject": source_id}
    record_change(session, target, made.link_id, SessionChangeKind.LINKED, cause, after=after, session_id=session_id)
    session.flush()
    return LinkedSession(made, source_id, session_id, target_id)


def unlink_session(session: Session, app_id: str, link_id: str, cause: Cause) -> None:
    """Take a link away. Raises: NotFound, and Conflict while a composition of the target uses the session."""
    lock_app(session, app_id)
    gone, target, recorded = get_link(session, app_id, link_id)
    using = [name for _, _, name in compositions_using(session, [recorded.key], target.key)]
    if using:
        raise Conflict(
            f"Session {recorded.session_id} is used in {', '.join(using)} of {target.project_id}; delete that first.",
            code="link_in_use",
            details={"compositions": using},
        )
    session.delete(gone)
    touch(target, cause.at)
    before = {"sourceProject": project_by_key(session, recorded.project_key).project_id}
    record_change(
        session, target, link_id, SessionChangeKind.REMOVED, cause, before=before, session_id=recorded.session_id
    )
    session.flush()
