"""What a person says of a semantic memory: that it holds, that it does not, how it should read, or that it shall go."""

from __future__ import annotations

from sqlalchemy.orm import Session

from shared.causes import Cause
from shared.errors import Conflict, Invalid
from shared.sessions.queries import lock_project_by_key
from shared.sessions.registry.changes import ChangeKind, note, touch
from shared.sessions.semantic import queries
from shared.sessions.semantic.learning import normal_of
from shared.sessions.semantic.material import LONGEST
from shared.sessions.semantic.models import SemanticMemory, Verdict
from shared.text.lines import clean


def judge(
    session: Session, app_id: str, memory_id: str, verdict: Verdict | None, content: str | None, cause: Cause
) -> SemanticMemory:
    """Change what a locked app's memory says or is worth. Raises: NotFound, Invalid, Conflict."""
    memory = queries.get_memory(session, app_id, memory_id)
    project = lock_project_by_key(session, memory.project_key)
    before = {"verdict": memory.verdict}
    if content is not None:
        _reword(session, memory, content)
    if verdict is not None:
        memory.verdict = verdict
        memory.decided_by, memory.decided_at = cause.actor, cause.at
    touch(project, cause.at)
    after = {"verdict": memory.verdict, "reworded": content is not None}
    note(session, project, memory_id, ChangeKind.JUDGED, cause, before, after)
    session.flush()
    return memory


def remove(session: Session, app_id: str, memory_id: str, cause: Cause) -> None:
    """Remove a memory of a locked app; found again, it is proposed again. Raises: NotFound."""
    memory = queries.get_memory(session, app_id, memory_id)
    project = lock_project_by_key(session, memory.project_key)
    before = {"kind": memory.kind, "verdict": memory.verdict}
    note(session, project, memory_id, ChangeKind.REMOVED, cause, before=before)
    touch(project, cause.at)
    session.delete(memory)
    session.flush()


def _reword(session: Session, memory: SemanticMemory, content: str) -> None:
    text = clean(content)
    if not text or len(text) > LONGEST:
        raise Invalid(f"content: must be one line of 1 to {LONGEST} characters.")
    normal = normal_of(text)
    other = queries.find_memory(session, memory.project_key, memory.kind, normal)
    if other is not None and other.key != memory.key:
        raise Conflict(f"{other.memory_id} says that already.", code="already_known")
    memory.content, memory.normal = text, normal
