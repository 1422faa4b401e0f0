"""How much more than memories and facts a context may recall."""

from __future__ import annotations

import pytest

from shared.context.recall import ContextDraft, ContextLimits, Recollection, budget_for_more
from shared.telemetry.metrics import CompactionStage

CAP = 1000


@pytest.mark.parametrize(
    ("bounds", "recalled", "is_capped", "budget"),
    [
        pytest.param(ContextLimits(500), 100, False, CAP, id="without a window as much as is tuned"),
        pytest.param(ContextLimits(500), 100, True, 400, id="a budget that was asked for holds for all of it"),
        pytest.param(ContextLimits(100), 100, True, 0, id="and may be used up"),
        pytest.param(ContextLimits(50), 100, True, 0, id="or passed"),
        pytest.param(ContextLimits(500, 1000), 100, False, 699, id="a window does not become full: 80 of 100"),
        pytest.param(ContextLimits(500, 1000, 400), 100, False, 500, id="nor does its reserve shrink"),
        pytest.param(ContextLimits(500, 1000, 400), 100, True, 400, id="the narrowest of them counts"),
        pytest.param(ContextLimits(500, 8000), 100, False, CAP, id="a wide window leaves what is tuned"),
        pytest.param(ContextLimits(500, 100), 100, False, 0, id="a full window leaves nothing"),
    ],
)
def test_the_room_for_more_is_within_every_bound(
    bounds: ContextLimits, recalled: int, is_capped: bool, budget: int
) -> None:
    composed = ContextDraft((), Recollection("", recalled, (), ()), CompactionStage.NONE, trimmed=0, cut=False)
    assert budget_for_more(composed, bounds, CAP, is_capped) == budget
