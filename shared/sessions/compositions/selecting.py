"""Which version of a session serves best: the original where it fits, else the version with the highest score.

The seed looks at the versions first, so that a session without any never used its original; here the original comes
first (oracles, "Sessions"). Source: seed 004, "Compression Version Selection".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.sessions.models import Compression

LEAST_SCORE = 0.5
"""Below this no version is good enough, and a new one is wanted."""
CURRENT, STALE = 1, 10
"""The ends of the scale of freshness."""
_OVER_BUDGET = 0.1
_RATIO_SPAN = 50


class Instead(StrEnum):
    """What is taken where no version is."""

    ORIGINAL = "original"
    NEW = "need-new-compression"


@dataclass(frozen=True)
class Candidate:
    """A version, as far as choosing goes."""

    number: int
    output_tokens: int
    ratio: float
    preserved: int = 0
    summarised: int = 0
    source_bytes: int = 0
    """How much of the original it covers."""
    asked_ratio: int | None = None
    """The one ratio it was asked for with; None where it has tiers."""

    @property
    def preservation(self) -> float:
        """The share of marked parts that survived; all of them where nothing was marked."""
        marked = self.preserved + self.summarised
        return self.preserved / marked if marked else 1.0


@dataclass(frozen=True)
class Criteria:
    """What is asked of a version."""

    max_tokens: int | None = None
    min_freshness: int | None = None
    """1: it must cover all there is now; 10: any will do."""
    preferred_ratio: float | None = None
    preserve_keepits: bool = False
    least_use: float = 0.0
    """The share of ``max_tokens`` it must use at least; by its score alone one that uses next to none is good."""


def candidate_of(version: Compression) -> Candidate:
    """Return a version as far as choosing goes."""
    stats = version.keepit_stats
    return Candidate(
        number=version.number,
        output_tokens=version.output_tokens,
        ratio=version.ratio,
        preserved=int(stats.get("preserved", 0)),
        summarised=int(stats.get("summarized", 0)),
        source_bytes=version.source_bytes,
        asked_ratio=version.settings.get("compactionRatio"),
    )


def select_best(
    original_tokens: int, size_bytes: int, candidates: Sequence[Candidate], criteria: Criteria
) -> Candidate | Instead:
    """Return the version to use, the original, or that a new one is needed; a fresh one goes before a stale one."""
    if not criteria.max_tokens or original_tokens <= criteria.max_tokens:
        return Instead.ORIGINAL
    oldest = criteria.min_freshness or STALE
    least = criteria.max_tokens * criteria.least_use
    usable = [one for one in candidates if one.output_tokens >= least and freshness(one, size_bytes) <= oldest]
    good = [one for one in usable if score(one, criteria) >= LEAST_SCORE]
    if not good:
        return Instead.NEW
    return max(good, key=lambda one: (not is_stale(one, size_bytes), score(one, criteria), one.number))


def score(version: Candidate, criteria: Criteria) -> float:
    """Return how well a version meets what is asked, 0..1."""
    points = 1.0
    if criteria.max_tokens:
        points *= _fit(version.output_tokens, criteria.max_tokens)
    if criteria.preferred_ratio:
        points *= max(0.5, 1 - abs(version.ratio - criteria.preferred_ratio) / _RATIO_SPAN)
    if criteria.preserve_keepits:
        points *= 0.5 + version.preservation * 0.5
    return points


def is_stale(version: Candidate, size_bytes: int) -> bool:
    """Whether the session has grown since the version was made."""
    return version.source_bytes < size_bytes


def freshness(version: Candidate, size_bytes: int) -> int:
    """Return how much of what there is now a version covers, from 1 (all of it) to 10 (hardly any)."""
    if not is_stale(version, size_bytes):
        return CURRENT
    missing = size_bytes - version.source_bytes
    return CURRENT + -(-missing * (STALE - CURRENT) // size_bytes)


def _fit(tokens: int, most: int) -> float:
    return _OVER_BUDGET if tokens > most else 0.5 + tokens / most * 0.5
