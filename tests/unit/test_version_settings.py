"""How a version is asked for: the presets as the oracles have them, what is filled in, and what it is called."""

from __future__ import annotations

from typing import Any

import pytest

from shared.choices import Aggressiveness, KeepitMode, TierPreset
from shared.sessions.compress.settings import PRESETS, CompressionMode, CompressionSettings, aggressiveness_of

MIN, MOD, AGG = Aggressiveness.MINIMAL, Aggressiveness.MODERATE, Aggressiveness.AGGRESSIVE
ORACLE = {
    TierPreset.GENTLE: [(25, 10, MOD), (50, 7, MOD), (75, 5, MIN), (90, 4, MIN), (100, 2, MIN)],
    TierPreset.STANDARD: [(25, 25, AGG), (50, 15, AGG), (75, 10, MOD), (90, 5, MOD), (100, 3, MIN)],
    TierPreset.AGGRESSIVE: [(25, 50, AGG), (50, 35, AGG), (75, 20, AGG), (90, 10, MOD), (100, 5, MIN)],
}
TIERS = [{"endPercent": 40, "compactionRatio": 20, "aggressiveness": "moderate"},
         {"endPercent": 100, "compactionRatio": 10, "aggressiveness": "moderate"}]  # fmt: skip


@pytest.mark.parametrize("preset", ORACLE)
def test_a_preset_has_the_tiers_of_the_oracle(preset: TierPreset) -> None:
    found = CompressionSettings(tier_preset=preset).tiers
    assert [(one.end_percent, one.compaction_ratio, one.aggressiveness) for one in found] == ORACLE[preset]
    assert PRESETS.keys() == ORACLE.keys()


def test_every_default_is_written_out() -> None:
    plain = CompressionSettings().complete("ollama:x")
    assert (plain.mode, plain.tier_preset, plain.model) == (CompressionMode.TIERED, TierPreset.STANDARD, "ollama:x")
    assert (plain.keepit_mode, plain.session_distance, plain.skip_first_messages) == (KeepitMode.DECAY, 1, 0)
    uniform = CompressionSettings(mode=CompressionMode.UNIFORM, model="extractive").complete("ollama:x")
    assert (uniform.compaction_ratio, uniform.aggressiveness, uniform.model) == (10, MOD, "extractive")
    custom = CompressionSettings.model_validate({"customTiers": TIERS}).complete("extractive")
    assert (custom.tier_preset, [one.compaction_ratio for one in custom.tiers]) == (TierPreset.CUSTOM, [20, 10])


@pytest.mark.parametrize(("ratio", "how"), [(2, MIN), (5, MIN), (6, MOD), (15, MOD), (16, AGG), (100, AGG)])
def test_a_ratio_says_how_aggressive_it_is_unless_it_is_said(ratio: int, how: Aggressiveness) -> None:
    assert aggressiveness_of(ratio) is how
    uniform = CompressionSettings(mode=CompressionMode.UNIFORM, compaction_ratio=ratio)
    assert uniform.model_copy(update={"aggressiveness": MIN}).complete("extractive").aggressiveness is MIN
    (only,) = uniform.complete("extractive").tiers
    assert (only.end_percent, only.compaction_ratio, only.aggressiveness) == (100, ratio, how)


@pytest.mark.parametrize(
    ("given", "label"),
    [({}, "tiered-standard"), ({"tierPreset": "gentle"}, "tiered-gentle"), ({"customTiers": TIERS}, "tiered-custom"),
     ({"mode": "uniform", "compactionRatio": 30}, "uniform-aggressive")],
)  # fmt: skip
def test_the_name_of_a_version_says_how_it_was_made(given: dict[str, Any], label: str) -> None:
    assert CompressionSettings.model_validate(given).complete("extractive").label == label
