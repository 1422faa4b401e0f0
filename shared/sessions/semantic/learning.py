"""Asking for what sessions have in common, keeping what was found, and letting go of what no session bears any more.

What says the same is one memory with several sources, and is believed more the more sessions say it. What a person
rejected stays rejected however often it is found again; what a person confirmed stays when nothing bears it any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256

from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.causes import Cause
from shared.contracts.jobs import SESSION_PRIORITY, JobKind
from shared.db.inserting import insert_if_absent
from shared.errors import Conflict
from shared.ids import new_id
from shared.outbox.dispatch import NewJob, enqueue
from shared.outbox.models import Job
from shared.sessions.models import Project, RecordedSession
from shared.sessions.registry.changes import ChangeKind, note, touch
from shared.sessions.semantic import queries
from shared.sessions.semantic.material import LONGEST, LONGEST_EXCERPT, Proposal
from shared.sessions.semantic.models import SemanticMemory, SemanticSource, Verdict
from shared.text.lines import clean, shorten

_FILLERS = re.compile(r"\b(?:please|the|a|an|just|also)\b", re.IGNORECASE)
_SIGNS = re.compile(r"[^\w`./:@#+-]+")


def ask(session: Session, app: App, project: Project, now: datetime, max_attempts: int) -> Job:
    """Ask for what a project's sessions teach, or return the job that is at it.

    Raises: Conflict where each session was learnt from as it is now.
    """
    present = queries.open_learning(session, app.app_id, project.key)
    if present is not None:
        return present
    if queries.next_to_learn(session, project.key) is None:
        raise Conflict(
            f"Every session of {project.project_id} was learnt from as it is now; register or sync one.",
            code="nothing_new",
        )
    wanted = NewJob(
        kind=JobKind.LEARN_FROM_SESSIONS,
        app_id=app.app_id,
        # Not by what is to be read: where a job ended as a dead letter, that may be asked for once more.
        dedupe=f"{JobKind.LEARN_FROM_SESSIONS}:{project.key}:{new_id('ask', now)}",
        epoch=app.purge_epoch,
        priority=SESSION_PRIORITY,
        max_attempts=max_attempts,
        payload={queries.PROJECT_KEY: project.key},
    )
    return enqueue(session, wanted, now)


def keep(
    session: Session,
    project: Project,
    recorded: RecordedSession,
    proposals: Iterable[Proposal],
    agent: str,
    now: datetime,
) -> int:
    """Keep what was found in a session of a locked app; return how many memories are new."""
    new = 0
    for proposal in proposals:
        content = shorten(clean(proposal.content), LONGEST)
        if not content:
            continue
        memory = queries.find_memory(session, project.key, proposal.kind, normal_of(content))
        if memory is None:
            memory, new = _make(session, project, proposal, content, agent, now), new + 1
        _bear(session, memory, recorded, proposal)
    if new:
        touch(project, now)
    return new


def normal_of(content: str) -> str:
    """Return the digest of a statement's normal form: what says the same in the same words is the same."""
    words = _SIGNS.sub(" ", _FILLERS.sub(" ", content.casefold())).split()
    return sha256(" ".join(word.rstrip(".:") for word in words).encode("utf-8", "surrogatepass")).hexdigest()


def confidence(sessions: int) -> float:
    """Return how far what so many sessions bear is believed: half of what is missing with each."""
    return round(1 - 0.5 ** min(sessions, 6), 2)


def drop_unborne(session: Session, project: Project, cause: Cause) -> int:
    """Let go of what no session bears any more and nobody confirmed or rejected; return how many went."""
    session.flush()
    gone = queries.without_sources(session, project.key)
    for memory in gone:
        note(session, project, memory.memory_id, ChangeKind.REMOVED, cause, before={"kind": memory.kind})
        session.delete(memory)
    session.flush()
    return len(gone)


def _make(
    session: Session, project: Project, proposal: Proposal, content: str, agent: str, now: datetime
) -> SemanticMemory:
    memory = SemanticMemory(
        memory_id=new_id("sem", now),
        project_key=project.key,
        app_id=project.app_id,
        kind=proposal.kind,
        content=content,
        normal=normal_of(content),
        confidence=0.0,
        verdict=Verdict.PROPOSED,
        agent=agent,
        extracted_at=now,
    )
    session.add(memory)
    session.flush()
    after = {"kind": proposal.kind, "agent": agent}
    note(session, project, memory.memory_id, ChangeKind.CREATED, Cause(agent, "found in sessions", now), after=after)
    return memory


def _bear(session: Session, memory: SemanticMemory, recorded: RecordedSession, proposal: Proposal) -> None:
    insert_if_absent(
        session,
        SemanticSource,
        memory_key=memory.key,
        session_key=recorded.key,
        message_uuid=proposal.uuid[:200],
        excerpt=shorten(clean(proposal.excerpt), LONGEST_EXCERPT),
    )
    memory.confidence = confidence(queries.count_sessions(session, memory.key))
