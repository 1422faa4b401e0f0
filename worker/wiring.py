"""The only place where a worker's objects are built, once per pool process."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from shared.apps.queries import lock_budgets
from shared.broker import connect_redis
from shared.clock import Clock, SystemClock
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.energy.budget import prices_of
from shared.events.addresses import guard_of
from shared.llm.providers import make_chat
from shared.outbox.ownership import Owner
from shared.outbox.retry import RetryRule
from shared.presence import is_gone
from shared.settings import Settings
from shared.telemetry.metrics import Metrics
from worker.agent.extractive import ExtractiveAgent
from worker.agent.model_agent import ModelAgent
from worker.agent.protocol import MemoryAgent
from worker.courier import Courier
from worker.pipelines.attempt import Attempts, Timing
from worker.pipelines.create_memory import CreateMemory
from worker.pipelines.deliver_webhook import DeliverWebhook
from worker.pipelines.end_conversation import EndConversationByMessage


@dataclass(frozen=True)
class Wired:
    """What the tasks call."""

    database: Database
    attempts: Attempts
    create_memory: CreateMemory
    end_conversation: EndConversationByMessage
    deliver_webhook: DeliverWebhook
    metrics: Metrics


def wire(settings: Settings, metrics: Metrics, node: str, clock: Clock | None = None) -> Wired:
    """Build everything a pool process needs."""
    clock = clock or SystemClock()
    database = Database(settings.database, pool_size=2)
    news = connect_redis(settings)
    rule = retry_rule(settings)
    owner = Owner(f"{node}/{os.getpid()}", lambda name: is_gone(name, node))
    timing = Timing(settings.lease_seconds, settings.heartbeat_seconds)
    longest = settings.task_hard_limit_seconds
    accountant = Accountant(database, clock, prices_of(settings), lock_budgets, metrics, longest)
    return Wired(
        database=database,
        attempts=Attempts(database, clock, owner, rule, timing, metrics, news),
        create_memory=CreateMemory(
            database, clock, build_agent(settings), accountant, settings.memory_cap, settings.memory_max_chars, metrics
        ),
        end_conversation=EndConversationByMessage(database, clock, settings.job_max_attempts, metrics, news),
        deliver_webhook=DeliverWebhook(database, clock, _courier(settings), metrics),
        metrics=metrics,
    )


def _courier(settings: Settings) -> Courier:
    return Courier(guard_of(settings.webhook_internal_hosts), settings.webhook_timeout_seconds)


def build_agent(settings: Settings) -> MemoryAgent:
    """Return the agent of the settings: a model when one is named, else the extractive one."""
    if settings.model is None:
        return ExtractiveAgent()
    chat = make_chat(settings.model, settings.ollama_host, settings.model_context_tokens)
    return ModelAgent(chat, settings.model, settings.model_context_tokens, settings.model_timeout_seconds)


def retry_rule(settings: Settings) -> RetryRule:
    """Return when failed attempts are tried again."""
    return RetryRule(settings.retry_base_seconds, settings.retry_max_seconds)


def node_name(settings: Settings) -> str:
    """Return this worker's name, the same after a restart."""
    return settings.worker_name or f"worker@{socket.gethostname()}"


def make_metrics() -> Metrics:
    """Return this process's metrics, kept in the files chosen before."""
    return Metrics(CollectorRegistry())
