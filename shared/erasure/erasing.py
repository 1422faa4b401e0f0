"""Purging memories, clearing facts, withdrawing a consent, erasing a conversation, a user or an app; each leaves
counts, times and ids, and no text.

What is emptied, and how, stands in ``stores``. Work already in flight can no longer write, and what ended before can no
longer be replayed. Drafts of answers, which may quote what is erased, are withdrawn. Scrubbing the database's files
comes after the commit and is the caller's to do.
"""

from datetime import datetime

from sqlalchemy.orm import Session

from shared.apps.models import AnsweredBy, App, Erasure
from shared.apps.queries import get_app, lock_app, lock_for_erasure
from shared.base.audit import Cause
from shared.base.ids import new_id
from shared.base.subjects import Subject
from shared.contracts.values import EventKind
from shared.conversations.answers import show_all, supersede_all
from shared.conversations.queries import lock_all, lock_conversation, names_of
from shared.erasure.stores import Counts, ErasedPart, Scope, count_left, forget
from shared.events.recording import record
from shared.facts import editing as fact_editing
from shared.facts import forgetting as fact_forgetting
from shared.facts import queries as fact_queries
from shared.facts.editing import RULE_UNDO_OVER
from shared.facts.models import FactClear
from shared.memories import forgetting
from shared.memories.models import Memory
from shared.profiles import consent
from shared.profiles.gate import agrees, write_audit
from shared.profiles.models import AuditKind


def purge_memories(session: Session, app_id: str, actor: str, now: datetime, user_id: str | None = None) -> Erasure:
    """Remove all memories of an app, or of one of its users, with the text of their history. Raises: NotFound."""
    cause = Cause(actor, "the memories were purged", now)
    part = ErasedPart(session, lock_app(session, app_id), Scope.MEMORIES, cause, user_id)
    erased = _withdraw_drafts(part) | forget(part)
    record(session, EventKind.MEMORIES_PURGED, app_id, now, removed=erased["memories"])
    return _receipt(part, erased, count_left(part))


def erase_app(session: Session, app_id: str, actor: str, now: datetime) -> Erasure:
    """Erase everything an app ever held; the app itself stays, empty. Raises: NotFound."""
    part = ErasedPart(session, lock_for_erasure(session, app_id), Scope.DATA, Cause(actor, "its app was erased", now))
    # Who speaks in a conversation holds it: once all are ours, nothing more is said in them (decision 7).
    lock_all(session, app_id)
    erased = forget(part)
    part.app.config = {}
    return _receipt(part, erased, count_left(part))


def erase_user(session: Session, subject: Subject, actor: str, now: datetime) -> Erasure:
    """Erase everything an app ever held of one of its users. Raises: NotFound."""
    app_id, user_id = subject.app_id, subject.user_id
    app, cause = lock_for_erasure(session, app_id, user_id), Cause(actor, "its user was erased", now)
    keys = lock_all(session, app_id, user_id)
    part = ErasedPart(session, app, Scope.USER, cause, user_id, keys, names_of(session, app_id, user_id))
    erased = _withdraw_drafts(part) | forget(part)
    left = count_left(part)
    # What is kept of them holds no text; nor does it name them any more, but for the receipt.
    # Only after the count, which finds what is left by their name.
    forgetting.detach_user(session, subject)
    fact_forgetting.detach_user(session, subject)
    return _receipt(part, erased, left)


def erase_conversation(session: Session, app_id: str, conversation_id: str, actor: str, now: datetime) -> Erasure:
    """Erase a conversation and everything derived from it. Raises: NotFound."""
    app, cause = lock_app(session, app_id), Cause(actor, "its conversation was erased", now)
    conversation = lock_conversation(session, app_id, conversation_id)
    part = ErasedPart(session, app, Scope.CONVERSATION, cause, conversation.user_id, conversation=conversation)
    part.keys, part.names = [conversation.key], [conversation_id]
    erased = _withdraw_drafts(part) | forget(part)
    return _receipt(part, erased, count_left(part))


def erase_memory(session: Session, memory: Memory, cause: Cause) -> Erasure:
    """Remove one memory of a locked app, the text of its history and the remembered answers of the app, for good."""
    part = ErasedPart(session, get_app(session, memory.app_id), Scope.MEMORY, cause, memory.subject.named)
    erased = _withdraw_drafts(part) | forgetting.forget_memory(session, memory, cause) | forget(part)
    left = count_left(part) | forgetting.left_of_memory(session, memory.memory_id)
    return _receipt(part, erased, left)


def clear_facts(
    session: Session, app_id: str, cause: Cause, seconds: float, user_id: str | None = None
) -> tuple[FactClear, Erasure | None]:
    """Delete all facts of an app, or of one of its users, to be taken back for so many seconds.

    A clear of the same facts that is open becomes final at once. Returns the clear, and the receipt of the one before
    where that was made final. Raises: NotFound; Conflict, for a user while the app's are being cleared.
    """
    former = settle_clear(session, app_id, cause.at, user_id, at_once=True)
    return fact_editing.clear_all(session, app_id, cause, seconds, user_id), former


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
    part = ErasedPart(session, app, Scope.FACTS, Cause(clear.actor, RULE_UNDO_OVER, now), user_id)
    drafts, settled = _withdraw_drafts(part), fact_forgetting.settled_with(session, clear)
    erased = fact_forgetting.make_final(session, clear, now) | drafts | forget(part)
    receipt = _receipt(part, erased, count_left(part) | fact_forgetting.left_of_app(session, app_id, user_id))
    for one in settled:
        one.erasure_id = receipt.erasure_id
    return receipt


def finish_fact_deletes(session: Session, app_id: str, now: datetime) -> Erasure | None:
    """Make final the deletions of single facts that can no longer be taken back; None when there is nothing to do.

    Those of one subject, whose the receipt says they were: call it until nothing is left. Raises: NotFound.
    """
    app = lock_app(session, app_id)
    due = fact_queries.due_deletes(session, app_id, now)
    if not due:
        return None
    due = [fact for fact in due if fact.user_id == due[0].user_id]
    lock_all(session, app_id)
    part = ErasedPart(session, app, Scope.FACT, Cause(RULE_UNDO_OVER, RULE_UNDO_OVER, now), due[0].user_id)
    drafts = _withdraw_drafts(part)
    erased, gone = fact_editing.finish(session, due)
    erased |= drafts | forget(part)
    return _receipt(part, erased, count_left(part) | fact_queries.count_left(session, gone))


def withdraw_consent(session: Session, app_id: str, user_id: str, actor: str, now: datetime) -> Erasure | None:
    """Take a user's consent back and erase their profile; None where they had not given it. Raises: NotFound."""
    app = lock_app(session, app_id)
    if not agrees(session, app_id, user_id):
        return None
    consent.withdraw(session, app_id, user_id, actor, now)
    return _erase_profile(session, app, user_id, Cause(actor, "consent was withdrawn", now))


def erase_profile(session: Session, app_id: str, user_id: str, actor: str, now: datetime) -> Erasure:
    """Erase a user's profile; the consent stays as it is. Raises: NotFound."""
    app = lock_app(session, app_id)
    write_audit(session, app_id, user_id, AuditKind.ERASED, actor, now)
    return _erase_profile(session, app, user_id, Cause(actor, "the profile was erased", now))


def _erase_profile(session: Session, app: App, user_id: str, cause: Cause) -> Erasure:
    """Erase a profile, and what may quote it: drafts of answers, and remembered answers of the interface."""
    part = ErasedPart(session, app, Scope.PROFILE, cause, user_id)
    erased = _withdraw_drafts(part) | forget(part)
    return _receipt(part, erased, count_left(part))


def _withdraw_drafts(part: ErasedPart) -> Counts:
    """Withdraw what waits for approval in a locked app, and have the loop think about it again.

    Only the answers to a user, where one is named: what is erased is known to nobody else. What names nobody may be.
    """
    app = part.app
    withdrawn = supersede_all(part.session, app.app_id, part.cause.at, part.user_id or None)
    if withdrawn and app.uninstalled_at is None and app.answered_by == AnsweredBy.LOOP:
        show_all(part.session, app.app_id)
    return {"drafts": withdrawn}


def _receipt(part: ErasedPart, erased: Counts, left: Counts) -> Erasure:
    receipt = Erasure(
        erasure_id=new_id("ers", part.cause.at),
        app_id=part.app_id,
        scope=part.scope,
        user_id=part.user_id or None,
        actor=part.cause.actor,
        epoch=part.app.purge_epoch,
        erased=erased,
        left=left,
        at=part.cause.at,
    )
    part.session.add(receipt)
    part.session.flush()
    return receipt
