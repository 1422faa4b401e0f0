"""What fits a token budget."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.context.rendering import AssemblyStyle, assemble
from shared.llm.tokens import estimate_tokens, most_tokens
from shared.search.models import PassageKind
from shared.search.ranking import Candidate, RankedCandidate

DAY = datetime(2023, 5, 7, 12, tzinfo=UTC)
STYLE = AssemblyStyle("<<", ">>", "> ")


def _found(
    content: str, nth: int = 0, *, name: str | None = "Mel", days: int = 0, kind: PassageKind | None = None
) -> RankedCandidate:
    candidate = Candidate(
        1 << 20 | nth, 0, "user", name, content, DAY + timedelta(days=days, minutes=nth), 0.5, 0.5, 1.0, 1.0
    )
    return RankedCandidate(candidate._replace(kind=kind), 1 - nth / 100, {})


def test_each_stands_with_its_speaker_under_the_day_it_was_said() -> None:
    ranked = [_found("Second.", 1), _found("Later.", 2, name=None, days=1), _found("First.", 0)]
    assert assemble(ranked, 100, estimate_tokens, STYLE).text == (
        "<<\n2023-05-07\n> Mel: First.\n> Mel: Second.\n2023-05-08\n> user: Later.\n>>"
    )


def test_what_was_sent_at_the_same_time_stands_in_the_order_in_which_it_was_said() -> None:
    ranked = [_found("Second.", 1), _found("First.", 0)]
    at_once = [one._replace(candidate=one.candidate._replace(created_at=DAY)) for one in ranked]
    assert assemble(at_once, 100, estimate_tokens).text == "2023-05-07\nMel: First.\nMel: Second."


def test_what_does_not_fit_is_passed_over_for_what_comes_next() -> None:
    found = assemble([_found("a" * 40), _found("b" * 4000, 1), _found("c" * 40, 2)], 50, estimate_tokens)
    assert [one.candidate.content[0] for one in found.included] == ["a", "c"]


def test_for_a_question_about_code_code_goes_in_first() -> None:
    ranked = [_found("p" * 200), _found("c" * 200, 1, kind=PassageKind.CODE)]
    assert [one.candidate.content[0] for one in assemble(ranked, 70, estimate_tokens, code_first=True).included] == [
        "c"
    ]
    assert [one.candidate.content[0] for one in assemble(ranked, 70, estimate_tokens).included] == ["p"]


@pytest.mark.parametrize("budget", [-5, 0, 1])
def test_where_nothing_fits_there_is_no_text_at_all(budget: int) -> None:
    found = assemble([_found("Hello there.")], budget, estimate_tokens, STYLE)
    assert (found.text, found.tokens, found.included) == ("", 0, ())


def test_of_nothing_there_is_no_text() -> None:
    assert assemble([], 100, estimate_tokens, STYLE).text == ""


@given(
    st.lists(st.tuples(st.text(max_size=300), st.integers(0, 3)), max_size=25),
    st.integers(0, 400),
    st.sampled_from([estimate_tokens, most_tokens, len]),
    st.booleans(),
)
def test_the_budget_is_never_passed_and_what_is_in_stands_whole(
    said: list[tuple[str, int]], budget: int, count: object, code_first: bool
) -> None:
    ranked = [_found(text, nth, days=days) for nth, (text, days) in enumerate(said)]
    found = assemble(ranked, budget, count, STYLE, code_first=code_first)  # type: ignore[arg-type]
    assert found.tokens == count(found.text) <= budget  # type: ignore[operator]
    assert all(f"> Mel: {one.candidate.content}" in found.text for one in found.included)
    assert bool(found.text) == bool(found.included)
