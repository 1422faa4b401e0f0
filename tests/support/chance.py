"""How many examples a test of properties draws: some in every run, all of them with ``--long``."""

from __future__ import annotations

from typing import Literal

from hypothesis import settings

_OFTEN = 30
# Without a deadline: how long an example takes on a busy machine decides nothing.
settings.register_profile("often", max_examples=_OFTEN, deadline=None)
settings.register_profile("long", deadline=None)


def draw_examples(profile: Literal["often", "long"]) -> None:
    """Choose how many examples tests draw that say nothing of it; ``long``: as many as hypothesis does by itself."""
    settings.load_profile(profile)


def examples(most: int) -> int:
    return min(most, settings().max_examples) if settings().max_examples == _OFTEN else most
