"""When a conversation is summarised: after so many messages of the assistant, and whenever somebody asks for it.

A conversation counts the assistant's messages itself, in the transaction in which they are said; the loop asks for the
job once there are enough, and only one job of a conversation is open at a time. What has been summarised is the job's
to move.
"""

from datetime import datetime

from sqlalchemy.orm import Session

from shared.base.ids import new_id
from shared.base.settings import Tuning
from shared.contracts.jobs import JobKind
from shared.conversations import queries
from shared.conversations.extraction import job_about
from shared.conversations.models import Conversation
from shared.jobs.dispatch import enqueue
from shared.jobs.models import Job
from shared.jobs.queries import get_open
from shared.search.tuning import in_force


def count(session: Session, conversation: Conversation, turns: int, defaults: Tuning | None, now: datetime) -> None:
    """Count messages of the assistant that were just said; without ``defaults`` they make nothing due."""
    if not turns:
        return
    conversation.turns_since_summary += turns
    if defaults is not None:
        plan(conversation, in_force(session, defaults, conversation.app_id).summary_frequency, now)


def plan(conversation: Conversation, frequency: int, now: datetime) -> None:
    """Say whether a summary of an open conversation is due at a frequency; 0 is never."""
    if is_due(conversation, frequency):
        conversation.summary_due_at = conversation.summary_due_at or now
    else:
        conversation.summary_due_at = None


def is_due(conversation: Conversation, frequency: int) -> bool:
    """Whether the assistant has said enough in an open conversation since it was last summarised."""
    if conversation.ended_at is not None or not conversation.is_remembered:
        return False
    return bool(frequency) and conversation.turns_since_summary >= frequency


def enqueue_summary(
    session: Session, conversation: Conversation, epoch: int, now: datetime, max_attempts: int = 5
) -> Job | None:
    """Ask for a summary of what was said since the last; None where one is asked for, or nobody said anything."""
    conversation.summary_due_at = None
    if not conversation.is_remembered or get_open(session, conversation.key, JobKind.SUMMARISE) is not None:
        return None
    if not queries.has_words_from(session, conversation.key, conversation.summarised):
        return None
    # Not by what is to be read: where a job ended as a dead letter, that may be asked for once more.
    job = job_about(conversation, JobKind.SUMMARISE, new_id("ask", now), epoch, max_attempts)
    return enqueue(session, job, now)


def move_on(session: Session, conversation: Conversation, seen: int, frequency: int, now: datetime) -> None:
    """Note how far a locked conversation has been summarised, and whether the next summary is due already.

    Call it in the transaction that writes the summary.
    """
    conversation.summarised = seen
    # Counted in the messages: the assistant may have said more while the summary was made.
    conversation.turns_since_summary = queries.count_turns_from(session, conversation.key, seen)
    conversation.summary_due_at = None
    plan(conversation, frequency, now)
