"""How a compression is asked for: the presets as the oracles have them, and what does not go together refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from shared.base.choices import Aggressiveness, KeepitMode, TierPreset
from shared.sessions.compress.settings import PRESETS, CompressionMode, CompressionSettings, aggressiveness_of

MIN, MOD, AGG = Aggressiveness.MINIMAL, Aggressiveness.MODERATE, Aggressiveness.AGGRESSIVE
ORACLE = {
    TierPreset.GENTLE: [(25, 10, MOD), (50, 7, MOD), (75, 5, MIN), (90, 4, MIN), (100, 2, MIN)],
    TierPreset.STANDARD: [(25, 25, AGG), (50, 15, AGG), (75, 10, MOD), (90, 5, MOD), (100, 3, MIN)],
    TierPreset.AGGRESSIVE: [(25, 50, AGG), (50, 35, AGG), (75, 20, AGG), (90, 10, MOD), (100, 5, MIN)],
}


def tier(end: int, ratio: int = 10) -> dict[str, Any]:
    return {"endPercent": end, "compactionRatio": ratio, "aggressiveness": "moderate"}


@pytest.mark.parametrize("preset", ORACLE)
def test_a_preset_has_the_tiers_of_the_oracle(preset: TierPreset) -> None:
    found = CompressionSettings(tier_preset=preset).tiers
    assert [(one.end_percent, one.compaction_ratio, one.aggressiveness) for one in found] == ORACLE[preset]
    assert PRESETS.keys() == ORACLE.keys()


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"mode": "uniform", "tierPreset": "gentle"}, "uniform mode takes"),
        ({"mode": "tiered", "compactionRatio": 10}, "tiered mode takes"),
        ({"mode": "tiered", "aggressiveness": "minimal"}, "tiered mode takes"),
        ({"tierPreset": "custom"}, "go together"),
        ({"tierPreset": "gentle", "customTiers": [tier(100)]}, "go together"),
        ({"customTiers": []}, "ascend"),
        ({"customTiers": [tier(50)]}, "ascend"),
        ({"customTiers": [tier(60), tier(60), tier(100)]}, "ascend"),
        ({"customTiers": [tier(100), tier(60)]}, "ascend"),
        ({"customTiers": [tier(100, 101)]}, "less than or equal to 100"),
        ({"mode": "uniform", "compactionRatio": 1}, "greater than or equal to 2"),
        ({"skipFirstMessages": -1}, "greater than or equal to 0"),
        ({"sessionDistance": 0}, "greater than or equal to 1"),
        ({"keepitMode": "forget"}, "decay"),
        ({"tierpreset": "gentle"}, "Extra inputs"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused_and_said(given: dict[str, Any], word: str) -> None:
    with pytest.raises(ValidationError) as refused:
        CompressionSettings.model_validate(given)
    assert word in str(refused.value)


def test_every_default_is_written_out() -> None:
    plain = CompressionSettings().complete("ollama:x")
    assert (plain.mode, plain.tier_preset, plain.model) == (CompressionMode.TIERED, TierPreset.STANDARD, "ollama:x")
    assert (plain.keepit_mode, plain.session_distance, plain.skip_first_messages) == (KeepitMode.DECAY, 1, 0)
    uniform = CompressionSettings(mode=CompressionMode.UNIFORM, model="extractive").complete("ollama:x")
    assert (uniform.compaction_ratio, uniform.aggressiveness, uniform.model) == (10, MOD, "extractive")
    custom = CompressionSettings.model_validate({"customTiers": [tier(40, 20), tier(100)]}).complete("extractive")
    assert (custom.tier_preset, [one.compaction_ratio for one in custom.tiers]) == (TierPreset.CUSTOM, [20, 10])


@pytest.mark.parametrize(("ratio", "how"), [(2, MIN), (5, MIN), (6, MOD), (15, MOD), (16, AGG), (100, AGG)])
def test_a_ratio_says_how_aggressive_it_is_unless_it_is_said(ratio: int, how: Aggressiveness) -> None:
    assert aggressiveness_of(ratio) is how
    said = CompressionSettings(mode=CompressionMode.UNIFORM, compaction_ratio=ratio, aggressiveness=MIN).complete(
        "extractive"
    )
    assert said.aggressiveness is MIN
    (only,) = CompressionSettings(mode=CompressionMode.UNIFORM, compaction_ratio=ratio).complete("extractive").tiers
    assert (only.end_percent, only.compaction_ratio, only.aggressiveness) == (100, ratio, how)


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ({}, "tiered-standard"),
        ({"tierPreset": "gentle"}, "tiered-gentle"),
        ({"customTiers": [tier(100)]}, "tiered-custom"),
        ({"mode": "uniform", "compactionRatio": 30}, "uniform-aggressive"),
    ],
)
def test_the_name_of_a_version_says_how_it_was_made(given: dict[str, Any], label: str) -> None:
    assert CompressionSettings.model_validate(given).complete("extractive").label == label
