"""The catalogue of everything that is counted while it happens.

Labels are closed sets, and every series is touched once at the start so that it stands at zero before anything
happens. What can be read from the database at scrape time (levels, depths, ages) is not here but in the loop.
``docs/reference/metrics.md`` is generated from this catalogue.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import product

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


class Metrics:
    """All counters and histograms of one process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._make_memories()
        self._make_facts()
        self._make_retrieval()
        self._make_sessions()
        self._make_energy()
        self._make_jobs()
        self.events_placed = self._counter("events_placed", "Events that listeners can hear of.", {"kind": EventKind})
        self.webhook_deliveries = self._counter(
            "webhook_deliveries", "Attempts to tell a webhook of an event, by how they went.",
            {"outcome": DeliveryOutcome},
        )  # fmt: skip
        self._make_processes()
        self._make_thinking()

    def _make_memories(self) -> None:
        self.memories_created = self._counter(
            "memories_created", "Memories made, by who wrote them.", {"agent": AgentKind}
        )
        self.nothing_to_remember = self._counter(
            "nothing_to_remember", "Ended conversations that held nothing worth a place.", {"agent": AgentKind}
        )
        self.compactions = self._counter(
            "compactions",
            "Times room was made at the cap, by how and why.",
            {"outcome": CompactionOutcome, "reason": CompactionReason},
        )
        self.contexts = self._counter(
            "contexts", "Contexts handed out, by whether memories were in them.", {"injected": ("true", "false")}
        )
        self.erasures = self._counter("erasures", "Purges and erasures carried out.", {"scope": ERASURE_SCOPES})
        self.erasures_incomplete = self._counter(
            "erasures_incomplete", "Erasures whose receipt counts something that is left.", {"scope": ERASURE_SCOPES}
        )

    def _make_facts(self) -> None:
        self.facts_learned = self._counter("facts_learned", "Facts made, by who wrote them.", {"agent": AgentKind})
        self.fact_merges = self._counter(
            "fact_merges", "Repeated facts that were merged, by how they were recognised.", {"by": MergedBy}
        )
        self.fact_conflicts = self._counter("fact_conflicts", "Facts replaced by one that contradicts them.", {})
        self.facts_removed = self._counter("facts_removed", "Facts that went, by reason.", {"reason": FactRemoval})
        self.texts_refused = self._counter(
            "texts_refused",
            "Texts of an agent's that were not stored, by what it was asked for and why.",
            {"kind": THINKING_JOBS, "reason": RefusedText},
        )
        self.embedding_failures = self._counter(
            "embedding_failures", "Times texts were kept without vectors because the embedder was away.", {}
        )
        self.extraction_lag = self._histogram(
            "extraction_lag_seconds", "From a user's message to the extraction of its facts.", {}, _LONG
        )
        self.context_used = self._histogram(
            "context_used_ratio", "Share of the window that contexts fill, 0..1.", {}, _RATIO
        )
        self.context_stages = self._counter(
            "context_stages", "Contexts handed out, by how far they were compacted.", {"stage": CompactionStage}
        )
        self.context_parts_missing = self._counter(
            "context_parts_missing", "Parts that could not be had when a context was composed.", {"part": CONTEXT_PARTS}
        )

    def _make_retrieval(self) -> None:
        self.rows_forgotten = self._counter(
            "rows_forgotten", "Rows that went with age, were folded into sums or lost their text, by what they were.",
            {"rows": FORGOTTEN_ROWS},
        )  # fmt: skip
        self.searches = self._counter(
            "searches", "Retrievals, by what they were for and whether they found anything.",
            {"asker": ASKERS, "found": ("true", "false")},
        )  # fmt: skip
        self.searches_degraded = self._counter(
            "searches_degraded", "Retrievals that had to do without a part.", {"part": DEGRADED_PARTS}
        )
        self.search_duration = self._histogram(
            "search_duration_seconds", "Duration of retrievals, by stage.", {"stage": SEARCH_STAGES}, _SHORT
        )
        self.messages_embedded = self._counter("messages_embedded", "Messages whose vectors were made.", {})
        self.messages_filled_in = self._counter(
            "messages_filled_in", "Messages that a back-fill brought into the indexes.", {"index": ("words", "vectors")}
        )
        self.index_failures = self._counter(
            "index_failures", "Messages that were kept without words, because the word index is missing.", {}
        )
        self.summaries_made = self._counter(
            "summaries_made", "Summaries made, by who wrote them.", {"agent": AgentKind}
        )
        self.profile_gate = self._counter(
            "profile_gate",
            "Times a profile was asked for, by whether its user agrees.",
            {"outcome": ("used", "withheld")},
        )

    def _make_sessions(self) -> None:
        self.sessions_registered = self._counter(
            "sessions_registered", "Recorded sessions taken in, by where from.", {"source": SESSION_SOURCES}
        )
        self.session_files_refused = self._counter(
            "session_files_refused", "Files that were refused: foreign, corrupt, too large or changed.", {}
        )
        self.session_bytes_synced = self._counter(
            "session_bytes_synced", "Bytes of recorded sessions copied into the store.", {}
        )
        self.sessions_compressed = self._counter(
            "sessions_compressed",
            "Versions made, by who compressed.",
            {"agent": (AgentKind.MODEL, AgentKind.EXTRACTIVE)},
        )
        self.session_tokens = self._counter(
            "session_tokens", "Tokens of compressed sessions, before and after.", {"side": ("input", "output")}
        )
        self.markers_decided = self._counter(
            "markers_decided", "Marked parts in new versions, by what became of them.",
            {"outcome": ("preserved", "summarised")},
        )  # fmt: skip
        self.contexts_composed = self._counter("contexts_composed", "Compositions made of recorded sessions.", {})
        self.versions_removed = self._counter(
            "versions_removed", "Versions removed, by what for.", {"reason": VERSION_REMOVALS}
        )
        self.session_files_swept = self._counter(
            "session_files_swept", "Files of the store that belonged to nothing and were removed.", {}
        )
        self.patterns_learnt = self._counter(
            "patterns_learnt", "Semantic memories proposed from sessions, by who.",
            {"agent": (AgentKind.MODEL, AgentKind.EXTRACTIVE)},
        )  # fmt: skip

    def _make_energy(self) -> None:
        calls = {"kind": WorkKind, "agent": (AgentKind.MODEL, AgentKind.EXTRACTIVE)}
        self.energy_spent = self._counter("energy_spent_units", "Energy booked in the ledger.", {"kind": WorkKind})
        self.energy_deferrals = self._counter("energy_deferrals", "Jobs deferred for lack of energy.", {})
        self.budget_deferrals = self._counter("budget_deferrals", "Times a job was deferred for its app's budget.", {})
        self.provider_deferrals = self._counter(
            "provider_deferrals",
            "Times a job that was begun was deferred because its model's server was away, or lacks it.",
            {},
        )
        self.jobs_shed = self._counter("jobs_shed", "Sent jobs called back because energy had run out.", {})
        self.model_calls = self._counter(
            "model_calls", "Calls of the agent's model, by how they ended.", {**calls, "outcome": CallOutcome}
        )
        self.agent_fallbacks = self._counter(
            "agent_fallbacks", "Jobs that the built-in agent did because the model's answers could not be used.",
            {"kind": THINKING_JOBS},
        )  # fmt: skip
        self.model_tokens = self._counter(
            "model_tokens", "Tokens of model calls.", {**calls, "direction": ("prompt", "completion")}
        )
        self.model_call_duration = self._histogram(
            "model_call_duration_seconds", "Duration of model calls.", {"kind": WorkKind}, _LONG
        )

    def _make_jobs(self) -> None:
        kinds = {"kind": JobKind}
        self.jobs_sent = self._counter("jobs_sent", "Jobs handed to the queue.", kinds)
        self.jobs_finished = self._counter(
            "jobs_finished", "Jobs that ended, by state.", {**kinds, "state": FINAL_STATES}
        )
        self.job_retries = self._counter("job_retries", "Failed attempts that will be retried.", kinds)
        self.dead_letters = self._counter(
            "dead_letters", "Jobs that ended as dead letters, and messages that could not become jobs.", kinds
        )
        self.jobs_lost = self._counter("jobs_lost", "Jobs taken back from a silent owner or an emptied queue.", {})
        self.stale_messages = self._counter(
            "stale_messages", "Queue messages dropped as duplicate, stale or purged.", kinds
        )
        self.broker_failures = self._counter("broker_failures", "Times the queue did not take a job.", {})
        self.job_duration = self._histogram("job_duration_seconds", "From claim to end.", kinds, _LONG)
        self.job_delay = self._histogram("job_delay_seconds", "From request to end.", kinds, _LONG)

    def _make_thinking(self) -> None:
        self.thinking_turns = self._counter(
            "thinking_turns",
            "Turns of the loop's thinking, by what it attended to and what came of it.",
            {"focus": FocusKind, "outcome": TurnOutcome},
        )
        self.tool_calls = self._counter(
            "tool_calls",
            "Tool calls of a thinking model, by what became of them.",
            {"tool": TOOLS, "outcome": ToolOutcome},
        )
        self.answers = self._counter(
            "answers", "Answers of the loop: drafted, sent and rejected ones.", {"state": ANSWER_STATES}
        )
        self.answer_delay = self._histogram(
            "answer_delay_seconds", "From a user's message to the loop's answer to it.", {}, _LONG
        )

    def _make_processes(self) -> None:
        steps = {"step": TICK_STEPS}
        self.tick_failures = self._counter("tick_failures", "Steps of the tick that failed.", steps)
        self.tick_duration = self._histogram(
            "tick_duration_seconds", "Duration of each step of the tick.", steps, _SHORT
        )
        self.ticks = self._histogram("whole_tick_duration_seconds", "Duration of whole ticks.", {}, _SHORT)
        self.takeovers = self._counter("takeovers", "Times this loop began to regulate.", {"why": Takeover})
        self.http_refused = self._counter(
            "http_refused", "Requests that were too much for one app at once.", {"why": Refusal}
        )
        self.http_requests = Counter(
            "afterthought_http_requests",
            "Requests answered, by route template and status class.",
            ("route", "method", "status"),
            registry=self._registry,
        )
        self.http_duration = Histogram(
            "afterthought_http_request_duration_seconds",
            "Duration of requests, by route template.",
            ("route",),
            buckets=_SHORT,
            registry=self._registry,
        )

    def _counter(self, name: str, text: str, labels: Mapping[str, Iterable[str]]) -> Counter:
        counter = Counter(f"afterthought_{name}", text, tuple(labels), registry=self._registry)
        # Without labels it stands at zero by itself, and `product` of nothing would still give one empty row.
        for values in product(*labels.values()) if labels else ():
            counter.labels(*map(str, values))
        return counter

    def _histogram(
        self, name: str, text: str, labels: Mapping[str, Iterable[str]], buckets: tuple[float, ...]
    ) -> Histogram:
        histogram = Histogram(f"afterthought_{name}", text, tuple(labels), buckets=buckets, registry=self._registry)
        for values in product(*labels.values()) if labels else ():
            histogram.labels(*map(str, values))
        return histogram


def agent_kind(agent: str) -> AgentKind:
    """Return the bounded label of an agent's name."""
    if agent == EXTRACTIVE:
        return AgentKind.EXTRACTIVE
    return AgentKind.MODEL if ":" in agent and not agent.startswith("token:") else AgentKind.BY_HAND
