"""Whatever a stranger sends, the answer is a clean refusal in the one shape of errors, and never a failure of ours."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loop.api.cursors import encode
from tests.support.api import ADMIN, Api, error_in, open_api
from tests.support.chance import examples

JSON = {"Content-Type": "application/json"}
_DEEP = b'{"appId":"a","name":"a","config":' + b'{"a":' * 90_000 + b"1" + b"}" * 90_001


BODIES: list[tuple[bytes, int]] = [
        (b"", 422),
        (b"{", 400),
        (b"not json", 400),
        (b"\xff\xfe{}", 400),
        (b'{"appId":"a","name":"a"} trailing', 400),
        (b'{"appId":"a","name":"\xed\xa0"}', 400),
        (b'{"appId":"a","name":"a\\u0000b"}', 422),
        (b'{"appId":"a","name":"a","config":{"a\\u0000":1}}', 422),
        (b'{"appId":"a","name":"a","config":{"x":NaN}}', 400),
        (b'{"appId":"a","name":"a","config":{"x":1e999}}', 400),
        (b'{"appId":"a","name":"a","config":{"x":%s}}' % (b"9" * 30), 422),
        (b'{"appId":"a","name":"a","config":{"x":%s}}' % (b"9" * 5000), 400),
        (b'{"appId":"a","name":"a","config":%s1%s}' % (b'{"a":' * 50, b"}" * 50), 422),
        (_DEEP, 400),
        (b"[" * 100_000, 400),
        (b"[]", 422),
        (b"null", 422),
        (b'"text"', 422),
        (b"5", 422),
        (b'{"appId":"a"}', 422),
        (b'{"appId":"a","name":"a","nmae":"b"}', 422),
        (b'{"appId":"../a","name":"a"}', 422),
        (b'{"appId":"a b","name":"a"}', 422),
        (b'{"appId":"","name":"a"}', 422),
        (b'{"appId":"%s","name":"a"}' % (b"a" * 101), 422),
        (b'{"appId":5,"name":"a"}', 422),
        (b'{"appId":"a","name":""}', 422),
        (b'{"appId":"a","name":"%s"}' % (b"a" * 201), 422),
        (b'{"appId":"a","name":"a","config":[]}', 422),
]  # fmt: skip


def test_a_body_that_is_not_right_is_refused(sqlite_api: Api) -> None:
    for body, status in BODIES:
        sqlite_api.refused(status, "POST", "/apps", content=body, headers=JSON)
    assert sqlite_api.ask("GET", "/apps")["apps"] == []


def test_many_fields_that_are_not_known_are_told_as_one(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    many = {f"k{number}": 0 for number in range(1000)}
    told = [("POST", "/apps", many), ("POST", f"{path}/import", many), ("POST", f"{path}/import", {"app": many})]
    for method, where, body in told:
        error = sqlite_api.refused(422, method, where, json=body)
        [one] = [one for one in error["details"]["fields"] if "can be known" in one["problem"]]
        assert "k0 is not" in one["problem"], error


def test_of_many_wrong_parts_of_an_archive_the_first_is_told(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    archive = sqlite_api.ask("GET", f"{path}/export") | {"facts": [{}] * 1000, "memories": [0] * 1000}
    error = sqlite_api.refused(422, "POST", f"{path}/import", json=archive)
    places = {".".join(one["field"].split(".")[:2]) for one in error["details"]["fields"]}
    assert places == {"facts.0", "memories.0"}


@pytest.mark.parametrize(("part", "field"), [("history", "memoryId"), ("factHistory", "factId")])
def test_what_a_text_was_before_is_no_longer_than_a_text(sqlite_api: Api, part: str, field: str) -> None:
    path = sqlite_api.install()
    archive = sqlite_api.ask("GET", f"{path}/export")
    archive[part] = [{"before": "x" * 4001}]
    error = sqlite_api.refused(422, "POST", f"{path}/import", json=archive)
    assert f"{part}.0.before" in {one["field"] for one in error["details"]["fields"]}


def test_a_body_of_more_values_than_a_text_would_have_is_refused(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    most = 8_000_000 // 16
    for values in (b"0," * most, b"[]," * (most // 2), b'{"a\\"b":0},' * (most // 2)):
        error = sqlite_api.refused(413, "POST", "/apps", content=b'{"config":[' + values + b"0]}", headers=JSON)
        assert (error["code"], error["details"]) == ("too_large", {"limit": most})
    error = sqlite_api.refused(413, "POST", f"{path}/import", content=b"[" + b"0," * (8 * most) + b"0]", headers=JSON)
    assert error["details"] == {"limit": 8 * most}


def test_marks_within_texts_are_no_values(sqlite_api: Api) -> None:
    conversation = sqlite_api.converse(sqlite_api.install(), "c1")
    said = [{"role": "user", "content": text} for text in (",[{" * 66_000, '\\",' * 66_000, '",[\\' * 50_000)] * 2
    sqlite_api.ask("POST", f"{conversation}/messages", json={"messages": said})
    assert sqlite_api.ask("GET", conversation)["messageCount"] == 6


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (rb"\ud83d", "\ufffd"), (rb"\uDE00", "\ufffd"), (b"\xed\xa0\xbd", "\ufffd"), (rb"\ud83d\ude00", "\U0001f600"),
        (b"\xed\xa0\xbd\xed\xb8\x80", "\U0001f600"), (rb"\ud83d \\\ude00", "\ufffd \\\ufffd"),
    ],
    ids=["high", "low", "bytes", "both", "both as bytes", "beside a backslash"],
)  # fmt: skip
def test_half_a_character_is_kept_as_the_replacement_character(sqlite_api: Api, written: bytes, kept: str) -> None:
    body = b'{"appId":"a","name":"a","config":{"%s":["%s"]}}' % (written, written)
    installed = sqlite_api.ask("POST", "/apps", content=body, headers=JSON)
    assert installed["config"] == {kept: [kept]}


def test_a_backslash_before_u0000_is_a_text_and_kept(api: Api) -> None:
    path = api.install()
    api.ask("POST", f"{path}/memories", content=b'{"content":"a\\\\u0000b"}', headers=JSON)
    assert api.contents(path) == ["a\\u0000b"]


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", None], ids=str)
def test_a_body_of_another_kind_is_refused_with_what_to_do(sqlite_api: Api, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    error = sqlite_api.refused(422, "POST", "/apps", content=b'{"appId":"a","name":"a"}', headers=headers)
    assert "application/json" in error["message"]


@pytest.mark.parametrize("announced", [True, False], ids=["with a length", "without a length"])
def test_a_body_that_is_too_large_is_refused(sqlite_api: Api, announced: bool) -> None:
    part = b'{"appId":"a","name":"' + b"a" * 1_000_000
    content: Any = part * 9 if announced else (part for _ in range(9))
    error = sqlite_api.refused(413, "POST", "/apps", content=content, headers=JSON)
    assert (error["code"], error["details"]) == ("too_large", {"limit": 8_000_000})


MESSAGES: list[tuple[dict[str, Any], int]] = [
        ({}, 422),
        ({"role": "robot", "content": "x"}, 422),
        ({"role": "user"}, 422),
        ({"role": "user", "content": None}, 422),
        ({"role": "user", "content": 5}, 422),
        ({"role": "user", "content": "x" * 200_001}, 413),
        ({"role": "user", "content": "x", "createdAt": "2026-01-01T00:00:00"}, 422),
        ({"role": "user", "content": "x", "createdAt": "yesterday"}, 422),
        ({"role": "user", "content": "x", "createdAt": 1767225600}, 422),
        ({"role": "user", "content": "x", "createdAt": "1767225600"}, 422),
        ({"role": "user", "content": "x", "createdAt": "0001-01-01T00:00:00+14:00"}, 422),
        ({"role": "user", "content": "x", "createdAt": "9999-12-31T23:59:59-14:00"}, 422),
        ({"role": "user", "content": "x", "messageId": "a\nb"}, 422),
        ({"role": "user", "content": "x", "messageId": "m\n"}, 422),
        ({"messages": []}, 422),
        ({"messages": [{"role": "user", "content": "x"}] * 1001}, 422),
        ({"messages": {"role": "user", "content": "x"}}, 422),
        ({"messages": [{"role": "user", "content": "x"}], "role": "user"}, 422),
]  # fmt: skip


def test_a_message_that_is_not_right_is_refused_and_none_is_stored(sqlite_api: Api) -> None:
    conversation = sqlite_api.converse(sqlite_api.install(), "c1")
    for message, status in MESSAGES:
        sqlite_api.refused(status, "POST", f"{conversation}/messages", json=message)
    assert sqlite_api.ask("GET", conversation)["messageCount"] == 0


WRONG: dict[str, list[Any]] = {
    "POST /apps/chat/conversations/c1/snooze": [{"minutes": one} for one in (0, 1441, -1, "5", 1.5, None, True)],
    "PATCH /apps/chat": [{"weight": 0}, {"weight": 101}, {"weight": 1.5}, {"answeredBy": "nobody"},
                         {"approveAnswers": "yes"}],
    "POST /apps/chat/facts": [
        {}, {"fact": ""}, {"fact": "x" * 501}, {"fact": " \u200b "}, {"fact": 7}, {"fact": "x", "category": "other"},
        {"fact": "x", "unknown": 1}, {"fact": "x", "userId": ""}, {"fact": "x", "pinned": "yes"}],
    "POST /apps/chat/facts/bulk": [
        {"action": "move", "ids": [1]}, {"action": "delete", "ids": [1], "category": "project"},
        {"action": "delete", "ids": []}, {"action": "delete", "ids": [1, 1]}, {"action": "burn", "ids": [1]},
        {"action": "delete", "ids": list(range(1, 152))}],
    "PUT /apps/chat/profile?userId=ann": [
        {"preferences": {"codingStyle": "x" * 501}}, {"preferences": {"preferredLanguages": ["x"] * 31}},
        {"preferences": {"preferredLanguages": ["x" * 101]}}, {"freeformNotes": "x" * 10_001},
        {"preferences": {"colour": "red"}}, {"notes": "x"}],
    "POST /apps/chat/context": [{"contextWindow": one} for one in (0, -1, "8192", 10**9)],
    "POST /apps/chat/search": [
        {}, {"query": ""}, {"query": "x" * 4001}, *({"query": "x", "limit": one} for one in (0, 201, "ten")),
        {"query": "x", "filters": {"roles": []}}, {"query": "x", "filters": {"kinds": ["song"]}},
        {"query": "x", "filters": {"since": "2026-01-01T00:00:00"}}, {"query": "x", "filters": {"colour": "blue"}},
        {"query": "x", "appId": "other"}],
    "POST /api/memory/sessions/search?appId=chat": [
        {}, {"limit": 3}, {"text": ""}, {"files": []}, {"text": "x", "limit": 0}, {"text": "x", "more": 1},
        {"keepitWeight": {"min": 2}}, {"text": "x", "cursor": "nonsense"}, {"text": "x", "kinds": ["other"]}],
    "POST /jobs/replay": [{"app_id": "chat"}, {"cursor": "nonsense"}],
    **{f"GET /api/memory/metrics?hours={one}": [None] for one in ("0", "nan", "8761", "many")},
    **{f"GET /apps/chat/compactions?days={one}": [None] for one in ("0", "366", "x")},
    **{f"GET /apps/chat/events?{one}": [None] for one in (
        "kinds=memory.made", "after=-1", "after=x", "wait=61", "wait=-1", "limit=0", "conversationId=a%0Ab")},
}  # fmt: skip


def test_what_a_noun_does_not_take_is_refused(sqlite_api: Api) -> None:
    sqlite_api.converse(sqlite_api.install(), "c1")
    for operation, bodies in WRONG.items():
        for body in bodies:
            answer = sqlite_api.send(*operation.split(), **({} if body is None else {"json": body}))
            assert answer.status_code == 422 and error_in(answer), (operation, body, answer.text)
    assert sqlite_api.ask("GET", "/apps/chat/facts")["facts"] == []


def test_nothing_is_found_of_an_app_that_is_not_there(sqlite_api: Api) -> None:
    paths = sqlite_api.client.get("/openapi.json").json()["paths"]
    asked = [
        (method.upper(), path) for path, item in paths.items() if path.startswith("/apps/{appId}") for method in item
    ]
    for method, path in asked:
        for name, known in (_IDS | {"appId": "nobody", "factId": "1", "userId": "ann"}).items():
            path = path.replace("{" + name + "}", known)
        body = {"conversationId": "c1"} if path.endswith("/conversations") and method == "POST" else None
        status = sqlite_api.send(method, path, json=body).status_code
        # What asks for more than a body of nothing says so first.
        assert status == 404 or (status == 422 and method not in ("GET", "DELETE")), (method, path, status)


_LISTINGS = (
    "/apps", "/apps/chat/tokens", "/apps/chat/erasures", "/apps/chat/memories", "/apps/chat/memories/changes",
    "/apps/chat/conversations", "/apps/chat/conversations/c1/messages", "/apps/chat/memories/1/history", "/jobs",
)  # fmt: skip


def test_a_limit_is_1_to_200(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    sqlite_api.converse(path, "c1")
    sqlite_api.remember(path, "Likes tea.")
    limits = ("-1", "0", "201", "999999", "text", "1.5", "", "9" * 30)
    for listing, limit in itertools.product(_LISTINGS, limits):
        error = sqlite_api.refused(422, "GET", listing, params={"limit": limit})
        assert error["details"]["fields"][0]["field"] == "limit", listing
        assert sqlite_api.send("GET", listing, params={"limit": "200"}).status_code == 200


def test_a_cursor_that_no_listing_gave_is_refused(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    sqlite_api.converse(path, "c1")
    listings = [one for one in _LISTINGS if not one.endswith(("/memories", "/history"))]
    made_up = (encode("other", 1), encode("jobs", "x"), encode("jobs", -1), encode("jobs", 2**70))
    for listing, cursor in itertools.product(listings, ("!", "a", "YWJj", "\u00e9", *made_up)):
        sqlite_api.refused(422, "GET", listing, params={"cursor": cursor})


ADDRESSES: list[tuple[str, int]] = [
    ("/apps/chat%00", 422),
    ("/apps?cursor=%00", 422),
    ("/apps/chat/memories/0", 422),
    ("/apps/chat/memories/-1", 422),
    ("/apps/chat/memories/x", 422),
    (f"/apps/chat/memories/{2**63}", 422),
    (f"/apps/chat/memories/{'9' * 5000}", 422),
    ("/apps/%ff", 422),
    ("/apps/" + "a" * 101, 422),
    ("/apps/chat/memories/1", 404),
    ("/apps/none", 404),
    ("/apps/", 404),
    ("/nowhere", 404),
    ("/jobs/job_none", 404),
    ("/jobs?state=unknown", 422),
    ("/jobs?kind=unknown", 422),
    ("/jobs?appId=a%20b", 422),
    ("/docs/none", 404),
]


def test_an_address_that_is_not_right_is_refused(sqlite_api: Api) -> None:
    sqlite_api.install()
    for path, status in ADDRESSES:
        sqlite_api.refused(status, "GET", path)


def test_a_method_that_a_route_does_not_take_is_refused(sqlite_api: Api) -> None:
    answer = sqlite_api.send("PUT", "/apps")
    assert answer.status_code == 405 and error_in(answer)["code"] == "method_not_allowed"
    assert answer.headers["allow"]


def test_an_error_nobody_expected_is_logged_and_shows_nothing_of_itself(
    sqlite_api: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(type(sqlite_api.loop.regulator), "reading", lambda *_: 1 / 0)
    error = sqlite_api.refused(500, "GET", "/energy")
    assert error["code"] == "internal" and "division" not in json.dumps(error)
    logged = "".join(capsys.readouterr())
    assert "ZeroDivisionError" in logged
    counted = sqlite_api.loop.metrics.http_requests.labels("/energy", "GET", "5xx")
    assert counted._value.get() == 1


@pytest.fixture(scope="module")
def fuzzed(sqlite_template: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One interface for all examples, with something in it."""
    folder = tmp_path_factory.mktemp("fuzz")
    for part in sqlite_template.parent.iterdir():
        (folder / part.name).write_bytes(part.read_bytes())
    with open_api(f"sqlite:///{folder / sqlite_template.name}", folder / "home") as api:
        api.loop.hub.close()  # so that streams end
        api.converse(api.install(), "c1", "Hello.")
        api.remember("/apps/chat", "Likes tea.")
        yield api


_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(max_size=20),
        st.sampled_from(["chat", "c1", "user", "2026-01-01T00:00:00Z", "m1", "1", "\0", "\ud800"]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_IDS = {"appId": "chat", "conversationId": "c1", "memoryId": "1", "jobId": "job_1", "tokenId": "tok_1",
        "webhookId": "wh_1", "answerId": "ans_1", "projectId": "p1", "sessionId": "s1", "markerId": "k1"}  # fmt: skip


def _body(data: st.DataObject, schema: dict[str, Any], parts: dict[str, Any]) -> Any:
    """Draw a body that has the fields of a schema, some right and some wrong."""
    while "$ref" in schema:
        schema = parts[schema["$ref"].rsplit("/", 1)[-1]]
    for way in ("anyOf", "oneOf"):
        if way in schema:
            return _body(data, data.draw(st.sampled_from(schema[way])), parts)
    if "properties" not in schema:
        return data.draw(_VALUES)
    drawn = {}
    for name, inner in schema["properties"].items():
        if name in schema.get("required", ()) or data.draw(st.booleans()):
            drawn[name] = _fitting(data, inner) if data.draw(st.integers(0, 3)) else data.draw(_VALUES)
    return drawn


def _fitting(data: st.DataObject, schema: dict[str, Any]) -> Any:
    kinds = [one.get("type") for one in schema.get("anyOf", [schema])]
    by_kind: dict[Any, st.SearchStrategy[Any]] = {
        "string": st.sampled_from(["chat", "user", "c1", "text", "é" * 200, "2026-01-01T00:00:00+01:00"]),
        "integer": st.integers(-1, 2**64),
        "number": st.floats(-1, 1e13),
        "boolean": st.booleans(),
        "object": st.dictionaries(st.text(max_size=5), _VALUES, max_size=3),
        "array": st.lists(_VALUES, max_size=3),
        "null": st.none(),
    }
    return data.draw(by_kind.get(data.draw(st.sampled_from(kinds)), _VALUES))


@settings(max_examples=examples(300), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_request_makes_the_server_fail_or_answer_out_of_contract(fuzzed: Api, data: st.DataObject) -> None:
    schema = fuzzed.client.app.openapi()  # type: ignore[attr-defined]
    path, method = data.draw(
        st.sampled_from([(path, method) for path, item in schema["paths"].items() for method in item])
    )
    operation = schema["paths"][path][method]
    address = path
    for name, known in _IDS.items():
        address = address.replace("{" + name + "}", data.draw(st.sampled_from([known, known, "none", "%20", "9" * 25])))
    params = {
        one["name"]: data.draw(st.sampled_from(["1", "chat", "true", "-1", "x y", "é"]))
        for one in operation.get("parameters", ())
        if one["in"] == "query" and data.draw(st.booleans())
    }
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    content = None if body is None else json.dumps(_body(data, body, schema["components"]["schemas"])).encode()
    headers = {"Authorization": f"Bearer {ADMIN}"} | (JSON if content is not None else {})
    answer = fuzzed.client.request(method, address, params=params, content=content, headers=headers)
    assert answer.status_code < 500 or address in {"/health/ready"}, (method, address, content, answer.text)
    assert str(answer.status_code) in operation["responses"], (method, address, answer.status_code, answer.text)
    if 400 <= answer.status_code < 500:
        error_in(answer)


TAKEN = {
    "telegram group": "-1001234567890",
    "phone": "+491700000000",
    "matrix": "!room:matrix.example",
    "slashes": "team/alpha/1",
    "slash in front": "/x/",
    "spaces": "my talk (2)",
    "hash and query": "a#b?c=d&e",
    "per cent": "100%25/%2F",
    "letters": "größe-東京",
    "dots": "a..b/.c",
    "longest": "x" * 200,
    "emoji": "👩‍👩‍👧",
    "backslash": "a\\b",
}
REFUSED = {
    "control": ("a\nb", "control character"),
    "delete": ("a\x7fb", "control character"),
    "dot": (".", "addresses cannot name it"),
    "dots": ("a/../b", "addresses cannot name it"),
    "unread": ("Ana \ufffd", "could not be read"),
    "empty": ("", "at least 1 character"),
    "too long": ("x" * 201, "at most 200 characters"),
}


def by_header(api: Api, header: str, given: str) -> tuple[int, str]:
    asked = {"model": "none", "messages": [{"role": "user", "content": "Hello."}]}
    headers: Any = {"X-App-Id": "chat", header: given.encode()}
    answer = api.send("POST", "/v1/chat/completions", json=asked, headers=headers)
    return answer.status_code, answer.json()["error"]["message"]


@pytest.mark.parametrize("given", TAKEN.values(), ids=TAKEN)
def test_an_id_of_another_service_names_a_conversation_and_a_message_everywhere(api: Api, given: str) -> None:
    api.ask("POST", "/apps", json={"appId": "chat", "name": "Chat"})
    other = api.ask("POST", "/apps/chat/conversations", json={"conversationId": "team", "userId": given})
    assert other["userId"] == given
    opened = api.ask("POST", "/apps/chat/conversations", json={"conversationId": given})
    assert opened["conversationId"] == given
    path = f"/apps/chat/conversations/{quote(given, safe='')}"
    said = [{"role": "user", "content": f"Note {n}.", "messageId": given if n == 1 else f"m{n}"} for n in range(3)]
    api.ask("POST", f"{path}/messages", json={"messages": said})
    around = api.ask("GET", f"{path}/messages", params={"around": given, "limit": 1})["messages"]
    assert [(one["messageId"], one["content"]) for one in around] == [(given, "Note 1.")]
    assert api.ask("GET", path)["messageCount"] == 3
    assert api.ask("POST", "/apps/chat/context", json={"conversationId": given})["messages"]
    assert api.ask("GET", f"{path}/summaries")["summaries"] == []
    ended = api.ask("POST", f"{path}/end")
    assert ended["conversationId"] == given
    assert {one["conversationId"] for one in ended["jobs"]} == {given}
    erased = api.ask("DELETE", path)
    assert erased["deletedCount"] >= 3
    api.refused(404, "GET", path)
    api.ask("DELETE", f"/apps/chat/users/{quote(given, safe='')}/data")
    assert api.ask("GET", "/apps/chat/conversations")["conversations"] == []


@pytest.mark.parametrize(("given", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_id_is_refused_in_words(api: Api, given: str, why: str) -> None:
    api.ask("POST", "/apps", json={"appId": "chat", "name": "Chat"})
    for body, path in (({"conversationId": given}, "conversations"), ({"userId": given}, "conversations"),
                       ({"userId": given, "content": "x"}, "memories"), ({"userId": given, "fact": "x"}, "facts"),
                       ({"userId": given, "message": "x"}, "context")):  # fmt: skip
        assert why in api.refused(422, "POST", f"/apps/chat/{path}", json=body)["message"]
    said = {"role": "user", "content": "Hello.", "messageId": given}
    api.ask("POST", "/apps/chat/conversations", json={"conversationId": "c1"})
    assert why in api.refused(422, "POST", "/apps/chat/conversations/c1/messages", json=said)["message"]
    if given:
        for path in ("facts", "memories", "conversations", "export", "profile", "profile/audit", "messages"):
            path = "conversations/c1/messages" if path == "messages" else path
            query = {"around" if path.endswith("messages") else "userId": given}
            assert why in api.refused(422, "GET", f"/apps/chat/{path}", params=query)["message"]
        assert why in by_header(api, "X-User-Id", given)[1]
    assert why in by_header(api, "X-Conversation-Id", given)[1]
    for method, path in (("POST", "/apps"), ("GET", "/jobs/%21"), ("GET", "/api/memory/sessions/a%20b?appId=chat")):
        refused = api.refused(422, method, path, json={"appId": "a b", "name": "x"} if method == "POST" else None)
        assert "letters" in refused["message"] and "^" not in refused["message"]


@pytest.mark.parametrize("odd", ["\u3000", "\u2003", "\u00a0", "\u2028", "\u1680", "\u0085"], ids=ascii)
def test_only_what_http_strips_is_stripped_from_a_header(api: Api, odd: str) -> None:
    api.ask("POST", "/apps", json={"appId": "chat", "name": "Chat"})
    for name in (f"bob{odd}", f"{odd}bob", odd):
        taken = api.send("POST", "/apps/chat/facts", json={"fact": "Keeps bees", "userId": name}).is_success
        assert taken is (odd != "\u0085")
        status, message = by_header(api, "X-User-Id", f" \t{name} ")
        assert (status, "control" in message) == ((404, False) if taken else (422, True)), message
    for one in api.ask("GET", "/apps/chat/users")["users"]:
        assert one["userId"] is None or odd in one["userId"]


def test_names_that_cannot_be_read_do_not_become_one(api: Api) -> None:
    api.ask("POST", "/apps", json={"appId": "chat", "name": "Chat"})
    json = {"Content-Type": "application/json"}
    for odd in (rb"\ud83e", rb"\udd16", b"\xed\xa0\xbe"):
        for path, body in (("facts", b'{"fact": "Bees", "userId": "Ana %s"}'), ("conversations", b'{"userId": "%s"}')):
            refused = api.refused(422, "POST", f"/apps/chat/{path}", content=body % odd, headers=json)
            assert "userId: holds a character that could not be read" in refused["message"]
    for odd in ("Andr%e9", "Andr%E8", "%ED%A0%BE", "100%25%e9"):
        for path in (f"conversations/{odd}", f"facts?userId={odd}", f"conversations?userId={odd}"):
            assert "encode it as UTF-8" in api.refused(422, "GET", f"/apps/chat/{path}")["message"]
        assert "UTF-8" in api.refused(422, "DELETE", f"/apps/chat/users/{odd}/data")["message"]
    assert api.ask("GET", "/apps/chat/users")["users"] == []
