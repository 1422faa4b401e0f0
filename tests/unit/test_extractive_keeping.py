"""The aims of keeping what matters hold on LoCoMo, where its data are beside the checkout."""

from __future__ import annotations

import pytest

from ops.bench import corpora, keeping


@pytest.mark.long
def test_at_200_characters_the_agent_keeps_what_it_is_meant_to_keep() -> None:
    problem = corpora.missing(corpora.DEFAULT_DATA)
    if problem:
        pytest.skip(problem)
    ratios = keeping.measure(list(corpora.locomo()), 200)["ratios"]
    assert ratios["a_own_session_over_first_sentences"] >= 3
    assert ratios["b_remaining_over_first_sentences"] >= 3
    assert ratios["c_older_over_oldest_goes"] >= 1.7


def test_an_answer_counts_as_kept_when_three_quarters_of_its_words_stand_there() -> None:
    answer = keeping.answer_words("pottery, painting, camping, swimming")
    assert keeping.survives(answer, keeping.answer_words("She painted and camped; a pot of pottery"))
    assert not keeping.survives(answer, keeping.answer_words("She painted and camped"))
