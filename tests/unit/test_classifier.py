"""The classifier of statements: what it is made of, how it is remade, and that it tells plain statements from talk."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from ops.train import features, fitted, labelled, others_words, packed, targets, vocabulary_of
from shared.text.classifier import OUTPUTS, WEIGHTS, StatementType, judge

NEVER_KEPT = (StatementType.QUESTION, StatementType.TALK, StatementType.MATERIAL, StatementType.FICTION)


def test_the_data_has_every_sort_and_keeps_nothing_that_is_no_statement() -> None:
    statements = labelled()
    assert {one.sort for one in statements} == set(StatementType)
    assert not [one for one in statements if one.sort in NEVER_KEPT and (one.keep or one.fact)]
    writers = {language: set[int]() for language in {one.language for one in statements}}
    for one in statements:
        writers[one.language].add(one.writer)
    assert sum(len(of_language) >= 2 for of_language in writers.values()) >= 20
    assert all(len(writers[language]) >= 3 for language in ("ja", "ko", "zh", "ar", "hi", "tr"))


def test_a_line_of_the_data_that_is_no_statement_is_named(tmp_path: Path) -> None:
    (tmp_path / "writer-1.txt").write_text("# en somebody\nkfI I am a nurse\nwhat is this\n", "utf-8")
    with pytest.raises(ValueError, match="writer 1: no statement: what is this"):
        labelled(tmp_path)


def test_the_weights_are_small() -> None:
    assert WEIGHTS.stat().st_size < 1_100_000


@pytest.mark.parametrize(
    ("said", "sort"),
    [
        ("my daughter Ottilie is allergic to walnuts", StatementType.RELATIVE),
        ("from now on answer me in metric units only", StatementType.WISH),
        ("ben Izmir'de bir eczanede çalışıyorum", StatementType.IDENTITY),
        ("Od urodzenia nie toleruję laktozy", StatementType.HARM),
        ("저는 부산에서 간호사로 일해요", None),
    ],
)
def test_what_is_stated_plainly_is_told_in_any_language(said: str, sort: StatementType | None) -> None:
    judged = judge(said)
    assert judged.fact > 0.5 and judged.keep > 0.5 and sort in (None, judged.sort)
    assert sum(judged.sorts.values()) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(
    "said", ["thanks, bye!", "tell me a joke", "What is a fjord?", "merci beaucoup", "👍", "\ud83d"]
)
def test_talk_and_questions_are_told(said: str) -> None:
    judged = judge(said)
    assert judged.keep < 0.3 and judged.fact < 0.3


@pytest.mark.long
def test_the_weights_are_remade_from_the_data() -> None:
    pytest.importorskip("sklearn")
    statements = labelled()
    known = vocabulary_of(statements)
    made = packed(known, *fitted(features(statements, known), targets(statements), others_words(statements)))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **made)  # type: ignore[arg-type]
    with np.load(WEIGHTS) as stored:
        assert np.array_equal(stored["rarity"], made["rarity"])
        assert stored["grams"].shape[1] == len(OUTPUTS)
        for what in ("grams", "pieces"):
            assert np.abs(stored[what].astype(int) - made[what].astype(int)).max() <= 2
        assert np.allclose(stored["traits"], made["traits"], atol=0.02)
