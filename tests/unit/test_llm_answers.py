"""What counts as an answer: one whole valid object, whatever stands around it."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from shared.llm.chat import AnswerRefused, parse_answer


class Fact(BaseModel):
    category: Literal["identity", "preference", "project"]
    statement: str
    confidence: Annotated[float, Field(gt=0, le=1)]


GOOD = '{"category": "identity", "statement": "Lives in {New} \\"York\\" [NY].", "confidence": 0.9}'
OTHER = '{"category": "project", "statement": "Builds a boat.", "confidence": 0.5}'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(GOOD, id="plain"),
        pytest.param(f"\n\n  {GOOD}  \n", id="white space"),
        pytest.param(f"```json\n{GOOD}\n```", id="fence"),
        pytest.param(f'Sure! Here it is:\n{GOOD}\nLet me know if it\'s "fine".', id="prose around"),
        pytest.param(f"It has {{three}} keys (see [1]): {GOOD}", id="brackets in prose"),
        pytest.param(f"[{GOOD}]", id="list of one"),
        pytest.param(f"{GOOD}\n{GOOD}", id="twice the same"),
        pytest.param(f"<think>{OTHER} or not {{</think>\n{GOOD}", id="thoughts before"),
        pytest.param(GOOD.replace("0.9", '"0.9"'), id="number as text"),
        pytest.param(GOOD[:-1] + ', "colour": "blue"}', id="a key too many"),
    ],
)
def test_one_valid_object_is_the_answer_whatever_surrounds_it(text: str) -> None:
    fact = parse_answer(text, Fact)
    assert fact == Fact(category="identity", statement='Lives in {New} "York" [NY].', confidence=0.9)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("", "empty", id="nothing"),
        pytest.param("<think>hm</think>", "empty", id="only thoughts"),
        pytest.param("The user lives in New York.", "no JSON object", id="prose"),
        pytest.param("I'm sorry, I can't help with that.", "no JSON object", id="apology"),
        pytest.param(f"{GOOD}\n{OTHER}", "more than one", id="two candidates"),
        pytest.param(f"[{GOOD}, {OTHER}]", "more than one", id="list of two"),
        pytest.param(GOOD[:-9], "incomplete", id="half an object"),
        pytest.param(f"[{GOOD}, {OTHER[:20]}", "incomplete", id="truncated list"),
        pytest.param(f'{{"facts": [{GOOD}', "incomplete", id="whole object inside half of one"),
        pytest.param(f'{{"facts": [{GOOD}]}}', "category", id="wrapped"),
        pytest.param(GOOD.replace("identity", "identity|preference|project"), "category", id="enumeration copied"),
        pytest.param(GOOD.replace("0.9", '"high"'), "confidence", id="confidence in words"),
        pytest.param(GOOD.replace("0.9", "0"), "confidence", id="confidence 0"),
        pytest.param(GOOD.replace("0.9", "NaN"), "no JSON object", id="not a number"),
        pytest.param(GOOD.replace('"category": "identity", ', ""), "category", id="missing category"),
        pytest.param(GOOD.replace('"', "'"), "no JSON object", id="python quotes"),
        pytest.param('"just a string"', "no JSON object", id="a string"),
        pytest.param("[" * 100_000 + "]" * 100_000, "no JSON object", id="deep nesting"),
    ],
)
def test_anything_else_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(AnswerRefused, match=why):
        parse_answer(text, Fact)


def test_the_reason_does_not_repeat_what_the_model_wrote() -> None:
    with pytest.raises(AnswerRefused) as raised:
        parse_answer('{"category": "canary", "statement": ["canary"], "confidence": "canary"}', Fact)
    assert "canary" not in str(raised.value)


@given(st.text(max_size=200))
def test_no_text_breaks_the_parser(text: str) -> None:
    with pytest.raises(AnswerRefused):
        parse_answer(text, Fact)


@given(st.text(max_size=80), st.integers(1, 500))
def test_no_beginning_of_an_answer_passes_for_it(statement: str, end: int) -> None:
    whole = json.dumps({"category": "identity", "statement": statement, "confidence": 1})
    with pytest.raises(AnswerRefused):
        parse_answer(whole[: min(end, len(whole) - 1)], Fact)
