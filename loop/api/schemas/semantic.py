"""Semantic memories of a project."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import Field, model_validator

from loop.api.schemas.jobs import JobAnswer
from loop.api.schemas.wire import Answer, Body
from shared.contracts.values import Words
from shared.sessions.models import SemanticKind, SemanticMemory, SemanticSource, SemanticVerdict
from shared.sessions.semantic import MAX_MEMORY_CHARS


class SemanticSourceItem(Answer):
    """Where it was found."""

    session_id: str
    message_uuid: str
    excerpt: str


class SemanticItem(Answer):
    """What sessions of a project have in common, or one of them laid down."""

    id: str
    type: SemanticKind
    content: str
    confidence: float = Field(description="0..1; rises with the sessions that bear it.")
    verdict: SemanticVerdict
    validated_by_user: bool = Field(description="Whether a person confirmed it.")
    decided_by: str | None
    decided_at: datetime | None
    agent: str
    sources: list[SemanticSourceItem]
    extracted_at: datetime

    @classmethod
    def of(cls, one: SemanticMemory, sources: Sequence[tuple[SemanticSource, str]]) -> SemanticItem:
        """Return a memory as it goes over the wire; ``sources`` may hold those of others."""
        return cls(
            id=one.memory_id,
            type=SemanticKind(one.kind),
            content=one.content,
            confidence=one.confidence,
            verdict=SemanticVerdict(one.verdict),
            validated_by_user=one.verdict == SemanticVerdict.CONFIRMED,
            decided_by=one.decided_by,
            decided_at=one.decided_at,
            agent=one.agent,
            sources=[
                SemanticSourceItem(session_id=session_id, message_uuid=source.message_uuid, excerpt=source.excerpt)
                for source, session_id in sources
                if source.memory_key == one.key
            ],
            extracted_at=one.extracted_at,
        )


class SemanticList(Answer):
    """A project's semantic memories, newest first."""

    memories: list[SemanticItem]
    sessions_learnt: int = Field(description="Sessions that were learnt from as they are now.")
    sessions: int
    cursor: str | None


class JudgeMemory(Body):
    """What a person says of it."""

    verdict: SemanticVerdict | None = None
    content: Annotated[Words, Field(min_length=1, max_length=MAX_MEMORY_CHARS)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> JudgeMemory:
        if self.verdict is None and self.content is None:
            raise ValueError("give verdict, content, or both")
        return self


class LearningAsked(Answer):
    """The job that learns."""

    project_id: str
    job: JobAnswer
