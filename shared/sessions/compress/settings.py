"""How a compression is asked for: its settings, checked and with every default written out.

Source: seed 004, "Compression Record", "Configuration Reference"; oracles, "Sessions".
"""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from shared.base.choices import Aggressiveness, KeepitMode, TierPreset
from shared.base.closed import Closed

MIN_RATIO, MAX_RATIO = 2, 100
MAX_DISTANCE = 1000


class CompressionMode(StrEnum):
    """How the ratio runs through a session."""

    UNIFORM = "uniform"
    TIERED = "tiered"


_Ratio = Annotated[int, Field(ge=MIN_RATIO, le=MAX_RATIO)]


def _two_digits(weight: float) -> float:
    if abs(weight * 100 - round(weight * 100)) > _DUST:
        raise ValueError("a weight has two digits behind the point, as 0.80")
    return weight


def _three_digits(base: float) -> float:
    if abs(base * 1000 - round(base * 1000)) > _DUST:
        raise ValueError("a base has at most three digits behind the point, as 0.125")
    return base


_DUST = 1e-9
"""Binary fractions of what is written with so many digits."""
_FRACTION = Field(strict=True, ge=0, le=1, allow_inf_nan=False)
Base = Annotated[float, _FRACTION, AfterValidator(_three_digits)]
Distance = Annotated[int, Field(strict=True, ge=1, le=MAX_DISTANCE)]
PinnedWeight = Annotated[float, _FRACTION, Field(gt=0), AfterValidator(_two_digits)]


class _Settings(Closed):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class CompressionBase(_Settings):
    """The least weight that survives at no distance at all, by aggressiveness."""

    light: Base = 0.1
    moderate: Base = 0.3
    aggressive: Base = 0.5

    def thousandths(self, how: Aggressiveness) -> int:
        """Return the base of an aggressiveness."""
        return round(1000 * (self.light if how is Aggressiveness.MINIMAL else getattr(self, how)))


class KeepitDecay(_Settings):
    """What decides whether marked parts survive, beside their weight, the ratio and the distance."""

    compression_base: CompressionBase = CompressionBase()
    max_session_distance: Distance = Field(10, description="From here on distance makes no more difference.")
    pinned_weight: PinnedWeight = Field(1.0, description="What weighs this much always survives.")

    @property
    def pinned(self) -> int:
        """The weight that always survives, hundredths."""
        return round(100 * self.pinned_weight)


class Tier(_Settings):
    """A part of a session and how it is compressed."""

    end_percent: int = Field(ge=1, le=100, description="Where it ends, per cent of the session.")
    compaction_ratio: _Ratio
    aggressiveness: Aggressiveness


def _tiers(*rows: tuple[int, int, Aggressiveness]) -> tuple[Tier, ...]:
    return tuple(Tier(end_percent=end, compaction_ratio=ratio, aggressiveness=how) for end, ratio, how in rows)


_MIN, _MOD, _AGG = Aggressiveness.MINIMAL, Aggressiveness.MODERATE, Aggressiveness.AGGRESSIVE
PRESETS = {
    TierPreset.GENTLE: _tiers((25, 10, _MOD), (50, 7, _MOD), (75, 5, _MIN), (90, 4, _MIN), (100, 2, _MIN)),
    TierPreset.STANDARD: _tiers((25, 25, _AGG), (50, 15, _AGG), (75, 10, _MOD), (90, 5, _MOD), (100, 3, _MIN)),
    TierPreset.AGGRESSIVE: _tiers((25, 50, _AGG), (50, 35, _AGG), (75, 20, _AGG), (90, 10, _MOD), (100, 5, _MIN)),
}
"""Source: oracles, "Sessions"."""


class CompressionSettings(_Settings):
    """What a version is made with; the same settings over the same bytes give the same version."""

    mode: CompressionMode = CompressionMode.TIERED
    compaction_ratio: _Ratio | None = Field(None, description="Of the uniform mode; 10 unless said.")
    aggressiveness: Aggressiveness | None = Field(None, description="Of the uniform mode; by the ratio unless said.")
    tier_preset: TierPreset | None = Field(None, description="Of the tiered mode; standard unless said.")
    custom_tiers: tuple[Tier, ...] | None = Field(None, max_length=20, description="Ascending, the last ends at 100.")
    model: str | None = Field(
        None,
        max_length=200,
        description="Who compresses: `extractive`, or the model of the settings; that unless said.",
    )
    skip_first_messages: int = Field(0, ge=0, le=1_000_000, description="Messages at the beginning to leave out.")
    keepit_mode: KeepitMode = KeepitMode.DECAY
    session_distance: int = Field(
        1, ge=1, le=MAX_DISTANCE, description="1: the latest session; 10 and more: an old one."
    )
    decay: KeepitDecay | None = Field(None, description="What is left out is as the project says.")

    @model_validator(mode="after")
    def _belongs_together(self) -> CompressionSettings:
        if self.mode is CompressionMode.UNIFORM and (self.tier_preset is not None or self.custom_tiers is not None):
            raise ValueError("uniform mode takes compactionRatio and aggressiveness, no tiers")
        if self.mode is CompressionMode.TIERED and (
            self.compaction_ratio is not None or self.aggressiveness is not None
        ):
            raise ValueError("tiered mode takes tierPreset or customTiers, no ratio of its own")
        if (self.tier_preset is TierPreset.CUSTOM) != (self.custom_tiers is not None) and self.tier_preset is not None:
            raise ValueError("tierPreset custom and customTiers go together")
        _check_tiers(self.custom_tiers)
        return self

    def complete(self, model: str) -> CompressionSettings:
        """Return the settings with every default written out; ``model`` compresses where none was named."""
        filled: dict[str, object] = {"model": self.model or model, "decay": self.decay or KeepitDecay()}
        if self.mode is CompressionMode.UNIFORM:
            ratio = self.compaction_ratio or 10
            filled |= {"compaction_ratio": ratio, "aggressiveness": self.aggressiveness or aggressiveness_of(ratio)}
        else:
            custom = self.custom_tiers is not None
            filled["tier_preset"] = TierPreset.CUSTOM if custom else self.tier_preset or TierPreset.STANDARD
        return self.model_copy(update=filled)

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """The tiers of complete settings; one for the uniform mode."""
        if self.mode is CompressionMode.UNIFORM:
            assert self.compaction_ratio is not None
            assert self.aggressiveness is not None
            return _tiers((100, self.compaction_ratio, self.aggressiveness))
        return self.custom_tiers or PRESETS[self.tier_preset or TierPreset.STANDARD]

    @property
    def label(self) -> str:
        """The part of a file's name that says how it was made, as ``tiered-standard``."""
        return f"{self.mode}-{self.aggressiveness if self.mode is CompressionMode.UNIFORM else self.tier_preset}"


def aggressiveness_of(ratio: int) -> Aggressiveness:
    """Return how aggressive a ratio is: 2-5 minimal, 6-15 moderate, 16 and more aggressive."""
    if ratio <= 5:
        return Aggressiveness.MINIMAL
    return Aggressiveness.MODERATE if ratio <= 15 else Aggressiveness.AGGRESSIVE


def _check_tiers(tiers: tuple[Tier, ...] | None) -> None:
    if tiers is None:
        return
    ends = [tier.end_percent for tier in tiers]
    if not ends or ends[-1] != 100 or any(a >= b for a, b in pairwise(ends)):
        raise ValueError("the tiers' endPercent must ascend and the last must be 100")
