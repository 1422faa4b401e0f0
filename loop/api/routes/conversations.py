"""Conversations: opened, spoken in, snoozed, ended, erased."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Discriminator, Field, StrictInt, Tag, WithJsonSchema
from sqlalchemy.orm import Session

from loop.api import cursors, erasures
from loop.api.dependencies import (
    AppInPath,
    ConversationInPath,
    CursorInQuery,
    LimitInQuery,
    PageOf50,
    Reads,
    Writes,
    as_write,
)
from loop.api.erasures import Erased
from loop.api.errors import TOO_LARGE
from loop.api.policy import OF_APP, Whose, policy, under
from loop.api.routes.apps import units_or_none
from loop.api.routes.jobs import JobAnswer, RequestedJob
from loop.api.schema import MANY, ONE, From, RequestModel, ResponseModel, Tokens, Units
from loop.api.writes import WriteResult
from shared.apps.queries import get_app, get_installed_app, hold_off_erasure, lock_app
from shared.base.errors import Conflict, Denied, Limit
from shared.contracts.values import Id, JsonObject, LocalMoment, TimeZone, UserId, UserOrNobody
from shared.conversations import extraction, lifecycle, queries
from shared.conversations.chat_message import ChatMessage, as_sent, role_of, size_of, text_of
from shared.conversations.lifecycle import SILENT_MINUTES, SNOOZE_MINUTES, NewConversation, NewMessage, Role
from shared.conversations.models import Conversation, MemoryMode, Message
from shared.conversations.queries import ConversationFilter, ConversationState, state_of
from shared.energy.budget import BudgetStatus, budget_status, to_micro, to_units
from shared.energy.ledger import spent_by_conversation
from shared.erasure.erasing import erase_conversation
from shared.jobs.queries import jobs_of_conversation
from shared.search.index import without_words
from shared.search.tuning import tuning_of

MOST_MESSAGES = 1000
_TIME_ZONE = "Whose days are meant in it, an IANA name; without it the user's, or what its messages came with."
_MEMORY = "on: it is remembered; read: it is recalled into, and nothing of it is remembered; off: neither."
Reason = Annotated[str, Field(max_length=500)]
SentMessage = Annotated[
    dict[str, Any], WithJsonSchema(ChatMessage.model_json_schema() | {"additionalProperties": True})
]
"""A message with the keys it was sent with; a listing adds ours."""


class StartConversation(RequestModel):
    """Opens a conversation."""

    conversation_id: Id | None = None
    user_id: UserId | None = None
    energy_budget: Units | None = None
    metadata: JsonObject = Field(default_factory=dict)
    end_after_minutes: Annotated[StrictInt, Field(ge=SILENT_MINUTES[0], le=SILENT_MINUTES[1])] | None = Field(
        None, description="It ends by itself once nothing was said for so long; without it, only when it is told to."
    )
    time_zone: TimeZone | None = Field(None, description=_TIME_ZONE)
    memory: MemoryMode = Field(MemoryMode.ON, description=_MEMORY)


class ChangeConversation(RequestModel):
    """Changes an open conversation; what is left out stays. A time zone of null is none."""

    time_zone: TimeZone | None = Field(None, description=_TIME_ZONE)
    memory: MemoryMode | None = Field(None, description=f"{_MEMORY} What was drawn from it before stays.")


class AddMessage(ChatMessage):
    """One message, as OpenAI's or Anthropic's chat programs have it. The same messageId twice is one message."""

    message_id: Id | None = Field(None, alias="messageId")
    created_at: LocalMoment | None = Field(
        None,
        alias="createdAt",
        description="When it was said. Its offset is kept and tells what day it was; UTC's (Z) tells nothing of that.",
    )
    tokens: Tokens | None = Field(None, alias="tokens", description="Its length as your model's provider counted it.")

    def as_new(self) -> NewMessage:
        sent = self.sent
        return NewMessage(
            role=Role(role_of(sent)),
            content=text_of(sent),
            message_id=self.message_id,
            name=self.name or None,
            created_at=self.created_at,
            tokens=self.tokens,
            payload=self.payload,
        )


class AddMessages(RequestModel):
    """Several messages, in order."""

    messages: Annotated[list[AddMessage], Field(min_length=1, max_length=MOST_MESSAGES)]


def _how_many(body: object) -> str:
    return MANY if isinstance(body, AddMessages) or (isinstance(body, dict) and "messages" in body) else ONE


AddedMessages = Annotated[Annotated[AddMessage, Tag(ONE)] | Annotated[AddMessages, Tag(MANY)], Discriminator(_how_many)]
"""One message or several; which of them is told by the field ``messages``."""


class EndConversation(RequestModel):
    """Ends a conversation."""

    reason: Reason | None = None


class SnoozeConversation(RequestModel):
    """Hides a conversation for a while."""

    minutes: Annotated[StrictInt, Field(ge=SNOOZE_MINUTES[0], le=SNOOZE_MINUTES[1])]


class ConversationAnswer(ResponseModel):
    """A conversation."""

    conversation_id: str
    app_id: str
    user_id: str | None
    state: ConversationState
    message_count: int
    metadata: Annotated[dict[str, Any], From("details")]
    created_at: datetime
    updated_at: datetime
    snoozed_until: datetime | None
    woken_at: datetime | None = Field(description="When its last snooze ended, until something new is said.")
    unanswered_since: datetime | None = Field(description="When the oldest user message came that no answer follows.")
    end_after_minutes: int | None = Field(description="Of silence, after which it ends by itself.")
    ended_at: datetime | None
    end_reason: str | None
    time_zone: str | None = Field(description=_TIME_ZONE)
    memory: MemoryMode = Field(description=_MEMORY)

    @classmethod
    def of(cls, conversation: Conversation, now: datetime) -> ConversationAnswer:
        return cls.from_row(conversation, state=state_of(conversation, now))


class ConversationDetails(ConversationAnswer):
    """A conversation, what it has cost and what it gave rise to."""

    energy_spent: float
    energy_budget: float | None
    energy_remaining: float | None = Field(description="Negative when the budget is exceeded; null without one.")
    budget_status: BudgetStatus | None
    pending_answer_id: str | None = Field(
        description="The loop's answer that waits for approval; not told to a user's own token."
    )
    jobs: list[JobAnswer]

    @classmethod
    def costing(
        cls, conversation: Conversation, spent: int, jobs: list[JobAnswer], now: datetime, pending: str | None = None
    ) -> ConversationDetails:
        """Return a conversation with what it has cost; ``spent`` in micro-units."""
        budget = conversation.energy_budget_micro
        return cls.from_row(
            conversation,
            state=state_of(conversation, now),
            energy_spent=to_units(spent),
            energy_budget=units_or_none(budget),
            energy_remaining=None if budget is None else to_units(budget - spent),
            budget_status=budget_status(budget, spent),
            pending_answer_id=pending,
            jobs=jobs,
        )


class ConversationList(ResponseModel):
    """Conversations, newest first."""

    conversations: list[ConversationAnswer]
    cursor: str | None


class StoredMessage(ResponseModel):
    """Where a message stands in its conversation; positions count from 0."""

    message_id: str
    position: int
    role: str
    created_at: datetime


class StoredMessages(ResponseModel):
    """One entry for each message that was sent."""

    conversation_id: str
    messages: list[StoredMessage]


def message_answer(message: Message) -> dict[str, Any]:
    own = {"messageId": message.message_id, "position": message.position, "createdAt": message.created_at}
    measured = {"tokens": message.tokens, "utcOffsetMinutes": message.utc_offset_minutes}
    return _sent(message) | own | {name: value for name, value in measured.items() if value is not None}


def _sent(message: Message) -> dict[str, Any]:
    return as_sent(message.role, message.content, message.name, message.payload)


class MessageList(ResponseModel):
    """Messages by position: as they were sent, with messageId, position, createdAt and, where known, tokens, offset."""

    messages: list[SentMessage]
    cursor: str | None


class EndedConversation(ResponseModel):
    """The jobs that ending it asked for; the same ones when it is ended again."""

    conversation_id: str
    jobs: list[JobAnswer]


router = APIRouter(prefix="/apps/{appId}/conversations", tags=["Conversations"], route_class=under(OF_APP))


@router.post("", status_code=201, response_model=ConversationDetails, summary="Open a conversation")
@policy(OF_APP, whose=Whose.BY_ROUTE)
@as_write
def start_conversation(
    ctx: Writes, session: Session, app_id: AppInPath, body: StartConversation | None = None
) -> WriteResult:
    """Open a conversation; without an id it is given one."""
    body = body or StartConversation()
    budget = None if body.energy_budget is None else to_micro(body.energy_budget)
    user_id = ctx.user_meant(body.user_id)
    new = NewConversation(
        body.conversation_id, user_id, budget, body.metadata, body.end_after_minutes, body.time_zone, body.memory
    )
    # First: an erasure of the app or the user has to wait for this, or this for it.
    hold_off_erasure(session, app_id, user_id)
    get_installed_app(session, app_id)
    conversation = lifecycle.start(session, app_id, new, ctx.now(), tells_whose=ctx.caller.user_id is None)
    return WriteResult(ConversationDetails.costing(conversation, 0, [], ctx.now()), 201, about=app_id)


@router.get("", summary="List conversations")
@policy(OF_APP, whose=Whose.IN_QUERY)
def list_conversations(
    ctx: Reads,
    page: PageOf50,
    app_id: AppInPath,
    user_id: Annotated[UserOrNobody | None, Query(alias="userId")] = None,
    ended: Annotated[bool | None, Query(description="Only ended, or only open ones.")] = None,
    unanswered: Annotated[bool | None, Query(description="Only those that wait for an answer, or that do not.")] = None,
) -> ConversationList:
    """List an app's conversations, newest first."""
    conversation_filter = ConversationFilter(user_id, ended, unanswered)
    with ctx.read() as session:
        get_app(session, app_id)
        rows, following = page.numbered(
            "conversations", partial(queries.list_conversations, session, app_id, conversation_filter)
        )
        return ConversationList(conversations=[ConversationAnswer.of(one, ctx.now()) for one in rows], cursor=following)


@router.get("/{conversationId}", summary="Show a conversation")
@policy(OF_APP, whose=Whose.IN_PATH)
def show_conversation(ctx: Reads, app_id: AppInPath, conversation_id: ConversationInPath) -> ConversationDetails:
    """Show where a conversation stands, what it has cost and what it gave rise to."""
    with ctx.read() as session:
        conversation = queries.get_conversation(session, app_id, conversation_id)
        jobs = [JobAnswer.awaited(ctx, session, job) for job in jobs_of_conversation(session, conversation.key)]
        spent = spent_by_conversation(session, conversation.key)
        # A user's own token may not even list answers before they are approved.
        pending = None if ctx.caller.user_id is not None else queries.pending_answer(session, conversation.key)
        waiting = None if pending is None else pending.answer_id
        return ConversationDetails.costing(conversation, spent, jobs, ctx.now(), waiting)


@router.patch("/{conversationId}", response_model=ConversationAnswer, summary="Change a conversation")
@policy(OF_APP, whose=Whose.IN_PATH)
@as_write
def change_conversation(
    ctx: Writes, session: Session, app_id: AppInPath, conversation_id: ConversationInPath, body: ChangeConversation
) -> WriteResult:
    """Change an open conversation's time zone, or what it has to do with memory, which holds for all that was said."""
    conversation = queries.lock_conversation(session, app_id, conversation_id)
    if conversation.ended_at is not None:
        raise Conflict(f"Conversation {conversation_id} has ended and is as it was then.", code="conversation_ended")
    if "time_zone" in body.model_fields_set:
        conversation.time_zone = body.time_zone
    if body.memory is not None:
        settings = ctx.loop.settings
        lifecycle.set_memory(session, conversation, body.memory, ctx.now(), settings, tuning_of(settings))
    return WriteResult(ConversationAnswer.of(conversation, ctx.now()), about=app_id)


@router.post("/{conversationId}/messages", status_code=202, response_model=StoredMessages, summary="Add messages")
@policy(OF_APP, whose=Whose.IN_PATH)
def add_messages(ctx: Writes, app_id: AppInPath, conversation_id: ConversationInPath, body: AddedMessages) -> Response:
    """Add one message, or several in order. A messageId that is already there is not added again."""
    messages = body.messages if isinstance(body, AddMessages) else [body]
    if ctx.caller.user_id is not None and any(message.role != "user" for message in messages):
        raise Denied(f"This token is {ctx.caller.user_id}'s own: it adds what they say, with the role user.")
    limit = ctx.loop.settings.max_message_chars
    # Before the transaction: to weigh a thousand messages takes its time, and no writer waits for it here.
    for position, message in enumerate(messages):
        size = size_of(message.content if isinstance(message.content, str) else "", message.payload)
        if size > limit:
            raise Limit(
                f"Message {position} has {size} characters, everything in it counted; the most is {limit}.",
                code=TOO_LARGE,
                details={"limit": limit},
            )

    def work(session: Session) -> WriteResult:
        conversation, by_loop = queries.lock_with_app(session, app_id, conversation_id)
        new, settings = [one.as_new() for one in messages], ctx.loop.settings
        tuning = tuning_of(settings)
        stored = lifecycle.append_messages(
            session, conversation, new, ctx.now(), by_loop=by_loop, fact_settings=settings, tuning=tuning
        )
        answer = StoredMessages(
            conversation_id=conversation_id,
            messages=[StoredMessage.from_row(one, role=_sent(one)["role"]) for one in stored],
        )
        lacking = without_words(session)
        return WriteResult(answer, 202, about=app_id, then=lambda: ctx.loop.metrics.index_failures.inc(lacking))

    return ctx.write(work)


@router.get("/{conversationId}/messages", summary="List messages")
@policy(OF_APP, whose=Whose.IN_PATH)
def list_messages(
    ctx: Reads,
    app_id: AppInPath,
    conversation_id: ConversationInPath,
    limit: LimitInQuery = 200,
    cursor: CursorInQuery = None,
    before: Annotated[int | None, Query(ge=1, description="The last ones before this position.")] = None,
    around: Annotated[Id | None, Query(description="Those around this messageId, as many as limit.")] = None,
) -> MessageList:
    """List a conversation's messages in order: after a cursor, before a position, or around one of them."""
    after = cursors.decode_number("messages", cursor)
    with ctx.read() as session:
        key = queries.get_conversation(session, app_id, conversation_id).key
        if around is not None:
            after = max(queries.get_message(session, key, around).position - limit // 2, 0) - 1
        elif before is not None:
            limit = min(limit, before)
            after = before - limit - 1
        # They come after a position, which counts from 0: after -1 come the first.
        found = queries.messages_of(session, key, limit + 1, -1 if after is None else after)
        following = cursors.encode("messages", found[limit - 1].position) if len(found) > limit else None
        return MessageList(messages=[message_answer(one) for one in found[:limit]], cursor=following)


@router.post("/{conversationId}/end", status_code=202, response_model=EndedConversation, summary="End a conversation")
@policy(OF_APP, whose=Whose.IN_PATH)
@as_write
def end_conversation(
    ctx: Writes,
    session: Session,
    app_id: AppInPath,
    conversation_id: ConversationInPath,
    body: EndConversation | None = None,
) -> WriteResult:
    """End a conversation and ask for its memory; it never waits for one. Ending it again answers the same jobs."""
    reason = body.reason if body is not None else None
    epoch = lock_app(session, app_id).purge_epoch
    conversation = queries.lock_conversation(session, app_id, conversation_id)
    attempts = ctx.loop.settings.job_max_attempts
    jobs = lifecycle.end(session, conversation, epoch, reason, ctx.now(), attempts, ctx.loop.settings)
    answer = EndedConversation(conversation_id=conversation_id, jobs=[JobAnswer.of(job) for job in jobs])
    return WriteResult(answer, 202, about=app_id, then=ctx.loop.ticker.wake)


@router.post("/{conversationId}/extract", status_code=202, response_model=RequestedJob, summary="Extract facts now")
def extract_facts(ctx: Writes, app_id: AppInPath, conversation_id: ConversationInPath) -> Response:
    """Ask for the facts of what was said since they were last extracted; while a job is under way, answer that one."""
    settings = ctx.loop.settings
    if not settings.facts:
        raise Conflict(
            "Facts are switched off (AFTERTHOUGHT_FACTS): nothing is extracted, now or later.", code="facts_off"
        )

    def work(session: Session) -> WriteResult:
        epoch = lock_app(session, app_id).purge_epoch
        conversation = queries.lock_conversation(session, app_id, conversation_id)
        job = extraction.enqueue_extraction_now(session, conversation, epoch, ctx.now(), settings.job_max_attempts)
        if job is None:
            raise Conflict(
                f"No user said anything in conversation {conversation_id} since its facts were last extracted.",
                code="nothing_new",
            )
        requested = RequestedJob(conversation_id=conversation_id, job=JobAnswer.awaited(ctx, session, job))
        return WriteResult(requested, 202, about=app_id, then=ctx.loop.ticker.wake)

    return ctx.write(work)


@router.post("/{conversationId}/snooze", response_model=ConversationAnswer, summary="Snooze a conversation")
@as_write
def snooze_conversation(
    ctx: Writes, session: Session, app_id: AppInPath, conversation_id: ConversationInPath, body: SnoozeConversation
) -> WriteResult:
    """Hide an open conversation for a number of minutes."""
    conversation = queries.lock_conversation(session, app_id, conversation_id)
    lifecycle.snooze(session, conversation, body.minutes, ctx.now())
    return WriteResult(ConversationAnswer.of(conversation, ctx.now()), about=app_id)


@router.delete("/{conversationId}", response_model=Erased, operation_id="eraseConversation", summary="Erase one")
@policy(OF_APP, whose=Whose.IN_PATH)
@as_write
def erase_one_conversation(
    ctx: Writes, session: Session, app_id: AppInPath, conversation_id: ConversationInPath
) -> WriteResult:
    """Erase a conversation and everything derived from it."""
    erasure = erase_conversation(session, app_id, conversation_id, ctx.caller.name, ctx.now())
    return erasures.erased(ctx, session, erasure)
