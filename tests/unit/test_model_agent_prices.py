"""The default prices put typical work where the decisions want it: a reading at 10-17 units, a compaction at 19-30."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.energy.budget import price, to_units
from shared.memories.compaction import CompactionCandidate
from tests.support.meters import Calls
from tests.support.scripted_chat import ScriptedChat
from tests.support.settings import default_settings
from worker.agent.memory_model import ModelAgent
from worker.agent.protocol import Transcript, TranscriptTurn

NOON = datetime(2025, 5, 7, 12, tzinfo=UTC)
TURNS = (
    "Could you move my physiotherapy to the week after next? I am in Lisbon for the trade fair until Friday and my "
    "flight lands far too late.",
    "I found a free slot on Tuesday the twentieth at half past eight. Shall I take it and tell the practice that your "
    "knee is better now?",
    "Yes please, but say that it still hurts when I climb stairs. Also remind me to bring the new insurance card, the "
    "old one expired in April.",
    "Done, the practice knows about the stairs and the card is on your list. Do you want the usual taxi home, or will "
    "Miriam pick you up that day?",
)
MEMORY = (
    "Physiotherapy moved to Tuesday 20 May at 8:30; the knee still hurts on stairs. The new insurance card must be "
    "brought along. The user is at the Lisbon trade fair until Friday."
)
"""About as long as a memory usually is: between 150 and 200 characters."""


def spent_by(work: Any, answer: dict[str, Any]) -> float:
    calls = Calls()
    work(ModelAgent(ScriptedChat([answer]), "ollama:scripted", 8192, 30.0), calls)
    return sum(to_units(price(call, default_settings())) for call in calls)


@pytest.mark.parametrize("known", [0, 5, 9], ids=lambda count: f"{count} known")
@pytest.mark.parametrize("count", [8, 10, 12], ids=lambda count: f"{count} turns")
def test_a_typical_creation_costs_ten_to_seventeen_units(count: int, known: int) -> None:
    said = tuple(
        TranscriptTurn(f"msg_{i}", ("user", "assistant")[i % 2], None, TURNS[i % 4], NOON + timedelta(minutes=i))
        for i in range(count)
    )
    transcript = Transcript("diary", said, NOON, known=(MEMORY,) * known)
    facts = [{"fact": "Knee hurts when climbing stairs", "sort": "identity"}]
    answer = {"memory": MEMORY, "facts": facts}
    assert 10 <= spent_by(lambda agent, meter: agent.create(transcript, 200, meter), answer) <= 17


@pytest.mark.parametrize("action", ["delete", "edit"])
def test_a_typical_compaction_costs_nineteen_to_thirty_units(action: str) -> None:
    present = [CompactionCandidate(i, MEMORY, NOON - timedelta(days=i)) for i in range(1, 11)]
    answer = {
        "action": action,
        "target_id": 4,
        "absorbed_id": 0,
        "new_content": MEMORY if action == "edit" else "",
    }
    new = CompactionCandidate(0, MEMORY, NOON)
    assert 19 <= spent_by(lambda agent, meter: agent.compact(present, new, 200, meter), answer) <= 30
