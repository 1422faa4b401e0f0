"""What many retrievals amount to: how often something was found, how long it took, and whether a release may go out.

Pure functions of values. Source of the figures and of the gate's limits: seed 002.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np

TOP = 3
"""Similarities kept of a retrieval."""
LEAST_QUERIES = 20
"""Of each way of searching, before the gate judges it."""
MOST_MEAN_MS, MOST_P95_MS, MOST_P99_MS = 180.0, 200.0, 700.0
LEAST_SUMMARIES = 0.99
"""Share of summaries asked for that were made."""


class Way(StrEnum):
    """How a retrieval searched: by vectors alone, by words too, or in passages as well."""

    DENSE = "dense"
    HYBRID = "hybrid"
    CHUNKED = "chunked"


class Verdict(StrEnum):
    """What the gate says."""

    PASSES = "passes"
    FAILS = "fails"
    NOT_ENOUGH_QUERIES = "not_enough_queries"


@dataclass(frozen=True)
class Took:
    """Durations, milliseconds."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class Row:
    """One retrieval, as it is kept."""

    at: datetime
    asker: str
    results: int
    top_score: float | None
    sources: Mapping[str, int]
    durations: Mapping[str, float]
    flags: Mapping[str, Any]
    tokens_used: int | None
    token_budget: int | None
    top_similarities: Sequence[float] = ()

    @property
    def way(self) -> Way:
        """How it searched."""
        if not self.flags.get("hybrid"):
            return Way.DENSE
        return Way.CHUNKED if self.flags.get("chunking") else Way.HYBRID


@dataclass(frozen=True)
class Figures:
    """What retrievals amount to. Shares 0..1; None where there is nothing to reckon with."""

    retrievals: int
    hit_rate: float | None
    mean_top_score: float | None
    mean_top_similarities: list[float]
    """Of the results most like their questions: the best, the second and the third, cosines."""
    stages: dict[str, Took]
    sources: dict[str, int]
    flags: dict[str, float]
    """Share of retrievals with each flag on."""
    degraded: dict[str, int]
    budget_used: float | None
    """Mean share of the token budget that contexts used."""


@dataclass(frozen=True)
class WayJudged:
    """One way of searching at the gate."""

    took: Took | None
    verdict: Verdict
    why: str


@dataclass(frozen=True)
class Gate:
    """Whether a release may go out by what was measured; what nobody asked for is not held against it."""

    verdict: Verdict
    ways: dict[Way, WayJudged]
    summaries_asked: int
    summaries_made: int
    summaries: Verdict


def reckon(rows: Sequence[Row]) -> Figures:
    """Return what retrievals amount to."""
    tops = [row.top_score for row in rows if row.top_score is not None]
    used = [row.tokens_used / row.token_budget for row in rows if row.tokens_used is not None and row.token_budget]
    stages = sorted({stage for row in rows for stage in row.durations})
    return Figures(
        retrievals=len(rows),
        hit_rate=_mean([float(row.results > 0) for row in rows]),
        mean_top_score=_mean(tops),
        mean_top_similarities=[
            mean
            for nth in range(TOP)
            if (mean := _mean([row.top_similarities[nth] for row in rows if len(row.top_similarities) > nth]))
            is not None
        ],
        stages={one: took([row.durations[one] for row in rows if one in row.durations]) for one in stages},
        sources=dict(sum((Counter(dict(row.sources)) for row in rows), Counter())),
        flags={
            name: _mean([float(bool(row.flags.get(name))) for row in rows]) or 0.0
            for name in ("hybrid", "chunking", "widened")
        },
        degraded=dict(Counter(part for row in rows for part in row.flags.get("degraded", ()))),
        budget_used=_mean(used),
    )


def took(durations: Sequence[float]) -> Took:
    """Return what durations amount to; at least one."""
    p50, p95, p99 = (float(value) for value in np.percentile(durations, (50, 95, 99)))
    return Took(len(durations), float(np.mean(durations)), p50, p95, p99)


def judge(rows: Sequence[Row], summaries_asked: int, summaries_made: int) -> Gate:
    """Judge a release: each way of searching with enough queries fast enough, and summaries made as asked."""
    ways = {way: _judged([row.durations["total"] for row in rows if row.way is way]) for way in Way}
    made = summaries_made >= LEAST_SUMMARIES * summaries_asked
    summaries = (Verdict.PASSES if made else Verdict.FAILS) if summaries_asked else Verdict.NOT_ENOUGH_QUERIES
    verdicts = {one.verdict for one in ways.values()}
    searches = Verdict.PASSES if Verdict.PASSES in verdicts else Verdict.NOT_ENOUGH_QUERIES
    return Gate(
        verdict=Verdict.FAILS if Verdict.FAILS in verdicts | {summaries} else searches,
        ways=ways,
        summaries_asked=summaries_asked,
        summaries_made=summaries_made,
        summaries=summaries,
    )


def _judged(durations: Sequence[float]) -> WayJudged:
    if len(durations) < LEAST_QUERIES:
        measured = took(durations) if durations else None
        why = f"{len(durations)} queries; at least {LEAST_QUERIES} are needed"
        return WayJudged(measured, Verdict.NOT_ENOUGH_QUERIES, why)
    measured = took(durations)
    limits = {"mean": MOST_MEAN_MS, "p95": MOST_P95_MS, "p99": MOST_P99_MS}
    figures = {"mean": measured.mean, "p95": measured.p95, "p99": measured.p99}
    slow = [f"{name} {value:.0f} ms > {limits[name]:.0f}" for name, value in figures.items() if value > limits[name]]
    return WayJudged(measured, Verdict.FAILS if slow else Verdict.PASSES, "; ".join(slow) or "fast enough")


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
