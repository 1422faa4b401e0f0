"""What the energy allows to attend to: pure rules."""

from __future__ import annotations

import pytest

from loop.thinking.situation import FocusKind, model_for, permitted, review_size
from loop.thinking.tools import BY_NAME, UNKNOWN
from shared.conversations.models import AnswerState
from shared.energy.budget import to_micro
from shared.telemetry.metrics import ANSWER_STATES, TOOLS


@pytest.mark.parametrize(
    ("percentage", "size"),
    [(0, 1), (1, 1), (5, 2), (20, 5), (40, 9), (51, 11), (75, 15), (80, 16), (95, 19), (99, 20), (100, 20)],
)
def test_a_review_shows_one_to_twenty_conversations_by_the_energy(percentage: float, size: int) -> None:
    assert review_size(percentage) == size == max(1, round(1 + percentage / 100 * 19))


@pytest.mark.parametrize(
    ("units", "allowed"),
    [
        (-50, ""), (0, ""), (0.000001, "unanswered"), (20, "unanswered"), (20.000001, "unanswered selected"),
        (50, "unanswered selected"), (50.000001, "unanswered selected review"), (100, "unanswered selected review"),
    ],
)  # fmt: skip
def test_the_less_energy_the_fewer_things_are_attended_to(units: float, allowed: str) -> None:
    assert permitted(to_micro(units), 20.0) == {FocusKind(word) for word in allowed.split()}


def test_a_gate_of_nothing_lets_nothing_be_thought_without_energy() -> None:
    assert permitted(0, 0.0) == frozenset()


@pytest.mark.parametrize(
    ("units", "small", "model"),
    [(100, "s", "l"), (50, "s", "l"), (20.1, "s", "l"), (20, "s", "s"), (0.1, "s", "s"), (0.1, None, "l")],
)
def test_the_model_is_chosen_by_the_energy(units: float, small: str | None, model: str) -> None:
    assert model_for(to_micro(units), "l", small) == model


def test_the_labels_of_the_metrics_are_those_of_the_domain() -> None:
    assert set(TOOLS) == {*BY_NAME, UNKNOWN}
    assert set(ANSWER_STATES) == set(AnswerState) - {AnswerState.SUPERSEDED}
