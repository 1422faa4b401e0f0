"""Apps, their tokens and their receipts over HTTP."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.support.api import Api


def test_an_app_is_installed_shown_and_listed(api: Api) -> None:
    made = api.ask("POST", "/apps", 201, json={"appId": "chat", "name": "Chat", "config": {"colour": ["blue"]}})
    assert made["config"] == {"colour": ["blue"]}
    shown = api.ask("GET", "/apps/chat")
    assert shown == made | {"memories": 0, "openConversations": 0, "endedConversations": 0, "loopAnswers": False}
    assert api.ask("GET", "/apps") == {"apps": [made | {"holds": None}], "cursor": None}


def test_a_listing_counts_what_each_app_holds_where_that_is_asked_for(api: Api) -> None:
    path, other = api.install("chat"), api.install("diary")
    for user in ("ada", "bob"):
        say(api, path, user, "I keep a quillwort.")
    api.ask("POST", f"{path}/facts", json={"fact": "Keeps a quillwort.", "userId": "cleo"})
    api.remember(path, "Keeps a quillwort.", userId="ada")
    api.remember(other, "Of nobody.")
    chat, diary = (one["holds"] for one in api.ask("GET", "/apps", params={"counted": True})["apps"])
    last = max(one["lastActiveAt"] or "" for one in api.ask("GET", f"{path}/users")["users"])
    assert chat == {"users": 3, "conversations": 2, "memories": 1, "pendingAnswers": 0, "lastActiveAt": last}
    assert diary == {"users": 0, "conversations": 0, "memories": 1, "pendingAnswers": 0, "lastActiveAt": None}


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


CANARY = "zyzzogeton"


def say(api: Api, path: str, user: str | None, *said: str) -> str:
    """Open a conversation of a user, say something, and return its path."""
    opened = api.ask("POST", f"{path}/conversations", json={"userId": user} if user else {})
    whole = f"{path}/conversations/{opened['conversationId']}"
    api.ask("POST", f"{whole}/messages", json={"messages": [{"role": "user", "content": one} for one in said]})
    return whole


def test_a_listing_of_all_memories_goes_on_where_a_page_ended(api: Api) -> None:
    path = api.install()
    for user in ("ann", "bob", "carl"):
        api.remember(path, *(f"{user} {i}" for i in range(4)), userId=user)
    seen, cursor = [], None
    while True:
        page = api.ask("GET", f"{path}/memories", params={"limit": 5} | ({"cursor": cursor} if cursor else {}))
        seen += [one["content"] for one in page["memories"]]
        if (cursor := page["cursor"]) is None:
            break
    assert seen == [f"{user} {i}" for user in ("carl", "bob", "ann") for i in (3, 2, 1, 0)]
    for bad in ("nonsense", "bWVtb3JpZXN8MjAyNiAx"):
        assert "cursor" in api.refused(422, "GET", f"{path}/memories?cursor={bad}")["message"]


def test_each_user_has_ten_places(api: Api) -> None:
    path = api.install()
    api.remember(path, *(f"Ann's {i}" for i in range(10)), userId="ann")
    api.remember(path, *(f"Bob's {i}" for i in range(10)), userId="bob")
    made = api.ask("POST", f"{path}/memories", json={"content": "Ann's 10", "userId": "ann"})
    assert [room["outcome"] for room in made["madeRoom"]] == ["least_went"]
    assert len(api.ask("GET", f"{path}/memories?userId=bob")["memories"]) == 10


def test_users_are_listed_with_how_much_there_is_of_them(api: Api) -> None:
    path = api.install()
    say(api, path, "ann", "I like tea.", "Really.")
    say(api, path, "bob", "I like coffee.")
    say(api, path, None, "Hello.")
    api.remember(path, "Dana sails.", userId="dana/of the sea")
    api.ask("POST", f"{path}/facts", json={"fact": "Sails", "userId": "dana/of the sea"})
    users = api.ask("GET", f"{path}/users")["users"]
    counts = {one["userId"]: (one["conversations"], one["messages"], one["memories"], one["facts"]) for one in users}
    assert counts == {None: (1, 1, 0, 0), "ann": (1, 2, 0, 0), "bob": (1, 1, 0, 0), "dana/of the sea": (0, 0, 1, 1)}
    assert users[0]["lastActiveAt"] and users[-1]["lastActiveAt"] is None
    names, cursor = [], None
    for _ in range(4):
        page = api.ask("GET", f"{path}/users", params={"limit": 1} | ({"cursor": cursor} if cursor else {}))
        names, cursor = [*names, page["users"][0]["userId"]], page["cursor"]
    assert names == [None, "ann", "bob", "dana/of the sea"] and cursor is None
    found = api.ask("GET", f"{path}/users", params={"search": "A/OF"})["users"]
    assert [one["userId"] for one in found] == ["dana/of the sea"]
    assert api.ask("GET", f"{path}/users", params={"search": "_"})["users"] == []
    assert [api.ask("GET", f"{path}/users/{quote(one['userId'], safe='')}") for one in users[1:]] == users[1:]
    assert "nobody" in api.refused(404, "GET", f"{path}/users/nobody")["message"]
    api.refused(404, "GET", "/apps/nowhere/users")


@pytest.mark.parametrize("user", ["ann", "a b?c#d%/データ"])
def test_a_user_is_erased_with_a_receipt_and_the_others_stay(api: Api, user: str) -> None:
    path = api.install()
    for name, word in ((user, CANARY), ("bob", "quillwort")):
        say(api, path, name, f"I keep a {word}.")
        api.remember(path, f"Keeps a {word}.", userId=name)
        api.ask("POST", f"{path}/facts", json={"fact": f"Keeps a {word}", "userId": name})
        api.ask("PUT", "/api/memory/consent", json={"appId": "chat", "userId": name, "consent": True})
    erased = api.send("DELETE", str(api.client.base_url.join(f"{path}/users/{quote(user, safe='')}/data"))).json()
    receipt = erased["receipt"]
    assert (receipt["scope"], receipt["userId"]) == ("user", user)
    left = {store: count for store, count in receipt["left"].items() if count}
    assert not left and erased["deletedCount"] == 4, (left, receipt)
    everything = api.send("GET", f"{path}/export").text
    assert CANARY not in everything and everything.count("quillwort") >= 4
    assert [one["userId"] for one in api.ask("GET", f"{path}/users")["users"]] == ["bob"]
    [kept] = api.ask("GET", f"{path}/erasures")["erasures"]
    assert kept["receiptId"] == receipt["receiptId"]


def test_a_purge_of_one_users_memories_says_what_else_remembers_them(api: Api) -> None:
    path = api.install()
    say(api, path, "ann", "I like tea.", "Really.")
    say(api, path, "bob", "I like coffee.")
    api.ask("POST", f"{path}/facts", json={"fact": "Likes tea", "userId": "ann"})
    api.remember(path, "Ann's.", userId="ann")
    api.remember(path, "Bob's.", userId="bob")
    purged = api.ask("DELETE", f"{path}/memories?userId=ann")
    assert (purged["deletedCount"], purged["receipt"]["userId"]) == (1, "ann")
    still = purged["stillRemembered"]
    assert (still["facts"], still["messages"], still["summaries"]) == (1, 2, 0)
    assert "/apps/chat/users/ann/data" in still["howToErase"]
    assert api.contents(path) == ["Bob's."]
    whole = api.ask("DELETE", f"{path}/memories")["stillRemembered"]
    assert (whole["facts"], whole["messages"]) == (1, 3) and "/apps/chat/data" in whole["howToErase"]


def test_an_export_of_one_user_can_be_taken_in_elsewhere(api: Api) -> None:
    path, copy = api.install(), api.install("copy")
    for user in ("ann", "bob"):
        say(api, path, user, f"I am {user}.")
        api.remember(path, f"{user} is here.", userId=user)
    archive = api.ask("GET", f"{path}/export?userId=ann")
    assert "bob" not in str(archive)
    api.ask("POST", f"{copy}/import", json=archive)
    [memory] = api.ask("GET", f"{copy}/memories")["memories"]
    assert (memory["userId"], memory["content"]) == ("ann", "ann is here.")


@pytest.mark.parametrize("misspelt", ["user_id", "userid", "user", "UserId"])
def test_a_misspelt_user_never_widens_a_request_to_all_users(api: Api, misspelt: str) -> None:
    path = api.install()
    api.remember(path, "Ann's.", userId="ann")
    for method, rest in (("GET", "memories"), ("DELETE", "memories"), ("DELETE", "facts"), ("GET", "export")):
        error = api.refused(422, method, f"{path}/{rest}?{misspelt}=bob")
        assert misspelt in error["message"] and "userId" in error["message"]
    assert api.contents(path) == ["Ann's."]


def test_what_names_nobody_is_listed_and_purged_by_an_empty_user(api: Api) -> None:
    path = api.install()
    api.remember(path, "Ann's.", userId="ann")
    api.remember(path, "Nobody's.")
    [memory] = api.ask("GET", f"{path}/memories?userId=")["memories"]
    assert memory["content"] == "Nobody's."
    assert api.ask("DELETE", f"{path}/memories?userId=")["deletedCount"] == 1
    assert api.contents(path) == ["Ann's."]


def test_after_an_erasure_an_export_does_not_name_the_user(api: Api) -> None:
    path = api.install()
    say(api, path, "ann", "I like tea.")
    api.remember(path, "Ann's.", userId="ann")
    api.ask("DELETE", f"{path}/users/ann/data")
    assert "ann" not in api.send("GET", f"{path}/export").text
    assert "userId=ann" in api.ask("DELETE", f"{path}/memories?userId=ann")["stillRemembered"]["howToErase"]
