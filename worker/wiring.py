"""The only place where a worker's objects are built, once per pool process."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from prometheus_client import CollectorRegistry

from shared.base.clock import Clock, SystemClock
from shared.base.errors import Configuration
from shared.base.process import is_gone
from shared.base.settings import Settings
from shared.broker import connect_redis
from shared.contracts.jobs import JOB_TYPES, JobKind
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.events.addresses import guard_of
from shared.jobs.ownership import Owner
from shared.llm.calls import EXTRACTIVE
from shared.llm.embedding import Embedder
from shared.llm.providers import ModelSize, make_chat, make_embedder, make_embedder_by_name
from shared.search.tuning import tuning_of
from shared.sessions.store import Store
from shared.telemetry.metrics import Metrics
from shared.telemetry.tracing import Tracing, start_tracing
from worker.agent.fact_rules import ExtractiveFactAgent
from worker.agent.memory_model import ModelAgent
from worker.agent.memory_rules import ExtractiveAgent
from worker.agent.protocol import CompressionAgent, FactAgent, LearningAgent, MemoryAgent, SummaryAgent
from worker.agent.session_model import ModelCompressionAgent, ModelLearningAgent
from worker.agent.session_rules import ExtractiveCompressionAgent, ExtractiveLearningAgent
from worker.agent.summary_model import ExtractiveSummaryAgent, ModelSummaryAgent
from worker.pipelines.attempt import Attempts, Pipeline
from worker.pipelines.compose_context import ComposeContext
from worker.pipelines.compress_session import CompressSession
from worker.pipelines.create_memory import CreateMemory
from worker.pipelines.deliver_webhook import DeliverWebhook
from worker.pipelines.embed_messages import EmbedMessages
from worker.pipelines.end_conversation import EndConversationByMessage
from worker.pipelines.extract_facts import ExtractFacts, FactLearner
from worker.pipelines.index_messages import IndexMessages
from worker.pipelines.learn_from_sessions import LearnFromSessions
from worker.pipelines.summarise import Summarise
from worker.webhook_client import WebhookClient


@dataclass(frozen=True)
class Wired:
    """What the tasks call."""

    database: Database
    attempts: Attempts
    pipelines: Mapping[JobKind, Pipeline]
    end_conversation: EndConversationByMessage
    metrics: Metrics
    tracing: Tracing

    def __post_init__(self) -> None:
        missing = ", ".join(JOB_TYPES.keys() - self.pipelines.keys())
        if missing:
            raise Configuration(f"No pipeline carries out jobs of kind {missing}: add one to worker/wiring.py.")


def wire(settings: Settings, metrics: Metrics, node: str, clock: Clock | None = None) -> Wired:
    """Build everything a pool process needs."""
    clock = clock or SystemClock()
    database = Database(settings.database, pool_size=2)
    news = connect_redis(settings)
    owner = Owner(f"{node}/{os.getpid()}", lambda name: is_gone(name, node))
    longest = settings.hard_limit_seconds
    tracing = start_tracing(settings, "afterthought-worker")
    accountant = Accountant(database, clock, settings, metrics, longest, tracing)
    agents, rules, store = build_agents(settings), rules_behind(settings), Store(settings.sessions_path)
    webhooks = WebhookClient(guard_of(settings.webhook_internal_hosts), settings.webhook_timeout_seconds)
    cap, limit, attempts = settings.memory_cap, settings.memory_max_chars, settings.job_max_attempts
    facts = FactLearner(clock, agents.embedder, metrics) if settings.facts else None
    create = CreateMemory(database, clock, agents.memories, accountant, cap, limit, metrics, rules.memories, facts)
    extract = ExtractFacts(database, clock, agents.facts, agents.embedder, accountant, metrics, settings, rules.facts)
    summarise = Summarise(
        database, clock, agents.summaries, agents.embedder, accountant, metrics, attempts, tuning_of(settings),
        rules.summaries,
    )  # fmt: skip
    return Wired(
        database=database,
        attempts=Attempts(database, clock, owner, settings, metrics, news, tracing),
        pipelines={
            JobKind.CREATE_MEMORY: create,
            JobKind.EXTRACT_FACTS: extract,
            JobKind.SUMMARISE: summarise,
            JobKind.EMBED_MESSAGES: _embed_messages(settings, database, clock, agents.embedder, accountant),
            JobKind.INDEX_MESSAGES: IndexMessages(database, clock, metrics),
            JobKind.COMPRESS_SESSION: CompressSession(
                database, clock, agents.sessions.get, store, accountant, metrics, rules=rules.sessions
            ),
            JobKind.COMPOSE_CONTEXT: ComposeContext(database, clock, store, metrics, settings),
            JobKind.LEARN_FROM_SESSIONS: LearnFromSessions(
                database, clock, agents.learning, store, accountant, metrics, rules=rules.learning
            ),
            JobKind.DELIVER_WEBHOOK: DeliverWebhook(database, clock, webhooks, metrics, settings),
        },
        end_conversation=EndConversationByMessage(database, clock, settings, metrics, news),
        metrics=metrics,
        tracing=tracing,
    )


def _embed_messages(
    settings: Settings, database: Database, clock: Clock, embedder: Embedder, accountant: Accountant
) -> EmbedMessages:
    @cache
    def former(name: str) -> Embedder | None:
        return make_embedder_by_name(name, settings, settings.model_timeout_seconds, in_background=True)

    return EmbedMessages(database, clock, embedder, accountant, accountant.metrics, settings.embed_batch, former)


@dataclass(frozen=True)
class Agents:
    """The agents for memories, facts, summaries and recorded sessions, and the embedder."""

    memories: MemoryAgent
    facts: FactAgent
    summaries: SummaryAgent
    sessions: Mapping[str, CompressionAgent]
    """By name: a version says by whom it is to be made."""
    learning: LearningAgent
    embedder: Embedder


def build_agents(settings: Settings) -> Agents:
    """Return the agents of the settings: a model when one is named, else the extractive ones."""
    seconds = settings.model_timeout_seconds
    embedder = make_embedder(settings.embedding, settings, seconds, in_background=True)
    sessions: dict[str, CompressionAgent] = {EXTRACTIVE: ExtractiveCompressionAgent()}
    if settings.model is None:
        return Agents(
            ExtractiveAgent(), ExtractiveFactAgent(), ExtractiveSummaryAgent(), sessions, ExtractiveLearningAgent(),
            embedder,
        )  # fmt: skip
    chat, limits = make_chat(settings.model, settings), (settings.model_context_tokens, settings.model_timeout_seconds)
    how = (chat, settings.model, *limits, ModelSize(settings.model, settings).is_small, settings.shortened_languages)
    sessions[settings.model] = ModelCompressionAgent(*how)
    # Facts are the statements themselves; what a large model finds beside them it finds in the talk it reads anyway.
    return Agents(
        ModelAgent(*how), ExtractiveFactAgent(), ModelSummaryAgent(*how), sessions, ModelLearningAgent(*how), embedder
    )


@dataclass(frozen=True)
class RulesBehind:
    """The agents that do what a model could not; none where such a job is to be a dead letter."""

    memories: MemoryAgent | None = None
    facts: FactAgent | None = None
    summaries: SummaryAgent | None = None
    sessions: CompressionAgent | None = None
    learning: LearningAgent | None = None


def rules_behind(settings: Settings) -> RulesBehind:
    """Return the agents that stand behind a model's."""
    if settings.on_bad_output == "dead_letter":
        return RulesBehind()
    return RulesBehind(
        ExtractiveAgent(), ExtractiveFactAgent(), ExtractiveSummaryAgent(), ExtractiveCompressionAgent(),
        ExtractiveLearningAgent(),
    )  # fmt: skip


def node_name(settings: Settings) -> str:
    """Return this worker's name, the same after a restart."""
    return settings.worker_name or f"worker@{socket.gethostname()}"


def make_metrics() -> Metrics:
    """Return this process's metrics, kept in the files chosen before."""
    return Metrics(CollectorRegistry())
