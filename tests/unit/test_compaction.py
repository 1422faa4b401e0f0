"""The rules by which room is made without thought, and which decisions are refused; tables of pure values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shared.memories.compaction import (
    NEW,
    Action,
    CompactionCandidate,
    Decision,
    Eviction,
    least_goes,
    oldest_goes,
    refusal,
)

START = datetime(2025, 5, 1, tzinfo=UTC)


def held(*marks: str, said: str = "Keeps goat") -> list[CompactionCandidate]:
    """Return memories, oldest first, of importances like ``9``; ``p`` behind it: pinned, ``h``: by hand."""
    return [
        CompactionCandidate(
            number, f"{said} {number}", START + timedelta(days=number), int(mark.rstrip("ph")),
            pinned="p" in mark, by_hand="h" in mark,
        )
        for number, mark in enumerate(marks, 1)
    ]  # fmt: skip


def new(importance: int) -> CompactionCandidate:
    return CompactionCandidate(NEW, "Moved to Lyon", START + timedelta(days=99), importance)


@pytest.mark.parametrize(
    ("marks", "goes"),
    [
        pytest.param(["5", "5", "5"], 1, id="the oldest of equals"),
        pytest.param(["10", "1", "1"], 2, id="slight before vital, however old"),
        pytest.param(["10", "7", "5"], 2, id="middling before vital, the oldest of them"),
        pytest.param(["6", "10", "4", "1"], 3, id="slight before middling, the oldest of them"),
        pytest.param(["8", "10", "9"], 1, id="vital where there is nothing else"),
        pytest.param(["10", "1p", "2p"], 1, id="what is pinned cannot go for what is vital"),
        pytest.param(["1p", "1p"], NEW, id="the new one where all are pinned"),
    ],
)
def test_by_age_the_oldest_of_those_that_matter_least_goes(marks: list[str], goes: int) -> None:
    assert oldest_goes(held(*marks), "why", new(5)).removed_id == goes
    assert oldest_goes(held(*marks), "why").removed_id == goes


@pytest.mark.parametrize(("importance", "goes"), [(4, NEW), (5, 1), (10, 1)])
def test_by_age_a_slight_new_memory_gives_way_to_vital_ones(importance: int, goes: int) -> None:
    eviction: Eviction = oldest_goes(held("8", "9"), "why", new(importance))
    assert eviction.removed_id == goes and eviction.reason.endswith("why")


@pytest.mark.parametrize(
    ("marks", "goes"),
    [
        pytest.param(["6", "3", "6", "1"], 2, id="the least, but not the last that changed"),
        pytest.param(["6h", "7", "6h", "6"], 2, id="a machine's before a person's"),
        pytest.param(["9", "3h", "6h"], 2, id="a person's slight one before a machine's vital one"),
        pytest.param(["9", "10", "1"], 3, id="the last that changed before a vital one"),
        pytest.param(["9", "10", "1p"], 1, id="a vital one where the slight one is pinned"),
    ],
)
def test_by_hand_the_least_goes_and_nothing_vital_before_what_is_slight(marks: list[str], goes: int) -> None:
    assert least_goes(held(*marks), "why").removed_id == goes


LOST = "would be lost while"
TABLE = [
    pytest.param(["10", "1"], 6, Decision(Action.DELETE, 1, ""), LOST, id="deletes the vital"),
    pytest.param(["10", "1"], 6, Decision(Action.DELETE, 2, ""), None, id="deletes the slight"),
    pytest.param(["7", "1"], 6, Decision(Action.DELETE, 1, ""), None, id="deletes the middling"),
    pytest.param(["10", "5"], 6, Decision(Action.DELETE, 1, ""), None, id="nothing slight stands"),
    pytest.param(["10", "1p"], 6, Decision(Action.DELETE, 1, ""), None, id="what is slight is pinned"),
    pytest.param(["10", "9"], 2, Decision(Action.DELETE, 1, ""), LOST, id="for a new one that is slight"),
    pytest.param(["10", "9"], 2, Decision(Action.DELETE, NEW, ""), None, id="gives up a slight new one"),
    pytest.param(
        ["10", "6", "1"],
        6,
        Decision(Action.EDIT, 1, "", "Keeps goats in the northern stable: 1, 2", 2),
        None,
        id="a merge that keeps it",
    ),
    pytest.param(
        ["10", "6", "1"], 6, Decision(Action.EDIT, 2, "", "Keeps goat 2 (1)", 1), LOST, id="absorbs it and drops most"
    ),
    pytest.param(
        ["10", "1"], 6, Decision(Action.EDIT, 1, "", "Goat 1 and 2", 2), None, id="none is left that is slight"
    ),
]


@pytest.mark.parametrize(("marks", "importance", "decision", "complaint"), TABLE)
def test_a_decision_that_loses_what_is_vital_for_what_is_slight_is_refused(
    marks: list[str], importance: int, decision: Decision, complaint: str | None
) -> None:
    refused = refusal(decision, held(*marks, said="Keeps goat in the northern stable called"), new(importance), 200)
    assert refused is None if complaint is None else complaint in (refused or "")


def test_a_vital_memory_may_go_where_another_vital_one_says_all_of_it_and_only_then() -> None:
    twice = [CompactionCandidate(i, "No nuts", START, importance) for i, importance in ((1, 9), (2, 9), (3, 1))]
    assert refusal(Decision(Action.DELETE, 1, ""), twice, new(5), 200) is None
    assert LOST in (refusal(Decision(Action.DELETE, 1, ""), [twice[0], twice[2]], new(5), 200) or "")
