"""A small installation inside the test process: a real database, a frozen clock, an agent of the test's choice.

The queue is left out: ``work_off`` hands the jobs that the relay would send straight to the pipeline.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import redis
from prometheus_client import CollectorRegistry

from loop.steps.due_jobs import EnqueueEmbedding
from shared.apps.models import App, Erasure
from shared.apps.queries import get_app, install
from shared.base.choices import Category
from shared.base.errors import ModelOutput, Transient
from shared.base.settings import Tuning
from shared.contracts.jobs import JobKind, JobMessage
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, end, start
from shared.conversations.queries import lock_conversation
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.erasure.erasing import erase_app, erase_conversation, purge_memories
from shared.facts import queries as fact_queries
from shared.facts.models import Fact
from shared.jobs import dispatch, ownership
from shared.jobs.models import Job, JobState
from shared.jobs.ownership import Claim, Owner
from shared.jobs.queries import JobFilter, get_job, list_jobs
from shared.llm.calls import CallEstimate, CallOutcome, Meter, ModelCall, WorkKind
from shared.llm.embedding import Embedder, NgramEmbedder
from shared.memories.compaction import Action, CompactionCandidate, Decision
from shared.memories.models import Memory
from shared.memories.queries import list_memories
from shared.telemetry.metrics import Metrics
from tests.support.clock import FrozenClock
from tests.support.settings import default_settings
from worker.agent.protocol import (
    Digest,
    Extraction,
    ExtractionRequest,
    MemoryAgent,
    MemoryDraft,
    NothingToRemember,
    RulesBehind,
    Statement,
    SummaryRequest,
    Transcript,
    TranscriptTurn,
)
from worker.pipelines.attempt import Attempts, JobFailed, Pipeline
from worker.pipelines.create_memory import CreateMemory
from worker.pipelines.embed_messages import EmbedMessages
from worker.pipelines.extract_facts import ExtractFacts
from worker.pipelines.index_messages import IndexMessages
from worker.pipelines.summarise import Summarise

PRICES = default_settings(
    price_prompt_token=0.01,
    price_completion_token=0.05,
    compaction_price_factor=1.5,
    small_model_price_factor=1.0,
    embedding_price_factor=1.0,
)
Says = str | BaseException | NothingToRemember
Decides = Decision | BaseException | Callable[[Sequence[CompactionCandidate], CompactionCandidate], Decision]


@dataclass
class ScriptedAgent:
    """An agent that says what it is told to; by default it repeats the first user turn and deletes the oldest."""

    database: Database
    name: str = "ollama:scripted"
    says: list[Says] = field(default_factory=list)
    decides: list[Decides] = field(default_factory=list)
    asks: bool = True
    """Whether it takes a call to say it."""
    while_thinking: Callable[[], None] = lambda: None
    seen: list[Transcript] = field(default_factory=list)

    def create(self, transcript: Transcript, limit: int, meter: Meter) -> MemoryDraft | NothingToRemember:
        said = self.says.pop(0) if self.says else transcript.turns[0].content
        self._think(WorkKind.CREATE, meter, said)
        self.seen.append(transcript)
        if isinstance(said, BaseException):
            raise said
        ids = tuple(turn.message_id for turn in transcript.turns)
        return said if isinstance(said, NothingToRemember) else MemoryDraft(said[:limit], 5, ("tag",), ids)

    def compact(
        self, existing: Sequence[CompactionCandidate], new: CompactionCandidate, limit: int, meter: Meter
    ) -> Decision:
        decided = self.decides.pop(0) if self.decides else Decision(Action.DELETE, existing[0].id, "it is the oldest")
        self._think(WorkKind.COMPACT, meter, decided)
        if isinstance(decided, BaseException):
            raise decided
        return decided(existing, new) if callable(decided) else decided

    def _think(self, kind: WorkKind, meter: Meter, said: object) -> None:
        assert not self.database.is_held_here, "a transaction is open while the agent thinks"
        if self.asks:
            call_once(kind, self.name, meter, said)
        self.while_thinking()


def call_once(kind: WorkKind, model: str, meter: Meter, said: object) -> None:
    """Have a call metered as it ends: with an answer, a bad one, or none because the model is away."""
    meter.reserve(CallEstimate(kind, model, 900, 100, 800))
    if isinstance(said, Transient):
        meter(ModelCall(kind, model, 0, 0, True, CallOutcome.UNAVAILABLE, 0.5))
    else:
        outcome = CallOutcome.MALFORMED if isinstance(said, ModelOutput) else CallOutcome.ANSWERED
        meter(ModelCall(kind, model, 800, 60, False, outcome, 0.5))


@dataclass
class ScriptedFactAgent:
    """An agent that takes each user turn for a fact, unless it is told what to say.

    A turn that begins with a category and a colon is of that category.
    """

    database: Database
    name: str = "ollama:scripted"
    says: list[Extraction | BaseException] = field(default_factory=list)
    reads: int | None = None
    """Most turns it reads at once."""
    while_thinking: Callable[[], None] = lambda: None
    seen: list[ExtractionRequest] = field(default_factory=list)

    def extract(self, segment: ExtractionRequest, meter: Meter) -> Extraction:
        assert not self.database.is_held_here, "a transaction is open while the agent thinks"
        said = self.says.pop(0) if self.says else None
        call_once(WorkKind.EXTRACT, self.name, meter, said)
        self.while_thinking()
        self.seen.append(segment)
        if isinstance(said, BaseException):
            raise said
        read = segment.turns[: self.reads]
        return said or Extraction(tuple(_as_statement(turn) for turn in read if turn.role == "user"), len(read))


def _as_statement(turn: TranscriptTurn) -> Statement:
    name, colon, text = turn.content.partition(": ")
    named = bool(colon) and name in set(Category)
    category = Category(name) if named else Category.PROJECT
    return Statement(text if named else turn.content, category, (turn.message_id,))


@dataclass
class ScriptedSummaryAgent:
    """An agent whose points are the turns, unless it is told what to say."""

    database: Database
    name: str = "ollama:scripted"
    says: list[Digest | BaseException] = field(default_factory=list)
    reads: int | None = None
    """Most turns it reads at once."""
    while_thinking: Callable[[], None] = lambda: None
    seen: list[SummaryRequest] = field(default_factory=list)

    def summarise(self, span: SummaryRequest, meter: Meter) -> Digest:
        assert not self.database.is_held_here, "a transaction is open while the agent thinks"
        said = self.says.pop(0) if self.says else None
        call_once(WorkKind.SUMMARISE, self.name, meter, said)
        self.while_thinking()
        self.seen.append(span)
        if isinstance(said, BaseException):
            raise said
        read = span.turns[: self.reads]
        return said or Digest(tuple(turn.content for turn in read), len(read))


class House:
    def __init__(
        self, url: str, agent: MemoryAgent | None = None, cap: int = 10, embedder: Embedder | None = None
    ) -> None:
        self.database = Database(url)
        self.clock = FrozenClock()
        self.registry = CollectorRegistry()
        self.metrics = Metrics(self.registry)
        self.scripted = ScriptedAgent(self.database)
        self.settings = PRICES.model_copy(update={"facts": False, "lease_seconds": 60.0})
        self.accountant = Accountant(self.database, self.clock, PRICES, self.metrics, 85.0)
        self.pipeline = CreateMemory(
            self.database, self.clock, agent or self.scripted, self.accountant, cap, 200, self.metrics
        )

        self.fact_agent = ScriptedFactAgent(self.database)
        self.summary_agent = ScriptedSummaryAgent(self.database)
        self.tuning = Tuning()
        self.embedder = embedder or NgramEmbedder()
        self.former_embedders: dict[str, Embedder] = {}
        """By name, those that can still be had beside the one in force."""
        self.embed_batch = 8
        self.rules = RulesBehind()
        """Nothing stands behind the agents, so that what they raise is seen."""

    def pipeline_of(self, kind: str) -> Pipeline:
        if kind == JobKind.SUMMARISE:
            how = (self.summary_agent, self.embedder, self.accountant)
            return Summarise(self.database, self.clock, *how, self.metrics, 5, self.tuning, self.rules.summaries)
        if kind == JobKind.EMBED_MESSAGES:
            how = (self.embedder, self.accountant, self.metrics, self.embed_batch)
            return EmbedMessages(self.database, self.clock, *how, self.former_embedders.get)
        if kind == JobKind.INDEX_MESSAGES:
            return IndexMessages(self.database, self.clock, self.metrics)
        if kind == JobKind.CREATE_MEMORY:
            self.pipeline.rules = self.rules.memories
            return self.pipeline
        if kind != JobKind.EXTRACT_FACTS:
            raise LookupError(f"A house does no jobs of the kind {kind}.")
        thinks = (self.fact_agent, self.embedder, self.accountant)
        return ExtractFacts(self.database, self.clock, *thinks, self.metrics, self.settings, self.rules.facts)

    def install(self, app_id: str = "notes") -> App:
        with self.database.write() as session:
            return install(session, app_id, app_id.title(), {}, self.clock.now())

    def converse(
        self, app_id: str, conversation_id: str, *said: str, user_id: str | None = None, said_at: datetime | None = None
    ) -> list[Job]:
        """Open a conversation, say something (user and assistant in turn) and end it, a second after the last."""
        self.clock.advance(1)
        now = self.clock.now()
        roles = (Role.USER, Role.ASSISTANT)
        messages = [
            NewMessage(roles[i % 2], text, f"{conversation_id}-m{i}", created_at=said_at) for i, text in enumerate(said)
        ]
        with self.database.write() as session:
            app = get_app(session, app_id)
            start(session, app_id, NewConversation(conversation_id, user_id), now)
            conversation = lock_conversation(session, app_id, conversation_id)
            append_messages(session, conversation, messages, now, fact_settings=self.settings)
            return end(session, conversation, app.purge_epoch, "finished", now, fact_settings=self.settings)

    def claims(self, limit: int = 100) -> Iterable[Claim]:
        """Lease and claim what is due, as relay and worker would."""
        with self.database.write() as session:
            sent = dispatch.take_due(session, self.clock.now(), limit, 60)
        return [claim for one in sent if (claim := self.claim(JobMessage(job_id=one.job_id, fence=one.fence)))]

    def claim(self, message: JobMessage, owner: str = "node/1") -> Claim | None:
        now = self.clock.now()
        with self.database.write() as session:
            who = Owner(owner, lambda _: False)
            return ownership.claim(session, message.job_id, message.fence, who, now + timedelta(seconds=60), now)

    def attempt(self, message: JobMessage) -> None:
        """Carry out one delivery as a worker would, with nobody listening for news."""
        owner = Owner("node/1", lambda _: False)
        with redis.Redis.from_url("redis://127.0.0.1:1/0", socket_connect_timeout=0.1) as nobody:
            attempts = Attempts(self.database, self.clock, owner, self.settings, self.metrics, nobody)
            with contextlib.suppress(JobFailed):
                with self.database.read() as session:
                    kind = JobKind(get_job(session, message.job_id).kind)
                attempts.run(message, kind, self.pipeline_of(kind))

    def ask_for_vectors(self) -> bool:
        return self.vector_step().run()

    def vector_step(self) -> EnqueueEmbedding:
        return EnqueueEmbedding(self.database, self.clock, self.embedder.name, 5)

    def embed(self) -> list[JobState]:
        """Ask for vectors and carry out every job, as often as there is anything to ask for."""
        states: list[JobState] = []
        while self.ask_for_vectors():
            states += self.work_off()
        return states

    def work_off(self) -> list[JobState]:
        """Carry out every due job, app by app in turn."""
        states: list[JobState] = []
        while claims := list(self.claims()):
            states += [self.pipeline_of(claim.kind)(claim) for claim in claims]
        return states

    def counted(self, name: str, **labels: str) -> float | None:
        """Return what a series of the metrics stands at; None for one that does not exist."""
        return self.registry.get_sample_value(f"afterthought_{name}", labels)

    def deliver(self) -> int:
        """Attempt what is due, as workers would; return how many jobs that were."""
        with self.database.write() as session:
            sent = dispatch.take_due(session, self.clock.now(), 100, 60)
        for one in sent:
            self.attempt(JobMessage(job_id=one.job_id, fence=one.fence))
        return len(sent)

    def purge(self, app_id: str = "notes", user_id: str | None = None) -> Erasure:
        with self.database.write() as session:
            return purge_memories(session, app_id, "admin", self.clock.now(), user_id)

    def erase_app(self, app_id: str = "notes") -> Erasure:
        with self.database.write() as session:
            return erase_app(session, app_id, "admin", self.clock.now())

    def erase(self, conversation_id: str = "c1", app_id: str = "notes") -> Erasure:
        with self.database.write() as session:
            return erase_conversation(session, app_id, conversation_id, "admin", self.clock.now())

    def memories(self, app_id: str = "notes") -> list[Memory]:
        with self.database.read() as session:
            return list(list_memories(session, app_id, None, 1000))

    def facts(self, app_id: str = "notes") -> list[Fact]:
        with self.database.read() as session:
            return list(fact_queries.list_facts(session, app_id, fact_queries.FactFilter(), 10_000, 0))

    def contents(self, app_id: str = "notes") -> list[str]:
        return [memory.content for memory in self.memories(app_id)]

    def jobs(self, **wanted: str) -> list[Job]:
        with self.database.read() as session:
            return list(list_jobs(session, JobFilter(**wanted), 200))  # type: ignore[arg-type]


__all__ = ["PRICES", "House", "ScriptedAgent"]
