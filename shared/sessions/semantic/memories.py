"""Semantic memories: what sessions have in common, proposed for a person to confirm or reject.

Only what people said is learnt from, and only what they laid down for good or said twice is proposed. What says the
same is one memory with all its sources, and is believed more the more sessions say it. What a person rejected stays
rejected however often it is found again; what a person confirmed stays when no session bears it any more.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.base.audit import Cause
from shared.base.choices import SemanticVerdict
from shared.base.errors import Conflict, Invalid
from shared.base.ids import new_id
from shared.contracts.jobs import SESSION_PRIORITY, JobKind, LearningPayload
from shared.db.inserting import insert_if_absent
from shared.jobs.dispatch import NewJob, enqueue
from shared.jobs.models import Job
from shared.sessions import models
from shared.sessions.blocks import Block, BlockKind
from shared.sessions.queries import lock_project_by_key
from shared.sessions.registry.projects import SessionChangeKind, record_change, touch
from shared.sessions.semantic import queries
from shared.text.gate import refuse_secret
from shared.text.likeness import gist
from shared.text.lines import clean, shorten
from shared.text.sentences import own_words

MAX_MEMORY_CHARS = 300
"""Characters of a semantic memory."""
MAX_EXCERPT_CHARS = 400
_LONGEST_PROMPT = 8_000
_MARK = re.compile(r"##keepit[^#\s]{0,20}##[ \t]?", re.IGNORECASE)


@dataclass(frozen=True)
class SessionPrompt:
    """Something a person said, without code, quotations and what else they only passed on."""

    uuid: str
    text: str


@dataclass(frozen=True)
class SemanticProposal:
    """Something that may be worth remembering of a project, and where it was found."""

    kind: models.SemanticKind
    content: str
    uuid: str
    excerpt: str
    is_standing: bool = True
    """Whether it was laid down for good; else it is proposed once it was said twice."""


def prompts_of(blocks: Iterable[Block]) -> Iterator[SessionPrompt]:
    for block in blocks:
        if block.kind is BlockKind.HUMAN and not block.is_sidechain:
            text = own_words(_MARK.sub("", block.text))[:_LONGEST_PROMPT].strip()
            if text:
                # Not its own id: what stands in two copies of a talk was said once.
                yield SessionPrompt(block.origin or block.uuid, text)


# What differs in nothing else says the same.
_PLEASE = re.compile(r"\b(?:please|pls|bitte)\b", re.IGNORECASE)


def request_learning(session: Session, app: App, project: models.Project, now: datetime, max_attempts: int) -> Job:
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
    new_job = NewJob(
        kind=JobKind.LEARN_FROM_SESSIONS,
        app_id=app.app_id,
        # Not by what is to be read: where a job ended as a dead letter, that may be asked for once more.
        dedupe=f"{JobKind.LEARN_FROM_SESSIONS}:{project.key}:{new_id('ask', now)}",
        epoch=app.purge_epoch,
        priority=SESSION_PRIORITY,
        sequence=models.project_sequence(project.key),
        max_attempts=max_attempts,
        payload=LearningPayload(project_key=project.key),
    )
    return enqueue(session, new_job, now)


def save_proposals(
    session: Session,
    project: models.Project,
    recorded: models.RecordedSession,
    proposals: Iterable[SemanticProposal],
    agent: str,
    now: datetime,
) -> int:
    """Keep what was found in a session of a locked app; return how many memories are newly proposed."""
    new = 0
    for proposal in proposals:
        content = shorten(clean(proposal.content), MAX_MEMORY_CHARS)
        if not content:
            continue
        memory = queries.find_semantic_memory(session, project.key, proposal.kind, normal_of(content))
        if memory is None:
            # Kept though it may not be proposed yet: else nobody could tell that it is said a second time.
            memory = models.SemanticMemory(
                memory_id=new_id("sem", now),
                project_key=project.key,
                app_id=project.app_id,
                kind=proposal.kind,
                content=content,
                normal=normal_of(content),
                is_standing=False,
                confidence=0.0,
                agent=agent,
                extracted_at=now,
            )
            session.add(memory)
            session.flush()
        was_proposed = _is_proposed(session, memory)
        _add_source(session, memory, recorded, proposal)
        memory.is_standing = memory.is_standing or proposal.is_standing
        if not was_proposed and _is_proposed(session, memory):
            cause, after = Cause(agent, "found in sessions", now), {"kind": proposal.kind, "agent": agent}
            record_change(session, project, memory.memory_id, SessionChangeKind.CREATED, cause, after=after)
            touch(project, now)
            new += 1
    return new


def _is_proposed(session: Session, memory: models.SemanticMemory) -> bool:
    is_judged = memory.verdict != SemanticVerdict.PROPOSED
    return is_judged or memory.is_standing or queries.is_said_twice(session, memory.key)


def normal_of(content: str) -> str:
    """Return the digest of a statement's normal form: what says the same in the same words that matter is the same."""
    meaning = gist(_PLEASE.sub(" ", content))
    parts = (meaning.names, meaning.numbers, sorted(meaning.content), meaning.ordered, meaning.positive)
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def confidence(sessions: int) -> float:
    """Return how far what so many sessions bear is believed: half of what is missing with each."""
    # Six count at most, or it would be rounded to certainty.
    return round(1 - 0.5 ** min(sessions, 6), 2)


def remove_unsupported(session: Session, project: models.Project, cause: Cause) -> int:
    """Let go of what no session bears any more and nobody confirmed or rejected; return how many went."""
    # What was deleted takes its sources along only when it is written.
    session.flush()
    gone = queries.without_sources(session, project.key)
    for memory in gone:
        record_change(
            session, project, memory.memory_id, SessionChangeKind.REMOVED, cause, before={"kind": memory.kind}
        )
        session.delete(memory)
    session.flush()
    return len(gone)


def _add_source(
    session: Session, memory: models.SemanticMemory, recorded: models.RecordedSession, proposal: SemanticProposal
) -> None:
    insert_if_absent(
        session,
        models.SemanticSource,
        memory_key=memory.key,
        session_key=recorded.key,
        message_uuid=proposal.uuid[:200],
        excerpt=shorten(clean(proposal.excerpt), MAX_EXCERPT_CHARS),
    )
    memory.confidence = confidence(queries.count_bearing_sessions(session, memory.key))


def judge_memory(
    session: Session, app_id: str, memory_id: str, verdict: SemanticVerdict | None, content: str | None, cause: Cause
) -> models.SemanticMemory:
    """Change what a locked app's memory says or is worth. Raises: NotFound, Invalid, Conflict."""
    memory = queries.get_semantic_memory(session, app_id, memory_id)
    project = lock_project_by_key(session, memory.project_key)
    before = {"verdict": memory.verdict}
    if content is not None:
        text = clean(content)
        if not text or len(text) > MAX_MEMORY_CHARS:
            raise Invalid(f"content: must be one line of 1 to {MAX_MEMORY_CHARS} characters.")
        refuse_secret(text, "content: it")
        normal = normal_of(text)
        other = queries.find_semantic_memory(session, memory.project_key, memory.kind, normal)
        if other is not None and other.key != memory.key:
            raise Conflict(f"{other.memory_id} says that already.", code="already_known")
        memory.content, memory.normal = text, normal
    if verdict is not None:
        memory.verdict = verdict
        memory.decided_by, memory.decided_at = cause.actor, cause.at
    touch(project, cause.at)
    after = {"verdict": memory.verdict, "reworded": content is not None}
    record_change(session, project, memory_id, SessionChangeKind.JUDGED, cause, before, after)
    session.flush()
    return memory


def remove_memory(session: Session, app_id: str, memory_id: str, cause: Cause) -> None:
    """Remove a memory of a locked app; found again, it is proposed again. Raises: NotFound."""
    memory = queries.get_semantic_memory(session, app_id, memory_id)
    project = lock_project_by_key(session, memory.project_key)
    before = {"kind": memory.kind, "verdict": memory.verdict}
    record_change(session, project, memory_id, SessionChangeKind.REMOVED, cause, before=before)
    touch(project, cause.at)
    session.delete(memory)
    session.flush()
