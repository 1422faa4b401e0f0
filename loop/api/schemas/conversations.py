"""Conversations and their messages."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Discriminator, Field, StrictInt, Tag, WithJsonSchema

from loop.api.schemas.apps import units_or_none
from loop.api.schemas.jobs import JobAnswer
from loop.api.schemas.wire import Answer, Body, Tokens, Units
from shared.contracts.values import Id, JsonObject, Moment, UserId
from shared.conversations.chat_message import ChatMessage, as_sent, role_of, text_of
from shared.conversations.lifecycle import SNOOZE_MINUTES, NewMessage, Role
from shared.conversations.models import Conversation, Message
from shared.conversations.queries import ConversationState, state_of
from shared.energy.budget import BudgetStatus, budget_status, to_units

MOST_MESSAGES = 1000
ONE, MANY = "one message", "several messages"
Reason = Annotated[str, Field(max_length=500)]
SentMessage = Annotated[
    dict[str, Any], WithJsonSchema(ChatMessage.model_json_schema() | {"additionalProperties": True})
]
"""A message with the keys it was sent with; a listing adds ours."""


class StartConversation(Body):
    """Opens a conversation."""

    conversation_id: Id | None = None
    user_id: UserId | None = None
    energy_budget: Units | None = None
    metadata: JsonObject = Field(default_factory=dict)


class SaidMessage(ChatMessage):
    """One message, as OpenAI's or Anthropic's chat programs have it. The same messageId twice is one message."""

    message_id: Id | None = Field(None, alias="messageId")
    created_at: Moment | None = Field(None, alias="createdAt")
    tokens: Tokens | None = Field(None, alias="tokens", description="Its length as your model's provider counted it.")

    def as_new(self) -> NewMessage:
        """Return it as the domain takes it."""
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


class SaidMessages(Body):
    """Several messages, in order."""

    messages: Annotated[list[SaidMessage], Field(min_length=1, max_length=MOST_MESSAGES)]


def _how_many(body: object) -> str:
    return MANY if isinstance(body, SaidMessages) or (isinstance(body, dict) and "messages" in body) else ONE


Said = Annotated[
    Annotated[SaidMessage, Tag(ONE)] | Annotated[SaidMessages, Tag(MANY)],
    Discriminator(_how_many),
]
"""One message or several; which of them is told by the field ``messages``."""


class EndConversation(Body):
    """Ends a conversation."""

    reason: Reason | None = None


class SnoozeConversation(Body):
    """Hides a conversation for a while."""

    minutes: Annotated[StrictInt, Field(ge=SNOOZE_MINUTES[0], le=SNOOZE_MINUTES[1])]


class ConversationAnswer(Answer):
    """A conversation."""

    conversation_id: str
    app_id: str
    user_id: str | None
    state: ConversationState
    message_count: int
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    snoozed_until: datetime | None
    woken_at: datetime | None = Field(description="When its last snooze ended, until something new is said.")
    unanswered_since: datetime | None = Field(description="When the oldest user message came that no answer follows.")
    ended_at: datetime | None
    end_reason: str | None

    @classmethod
    def of(cls, conversation: Conversation, now: datetime) -> ConversationAnswer:
        """Return a conversation as it goes over the wire."""
        return cls(**_fields(conversation, now))


class ConversationDetails(ConversationAnswer):
    """A conversation, what it has cost and what it gave rise to."""

    energy_spent: float
    energy_budget: float | None
    energy_remaining: float | None = Field(description="Negative when the budget is exceeded; null without one.")
    budget_status: BudgetStatus | None
    pending_answer_id: str | None = Field(description="The loop's answer that waits for approval.")
    jobs: list[JobAnswer]

    @classmethod
    def costing(
        cls, conversation: Conversation, spent: int, jobs: list[JobAnswer], now: datetime, pending: str | None = None
    ) -> ConversationDetails:
        """Return a conversation with what it has cost; ``spent`` in micro-units."""
        budget = conversation.energy_budget_micro
        return cls(
            **_fields(conversation, now),
            energy_spent=to_units(spent),
            energy_budget=units_or_none(budget),
            energy_remaining=None if budget is None else to_units(budget - spent),
            budget_status=budget_status(budget, spent),
            pending_answer_id=pending,
            jobs=jobs,
        )


def _fields(conversation: Conversation, now: datetime) -> dict[str, Any]:
    return {
        "conversation_id": conversation.conversation_id,
        "app_id": conversation.app_id,
        "user_id": conversation.user_id,
        "state": state_of(conversation, now),
        "message_count": conversation.message_count,
        "metadata": conversation.details,
        "created_at": conversation.created_at,
        "updated_at": conversation.updated_at,
        "snoozed_until": conversation.snoozed_until,
        "woken_at": conversation.woken_at,
        "unanswered_since": conversation.unanswered_since,
        "ended_at": conversation.ended_at,
        "end_reason": conversation.end_reason,
    }


class ConversationList(Answer):
    """Conversations, newest first."""

    conversations: list[ConversationAnswer]
    cursor: str | None


class StoredMessage(Answer):
    """Where a message stands in its conversation; positions count from 0."""

    message_id: str
    position: int
    role: str
    created_at: datetime

    @classmethod
    def at(cls, message: Message) -> StoredMessage:
        """Return where a message stands."""
        return cls(
            message_id=message.message_id,
            position=message.position,
            role=_sent(message)["role"],
            created_at=message.created_at,
        )


class StoredMessages(Answer):
    """One entry for each message that was sent."""

    conversation_id: str
    messages: list[StoredMessage]


def message_answer(message: Message) -> dict[str, Any]:
    """Return a message as it was sent, with where it stands."""
    own = {"messageId": message.message_id, "position": message.position, "createdAt": message.created_at}
    return _sent(message) | own | ({} if message.tokens is None else {"tokens": message.tokens})


def _sent(message: Message) -> dict[str, Any]:
    return as_sent(message.role, message.content, message.name, message.payload)


class MessageList(Answer):
    """Messages by position: as they were sent, with messageId, position, createdAt and, where it was sent, tokens."""

    messages: list[SentMessage]
    cursor: str | None


class EndedConversation(Answer):
    """The jobs that ending it asked for; the same ones when it is ended again."""

    conversation_id: str
    jobs: list[JobAnswer]
