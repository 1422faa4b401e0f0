"""What a version is to hold, decided before anything is written: tiers, their budgets, and the fate of each marker.

Pure functions of what was gathered and of complete settings. What fills the budgets is left to the drafting.
Source: seed 004, "Weight Decay Calculation"; oracles, "Sessions".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shared.llm.tokens import LAST_RESORT
from shared.sessions.compressions.asking import CompressionSettings, KeepitMode, Tier
from shared.sessions.compressions.gathering import Said, SaidKind, messages_in
from shared.sessions.decay import PINNED, survives


@dataclass(frozen=True)
class Fate:
    """What becomes of a marked part."""

    marker_id: str
    weight: int
    survived: bool


@dataclass(frozen=True)
class Plan:
    """What is compressed, and into what."""

    settings: CompressionSettings
    gathered: tuple[Said, ...]
    """Without what is skipped, but for marked parts in it that survive."""
    tier_of: tuple[int, ...]
    """Of each of those."""
    kept: frozenset[int]
    """Places of the marked parts that survive."""
    fates: tuple[Fate, ...]
    input_tokens: int
    input_by_tier: tuple[int, ...]
    messages: int
    budgets: tuple[int, ...]
    """Tokens each tier may take."""
    last_request: frozenset[int]
    """Places of what a person asked for last."""

    @property
    def target_chars(self) -> int:
        """Characters the whole may take."""
        return LAST_RESORT.chars_in(max(1, sum(self.budgets)))

    @property
    def asked_ratio(self) -> float:
        """The ratio that all tiers together come to."""
        return self.input_tokens / max(1, sum(self.budgets))


def plan(gathered: Sequence[Said], settings: CompressionSettings) -> Plan:
    """Decide on tiers, budgets and markers."""
    skipped, messages = settings.skip_first_messages, messages_in(gathered)
    tier_of = [_tier(said.message - skipped, messages - skipped, settings.tiers) for said in gathered]
    fates = {
        place: _fate(said, settings, settings.tiers[tier_of[place]])
        for place, said in enumerate(gathered)
        if said.mark is not None
    }
    kept = {place for place, fate in fates.items() if fate.survived}
    chosen = [place for place, said in enumerate(gathered) if said.message >= skipped or place in kept]
    by_tier = _input_by_tier(gathered, tier_of, skipped, len(settings.tiers))
    again = {place: number for number, place in enumerate(chosen)}
    return Plan(
        settings=settings,
        gathered=tuple(gathered[place] for place in chosen),
        tier_of=tuple(tier_of[place] for place in chosen),
        kept=frozenset(again[place] for place in kept),
        fates=tuple(fates.values()),
        input_tokens=sum(by_tier),
        input_by_tier=tuple(by_tier),
        messages=max(0, messages - skipped),
        budgets=tuple(tokens // tier.compaction_ratio for tokens, tier in zip(by_tier, settings.tiers, strict=True)),
        last_request=_last_request([gathered[place] for place in chosen]),
    )


def _tier(message: int, messages: int, tiers: Sequence[Tier]) -> int:
    """Return the tier of a message by how much of the session is over with it."""
    over = 100 * (message + 1)
    return next((place for place, tier in enumerate(tiers) if over <= tier.end_percent * messages), len(tiers) - 1)


def _fate(said: Said, settings: CompressionSettings, tier: Tier) -> Fate:
    assert said.mark is not None
    weight = said.mark.weight
    if settings.keepit_mode is KeepitMode.DECAY:
        survived = survives(weight, tier.aggressiveness, tier.compaction_ratio, settings.session_distance)
    else:
        survived = settings.keepit_mode is KeepitMode.PRESERVE_ALL or weight >= PINNED
    return Fate(said.mark.marker_id, weight, survived)


def _input_by_tier(gathered: Sequence[Said], tier_of: Sequence[int], skipped: int, tiers: int) -> list[int]:
    tokens = [0] * tiers
    for said, tier in zip(gathered, tier_of, strict=True):
        tokens[tier] += said.tokens if said.message >= skipped else 0
    return tokens


def _last_request(gathered: Sequence[Said]) -> frozenset[int]:
    asked = [said.message for said in gathered if said.kind is SaidKind.HUMAN]
    if not asked:
        return frozenset()
    return frozenset(
        place for place, said in enumerate(gathered) if said.kind is SaidKind.HUMAN and said.message == asked[-1]
    )
