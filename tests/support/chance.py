"""How many examples a test of properties draws: some in every run, all of them with ``--long``."""

from __future__ import annotations

from hypothesis import settings

_OFTEN = 30
settings.register_profile("often", max_examples=_OFTEN)


def draw_fewer() -> None:
    """Have tests that say nothing of it draw fewer examples than hypothesis does by itself."""
    settings.load_profile("often")


def examples(most: int) -> int:
    """Return how many of them to draw in this run."""
    return min(most, settings().max_examples) if settings().max_examples == _OFTEN else most
