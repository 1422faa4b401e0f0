"""What is Ollama's alone of asking a model over the wire; what all providers share is in ``test_model_wire``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from shared.base.errors import ModelMissing, ModelOutput, Transient
from shared.llm.calls import CallOutcome
from shared.llm.chat import answer_with_repair
from shared.llm.providers import make_chat, server_status
from tests.integration.test_model_wire import ANSWER, CONTEXT_TOKENS, LAGOS, City, question
from tests.support.meters import Calls
from tests.support.ollama_server import Act, OllamaServer
from tests.support.settings import served_at


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer() as running:
        yield running


def test_the_request_says_everything_that_ollama_would_otherwise_assume(server: OllamaServer) -> None:
    server.will(Act(answer=ANSWER))
    with closing(make_chat("ollama:tiny", served_at(server.url, CONTEXT_TOKENS))) as chat:
        chat.answer(question(), 60, Calls())
    [body] = server.chats
    assert body["options"] == {"num_ctx": CONTEXT_TOKENS, "num_predict": 50, "temperature": 0.0}
    assert body["think"] is False
    assert body["format"] == City.model_json_schema()
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


def test_a_missing_model_is_named_with_the_command_that_fetches_it(server: OllamaServer) -> None:
    calls = Calls()
    with (
        closing(make_chat("ollama:llama3.2:3b", served_at(server.url, CONTEXT_TOKENS))) as chat,
        pytest.raises(ModelMissing, match=r"Run: ollama pull llama3\.2:3b$"),
    ):
        chat.answer(question(), 60, calls)
    assert [call.outcome for call in calls] == [CallOutcome.REFUSED]


def test_a_late_call_says_whether_it_waited_for_others_or_the_model_is_too_slow(server: OllamaServer) -> None:
    slow = r"too slow for that\. Raise AFTERTHOUGHT_MODEL_TIMEOUT_SECONDS"
    queued = r"before it began.*Raise OLLAMA_NUM_PARALLEL.*AFTERTHOUGHT_WORKER_CONCURRENCY"
    with closing(make_chat("ollama:tiny", served_at(server.url, CONTEXT_TOKENS))) as chat:
        server.will(Act(stall=True))
        with pytest.raises(Transient, match=f"did not answer in time.*{slow}"):
            chat.answer(question(), 0.2, Calls())
        server.go_on()
        server.will(Act(answer=ANSWER))
        assert chat.answer(question(), 60, Calls()) == LAGOS
        # What reads the prompt in a thousandth of a second and says nothing does something else.
        server.script.go_on.clear()
        server.will(Act(stall=True))
        with pytest.raises(Transient, match=f"did not answer in time.*{queued}"):
            chat.answer(question(), 0.2, Calls())


def test_a_repeat_that_this_model_cannot_answer_in_time_is_not_asked(server: OllamaServer) -> None:
    with closing(make_chat("ollama:tiny", served_at(server.url, CONTEXT_TOKENS))) as chat:
        server.will(Act(answer="Lagos, I think, a large city by the sea.", read_seconds=500, write_seconds=500))
        with pytest.raises(ModelOutput, match="no time left"):
            answer_with_repair(chat, question(), 60, Calls(), lambda _: None, lambda _: None)
    assert len(server.chats) == 1


def test_the_status_of_a_server_that_is_not_there_says_how_to_start_it() -> None:
    with OllamaServer() as gone:
        address = gone.url
    status = server_status("ollama:tiny", served_at(address))
    assert not status.ready and status.found is None
    assert status.remedy is not None and "ollama serve" in status.remedy
