"""When facts are extracted of a conversation: after some messages, when it falls silent, and when it ends.

A conversation says itself when it is due, in the transaction in which something is said; the loop asks for the job once
that time has come, and only one job of a conversation is open at a time. What has been seen is the job's to move.
"""

from datetime import datetime, timedelta

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.base.errors import Conflict
from shared.base.ids import new_id
from shared.base.setting_groups import FactSettings
from shared.base.settings import Settings
from shared.contracts.jobs import JobKind
from shared.conversations import queries
from shared.conversations.models import Conversation
from shared.jobs.dispatch import NewJob, enqueue
from shared.jobs.models import Job
from shared.jobs.queries import conversations_with_open, get_open

LEAST_MESSAGES = 2
"""Of users and assistants while a conversation goes on; one may say more at once. Source: seed 001; oracles."""


FACTS_OFF = FactSettings(facts=False)


def refuse_unremembered(conversation: Conversation) -> None:
    """Raises: Conflict, where nothing is remembered of a conversation."""
    if not conversation.is_remembered:
        raise Conflict(
            f"Nothing is drawn from conversation {conversation.conversation_id}: its memory is {conversation.memory}.",
            code="memory_off",
        )


def plan(conversation: Conversation, settings: FactSettings, now: datetime) -> None:
    """Say when facts are due of an open conversation in which something was said; never where they, or it, are off."""
    unseen = conversation.message_count - conversation.facts_seen
    if unseen <= 0 or not settings.facts or not conversation.is_remembered:
        conversation.facts_due_at = None
    elif unseen < settings.facts_every_messages:
        flush = timedelta(minutes=settings.facts_flush_minutes)
        conversation.facts_due_at = now + flush if flush else None
    else:
        # Set once: a conversation that never pauses would otherwise never be due.
        due, soon = conversation.facts_due_at, now + timedelta(seconds=settings.facts_debounce_seconds)
        conversation.facts_due_at = soon if due is None else min(due, soon)


def enqueue_extraction(
    session: Session, conversation: Conversation, epoch: int, now: datetime, max_attempts: int = 5
) -> Job | None:
    """Ask for the facts of what was said since, under its app's purge epoch.

    None when a job is open that will see to it, or there is nothing to ask for: in a conversation that goes on a
    message alone is not read, at its end it is.
    """
    conversation.facts_due_at = None
    if not conversation.is_remembered or get_open(session, conversation.key, JobKind.EXTRACT_FACTS) is not None:
        return None
    least = LEAST_MESSAGES if conversation.ended_at is None else 1
    if not queries.has_unseen_words(session, conversation, least):
        return None
    work = f"{epoch}:{conversation.facts_seen}:{conversation.message_count}"
    return enqueue(session, job_about(conversation, JobKind.EXTRACT_FACTS, work, epoch, max_attempts), now)


def enqueue_extraction_now(
    session: Session, conversation: Conversation, epoch: int, now: datetime, max_attempts: int
) -> Job | None:
    """Ask for the facts of a locked conversation at once, however little was said; the open job where there is one.

    None when a user has said nothing that was not read. Raises: Conflict where nothing is remembered of it.
    """
    refuse_unremembered(conversation)
    present = get_open(session, conversation.key, JobKind.EXTRACT_FACTS)
    if present is not None:
        return present
    if not queries.has_unseen_words(session, conversation, 1):
        return None
    conversation.facts_due_at = None
    # Not by what is to be read: where a job ended as a dead letter, that may be asked for once more.
    job = job_about(conversation, JobKind.EXTRACT_FACTS, new_id("ask", now), epoch, max_attempts)
    return enqueue(session, job, now)


def move_on(
    session: Session, conversation: Conversation, seen: int, epoch: int, settings: Settings, now: datetime
) -> None:
    """Note how far a locked conversation has been seen, and see to what is left of it.

    Call it in the transaction that writes the facts, after the job that found them has ended.
    """
    conversation.facts_seen = seen
    if conversation.ended_at is not None:
        enqueue_extraction(session, conversation, epoch, now, settings.job_max_attempts)
    else:
        # Forgotten first, as `plan` keeps the time of a debounce that is set.
        conversation.facts_due_at = None
        plan(conversation, settings, now)


def postpone(session: Session, app_id: str, now: datetime, user_id: str | None = None) -> None:
    """Have the open conversations of a locked app, or user, read again whose jobs are about to be cancelled."""
    waiting = conversations_with_open(session, app_id, JobKind.EXTRACT_FACTS)
    mine = (Conversation.key.in_(queries.keys_of(app_id, user_id)), Conversation.ended_at.is_(None))
    session.execute(update(Conversation).where(Conversation.key.in_(waiting), *mine).values(facts_due_at=now))


def job_about(conversation: Conversation, kind: JobKind, work: str, epoch: int, max_attempts: int) -> NewJob:
    """Return a job of a conversation's, in the sequence of its user; the same ``work`` is asked for once."""
    return NewJob(
        kind=kind,
        app_id=conversation.app_id,
        dedupe=f"{kind}:{conversation.key}:{work}",
        conversation_key=conversation.key,
        conversation_id=conversation.conversation_id,
        epoch=epoch,
        max_attempts=max_attempts,
        sequence=conversation.subject.user_id,
    )
