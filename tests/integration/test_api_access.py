"""Who may do what: shown for every route there is, so that a new one is covered without being named here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import APIRouter
from fastapi.testclient import TestClient
from sqlalchemy import select

from loop.api import app as interface
from loop.api import guard
from loop.api.dependencies import SessionsAppId
from loop.api.policy import OF_APP_IN_QUERY, under
from shared.apps.queries import revoke_token
from shared.db.base import models_metadata
from tests.support.api import ADMIN, Api, open_api

_IDS = {"{appId}": "email", "{conversationId}": "c1", "{memoryId}": "1", "{jobId}": "job_1", "{tokenId}": "tok_1",
        "{webhookId}": "wh_1", "{answerId}": "ans_1", "{factId}": "1", "{userId}": "ann",
        "{projectId}": "p1", "{sessionId}": "s1", "{markerId}": "k1", "{versionId}": "v001",
        "{compositionId}": "comp1", "{linkId}": "lnk_1", "{semanticId}": "sem_1"}  # fmt: skip


@pytest.fixture
def guarded(sqlite_api: Api) -> Iterator[Api]:
    """Two apps, chat and email."""
    sqlite_api.install("chat")
    sqlite_api.install("email")
    yield sqlite_api


def _routes(api: Api) -> list[tuple[str, str]]:
    """Return every method and path that needs a token, with the ids of app email filled in."""
    return [(method, _fill(path)) for method, path, is_open in _described(api) if not is_open]


def _described(api: Api) -> list[tuple[str, str, bool]]:
    paths = api.client.get("/openapi.json").json()["paths"]
    every = [(method.upper(), path, one) for path, item in paths.items() for method, one in item.items()]
    return [(method, path, one.get("security") == []) for method, path, one in every]


OTHER_PROTOCOLS = [("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/mcp"), ("POST", "/v1/chat/completions"),
                   ("GET", "/v1/models")]  # fmt: skip
"""What is described elsewhere than in /openapi.json."""


_LOGINS = {("POST", "/logins"), ("DELETE", "/logins")}
"""Of the token of the request, whatever that opens; what is made is another each time."""


def _everything(api: Api) -> list[tuple[str, str]]:
    """Return what anybody may ask for, well-meaning or not."""
    strange = [("GET", "/nowhere"), ("PUT", "/apps"), ("POST", "/metrics"), ("DELETE", "/metrics"), ("HEAD", "/apps")]
    return [*_routes(api), *OTHER_PROTOCOLS, *strange]


def _fill(path: str) -> str:
    for name, value in _IDS.items():
        path = path.replace(name, value)
    path = f"{path}?appId=email" if path.startswith("/api/memory/") else path
    assert "{" not in path, f"add an example id for {path}"
    return path


UNKNOWN = (
    None, "", "Bearer", "Bearer ", "Bearer wrong", f"Basic {ADMIN}", ADMIN, f"Bearer {ADMIN}x", f"Bearer {'x' * 999}",
)  # fmt: skip


def test_no_route_answers_without_a_token_that_is_known(guarded: Api) -> None:
    everywhere = [*_routes(guarded), ("GET", "/nowhere"), ("PUT", "/apps")]
    for header in UNKNOWN:
        headers = {} if header is None else {"Authorization": header}
        for method, path in everywhere if header in (None, "Bearer wrong") else [("GET", "/apps"), ("PUT", "/apps")]:
            error = guarded.refused(401, method, path, token=None, headers=headers, content=b"{not json")
            assert error["code"] == "unauthenticated"


def test_an_apps_token_opens_nothing_outside_its_app(guarded: Api) -> None:
    token = guarded.token("chat")
    # What a token opens is told to whoever has it, and a login opens no more.
    assert guarded.ask("GET", "/token", token=token)["appId"] == "chat"
    for method, path in set(_routes(guarded)) - {("GET", "/token"), *_LOGINS}:
        error = guarded.refused(403, method, path, token=token, json={})
        assert error["code"] == "denied"
    assert guarded.ask("GET", "/apps/email")["memories"] == 0


def test_the_token_for_metrics_opens_metrics_alone(sqlite_url: str, tmp_path: Path) -> None:
    with open_api(sqlite_url, tmp_path / "home", metrics_token="for-prometheus") as api:
        api.install("email")
        for method, path in _everything(api):
            status = api.send(method, path, token="for-prometheus", json={}).status_code
            assert status == (200 if (method, path) == ("GET", "/metrics") else 403), (method, path)


def test_the_token_that_reads_sees_everything_and_changes_nothing(sqlite_url: str, tmp_path: Path) -> None:
    with open_api(sqlite_url, tmp_path / "home", read_token="for-looking") as api:
        api.converse(api.install("email"), "c1", "Hello.")
        before = _contents(api)
        asking = {path for method, path in _routes(api) if method == "POST" and _is_reading(path)}
        assert len(asking) == 7
        for method, path in _everything(api):
            if path.endswith("/stream"):
                continue  # It is open for as long as one listens.
            answer = api.send(method, path, token="for-looking", **({} if method == "GET" else {"json": {}}))
            may = method in {"GET", "HEAD"} or path in asking or path == "/logins"
            assert (answer.status_code == 403) != may, (method, path, answer.text)
        assert _contents(api) == before
        assert api.ask("GET", "/apps")["apps"][0]["appId"] == "email"


def _contents(api: Api) -> dict[str, list[str]]:
    """Return every row there is, but how searches went and who logged in, which is noted of readers too."""
    with api.loop.database.read() as session:
        tables = [table for table in models_metadata().sorted_tables if table.name not in {"retrievals", "logins"}]
        return {table.name: sorted(map(repr, session.execute(select(table)))) for table in tables}


def _is_reading(path: str) -> bool:
    return re.search(r"/(search|context|suggest|preview)(\?|$)", path) is not None


def test_an_apps_token_cannot_tell_an_unknown_app_from_anothers(guarded: Api) -> None:
    token = guarded.token("chat")
    for method, path in set(_routes(guarded)) - _LOGINS:
        strange = path.replace("/apps/email", "/apps/unknown").replace("job_1", "job_2")
        answers = [guarded.send(method, one, token=token, json={}) for one in (path, strange)]
        assert answers[0].content == answers[1].content, path


def test_an_apps_token_opens_its_own_app_and_none_of_a_similar_name(guarded: Api) -> None:
    token = guarded.token("chat")
    bent = (
        "/apps/chat/../email",
        "/apps//email",
        "/apps/chat%2f..%2femail",
        "/apps/chatty",
        "/APPS/chat",
        "//apps/email",
    )
    assert {guarded.send("GET", path, token=token).status_code for path in bent} <= {403, 404, 422}
    for other in ("chatty", "cha", "Chat", "chat.2"):
        for path in (guarded.install(other), f"/apps/{other}/memories"):
            guarded.refused(403, "GET", path, token=token)
    for path in ("", "/memories", "/conversations", "/energy", "/erasures", "/tokens", "/export", "/memories/changes"):
        assert guarded.send("GET", f"/apps/chat{path}", token=token).status_code == 200, path


def test_an_app_sees_its_own_jobs_and_no_others(guarded: Api) -> None:
    token = guarded.token("chat")
    jobs = {}
    for app in ("chat", "email"):
        conversation = guarded.converse(f"/apps/{app}", "c1", "Hello.")
        ended = guarded.ask("POST", f"{conversation}/end")["jobs"]
        jobs[app] = [job["jobId"] for job in ended]
    listed = guarded.send("GET", "/jobs", token=token, params={"appId": "chat"}).json()["jobs"]
    assert sorted(job["jobId"] for job in listed) == sorted(jobs["chat"]) != []
    assert guarded.send("GET", f"/jobs/{jobs['chat'][0]}", token=token).status_code == 200
    guarded.refused(403, "GET", f"/jobs/{jobs['email'][0]}", token=token)
    guarded.refused(403, "GET", "/jobs", token=token)
    guarded.refused(403, "POST", f"/jobs/{jobs['chat'][0]}/cancel", token=token)


def test_health_and_the_description_need_no_token(guarded: Api) -> None:
    described = {path for _, path, is_open in _described(guarded) if is_open}
    assert described == {"/health/live", "/health/ready"}
    for path in {*described, "/openapi.json", "/docs", "/docs/files/swagger-ui.css"}:
        assert guarded.client.get(path).status_code in {200, 503}


def test_an_interface_with_a_route_that_declares_nothing_is_not_built(
    sqlite_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    router = APIRouter(prefix="/apps/{appId}/kites")
    router.get("")(_count_kites)
    monkeypatch.setattr(interface, "ROUTERS", (*interface.ROUTERS, router))
    with pytest.raises(TypeError, match=r"_count_kites \(/apps/\{appId\}/kites\) declares no policy.*under"):
        interface.build_api(sqlite_api.loop)


def test_a_new_noun_serves_an_apps_token_by_its_declaration_alone(
    guarded: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    router = APIRouter(prefix="/api/memory/kites", route_class=under(OF_APP_IN_QUERY))
    router.get("")(_count_kites)
    monkeypatch.setattr(interface, "ROUTERS", (*interface.ROUTERS, router))
    chat = {"Authorization": f"Bearer {guarded.token('chat')}"}
    with TestClient(interface.build_api(guarded.loop), headers=chat) as client:
        assert client.get("/api/memory/kites").json() == {"app": "chat"}
        assert client.get("/api/memory/kites?appId=email").status_code == 403
        assert client.get("/api/memory/dragons").status_code == 403


def _count_kites(app_id: SessionsAppId) -> dict[str, str]:
    return {"app": app_id}


GRANTS = ["tokens", "uninstall", "answers"]
ASKED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "issue a token": ("POST", "/tokens", {"json": {}}),
    "revoke another token": ("DELETE", "/tokens/{other}", {}),
    "change who answers": ("PATCH", "", {"json": {"answeredBy": "app"}}),
    "answer without a person": ("PATCH", "", {"json": {"approveAnswers": False}}),
    "uninstall": ("DELETE", "", {}),
    "uninstall with a purge": ("DELETE", "?purgeMemories=true", {}),
}


def issue(api: Api, path: str, grants: list[str], by: str | None = None, status: int = 201) -> dict[str, Any]:
    whose = {} if by is None else {"token": by}
    answer = api.send("POST", f"{path}/tokens", json={"label": "phone", "grants": grants}, **whose)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("asked", ASKED)
def test_an_apps_token_may_do_only_what_it_was_made_for(api: Api, asked: str) -> None:
    path = api.install()
    before = api.ask("GET", path)
    other = issue(api, path, [])["tokenId"]
    plain, whole = issue(api, path, [])["token"], issue(api, path, GRANTS)["token"]
    method, rest, more = ASKED[asked]
    refused = api.refused(403, method, path + rest.format(other=other), token=plain, **more)
    assert "use the admin token" in refused["message"]
    assert {key: value for key, value in api.ask("GET", path).items() if key != "updatedAt"} == {
        key: value for key, value in before.items() if key != "updatedAt"
    }
    answer = api.send(method, path + rest.format(other=other), token=whole, **more)
    assert answer.status_code in (200, 201), answer.text


@pytest.mark.parametrize("grants", [[], ["uninstall"], GRANTS], ids=["none", "one", "all"])
def test_a_token_says_what_it_may_do(api: Api, grants: list[str]) -> None:
    path = api.install()
    issued = issue(api, path, grants)
    assert api.send("GET", "/token", token=issued["token"]).json()["grants"] == grants
    assert [one["grants"] for one in api.ask("GET", f"{path}/tokens")["tokens"]] == [grants]
    assert api.ask("GET", "/token")["grants"] == GRANTS, "the admin's"


def test_no_token_grants_more_than_it_has(api: Api) -> None:
    path = api.install()
    minting = issue(api, path, ["tokens", "answers"])["token"]
    refused = api.refused(403, "POST", f"{path}/tokens", token=minting, json={"grants": ["answers", "uninstall"]})
    assert "uninstall" in refused["message"]
    assert issue(api, path, ["answers"], by=minting)["grants"] == ["answers"]
    api.refused(422, "POST", f"{path}/tokens", json={"grants": ["everything"]})


def test_revoking_a_token_revokes_all_that_came_of_it_and_no_other(api: Api) -> None:
    path = api.install()
    first = issue(api, path, ["tokens"])
    child = issue(api, path, ["tokens"], by=first["token"])
    grandchild = issue(api, path, [], by=child["token"])
    other = issue(api, path, [])
    parents = {one["tokenId"]: one["parentId"] for one in api.ask("GET", f"{path}/tokens")["tokens"]}
    assert parents[child["tokenId"]] == first["tokenId"] and parents[grandchild["tokenId"]] == child["tokenId"]
    assert parents[first["tokenId"]] is parents[other["tokenId"]] is None
    for one in (first, child, grandchild, other):
        assert api.send("GET", path, token=one["token"]).status_code == 200
    api.ask("DELETE", f"{path}/tokens/{first['tokenId']}")
    for one in (first, child, grandchild):
        api.refused(401, "GET", path, token=one["token"])
    assert api.send("GET", path, token=other["token"]).status_code == 200
    standing = [one["tokenId"] for one in api.ask("GET", f"{path}/tokens")["tokens"] if one["revokedAt"] is None]
    assert standing == [other["tokenId"]]


def test_a_token_may_always_give_itself_up(api: Api) -> None:
    path = api.install()
    issued = issue(api, path, [])
    assert api.send("DELETE", f"{path}/tokens/{issued['tokenId']}", token=issued["token"]).status_code == 200
    api.refused(401, "GET", path, token=issued["token"])


def test_what_is_issued_while_its_issuer_is_revoked_opens_nothing(api: Api) -> None:
    path = api.install()
    for _ in range(10):
        issuer = issue(api, path, ["tokens"])
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(api.send, "POST", f"{path}/tokens", token=issuer["token"], json={}) for _ in range(3)]
            pool.submit(api.ask, "DELETE", f"{path}/tokens/{issuer['tokenId']}").result()
            issued = [one.result().json()["token"] for one in asked if one.result().status_code == 201]
        for token in issued:
            api.refused(401, "GET", path, token=token)


@contextmanager
def statements(api: Api) -> Iterator[list[str]]:
    """Note every statement of the block but those that begin and end transactions."""
    said: list[str] = []

    def hear(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if not statement.startswith("BEGIN"):
            said.append(" ".join(statement.split()))

    engine = api.loop.database.engine
    sa.event.listen(engine, "before_cursor_execute", hear)
    try:
        yield said
    finally:
        sa.event.remove(engine, "before_cursor_execute", hear)


def test_a_message_is_added_in_few_statements_and_its_conversation_written_once(api: Api) -> None:
    path, token = api.install(), api.token()
    talk = f"{path}/conversations/c1/messages"
    api.converse(path, "c1", "Good morning.")
    api.ask("GET", path, token=token)
    for role, most in (("user", 7), ("assistant", 8)):
        with statements(api) as said:
            api.ask("POST", talk, token=token, json={"role": role, "content": "I keep bees behind the house."})
        assert len(said) <= most, said
        assert sum(one.startswith("UPDATE conversations") for one in said) == 1, said


def test_who_holds_a_token_is_not_looked_up_for_every_request(sqlite_api: Api) -> None:
    path, token = sqlite_api.install(), sqlite_api.token()
    with statements(sqlite_api) as said:
        for _ in range(5):
            sqlite_api.ask("GET", path, token=token)
    assert 1 <= sum("FROM tokens" in one for one in said) < 5


def test_a_token_revoked_here_opens_nothing_from_then_on(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    token = str(sqlite_api.ask("POST", f"{path}/tokens", json={"grants": ["tokens"]})["token"])
    for _ in range(20):
        issued = sqlite_api.ask("POST", f"{path}/tokens")
        sqlite_api.ask("GET", path, token=issued["token"])
        sqlite_api.ask("DELETE", f"{path}/tokens/{issued['tokenId']}", token=token)
        sqlite_api.refused(401, "GET", path, token=issued["token"])


def test_a_token_revoked_by_another_loop_is_refused_once_it_is_looked_up_again(
    sqlite_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sqlite_api.install()
    issued = sqlite_api.ask("POST", f"{path}/tokens")
    sqlite_api.ask("GET", path, token=issued["token"])
    with sqlite_api.loop.database.write() as session:
        revoke_token(session, "chat", issued["tokenId"], sqlite_api.clock.now())
    monkeypatch.setattr(guard, "REMEMBERED_SECONDS", 0.0)
    sqlite_api.refused(401, "GET", path, token=issued["token"])


def test_a_login_opens_what_its_token_opens_until_either_ends(sqlite_url: str, tmp_path: Path) -> None:
    with open_api(sqlite_url, tmp_path / "home", read_token="for-looking") as api:
        path = api.install()
        issued = api.ask("POST", f"{path}/tokens")
        for token in (ADMIN, "for-looking", issued["token"]):
            login = api.ask("POST", "/logins", token=token)["login"]
            assert api.ask("GET", "/token", token=login) == api.ask("GET", "/token", token=token)
            # One that it made would outlive it: whoever has a copy would stay in.
            assert "token itself" in api.refused(403, "POST", "/logins", token=login)["message"]
            second = api.ask("POST", "/logins", token=token)["login"]
            api.ask("DELETE", "/logins", token=login)
            api.refused(401, "GET", "/token", token=login)
            api.ask("GET", "/token", token=second)
            api.refused(404, "DELETE", "/logins", token=token)
        api.ask("DELETE", f"{path}/tokens/{issued['tokenId']}")
        api.refused(401, "GET", "/token", token=second)
        with api.loop.database.read() as session:
            kept = str(session.execute(sa.text("SELECT * FROM logins")).all())
        assert not [one for one in (ADMIN, "for-looking", issued["token"], second) if one in kept]
        login = api.ask("POST", "/logins")["login"]
        api.clock.advance(7 * 24 * 3600)
        api.refused(401, "GET", "/token", token=login)
        many = []
        for _ in range(51):
            api.clock.advance(1)
            many.append(api.ask("POST", "/logins")["login"])
        assert [api.send("GET", "/token", token=one).status_code for one in many] == [401, *[200] * 50]
        again = {"headers": {"Idempotency-Key": "once"}}
        assert [bool(api.ask("POST", "/logins", **again)["login"]) for _ in range(2)] == [True, False]
