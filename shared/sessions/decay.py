"""Whether a marked part survives a compression, exactly: whole thousandths, no binary fractions.

Source: seed 004, "Weight Decay Calculation"; decisions, "Sessions".
"""

from __future__ import annotations

from shared.sessions.compressions.asking import MOST_DISTANCE, Aggressiveness

PINNED = 100
"""Hundredths. What weighs this much survives whatever is asked for."""

WEIGHT_PRESETS = {"PINNED": PINNED, "CRITICAL": 90, "IMPORTANT": 75, "NOTABLE": 50, "MINOR": 25, "HINT": 10}
"""Hundredths, by name."""

BASES = {Aggressiveness.MINIMAL: 100, Aggressiveness.MODERATE: 300, Aggressiveness.AGGRESSIVE: 500}
"""Thousandths."""

_PER_HUNDREDTH = 10


def threshold(aggressiveness: Aggressiveness, ratio: int, distance: int) -> int:
    """Return the least weight that survives, in thousandths; it may lie above 1000.

    A ratio of 30 at the farthest distance adds 0.30, at half of it 0.15.
    """
    return BASES[aggressiveness] + ratio * min(distance, MOST_DISTANCE)


def survives(weight: int, aggressiveness: Aggressiveness, ratio: int, distance: int) -> bool:
    """Return whether a part that weighs so many hundredths is kept word for word."""
    return weight >= PINNED or weight * _PER_HUNDREDTH >= threshold(aggressiveness, ratio, distance)
