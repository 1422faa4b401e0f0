"""A model over the wire of each protocol: each answer and failure is one of ours, and the agent behind it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from langsmith.utils import tracing_is_enabled
from pydantic import BaseModel

from shared.base.errors import Configuration, ModelOutput, ProviderAway, Transient
from shared.llm.calls import CallOutcome, WorkKind
from shared.llm.chat import MOSTLY_CACHED, PromptCut, Question, Unusable, answer_with_repair
from shared.llm.langchain_chat import LangchainChat
from shared.llm.providers import ModelProbe, make_chat
from tests.support.meters import Calls
from tests.support.model_server import Act, ModelServer, count_tokens
from tests.support.providers import CHATS, SERVERS
from tests.support.settings import served_at
from worker.agent.memory_model import ModelAgent
from worker.agent.protocol import MemoryDraft, Transcript, TranscriptTurn


class City(BaseModel):
    name: str
    people: int


ANSWER = {"name": "Lagos", "people": 15}
LAGOS = City(name="Lagos", people=15)
CONTEXT_TOKENS = 4096
LONG = "Which one? " * MOSTLY_CACHED
CUT = MOSTLY_CACHED + 1
"""Tokens of it that a server saw which had more than it can have cached."""


def question(user: str = "Which city is meant? It lies by the sea.", tokens: int = 50) -> Question[City]:
    return Question(WorkKind.CREATE, "You know cities.", user, City, tokens, fresh=user)


@pytest.fixture(params=CHATS)
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def chat(provider: str, server: ModelServer) -> Iterator[LangchainChat]:
    made = make_chat(f"{provider}:tiny", served_at(server.url, CONTEXT_TOKENS))
    yield made
    made.close()


@pytest.fixture
def calls() -> Calls:
    return Calls()


def test_an_answer_is_parsed_and_its_usage_is_the_providers(
    provider: str, server: ModelServer, chat: LangchainChat, calls: Calls
) -> None:
    server.will(Act(answer=ANSWER, seen_tokens=123))
    assert chat.answer(question(), 60, calls) == LAGOS
    [call] = calls
    assert (call.outcome, call.prompt_tokens, call.estimated) == (CallOutcome.ANSWERED, 123, False)
    assert (call.model, call.kind) == (f"{provider}:tiny", WorkKind.CREATE)
    assert call.completion_tokens == count_tokens(json.dumps(ANSWER)) + 1


def test_usage_is_estimated_where_the_server_reports_none(
    server: ModelServer, chat: LangchainChat, calls: Calls
) -> None:
    server.will(Act(answer=ANSWER, seen_tokens=None))
    chat.answer(question(), 60, calls)
    assert calls[0].estimated
    assert calls[0].prompt_tokens == question().estimated_tokens


def test_tracing_is_off_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        monkeypatch.setenv(name, "true")
    make_chat("ollama:tiny", served_at("http://127.0.0.1:9", CONTEXT_TOKENS)).close()
    assert os.environ["LANGSMITH_TRACING"] == "false"
    assert not tracing_is_enabled()


@pytest.mark.parametrize(
    ("act", "error", "outcome", "says"),
    [
        pytest.param(Act(status=500), Transient, CallOutcome.UNAVAILABLE, "status 500", id="500"),
        pytest.param(Act(status=503), Transient, CallOutcome.UNAVAILABLE, "status 503", id="503"),
        pytest.param(Act(status=429), Transient, CallOutcome.UNAVAILABLE, "status 429", id="429"),
        pytest.param(Act(status=408), Transient, CallOutcome.UNAVAILABLE, "status 408", id="408"),
        pytest.param(Act(status=400), Configuration, CallOutcome.REFUSED, "status 400", id="400"),
        pytest.param(Act(answer=ANSWER, error_after=1), Transient, CallOutcome.UNAVAILABLE, "failed", id="error line"),
        pytest.param(Act(answer=ANSWER, garbage=True), Transient, CallOutcome.UNAVAILABLE, "does not speak", id="html"),
        pytest.param(Act(answer=ANSWER, seen_tokens=CUT), PromptCut, CallOutcome.PROMPT_CUT, f"only {CUT}", id="cut"),
        pytest.param(Act(answer=ANSWER, seen_tokens=4096), PromptCut, CallOutcome.PROMPT_CUT, "only 4096", id="full"),
        pytest.param(Act(ANSWER, done_reason="length"), Unusable, CallOutcome.TRUNCATED, "too long", id="length"),
        pytest.param(Act(answer="I cannot say."), Unusable, CallOutcome.MALFORMED, "no JSON", id="prose"),
        pytest.param(Act(answer=""), Unusable, CallOutcome.MALFORMED, "empty", id="empty"),
    ],
)
def test_each_failure_is_one_error_of_ours_and_one_metered_call(
    server: ModelServer,
    chat: LangchainChat,
    calls: Calls,
    act: Act,
    error: type[Exception],
    outcome: CallOutcome,
    says: str,
) -> None:
    server.will(act)
    with pytest.raises(error, match=says):
        chat.answer(question(LONG), 60, calls)
    assert [call.outcome for call in calls] == [outcome]
    assert len(server.chats) == 1


@pytest.mark.parametrize(
    ("act", "costs"),
    [
        pytest.param(Act(status=500), (0, 0), id="refused"),
        pytest.param(Act(ANSWER, done_reason="length", seen_tokens=100, said_tokens=20), (100, 20), id="cut off"),
        pytest.param(Act(ANSWER, seen_tokens=100, said_tokens=20, load_seconds=0.5), (100, 20), id="loaded first"),
        pytest.param(Act(ANSWER, seen_tokens=9, said_tokens=10**15), (9, 50), id="more than asked for"),
        pytest.param(Act(ANSWER, seen_tokens=9, said_tokens=-(10**15)), (9, 0), id="less than nothing"),
    ],
)
def test_a_call_costs_what_the_server_read_and_wrote_within_reason(
    server: ModelServer, chat: LangchainChat, calls: Calls, act: Act, costs: tuple[int, int]
) -> None:
    server.will(act)
    with contextlib.suppress(Transient, Unusable):
        chat.answer(question(), 60, calls)
    assert (calls[0].prompt_tokens, calls[0].completion_tokens) == costs


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(Act(close_after=0), id="before the answer"),
        pytest.param(Act(answer=ANSWER, close_after=2), id="in the middle"),
        pytest.param(Act(answer=ANSWER, end_after=2), id="in good order but early"),
    ],
)
def test_a_broken_connection_is_tried_once_more_and_both_calls_are_metered(
    server: ModelServer, chat: LangchainChat, calls: Calls, act: Act
) -> None:
    server.will(act, Act(answer=ANSWER))
    assert chat.answer(question(), 60, calls) == LAGOS
    assert [call.outcome for call in calls] == [CallOutcome.UNAVAILABLE, CallOutcome.ANSWERED]
    assert calls[0].estimated and calls[0].prompt_tokens > 0


def test_a_connection_broken_twice_is_transient(server: ModelServer, chat: LangchainChat, calls: Calls) -> None:
    server.will(Act(close_after=0), Act(close_after=0))
    with pytest.raises(Transient, match="broke off"):
        chat.answer(question(), 60, calls)
    assert len(calls) == 2


def test_a_server_that_is_not_there_is_away_and_seen_once_for_nothing(provider: str, calls: Calls) -> None:
    with SERVERS[provider]() as gone:
        address = gone.url
    chat = make_chat(f"{provider}:tiny", served_at(address, CONTEXT_TOKENS))
    with pytest.raises(ProviderAway, match="cannot be reached"):
        chat.answer(question(), 60, calls)
    chat.close()
    assert [(call.outcome, call.prompt_tokens, call.completion_tokens) for call in calls] == [
        (CallOutcome.UNAVAILABLE, 0, 0)
    ]


@pytest.mark.parametrize("away", [502, 503, 504, 0], ids=["502", "503", "504", "the connection breaks"])
def test_a_proxy_that_answers_for_a_server_that_is_not_there_is_away_and_costs_nothing(
    provider: str, server: ModelServer, chat: LangchainChat, calls: Calls, away: int
) -> None:
    server.script.away = away
    with pytest.raises(ProviderAway, match="cannot be reached"):
        chat.answer(question(), 60, calls)
    assert [(call.outcome, call.prompt_tokens) for call in calls] == [(CallOutcome.UNAVAILABLE, 0)]
    probe = ModelProbe(served_at(server.url, model=f"{provider}:tiny"))
    assert not probe()
    server.script.away = None
    server.will(Act(answer=ANSWER))
    assert probe() and chat.answer(question(), 60, calls) == LAGOS


@pytest.mark.parametrize(
    "act",
    [Act(status=503), Act(stall=True), Act(answer=""), Act(ANSWER, close_after=0)],
    ids=["it is busy", "it is slow", "it talks nonsense", "it broke off"],
)
def test_a_server_that_answers_anything_is_not_away(
    server: ModelServer, chat: LangchainChat, calls: Calls, act: Act
) -> None:
    server.will(act, act)
    with pytest.raises((Transient, Unusable)) as raised:
        chat.answer(question(), 0.5, calls)
    assert not isinstance(raised.value, ProviderAway)
    server.go_on()


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(Act(stall=True), id="silent from the start"),
        pytest.param(Act(answer=ANSWER, stall_after=2), id="silent in the middle"),
        pytest.param(Act(answer={"name": "x" * 400, "people": 1}, drip_seconds=0.05), id="dripping"),
    ],
)
def test_the_deadline_is_a_total_however_the_server_spends_it(
    server: ModelServer, chat: LangchainChat, calls: Calls, act: Act
) -> None:
    server.will(act)
    started = time.monotonic()
    with pytest.raises(Transient, match="in time"):
        chat.answer(question(), 0.5, calls)
    assert 0.4 < time.monotonic() - started < 60
    assert [call.outcome for call in calls] == [CallOutcome.TIMEOUT]
    assert calls[0].prompt_tokens > 0
    server.go_on()


def test_when_the_deadline_passes_the_server_is_hung_up_on(server: ModelServer, chat: LangchainChat) -> None:
    server.will(Act(answer={"name": "x" * 2000, "people": 1}, drip_seconds=0.01))
    with pytest.raises(Transient):
        chat.answer(question(), 0.3, Calls())
    assert server.wait_for_hang_up()


def test_after_a_timeout_the_next_question_is_answered(server: ModelServer, chat: LangchainChat) -> None:
    server.will(Act(answer=ANSWER, stall_after=1), Act(answer=ANSWER))
    with pytest.raises(Transient):
        chat.answer(question(), 0.3, Calls())
    server.go_on()
    assert chat.answer(question(), 60, Calls()) == LAGOS


def test_without_time_nothing_is_asked(server: ModelServer, chat: LangchainChat, calls: Calls) -> None:
    with pytest.raises(Transient, match="No time"):
        chat.answer(question(), 0, calls)
    assert not calls and not server.chats


def test_a_prompt_that_may_not_fit_is_refused_before_it_is_sent(
    server: ModelServer, chat: LangchainChat, calls: Calls
) -> None:
    with pytest.raises(Configuration, match="AFTERTHOUGHT_MODEL_CONTEXT_TOKENS"):
        chat.answer(question("word " * 3000), 60, calls)
    assert not calls and not server.chats


def test_a_count_without_the_cached_tokens_is_not_taken_for_a_cut(server: ModelServer, chat: LangchainChat) -> None:
    asked = Question(WorkKind.CREATE, "You know cities. " * 50, "Which one?", City, 50, fresh="Which one?")
    server.will(Act(answer=ANSWER, seen_tokens=6))
    assert chat.answer(asked, 60, Calls()) == LAGOS


def test_one_repair_goes_over_the_wire_with_the_first_answer_and_what_was_wrong(
    server: ModelServer, chat: LangchainChat, calls: Calls
) -> None:
    server.will(Act(answer="Lagos, I think."), Act(answer=ANSWER))
    assert answer_with_repair(chat, question(), 5, calls, lambda _: None, lambda _: None) == LAGOS
    assert [call.outcome for call in calls] == [CallOutcome.MALFORMED, CallOutcome.ANSWERED]
    repair = server.asked[1]["messages"]
    assert [message["role"] for message in repair] == ["system", "user", "assistant", "user"]
    assert repair[2]["content"] == "Lagos, I think."
    assert "it holds no JSON object" in repair[3]["content"]


def test_three_unusable_answers_are_an_error_that_keeps_their_text_to_itself(
    server: ModelServer, chat: LangchainChat, calls: Calls
) -> None:
    bad = '{"name": "canary", "people": "canary"}'
    server.will(Act(answer="the canary sings"), Act(answer=bad), Act(answer=bad))
    with pytest.raises(ModelOutput) as raised:
        answer_with_repair(chat, question(), 5, calls, lambda _: None, lambda _: None)
    assert "canary" not in str(raised.value)
    assert len(calls) == 3


def test_the_second_repeat_differs_and_shows_no_bad_answer(
    server: ModelServer, chat: LangchainChat, calls: Calls
) -> None:
    server.will(Act(answer="Lagos, I think."), Act(answer="Lagos, surely."), Act(answer=ANSWER))
    assert answer_with_repair(chat, question(), 5, calls, lambda _: None, lambda _: None) == LAGOS
    first, repair, retry = server.asked
    assert [body["options"]["temperature"] for body in (first, repair, retry)] == [0.0, 0.0, 0.4]
    assert len({body["options"]["num_predict"] for body in server.asked}) == 1, "the answer's limit is the same"
    assert [message["role"] for message in retry["messages"]] == ["system", "user"]
    assert "Lagos" not in retry["messages"][1]["content"]
    assert retry["messages"][1]["content"].startswith(first["messages"][1]["content"])


def test_an_interruption_in_the_middle_of_a_call_is_metered(
    server: ModelServer, chat: LangchainChat, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SoftLimit(Exception):
        """Stands for the exception a worker's soft limit raises from a signal."""

    def interrupt(reply: object) -> None:
        raise SoftLimit

    class Interrupting(City):
        def model_post_init(self, context: object) -> None:
            interrupt(context)

    server.will(Act(answer=ANSWER))
    with pytest.raises(SoftLimit):
        chat.answer(Question(WorkKind.CREATE, "s", "u", Interrupting, 50), 60, calls)
    assert [call.outcome for call in calls] == [CallOutcome.TIMEOUT]


def test_questions_of_two_threads_have_deadlines_of_their_own(server: ModelServer, chat: LangchainChat) -> None:
    server.will(Act(stall=True))
    failures: list[Exception] = []

    def ask_briefly() -> None:
        try:
            chat.answer(question(), 0.3, Calls())
        except Transient as error:
            failures.append(error)

    thread = threading.Thread(target=ask_briefly)
    thread.start()
    server.wait_for_chats(1)
    server.will(Act(answer=ANSWER, drip_seconds=0.02))
    assert chat.answer(question(), 60, Calls()) == LAGOS
    thread.join()
    server.go_on()
    assert len(failures) == 1


NOON = datetime(2025, 5, 7, 12, tzinfo=UTC)
LIMIT = 200
WINDOW = 8192
GOOD = {"memory": "Jo keeps bees.", "facts": []}
TRANSCRIPT = Transcript(
    "garden",
    (
        TranscriptTurn("msg_0", "user", "Jo", "I keep bees. They are angry today!", NOON),
        TranscriptTurn("msg_1", "assistant", None, "Leave them be until it is warmer.", NOON),
    ),
    NOON,
)


@pytest.fixture
def agent(provider: str, server: ModelServer) -> Iterator[ModelAgent]:
    chat = make_chat(f"{provider}:tiny", served_at(server.url, WINDOW))
    yield ModelAgent(chat, f"{provider}:tiny", WINDOW, 60.0)
    chat.close()


def test_a_server_left_to_itself_remembers_what_the_user_said_first(agent: ModelAgent) -> None:
    draft = agent.create(TRANSCRIPT, LIMIT, Calls())
    assert isinstance(draft, MemoryDraft)
    assert (draft.content, draft.tags, draft.message_ids) == ("I keep bees.", ("bees",), ("msg_0",))


def test_bounds_are_told_so_that_no_server_need_guess_them(agent: ModelAgent, server: ModelServer) -> None:
    agent.create(TRANSCRIPT, LIMIT, Calls())
    # Anthropic's API knows no bounds; its client writes them into the description.
    told = str(server.asked[0]["format"])
    assert re.search(r"maxLength'?: 260", told) and re.search(r"maxItems'?: 12", told)


def test_the_repair_shares_the_time_of_the_first_answer(provider: str, server: ModelServer) -> None:
    chat = make_chat(f"{provider}:tiny", served_at(server.url, WINDOW))
    server.will(Act(answer="No.", drip_seconds=0.1), Act(stall=True))
    calls = Calls()
    with pytest.raises(Transient, match="in time"):
        ModelAgent(chat, f"{provider}:tiny", WINDOW, 1.0).create(TRANSCRIPT, LIMIT, calls)
    chat.close()
    server.go_on()
    assert [call.outcome for call in calls] == [CallOutcome.MALFORMED, CallOutcome.TIMEOUT]
    assert sum(call.seconds for call in calls) < 4


def test_a_second_attempt_at_the_same_of_which_a_server_counts_only_what_it_had_not_cached_is_no_cut_prompt(
    agent: ModelAgent, server: ModelServer
) -> None:
    server.will(Act(answer=GOOD, seen_tokens=30))
    assert isinstance(agent.create(TRANSCRIPT, LIMIT, Calls()), MemoryDraft)
