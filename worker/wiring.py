"""The only place where a worker's objects are built, once per pool process."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from prometheus_client import CollectorRegistry

from shared.base.clock import Clock, SystemClock
from shared.base.errors import Configuration
from shared.base.process import is_gone
from shared.base.settings import Settings
from shared.broker import connect_redis
from shared.contracts.jobs import JOB_TYPES, JobKind
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.jobs.ownership import Owner
from shared.llm.calls import EXTRACTIVE
from shared.llm.providers import ModelSize, make_chat, make_embedder
from shared.sessions.store import Store
from shared.telemetry.metrics import Metrics
from shared.telemetry.tracing import Tracing, start_tracing
from worker.agent.fact_rules import ExtractiveFactAgent
from worker.agent.memory_model import ModelAgent
from worker.agent.memory_rules import ExtractiveAgent
from worker.agent.protocol import Agents, CompressionAgent, RulesBehind
from worker.agent.session_model import ModelCompressionAgent, ModelLearningAgent
from worker.agent.session_rules import ExtractiveCompressionAgent, ExtractiveLearningAgent
from worker.agent.summary_model import ExtractiveSummaryAgent, ModelSummaryAgent
from worker.pipelines.attempt import Attempts, Pipeline, WorkerContainer
from worker.pipelines.end_conversation import EndConversationByMessage


@dataclass(frozen=True)
class WorkerServices:
    """What the tasks call."""

    database: Database
    attempts: Attempts
    pipelines: Mapping[JobKind, Pipeline]
    end_conversation: EndConversationByMessage
    metrics: Metrics
    tracing: Tracing


def wire(settings: Settings, metrics: Metrics, node: str, clock: Clock | None = None) -> WorkerServices:
    """Build everything a pool process needs."""
    clock = clock or SystemClock()
    # One for the job, and one for the thread that renews its lease meanwhile.
    database = Database(settings.database, pool_size=2)
    news = connect_redis(settings)
    owner = Owner(f"{node}/{os.getpid()}", lambda name: is_gone(name, node))
    tracing = start_tracing(settings, "afterthought-worker")
    accountant = Accountant(database, clock, settings, metrics, settings.hard_limit_seconds, tracing)
    agents, rules = build_agents(settings), rules_behind(settings)
    container = WorkerContainer(
        settings, database, clock, metrics, accountant, agents, rules, Store(settings.sessions_path)
    )
    return WorkerServices(
        database=database,
        attempts=Attempts(database, clock, owner, settings, metrics, news, tracing),
        pipelines={kind: build_pipeline(kind, container) for kind in JOB_TYPES},
        end_conversation=EndConversationByMessage(database, clock, settings, metrics, news),
        metrics=metrics,
        tracing=tracing,
    )


def build_pipeline(kind: JobKind, container: WorkerContainer) -> Pipeline:
    """Return what carries out jobs of a kind: what ``build`` makes in the module of ``worker.pipelines`` so named."""
    name = f"worker.pipelines.{kind}"
    if find_spec(name) is None:
        raise Configuration(f"No pipeline carries out jobs of kind {kind}: write {name.replace('.', '/')}.py.")
    built: Pipeline = import_module(name).build(container)
    return built


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
