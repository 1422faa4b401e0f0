"""The order of turns, as arithmetic: shares follow weights, nobody starves, and absence earns nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shared.jobs.tenant_queues import HEAD_START, QUANTUM, served_after, start_tag_of

WEIGHTS = st.lists(st.integers(1, 10), min_size=2, max_size=6)
PRIORITIES = st.integers(0, 9)


def serve(weights: list[int], priorities: list[int], turns: int) -> list[int]:
    """Give out turns among apps that always have work; return how many each had."""
    served, counts = [0] * len(weights), [0] * len(weights)
    for _ in range(turns):
        next_one = min(range(len(weights)), key=lambda i: (start_tag_of(served[i], priorities[i]), i))
        served[next_one] = served_after(served[next_one], weights[next_one])
        counts[next_one] += 1
    return counts


@given(WEIGHTS, st.integers(1, 300))
def test_apps_that_always_have_work_are_served_by_their_weights(weights: list[int], turns: int) -> None:
    counts = serve(weights, [7] * len(weights), turns)
    shares = [count / weight for count, weight in zip(counts, weights, strict=True)]
    # A turn is whole: no two apps are further apart than the turn each of them is in.
    assert max(shares) - min(shares) <= 2.001


@given(WEIGHTS, st.data())
def test_no_priority_keeps_another_app_waiting_for_ever(weights: list[int], data: st.DataObject) -> None:
    priorities = data.draw(st.lists(PRIORITIES, min_size=len(weights), max_size=len(weights)))
    most_behind = 9 * HEAD_START // QUANTUM
    turns = sum(weight * (most_behind + 2) for weight in weights)
    assert min(serve(weights, priorities, turns)) >= 1


@given(st.integers(0, 10**15), st.integers(1, 100))
def test_a_turn_always_moves_on(served: int, weight: int) -> None:
    assert served < served_after(served, weight) <= served + QUANTUM


@given(st.integers(0, 10**15), PRIORITIES, PRIORITIES)
def test_a_lower_number_is_sooner(served: int, one: int, other: int) -> None:
    assert (start_tag_of(served, one) < start_tag_of(served, other)) is (one < other)
