"""What an app's token may do only if it was made for it, and what becomes of the tokens it issued."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.api import Api

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
