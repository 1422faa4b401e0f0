"""Every store of words that apps and their users gave, in one table: how it forgets, and how it counts what is left.

Stores are gone through from the first to the last. A table with a column for text belongs to the store that empties it,
or to ``HOLDS_NO_WORDS`` with the reason; a test fails until it does.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Protocol

from sqlalchemy import ColumnElement, Select, delete, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from shared.apps.models import NO_DIGEST, App, IdempotencyKey, Token, UserSettings
from shared.apps.queries import list_user_settings
from shared.base.audit import Cause
from shared.base.subjects import Subject
from shared.contracts.jobs import WorkClass
from shared.conversations import extraction
from shared.conversations.models import Answer, Conversation, Message
from shared.conversations.queries import keys_of
from shared.db.queries import rows_changed
from shared.erasure import queries
from shared.events.queries import count_events, count_webhooks
from shared.events.recording import erase_of_app, erase_of_conversations, record_end_of_job
from shared.facts import forgetting as fact_forgetting
from shared.facts import queries as fact_queries
from shared.jobs.control import abandon_all, detach_user, forbid_replays
from shared.jobs.queries import lock_open_of_app
from shared.memories import forgetting
from shared.memories import queries as memory_queries
from shared.memories.models import Origin
from shared.profiles import consent
from shared.search import index
from shared.search.tuning import forget_tuning
from shared.sessions import queries as session_queries
from shared.sessions import sweep
from shared.summaries import queries as summaries

Counts = dict[str, int]
_Spoken = Answer | Message | Conversation
_Key = InstrumentedAttribute[int] | InstrumentedAttribute[int | None]


class Scope(StrEnum):
    """What a receipt is about."""

    DATA = "data"
    """Everything of an app."""
    USER = "user"
    CONVERSATION = "conversation"
    MEMORIES = "memories"
    """What an app, or one of its users, is remembered by: a purge."""
    MEMORY = "memory"
    FACTS = "facts"
    FACT = "fact"
    PROFILE = "profile"


@dataclass
class ErasedPart:
    """What of a locked app is erased: all of it, what is of one user, or one conversation."""

    session: Session
    app: App
    scope: Scope
    cause: Cause
    user_id: str | None = None
    """None: of all users."""
    keys: Sequence[int] | None = None
    """Of the conversations, before they are gone; None where the scope does not reach them, or reaches all."""
    names: Sequence[str] | None = None
    """The app's own ids of these conversations."""
    conversation: Conversation | None = None
    answers: Sequence[int] = ()
    """Remembered answers of the app, before they are emptied. Others are added meanwhile, by whoever speaks in
    conversations that are not part of it."""

    @property
    def app_id(self) -> str:
        return self.app.app_id

    @property
    def conversations(self) -> Select[int] | None:
        """Selects the keys of its conversations while they are there; None where it is all of the app's."""
        if self.conversation is not None:
            return keys_of(self.app_id).where(Conversation.key == self.conversation.key)
        return None if self.user_id is None else keys_of(self.app_id, self.user_id)

    @cached_property
    def held_by_others(self) -> list[int]:
        """Conversations of the user whose words memories or facts of others hold."""
        # From before memories belonged to users: one of several users belongs to nobody. Looked up once: forgetting
        # memories takes away what says so.
        if self.user_id is None or self.keys is None:
            return []
        session, subject = self.session, Subject(self.app_id, self.user_id)
        with_memories = memory_queries.held_by_others(session, subject, self.keys)
        return sorted(with_memories | fact_queries.held_by_others(session, subject, self.keys))


@dataclass(frozen=True)
class Store:
    """Some tables that are forgotten together; ``forget`` and ``count_left`` name counts as receipts do."""

    tables: Collection[str]
    scopes: Collection[Scope]
    forget: Callable[[ErasedPart], Counts]
    count_left: Callable[[ErasedPart], Counts]


def forget(part: ErasedPart) -> Counts:
    """Empty every store that the scope reaches; return how much of what went."""
    return _sum(store.forget(part) for store in STORES if part.scope in store.scopes)


def count_left(part: ErasedPart) -> Counts:
    """Count, store by store, what is left; looks at the tables and not at what went."""
    part.session.flush()
    return _sum(store.count_left(part) for store in STORES if part.scope in store.scopes)


def _sum(counts: Iterable[Counts]) -> Counts:
    total: Counts = {}
    for one in counts:
        for name, number in one.items():
            total[name] = total.get(name, 0) + number
    return total


def _forget_events(part: ErasedPart) -> Counts:
    # Whoever ends or defers a job holds it, and has recorded that: once those that are open are ours, no more such
    # events are on their way. Their tenant queues come after: whoever places events locks those after the events.
    lock_open_of_app(part.session, part.app_id, tuple(WorkClass), part.conversations)
    if part.names is None:
        return erase_of_app(part.session, part.app_id)
    return {"events": erase_of_conversations(part.session, part.app_id, part.names)}


def _count_events(part: ErasedPart) -> Counts:
    left = {"events": count_events(part.session, part.app_id, part.names)}
    return left if part.names is not None else left | {"webhooks": count_webhooks(part.session, part.app_id)}


MEMORY_WORK = (WorkClass.THOUGHT,)
"""What a purge stops. Deliveries to webhooks go on: they carry what still stands when they are made."""


def _stop_jobs(part: ErasedPart) -> Counts:
    """Cancel unfinished jobs, so that work in flight writes nothing, and let no ended one be replayed."""
    session, app, now = part.session, part.app, part.cause.at
    if part.conversation is not None:
        abandon_all(session, app.app_id, "its conversation was erased", now, conversations=part.conversations)
        detach_user(session, app.app_id, part.conversations)
        return {}
    # Before they are cancelled: which conversations wait is told by their jobs.
    extraction.postpone(session, app.app_id, now, part.user_id)
    work_classes = tuple(WorkClass) if part.scope is Scope.DATA else MEMORY_WORK
    reason = f"the {'app' if part.user_id is None else 'user'}'s memories were purged"
    stopped = abandon_all(session, app.app_id, reason, now, work_classes, part.conversations)
    # Of one user, the epoch stays: raised, it would throw away the work of all others (decision 19).
    if part.conversations is None:
        app.purge_epoch += 1
    else:
        forbid_replays(session, part.conversations)
    # A purge alone tells of it: an erasure takes the events along.
    if part.scope is Scope.MEMORIES:
        for job in stopped:
            record_end_of_job(session, app.app_id, job.job_id, job.kind, job.state, now, job.conversation_id)
    else:
        detach_user(session, app.app_id, part.conversations)
    return {"unfinishedJobs": len(stopped)}


def _count_jobs(part: ErasedPart) -> Counts:
    if part.conversation is not None:
        return {}
    return {"unfinishedJobs": queries.count_unfinished_jobs(part.session, part.app_id, MEMORY_WORK, part.conversations)}


class _Drawn(Protocol):
    """A package that keeps what was drawn from conversations, of users, and forgets it by either."""

    def forget_all(self, session: Session, app_id: str, user_id: str | None = ..., /) -> Counts: ...
    def forget_conversation(self, session: Session, app_id: str, conversation_key: int, cause: Cause, /) -> Counts: ...
    def left_of_app(self, session: Session, app_id: str, user_id: str | None = ..., /) -> Counts: ...
    def left_of_conversation(self, session: Session, app_id: str, conversation_key: int, /) -> Counts: ...


def _drawn_store(tables: Collection[str], scopes: Collection[Scope], package: _Drawn) -> Store:
    def forget_drawn(part: ErasedPart) -> Counts:
        session, app_id = part.session, part.app_id
        if part.conversation is not None:
            return package.forget_conversation(session, app_id, part.conversation.key, part.cause)
        mine = package.forget_all(session, app_id, part.user_id)
        mixed = (package.forget_conversation(session, app_id, key, part.cause) for key in part.held_by_others)
        return _sum([mine, *mixed])

    def count_drawn(part: ErasedPart) -> Counts:
        if part.conversation is not None:
            return package.left_of_conversation(part.session, part.app_id, part.conversation.key)
        return package.left_of_app(part.session, part.app_id, part.user_id)

    return Store(tables, scopes, forget_drawn, count_drawn)


def _of_conversations(
    part: ErasedPart, whole: Callable[[Session, str], Counts], each: Callable[[Session, str, int], Counts]
) -> Counts:
    if part.keys is None:
        return whole(part.session, part.app_id)
    return _sum(each(part.session, part.app_id, key) for key in part.keys)


def _forget_answers(part: ErasedPart) -> Counts:
    """Empty the remembered answers of an app; the keys stay, so that a late retry does not bring back what is gone."""
    part.answers = queries.remembered_answers(part.session, part.app_id)
    # All of the app's: nobody can tell whose words an answer holds (decision 19).
    mine = update(IdempotencyKey).where(IdempotencyKey.app_id == part.app_id)
    emptied = mine.values(answer={}, request_digest=NO_DIGEST, app_id=None)
    return {"idempotencyKeys": rows_changed(part.session, emptied)}


def _forget_profiles(part: ErasedPart) -> Counts:
    if part.scope is Scope.PROFILE and part.user_id is not None:
        return consent.forget_profile(part.session, part.app_id, part.user_id)
    return consent.forget_all(part.session, part.app_id, part.user_id)


def _count_profiles(part: ErasedPart) -> Counts:
    if part.scope is Scope.PROFILE and part.user_id is not None:
        return consent.left_of_profile(part.session, part.app_id, part.user_id)
    return consent.left_of_app(part.session, part.app_id, part.user_id)


def _forget_user_settings(part: ErasedPart) -> Counts:
    mine = delete(UserSettings).where(UserSettings.app_id == part.app_id)
    mine = mine if part.user_id is None else mine.where(UserSettings.user_id == part.user_id)
    return {"userSettings": rows_changed(part.session, mine)}


def _forget_tokens(part: ErasedPart) -> Counts:
    """Take back the tokens that are users' own; whoever comes with one may do nothing any more."""
    whose = Token.user_id.is_not(None) if part.user_id is None else Token.user_id == part.user_id
    return {"tokens": rows_changed(part.session, delete(Token).where(Token.app_id == part.app_id, whose))}


def _forget_conversations(part: ErasedPart) -> Counts:
    # What is kept of a memory that is gone names no conversation any more.
    mine = _lies_in(part, Origin, Origin.conversation_key)
    forgetting.detach_conversations(part.session, mine, nameless=part.conversations is None)
    keys: tuple[tuple[type[_Spoken], InstrumentedAttribute[int]], ...] = (
        (Answer, Answer.conversation_key), (Message, Message.conversation_key), (Conversation, Conversation.key),
    )  # fmt: skip
    erased = {
        table.__tablename__: rows_changed(part.session, delete(table).where(_lies_in(part, table, key)))
        for table, key in keys
    }
    return erased if part.conversation is None else {name: erased[name] for name in ("answers", "messages")}


def _lies_in(part: ErasedPart, table: type[_Spoken | Origin], key: _Key) -> ColumnElement[bool]:
    # Not by a subquery where it may be millions: for one the session fetches the key of every row that goes.
    return table.app_id == part.app_id if part.conversations is None else key.in_(part.conversations)


_WHOLE = (Scope.DATA, Scope.USER, Scope.CONVERSATION)
STORES = (
    # Before the jobs: whoever places events locks them first, and the tenants' queues after.
    Store(("events", "webhooks"), _WHOLE, _forget_events, _count_events),
    Store(("jobs",), (*_WHOLE, Scope.MEMORIES), _stop_jobs, _count_jobs),
    _drawn_store(
        ("app_memories", "memory_sources", "memory_history", "memory_origins"), (*_WHOLE, Scope.MEMORIES), forgetting
    ),
    Store(
        ("summaries",),
        (*_WHOLE, Scope.MEMORIES),
        lambda part: summaries.forget_all(part.session, part.app_id, part.conversations),
        lambda part: summaries.left_of_app(part.session, part.app_id, part.conversations),
    ),
    Store(
        ("semantic_memories", "semantic_sources"),
        (Scope.DATA, Scope.MEMORIES),
        # Of no user: a session belongs to the app, so a user's purge leaves what was learnt from it.
        lambda part: {} if part.user_id is not None else sweep.forget_semantic(part.session, part.app_id),
        lambda part: {} if part.user_id is not None else sweep.left_of_semantic(part.session, part.app_id),
    ),
    Store(
        ("idempotency_keys",),
        tuple(Scope),
        _forget_answers,
        lambda part: {"idempotencyKeys": queries.count_remembered(part.session, part.answers)},
    ),
    _drawn_store(("facts", "fact_mentions", "fact_history", "fact_clears"), _WHOLE, fact_forgetting),
    Store(
        ("profiles", "consents", "profile_audit"),
        (Scope.DATA, Scope.USER, Scope.PROFILE),
        _forget_profiles,
        _count_profiles,
    ),
    Store(
        ("user_settings",),
        (Scope.DATA, Scope.USER),
        _forget_user_settings,
        lambda part: {"userSettings": len(list_user_settings(part.session, part.app_id, part.user_id))},
    ),
    Store(
        ("tokens",),
        (Scope.DATA, Scope.USER),
        _forget_tokens,
        lambda part: {"tokens": queries.count_persons_tokens(part.session, part.app_id, part.user_id)},
    ),
    Store(("tuning_overrides",), (Scope.DATA,), lambda part: forget_tuning(part.session, part.app_id), lambda part: {}),
    Store(
        (
            *("projects", "project_links", "recorded_sessions", "session_files", "session_changes"),
            *("session_passages", "session_words", "keepit_markers", "marker_fates"),
            *("compressions", "compression_parts", "compositions", "composition_components"),
        ),
        (Scope.DATA,),
        lambda part: sweep.forget_app(part.session, part.app_id),
        lambda part: session_queries.left_of_app(part.session, part.app_id),
    ),
    # Before the messages: which words of the index are theirs is reckoned from their text.
    Store(
        ("app_indexes", "passages", "vector_sets", "message_vectors", "vector_blocks", "vector_erasures", "unembedded"),
        _WHOLE,
        lambda part: _of_conversations(part, index.remove_app_from_index, index.remove_conversation_from_index),
        lambda part: _of_conversations(part, index.left_in_index_of_app, index.left_in_index_of_conversation),
    ),
    Store(
        ("conversations", "messages", "answers"),
        _WHOLE,
        _forget_conversations,
        lambda part: (
            queries.rows_of_app(part.session, part.app_id, part.user_id)
            if part.conversation is None
            else queries.rows_of_conversations(part.session, part.app_id, [part.conversation.key])
        ),
    ),
)

_ACCOUNTS = "what calls of a model cost: ids, kinds and names of models"
_SCHEDULING = "ids and closed words, made anew from the jobs"
HOLDS_NO_WORDS = {
    "apps": "the operator's name for it; its config is emptied with everything else of it",
    "logins": "two digests",
    "erasures": "the receipts themselves: counts, times and ids",
    "event_counts": "one counter",
    "retrievals": "how searches went: figures and closed words",
    "tenant_queues": _SCHEDULING,
    "virtual_times": _SCHEDULING,
    "leadership": "which process leads",
    "energy_ledger": _ACCOUNTS,
    "energy_days": _ACCOUNTS,
    "energy_conversations": _ACCOUNTS,
    "energy_estimates": _ACCOUNTS,
    "energy_reservations": _ACCOUNTS,
    "token_rates": _ACCOUNTS,
    "model_breakers": "names of models, and a sign for each of their last jobs",
}
"""Tables with columns for text that an erasure leaves alone, and why."""
