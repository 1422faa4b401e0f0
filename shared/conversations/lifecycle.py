"""A conversation is started, spoken in, perhaps snoozed, and ended; ending it asks for its memory in the same
transaction, so that neither happens without the other.

A user's message waits for an answer until an assistant's follows. Which of those that wait the loop may think about is
worked out by ``answers.refresh``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from shared.base.errors import Conflict, Invalid
from shared.base.ids import new_id
from shared.base.setting_groups import FactSettings
from shared.base.settings import Tuning
from shared.contracts.jobs import JobKind
from shared.contracts.values import EventKind
from shared.conversations import answers, extraction, queries, summarising
from shared.conversations.answers import refresh, refresh_all
from shared.conversations.chat_message import Sent, chars_of, is_only_a_call, owners_of, results_of
from shared.conversations.days import offset_of
from shared.conversations.extraction import FACTS_OFF
from shared.conversations.models import Conversation, MemoryMode, Message
from shared.db.inserting import insert_all
from shared.events.recording import record
from shared.jobs.dispatch import enqueue
from shared.jobs.models import Job
from shared.jobs.queries import jobs_of_conversation
from shared.search.index import index_messages
from shared.search.tuning import in_force

SNOOZE_MINUTES = (1, 1440)
SILENT_MINUTES = (1, 10_080)
SILENCE = "nothing was said for {} minutes"
"""Why a conversation ended that was not told to."""
WAKE_LIMIT = 500
CALLS_LOOKED_AT = 50
"""Messages of the assistant among which the call of a tool's result is looked for."""
_COLUMNS = tuple(column.name for column in Message.__table__.columns if not column.primary_key)


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@dataclass(frozen=True)
class NewConversation:
    """What an app opens."""

    conversation_id: str | None = None
    user_id: str | None = None
    energy_budget_micro: int | None = None
    details: dict[str, Any] = field(default_factory=dict)
    end_after_minutes: int | None = None
    """Of silence."""
    time_zone: str | None = None
    memory: MemoryMode = MemoryMode.ON


@dataclass(frozen=True)
class NewMessage:
    """What was said. The same ``message_id`` twice is one message."""

    role: Role
    content: str
    message_id: str | None = None
    name: str | None = None
    created_at: datetime | None = None
    """With the offset it was written with, which is kept."""
    tokens: int | None = None
    """Its length as the app's provider counted it."""
    payload: Sent | None = None
    """The message as it was sent, where role, content and name do not say all of it."""


def start(
    session: Session, app_id: str, new: NewConversation, now: datetime, *, tells_whose: bool = True
) -> Conversation:
    """Open a conversation; the caller holds off erasures. Raises: Conflict when the app already has one of that id.

    ``tells_whose``: whether the error may say that it is another user's.
    """
    conversation_id = new.conversation_id or new_id("conv", now)
    known = queries.find_conversation(session, app_id, conversation_id)
    if known is not None:
        others = " of another user" if tells_whose and known.user_id != new.user_id else ""
        what = "choose another id" if others or not tells_whose else "add messages to it or choose another id"
        raise Conflict(
            f"App {app_id} already has a conversation {conversation_id}{others}; {what}.", code="conversation_exists"
        )
    named = vars(new) | {"conversation_id": conversation_id}
    conversation = Conversation(**named, app_id=app_id, message_count=0, created_at=now, updated_at=now)
    _reset_idle_timeout(conversation, now)
    session.add(conversation)
    session.flush()
    return conversation


def _reset_idle_timeout(conversation: Conversation, silent_since: datetime) -> None:
    minutes = conversation.end_after_minutes
    conversation.silent_until = None if minutes is None else silent_since + timedelta(minutes=minutes)


def append_messages(
    session: Session,
    conversation: Conversation,
    new_messages: Sequence[NewMessage],
    now: datetime,
    *,
    by_loop: bool = False,
    fact_settings: FactSettings = FACTS_OFF,
    tuning: Tuning | None = None,
) -> list[Message]:
    """Add messages in order to a locked conversation; return the stored ones, one for each given.

    ``by_loop``: its app lets the loop answer. ``fact_settings``: how often facts are extracted. ``tuning``: how often
    it is summarised, unless that was changed; without it, never.

    Raises: Conflict when the conversation has ended.
    """
    if conversation.ended_at is not None:
        raise Conflict(
            f"Conversation {conversation.conversation_id} has ended; open a new one to go on.",
            code="conversation_ended",
        )
    named = [message.message_id for message in new_messages if message.message_id is not None]
    known = queries.known_messages(session, conversation.key, named)
    before = conversation.message_count
    stored = [_get_or_build_message(conversation, message, known, now) for message in new_messages]
    conversation.updated_at = now
    conversation.snoozed_until = None
    _reset_idle_timeout(conversation, now)
    # What was only sent again wakes nobody and withdraws no answer.
    if conversation.message_count > before:
        conversation.woken_at = conversation.think_after = None
        conversation.think_attempts = 0
        answers.supersede(session, conversation, now)
        extraction.plan(conversation, fact_settings, now)
    # By position, because one request may bring the same message twice.
    new = list({one.position: one for one in stored if one.position >= before}.values())
    turns = [one for one in new if one.role == Role.ASSISTANT and one.content]
    summarising.count(session, conversation, len(turns), tuning, now)
    # Before they are inserted, so that it is written with them.
    _join_calls(session, conversation, new)
    insert_messages(session, new)
    index_messages(session, conversation.app_id, new)
    refresh(session, conversation, by_loop, now, is_new=bool(new))
    return stored


def _get_or_build_message(
    conversation: Conversation, new: NewMessage, known: dict[str, Message], now: datetime
) -> Message:
    """Return a message at its position, yet to be inserted, or the one the conversation has already."""
    message_id = new.message_id or new_id("msg", now)
    if message_id in known:
        return known[message_id]
    message = Message(
        conversation_key=conversation.key,
        app_id=conversation.app_id,
        position=conversation.message_count,
        message_id=message_id,
        role=new.role,
        name=new.name,
        content=new.content,
        payload=new.payload,
        payload_chars=None if new.payload is None else chars_of(new.payload),
        tokens=new.tokens,
        created_at=(new.created_at or now).astimezone(UTC),
        utc_offset_minutes=None if new.created_at is None else offset_of(new.created_at),
    )
    conversation.message_count += 1
    # When it came here, not the time its sender gave it (decision 11).
    if new.role is Role.USER and conversation.unanswered_since is None:
        conversation.unanswered_since = now
    elif new.role is Role.ASSISTANT and not is_only_a_call(new.content, new.payload):
        conversation.unanswered_since = None
    known[message_id] = message
    return message


def insert_messages(session: Session, messages: Sequence[Message]) -> None:
    """Insert messages that belong to no session, and give them their keys."""
    # By the table: mapping one new object costs more than its statement.
    rows = [{name: getattr(one, name) for name in _COLUMNS} for one in messages]
    for one, key in zip(messages, insert_all(session, Message, rows), strict=True):
        one.key = key


def _join_calls(session: Session, conversation: Conversation, new: Sequence[Message]) -> None:
    """Note of each new result of a tool where the call stands that it belongs to."""
    if not any(one.role == Role.TOOL or results_of(one.payload) for one in new):
        return
    earlier = queries.latest_of_assistant(session, conversation.key, new[0].position, CALLS_LOOKED_AT)
    messages = [*earlier, *new]
    for one, owner in zip(messages, owners_of(messages), strict=True):
        call = messages[owner]
        position = call.position if call.call_position is None else call.call_position
        if one is call or one.call_position == position:
            continue
        one.call_position = position
        # Several calls that are answered in one message are one group: results stored before follow their call into it.
        if one.position < new[0].position:
            joined = (Message.conversation_key == conversation.key, Message.call_position == one.position)
            session.execute(update(Message).where(*joined).values(call_position=position))


def end(
    session: Session,
    conversation: Conversation,
    epoch: int,
    reason: str | None,
    now: datetime,
    max_attempts: int = 5,
    fact_settings: FactSettings = FACTS_OFF,
) -> list[Job]:
    """End a locked conversation and ask under its app's purge epoch for its memory, and unless off, for its facts.

    Again, return the same jobs. Where nothing is remembered of it, nothing is asked for.
    """
    if conversation.ended_at is None:
        conversation.ended_at = conversation.updated_at = now
        conversation.end_reason = reason
        conversation.snoozed_until = conversation.woken_at = conversation.think_after = None
        conversation.silent_until = None
        conversation.unanswered_since = conversation.focus_since = None
        answers.supersede(session, conversation, now)
        if conversation.is_remembered:
            job = extraction.job_about(conversation, JobKind.CREATE_MEMORY, str(epoch), epoch, max_attempts)
            enqueue(session, job, now)
        conversation.facts_due_at = conversation.summary_due_at = None
        if fact_settings.facts:
            # Behind the end: a conversation that has ended is read for a single message.
            extraction.enqueue_extraction(session, conversation, epoch, now, max_attempts)
        _record(session, EventKind.CONVERSATION_ENDED, conversation, now)
    return list(jobs_of_conversation(session, conversation.key))


def set_memory(
    session: Session,
    conversation: Conversation,
    mode: MemoryMode,
    now: datetime,
    fact_settings: FactSettings = FACTS_OFF,
    tuning: Tuning | None = None,
) -> None:
    """Change what a locked, open conversation has to do with memory; jobs under way find out when they write.

    What was drawn from it stays. Switched on, it is read from where it was read last.
    """
    conversation.memory = mode
    extraction.plan(conversation, fact_settings, now)
    frequency = 0 if tuning is None else in_force(session, tuning, conversation.app_id).summary_frequency
    summarising.plan(conversation, frequency, now)


def snooze(session: Session, conversation: Conversation, minutes: int, now: datetime) -> Conversation:
    """Hide a locked, open conversation for 1..1440 minutes. Raises: Conflict, Invalid."""
    if conversation.ended_at is not None:
        raise Conflict(f"Conversation {conversation.conversation_id} has ended and cannot be snoozed.")
    least, most = SNOOZE_MINUTES
    if not least <= minutes <= most:
        raise Invalid(f"minutes must be {least}..{most}.")
    conversation.snoozed_until = now + timedelta(minutes=minutes)
    conversation.focus_since = None
    # Nobody is expected to say anything before.
    _reset_idle_timeout(conversation, conversation.snoozed_until)
    _record(session, EventKind.CONVERSATION_SNOOZED, conversation, now, minutes=minutes)
    return conversation


def wake(session: Session, now: datetime) -> int:
    """Bring back conversations whose snooze has ended, or that the loop left alone until now; return how many."""
    due = queries.lock_hidden_until(session, now, WAKE_LIMIT)
    for conversation in due:
        if conversation.snoozed_until is not None and conversation.snoozed_until <= now:
            conversation.snoozed_until, conversation.woken_at = None, now
            _record(session, EventKind.CONVERSATION_WOKEN, conversation, now)
        after = conversation.think_after
        if after is not None and not now < after <= now + queries.LONGEST_PUT_OFF:
            conversation.think_after = None
    session.flush()
    refresh_all(session, due, now)
    return len(due)


def _record(session: Session, kind: EventKind, conversation: Conversation, now: datetime, **details: int) -> None:
    record(session, kind, conversation.app_id, now, conversation_id=conversation.conversation_id, **details)
