"""The player of recorded answers: a prompt gets the answer of its own conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.recorded_answers import RecordedAnswers

CONVERSATIONS = [
    {
        "id": "bees",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "I keep bees on the roof of the school."},
            {"role": "assistant", "content": "How many?"},
            {"role": "user", "content": "Three hives. I moved to Bern."},
        ],
    },
    {"id": "boats", "messages": [{"role": "user", "content": "I build boats of cedar."}]},
]


@pytest.fixture
def player(tmp_path: Path) -> RecordedAnswers:
    for name in ("bees", "boats"):
        recorded = {"memory": name, "facts": []}
        (tmp_path / f"{name}.json").write_text(json.dumps(recorded), encoding="utf-8")
    return RecordedAnswers(CONVERSATIONS, tmp_path)


def asking(field: str, *prompts: str) -> dict[str, Any]:
    messages = [{"role": "system", "content": "rules"}, *({"role": "user", "content": prompt} for prompt in prompts)]
    return {"messages": messages, "format": {"properties": {field: {}}}}


def test_a_conversation_is_known_by_what_its_user_said(player: RecordedAnswers) -> None:
    boats = "(2026-01-01)\nuser: I build boats of cedar."
    assert player(asking("memory", "user: an example", boats)) == {"memory": "boats", "facts": []}
    assert player(asking("memory", boats, "This answer cannot be used: it is empty.")) is not None
    assert player(asking("memory", "user: Hello.")) is None
    assert player(asking("points", boats)) is None
    assert player.asked == ["boats", "boats"]
