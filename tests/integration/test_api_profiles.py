"""Profiles and consent over HTTP and from the command line: refused without, erased with, and audited."""

from __future__ import annotations

from pathlib import Path

from tests.support.api import Api

CANARY = "quokka-canary"
CONSENT = "/api/memory/consent"
BODY = {
    "preferences": {"codingStyle": "functional", "preferredLanguages": ["Python", "Rust"]},
    "context": {"domain": CANARY},
    "freeformNotes": "Short answers.",
}


def consent(api: Api, given: bool, user_id: str = "ann", **more: object) -> dict[str, object]:
    body = {"appId": "chat", "userId": user_id, "consent": given}
    return dict(api.ask("PUT", CONSENT, json=body, **more))


def kinds(api: Api, path: str, **query: object) -> list[str]:
    return [line["kind"] for line in api.ask("GET", f"{path}/profile/audit", params=query)["audit"]]


def test_a_profile_is_refused_without_consent_and_kept_with_it(api: Api) -> None:
    path = api.install()
    ann = {"userId": "ann"}
    assert api.ask("GET", f"{path}/profile", params=ann) == {
        "appId": "chat", "userId": "ann", "consent": False, "profile": None,
    }  # fmt: skip
    error = api.refused(409, "PUT", f"{path}/profile", params=ann, json=BODY)
    assert error["code"] == "consent_missing" and CONSENT in error["message"]
    assert consent(api, True)["consent"] is True
    written = api.ask("PUT", f"{path}/profile", params=ann, json=BODY)["profile"]
    assert (written["preferences"]["preferredLanguages"], written["version"]) == (["Python", "Rust"], 1)
    assert api.ask("GET", f"{path}/profile", params=ann)["profile"] == written
    assert api.ask("GET", f"{path}/profile")["consent"] is False
    again = api.ask("PUT", f"{path}/profile", params=ann, json={"freeformNotes": "Only this."})["profile"]
    assert (again["freeformNotes"], again["context"]["domain"], again["version"]) == ("Only this.", None, 2)


def test_taking_consent_back_erases_the_profile_and_what_was_remembered_of_it(api: Api) -> None:
    path = api.install()
    consent(api, True)
    key = {"Idempotency-Key": "k1"}
    put = {"params": {"userId": "ann"}, "json": BODY}
    api.ask("PUT", f"{path}/profile", headers=key, **put)
    taken = consent(api, False)
    receipt = taken["receipt"]
    assert taken["consent"] is False and isinstance(receipt, dict)
    assert (receipt["scope"], receipt["erased"]["profiles"], receipt["left"]["profiles"]) == ("profile", 1, 0)
    assert receipt["erased"]["idempotencyKeys"] == 1 and receipt["left"]["databaseLog"] == 0
    assert api.ask("GET", f"{path}/profile", params={"userId": "ann"})["profile"] is None
    assert api.refused(409, "PUT", f"{path}/profile", headers=key, **put)["code"] == "erased"
    assert [one["scope"] for one in api.ask("GET", f"{path}/erasures")["erasures"]] == ["profile"]
    assert consent(api, False)["receipt"] is None
    consent(api, True)
    assert api.ask("GET", f"{path}/profile", params={"userId": "ann"})["profile"] is None, "agreeing again begins empty"
    consent(api, False)
    assert kinds(api, path) == ["revoked", "granted", "revoked", "written", "granted"]


def test_a_profile_can_be_erased_alone(api: Api) -> None:
    path = api.install()
    consent(api, True)
    api.ask("PUT", f"{path}/profile", params={"userId": "ann"}, json=BODY)
    erased = api.ask("DELETE", f"{path}/profile", params={"userId": "ann"})
    assert (erased["deletedCount"], erased["receipt"]["scope"]) == (1, "profile")
    assert api.ask("GET", f"{path}/profile", params={"userId": "ann"})["consent"] is True
    assert kinds(api, path, userId="ann") == ["erased", "written", "granted"]
    assert kinds(api, path, userId="bob") == []
    assert api.ask("PUT", f"{path}/profile", params={"userId": "ann"}, json=BODY)["profile"]["version"] == 1


def test_a_consent_never_said_is_none(api: Api) -> None:
    api.install()
    said = api.ask("GET", CONSENT, params={"appId": "chat", "userId": "ann"})
    assert (said["consent"], said["changedAt"]) == (False, None)
    consent(api, True)
    said = api.ask("GET", CONSENT, params={"appId": "chat", "userId": "ann"})
    assert (said["consent"], said["changedBy"]) == (True, "admin") and said["changedAt"] is not None
    api.refused(404, "GET", CONSENT, params={"appId": "nobody"})
    api.refused(404, "PUT", CONSENT, json={"appId": "nobody", "consent": True})


def test_an_apps_token_speaks_for_its_own_users_only(sqlite_api: Api) -> None:
    api = sqlite_api
    api.install()
    api.install("other")
    token = api.token("chat")
    assert consent(api, True, token=token)["changedBy"] != "admin"
    assert api.ask("GET", CONSENT, params={"appId": "chat", "userId": "ann"}, token=token)["consent"] is True
    for named in ({"appId": "other", "consent": True}, {"consent": True}, [], "chat", {"appId": ["chat"]}):
        assert api.refused(403, "PUT", CONSENT, token=token, json=named)["code"] == "denied"
    for named in ({"appId": "other"}, {}, {"appId": "nobody"}):
        assert api.refused(403, "GET", CONSENT, token=token, params=named)["code"] == "denied"
    smuggled = {"appId": "other", "consent": True}
    api.refused(403, "PUT", CONSENT, token=token, params={"appId": "chat"}, json=smuggled)
    doubled = b'{"appId": "chat", "appId": "other", "consent": true}'
    headers = {"content-type": "application/json"}
    api.refused(403, "PUT", CONSENT, token=token, content=doubled, headers=headers)
    api.refused(403, "PUT", CONSENT, token=token, content=b"appId=chat", headers={"content-type": "text/plain"})
    assert api.ask("GET", CONSENT, params={"appId": "other"})["consent"] is False


def test_the_audit_is_read_page_by_page_and_quotes_nothing(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    for _ in range(3):
        consent(api, True)
        api.ask("PUT", f"{path}/profile", params={"userId": "ann"}, json=BODY)
        consent(api, False)
    first = api.ask("GET", f"{path}/profile/audit", params={"limit": 5})
    rest = api.ask("GET", f"{path}/profile/audit", params={"limit": 5, "cursor": first["cursor"]})
    lines = [*first["audit"], *rest["audit"]]
    assert [line["kind"] for line in lines] == ["revoked", "written", "granted"] * 3 and rest["cursor"] is None
    assert CANARY not in str(lines)


def test_after_the_consent_is_gone_the_text_stands_nowhere_in_the_database(sqlite_api: Api, sqlite_url: str) -> None:
    api, path = sqlite_api, sqlite_api.install()
    consent(api, True)
    api.ask("PUT", f"{path}/profile", params={"userId": "ann"}, json=BODY)
    files = list(Path(sqlite_url.removeprefix("sqlite:///")).parent.glob("afterthought.db*"))
    assert any(CANARY.encode() in one.read_bytes() for one in files)
    consent(api, False)
    assert [one.name for one in files if one.exists() and CANARY.encode() in one.read_bytes()] == []
