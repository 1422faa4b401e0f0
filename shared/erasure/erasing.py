"""Purging memories, clearing facts, withdrawing a consent, erasing a conversation, a user or an app; each leaves
counts, times and ids, and no text.

A purge cancels unfinished jobs in the same transaction, so work already in flight can no longer write, and what ended
before can no longer be replayed: an app's epoch is raised, a user's jobs are forbidden it. Drafts of answers, which may
quote what is erased, are withdrawn. Scrubbing the database's files comes after the commit and is the caller's to do.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from shared.apps.models import NO_DIGEST, AnsweredBy, App, Erasure, IdempotencyKey
from shared.apps.queries import get_app, lock_app
from shared.causes import Cause
from shared.contracts.events import EventKind
from shared.contracts.jobs import Track
from shared.conversations import extraction
from shared.conversations.answers import supersede_all
from shared.conversations.focus import show_all
from shared.conversations.models import Answer, Conversation, Message
from shared.conversations.queries import keys_of, lock_all, lock_conversation, names_of
from shared.db.counting import rows_changed
from shared.erasure import queries
from shared.events.placing import erase_of_app, erase_of_conversations
from shared.events.queries import count_events, count_webhooks
from shared.events.recording import record, record_end_of_job
from shared.facts import clearing as fact_clearing
from shared.facts import editing as fact_editing
from shared.facts import queries as fact_queries
from shared.facts.editing import RULE_UNDO_OVER
from shared.facts.models import FactClear
from shared.ids import new_id
from shared.memories import forgetting
from shared.memories import queries as memory_queries
from shared.memories.models import Memory, Origin
from shared.outbox.control import abandon_all, forbid_replays
from shared.outbox.models import OPEN
from shared.outbox.ownership import abandon
from shared.outbox.queries import jobs_of_conversation
from shared.profiles import consent
from shared.profiles.gate import agrees, write_audit
from shared.profiles.models import AuditKind
from shared.search.index import (
    left_in_index_of_app,
    left_in_index_of_conversation,
    remove_app_from_index,
    remove_conversation_from_index,
)
from shared.search.tuning import forget_tuning
from shared.sessions import queries as session_queries
from shared.sessions.sweep import forget_app, forget_semantic, left_of_semantic
from shared.subjects import Subject
from shared.summaries import queries as summaries

_MEMORY_WORK = (Track.THOUGHT,)
"""What a purge stops. Deliveries to webhooks go on: they carry what still stands when they are made."""


def purge_memories(session: Session, app_id: str, actor: str, now: datetime, user_id: str | None = None) -> Erasure:
    """Remove all memories of an app, or of one of its users, with the text of their history. Raises: NotFound."""
    app = lock_app(session, app_id)
    drafts = _withdraw_drafts(session, app, now, user_id)
    erased = _forget_memories(session, app, now, _MEMORY_WORK, user_id) | {"drafts": drafts}
    record(session, EventKind.MEMORIES_PURGED, app_id, now, removed=erased["memories"])
    left = left_of_app(session, app_id, user_id)
    return _receipt(session, app, "memories", actor, erased, left, now, user_id)


def erase_app(session: Session, app_id: str, actor: str, now: datetime) -> Erasure:
    """Erase everything an app ever held; the app itself stays, empty. Raises: NotFound."""
    app = lock_app(session, app_id)
    lock_all(session, app_id)
    # Before the jobs: whoever places events locks them first, and the lanes of the jobs after.
    told = erase_of_app(session, app_id)
    erased = _forget_memories(session, app, now, tuple(Track)) | told
    erase_of_app(session, app_id)
    erased |= fact_clearing.forget_all(session, app_id)
    fact_clearing.forget_clears(session, app_id)
    forgetting.part_from(session, Origin.app_id == app_id)
    erased |= consent.forget_all(session, app_id)
    forget_tuning(session, app_id)
    erased |= forget_app(session, app_id)
    erased |= remove_app_from_index(session, app_id)
    erased["answers"] = rows_changed(session, delete(Answer).where(Answer.app_id == app_id))
    erased["messages"] = rows_changed(session, delete(Message).where(Message.app_id == app_id))
    erased["conversations"] = rows_changed(session, delete(Conversation).where(Conversation.app_id == app_id))
    app.config = {}
    left = (
        left_of_app(session, app_id)
        | queries.rows_of_app(session, app_id)
        | fact_clearing.left_of_app(session, app_id)
        | consent.left_of_app(session, app_id)
        | session_queries.left_of_app(session, app_id)
        | left_in_index_of_app(session, app_id)
    )
    left |= {"events": count_events(session, app_id), "webhooks": count_webhooks(session, app_id)}
    return _receipt(session, app, "data", actor, erased, left, now)


def erase_user(session: Session, subject: Subject, actor: str, now: datetime) -> Erasure:
    """Erase everything an app ever held of one of its users. Raises: NotFound."""
    app_id, user_id = subject.app_id, subject.user_id
    app = lock_app(session, app_id)
    keys, mine = lock_all(session, app_id, user_id), keys_of(app_id, user_id)
    names = names_of(session, app_id, user_id)
    erased = {"events": erase_of_conversations(session, app_id, names)}
    erased["drafts"] = _withdraw_drafts(session, app, now, user_id)
    erased |= _forget_memories(session, app, now, _MEMORY_WORK, user_id)
    # The ends of the jobs that were cancelled, too.
    erased["events"] += erase_of_conversations(session, app_id, names)
    erased |= fact_clearing.forget_all(session, app_id, user_id)
    fact_clearing.forget_clears(session, app_id, user_id)
    cause = Cause(actor, "its user was erased", now)
    # From before memories belonged to users: one of several users belongs to nobody.
    mixed = memory_queries.held_by_others(session, subject, keys) | fact_queries.held_by_others(session, subject, keys)
    for key in sorted(mixed):
        _add(erased, forgetting.forget_conversation(session, app_id, key, cause))
        _add(erased, fact_clearing.forget_conversation(session, app_id, key, cause))
    forgetting.part_from(session, Origin.conversation_key.in_(mine))
    erased |= consent.forget_all(session, app_id, user_id)
    for key in keys:
        _add(erased, remove_conversation_from_index(session, app_id, key))
    erased["answers"] = rows_changed(session, delete(Answer).where(Answer.conversation_key.in_(mine)))
    erased["messages"] = rows_changed(session, delete(Message).where(Message.conversation_key.in_(mine)))
    erased["conversations"] = rows_changed(session, delete(Conversation).where(Conversation.key.in_(mine)))
    left = left_of_app(session, app_id, user_id) | fact_clearing.left_of_app(session, app_id, user_id)
    left |= consent.left_of_app(session, app_id, user_id) | queries.rows_of_app(session, app_id, user_id)
    left["events"] = count_events(session, app_id, names)
    for key in keys:
        _add(left, left_in_index_of_conversation(session, app_id, key))
    # What is kept of them holds no text; nor does it name them any more, but for the receipt.
    forgetting.part_from_user(session, subject)
    fact_clearing.part_from_user(session, subject)
    return _receipt(session, app, "user", actor, erased, left, now, user_id)


def erase_conversation(session: Session, app_id: str, conversation_id: str, actor: str, now: datetime) -> Erasure:
    """Erase a conversation and everything derived from it. Raises: NotFound."""
    app = lock_app(session, app_id)
    conversation = lock_conversation(session, app_id, conversation_id)
    drafts = _withdraw_drafts(session, app, now, conversation.user_id)
    told = erase_of_conversations(session, app_id, [conversation_id])
    unfinished = [job for job in jobs_of_conversation(session, conversation.key) if job.state in OPEN]
    abandon(session, unfinished, "its conversation was erased", now)
    cause = Cause(actor, "its conversation was erased", now)
    erased = {"events": told, "drafts": drafts}
    erased |= forgetting.forget_conversation(session, app_id, conversation.key, cause)
    erased |= fact_clearing.forget_conversation(session, app_id, conversation.key, cause)
    erased |= remove_conversation_from_index(session, app_id, conversation.key)
    erased |= summaries.forget_conversation(session, conversation.key)
    erased["idempotencyKeys"] = _forget_answers(session, app_id)
    erased["answers"] = rows_changed(session, delete(Answer).where(Answer.conversation_key == conversation.key))
    erased["messages"] = rows_changed(session, delete(Message).where(Message.conversation_key == conversation.key))
    session.delete(conversation)
    session.flush()
    left = forgetting.left_of_conversation(session, app_id, conversation.key)
    left |= fact_clearing.left_of_conversation(session, app_id, conversation.key)
    left |= left_in_index_of_conversation(session, app_id, conversation.key)
    left |= summaries.left_of_conversation(session, conversation.key)
    left |= queries.rows_of_conversations(session, app_id, [conversation.key])
    left["events"] = count_events(session, app_id, [conversation_id])
    return _receipt(session, app, "conversation", actor, erased, left, now, conversation.user_id)


def erase_memory(session: Session, memory: Memory, cause: Cause) -> Erasure:
    """Remove one memory of a locked app, the text of its history and the remembered answers of the app, for good."""
    app = get_app(session, memory.app_id)
    drafts = _withdraw_drafts(session, app, cause.at, memory.subject.named)
    erased = forgetting.forget_memory(session, memory, cause) | {"drafts": drafts}
    erased["idempotencyKeys"] = _forget_answers(session, app.app_id)
    session.flush()
    left = forgetting.left_of_memory(session, memory.memory_id)
    return _receipt(session, app, "memory", cause.actor, erased, left, cause.at, memory.subject.named)


def clear_facts(
    session: Session, app_id: str, cause: Cause, seconds: float, user_id: str | None = None
) -> tuple[FactClear, Erasure | None]:
    """Delete all facts of an app, or of one of its users, to be taken back for so many seconds.

    A clear of the same facts that is open becomes final at once. Returns the clear, and the receipt of the one before
    where that was made final. Raises: NotFound; Conflict, for a user while the app's are being cleared.
    """
    former = settle_clear(session, app_id, cause.at, user_id, at_once=True)
    return fact_clearing.clear_all(session, app_id, cause, seconds, user_id), former


def settle_clear(
    session: Session, app_id: str, now: datetime, user_id: str | None = None, at_once: bool = False
) -> Erasure | None:
    """Make the clear of the facts of an app, or of one of its users, final once its time is over.

    None when there is nothing to do. Raises: NotFound.
    """
    app = lock_app(session, app_id)
    clear = fact_queries.open_clear(session, app_id, user_id)
    if clear is None or not (at_once or clear.undo_until <= now):
        return None
    lock_all(session, app_id, user_id)
    drafts = _withdraw_drafts(session, app, now, user_id)
    settled = fact_clearing.settled_with(session, clear)
    erased = fact_clearing.make_final(session, clear, now) | {"drafts": drafts}
    erased["idempotencyKeys"] = _forget_answers(session, app_id)
    left = fact_clearing.left_of_app(session, app_id, user_id)
    left["idempotencyKeys"] = queries.count_idempotency_keys(session, app_id)
    receipt = _receipt(session, app, "facts", clear.actor, erased, left, now, user_id)
    for one in settled:
        one.erasure_id = receipt.erasure_id
    return receipt


def finish_fact_deletes(session: Session, app_id: str, now: datetime) -> Erasure | None:
    """Make final the deletions of single facts that can no longer be taken back; None when there is nothing to do.

    Raises: NotFound.
    """
    app = lock_app(session, app_id)
    due = fact_queries.due_deletes(session, app_id, now)
    if not due:
        return None
    lock_all(session, app_id)
    drafts = _withdraw_drafts(session, app, now)
    erased, gone = fact_editing.finish(session, due)
    erased |= {"drafts": drafts, "idempotencyKeys": _forget_answers(session, app_id)}
    left = fact_clearing.left_of_facts(session, gone)
    return _receipt(session, app, "fact", RULE_UNDO_OVER, erased, left, now)


def withdraw_consent(session: Session, app_id: str, user_id: str, actor: str, now: datetime) -> Erasure | None:
    """Take a user's consent back and erase their profile; None where they had not given it. Raises: NotFound."""
    app = lock_app(session, app_id)
    if not agrees(session, app_id, user_id):
        return None
    consent.withdraw(session, app_id, user_id, actor, now)
    return _erase_profile(session, app, user_id, actor, now)


def erase_profile(session: Session, app_id: str, user_id: str, actor: str, now: datetime) -> Erasure:
    """Erase a user's profile; the consent stays as it is. Raises: NotFound."""
    app = lock_app(session, app_id)
    write_audit(session, app_id, user_id, AuditKind.ERASED, actor, now)
    return _erase_profile(session, app, user_id, actor, now)


def left_of_app(session: Session, app_id: str, user_id: str | None = None) -> dict[str, int]:
    """Count, store by store, what is left of the memories of an app, or of one of its users, after a purge."""
    session.flush()
    mine = None if user_id is None else keys_of(app_id, user_id)
    left = forgetting.left_of_app(session, app_id, user_id) | summaries.left_of_app(session, app_id, mine)
    if user_id is None:
        left |= left_of_semantic(session, app_id)
    left["idempotencyKeys"] = queries.count_idempotency_keys(session, app_id)
    left["unfinishedJobs"] = queries.count_unfinished_jobs(session, app_id, _MEMORY_WORK, mine)
    return left


def _forget_memories(
    session: Session, app: App, now: datetime, work: Collection[Track], user_id: str | None = None
) -> dict[str, int]:
    """Forget what an app, or one of its users, is remembered by, and stop unfinished work on it on some tracks."""
    mine = None if user_id is None else keys_of(app.app_id, user_id)
    extraction.put_off(session, app.app_id, now, user_id)
    stopped = abandon_all(session, app.app_id, f"the {_whose(user_id)} memories were purged", now, work, mine)
    for job in stopped:
        record_end_of_job(session, app.app_id, job.job_id, job.kind, job.state, now, job.conversation_id)
    erased = {"unfinishedJobs": len(stopped)}
    erased |= forgetting.forget_all(session, app.app_id, user_id)
    erased |= summaries.forget_all(session, app.app_id, mine)
    if mine is None:
        app.purge_epoch += 1
        erased |= forget_semantic(session, app.app_id)
    else:
        forbid_replays(session, mine)
    erased["idempotencyKeys"] = _forget_answers(session, app.app_id)
    return erased


def _whose(user_id: str | None) -> str:
    return "app's" if user_id is None else "user's"


def _add(counts: dict[str, int], more: dict[str, int]) -> None:
    for store, number in more.items():
        counts[store] = counts.get(store, 0) + number


def _erase_profile(session: Session, app: App, user_id: str, actor: str, now: datetime) -> Erasure:
    """Erase a profile, and what may quote it: drafts of answers, and remembered answers of the interface."""
    drafts = _withdraw_drafts(session, app, now, user_id)
    erased = consent.forget_profile(session, app.app_id, user_id) | {"drafts": drafts}
    erased["idempotencyKeys"] = _forget_answers(session, app.app_id)
    left = consent.left_of_profile(session, app.app_id, user_id)
    left["idempotencyKeys"] = queries.count_idempotency_keys(session, app.app_id)
    return _receipt(session, app, "profile", actor, erased, left, now, user_id)


def _withdraw_drafts(session: Session, app: App, now: datetime, user_id: str | None = None) -> int:
    """Withdraw what waits for approval in a locked app, and have the loop think about it again.

    Only the answers to a user, where one is named: what is erased is known to nobody else. What names nobody may be.
    """
    withdrawn = supersede_all(session, app.app_id, now, user_id or None)
    if withdrawn and app.uninstalled_at is None and app.answered_by == AnsweredBy.LOOP:
        show_all(session, app.app_id)
    return withdrawn


def _forget_answers(session: Session, app_id: str) -> int:
    """Empty the remembered answers of an app; the keys stay, so that a late retry does not bring back what is gone."""
    return rows_changed(
        session,
        update(IdempotencyKey)
        .where(IdempotencyKey.app_id == app_id)
        .values(answer={}, request_digest=NO_DIGEST, app_id=None),
    )


def _receipt(
    session: Session,
    app: App,
    scope: str,
    actor: str,
    erased: dict[str, int],
    left: dict[str, int],
    now: datetime,
    user_id: str | None = None,
) -> Erasure:
    receipt = Erasure(
        erasure_id=new_id("ers", now),
        app_id=app.app_id,
        scope=scope,
        user_id=user_id or None,
        actor=actor,
        epoch=app.purge_epoch,
        erased=erased,
        left=left,
        at=now,
    )
    session.add(receipt)
    session.flush()
    return receipt
