"""What the loop may ask of a worker, and what apps may put on the intake queue.

Payloads carry ids, never text, and forbid unknown fields; a new field needs a default so that the previous release's
messages still parse.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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


class WorkClass(StrEnum):
    """What work competes for: in each, apps take turns."""

    THOUGHT = "thought"
    """Work that waits while energy is out, for most of it costs some."""
    DELIVERY = "delivery"
    """Work that costs none and never waits for energy."""


class ModelNeed(StrEnum):
    """What jobs of a kind cannot do without, where the settings name one of a server's."""

    CHAT = "chat"
    LARGE_CHAT = "large_chat"
    """A chat where it is large; what a small one would be asked, the rules do."""
    EMBEDDING = "embedding"


MEMORY_PRIORITY = 7
"""Memory work is of low priority: 0 is first, 9 is last."""
INDEX_PRIORITY = 8
"""Work on the indexes comes after it: words find what has no vector yet. No other work has this priority."""
INDEX_SEQUENCE = "./index"
"""Of both kinds of work on the indexes, for they mark the same messages. No user can be called so (``UserId``)."""
SESSION_PRIORITY = 9
"""Work on recorded sessions gives way to all other work of its app."""


class JobPayload(BaseModel):
    """What a job names beside its row, as it is stored there; this one is of jobs whose row says it all."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)


class VersionPayload(JobPayload):
    """The version of a recorded session that is to be written."""

    compression: int


class CompositionPayload(JobPayload):
    """The composition that is to be written."""

    composition_key: int


class LearningPayload(JobPayload):
    """The project whose recorded sessions are to be read."""

    project_key: int


class WebhookPayload(JobPayload):
    """Which webhook is told of which event."""

    webhook_id: str
    position: int | None = Field(description="Of the event; none for a test.")


@dataclass(frozen=True)
class JobType:
    """How jobs of one kind are carried. Attempts are the same for all kinds: a setting."""

    queue: Queue = Queue.MEMORY
    priority: int = MEMORY_PRIORITY
    work_class: WorkClass = WorkClass.THOUGHT
    payload: type[JobPayload] = JobPayload
    needs: ModelNeed | None = None
    """None too where it differs from job to job: whether a version needs a model is the version's to say."""


JOB_TYPES: Mapping[JobKind, JobType] = {
    JobKind.CREATE_MEMORY: JobType(needs=ModelNeed.CHAT),
    # The rules do it: what a large model finds comes with the memory (decision 39).
    JobKind.EXTRACT_FACTS: JobType(),
    JobKind.SUMMARISE: JobType(needs=ModelNeed.LARGE_CHAT),
    JobKind.EMBED_MESSAGES: JobType(priority=INDEX_PRIORITY, needs=ModelNeed.EMBEDDING),
    JobKind.INDEX_MESSAGES: JobType(priority=INDEX_PRIORITY),
    JobKind.COMPRESS_SESSION: JobType(priority=SESSION_PRIORITY, payload=VersionPayload),
    JobKind.COMPOSE_CONTEXT: JobType(priority=SESSION_PRIORITY, payload=CompositionPayload),
    JobKind.LEARN_FROM_SESSIONS: JobType(
        priority=SESSION_PRIORITY, payload=LearningPayload, needs=ModelNeed.LARGE_CHAT
    ),
    JobKind.DELIVER_WEBHOOK: JobType(Queue.DELIVERY, 5, WorkClass.DELIVERY, WebhookPayload),
}
"""Every kind that is dispatched, to the pipeline in the module of ``worker.pipelines`` of its name."""
CANARY_TASK = "afterthought.canary"


def task_name(kind: JobKind) -> str:
    return f"afterthought.{kind}"


class JobMessage(BaseModel):
    """Asks a worker to begin one job."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    job_id: Annotated[Id, Field(max_length=40)]
    fence: int = Field(ge=1, le=LARGEST_INTEGER)


class EndConversationMessage(BaseModel):
    """An app that speaks Celery ends a conversation."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)

    app_id: Annotated[Id, Field(max_length=100)]
    conversation_id: Id
    reason: Annotated[Words, Field(max_length=500)] | None = None


def wrong_fields(message: type[BaseModel], problems: Iterable[Mapping[str, Any]]) -> str:
    """Return the names of the fields that are wrong; a name of the sender's own is text, and is not repeated."""
    ours = {name for field in message.model_fields.items() for name in (field[0], field[1].alias)}
    ours.add("message")
    named = (str(problem["loc"][0]) if problem["loc"] else "message" for problem in problems)
    return ", ".join(dict.fromkeys(name if name in ours else "a field that is not known" for name in named))
