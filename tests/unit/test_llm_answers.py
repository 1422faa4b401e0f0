"""What counts as an answer: one whole valid object, whatever stands around it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from shared.base.errors import Configuration, ModelOutput
from shared.llm.calls import CallOutcome, WorkKind, estimate_tokens, least_tokens, most_tokens
from shared.llm.chat import MOSTLY_CACHED, AnswerRefused, PromptCut, Question, Reply, answer_with_repair, parse_answer
from shared.llm.providers import split_model
from tests.support.meters import Calls
from tests.support.scripted_chat import ScriptedChat, ScriptLine


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


class Number(BaseModel):
    value: int


QUESTION = Question(WorkKind.COMPACT, "Count.", "How many ducks are on the pond?", Number, 20, fresh="How many ducks")


def small(answer: Number) -> str | None:
    return None if answer.value < 10 else "the value is not below ten"


def ask(chat: ScriptedChat, calls: Calls, *, lenient: bool = False) -> Number:
    return answer_with_repair(chat, QUESTION, 9.0, calls, small, (lambda _: None) if lenient else small)


@pytest.mark.parametrize(
    ("line", "outcome", "complaint"),
    [
        pytest.param("No idea.", CallOutcome.MALFORMED, "no JSON object", id="prose"),
        pytest.param({"value": "many"}, CallOutcome.MALFORMED, "`value`", id="wrong type"),
        pytest.param(Reply('{"value": 1', truncated=True), CallOutcome.TRUNCATED, "cut off", id="truncated"),
        pytest.param({"value": 12}, CallOutcome.ANSWERED, "not below ten", id="refused by the caller"),
    ],
)
def test_an_unusable_answer_is_asked_for_once_more_saying_what_was_wrong(
    line: ScriptLine, outcome: CallOutcome, complaint: str
) -> None:
    calls = Calls()
    chat = ScriptedChat([line, {"value": 4}])
    assert ask(chat, calls).value == 4
    assert [call.outcome for call in calls] == [outcome, CallOutcome.ANSWERED]
    assert complaint in (chat.questions[1].complaint or "")
    assert chat.questions[1].previous
    assert calls[1].prompt_tokens > calls[0].prompt_tokens
    assert chat.seconds[1] <= chat.seconds[0]


def test_three_unusable_answers_are_an_error_that_names_each_reason() -> None:
    calls = Calls()
    with pytest.raises(ModelOutput, match=r"no JSON object.*asked again.*not below ten.*another way.*cut off"):
        ask(ScriptedChat(["Ducks!", {"value": 99}, Reply('{"value": 1', truncated=True)]), calls)
    assert len(calls) == 3


def test_an_answer_to_a_repeated_question_may_be_as_long_as_the_first() -> None:
    chat = ScriptedChat([Reply('{"value": 1', truncated=True), "Ducks!", {"value": 4}])
    ask(chat, Calls())
    assert [one.max_completion_tokens for one in chat.questions] == [20, 20, 20]


def test_a_repeat_that_would_not_fit_the_window_is_not_asked_and_a_shorter_one_is() -> None:
    calls = Calls()
    chat = ScriptedChat(["Ducks! " * 60, {"value": 4}], context_tokens=QUESTION.most_tokens + 80)
    assert ask(chat, calls).value == 4
    assert len(calls) == 2 and chat.questions[-1].previous is None


def test_what_the_caller_can_mend_itself_is_accepted_the_second_time() -> None:
    assert ask(ScriptedChat([{"value": 50}, {"value": 40}]), Calls(), lenient=True).value == 40


def test_a_cut_prompt_is_not_repaired() -> None:
    calls, long = Calls(), "How many ducks? " * MOSTLY_CACHED
    question = replace(QUESTION, user=long, fresh=long)
    chat = ScriptedChat([Reply('{"value": 1}', prompt_tokens=MOSTLY_CACHED + 1)])
    with pytest.raises(PromptCut):
        answer_with_repair(chat, question, 9.0, calls, small, small)
    assert [call.outcome for call in calls] == [CallOutcome.PROMPT_CUT]


def test_a_prompt_that_may_not_fit_is_not_sent() -> None:
    calls = Calls()
    chat = ScriptedChat([{"value": 1}], context_tokens=80)
    with pytest.raises(Configuration, match="AFTERTHOUGHT_MODEL_CONTEXT_TOKENS"):
        ask(chat, calls)
    assert not calls and not chat.questions


def test_a_long_unusable_answer_does_not_fill_the_window() -> None:
    chat = ScriptedChat(["word " * 2000, {"value": 4}])
    ask(chat, Calls())
    assert len(chat.questions[1].previous or "") <= 600


@pytest.mark.parametrize("setting", ["", "ollama:", "nobodys:gpt", "llama3"])
def test_a_setting_that_names_no_model_is_refused(setting: str) -> None:
    with pytest.raises(Configuration, match="ollama:NAME"):
        split_model(setting)


def test_a_models_own_tag_is_part_of_its_name() -> None:
    assert split_model("ollama:llama3.2:3b") == ("ollama", "llama3.2:3b")


@given(st.text(max_size=300), st.text(max_size=300))
def test_the_bounds_of_a_text_hold_their_order_and_add_up(one: str, two: str) -> None:
    assert least_tokens(one) <= most_tokens(one)
    assert estimate_tokens(one) <= most_tokens(one) <= 3 * len(one)
    assert most_tokens(one + two) <= most_tokens(one) + most_tokens(two)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2)], ids=["nothing", "one", "four", "five"]
)
def test_the_estimate_is_a_quarter_of_the_characters_rounded_up(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens
