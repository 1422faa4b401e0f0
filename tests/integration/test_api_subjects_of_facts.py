"""Facts of several users of one app: each has its own places, its own clears, and nothing of another's."""

from __future__ import annotations

from datetime import timedelta

from loop.steps.settlement import SettleFacts
from shared.apps.models import Erasure
from tests.support.api import Api


def write(api: Api, path: str, user: str | None, *statements: str, **more: object) -> list[int]:
    body = {"userId": user, **more}
    return [api.ask("POST", f"{path}/facts", json={"fact": one, **body})["id"] for one in statements]


def listed(api: Api, path: str, **query: object) -> list[str]:
    return sorted(fact["fact"] for fact in api.ask("GET", f"{path}/facts", params=query)["facts"])


def settle(api: Api) -> None:
    SettleFacts(api.loop.database, api.loop.clock, api.loop.metrics).run()


def test_a_full_user_leaves_all_places_and_pins_to_another(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    anns = write(api, path, "ann", *(f"Owns item {i}" for i in range(120)))
    bobs = write(api, path, "bob", "Likes jazz", "Plays chess")
    for fact_id in anns[:10]:
        api.ask("POST", f"{path}/facts/{fact_id}/pin")
    refused = api.refused(409, "POST", f"{path}/facts/{anns[10]}/pin")
    assert refused["message"].startswith("User ann of app chat has 10 pinned facts")
    assert api.ask("POST", f"{path}/facts/{bobs[0]}/pin")["fact"]["pinned"]
    api.clock.advance(timedelta(days=2).total_seconds())
    [evicted] = api.ask("POST", f"{path}/facts", 201, json={"fact": "Owns a boat", "userId": "ann"})["evicted"]
    assert evicted in anns
    assert listed(api, path, userId="bob") == ["Likes jazz", "Plays chess"]
    totals = [api.ask("GET", f"{path}/facts", params=q)["total"] for q in ({}, {"userId": "ann", "limit": 1})]
    assert totals == [122, 120]


def test_facts_and_their_history_are_listed_of_one_user_or_of_all(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    write(api, path, None, "Likes tea")
    write(api, path, "ann", "Likes jazz")
    assert listed(api, path) == ["Likes jazz", "Likes tea"]
    assert listed(api, path, userId="ann") == ["Likes jazz"]
    assert [one["userId"] for one in api.ask("GET", f"{path}/facts/changes")["changes"]] == ["ann", None]
    mine = api.ask("GET", f"{path}/facts/changes", params={"userId": "ann"})["changes"]
    assert [one["after"] for one in mine] == ["Likes jazz"]


def test_the_dry_run_reckons_for_each_user(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    write(api, path, "ann", "Likes jazz")
    write(api, path, "bob", "Plays chess")
    api.clock.advance(86400)
    run = api.ask("GET", f"{path}/facts/eviction", params={"more": 119})
    assert (run["standing"], [one["goes"] for one in run["facts"]]) == (2, [False, False])
    run = api.ask("GET", f"{path}/facts/eviction", params={"more": 120, "userId": "ann"})
    assert [(one["userId"], one["fact"], one["goes"]) for one in run["facts"]] == [("ann", "Likes jazz", True)]


def test_clearing_one_user_leaves_the_others_and_is_taken_back_alone(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    write(api, path, "ann", "Likes jazz", pinned=True)
    write(api, path, "bob", "Plays chess")
    cleared = api.ask("DELETE", f"{path}/facts", params={"userId": "ann"})
    assert (cleared["userId"], cleared["deletedCount"]) == ("ann", 1)
    assert listed(api, path) == ["Plays chess"]
    error = api.refused(409, "POST", f"{path}/facts", json={"fact": "Likes tea", "userId": "ann"})
    assert error["code"] == "clear_open" and "/apps/chat/facts/undo?userId=ann" in error["message"]
    write(api, path, "bob", "Likes tea")
    assert api.refused(409, "POST", f"{path}/facts/undo")["code"] == "undo_over"
    assert api.ask("POST", f"{path}/facts/undo", params={"userId": "ann"})["restoredCount"] == 1
    assert listed(api, path, pinned=True) == ["Likes jazz"]


def test_a_clear_of_one_user_becomes_an_erasure_of_theirs_alone(api: Api) -> None:
    path = api.install()
    write(api, path, "ann", "Has a secret canary")
    gone = write(api, path, "ann", "Had a canary before")
    api.ask("DELETE", f"{path}/facts/{gone[0]}")
    write(api, path, "bob", "Plays chess")
    api.ask("DELETE", f"{path}/facts", params={"userId": "ann"})
    api.clock.advance(8)
    settle(api)
    [receipt] = api.ask("GET", f"{path}/erasures")["erasures"]
    assert (receipt["scope"], receipt["erased"]["facts"], receipt["left"]["facts"]) == ("facts", 2, 0)
    with api.loop.database.read() as session:
        assert [one.user_id for one in session.query(Erasure)] == ["ann"]
    changes = api.ask("GET", f"{path}/facts/changes")["changes"]
    assert "canary" not in str(changes) and "Plays chess" in str(changes)
    assert listed(api, path) == ["Plays chess"]


def test_a_clear_of_the_app_and_one_of_a_user_each_take_back_their_own(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    write(api, path, "ann", "Likes jazz")
    write(api, path, "bob", "Plays chess")
    api.ask("DELETE", f"{path}/facts", params={"userId": "ann"})
    assert api.ask("DELETE", f"{path}/facts")["deletedCount"] == 1
    assert api.refused(409, "DELETE", f"{path}/facts", params={"userId": "bob"})["code"] == "clear_open"
    assert api.refused(409, "POST", f"{path}/facts/undo", params={"userId": "ann"})["code"] == "clear_open"
    assert api.ask("POST", f"{path}/facts/undo")["restoredCount"] == 1
    assert listed(api, path) == ["Plays chess"]
    assert api.ask("POST", f"{path}/facts/undo", params={"userId": "ann"})["restoredCount"] == 1
    assert listed(api, path) == ["Likes jazz", "Plays chess"]


def test_a_final_clear_of_the_app_takes_what_a_user_could_have_taken_back(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    write(api, path, "ann", "Likes jazz")
    write(api, path, "bob", "Plays chess")
    api.ask("DELETE", f"{path}/facts")
    api.clock.advance(7)
    assert api.refused(409, "DELETE", f"{path}/facts", params={"userId": "ann"})["code"] == "clear_open"
    api.clock.advance(1)
    settle(api)
    assert [one["scope"] for one in api.ask("GET", f"{path}/erasures")["erasures"]] == ["facts"]
    write(api, path, "ann", "Likes tea")
    api.ask("DELETE", f"{path}/facts", params={"userId": "ann"})
    api.ask("DELETE", f"{path}/facts")
    api.clock.advance(8)
    settle(api)
    assert api.refused(409, "POST", f"{path}/facts/undo", params={"userId": "ann"})["code"] == "undo_over"
    settle(api)
    assert api.ask("GET", f"{path}/facts", params={"state": "deleted"})["total"] == 0


def test_facts_of_each_user_arrive_in_their_own_places(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    write(api, path, "ann", *(f"Owns item {i}" for i in range(80)))
    write(api, path, "bob", *(f"Owns item {i}" for i in range(80)))
    archive = api.ask("GET", f"{path}/export")
    copy = api.install("copy")
    assert api.ask("POST", f"{copy}/import", json=archive)["facts"] == {"imported": 160, "skipped": 0}
    full = api.install("full")
    write(api, full, "bob", *(f"Sold item {i}" for i in range(80)))
    error = api.refused(409, "POST", f"{full}/import", json=archive)
    assert (error["code"], error["details"]) == ("no_room", {"arriving": 80, "free": 70, "userId": "bob"})
    assert listed(api, full, userId="ann") == []


def test_single_facts_that_are_gone_have_a_receipt_for_each_user(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    for user, told in (("ann", "Likes jazz"), ("bob", "Plays chess"), ("ann", "Owns a canoe"), (None, "Runs on Linux")):
        [fact_id] = write(api, path, user, told)
        api.ask("DELETE", f"{path}/facts/{fact_id}")
    api.clock.advance(60)
    settle(api)
    receipts = api.ask("GET", f"{path}/erasures")["erasures"]
    assert {(one["scope"], one["userId"], one["erased"]["facts"]) for one in receipts} == {
        ("fact", "ann", 2), ("fact", "bob", 1), ("fact", None, 1)
    }  # fmt: skip
