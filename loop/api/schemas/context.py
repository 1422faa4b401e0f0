"""What a conversation starts with."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictInt

from loop.api.schemas.wire import Answer, Body
from shared.context.opening import Opening, Utterance
from shared.contracts.values import Id
from shared.conversations.lifecycle import Role

_MOST_TOKENS = 10_000_000
Tokens = Annotated[StrictInt, Field(ge=0, le=_MOST_TOKENS)]


class ContextMessage(Body):
    """A message of the conversation so far."""

    role: Role
    content: str
    name: Annotated[str, Field(max_length=200)] | None = None


class AskContext(Body):
    """Asks for the context of a conversation. ``messages`` stand for those stored under ``conversationId``."""

    conversation_id: Id | None = None
    message: str | None = Field(None, description="What the user says now; comes last.")
    messages: Annotated[list[ContextMessage], Field(max_length=10_000)] | None = None
    model: Annotated[str, Field(max_length=200)] | None = Field(None, description="The model it is for; not yet used.")
    context_window: Tokens | None = Field(None, description="The model's window, tokens.")
    reserve: Tokens = Field(0, description="Tokens of the window to leave for the answer.")
    token_budget: Tokens | None = Field(None, description="Most tokens for what is recalled.")


class ContextLine(Answer):
    """A message to send."""

    role: Role
    content: str
    name: str | None = None

    @classmethod
    def of(cls, said: Utterance) -> ContextLine:
        """Return a message as it goes over the wire."""
        return cls(role=Role(said.role), content=said.content, name=said.name)


class Included(Answer):
    """What was recalled, by id."""

    memories: list[int]
    facts: list[str]
    summary: str | None
    retrieved: list[str]


class ContextAnswer(Answer):
    """The messages to send, the recalled text first as a system message, and what they amount to."""

    messages: list[ContextLine]
    system_prompt: str = Field(description="The recalled text alone; already the first of messages, unless empty.")
    memory_tokens: int
    total_tokens: int
    percent_used: float | None = Field(description="Of contextWindow, per cent; null when none was given.")
    stage: Literal["none", "stage1", "stage2"]
    included: Included
    missing: list[str] = Field(description="Parts that could not be had at the moment.")
    trimmed: int = Field(description="Messages left out to fit the window.")

    @classmethod
    def of(cls, opening: Opening) -> ContextAnswer:
        """Return a context as it goes over the wire."""
        included = Included(memories=list(opening.memory_ids), facts=[], summary=None, retrieved=[])
        return cls(
            messages=[ContextLine.of(said) for said in opening.messages],
            system_prompt=opening.system_prompt,
            memory_tokens=opening.memory_tokens,
            total_tokens=opening.total_tokens,
            percent_used=opening.percent_used,
            stage="none",
            included=included,
            missing=[],
            trimmed=0,
        )
