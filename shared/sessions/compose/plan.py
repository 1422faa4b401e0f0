"""Who gets how much of a budget, and as which version: decided from values, before anything is read or compressed.

Whole tokens, never more in sum than there is; whoever needs less than its share leaves the rest to the others. The
original serves where it fits, else the version with the highest score, else one that is made for it.
Source: seed 004, "Compression Version Selection"; oracles, "Sessions".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from shared.choices import Aggressiveness, AllocationStrategy
from shared.errors import Invalid
from shared.sessions.compress.settings import MAX_RATIO, MIN_RATIO, CompressionMode, CompressionSettings
from shared.sessions.models import SessionVersion, version_id

AUTO, ORIGINAL = "auto", "original"
"""As which version a session gets in, where no version is named."""
FLOOR = 64
"""Tokens a part is given before anything is shared, unless it needs less."""
BUDGET_TOO_SMALL = "budget_too_small"


@dataclass(frozen=True)
class TokenNeed:
    """A part, as far as sharing goes."""

    most: int
    """Tokens it can use at most."""
    length: int
    """Tokens of its original."""
    age: int = 0
    """0 is the newest."""
    asked: int | None = None
    """Tokens it is to have, by ``custom``."""


def allocate(strategy: AllocationStrategy, needs: Sequence[TokenNeed], available: int) -> tuple[int, ...]:
    """Return the tokens of each part. Raises: Invalid when the floors alone take more than there is."""
    if strategy is AllocationStrategy.CUSTOM:
        return _custom(needs, available)
    floors = [min(FLOOR, need.most) for need in needs]
    if sum(floors) > available:
        raise budget_too_small(sum(floors) - available, f"{len(needs)} sessions take at least {FLOOR} tokens each")
    beyond = [need.most - floor for need, floor in zip(needs, floors, strict=True)]
    if strategy is AllocationStrategy.RECENT_FIRST:
        more = _recent_first(beyond, [need.age for need in needs], available - sum(floors))
    else:
        lengths = [max(1, need.length) if strategy is AllocationStrategy.PROPORTIONAL else 1 for need in needs]
        more = _by_weight(beyond, lengths, available - sum(floors))
    return tuple(floor + extra for floor, extra in zip(floors, more, strict=True))


def budget_too_small(missing: int, why: str, budget: int | None = None) -> Invalid:
    """Return what to raise for a budget that lacks so many tokens."""
    needed = None if budget is None else budget + missing
    what = f"; ask for at least {needed} tokens" if needed else f"; {missing} tokens are missing"
    details = {"missing": missing} | ({"needed": needed} if needed else {})
    return Invalid(f"The budget is too small: {why}{what}.", code=BUDGET_TOO_SMALL, details=details)


def _custom(needs: Sequence[TokenNeed], available: int) -> tuple[int, ...]:
    """Return what was asked for, less an equal part of each where headings leave too little."""
    asked = [need.asked or 0 for need in needs]
    total = sum(asked)
    return tuple(asked) if total <= available else tuple(one * available // total for one in asked)


def _by_weight(wanted: Sequence[int], weights: Sequence[int], available: int) -> list[int]:
    """Fill by weight; who is full leaves the rest to those who are not. A last odd token goes to the last parts."""
    given, left = [0] * len(wanted), available
    hungry = [place for place, want in enumerate(wanted) if want > 0]
    while hungry:
        total = sum(weights[place] for place in hungry)
        full = [place for place in hungry if wanted[place] * total <= left * weights[place]]
        if not full:
            break
        for place in full:
            given[place] = wanted[place]
        left = available - sum(given)
        hungry = [place for place in hungry if place not in full]
    total = sum(weights[place] for place in hungry)
    for place in hungry:
        given[place] = left * weights[place] // total
    for place in reversed(hungry[len(hungry) - (available - sum(given)) :] if hungry else []):
        given[place] += 1
    return given


def _recent_first(wanted: Sequence[int], ages: Sequence[int], available: int) -> list[int]:
    """Give each what it wants, newest first, up to 2/(k+1) of what is left while k are left; then the rest likewise.

    Three sessions that want more than there is get 1/2, 1/3 and 1/6 of it; ten get 18 % down to 2 %.
    """
    given, left = [0] * len(wanted), available
    newest_first = sorted(range(len(wanted)), key=lambda place: ages[place])
    for rank, place in enumerate(newest_first):
        given[place] = min(wanted[place], -(-left * 2 // (len(wanted) - rank + 1)))
        left -= given[place]
    for place in newest_first:
        more = min(wanted[place] - given[place], left)
        given[place] += more
        left -= more
    return given


LEAST_SCORE = 0.5
"""Below this no version is good enough, and a new one is wanted."""
CURRENT, STALE = 1, 10
"""The ends of the scale of freshness."""
_OVER_BUDGET = 0.1
_RATIO_SPAN = 50


class NoVersion(StrEnum):
    """What is taken where no version is."""

    ORIGINAL = "original"
    NEW = "need-new-compression"


@dataclass(frozen=True)
class VersionCandidate:
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
class VersionCriteria:
    """What is asked of a version."""

    max_tokens: int | None = None
    min_freshness: int | None = None
    """1: it must cover all there is now; 10: any will do."""
    preferred_ratio: float | None = None
    preserve_keepits: bool = False
    least_use: float = 0.0
    """The share of ``max_tokens`` it must use at least; by its score alone one that uses next to none is good."""


def candidate_of(version: SessionVersion) -> VersionCandidate:
    """Return a version as far as choosing goes."""
    stats = version.keepit_stats
    return VersionCandidate(
        number=version.number,
        output_tokens=version.output_tokens,
        ratio=version.ratio,
        preserved=int(stats.get("preserved", 0)),
        summarised=int(stats.get("summarized", 0)),
        source_bytes=version.source_bytes,
        asked_ratio=version.settings.get("compactionRatio"),
    )


def select_best(
    original_tokens: int, size_bytes: int, candidates: Sequence[VersionCandidate], criteria: VersionCriteria
) -> VersionCandidate | NoVersion:
    """Return the version to use, the original, or that a new one is needed; a fresh one goes before a stale one."""
    if not criteria.max_tokens or original_tokens <= criteria.max_tokens:
        return NoVersion.ORIGINAL
    oldest = criteria.min_freshness or STALE
    least = criteria.max_tokens * criteria.least_use
    usable = [one for one in candidates if one.output_tokens >= least and freshness(one, size_bytes) <= oldest]
    good = [one for one in usable if version_score(one, criteria) >= LEAST_SCORE]
    if not good:
        return NoVersion.NEW
    return max(good, key=lambda one: (not is_stale(one, size_bytes), version_score(one, criteria), one.number))


def version_score(version: VersionCandidate, criteria: VersionCriteria) -> float:
    """Return how well a version meets what is asked, 0..1."""
    points = 1.0
    if criteria.max_tokens:
        points *= _fit(version.output_tokens, criteria.max_tokens)
    if criteria.preferred_ratio:
        points *= max(0.5, 1 - abs(version.ratio - criteria.preferred_ratio) / _RATIO_SPAN)
    if criteria.preserve_keepits:
        points *= 0.5 + version.preservation * 0.5
    return points


def is_stale(version: VersionCandidate, size_bytes: int) -> bool:
    """Whether the session has grown since the version was made."""
    return version.source_bytes < size_bytes


def freshness(version: VersionCandidate, size_bytes: int) -> int:
    """Return how much of what there is now a version covers, from 1 (all of it) to 10 (hardly any)."""
    if not is_stale(version, size_bytes):
        return CURRENT
    missing = size_bytes - version.source_bytes
    return CURRENT + -(-missing * (STALE - CURRENT) // size_bytes)


def _fit(tokens: int, most: int) -> float:
    return _OVER_BUDGET if tokens > most else 0.5 + tokens / most * 0.5


LEAST_USE = 0.5
"""A version that uses less of its share is not good enough while its session has more to say."""


class ComponentForm(StrEnum):
    """How a session gets into a composition."""

    ORIGINAL = "original"
    VERSION = "version"
    JOIN = "join"
    """As the version that is being made of it at this moment."""
    COMPRESS = "compress"
    """As a version that is made for it."""


@dataclass(frozen=True)
class ComponentWish:
    """A session as it was asked for, and what there is of it."""

    session_id: str
    original_tokens: int
    size_bytes: int
    candidates: tuple[VersionCandidate, ...]
    running: int | None = None
    """The number of the version that is being made."""
    version_id: str = AUTO
    allocation: int | None = None
    recompress: CompressionSettings | None = None
    age: int = 0
    """Its place by age, 0 is the newest."""

    @property
    def named(self) -> VersionCandidate | None:
        """The version that was asked for by name."""
        return next((one for one in self.candidates if version_id(one.number) == self.version_id), None)

    @property
    def waits_for_named(self) -> bool:
        """Whether the version that was asked for by name is the one being made."""
        return self.running is not None and version_id(self.running) == self.version_id

    @property
    def is_unknown(self) -> bool:
        """Whether the version that was asked for by name does not exist."""
        by_name = self.version_id not in (AUTO, ORIGINAL)
        return by_name and self.named is None and not self.waits_for_named


@dataclass(frozen=True)
class ComponentPlan:
    """What a session gets."""

    allocation: int
    way: ComponentForm
    number: int | None = None
    """Of the version that is used or joined."""
    settings: CompressionSettings | None = None
    """Of the version that is to be made."""
    reason: str = ""
    is_stale: bool = False
    """Whether the version covers less than there is now."""

    @property
    def recompression(self) -> dict[str, Any] | None:
        """What is kept of a version that is made for a composition, and whether it was only joined."""
        kept: dict[str, Any] = {"joined": True} if self.way is ComponentForm.JOIN else {}
        if self.settings is not None:
            settings = self.settings.model_dump(mode="json", by_alias=True, exclude_none=True)
            kept |= {"settings": settings, "reason": self.reason}
        return kept or None


@dataclass(frozen=True)
class CompositionTerms:
    """What holds for all sessions of a composition."""

    strategy: AllocationStrategy
    available: int
    """Tokens, without what the headings take."""
    min_freshness: int | None = None
    model: str | None = None


def plan_components(wishes: Sequence[ComponentWish], terms: CompositionTerms) -> tuple[ComponentPlan, ...]:
    """Share the budget, choose versions, and share anew what the chosen ones leave. Raises: Invalid."""
    first = _choose(wishes, _shares(wishes, terms, [_most_tokens(wish) for wish in wishes]), terms)
    most = [_used(wish, one) for wish, one in zip(wishes, first, strict=True)]
    shares = _shares(wishes, terms, most)
    again = _choose(wishes, shares, terms)
    return tuple(
        replace(one, allocation=share) if one.way is ComponentForm.VERSION else new
        for one, new, share in zip(first, again, shares, strict=True)
    )


def settings_for(original_tokens: int, allocation: int, distance: int, model: str | None) -> CompressionSettings:
    """Return with what a session is compressed so that it fits."""
    ratio = -(-original_tokens // max(1, allocation))
    return CompressionSettings(
        mode=CompressionMode.UNIFORM,
        compaction_ratio=min(MAX_RATIO, max(MIN_RATIO, ratio)),
        aggressiveness=Aggressiveness.MODERATE,
        model=model,
        session_distance=distance,
    )


def _most_tokens(wish: ComponentWish) -> int:
    named = wish.named
    return wish.original_tokens if named is None else named.output_tokens


def _used(wish: ComponentWish, planned: ComponentPlan) -> int:
    """Return what a session can still use once its version is chosen."""
    chosen = next((one for one in wish.candidates if one.number == planned.number), None)
    return _most_tokens(wish) if planned.way is not ComponentForm.VERSION or chosen is None else chosen.output_tokens


def _shares(wishes: Sequence[ComponentWish], terms: CompositionTerms, most: Sequence[int]) -> tuple[int, ...]:
    needs = [
        TokenNeed(tokens, wish.original_tokens, wish.age, wish.allocation)
        for wish, tokens in zip(wishes, most, strict=True)
    ]
    return allocate(terms.strategy, needs, terms.available)


def _choose(wishes: Sequence[ComponentWish], shares: Sequence[int], terms: CompositionTerms) -> list[ComponentPlan]:
    return [_chosen(wish, share, terms) for wish, share in zip(wishes, shares, strict=True)]


def _chosen(wish: ComponentWish, share: int, terms: CompositionTerms) -> ComponentPlan:
    if wish.recompress is not None:
        return _made(wish, share, wish.recompress, "asked for")
    if wish.version_id == ORIGINAL:
        return ComponentPlan(share, ComponentForm.ORIGINAL)
    if wish.waits_for_named:
        return ComponentPlan(share, ComponentForm.JOIN, wish.running, reason="asked for; it is being made already")
    if (named := wish.named) is not None:
        return _taken(wish, named, share)
    criteria = VersionCriteria(
        max_tokens=max(1, share), min_freshness=terms.min_freshness, preserve_keepits=True, least_use=LEAST_USE
    )
    best = select_best(wish.original_tokens, wish.size_bytes, wish.candidates, criteria)
    if isinstance(best, VersionCandidate):
        return _taken(wish, best, share)
    if best is NoVersion.ORIGINAL:
        return ComponentPlan(share, ComponentForm.ORIGINAL)
    settings = settings_for(wish.original_tokens, share, wish.age + 1, terms.model)
    if (same := _made_so(wish, settings.compaction_ratio)) is not None:
        return _taken(wish, same, share)
    return _made(wish, share, settings, "no version fits the allocation well")


def _made_so(wish: ComponentWish, ratio: int | None) -> VersionCandidate | None:
    """Return a version of all there is with the ratio that would be asked for: another would be no better."""
    same = [one for one in wish.candidates if one.asked_ratio == ratio and not is_stale(one, wish.size_bytes)]
    return max(same, key=lambda one: one.number, default=None)


def _taken(wish: ComponentWish, version: VersionCandidate, share: int) -> ComponentPlan:
    return ComponentPlan(share, ComponentForm.VERSION, version.number, is_stale=is_stale(version, wish.size_bytes))


def _made(wish: ComponentWish, share: int, settings: CompressionSettings, reason: str) -> ComponentPlan:
    if wish.running is not None:
        return ComponentPlan(
            share, ComponentForm.JOIN, wish.running, settings, f"{reason}; a version is being made already"
        )
    return ComponentPlan(share, ComponentForm.COMPRESS, None, settings, reason)
