"""The catalogue of everything that is counted while it happens.

Labels are closed sets, and every series is touched once at the start so that it stands at zero before anything
happens. What can be read from the database at scrape time (levels, depths, ages) is not here but in the loop.
``docs/reference/metrics.md`` is generated from this catalogue.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import product
from typing import cast

from prometheus_client import CollectorRegistry, Counter, Histogram

from shared.contracts.jobs import JobKind
from shared.contracts.values import DeliveryOutcome, EventKind
from shared.llm.calls import EXTRACTIVE, CallOutcome, WorkKind
from shared.text.gate import Refusal as RefusedText

_SHORT = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_RATIO = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
_LONG = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200)


class AgentKind(StrEnum):
    """Who wrote something, as a bounded label."""

    MODEL = "model"
    EXTRACTIVE = "extractive"
    BY_HAND = "by_hand"


class CompactionReason(StrEnum):
    """Why room was made the way it was."""

    AGENT = "agent"
    MODEL_FAILED = "model_failed"
    INVALID_DECISION = "invalid_decision"
    OVER_BUDGET = "over_budget"
    SNAPSHOT_CHANGED = "snapshot_changed"
    BY_HAND = "by_hand"


class MergedBy(StrEnum):
    """How a repeated fact was recognised."""

    TEXT = "text"
    EMBEDDING = "embedding"


class FactRemoval(StrEnum):
    """Why a fact went."""

    EVICTED = "evicted"
    EXPIRED = "expired"
    DELETED = "deleted"
    CLEARED = "cleared"
    ERASED = "erased"


class CompactionOutcome(StrEnum):
    """How room was made; a closed set, so it can label a metric."""

    DELETED = "deleted"
    MERGED = "merged"
    OLDEST_WENT = "oldest_went"
    LEAST_WENT = "least_went"
    """The least valuable gave its place to what a person wrote or restored."""
    NEW_GAVE_WAY = "new_gave_way"


class CompactionStage(StrEnum):
    """How far a context was compacted; a closed set, so it can label a metric."""

    NONE = "none"
    TRIMMED = "stage1"
    """The middle of the conversation went."""
    REDUCED = "stage2"
    """What is recalled was reduced too, and more was dropped where even that was too long."""


class FocusKind(StrEnum):
    """Why the loop thinks about something; a closed set, so it can label a metric."""

    UNANSWERED = "unanswered"
    """The oldest message that waits for an answer."""
    REVIEW = "review"
    """What happened lately in one app."""
    SELECTED = "selected"
    """A conversation that a review found worth a closer look."""


class TurnOutcome(StrEnum):
    """What a turn came to; a closed set, so it can label a metric."""

    ANSWERED = "answered"
    DRAFTED = "drafted"
    ENDED = "ended"
    SNOOZED = "snoozed"
    SELECTED = "selected"
    AWAITING = "awaiting"
    NOTHING = "nothing"
    STALE = "stale"
    OVER_BUDGET = "over_budget"
    FAILED = "failed"


class ToolOutcome(StrEnum):
    """What became of a tool call; a closed set, so it can label a metric."""

    CARRIED_OUT = "carried_out"
    IN_PROSE = "in_prose"
    """Carried out, though the model only wrote of it."""
    INVALID = "invalid"
    UNKNOWN_TOOL = "unknown_tool"
    UNKNOWN_CONVERSATION = "unknown_conversation"
    ENDED = "ended"
    STALE = "stale"
    DUPLICATE = "duplicate"


SESSION_SOURCES = ("path", "upload", "scan", "archive")
VERSION_REMOVALS = ("by_hand", "retention", "decay")
CONTEXT_PARTS = ("memories", "facts", "summary", "profile", "retrieved")
ASKERS = ("search", "context")
FORGOTTEN_ROWS = (
    "jobs", "dead_letters", "energy_ledger", "memory_history", "fact_history", "idempotency_keys", "retrievals",
    "events",
)  # fmt: skip
"""What goes with age, or is folded into sums; closed, so it can label a metric."""
SEARCH_STAGES = ("total", "embed", "words", "dense", "rank")
DEGRADED_PARTS = ("words", "vectors", "embedding")


THINKING_JOBS = (
    JobKind.CREATE_MEMORY, JobKind.EXTRACT_FACTS, JobKind.SUMMARISE, JobKind.COMPRESS_SESSION,
    JobKind.LEARN_FROM_SESSIONS,
)  # fmt: skip
"""Kinds of jobs that an agent does: a model's, or the rules'."""


class Refusal(StrEnum):
    """Why a request was not done."""

    IN_FLIGHT = "in_flight"
    """Its app has too many in flight."""
    TURN = "turn"
    """It waited too long for its turn among its app's costly ones."""
    LEFT = "left"
    """Its client left while it waited, or while its search was at work."""


class Takeover(StrEnum):
    """Why a loop began to regulate."""

    VACANT = "vacant"
    """Nobody held leadership: the first start, or another loop stood down."""
    DIED = "died"
    """Its holder was a process of this machine that runs no more."""
    SILENT = "silent"


TOOLS = (
    "respond", "end_conversation", "select_conversation", "snooze_conversation", "think", "await_energy", "unknown",
)  # fmt: skip
ANSWER_STATES = ("pending", "sent", "rejected")
FINAL_STATES = ("done", "nothing", "dead", "cancelled")
ERASURE_SCOPES = ("memories", "data", "user", "conversation", "memory", "facts", "fact", "profile")
HOLD_LEADERSHIP = "hold_leadership"
TICK_STEPS = (
    "publish_events",
    HOLD_LEADERSHIP,
    "settle_energy",
    "relay_jobs",
    "wake_snoozed",
    "end_silent",
    "upkeep",
    "finish_erasures",
    "ask_for_facts",
    "settle_facts",
    "ask_for_vectors",
    "ask_for_summaries",
    "forget_old",
    "mend_tenant_queues",
    "probe_provider",
    "scan_sessions",
    "tend_sessions",
    "age_sessions",
    "index_sessions",
    "think",
)


_OF_AGENTS = (AgentKind.MODEL, AgentKind.EXTRACTIVE)


@dataclass(frozen=True)
class _Declared:
    """A counter or histogram of the catalogue, yet to be made for a process."""

    kind: Callable[..., Counter | Histogram]
    text: str
    name: str
    labels: Mapping[str, Iterable[str]]

    def make(self, attribute: str, registry: CollectorRegistry) -> Counter | Histogram:
        name = f"afterthought_{self.name or attribute}"
        metric = self.kind(name, self.text, tuple(self.labels), registry=registry)
        # Without labels it stands at zero by itself, and `product` of nothing would still give one empty row.
        for values in product(*self.labels.values()) if self.labels else ():
            metric.labels(*map(str, values))
        return metric


def _counter(text: str, name: str = "", **labels: Iterable[str]) -> Counter:
    """Declare a counter, named as its attribute unless said otherwise; a label without values is an open one."""
    return cast(Counter, _Declared(Counter, text, name, labels))


def _histogram(text: str, name: str, buckets: tuple[float, ...], **labels: Iterable[str]) -> Histogram:
    return cast(Histogram, _Declared(partial(Histogram, buckets=buckets), text, name, labels))


class Metrics:
    """All counters and histograms of one process."""

    memories_created = _counter("Memories made, by who wrote them.", agent=AgentKind)
    nothing_to_remember = _counter("Ended conversations that held nothing worth a place.", agent=AgentKind)
    compactions = _counter(
        "Times room was made at the cap, by how and why.", outcome=CompactionOutcome, reason=CompactionReason
    )
    contexts = _counter("Contexts handed out, by whether memories were in them.", injected=("true", "false"))
    erasures = _counter("Purges and erasures carried out.", scope=ERASURE_SCOPES)
    erasures_incomplete = _counter("Erasures whose receipt counts something that is left.", scope=ERASURE_SCOPES)
    facts_learned = _counter("Facts made, by who wrote them.", agent=AgentKind)
    fact_merges = _counter("Repeated facts that were merged, by how they were recognised.", by=MergedBy)
    fact_conflicts = _counter("Facts replaced by one that contradicts them.")
    facts_removed = _counter("Facts that went, by reason.", reason=FactRemoval)
    texts_refused = _counter(
        "Texts of an agent's that were not stored, by what it was asked for and why.",
        kind=THINKING_JOBS,
        reason=RefusedText,
    )
    embedding_failures = _counter("Times texts were kept without vectors because the embedder was away.")
    extraction_lag = _histogram(
        "From a user's message to the extraction of its facts.", "extraction_lag_seconds", _LONG
    )
    context_used = _histogram("Share of the window that contexts fill, 0..1.", "context_used_ratio", _RATIO)
    context_stages = _counter("Contexts handed out, by how far they were compacted.", stage=CompactionStage)
    context_parts_missing = _counter("Parts that could not be had when a context was composed.", part=CONTEXT_PARTS)
    rows_forgotten = _counter(
        "Rows that went with age, were folded into sums or lost their text, by what they were.", rows=FORGOTTEN_ROWS
    )
    searches = _counter(
        "Retrievals, by what they were for and whether they found anything.", asker=ASKERS, found=("true", "false")
    )
    searches_degraded = _counter("Retrievals that had to do without a part.", part=DEGRADED_PARTS)
    search_duration = _histogram(
        "Duration of retrievals, by stage.", "search_duration_seconds", _SHORT, stage=SEARCH_STAGES
    )
    messages_embedded = _counter("Messages whose vectors were made.")
    messages_filled_in = _counter("Messages that a back-fill brought into the indexes.", index=("words", "vectors"))
    index_failures = _counter("Messages that were kept without words, because the word index is missing.")
    summaries_made = _counter("Summaries made, by who wrote them.", agent=AgentKind)
    profile_gate = _counter("Times a profile was asked for, by whether its user agrees.", outcome=("used", "withheld"))
    sessions_registered = _counter("Recorded sessions taken in, by where from.", source=SESSION_SOURCES)
    session_files_refused = _counter("Files that were refused: foreign, corrupt, too large or changed.")
    session_bytes_synced = _counter("Bytes of recorded sessions copied into the store.")
    sessions_compressed = _counter("Versions made, by who compressed.", agent=_OF_AGENTS)
    session_tokens = _counter("Tokens of compressed sessions, before and after.", side=("input", "output"))
    markers_decided = _counter(
        "Marked parts in new versions, by what became of them.", outcome=("preserved", "summarised")
    )
    contexts_composed = _counter("Compositions made of recorded sessions.")
    versions_removed = _counter("Versions removed, by what for.", reason=VERSION_REMOVALS)
    session_files_swept = _counter("Files of the store that belonged to nothing and were removed.")
    patterns_learnt = _counter("Semantic memories proposed from sessions, by who.", agent=_OF_AGENTS)
    energy_spent = _counter("Energy booked in the ledger.", "energy_spent_units", kind=WorkKind)
    energy_deferrals = _counter("Jobs deferred for lack of energy.")
    budget_deferrals = _counter("Times a job was deferred for its app's budget.")
    provider_deferrals = _counter(
        "Times a job that was begun was deferred because its model's server was away, or lacks it."
    )
    jobs_shed = _counter("Sent jobs called back because energy had run out.")
    model_calls = _counter(
        "Calls of the agent's model, by how they ended.", kind=WorkKind, agent=_OF_AGENTS, outcome=CallOutcome
    )
    agent_fallbacks = _counter(
        "Jobs that the built-in agent did because the model's answers could not be used.", kind=THINKING_JOBS
    )
    model_tokens = _counter(
        "Tokens of model calls.", kind=WorkKind, agent=_OF_AGENTS, direction=("prompt", "completion")
    )
    model_call_duration = _histogram("Duration of model calls.", "model_call_duration_seconds", _LONG, kind=WorkKind)
    jobs_sent = _counter("Jobs handed to the queue.", kind=JobKind)
    jobs_finished = _counter("Jobs that ended, by state.", kind=JobKind, state=FINAL_STATES)
    job_retries = _counter("Failed attempts that will be retried.", kind=JobKind)
    dead_letters = _counter("Jobs that ended as dead letters, and messages that could not become jobs.", kind=JobKind)
    jobs_lost = _counter("Jobs taken back from a silent owner or an emptied queue.")
    stale_messages = _counter("Queue messages dropped as duplicate, stale or purged.", kind=JobKind)
    broker_failures = _counter("Times the queue did not take a job.")
    job_duration = _histogram("From claim to end.", "job_duration_seconds", _LONG, kind=JobKind)
    job_delay = _histogram("From request to end.", "job_delay_seconds", _LONG, kind=JobKind)
    events_placed = _counter("Events that listeners can hear of.", kind=EventKind)
    webhook_deliveries = _counter("Attempts to tell a webhook of an event, by how they went.", outcome=DeliveryOutcome)
    tick_failures = _counter("Steps of the tick that failed.", step=TICK_STEPS)
    tick_duration = _histogram("Duration of each step of the tick.", "tick_duration_seconds", _SHORT, step=TICK_STEPS)
    ticks = _histogram("Duration of whole ticks.", "whole_tick_duration_seconds", _SHORT)
    takeovers = _counter("Times this loop began to regulate.", why=Takeover)
    http_refused = _counter("Requests that were too much for one app at once.", why=Refusal)
    http_requests = _counter("Requests answered, by route template and status class.", route=(), method=(), status=())
    http_duration = _histogram(
        "Duration of requests, by route template.", "http_request_duration_seconds", _SHORT, route=()
    )
    thinking_turns = _counter(
        "Turns of the loop's thinking, by what it attended to and what came of it.",
        focus=FocusKind,
        outcome=TurnOutcome,
    )
    tool_calls = _counter("Tool calls of a thinking model, by what became of them.", tool=TOOLS, outcome=ToolOutcome)
    answers = _counter("Answers of the loop: drafted, sent and rejected ones.", state=ANSWER_STATES)
    answer_delay = _histogram("From a user's message to the loop's answer to it.", "answer_delay_seconds", _LONG)

    def __init__(self, registry: CollectorRegistry) -> None:
        for attribute, declared in vars(Metrics).items():
            if isinstance(declared, _Declared):
                setattr(self, attribute, declared.make(attribute, registry))


def agent_kind(agent: str) -> AgentKind:
    """Return the bounded label of an agent's name."""
    if agent == EXTRACTIVE:
        return AgentKind.EXTRACTIVE
    return AgentKind.MODEL if ":" in agent and not agent.startswith("token:") else AgentKind.BY_HAND
