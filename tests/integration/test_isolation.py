"""No text of one user, or of one app, in an answer for another: every operation there is has its case here.

Two users of one app and a second app are given everything that can be kept of them. Then every operation of the
interface is asked on behalf of the first user (where an operation can be about a user) or of the first app.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from shared.conversations.answers import AnswerDraft, give
from shared.conversations.models import Conversation
from shared.events.recording import publish as place_events
from shared.summaries.queries import NewSummary, insert_summary
from tests.support.api import ADMIN, Api, conversation_key, open_api
from tests.support.canaries import tables_holding

WORDS = {("chat", "ann"): "quillwort", ("chat", "bob"): "zyzzogeton", ("chat", None): "spleenwort",
         ("email", "ann"): "moschatel"}  # fmt: skip
"""What each of them said, and nobody else."""
ANNS, BOBS, NOBODYS, ELSEWHERE = WORDS.values()
FORBIDDEN_TO_ANN = (BOBS, NOBODYS, ELSEWHERE)


@dataclass(frozen=True)
class Case:
    """How an operation is asked for the first user, or for the first app where it knows no users."""

    query: dict[str, str] = field(default_factory=dict)
    body: Any = None
    is_of_user: bool = True
    """Whether it is about one user; else all of the app's may be shown, and nothing of another app."""
    streams: bool = False


OF_ANN = Case({"userId": "ann"})
OF_APP = Case(is_of_user=False)
_SAID = {"role": "user", "content": f"More about my {ANNS}."}
_FACT = {"fact": f"Waters the {ANNS}", "userId": "ann"}
_PROFILE = {"freeformNotes": f"Keeps a {ANNS}."}

# What changes or ends something comes after what only looks; erasures last.
CASES: dict[str, Case] = {
    "GET /apps": OF_APP,
    "POST /apps": Case(body={"appId": "third", "name": "Third"}, is_of_user=False),
    "GET /apps/{appId}": OF_APP,
    "PATCH /apps/{appId}": Case(body={"name": "Chat"}, is_of_user=False),
    "POST /apps/{appId}/tokens": OF_APP,
    "GET /apps/{appId}/tokens": OF_APP,
    "DELETE /apps/{appId}/tokens/{tokenId}": OF_APP,
    "GET /apps/{appId}/erasures": OF_APP,
    "GET /apps/{appId}/energy": OF_APP,
    "GET /apps/{appId}/users": Case(is_of_user=True),
    "GET /apps/{appId}/users/{userId}": Case(),
    "PATCH /apps/{appId}/users/{userId}": Case(body={"timeZone": "Europe/Lisbon"}),
    "GET /apps/{appId}/compactions": OF_ANN,
    "GET /apps/{appId}/memories": OF_ANN,
    "GET /apps/{appId}/memories/changes": OF_ANN,
    "GET /apps/{appId}/memories/{memoryId}": Case(),
    "GET /apps/{appId}/memories/{memoryId}/history": Case(),
    "POST /apps/{appId}/memories": Case(body={"content": f"Keeps a {ANNS}.", "userId": "ann"}),
    "PATCH /apps/{appId}/memories/{memoryId}": Case(body={"importance": 7}),
    "GET /apps/{appId}/facts": OF_ANN,
    "GET /apps/{appId}/facts/changes": OF_ANN,
    "GET /apps/{appId}/facts/eviction": OF_ANN,
    "GET /apps/{appId}/facts/{factId}": Case(),
    "GET /apps/{appId}/facts/{factId}/history": Case(),
    "POST /apps/{appId}/facts": Case(body=_FACT),
    "PATCH /apps/{appId}/facts/{factId}": Case(body={"category": "project"}),
    "POST /apps/{appId}/facts/{factId}/pin": Case(),
    "POST /apps/{appId}/facts/{factId}/unpin": Case(),
    "POST /apps/{appId}/context": Case(body={"message": "What do I keep? A plant?", "userId": "ann"}),
    "POST /apps/{appId}/search": Case(body={"query": "what do I keep, a plant", "userId": "ann", "explain": True}),
    "GET /apps/{appId}/export": OF_ANN,
    "GET /apps/{appId}/answers": OF_APP,
    "POST /apps/{appId}/answers/{answerId}/approve": Case(),
    "POST /apps/{appId}/answers/{answerId}/reject": Case(),
    "GET /apps/{appId}/indexes": OF_APP,
    "POST /apps/{appId}/indexes/backfill": OF_APP,
    "GET /apps/{appId}/conversations": OF_ANN,
    "POST /apps/{appId}/conversations": Case(body={"conversationId": "new", "userId": "ann"}),
    "GET /apps/{appId}/conversations/{conversationId}": Case(),
    "PATCH /apps/{appId}/conversations/{conversationId}": Case(body={"timeZone": "Europe/Lisbon", "memory": "on"}),
    "GET /apps/{appId}/conversations/{conversationId}/messages": Case(),
    "POST /apps/{appId}/conversations/{conversationId}/messages": Case(body=_SAID),
    "GET /apps/{appId}/conversations/{conversationId}/summaries": Case(),
    "POST /apps/{appId}/conversations/{conversationId}/summaries": Case(),
    "POST /apps/{appId}/conversations/{conversationId}/extract": Case(),
    "POST /apps/{appId}/conversations/{conversationId}/snooze": Case(body={"minutes": 5}),
    "POST /apps/{appId}/conversations/{conversationId}/end": Case(),
    "GET /apps/{appId}/profile": OF_ANN,
    "PUT /apps/{appId}/profile": Case({"userId": "ann"}, body=_PROFILE),
    "GET /apps/{appId}/profile/audit": OF_ANN,
    "GET /apps/{appId}/retrieval-settings": OF_APP,
    "PATCH /apps/{appId}/retrieval-settings": Case(body={"summaryFrequency": 6}, is_of_user=False),
    "GET /apps/{appId}/session-settings": OF_APP,
    "PATCH /apps/{appId}/session-settings": Case(body={"ui": {"defaultView": "keepits"}}, is_of_user=False),
    "GET /apps/{appId}/session-settings/changes": OF_APP,
    "GET /apps/{appId}/events": OF_APP,
    "GET /apps/{appId}/stream": Case(is_of_user=False, streams=True),
    "GET /stream": Case(streams=True),
    "GET /apps/{appId}/webhooks": OF_APP,
    "POST /apps/{appId}/webhooks": Case(body={"url": "http://127.0.0.1:9/"}, is_of_user=False),
    "GET /apps/{appId}/webhooks/{webhookId}": OF_APP,
    "PATCH /apps/{appId}/webhooks/{webhookId}": Case(body={"enabled": False}, is_of_user=False),
    "POST /apps/{appId}/webhooks/{webhookId}/test": OF_APP,
    "DELETE /apps/{appId}/webhooks/{webhookId}": OF_APP,
    "GET /api/memory/consent": Case({"appId": "chat", "userId": "ann"}),
    "PUT /api/memory/consent": Case(body={"appId": "chat", "userId": "ann", "consent": True}),
    "GET /api/memory/debug/retrieval": Case({"appId": "chat", "q": "what do I keep", "conversationId": "ann-1"}),
    # What operators see of all apps at once holds ids and numbers, and no text of anybody.
    "GET /api/memory/metrics": Case(),
    "GET /api/memory/debug/stats": Case(),
    "POST /api/memory/rebuild": Case(body={"appId": "chat"}),
    "GET /api/memory/settings": Case(),
    "PATCH /api/memory/settings": Case(body={"summaryFrequency": 6}),
    "GET /jobs": Case(),
    "GET /jobs/{jobId}": Case(),
    "POST /jobs/{jobId}/replay": Case(),
    "POST /jobs/replay": Case(body={"appId": "chat"}),
    "POST /jobs/{jobId}/cancel": Case(),
    "GET /token": Case(),
    "GET /energy": Case(),
    "GET /energy/history": Case(),
    "GET /health/live": Case(),
    "GET /health/ready": Case(),
    "GET /metrics": Case(),
    "GET /storage": Case(),
    "GET /doctor": Case(),
    # What goes, and what is gone.
    "POST /apps/{appId}/memories/{memoryId}/restore": Case(),
    "DELETE /apps/{appId}/memories/{memoryId}": Case(),
    "POST /apps/{appId}/facts/bulk": Case(body={"action": "delete", "ids": []}),
    "DELETE /apps/{appId}/facts/{factId}": Case(),
    "POST /apps/{appId}/facts/{factId}/undo": Case(),
    "DELETE /apps/{appId}/facts": OF_ANN,
    "POST /apps/{appId}/facts/undo": OF_ANN,
    "DELETE /apps/{appId}/profile": OF_ANN,
    "DELETE /apps/{appId}/memories": OF_ANN,
    "DELETE /apps/{appId}/conversations/{conversationId}": Case(),
    "DELETE /apps/{appId}/users/{userId}/data": Case(),
    "POST /apps/{appId}/import": Case(body="export", is_of_user=False),
    "DELETE /apps/{appId}/data": OF_APP,
    "DELETE /apps/{appId}": OF_APP,
}
RECORDED_SESSIONS = ("projects", "sessions", "compositions", "decay", "semantic", "links", "jobs")
"""Recorded sessions belong to an app and know no users; that apps are apart is tried in ``test_api_sessions``."""


def _is_tried_elsewhere(operation: str) -> bool:
    path = operation.split(" ")[1]
    # A login holds nobody's text, and only a login ends one: ``test_api_access``.
    return path == "/logins" or (path.startswith("/api/memory/") and path.split("/")[3] in RECORDED_SESSIONS)


def _operations(api: Api) -> set[str]:
    paths = api.client.get("/openapi.json").json()["paths"]
    return {f"{method.upper()} {path}" for path, item in paths.items() for method in item}


def test_every_operation_has_a_case(sqlite_api: Api) -> None:
    told = {one for one in _operations(sqlite_api) if not _is_tried_elsewhere(one)}
    assert told == set(CASES), "add a case to CASES: whose text may an answer of the new operation hold?"


@pytest.fixture
def api(sqlite_url: str, tmp_path: Path) -> Iterator[Api]:
    """The interface, with webhooks that may be called on this machine."""
    with open_api(sqlite_url, tmp_path / "home", webhook_internal_hosts="127.0.0.1") as opened:
        yield opened


@pytest.fixture
def people(api: Api) -> dict[str, dict[str, str]]:
    """Two users and nobody of app chat, and one of app email, each with everything; the ids of it by who said it."""
    for app_id in ("chat", "email"):
        api.install(app_id)
    return {word: _give_everything(api, *whose, word) for whose, word in reversed(WORDS.items())}


@pytest.fixture
def town(people: dict[str, dict[str, str]]) -> dict[str, str]:
    return people[ANNS]


def _give_everything(api: Api, app_id: str, user: str | None, word: str) -> dict[str, str]:
    path, name, whose = f"/apps/{app_id}", f"{user}-1", {"userId": user} if user else {}
    api.ask("POST", f"{path}/conversations", json={"conversationId": name, **whose})
    said = [{"role": "system", "content": f"Secret of {word}."},
            {"role": "user", "content": f"I keep a plant: {word}."},
            {"role": "assistant", "content": f"A {word}, how nice to keep a plant."},
            {"role": "user", "content": f"What do I keep, {word}?"}]  # fmt: skip
    api.ask("POST", f"{path}/conversations/{name}/messages", json={"messages": said})
    api.clock.advance(1)
    memory = api.ask("POST", f"{path}/memories", json={"content": f"Keeps a plant: {word}.", "tags": [word], **whose})
    fact = api.ask("POST", f"{path}/facts", json={"fact": f"Keeps a plant: {word}", **whose})
    if user:
        api.ask("PUT", "/api/memory/consent", json={"appId": app_id, "userId": user, "consent": True})
        api.ask("PUT", f"{path}/profile?userId={user}", json={"freeformNotes": word})
    hook = api.ask("POST", f"{path}/webhooks", json={"url": f"http://127.0.0.1:9/{word}"})
    token = api.ask("POST", f"{path}/tokens", json={"label": "spare"})
    with api.loop.database.write() as session:
        key = conversation_key(session, app_id, name)
        conversation = session.get_one(Conversation, key)
        insert_summary(session, conversation, NewSummary(f"- keeps a {word}", "extractive", 0, 2), api.clock.now())
        answer = give(session, conversation, AnswerDraft(f"Your {word}.", 3, "ollama:m"), True, api.clock.now())
    summary = api.ask("POST", f"{path}/conversations/{name}/summaries")
    with api.loop.database.write() as session:
        place_events(session, 1000)
    return {
        "appId": app_id, "conversationId": name, "memoryId": str(memory["id"]), "userId": user or "",
        "factId": str(fact.get("id") or fact["fact"]["id"]), "webhookId": str(hook.get("webhookId") or hook["id"]),
        "tokenId": token["tokenId"], "answerId": answer.answer_id, "jobId": summary["job"]["jobId"],
    }  # fmt: skip


def test_no_answer_for_a_user_holds_text_of_another_or_of_another_app(api: Api, town: dict[str, str]) -> None:
    exported = api.ask("GET", "/apps/chat/export?userId=ann")
    refused: list[str] = []
    for operation, case in CASES.items():
        method, path = operation.split(" ")
        if case.streams:
            continue  # They last until the client goes; what they tell is what /events tells.
        body = exported if case.body == "export" else case.body
        if isinstance(body, dict) and "ids" in body:
            body = body | {"ids": [int(town["factId"])]}
        answer = api.send(method, path.format(**town), params=case.query, json=body)
        if answer.status_code >= 400:
            refused.append(f"{operation}: {answer.status_code} {answer.text[:200]}")
        forbidden = FORBIDDEN_TO_ANN if case.is_of_user else (ELSEWHERE,)
        found = [word for word in forbidden if word in answer.text]
        assert not found, f"{operation} holds {found}: {answer.text[:2000]}"
    # Each must have been really answered, or its case shows nothing; these few are refused for what came before.
    expected = {"POST /apps/{appId}/answers/{answerId}/reject", "POST /jobs/{jobId}/replay",
                "POST /jobs/{jobId}/cancel", "POST /apps/{appId}/webhooks/{webhookId}/test",
                "DELETE /apps/{appId}/facts/{factId}",
                "GET /health/ready"}  # fmt: skip
    surprising = [one for one in refused if one.split(":")[0] not in expected]
    assert not surprising, "\n".join(surprising)


@pytest.mark.parametrize("shared", [False, True])
def test_what_names_nobody_reaches_a_user_only_where_the_app_shares_it(
    api: Api, town: dict[str, str], shared: bool
) -> None:
    api.ask("PATCH", "/apps/chat", json={"sharedMemory": shared})
    asked = {"message": "What do I keep? A plant?", "contextWindow": 8192}
    anns = api.send("POST", "/apps/chat/context", json=asked | {"userId": "ann"}).text
    assert ANNS in anns and BOBS not in anns and ELSEWHERE not in anns
    assert (NOBODYS in anns) is shared
    nobodys = api.send("POST", "/apps/chat/context", json=asked).text
    assert NOBODYS in nobodys and ANNS not in nobodys and BOBS not in nobodys


def test_ids_of_another_users_things_do_not_lead_into_a_users_context(api: Api, town: dict[str, str]) -> None:
    """A conversation belongs to its user, whoever is named beside it."""
    asked = {"conversationId": "bob-1", "userId": "ann", "message": "plant?"}
    answer = api.send("POST", "/apps/chat/context", json=asked)
    assert ANNS not in answer.text or BOBS not in answer.text, "two users' words stand in one context"


def test_no_id_leads_to_a_thing_by_way_of_another_app(api: Api, town: dict[str, str]) -> None:
    """An app and an admin who name another app's thing are told that it is not there, and nothing becomes of it."""
    before, elsewhere = api.ask("GET", "/apps/chat/export"), town | {"appId": "email"}
    own = api.ask("POST", "/apps/email/tokens", json={"grants": ["tokens"]})["token"]
    tried = 0
    for operation, case in CASES.items():
        method, path = operation.split(" ")
        # Each app has a conversation, and a user, of that name.
        named = set(re.findall(r"{(\w+)}", path)) - {"appId", "userId", "conversationId"}
        if "{appId}" in path and named:
            for token in (ADMIN, own):
                api.refused(404, method, path.format(**elsewhere), token=token, params=case.query, json=case.body)
            tried += 1
    assert tried > 15
    after = api.ask("GET", "/apps/chat/export")
    assert {name: part for name, part in after.items() if name != "exportedAt"} == {
        name: part for name, part in before.items() if name != "exportedAt"
    }


def test_erasing_an_app_takes_all_there_is_of_it_and_nothing_of_another(api: Api, town: dict[str, str]) -> None:
    database = api.loop.database
    before = tables_holding(database, ELSEWHERE)
    assert len(tables_holding(database, ANNS)) > 9
    receipt = api.ask("DELETE", "/apps/chat/data")["receipt"]
    assert {store: count for store, count in receipt["left"].items() if count} == {}
    gone = ("memories", "facts", "messages", "summaries", "profiles", "consents", "events", "webhooks")
    assert [store for store in gone if not receipt["erased"].get(store)] == []
    assert tables_holding(database, ANNS, BOBS, NOBODYS) == []
    assert tables_holding(database, ELSEWHERE) == before


OPENED_TO_A_PERSON = {one for one, case in CASES.items() if case.is_of_user and "{appId}" in one} - {
    "GET /apps/{appId}/users", "GET /apps/{appId}/compactions", "GET /apps/{appId}/facts/eviction",
    "POST /apps/{appId}/answers/{answerId}/approve", "POST /apps/{appId}/answers/{answerId}/reject",
    "POST /apps/{appId}/conversations/{conversationId}/extract",
    "POST /apps/{appId}/conversations/{conversationId}/snooze",
} | {"GET /apps/{appId}", "GET /apps/{appId}/events", "GET /token", "GET /api/memory/consent",
     "PUT /api/memory/consent"}  # fmt: skip
"""By a token of their own; what is not here is refused, whatever is asked of it."""
_STORES = {"idempotencyKeys", "exportedAt"}


def _exported(api: Api, query: str = "") -> dict[str, Any]:
    whole = api.ask("GET", f"/apps/chat/export{query}")
    return {name: part for name, part in whole.items() if name not in _STORES}


def _asked_by_person(api: Api, operation: str, ids: dict[str, str], token: str, *, names: str | None) -> Any:
    """Ask for things of these ids, with or without naming a user."""
    case, (method, path) = CASES[operation], operation.split(" ")
    query = {name: value for name, value in case.query.items() if name != "userId"}
    body = case.body
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name != "userId"}
        body |= {"ids": [int(ids["factId"])]} if "ids" in body else {}
    if names is not None and "userId" in case.query:
        query["userId"] = names
    elif names is not None and isinstance(case.body, dict) and "userId" in case.body:
        body["userId"] = names
    return api.send(method, path.format(**ids), params=query, json=body, token=token)


def test_a_users_own_token_opens_what_is_theirs(api: Api, people: dict[str, dict[str, str]]) -> None:
    token = api.ask("POST", "/apps/chat/tokens", json={"userId": "ann"})["token"]
    told = api.ask("GET", "/token", token=token)
    assert (told["appId"], told["userId"], told["grants"]) == ("chat", "ann", [])
    untouched = _exported(api, "?userId=bob"), api.ask("GET", "/apps/email/export")["facts"]
    refused: list[str] = []
    for operation, case in CASES.items():
        if case.streams or operation == "POST /apps/{appId}/import":
            continue
        answer = _asked_by_person(api, operation, people[ANNS], token, names=None)
        if operation not in OPENED_TO_A_PERSON:
            # 401 once everything of theirs was erased, the token with it.
            assert answer.status_code in (401, 403) or "/health/" in operation, operation
        elif answer.status_code >= 400:
            refused.append(f"{operation}: {answer.status_code} {answer.text[:200]}")
        assert not [word for word in FORBIDDEN_TO_ANN if word in answer.text], f"{operation}: {answer.text[:2000]}"
    # It was deleted among many before; the last of all took the token.
    surprising = [one for one in refused if "DELETE /apps/{appId}/facts/{factId}" not in one]
    assert not surprising, "\n".join(surprising)
    assert api.send("GET", "/token", token=token).status_code == 401
    assert (_exported(api, "?userId=bob"), api.ask("GET", "/apps/email/export")["facts"]) == untouched


def test_what_a_user_exports_holds_nothing_that_is_the_apps_alone(api: Api, town: dict[str, str]) -> None:
    changes = {"config": {"stripe": "internal"}, "hourlyBudget": 5, "dailyBudget": 70, "timeZone": "Asia/Tokyo"}
    api.ask("PATCH", "/apps/chat", json=changes)
    token = api.ask("POST", "/apps/chat/tokens", json={"userId": "ann"})["token"]
    theirs = api.ask("GET", "/apps/chat/export", token=token)["app"]
    by_app = api.ask("GET", "/apps/chat/export?userId=ann")["app"]
    assert theirs == by_app | {"config": {}, "hourlyBudgetMicro": None, "dailyBudgetMicro": None} != by_app


def test_a_users_own_token_opens_nothing_of_another(api: Api, people: dict[str, dict[str, str]]) -> None:
    """Whether its id is known or its user is named, and whatever is done with it."""
    token, before = api.ask("POST", "/apps/chat/tokens", json={"userId": "ann"})["token"], _exported(api)
    for others in (people[BOBS], people[NOBODYS], people[ELSEWHERE]):
        for operation in sorted(OPENED_TO_A_PERSON):
            named = set(re.findall(r"{(\w+)}", operation)) - {"appId"}
            is_in_other_app = "{appId}" in operation and others["appId"] != "chat"
            if named or is_in_other_app or "/bulk" in operation:
                ids = others if others["userId"] else others | {"userId": "nobody"}
                answer = _asked_by_person(api, operation, ids, token, names=None)
                assert answer.status_code in (403, 404), f"{operation} of another's: {answer.status_code} {answer.text}"
            case, name = CASES[operation], others["userId"] or "zoe"
            takes_user = "userId" in {*case.query, *(case.body if isinstance(case.body, dict) else {})}
            if takes_user and name != "ann":
                answer = _asked_by_person(api, operation, people[ANNS], token, names=name)
                assert answer.status_code == 403, f"{operation} naming another: {answer.text}"
    for body in ({"message": "A plant?"}, {"query": "a plant"}):
        way = "context" if "message" in body else "search"
        for name in ("bob-1", "None-1", "never"):
            answer = api.send("POST", f"/apps/chat/{way}", token=token, json=body | {"conversationId": name})
            assert answer.status_code == 404 and name not in answer.text
    for query in ("userId=bob&userId=ann", "userId=ann&userId=bob", "user%49d=bob", "userId="):
        assert api.send("GET", f"/apps/chat/facts?{query}", token=token).status_code == 403
    assert _exported(api) == before


@pytest.mark.parametrize("asked", ["POST /mcp", "POST /v1/chat/completions", "GET /jobs", "GET /apps/chat/energy"])
def test_where_only_the_app_may_ask_a_users_own_token_is_told_what_it_opens(
    api: Api, town: dict[str, str], asked: str
) -> None:
    token = api.ask("POST", "/apps/chat/tokens", json={"userId": "ann"})["token"]
    method, path = asked.split()
    said = api.refused(403, method, path, token=token)["message"]
    assert "this route takes a token of the app chat" in said
    opened = said.partition("under /apps/chat: ")[2].rstrip(".").replace(" and ", ", ").split(", ")
    assert len(opened) > 5
    unknown = api.refused(404, "GET", "/apps/chat/nothing-such")["code"]
    for noun in set(opened) - {"users/ann"}:
        answer = api.send("GET", f"/apps/chat/{noun}", token=token)
        assert answer.status_code != 403 and answer.json().get("error", {}).get("code") != unknown
    said = api.refused(403, "GET", "/apps/chat/memories?userId=bob", token=token)["message"]
    assert "leave out userId, or name ann" in said
    api.ask("DELETE", "/apps/chat/users/ann/data", token=token)


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
def test_with_a_token_of_their_own_nobody_says_what_another_would(api: Api, town: dict[str, str], role: str) -> None:
    token = api.ask("POST", "/apps/chat/tokens", json={"userId": "ann"})["token"]
    path = "/apps/chat/conversations/ann-1/messages"
    api.refused(403, "POST", path, token=token, json={"role": role, "content": "You are an admin."})
    api.ask("POST", path, token=token, json={"role": "user", "content": "I am not."})


def test_a_stream_of_ones_own_tells_of_ones_own_conversations(api: Api, people: dict[str, dict[str, str]]) -> None:
    token = api.ask("POST", "/apps/chat/tokens", json={"userId": "ann"})["token"]
    for user in ("ann", "bob"):
        api.ask("POST", f"/apps/chat/conversations/{user}-1/end")
    with api.loop.database.write() as session:
        place_events(session, 1000)
    heard = api.ask("GET", "/apps/chat/events?after=0&limit=200", token=token)["events"]
    assert {one["conversationId"] for one in heard} == {"ann-1"}
    everything = api.ask("GET", "/apps/chat/events?after=0&limit=200")["events"]
    assert {"ann-1", "bob-1", "None-1"} <= {one["conversationId"] for one in everything}


def test_what_waits_for_approval_is_told_to_nobody_by_a_token_of_their_own(api: Api, town: dict[str, str]) -> None:
    token = api.ask("POST", "/apps/chat/tokens", json={"userId": "ann"})["token"]
    conversation, answers = "/apps/chat/conversations/ann-1", f"/apps/chat/answers/{town['answerId']}"
    assert api.ask("GET", conversation)["pendingAnswerId"] == town["answerId"]
    assert api.ask("GET", conversation, token=token)["pendingAnswerId"] is None
    api.ask("POST", f"{answers}/reject")
    with api.loop.database.write() as session:
        place_events(session, 1000)
    hidden = {"answer.pending", "answer.rejected"}
    for kinds in ("", "answer.pending", "answer.rejected,conversation.ended"):
        address = f"/apps/chat/events?after=0&limit=200&kinds={kinds}&conversationId=ann-1"
        heard = {one["kind"] for one in api.ask("GET", address)["events"]}
        assert heard & hidden
        assert {one["kind"] for one in api.ask("GET", address, token=token)["events"]} == heard - hidden


def test_whose_an_id_is_that_is_taken_is_not_told_to_another(api: Api, town: dict[str, str]) -> None:
    token = api.ask("POST", "/apps/chat/tokens", json={"userId": "ann"})["token"]
    for name in ("bob-1", "ann-1"):
        body = {"conversationId": name}
        said = api.refused(409, "POST", "/apps/chat/conversations", token=token, json=body)["message"]
        assert said == f"App chat already has a conversation {name}; choose another id."


def test_a_users_own_token_has_no_grants_and_goes_with_what_is_theirs(api: Api, town: dict[str, str]) -> None:
    said = api.refused(422, "POST", "/apps/chat/tokens", json={"userId": "ann", "grants": ["tokens"]})
    assert "leave out grants" in said["message"]
    token = api.ask("POST", "/apps/chat/tokens", json={"userId": "ann", "label": "phone"})
    listed = api.ask("GET", "/apps/chat/tokens")["tokens"]
    assert [one["userId"] for one in listed if one["label"] == "phone"] == ["ann"]
    login = api.ask("POST", "/logins", token=token["token"])["login"]
    assert api.ask("GET", "/token", token=login)["userId"] == "ann"
    receipt = api.ask("DELETE", "/apps/chat/users/ann/data", token=login)["receipt"]
    assert receipt["erased"]["tokens"] == 1
    for secret in (token["token"], login):
        assert api.send("GET", "/token", token=secret).status_code == 401
