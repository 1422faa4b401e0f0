"""Who may do what: shown for every route there is, so that a new one is covered without being named here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import APIRouter
from fastapi.testclient import TestClient
from sqlalchemy import select

from loop.api import app as interface
from loop.api.dependencies import SessionsAppId
from loop.api.policy import OF_APP_IN_QUERY, under
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


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Basic {ADMIN}",
        ADMIN,
        f"Bearer {ADMIN}x",
        f"Bearer {'x' * 999}",
    ],
    ids=["none", "empty", "no token", "blank", "wrong", "basic", "bare", "longer", "endless"],
)
def test_no_route_answers_without_a_token_that_is_known(guarded: Api, header: str | None) -> None:
    for method, path in [*_routes(guarded), ("GET", "/nowhere"), ("PUT", "/apps")]:
        headers = {} if header is None else {"Authorization": header}
        error = guarded.refused(401, method, path, token=None, headers=headers, content=b"{not json")
        assert error["code"] == "unauthenticated"


def test_an_apps_token_opens_nothing_outside_its_app(guarded: Api) -> None:
    token = guarded.token("chat")
    # What a token opens is told to whoever has it.
    assert guarded.ask("GET", "/token", token=token)["appId"] == "chat"
    for method, path in set(_routes(guarded)) - {("GET", "/token")}:
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
            may = method in {"GET", "HEAD"} or path in asking
            assert (answer.status_code == 403) != may, (method, path, answer.text)
        assert _contents(api) == before
        assert api.ask("GET", "/apps")["apps"][0]["appId"] == "email"


def _contents(api: Api) -> dict[str, list[str]]:
    """Return every row there is; how searches went apart, which is noted of those of readers too."""
    with api.loop.database.read() as session:
        tables = [table for table in models_metadata().sorted_tables if table.name != "retrievals"]
        return {table.name: sorted(map(repr, session.execute(select(table)))) for table in tables}


def _is_reading(path: str) -> bool:
    return re.search(r"/(search|context|suggest|preview)(\?|$)", path) is not None


def test_an_apps_token_cannot_tell_an_unknown_app_from_anothers(guarded: Api) -> None:
    token = guarded.token("chat")
    for method, path in _routes(guarded):
        strange = path.replace("/apps/email", "/apps/unknown").replace("job_1", "job_2")
        answers = [guarded.send(method, one, token=token, json={}) for one in (path, strange)]
        assert answers[0].content == answers[1].content, path


@pytest.mark.parametrize(
    "path",
    ["/apps/chat/../email", "/apps//email", "/apps/chat%2f..%2femail", "/apps/chatty", "/APPS/chat", "//apps/email"],
)
def test_a_path_cannot_be_bent_out_of_an_app(guarded: Api, path: str) -> None:
    assert guarded.send("GET", path, token=guarded.token("chat")).status_code in {403, 404, 422}


@pytest.mark.parametrize("other", ["chatty", "cha", "Chat", "chat.2"])
def test_an_apps_token_opens_no_app_of_a_similar_name(guarded: Api, other: str) -> None:
    path = guarded.install(other)
    guarded.refused(403, "GET", path, token=guarded.token("chat"))
    guarded.refused(403, "GET", f"{path}/memories", token=guarded.token("chat"))


def test_an_apps_token_opens_its_own_app(guarded: Api) -> None:
    token = guarded.token("chat")
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


def test_apps_do_not_see_each_others_memories(guarded: Api) -> None:
    guarded.remember("/apps/chat", "Chat one.", "Chat two.", "Chat three.")
    guarded.remember("/apps/email", "Mail one.")
    assert guarded.contents("/apps/chat") == ["Chat three.", "Chat two.", "Chat one."]
    assert guarded.contents("/apps/email") == ["Mail one."]
    assert "Chat" not in guarded.ask("POST", "/apps/email/context")["systemPrompt"]
    [mail] = guarded.ask("GET", "/apps/email/memories")["memories"]
    for method, rest in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/history"), ("POST", "/restore")):
        body = {"json": {}} if method in {"PATCH", "POST"} else {}
        guarded.refused(404, method, f"/apps/chat/memories/{mail['id']}{rest}", **body)
