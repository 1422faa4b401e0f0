"""Asking once more, and what is reported of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from shared.base.errors import Configuration, ModelOutput, Transient
from shared.llm.calls import CallOutcome, WorkKind
from shared.llm.chat import MOSTLY_CACHED, PromptCut, Question, Reply, ask_repairing
from shared.llm.providers import split_model
from shared.llm.tokens import estimate_tokens, least_tokens, most_tokens
from tests.support.meters import Calls
from tests.support.scripted_chat import ScriptedChat, ScriptLine


class Number(BaseModel):
    value: int


QUESTION = Question(WorkKind.COMPACT, "Count.", "How many ducks are on the pond?", Number, 20, fresh="How many ducks")


def small(answer: Number) -> str | None:
    return None if answer.value < 10 else "the value is not below ten"


def ask(chat: ScriptedChat, calls: Calls, *, lenient: bool = False) -> Number:
    return ask_repairing(chat, QUESTION, 9.0, calls, small, (lambda _: None) if lenient else small)


def test_a_good_answer_is_asked_for_once() -> None:
    calls = Calls()
    chat = ScriptedChat([Number(value=3)])
    assert ask(chat, calls).value == 3
    assert [call.outcome for call in calls] == [CallOutcome.ANSWERED]
    assert (calls[0].kind, calls[0].model, calls[0].estimated) == (WorkKind.COMPACT, "ollama:scripted", True)


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


def test_the_third_time_it_is_asked_in_another_way() -> None:
    chat = ScriptedChat(["Ducks!", "Still ducks!", {"value": 4}])
    assert ask(chat, Calls()).value == 4
    first, repair, retry = chat.questions
    assert [one.temperature for one in chat.questions] == [0, 0, 0.4]
    assert retry.previous is None and retry.complaint is None, "a model repeats what it sees"
    assert retry.user.startswith(first.user) and retry.user != first.user
    assert retry.most_tokens < repair.most_tokens


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


def test_where_no_time_is_left_nothing_more_is_asked() -> None:
    calls = Calls()
    with pytest.raises(ModelOutput, match=r"no JSON object.*no time"):
        ask_repairing(ScriptedChat(["Ducks!"]), QUESTION, 0.0, calls, small, small)
    assert len(calls) == 1


def test_a_repeat_that_cannot_be_answered_in_what_is_left_is_not_asked() -> None:
    class SlowChat(ScriptedChat):
        def least_seconds(self, question: Question[Any]) -> float:
            return 10.0

    calls = Calls()
    with pytest.raises(ModelOutput, match=r"no JSON object.*no time.*AFTERTHOUGHT_MODEL_TIMEOUT_SECONDS"):
        ask(SlowChat(["Ducks!"]), calls)
    assert len(calls) == 1


def test_what_the_caller_can_mend_itself_is_accepted_the_second_time() -> None:
    assert ask(ScriptedChat([{"value": 50}, {"value": 40}]), Calls(), lenient=True).value == 40


@pytest.mark.parametrize("error", [Transient("busy"), Configuration("no such model")], ids=["busy", "missing"])
def test_a_failure_to_answer_is_not_repaired_but_is_metered(error: Transient | Configuration) -> None:
    calls = Calls()
    with pytest.raises(type(error)):
        ask(ScriptedChat([error]), calls)
    assert len(calls) == 1


def test_a_cut_prompt_is_not_repaired() -> None:
    calls, long = Calls(), "How many ducks? " * MOSTLY_CACHED
    question = replace(QUESTION, user=long, fresh=long)
    chat = ScriptedChat([Reply('{"value": 1}', prompt_tokens=MOSTLY_CACHED + 1)])
    with pytest.raises(PromptCut):
        ask_repairing(chat, question, 9.0, calls, small, small)
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
