"""Who gets how much of a budget, and as which version: decided from values, before anything is read or compressed.

Whole tokens, never more in sum than there is; whoever needs less than its share leaves the rest to the others. The
original serves where it fits, else the version with the highest score, else one that is made for it.
Source: seed 004, "Compression Version Selection"; oracles, "Sessions".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile
from typing import Any

from shared.base.choices import Aggressiveness, AllocationStrategy
from shared.base.errors import Invalid
from shared.sessions.compress.settings import MAX_RATIO, MIN_RATIO, CompressionMode, CompressionSettings
from shared.sessions.models import BuildState, RecordedSession, SessionVersion

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
        # What was asked for, less an equal part of each where headings leave too little.
        asked = [need.asked or 0 for need in needs]
        total = sum(asked)
        return tuple(asked) if total <= available else tuple(one * available // total for one in asked)
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


class ComponentForm(StrEnum):
    """How a session gets into a composition."""

    ORIGINAL = "original"
    VERSION = "version"
    JOIN = "join"
    """As the version that is being made of it at this moment."""
    COMPRESS = "compress"
    """As a version that is made for it."""


@dataclass(frozen=True)
class VersionCriteria:
    """What is asked of a version."""

    max_tokens: int | None = None
    min_freshness: int | None = None
    """1, and unless said: it must cover all there is now; 10: any will do."""
    preferred_ratio: float | None = None
    preserve_keepits: bool = False
    least_use: float = 0.0
    """The share of ``max_tokens`` it must use at least; by its score alone one that uses next to none is good."""


def select_best(
    recorded: RecordedSession, versions: Iterable[SessionVersion], criteria: VersionCriteria
) -> SessionVersion | ComponentForm:
    """Return the version to use of those that are whole, the original, or that a new one is needed.

    One that covers less than there is now is only used where that is said to do, as what was asked last would not be
    in it; one that skips the beginning never, unless it is named. A fresh one goes before a stale one.
    """
    if not criteria.max_tokens or recorded.original_tokens <= criteria.max_tokens:
        return ComponentForm.ORIGINAL
    oldest = criteria.min_freshness or CURRENT
    least = criteria.max_tokens * criteria.least_use
    usable = [
        one
        for one in versions
        if one.output_tokens >= least and not one.skipped_messages and freshness(one, recorded.size_bytes) <= oldest
    ]
    good = [one for one in usable if version_score(one, criteria) >= LEAST_SCORE]
    return max(
        good,
        key=lambda one: (one.source_bytes >= recorded.size_bytes, version_score(one, criteria), one.number),
        default=ComponentForm.COMPRESS,
    )


def version_score(version: SessionVersion, criteria: VersionCriteria) -> float:
    """Return how well a version meets what is asked, 0..1."""
    points = 1.0
    if criteria.max_tokens:
        points *= (
            _OVER_BUDGET
            if version.output_tokens > criteria.max_tokens
            else 0.5 + version.output_tokens / criteria.max_tokens * 0.5
        )
    if criteria.preferred_ratio:
        points *= max(0.5, 1 - abs(version.ratio - criteria.preferred_ratio) / _RATIO_SPAN)
    preserved, summarised = (int(version.keepit_stats.get(name, 0)) for name in ("preserved", "summarized"))
    if criteria.preserve_keepits and summarised:
        points *= 0.5 + preserved / (preserved + summarised) * 0.5
    return points


def freshness(version: SessionVersion, size_bytes: int) -> int:
    """Return how much of what there is now a version covers, from 1 (all of it) to 10 (hardly any)."""
    missing = max(0, size_bytes - version.source_bytes)
    return CURRENT + (-(-missing * (STALE - CURRENT) // size_bytes) if missing else 0)


LEAST_USE = 0.5
"""A version that uses less of its share is not good enough while its session has more to say."""


@dataclass(frozen=True)
class SharedBeginning:
    """What a session begins with as one before it does, being a branch or a copy of that one that went on."""

    session_id: str
    """Of the one before it."""
    tokens: int
    """An estimate, to the prompt."""


def shared_beginnings(recorded: Sequence[RecordedSession]) -> list[SharedBeginning | None]:
    """Return with which of those before it each session begins alike, the one it shares most with."""
    found: list[SharedBeginning | None] = []
    for place, one in enumerate(recorded):
        shared = [SharedBeginning(other.session_id, _tokens_alike(one, other)) for other in recorded[:place]]
        found.append(max((one for one in shared if one.tokens), key=lambda one: one.tokens, default=None))
    return found


def _tokens_alike(recorded: RecordedSession, earlier: RecordedSession) -> int:
    """Return how many tokens a session begins with as another one does; 0 where their first prompts differ."""
    prompts, others = recorded.beginning or [], earlier.beginning or []
    pairs = zip(prompts, others, strict=False)
    alike = sum(1 for _ in takewhile(lambda pair: not set(pair[0][1]).isdisjoint(pair[1][1]), pairs))
    if not alike or alike < len(prompts):
        return prompts[alike][0] if alike else 0
    # Of the answer to its last prompt nothing is known; where the other one went on, it is the same.
    return recorded.original_tokens if len(others) > alike else max(1, prompts[-1][0])


@dataclass(frozen=True)
class ComponentWish:
    """A session as it was asked for, and what there is of it."""

    recorded: RecordedSession
    versions: Sequence[SessionVersion] = ()
    """Those that are whole or being made, oldest first."""
    version_id: str = AUTO
    allocation: int | None = None
    recompress: CompressionSettings | None = None
    age: int = 0
    """Its place by age, 0 is the newest."""
    shared: SharedBeginning | None = None

    @property
    def own_tokens(self) -> int:
        """Tokens of its original that no session before it says already."""
        return self.recorded.original_tokens - (self.shared.tokens if self.shared else 0)

    @property
    def named(self) -> SessionVersion | None:
        """The version that was asked for by name."""
        return next((one for one in self.versions if one.version_id == self.version_id), None)

    @property
    def whole(self) -> list[SessionVersion]:
        """Its versions that are not being made any more."""
        return [one for one in self.versions if one.state == BuildState.READY]


@dataclass(frozen=True)
class ComponentPlan:
    """What a session gets."""

    wish: ComponentWish
    allocation: int
    way: ComponentForm
    version: SessionVersion | None = None
    """The one that is used or joined."""
    settings: CompressionSettings | None = None
    """Of the version that is to be made."""
    reason: str = ""

    @property
    def is_stale(self) -> bool:
        """Whether the version that is used covers less than there is now."""
        used = None if self.version is None or self.way is not ComponentForm.VERSION else self.version
        return used is not None and used.source_bytes < self.wish.recorded.size_bytes

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


def plan_components(wishes: Sequence[ComponentWish], terms: CompositionTerms) -> list[ComponentPlan]:
    """Share the budget, choose versions, and share anew what the chosen ones leave. Raises: Invalid."""
    first = _choose(wishes, [_most_tokens(wish, wish.named) for wish in wishes], terms)
    used = [one.version if one.way is ComponentForm.VERSION else one.wish.named for one in first]
    again = _choose(wishes, [_most_tokens(wish, one) for wish, one in zip(wishes, used, strict=True)], terms)
    return [
        replace(one, allocation=new.allocation) if one.way is ComponentForm.VERSION else new
        for one, new in zip(first, again, strict=True)
    ]


def _begun_alike(plan: ComponentPlan) -> ComponentPlan:
    """Say of a session that begins as one before it does that only the rest of it goes in."""
    if plan.wish.shared is None:
        return plan
    alike = f"it begins as {plan.wish.shared.session_id} does, and only the rest of it goes in"
    return replace(plan, reason="; ".join(filter(None, (plan.reason, alike))))


def _most_tokens(wish: ComponentWish, version: SessionVersion | None) -> int:
    """Return what a session can use as a version; as its original where that is not there yet."""
    if version is None or version.state != BuildState.READY:
        return wish.own_tokens
    return version.output_tokens * wish.own_tokens // max(1, wish.recorded.original_tokens)


def _choose(wishes: Sequence[ComponentWish], most: Sequence[int], terms: CompositionTerms) -> list[ComponentPlan]:
    needs = [
        TokenNeed(tokens, wish.own_tokens, wish.age, wish.allocation) for wish, tokens in zip(wishes, most, strict=True)
    ]
    shares = allocate(terms.strategy, needs, terms.available)
    return [_begun_alike(_chosen(wish, share, terms)) for wish, share in zip(wishes, shares, strict=True)]


def _chosen(wish: ComponentWish, share: int, terms: CompositionTerms) -> ComponentPlan:
    recorded, named = wish.recorded, wish.named
    if wish.recompress is not None:
        return _made(wish, share, wish.recompress, "asked for")
    if named is not None and named.state == BuildState.WORKING:
        return ComponentPlan(wish, share, ComponentForm.JOIN, named, reason="asked for; it is being made already")
    whole = share * wish.recorded.original_tokens // max(1, wish.own_tokens)
    criteria = VersionCriteria(
        max_tokens=max(1, whole), min_freshness=terms.min_freshness, preserve_keepits=True, least_use=LEAST_USE
    )
    best = named or select_best(recorded, wish.whole, criteria)
    if wish.version_id == ORIGINAL or best is ComponentForm.ORIGINAL:
        return ComponentPlan(wish, share, ComponentForm.ORIGINAL)
    ratio = -(-recorded.original_tokens // max(1, whole))
    settings = CompressionSettings(
        mode=CompressionMode.UNIFORM,
        compaction_ratio=min(MAX_RATIO, max(MIN_RATIO, ratio)),
        aggressiveness=Aggressiveness.MODERATE,
        model=terms.model,
        session_distance=wish.age + 1,
    )
    if best is ComponentForm.COMPRESS:
        # One of all there is with the ratio that would be asked for is taken: another would be no better.
        same = [one for one in wish.whole if one.settings.get("compactionRatio") == settings.compaction_ratio]
        fresh = [one for one in same if one.source_bytes >= recorded.size_bytes and not one.skipped_messages]
        best = fresh[-1] if fresh else best
    if isinstance(best, SessionVersion):
        skipped = f"it skips the first {best.skipped_messages} messages" if best.skipped_messages else ""
        return ComponentPlan(wish, share, ComponentForm.VERSION, best, reason=skipped)
    return _made(wish, share, settings, "no version fits the allocation well")


def _made(wish: ComponentWish, share: int, settings: CompressionSettings, reason: str) -> ComponentPlan:
    running = next((one for one in wish.versions if one.state == BuildState.WORKING), None)
    if running is None:
        return ComponentPlan(wish, share, ComponentForm.COMPRESS, None, settings, reason)
    return ComponentPlan(
        wish, share, ComponentForm.JOIN, running, settings, f"{reason}; a version is being made already"
    )
