"""How searches went: recorded while they happen, written some at a time, summed up, and judged before a release.

Nothing of what was asked or found is kept. Source of the figures and of the gate's limits: seed 002.
"""

import threading
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np
from sqlalchemy import insert
from sqlalchemy.orm import Session

from shared.llm.calls import EXTRACTIVE, CallEstimate, Meter, ModelCall
from shared.search.models import Retrieval, RetrievalPurpose

TOP = 3
"""Similarities kept of a retrieval."""
MOST_WAITING = 10_000
"""Older records are dropped while the database does not take them."""
LEAST_QUERIES = 20
"""Of each search mode, before the gate judges it."""
MOST_MS = {"mean": 180.0, "p95": 200.0, "p99": 700.0}
LEAST_SUMMARIES = 0.99
"""Share of summaries asked for that were made."""


class SearchMode(StrEnum):
    """How a retrieval searched: by vectors alone, by words too, or in passages as well."""

    DENSE = "dense"
    HYBRID = "hybrid"
    CHUNKED = "chunked"


@dataclass(frozen=True)
class RetrievalRecord:
    """One retrieval; durations in milliseconds."""

    app_id: str
    conversation_key: int | None
    asker: RetrievalPurpose
    at: datetime
    results: int
    top_score: float | None
    sources: Mapping[str, int]
    durations: Mapping[str, float]
    flags: Mapping[str, Any]
    tokens_used: int | None = None
    token_budget: int | None = None
    top_similarities: Sequence[float] = ()
    """Of the results most like the question, the best first, cosines."""

    @property
    def mode(self) -> SearchMode:
        """How it searched."""
        if not self.flags.get("hybrid"):
            return SearchMode.DENSE
        return SearchMode.CHUNKED if self.flags.get("chunking") else SearchMode.HYBRID


@dataclass
class Recorder:
    """Holds what is still to be written; for any number of threads."""

    waiting: threading.Event = field(default_factory=threading.Event)
    over_budget: set[str] = field(default_factory=set)
    """Apps whose budget covered no more when their queries were booked last."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _records: deque[RetrievalRecord] = field(default_factory=lambda: deque(maxlen=MOST_WAITING))
    _calls: dict[str, ModelCall] = field(default_factory=dict)

    def record(self, record: RetrievalRecord) -> None:
        """Have a retrieval written soon."""
        with self._lock:
            self._records.append(record)
        self.waiting.set()

    def book(self, app_id: str, call: ModelCall) -> None:
        """Have a call of the built-in embedder booked soon, one row for all of an app's since the last time.

        A row a search would take longer than the search.
        """
        with self._lock:
            former = self._calls.get(app_id)
            if former is not None:
                prompt_tokens, seconds = former.prompt_tokens + call.prompt_tokens, former.seconds + call.seconds
                call = replace(former, prompt_tokens=prompt_tokens, seconds=seconds, outcome=call.outcome)
            self._calls[app_id] = call
        self.waiting.set()

    def take(self) -> tuple[tuple[RetrievalRecord, ...], dict[str, ModelCall]]:
        with self._lock:
            # Under the lock: who records just behind it sets the event again, so nothing lies there unannounced.
            self.waiting.clear()
            records, calls = tuple(self._records), self._calls
            self._records.clear()
            self._calls = {}
        return records, calls

    def put_back(self, records: Sequence[RetrievalRecord]) -> None:
        """Take back what could not be written; where not all of it can be held, the older goes."""
        with self._lock:
            self._records = deque([*records, *self._records], maxlen=MOST_WAITING)
        self.waiting.set()


@dataclass
class QueryMeter:
    """Pays for the vector of one query: a model's as any other call's, the built-in embedder's later, while its app's
    budget is known to cover it."""

    app_id: str
    recorder: Recorder
    model_meter: Meter
    _is_later: bool = True

    def reserve(self, prospect: CallEstimate) -> None:
        """Set aside what a call will likely cost, unless it is paid later. Raises: OverBudget."""
        self._is_later = prospect.model == EXTRACTIVE and self.app_id not in self.recorder.over_budget
        if not self._is_later:
            self.model_meter.reserve(prospect)
            self.recorder.over_budget.discard(self.app_id)

    def __call__(self, call: ModelCall) -> None:
        if self._is_later:
            self.recorder.book(self.app_id, call)
        else:
            self.model_meter(call)


def insert_retrievals(session: Session, records: Sequence[RetrievalRecord]) -> None:
    rows = [
        vars(one)
        | {
            "sources": dict(one.sources),
            "flags": dict(one.flags),
            "durations": {stage: round(taken, 3) for stage, taken in one.durations.items()},
            "top_similarities": [round(similarity, 6) for similarity in one.top_similarities],
        }
        for one in records
    ]
    session.connection().execute(insert(Retrieval), rows)


@dataclass(frozen=True)
class DurationStatistics:
    """What durations amount to, milliseconds."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class RetrievalStatistics:
    """What retrievals amount to. Shares 0..1; None where there is nothing to count."""

    retrievals: int
    hit_rate: float | None
    mean_top_score: float | None
    mean_top_similarities: list[float]
    """Of the results most like their questions: the best, the second and the third, cosines."""
    stages: dict[str, DurationStatistics]
    sources: dict[str, int]
    flags: dict[str, float]
    """Share of retrievals with each flag on."""
    degraded: dict[str, int]
    budget_used: float | None
    """Mean share of the token budget that contexts used."""


def retrieval_statistics(records: Sequence[RetrievalRecord]) -> RetrievalStatistics:
    used = [one.tokens_used / one.token_budget for one in records if one.tokens_used is not None and one.token_budget]
    stages = sorted({stage for one in records for stage in one.durations})
    similar = ([one.top_similarities[nth] for one in records if len(one.top_similarities) > nth] for nth in range(TOP))
    return RetrievalStatistics(
        retrievals=len(records),
        hit_rate=_mean([float(one.results > 0) for one in records]),
        mean_top_score=_mean([one.top_score for one in records if one.top_score is not None]),
        mean_top_similarities=[mean for mean in map(_mean, similar) if mean is not None],
        stages={
            stage: duration_statistics([one.durations[stage] for one in records if stage in one.durations])
            for stage in stages
        },
        sources=dict(sum((Counter(dict(one.sources)) for one in records), Counter())),
        flags={
            name: _mean([float(bool(one.flags.get(name))) for one in records]) or 0.0
            for name in ("hybrid", "chunking", "widened")
        },
        degraded=dict(Counter(part for one in records for part in one.flags.get("degraded", ()))),
        budget_used=_mean(used),
    )


def duration_statistics(durations: Sequence[float]) -> DurationStatistics:
    """Return what durations amount to; at least one."""
    p50, p95, p99 = (float(value) for value in np.percentile(durations, (50, 95, 99)))
    return DurationStatistics(len(durations), float(np.mean(durations)), p50, p95, p99)


class GateVerdict(StrEnum):
    """What the gate says."""

    PASSES = "passes"
    FAILS = "fails"
    NOT_ENOUGH_QUERIES = "not_enough_queries"


@dataclass(frozen=True)
class ModeVerdict:
    """One search mode at the gate."""

    took: DurationStatistics | None
    verdict: GateVerdict
    why: str


@dataclass(frozen=True)
class ReleaseGate:
    """Whether a release may go out by what was measured; what nobody asked for is not held against it."""

    verdict: GateVerdict
    modes: dict[SearchMode, ModeVerdict]
    summaries_asked: int
    summaries_made: int
    summaries: GateVerdict


def judge_release(records: Sequence[RetrievalRecord], summaries_asked: int, summaries_made: int) -> ReleaseGate:
    """Judge a release: each search mode with enough queries fast enough, and summaries made as asked."""
    modes = {mode: _judged([one.durations["total"] for one in records if one.mode is mode]) for mode in SearchMode}
    made = summaries_made >= LEAST_SUMMARIES * summaries_asked
    summaries = GateVerdict.NOT_ENOUGH_QUERIES
    if summaries_asked:
        summaries = GateVerdict.PASSES if made else GateVerdict.FAILS
    verdicts = {one.verdict for one in modes.values()}
    searches = GateVerdict.PASSES if GateVerdict.PASSES in verdicts else GateVerdict.NOT_ENOUGH_QUERIES
    verdict = GateVerdict.FAILS if GateVerdict.FAILS in verdicts | {summaries} else searches
    return ReleaseGate(verdict, modes, summaries_asked, summaries_made, summaries)


def _judged(durations: Sequence[float]) -> ModeVerdict:
    measured = duration_statistics(durations) if durations else None
    if measured is None or len(durations) < LEAST_QUERIES:
        why = f"{len(durations)} queries; at least {LEAST_QUERIES} are needed"
        return ModeVerdict(measured, GateVerdict.NOT_ENOUGH_QUERIES, why)
    figures = {name: getattr(measured, name) for name in MOST_MS}
    slow = [f"{name} {value:.0f} ms > {MOST_MS[name]:.0f}" for name, value in figures.items() if value > MOST_MS[name]]
    return ModeVerdict(measured, GateVerdict.FAILS if slow else GateVerdict.PASSES, "; ".join(slow) or "fast enough")


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
