"""The Python client by itself: what is generated is current, and what a program gives goes out as it should."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from afterthought_client import (
    Afterthought,
    AsyncAfterthought,
    Conflict,
    ConnectionFailed,
    RetryPolicy,
    ServiceUnavailable,
    models,
)
from afterthought_client import UnexpectedAnswer as Unexpected
from afterthought_client.errors import InvalidArgument
from afterthought_client.events import EventDecoder
from loop.api.app import describe
from ops.client.writing import outdated
from tests.support.settings import default_settings


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    """What is served as ``/openapi.json``."""
    return describe(default_settings())


def _client(answer: Any, retry: RetryPolicy | None = None) -> Afterthought:
    return Afterthought("http://service", "a-token", app="chat", retry=retry, transport=httpx.MockTransport(answer))


def test_what_is_generated_is_what_would_be() -> None:
    assert list(outdated()) == [], "run: python -m ops.client"


def test_every_operation_is_a_method_of_both_clients(described: dict[str, Any]) -> None:
    operations = {one["operationId"] for item in described["paths"].values() for one in item.values()}
    names = {re.sub("([A-Z])", r"_\1", operation).lower() for operation in operations}
    assert [name for name in names if not hasattr(Afterthought, name)] == []
    for name, method in inspect.getmembers(Afterthought, inspect.isfunction):
        if not name.startswith("_") and name != "close":
            other = getattr(AsyncAfterthought, name)
            assert inspect.signature(method).parameters == inspect.signature(other).parameters, name


def test_the_models_take_the_services_examples(described: dict[str, Any]) -> None:
    for name, shape in described["components"]["schemas"].items():
        if "enum" not in shape:
            for example in shape["examples"]:
                getattr(models, name).model_validate_json(json.dumps(example))


def test_only_what_was_given_is_sent() -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(422, json={"error": {"code": "invalid", "message": "no", "details": {}}})

    client = _client(answer)
    for call in (
        lambda: client.change_app(hourly_budget=None),
        lambda: client.add_messages("a/b?c", [models.AddMessage(role="user", content="Hi", message_id="m1")]),
        lambda: client.list_memories(user_id="", limit=3),
    ):
        with pytest.raises(Exception, match="no"):
            call()
    change, add, listing = sent
    assert json.loads(change.content) == {"hourlyBudget": None}
    assert json.loads(add.content) == {"messages": [{"role": "user", "content": "Hi", "messageId": "m1"}]}
    assert add.url.raw_path == b"/apps/chat/conversations/a%2Fb%3Fc/messages"
    assert dict(listing.url.params) == {"userId": "", "limit": "3"} and "idempotency-key" not in listing.headers
    assert change.headers["idempotency-key"] != add.headers["idempotency-key"]


def test_a_service_that_is_not_ready_says_in_the_error_what_is_missing() -> None:
    redis = {"ok": False, "needed": True, "detail": "Redis does not answer."}
    unready = {"ready": False, "version": "1", "agent": "extractive", "dependencies": {"redis": redis}}
    client = _client(lambda _: httpx.Response(503, json=unready), RetryPolicy(retries=0))
    with pytest.raises(ServiceUnavailable) as error:
        client.show_readiness()
    assert models.Ready.model_validate(error.value.details).dependencies["redis"].detail == "Redis does not answer."


def test_a_service_that_asks_for_too_much_patience_is_not_waited_for() -> None:
    policy = RetryPolicy()
    assert policy.wait_seconds(1, httpx.Response(503, headers={"Retry-After": "3"})) == 3
    assert policy.wait_seconds(1, httpx.Response(503, headers={"Retry-After": "86400"})) is None
    assert policy.wait_seconds(1, httpx.Response(409)) is None
    assert policy.wait_seconds(5) is None


def test_patience_is_for_so_long_and_for_what_a_proxy_says_meanwhile() -> None:
    policy = RetryPolicy(retries=0, longest_wait_seconds=10, patience_seconds=120)
    away = httpx.Response(502)
    assert policy.wait_seconds(50, away, elapsed_seconds=119) == 10 and policy.wait_seconds(1, away, 120) is None
    assert policy.wait_seconds(1, httpx.Response(503, headers={"Retry-After": "60"})) == 60
    assert policy.wait_seconds(1, httpx.Response(409)) is None and RetryPolicy().wait_seconds(1, away) is None


def test_an_open_file_is_sent_whole_each_time_and_an_answer_is_taken_in_pieces(tmp_path: Path) -> None:
    got = []

    def answer(request: httpx.Request) -> httpx.Response:
        got.append((request.read(), request.headers.get("content-length")))
        if request.method == "GET":
            return httpx.Response(200, stream=httpx.ByteStream(b"PK" * 9))
        return httpx.Response(503 if len(got) == 1 else 409, json={"error": {"code": "x", "message": "y"}})

    (tmp_path / "project.zip").write_bytes(b"PK-project")
    client = _client(answer, RetryPolicy(patience_seconds=60, first_wait_seconds=0.001))
    with (tmp_path / "project.zip").open("rb") as file, pytest.raises(Conflict):
        client.import_project(file)
    assert got == [(b"PK-project", "10")] * 2
    assert b"".join(client.export_project_in_pieces("p1")) == b"PK" * 9


@pytest.mark.parametrize(
    ("error", "tries"), [(httpx.ReadError("broken"), 3), (httpx.ProxyError("refused"), 1)], ids=["lost", "refused"]
)
def test_only_a_connection_that_may_come_back_is_tried_again(error: Exception, tries: int) -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        raise error

    client = _client(answer, RetryPolicy(retries=2, first_wait_seconds=0.001))
    for call in (client.list_apps, lambda: next(client.follow_app())):
        asked.clear()
        with pytest.raises(ConnectionFailed, match=type(error).__name__) as failed:
            call()
        assert len(asked) == tries and failed.value.__context__ is None


def test_an_answer_that_cannot_be_read_is_said_without_its_text() -> None:
    client = _client(lambda _: httpx.Response(200, json={"memories": "a secret"}))
    with pytest.raises(Unexpected) as error:
        client.list_memories()
    assert "MemoryList" in str(error.value) and "secret" not in repr(error.value)


@pytest.mark.parametrize("token", ["a token", "tok\nen", "tökén"])
def test_a_token_that_cannot_be_sent_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(ValueError) as error:
        Afterthought(token=token)
    assert token not in repr(error.value)


def test_the_environment_says_where_and_under_which_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTHOUGHT_URL", "http://memory:1234")
    monkeypatch.setenv("AFTERTHOUGHT_TOKEN", "the-token\n")
    with Afterthought(app="chat") as client:
        assert repr(client) == "Afterthought(url='http://memory:1234', app='chat')"
        assert client._http.headers["authorization"] == "Bearer the-token"
    monkeypatch.delenv("AFTERTHOUGHT_TOKEN")
    with pytest.raises(ValueError, match="AFTERTHOUGHT_TOKEN"):
        Afterthought()


def test_no_app_is_asked_for_by_name() -> None:
    with Afterthought("http://service", "a-token") as client, pytest.raises(ValueError, match="app="):
        client.list_memories()
    with Afterthought("http://service", "a-token", app="chat") as client, pytest.raises(ValueError, match="empty"):
        client.show_conversation("")


def test_events_are_read_however_the_bytes_are_cut() -> None:
    text = ': listening\nid: 3\n\nid: 4\nevent: memory.created\ndata: {"content":"é\u2028"}\n\nid: 5\n\n'.encode()
    for size in (1, 2, 7, len(text)):
        decoder = EventDecoder()
        parts = [text[at : at + size] for at in range(0, len(text), size)]
        [event] = [one for part in parts for one in decoder.feed(part)]
        assert (event.id, event.kind, event.data) == ("4", "memory.created", {"content": "é\u2028"})
        assert decoder.last_id == "5"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_json_has_not_is_refused_before_it_is_sent(number: float) -> None:
    """It would go out as null, which lifts a budget."""
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(500)

    with _client(answer) as client:
        with pytest.raises(InvalidArgument, match="nan"):
            client.change_app(hourly_budget=number)
        with pytest.raises(InvalidArgument, match="nan"):
            client.change_app(config={"rates": [1.0, {"at": number}]})
    assert sent == []
