"""The player of recorded answers: a prompt gets the answer of its own conversation, in its own numbers and ids."""

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
CREATE = {"reason": "It lasts.", "remember": True, "memory": "Keeps bees", "importance": 5, "tags": []}
OLD = {"fact": "Keeps bees", "messages": [1], "updates": 0}
NEW = {"fact": "Lives in Bern", "messages": [3], "updates": "Lives in Basel."}


@pytest.fixture
def player(tmp_path: Path) -> RecordedAnswers:
    for name in ("bees", "boats"):
        recorded = {"create": {**CREATE, "memory": name}, "facts": {"facts": [OLD, NEW] if name == "bees" else []}}
        (tmp_path / f"{name}.json").write_text(json.dumps(recorded), encoding="utf-8")
    return RecordedAnswers(CONVERSATIONS, tmp_path)


def asked(field: str, prompt: str) -> dict[str, Any]:
    return {"messages": [{"content": "rules"}, {"content": prompt}], "format": {"properties": {field: {}}}}


def test_a_conversation_is_known_by_what_its_user_said(player: RecordedAnswers) -> None:
    assert player(asked("memory", "(2026-01-01)\nuser: I build boats of cedar."))["memory"] == "boats"  # type: ignore[index]
    assert player(asked("memory", "user: Hello.")) is None
    assert player(asked("points", "user: I build boats of cedar.")) is None
    assert player.asked == [("boats", "create")]


def test_facts_have_the_numbers_of_the_part_that_is_read_and_the_ids_of_what_is_known(player: RecordedAnswers) -> None:
    part = "Already known (id: fact):\n7: Lives in Basel\n\nSaid before:\nuser: I keep bees on the roof of the school."
    answer = player(asked("facts", f"{part}\n\n[1] assistant: How many?\n[2] user: Three hives. I moved to Bern."))
    assert answer == {"facts": [{**NEW, "messages": [2], "updates": 7, "updates_previous": True}]}


def test_what_is_not_known_in_the_prompt_is_not_updated(player: RecordedAnswers) -> None:
    lines = (
        "[1] user: I keep bees on the roof of the school.",
        "[2] assistant: How many?",
        "[3] user: Three hives. I moved to Bern.",
    )
    whole = "\n".join(lines)
    answer = player(asked("facts", whole)) or {}
    assert [(one["messages"], one["updates"]) for one in answer["facts"]] == [([1], 0), ([3], 0)]
