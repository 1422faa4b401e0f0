"""Apps, their tokens and their receipts over HTTP."""

from __future__ import annotations

import pytest

from tests.support.api import Api


def test_an_app_is_installed_shown_and_listed(api: Api) -> None:
    made = api.ask("POST", "/apps", 201, json={"appId": "chat", "name": "Chat", "config": {"colour": ["blue"]}})
    assert made["config"] == {"colour": ["blue"]}
    shown = api.ask("GET", "/apps/chat")
    assert shown == made | {"memories": 0, "openConversations": 0, "endedConversations": 0}
    assert api.ask("GET", "/apps") == {"apps": [made], "cursor": None}


def test_installing_an_app_twice_is_a_conflict_that_names_it(api: Api) -> None:
    api.install("chat")
    error = api.refused(409, "POST", "/apps", json={"appId": "chat", "name": "Again"})
    assert (error["code"], error["message"]) == ("already_installed", "App chat is already installed")


def test_a_listing_is_walked_with_its_cursor_and_shows_each_app_once(api: Api) -> None:
    names = [api.install(f"app{i}").removeprefix("/apps/") for i in range(5)]
    seen, cursor = [], None
    while True:
        params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = api.ask("GET", "/apps", params=params)
        seen += [app["appId"] for app in page["apps"]]
        if (cursor := page["cursor"]) is None:
            break
    assert seen == names


def test_a_change_leaves_what_it_does_not_name(api: Api) -> None:
    path = api.install()
    api.ask("PATCH", path, json={"hourlyBudget": 25.5, "dailyBudget": 0})
    changed = api.ask("PATCH", path, json={"name": "Talk", "dailyBudget": None})
    assert (changed["name"], changed["hourlyBudget"], changed["dailyBudget"]) == ("Talk", 25.5, None)


@pytest.mark.parametrize("field", ["hourlyBudget", "dailyBudget"])
def test_a_budget_is_a_number_of_units_or_none(api: Api, field: str) -> None:
    path = api.install()
    for budget in (50, 0, None, 25.5, 1_000_000):
        assert api.ask("PATCH", path, json={field: budget})[field] == budget
        assert api.ask("GET", f"{path}/energy")[field] == budget
    for wrong in (-10, "invalid", "5", True, 1e300, [1]):
        error = api.refused(422, "PATCH", path, json={field: wrong})
        assert error["details"]["fields"][0]["field"] == field, wrong


def test_an_app_cannot_lift_its_own_budget(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    token = sqlite_api.token()
    sqlite_api.refused(403, "PATCH", path, token=token, json={"hourlyBudget": None})
    assert sqlite_api.send("PATCH", path, token=token, json={"name": "Mine"}).json()["name"] == "Mine"


def test_uninstalling_keeps_memories_and_installing_again_finds_them(api: Api) -> None:
    path = api.install()
    token = api.token()
    api.remember(path, "Likes tea.")
    assert api.ask("DELETE", path) == {
        "success": True, "appId": "chat", "memoriesKept": 1, "deletedCount": 0, "receipt": None, "note": None,
    }  # fmt: skip
    api.refused(401, "GET", f"{path}/memories", token=token)
    assert api.contents(path) == ["Likes tea."]
    assert api.refused(409, "POST", f"{path}/conversations")["code"] == "app_uninstalled"
    api.install()
    assert api.contents(path) == ["Likes tea."]


def test_uninstalling_with_a_purge_leaves_no_memory(api: Api) -> None:
    path = api.install()
    api.remember(path, "Likes tea.", "Likes jazz.")
    gone = api.ask("DELETE", path, params={"purgeMemories": "true"})
    assert (gone["deletedCount"], gone["memoriesKept"], gone["receipt"]["left"]["memories"]) == (2, 0, 0)
    assert (gone["note"], gone["receipt"]["left"]["databaseLog"]) == (None, 0)
    assert api.ask("GET", f"{path}/erasures")["erasures"] == [gone["receipt"]]
    assert api.contents(path) == []


def test_a_token_is_shown_once_opens_its_app_and_can_be_revoked(api: Api) -> None:
    path = api.install()
    issued = api.ask("POST", f"{path}/tokens", 201, json={"label": "phone"})
    assert api.send("GET", path, token=issued["token"]).status_code == 200
    [listed] = api.ask("GET", f"{path}/tokens")["tokens"]
    assert listed == {k: issued[k] for k in listed} and "token" not in listed
    api.ask("DELETE", f"{path}/tokens/{issued['tokenId']}")
    api.refused(401, "GET", path, token=issued["token"])
    assert api.ask("GET", f"{path}/tokens")["tokens"][0]["revokedAt"] is not None
    api.refused(404, "DELETE", f"{path}/tokens/unknown")


def test_an_apps_token_cannot_be_revoked_by_way_of_another_app(sqlite_api: Api) -> None:
    path, other = sqlite_api.install(), sqlite_api.install("email")
    issued = sqlite_api.ask("POST", f"{path}/tokens", 201)
    sqlite_api.refused(404, "DELETE", f"{other}/tokens/{issued['tokenId']}")
    assert sqlite_api.send("GET", path, token=issued["token"]).status_code == 200


def test_receipts_are_kept_and_listed_newest_first(api: Api) -> None:
    path = api.install()
    first = api.ask("DELETE", f"{path}/memories")["receipt"]
    api.clock.advance(1)
    second = api.ask("DELETE", f"{path}/data")["receipt"]
    assert api.ask("GET", f"{path}/erasures")["erasures"] == [second, first]
