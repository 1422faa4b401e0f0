"""The same Idempotency-Key gets the same answer, and the write happens once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from loop.api.writes import REPLAYED
from shared.apps.models import IdempotencyKey
from tests.support.api import Api

KEY = {"Idempotency-Key": "key-1"}


def test_a_repeated_write_happens_once_and_is_answered_as_before(api: Api) -> None:
    path = api.install()
    sent = [api.send("POST", f"{path}/memories", headers=KEY, json={"content": "Likes tea."}) for _ in range(3)]
    assert {answer.status_code for answer in sent} == {201}
    assert sent[0].json() == sent[1].json() == sent[2].json()
    assert [answer.headers.get(REPLAYED) for answer in sent] == [None, "true", "true"]
    assert api.contents(path) == ["Likes tea."]


@pytest.mark.parametrize(
    ("method", "rest", "body"),
    [
        ("POST", "/memories", {"content": "Other words."}),
        ("POST", "/conversations", {"conversationId": "c9"}),
        ("DELETE", "/memories", None),
    ],
    ids=["another body", "another path", "another method"],
)
def test_a_key_stands_for_one_request_only(sqlite_api: Api, method: str, rest: str, body: object) -> None:
    path = sqlite_api.install()
    sqlite_api.ask("POST", f"{path}/memories", headers=KEY, json={"content": "Likes tea."})
    error = sqlite_api.refused(409, method, f"{path}{rest}", headers=KEY, json=body)
    assert error["code"] == "idempotency_key_reused"
    assert sqlite_api.contents(path) == ["Likes tea."]


@pytest.mark.parametrize(
    ("method", "rest", "body", "status"),
    [
        ("PATCH", "", {"hourlyBudget": 5}, 403),
        ("PATCH", "", {"answeredBy": "loop"}, 403),
        ("DELETE", "", None, 403),
        ("POST", "/tokens", {"label": "more"}, 403),
        ("DELETE", "/tokens/another", None, 403),
        ("POST", "/facts", {"fact": " "}, 422),
        ("POST", "/memories", {"content": " "}, 422),
    ],
)
def test_what_may_never_be_is_refused_before_its_key_and_waits_for_no_writer(
    sqlite_api: Api, method: str, rest: str, body: object, status: int
) -> None:
    path = sqlite_api.install()
    token = sqlite_api.token()
    sqlite_api.ask("POST", f"{path}/memories", token=token, headers=KEY, json={"content": "Likes tea."})
    with sqlite_api.loop.database.write():
        sqlite_api.refused(status, method, f"{path}{rest}", token=token, headers=KEY, json=body)


def test_a_key_for_one_users_memories_does_not_stand_for_everybodys(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    sqlite_api.remember(path, "Likes tea.")
    sqlite_api.ask("DELETE", f"{path}/memories?userId=ann", headers=KEY)
    error = sqlite_api.refused(409, "DELETE", f"{path}/memories", headers=KEY)
    assert error["code"] == "idempotency_key_reused"
    assert sqlite_api.contents(path) == ["Likes tea."]


def test_keys_of_different_callers_do_not_meet(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    token = sqlite_api.token()
    sqlite_api.ask("POST", f"{path}/memories", headers=KEY, json={"content": "The admin's."})
    sqlite_api.ask("POST", f"{path}/memories", token=token, headers=KEY, json={"content": "The app's."})
    assert set(sqlite_api.contents(path)) == {"The admin's.", "The app's."}


def test_a_refused_write_is_not_remembered(sqlite_api: Api) -> None:
    sqlite_api.refused(404, "POST", "/apps/chat/memories", headers=KEY, json={"content": "Likes tea."})
    path = sqlite_api.install()
    sqlite_api.ask("POST", f"{path}/memories", 201, headers=KEY, json={"content": "Likes tea."})


def test_a_token_is_not_kept_in_a_remembered_answer(api: Api) -> None:
    path = api.install()
    first, again = (api.ask("POST", f"{path}/tokens", headers=KEY) for _ in range(2))
    assert first["token"] and again == first | {"token": None}
    with api.loop.database.read() as session:
        assert first["token"] not in str(session.scalars(select(IdempotencyKey.answer)).all())


def test_a_repeated_purge_answers_its_first_receipt(api: Api) -> None:
    path = api.install()
    api.remember(path, "Likes tea.")
    first = api.ask("DELETE", f"{path}/memories", headers=KEY)
    api.remember(path, "Likes jazz.")
    again = api.send("DELETE", f"{path}/memories", headers=KEY)
    assert (again.json(), again.headers[REPLAYED]) == (first, "true")
    assert first["receipt"]["left"]["databaseLog"] == 0
    assert api.contents(path) == ["Likes jazz."]


def test_one_of_many_simultaneous_requests_writes_and_all_get_its_answer(api: Api) -> None:
    path = api.install()

    def send(_: int) -> str:
        return api.send("POST", f"{path}/memories", headers=KEY, json={"content": "Likes tea."}).text

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(send, range(8)))
    assert len(set(answers)) == 1
    assert api.contents(path) == ["Likes tea."]


def test_simultaneous_requests_for_the_same_thing_without_a_key_give_one_and_conflicts(api: Api) -> None:
    path = api.install()

    def send(_: int) -> int:
        return api.send("POST", f"{path}/conversations", json={"conversationId": "c1"}).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(send, range(6))) == [201, 409, 409, 409, 409, 409]


@pytest.mark.parametrize(
    "key", ["", " ", "two words", "x" * 201, "\u00e9"], ids=["empty", "blank", "space", "too many", "accent"]
)
def test_a_key_must_be_plain_and_short(sqlite_api: Api, key: str) -> None:
    headers = {"Idempotency-Key": key.encode("latin-1")}
    answer = sqlite_api.send("POST", "/apps", headers=headers, json={"appId": "chat", "name": "Chat"})
    assert answer.status_code == 422, answer.text


@pytest.mark.parametrize("scope", ["memories", "data", "one memory"])
def test_a_late_retry_does_not_bring_back_what_was_erased(api: Api, scope: str) -> None:
    path = api.install()
    made = api.ask("POST", f"{path}/memories", headers=KEY, json={"content": "Likes tea."})
    api.ask("DELETE", f"{path}/memories/{made['id']}?erase=true" if scope == "one memory" else f"{path}/{scope}")
    error = api.refused(409, "POST", f"{path}/memories", headers=KEY, json={"content": "Likes tea."})
    assert error["code"] == "erased"
    assert api.contents(path) == []


def test_who_repeats_after_anothers_erasure_is_told_to_look_before_writing_twice(api: Api) -> None:
    path = api.install()
    for user in ("ann", "bob"):
        api.ask("POST", f"{path}/conversations", json={"conversationId": user, "userId": user})
    said = {"headers": KEY, "json": {"role": "user", "content": "I like tea."}}
    api.ask("POST", f"{path}/conversations/bob/messages", **said)
    api.ask("DELETE", f"{path}/users/ann/data")
    error = api.refused(409, "POST", f"{path}/conversations/bob/messages", **said)
    assert error["code"] == "erased" and "was carried out" in error["message"] and "still stands" in error["message"]
    assert api.ask("GET", f"{path}/conversations/bob")["messageCount"] == 1


@pytest.mark.parametrize("consents", [True, False])
def test_what_was_answered_about_a_users_consent_goes_with_the_user(api: Api, consents: bool) -> None:
    path = api.install()
    body = {"appId": "chat", "userId": "zyzzogeton", "consent": consents}
    api.ask("PUT", "/api/memory/consent", headers=KEY, json=body)
    api.ask("DELETE", f"{path}/users/zyzzogeton/data")
    with api.loop.database.read() as session:
        assert "zyzzogeton" not in str(session.scalars(select(IdempotencyKey.answer)).all())
