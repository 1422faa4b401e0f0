"""Who gets how much of a budget, and as which version: decided from values, before anything is read or compressed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from shared.sessions.compositions.allocating import Need, Strategy, allocate
from shared.sessions.compositions.asking import AUTO, ORIGINAL
from shared.sessions.compositions.selecting import Candidate, Criteria, Instead, is_stale, select_best
from shared.sessions.compressions.asking import (
    LEAST_RATIO,
    MOST_RATIO,
    CompressionSettings,
    Mode,
)
from shared.sessions.version_ids import version_id

LEAST_USE = 0.5
"""A version that uses less of its share is not good enough while its session has more to say."""


class Way(StrEnum):
    """How a session gets into a composition."""

    ORIGINAL = "original"
    VERSION = "version"
    JOIN = "join"
    """As the version that is being made of it at this moment."""
    COMPRESS = "compress"
    """As a version that is made for it."""


@dataclass(frozen=True)
class Wish:
    """A session as it was asked for, and what there is of it."""

    session_id: str
    original_tokens: int
    size_bytes: int
    candidates: tuple[Candidate, ...]
    running: int | None = None
    """The number of the version that is being made."""
    version_id: str = AUTO
    allocation: int | None = None
    recompress: CompressionSettings | None = None
    age: int = 0
    """Its place by age, 0 is the newest."""

    @property
    def named(self) -> Candidate | None:
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
class Planned:
    """What a session gets."""

    allocation: int
    way: Way
    number: int | None = None
    """Of the version that is used or joined."""
    settings: CompressionSettings | None = None
    """Of the version that is to be made."""
    reason: str = ""
    is_stale: bool = False
    """Whether the version covers less than there is now."""


@dataclass(frozen=True)
class Terms:
    """What holds for all sessions of a composition."""

    strategy: Strategy
    available: int
    """Tokens, without what the headings take."""
    min_freshness: int | None = None
    model: str | None = None


def plan(wishes: Sequence[Wish], terms: Terms) -> tuple[Planned, ...]:
    """Share the budget, choose versions, and share anew what the chosen ones leave. Raises: Invalid."""
    first = _choose(wishes, _shares(wishes, terms, [_most(wish) for wish in wishes]), terms)
    most = [_used(wish, one) for wish, one in zip(wishes, first, strict=True)]
    shares = _shares(wishes, terms, most)
    again = _choose(wishes, shares, terms)
    return tuple(
        replace(one, allocation=share) if one.way is Way.VERSION else new
        for one, new, share in zip(first, again, shares, strict=True)
    )


def settings_for(original_tokens: int, allocation: int, distance: int, model: str | None) -> CompressionSettings:
    """Return with what a session is compressed so that it fits."""
    ratio = -(-original_tokens // max(1, allocation))
    return CompressionSettings(
        mode=Mode.UNIFORM,
        compaction_ratio=min(MOST_RATIO, max(LEAST_RATIO, ratio)),
        model=model,
        session_distance=distance,
    )


def _most(wish: Wish) -> int:
    named = wish.named
    return wish.original_tokens if named is None else named.output_tokens


def _used(wish: Wish, planned: Planned) -> int:
    """Return what a session can still use once its version is chosen."""
    chosen = next((one for one in wish.candidates if one.number == planned.number), None)
    return _most(wish) if planned.way is not Way.VERSION or chosen is None else chosen.output_tokens


def _shares(wishes: Sequence[Wish], terms: Terms, most: Sequence[int]) -> tuple[int, ...]:
    needs = [
        Need(tokens, wish.original_tokens, wish.age, wish.allocation) for wish, tokens in zip(wishes, most, strict=True)
    ]
    return allocate(terms.strategy, needs, terms.available)


def _choose(wishes: Sequence[Wish], shares: Sequence[int], terms: Terms) -> list[Planned]:
    return [_chosen(wish, share, terms) for wish, share in zip(wishes, shares, strict=True)]


def _chosen(wish: Wish, share: int, terms: Terms) -> Planned:
    if wish.recompress is not None:
        return _made(wish, share, wish.recompress, "asked for")
    if wish.version_id == ORIGINAL:
        return Planned(share, Way.ORIGINAL)
    if wish.waits_for_named:
        return Planned(share, Way.JOIN, wish.running, reason="asked for; it is being made already")
    if (named := wish.named) is not None:
        return _taken(wish, named, share)
    criteria = Criteria(
        max_tokens=max(1, share), min_freshness=terms.min_freshness, preserve_keepits=True, least_use=LEAST_USE
    )
    best = select_best(wish.original_tokens, wish.size_bytes, wish.candidates, criteria)
    if isinstance(best, Candidate):
        return _taken(wish, best, share)
    if best is Instead.ORIGINAL:
        return Planned(share, Way.ORIGINAL)
    settings = settings_for(wish.original_tokens, share, wish.age + 1, terms.model)
    if (same := _made_so(wish, settings.compaction_ratio)) is not None:
        return _taken(wish, same, share)
    return _made(wish, share, settings, "no version fits the allocation well")


def _made_so(wish: Wish, ratio: int | None) -> Candidate | None:
    """Return a version of all there is with the ratio that would be asked for: another would be no better."""
    same = [one for one in wish.candidates if one.asked_ratio == ratio and not is_stale(one, wish.size_bytes)]
    return max(same, key=lambda one: one.number, default=None)


def _taken(wish: Wish, version: Candidate, share: int) -> Planned:
    return Planned(share, Way.VERSION, version.number, is_stale=is_stale(version, wish.size_bytes))


def _made(wish: Wish, share: int, settings: CompressionSettings, reason: str) -> Planned:
    if wish.running is not None:
        return Planned(share, Way.JOIN, wish.running, settings, f"{reason}; a version is being made already")
    return Planned(share, Way.COMPRESS, None, settings, reason)
