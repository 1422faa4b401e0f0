"""What the loop may ask of a worker, and what apps may put on the intake queue.

Payloads carry ids, never text, and forbid unknown fields; a new field needs a default so that the previous release's
messages still parse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from shared.contracts.values import LARGEST_INTEGER, Id, Words


class JobKind(StrEnum):
    """Kinds of background work; a closed set, so it can label a metric."""

    CREATE_MEMORY = "create_memory"
    EXTRACT_FACTS = "extract_facts"
    SUMMARISE = "summarise"
    EMBED_MESSAGES = "embed_messages"
    INDEX_MESSAGES = "index_messages"
    """Brings messages into the indexes that were said before there were any, or whose index was lost."""
    COMPRESS_SESSION = "compress_session"
    COMPOSE_CONTEXT = "compose_context"
    LEARN_FROM_SESSIONS = "learn_from_sessions"
    END_CONVERSATION = "end_conversation"
    """Only ever seen as a dead letter: an intake message that could not be carried out."""
    DELIVER_WEBHOOK = "deliver_webhook"


class Queue(StrEnum):
    """Celery queues, one a kind of work."""

    MEMORY = "memory"
    INTAKE = "intake"
    DELIVERY = "delivery"


class Track(StrEnum):
    """What work competes for: jobs of one app on one track are carried out one after the other."""

    THOUGHT = "thought"
    """Work that costs energy."""
    DELIVERY = "delivery"
    """Work that costs none."""


CREATE_MEMORY_TASK = "afterthought.create_memory"
EXTRACT_FACTS_TASK = "afterthought.extract_facts"
SUMMARISE_TASK = "afterthought.summarise"
EMBED_MESSAGES_TASK = "afterthought.embed_messages"
INDEX_MESSAGES_TASK = "afterthought.index_messages"
COMPRESS_SESSION_TASK = "afterthought.compress_session"
COMPOSE_CONTEXT_TASK = "afterthought.compose_context"
LEARN_FROM_SESSIONS_TASK = "afterthought.learn_from_sessions"
END_CONVERSATION_TASK = "afterthought.end_conversation"
DELIVER_WEBHOOK_TASK = "afterthought.deliver_webhook"
CANARY_TASK = "afterthought.canary"

ROUTES: dict[JobKind, tuple[str, Queue]] = {
    JobKind.CREATE_MEMORY: (CREATE_MEMORY_TASK, Queue.MEMORY),
    JobKind.EXTRACT_FACTS: (EXTRACT_FACTS_TASK, Queue.MEMORY),
    JobKind.SUMMARISE: (SUMMARISE_TASK, Queue.MEMORY),
    JobKind.EMBED_MESSAGES: (EMBED_MESSAGES_TASK, Queue.MEMORY),
    JobKind.INDEX_MESSAGES: (INDEX_MESSAGES_TASK, Queue.MEMORY),
    JobKind.COMPRESS_SESSION: (COMPRESS_SESSION_TASK, Queue.MEMORY),
    JobKind.COMPOSE_CONTEXT: (COMPOSE_CONTEXT_TASK, Queue.MEMORY),
    JobKind.LEARN_FROM_SESSIONS: (LEARN_FROM_SESSIONS_TASK, Queue.MEMORY),
    JobKind.DELIVER_WEBHOOK: (DELIVER_WEBHOOK_TASK, Queue.DELIVERY),
}
"""The task and the queue of each kind that is dispatched."""

MEMORY_PRIORITY = 7
"""Memory work is of low priority: 0 is first, 9 is last."""
INDEX_PRIORITY = 8
"""Work on the indexes comes after it: words find what has no vector yet. No other work has this priority."""
SESSION_PRIORITY = 9
"""Work on recorded sessions gives way to all other work of its app."""


class JobMessage(BaseModel):
    """Asks a worker to begin one job."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    job_id: Annotated[Id, Field(max_length=40)]
    fence: int = Field(ge=1, le=LARGEST_INTEGER)


class EndConversation(BaseModel):
    """An app that speaks Celery ends a conversation."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)

    app_id: Annotated[Id, Field(max_length=100)]
    conversation_id: Id
    reason: Annotated[Words, Field(max_length=500)] | None = None


def wrong_fields(message: type[BaseModel], problems: Iterable[Mapping[str, Any]]) -> str:
    """Return the names of the fields that are wrong; a name of the sender's own is text, and is not repeated."""
    ours = {name for field in message.model_fields.items() for name in (field[0], field[1].alias)}
    return ", ".join(dict.fromkeys(_named(problem["loc"], ours) for problem in problems))


def _named(location: Sequence[int | str], ours: set[str | None]) -> str:
    first = str(location[0]) if location else "message"
    return first if first in ours or first == "message" else "a field that is not known"
