"""What of a context stays from question to question, over HTTP, for a server that keeps a prompt's beginning."""

from __future__ import annotations

import math
from itertools import pairwise, takewhile
from typing import Any

import pytest

from shared.context.render import RECALLED
from shared.llm.providers import NGRAMS
from tests.integration.test_api_search import say, user, work_off
from tests.support.api import Api

SETTINGS = {"embedding": NGRAMS}

PERSONA: dict[str, Any] = {"role": "system", "content": "You are a boatbuilder of few words."}
QUESTIONS = (
    "Which paint did I choose for the yacht?",
    "hi",
    "Where do I live, and what do I eat?",
    "Tell me about field 17 and field 31.",
    "How do generics work in TypeScript? " * 30,
)


def helper(content: str) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def remembering(api: Api, facts: int = 60) -> str:
    """Install an app with memories, more facts than fit, and what was said before; return its path."""
    path = api.install()
    api.remember(path, *(f"Memory {nth}: the keel of boat {nth} is laid, its planks are ordered." for nth in range(4)))
    for nth in range(facts):
        api.ask("POST", f"{path}/facts", json={"fact": f"Ploughs field {nth} in the far north", "category": "project"})
    api.ask("POST", f"{path}/facts", json={"fact": "Lives in Oslo", "category": "identity"})
    say(api, path, "old", user("I chose a red paint for the yacht."), helper("Red it is."), user("It dries slowly."))
    work_off(api)
    return path


def context(api: Api, path: str, **wanted: Any) -> Any:
    return api.ask("POST", f"{path}/context", json=wanted)


def prefix(first: Any, second: Any) -> list[Any]:
    pairs = zip(first["messages"], second["messages"], strict=False)
    return [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]


def tokens(messages: list[Any]) -> int:
    return sum(math.ceil(len(one["content"]) / 4) for one in messages)


def without_recalled(answer: Any) -> list[Any]:
    return [one for place, one in enumerate(answer["messages"]) if place not in answer["recalledAt"]]


@pytest.mark.parametrize(
    "leading",
    [
        [],
        [PERSONA],
        [PERSONA, {"role": "system", "content": "Answer in English."}],
        [{"role": "developer", "content": "Answer in English."}],
    ],
    ids=["no prompt", "one", "two", "developer"],
)
def test_the_head_stands_behind_the_apps_prompts_and_is_the_same_for_every_question(
    api: Api, leading: list[Any]
) -> None:
    path = remembering(api)
    answers = [context(api, path, messages=leading, message=asked) for asked in QUESTIONS]
    heads = []
    for asked, answer in zip(QUESTIONS, answers, strict=True):
        assert without_recalled(answer) == [*leading, user(asked)]
        place, *tail = answer["recalledAt"]
        assert place == len(leading)
        head = answer["messages"][place]
        assert head["role"] == (leading[-1]["role"] if leading else "system")
        heads.append(head["content"])
        assert tail in ([], [place + 1]), "right before the question"
        for one in (answer["messages"][place] for place in tail):
            assert one["role"] == "user" and one["content"].count(RECALLED) >= 1
            assert not set(lines(one["content"])) & set(lines(head["content"])), "nothing is said twice"
    assert len(set(heads)) == 1
    assert "Memory 3" in heads[0] and "Ploughs field" in heads[0] and "TypeScript" not in heads[0]
    shown = [[answer["messages"][place]["content"] for place in answer["recalledAt"][1:]] for answer in answers]
    assert "red paint" in shown[0][0] and "Lives in Oslo" in shown[2][0]
    assert ("Ploughs field 17 " in heads[0]) or ("Ploughs field 17 " in shown[3][0])
    assert shown[1] == [], "hi recalls nothing of its own"


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line[:2] in ("- ", "> ")]


@pytest.mark.parametrize("window", [{}, {"contextWindow": 16_000}, {"contextWindow": 4096}], ids=str)
def test_a_conversation_that_goes_on_for_days_keeps_its_beginning_and_the_figure_says_how_much(
    sqlite_api: Api, window: dict[str, int]
) -> None:
    api = sqlite_api
    path = remembering(api)
    chat, answers = [PERSONA], []
    for nth in range(12):
        chat.append(user(f"{QUESTIONS[nth % 4]} And {nth}?" if nth % 4 != 1 else "hi"))
        answers.append(context(api, path, messages=chat, **window))
        chat.append(helper(f"Answer {nth}. " + "It goes on for a while. " * 45))
        api.clock.advance(86_400 * 9)
    for before, after in pairwise(answers):
        same = tokens(prefix(before, after))
        if before["stage"] == after["stage"]:
            assert before["stablePrefixTokens"] <= same
            if len(before["recalledAt"]) == 2:
                assert before["stablePrefixTokens"] == same
        assert before["messages"][1] == after["messages"][1] and not after["shrunk"]
    stages = {"none", "stage1"} if window == {"contextWindow": 4096} else {"none"}
    assert {answer["stage"] for answer in answers} == stages
    other = context(api, path, messages=[PERSONA, user("Another talk")], **window)
    assert other["messages"][:2] == answers[0]["messages"][:2], "the same in every conversation of the user"


def test_what_is_remembered_anew_changes_the_head_and_nothing_else_does(sqlite_api: Api) -> None:
    path = remembering(sqlite_api)

    def head() -> str:
        return str(context(sqlite_api, path, messages=[PERSONA], message="hi")["messages"][1]["content"])

    before = head()
    say(sqlite_api, path, "another", user("The mast of the yacht is bare wood."))
    work_off(sqlite_api)
    assert head() == before
    sqlite_api.remember(path, "The sails are sewn.")
    with_memory = head()
    assert with_memory != before and "The sails are sewn." in with_memory
    fact = sqlite_api.ask("POST", f"{path}/facts", json={"fact": "Is allergic to shellfish", "category": "identity"})
    assert "Is allergic to shellfish" in head()
    sqlite_api.ask("DELETE", f"{path}/facts/{fact['id']}")
    assert head() == with_memory


def called(call_id: str) -> dict[str, Any]:
    call = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "Nothing."}


ASKED = user("Which paint did I choose for the yacht?")


@pytest.mark.parametrize(
    ("said", "place"),
    [
        pytest.param([ASKED, called("a"), result("a")], 0, id="a result is last"),
        pytest.param([user("Hm."), called("a"), result("a"), ASKED], 3, id="after a result"),
        pytest.param([user("Hm."), called("a"), ASKED, result("a")], 1, id="said while a tool runs"),
        pytest.param([user("Hm."), helper("Yes?"), ASKED, helper("Red."), called("b"), result("b")], 2, id="answered"),
        pytest.param(
            [
                user("Hm."),
                {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]},
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "a", "content": "Nothing."},
                        {"type": "text", "text": "Which paint did I choose for the yacht?"},
                    ],
                },
            ],
            1,
            id="asked beside a result of Anthropic's",
        ),
    ],
)
def test_the_tail_never_parts_a_call_from_its_result(sqlite_api: Api, said: list[Any], place: int) -> None:
    path = remembering(sqlite_api, facts=1)
    answer = context(sqlite_api, path, messages=[PERSONA, *said])
    assert without_recalled(answer) == [PERSONA, *said]
    assert answer["recalledAt"] == [1, 2 + place]
    assert "red paint" in answer["messages"][2 + place]["content"]


def test_one_block_stands_before_all_others_and_promises_nothing(sqlite_api: Api) -> None:
    path = remembering(sqlite_api)
    asked = {"messages": [PERSONA], "message": QUESTIONS[0]}
    one, two = (context(sqlite_api, path, **asked, **more) for more in ({"placement": "one"}, {"placement": "two"}))
    first, *rest = one["messages"]
    assert rest == [PERSONA, user(QUESTIONS[0])] and one["recalledAt"] == [0] and one["stablePrefixTokens"] == 0
    assert first == {"role": "system", "content": one["systemPrompt"]}
    assert "Memory 3" in first["content"] and "red paint" in first["content"]
    assert two == context(sqlite_api, path, **asked)
    assert two["systemPrompt"] == "\n\n".join(two["messages"][place]["content"] for place in two["recalledAt"])
    assert one["included"]["memories"] == two["included"]["memories"]
    refused = sqlite_api.refused(422, "POST", f"{path}/context", json={"placement": "three"})
    assert "placement" in str(refused) and "one" in str(refused)


def test_in_a_tight_window_the_head_shrinks_in_steps_and_the_answer_says_so(sqlite_api: Api) -> None:
    path = remembering(sqlite_api)
    heads: list[str] = []
    for length in range(0, 900, 15):
        asked = {"messages": [PERSONA, user("x" * 4 * length)], "contextWindow": 1600, "reserve": 300}
        answer = context(sqlite_api, path, **asked)
        assert answer["totalTokens"] <= 1300
        head = answer["messages"][1]["content"] if 1 in answer["recalledAt"] else ""
        assert answer["shrunk"] == bool(heads and head != heads[0])
        promised = [PERSONA] if answer["shrunk"] else [PERSONA, {"content": head}]
        assert answer["stablePrefixTokens"] == tokens(promised)
        if not heads or heads[-1] != head:
            heads.append(head)
    assert 2 <= len(heads) <= 6 and len(heads[0]) > len(heads[-1]), [len(one) for one in heads]


def test_a_program_that_records_all_it_sent_teaches_nothing_twice(sqlite_api: Api) -> None:
    path = remembering(sqlite_api, facts=1)
    sent = context(sqlite_api, path, messages=[PERSONA], message=ASKED["content"])["messages"]
    say(sqlite_api, path, "recorded", *sent, helper("Red."))
    sqlite_api.ask("POST", f"{path}/conversations/recorded/end")
    work_off(sqlite_api)
    again = context(sqlite_api, path, message="Which paint did I choose for the yacht, again?")
    assert again["systemPrompt"].count("I chose a red paint for the yacht.") == 1
    assert again["systemPrompt"].count("Ploughs field 0 in the far north") == 1
