"""What a conversation starts with."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictInt

from loop.api.schemas.conversations import SentMessage
from loop.api.schemas.wire import MOST_TOKENS, Answer, Body, Tokens
from shared.context.budgets import DEFAULT_RESERVE, TokenSource
from shared.context.context import ConversationContext
from shared.context.recall import CompactionStage
from shared.context.window import Utterance
from shared.contracts.values import Id, Words
from shared.conversations.chat_message import ChatMessage, role_of, text_of


class ContextMessage(ChatMessage):
    """A message of the conversation so far, as OpenAI's or Anthropic's chat programs have it."""

    tokens: Tokens | None = Field(None, alias="tokens", description="Its length as your model's provider counted it.")

    def as_said(self) -> Utterance:
        """Return it as the domain takes it."""
        sent = self.sent
        return Utterance(role_of(sent), text_of(sent), self.name or None, self.tokens, self.payload)


class AskContext(Body):
    """Asks for the context of a conversation. ``messages`` stand for those stored under ``conversationId``."""

    conversation_id: Id | None = None
    user_id: Annotated[Words, Field(min_length=1, max_length=200)] | None = Field(
        None,
        description="Who speaks, where no conversation is named: that is its own user's, and no other may be named.",
    )
    message: str | None = Field(None, description="What the user says now; comes last.")
    messages: Annotated[list[ContextMessage], Field(max_length=10_000)] | None = None
    model: Annotated[str, Field(max_length=200)] | None = Field(
        None, description="The model whose tokens are meant, as ollama:NAME or NAME; lengths are reckoned as it counts."
    )
    context_window: Annotated[StrictInt, Field(ge=1, le=MOST_TOKENS)] | None = Field(
        None, description="The model's window, tokens; the context is compacted so that it fits."
    )
    reserve: Tokens | None = Field(
        None, description=f"Tokens of the window to leave for the answer; {DEFAULT_RESERVE} when not given."
    )
    token_budget: Tokens | None = Field(None, description="Most tokens for what is recalled.")


class Included(Answer):
    """What was recalled, by id."""

    memories: list[int]
    facts: list[int]
    summary: str | None = Field(description="The newest summary that is in it; null where all it covers is shown.")
    profile: bool = Field(description="Whether the user's profile is in it; never without their consent.")
    retrieved: list[str] = Field(description="Ids of earlier messages, the most to the point first.")


class ContextAnswer(Answer):
    """The messages to send, the recalled text first as a system message, and what they amount to."""

    messages: list[SentMessage]
    system_prompt: str = Field(description="The recalled text alone; already the first of messages, unless empty.")
    memory_tokens: int
    total_tokens: int
    percent_used: float | None = Field(description="Of contextWindow, per cent; null when none was given.")
    stage: CompactionStage = Field(description="How far it was compacted.")
    included: Included
    missing: list[str] = Field(description="Parts that could not be had at the moment.")
    degraded: list[str] = Field(
        description="What the search for earlier messages had to do without: words, vectors, embedding."
    )
    trimmed: int = Field(description="Messages left out to fit the window.")
    cut: bool = Field(description="Whether a message was shortened, because it alone exceeds the window.")
    token_source: TokenSource = Field(
        description="The least certain figure used: the provider's, one calibrated for the model, or an estimate."
    )

    @classmethod
    def of(cls, opening: ConversationContext) -> ContextAnswer:
        """Return a context as it goes over the wire."""
        included = Included(
            memories=list(opening.memory_ids),
            facts=list(opening.fact_ids),
            summary=opening.summary_id,
            profile=opening.profile,
            retrieved=list(opening.retrieved_ids),
        )
        return cls(
            messages=[said.sent for said in opening.messages],
            system_prompt=opening.system_prompt,
            memory_tokens=opening.memory_tokens,
            total_tokens=opening.total_tokens,
            percent_used=opening.percent_used,
            stage=opening.stage,
            included=included,
            missing=list(opening.missing),
            degraded=list(opening.degraded),
            trimmed=opening.trimmed,
            cut=opening.cut,
            token_source=opening.token_source,
        )
