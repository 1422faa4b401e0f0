"""An app as one JSON document, refused where a field is unknown, and taken out into it; ``restore`` puts it back.

Tokens, jobs and spending belong to the installation and stay behind, as do facts that were deleted and the history of
facts that are gone; vectors are made anew.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator
from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.apps.queries import list_user_settings
from shared.base.choices import Category, FactState
from shared.contracts.values import LARGEST_INTEGER, Id, JsonObject, Listed, Moment, TimeZone, UserId, UserOrNobody
from shared.conversations.chat_message import checked
from shared.conversations.lifecycle import SILENT_MINUTES, Role
from shared.conversations.models import Conversation, MemoryMode
from shared.conversations.queries import ConversationFilter, list_conversations, messages_of
from shared.db.base import ArchivePart, copied
from shared.facts import queries as fact_queries
from shared.facts.models import Fact, FactChangeKind
from shared.memories import queries
from shared.memories.models import Change, ChangeKind, MemoryAttributes, MemoryText
from shared.memories.writing import attributes_in, sources_in
from shared.profiles.consent import profiles_to_export
from shared.profiles.models import Content, content_of
from shared.summaries.queries import of_conversation

_Archived = TypeVar("_Archived", bound=ArchivePart)
_Owned = TypeVar("_Owned", "ArchivedMemory", "ArchivedFact", "ArchivedOrigin")

_OwnId = Annotated[int, Field(strict=True, ge=1, le=LARGEST_INTEGER)]
_Label = Annotated[str, Field(min_length=1, max_length=200)]
_Position = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
_Count = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
_Statement = Annotated[str, Field(min_length=1, max_length=4000)]
_Former = Annotated[str, Field(max_length=4000)]
"""Of a memory or a fact: twice what the longest memory may ever have had."""
_Micro = Annotated[int, Field(strict=True, ge=0, le=10**18)]


class ArchivedApp(ArchivePart):
    """The app itself. Budgets are in micro-units."""

    app_id: str = Field(max_length=100)
    name: _Label
    config: JsonObject = Field(default_factory=dict)
    hourly_budget_micro: _Micro | None = None
    daily_budget_micro: _Micro | None = None
    shared_memory: bool = False
    time_zone: TimeZone | None = None


class ArchivedUser(ArchivePart):
    """What was set for a user."""

    user_id: UserId
    time_zone: TimeZone | None = None


class ArchivedMessage(ArchivePart):
    """A message; its place in the list is its position."""

    message_id: Id
    role: Role
    name: _Label | None = None
    content: str
    payload: Annotated[JsonObject, AfterValidator(checked)] | None = None
    """The message as it was sent, where role, content and name do not say all of it; they follow from it then."""
    tokens: Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)] | None = None
    created_at: Moment
    utc_offset_minutes: Annotated[int, Field(strict=True, ge=-1439, le=1439)] | None = None


class ArchivedSummary(ArchivePart):
    """A summary of a part of a conversation, from one position to another, both included."""

    content: Annotated[str, Field(min_length=1, max_length=4000)]
    agent: _Label
    from_position: _Position
    to_position: _Position
    created_at: Moment


class ArchivedConversation(ArchivePart):
    """A conversation with its messages."""

    conversation_id: Id
    user_id: UserId | None = None
    energy_budget_micro: _Micro | None = None
    metadata: JsonObject = Field(default_factory=dict)
    created_at: Moment
    updated_at: Moment
    snoozed_until: Moment | None = None
    end_after_minutes: Annotated[int, Field(ge=SILENT_MINUTES[0], le=SILENT_MINUTES[1])] | None = None
    silent_until: Moment | None = None
    ended_at: Moment | None = None
    end_reason: Annotated[str, Field(max_length=500)] | None = None
    time_zone: TimeZone | None = None
    memory: MemoryMode = MemoryMode.ON
    facts_seen: _Position = 0
    summarised: _Position = 0
    turns_since_summary: _Position = 0
    summaries: Listed[ArchivedSummary] = Field(default_factory=list)
    messages: Listed[ArchivedMessage] = Field(default_factory=list)

    @model_validator(mode="after")
    def _names_each_message_once(self) -> Self:
        return _once(self, "messageId", [message.message_id for message in self.messages])


class ArchivedSource(ArchivePart):
    """A conversation whose words stand in a text."""

    conversation_id: Id
    message_ids: Listed[Id] = Field(default_factory=list)


class ArchivedStanding(ArchivePart, MemoryAttributes):
    """What, beside its text, a memory was."""

    agent: _Label
    sources: Listed[ArchivedSource] = Field(default_factory=list)


class ArchivedMemory(ArchivePart, MemoryAttributes, MemoryText):
    """A memory that stands."""

    memory_id: _OwnId
    user_id: UserId | None = None
    agent: _Label
    version: Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)] = 1
    created_at: Moment
    updated_at: Moment
    sources: Listed[ArchivedSource] = Field(default_factory=list)


class ArchivedOrigin(ArchivePart):
    """The making of a memory, whether it still stands or not."""

    memory_id: _OwnId
    user_id: UserId | None = None
    conversation_id: Id | None = None
    agent: _Label
    created_at: Moment


class ArchivedChange(ArchivePart):
    """One thing that happened to a memory."""

    memory_id: _OwnId
    kind: ChangeKind
    actor: _Label
    reason: Annotated[str, Field(max_length=2000)]
    before: _Former | None = None
    after: _Former | None = None
    standing: ArchivedStanding | None = None
    conversation_ids: Listed[Id] = Field(default_factory=list)
    related_memory_id: _OwnId | None = None
    at: Moment


class ArchivedFactSource(ArchivePart):
    """One place where a fact was said; without a conversation: by hand."""

    conversation_id: Id | None = None
    message_ids: Listed[Id] = Field(default_factory=list)
    statement: _Statement
    category: Category
    agent: _Label
    mentions: _Count = 1
    said_at: Moment | None = None
    """None in archives that did not keep it: then when it was last heard of."""
    first_seen: Moment
    last_seen: Moment


class ArchivedFact(ArchivePart):
    """A fact that stands, or one beneath the fact that replaced it."""

    fact_id: _OwnId
    user_id: UserId | None = None
    statement: _Statement
    category: Category
    confidence: Annotated[float, Field(ge=0, le=1)]
    mention_count: _Count = 1
    pinned: bool = False
    by_hand: bool = False
    agent: _Label
    updates_fact_id: _OwnId | None = None
    version: _Count = 1
    said_at: Moment | None = None
    first_seen: Moment
    last_seen: Moment
    updated_at: Moment
    sources: Annotated[Listed[ArchivedFactSource], Field(min_length=1)]

    @model_validator(mode="after")
    def _was_said_once_in_each_place(self) -> Self:
        return _once(self, "conversationId", [one.conversation_id for one in self.sources])


class ArchivedFactChange(ArchivePart):
    """One thing that happened to a fact."""

    fact_id: _OwnId
    kind: FactChangeKind
    actor: _Label
    reason: Annotated[str, Field(max_length=2000)]
    before: _Former | None = None
    after: _Former | None = None
    conversation_ids: Listed[Id] = Field(default_factory=list)
    related_fact_id: _OwnId | None = None
    at: Moment


class ArchivedProfile(ArchivePart):
    """What a user agreed to have kept; that they agreed is said by its being here."""

    user_id: UserOrNobody = ""
    content: Content
    agreed_at: Moment
    created_at: Moment
    updated_at: Moment


class Archive(ArchivePart):
    """Everything of an app but its tokens, jobs and spending."""

    format: Literal["afterthought.app"] = "afterthought.app"
    version: Literal[1] = 1
    exported_at: Moment
    app: ArchivedApp
    users: Listed[ArchivedUser] = Field(default_factory=list)
    conversations: Listed[ArchivedConversation] = Field(default_factory=list)
    origins: Listed[ArchivedOrigin] = Field(default_factory=list)
    memories: Listed[ArchivedMemory] = Field(default_factory=list)
    history: Listed[ArchivedChange] = Field(default_factory=list)
    facts: Listed[ArchivedFact] = Field(default_factory=list)
    fact_history: Listed[ArchivedFactChange] = Field(default_factory=list)
    profiles: Listed[ArchivedProfile] = Field(default_factory=list)

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        _once(self, "conversationId", [one.conversation_id for one in self.conversations])
        _once(self, "userId", [one.user_id for one in self.profiles])
        _once(self, "userId", [one.user_id for one in self.users])
        _once(self, "factId", [one.fact_id for one in self.facts])
        _once(self, "updatesFactId", [one.updates_fact_id for one in self.facts if one.updates_fact_id is not None])
        return _once(self, "memoryId", [one.memory_id for one in self.memories])

    @model_validator(mode="after")
    def _keeps_users_apart(self) -> Self:
        users: dict[str | None, str | None] = {one.conversation_id: one.user_id for one in self.conversations}
        self.memories[:] = [_of_its_user(one, _conversations(one), users) for one in self.memories]
        self.facts[:] = [_of_its_user(one, _conversations(one), users) for one in self.facts]
        self.origins[:] = [_of_its_user(one, [one.conversation_id], users) for one in self.origins]
        return self


def _conversations(part: ArchivedMemory | ArchivedFact) -> list[str | None]:
    return [source.conversation_id for source in part.sources]


def _of_its_user(
    part: _Owned, conversation_ids: Sequence[str | None], users: Mapping[str | None, str | None]
) -> _Owned:
    """Return a part that names its user; where it names none, as before there were users, its conversations do."""
    said_by = {users[one] for one in conversation_ids if one in users}
    if "user_id" not in part.model_fields_set and len(said_by) == 1:
        return part.model_copy(update={"user_id": said_by.pop()})
    if part.user_id is not None and said_by - {part.user_id}:
        raise ValueError(f"gives user {part.user_id} what was said in a conversation of another user")
    return part


def _once(part: _Archived, what: str, ids: Sequence[object]) -> _Archived:
    if len(set(ids)) < len(ids):
        raise ValueError(f"names a {what} twice")
    return part


EVERYTHING = 2**31 - 1
"""A limit that limits nothing."""


def export_app(session: Session, app: App, now: datetime, user_id: str | None = None) -> Archive:
    """Take an app out, or what it holds of one user, in one transaction that only reads."""
    conversations = list(list_conversations(session, app.app_id, ConversationFilter(user_id), EVERYTHING))[::-1]
    ids = {one.key: one.conversation_id for one in conversations}
    memories = list(queries.list_memories(session, app.app_id, user_id, EVERYTHING))[::-1]
    linked = queries.sources_by_memory(session, [memory.memory_id for memory in memories])
    changes = list(queries.changes_of_app(session, app.app_id, EVERYTHING, user_id=user_id))[::-1]
    facts = [fact for fact in _leaving_facts(session, app.app_id) if user_id in (None, fact.user_id or None)]
    said = fact_queries.sources_by_fact(session, [fact.fact_id for fact in facts])
    return Archive(
        exported_at=now,
        app=copied(ArchivedApp, app),
        users=[copied(ArchivedUser, one) for one in list_user_settings(session, app.app_id, user_id)],
        conversations=[_conversation(session, one) for one in conversations],
        origins=[
            copied(ArchivedOrigin, one, user_id=one.user_id or None)
            for one in queries.origins_of_app(session, app.app_id, user_id)
        ],
        memories=[
            copied(
                ArchivedMemory,
                one,
                user_id=one.subject.named,
                sources=[
                    ArchivedSource(conversation_id=name, message_ids=message_ids)
                    for name, message_ids in linked.get(one.memory_id, [])
                ],
            )
            for one in memories
        ],
        history=[_change(one, ids) for one in changes],
        facts=[
            copied(
                ArchivedFact,
                one,
                user_id=one.user_id or None,
                pinned=one.pin_slot is not None,
                sources=[copied(ArchivedFactSource, source) for source in said.get(one.fact_id, [])],
            )
            for one in facts
        ],
        fact_history=[
            copied(ArchivedFactChange, one, conversation_ids=[ids[key] for key in one.source_keys if key in ids])
            for one in fact_queries.history_of(session, *(fact.fact_id for fact in facts))
        ],
        profiles=[
            copied(ArchivedProfile, one, content=content_of(one.fields, one.notes), agreed_at=consent.changed_at)
            for one, consent in profiles_to_export(session, app.app_id)
            if user_id in (None, one.user_id)
        ],
    )


def _conversation(session: Session, one: Conversation) -> ArchivedConversation:
    return copied(
        ArchivedConversation,
        one,
        metadata=one.details,
        summaries=[copied(ArchivedSummary, summary) for summary in reversed(of_conversation(session, one.key))],
        messages=[copied(ArchivedMessage, message) for message in messages_of(session, one.key)],
    )


def _change(one: Change, ids: Mapping[int, str]) -> ArchivedChange:
    return copied(
        ArchivedChange,
        one,
        standing=_standing(one.standing, ids) if one.standing else None,
        conversation_ids=[ids[key] for key in one.source_keys if key in ids],
    )


def _standing(standing: dict[str, Any], ids: Mapping[int, str]) -> ArchivedStanding:
    origins = sources_in(standing)
    sources = [ArchivedSource(conversation_id=ids[k], message_ids=v) for k, v in origins.items() if k in ids]
    return ArchivedStanding(**attributes_in(standing), sources=sources)


def _leaving_facts(session: Session, app_id: str) -> list[Fact]:
    """Return the facts that stand, and what lies beneath them, the oldest first."""
    standing = fact_queries.facts_in(session, app_id, (FactState.STANDING,))
    replaced = {one.fact_id: one for one in fact_queries.facts_in(session, app_id, (FactState.REPLACED,))}
    leaving = {one.fact_id: one for one in standing}
    for fact in standing:
        # Taken out as they are found: chains that meet, or one that closes on itself, are walked once.
        lower = replaced.pop(fact.updates_fact_id or 0, None)
        while lower is not None:
            leaving[lower.fact_id] = lower
            lower = replaced.pop(lower.updates_fact_id or 0, None)
    return [leaving[fact_id] for fact_id in sorted(leaving)]
