"""Facts over HTTP: by hand, merged, pinned, cleared, taken back, settled by the loop; of several users and of talks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from loop.steps.settlement import SettleFacts
from loop.steps.upkeep import FinishErasures
from shared.apps.models import Erasure
from shared.apps.queries import lock_app
from shared.base.audit import Cause
from shared.base.choices import Category
from shared.conversations.queries import get_conversation
from shared.facts.mentions import FactLearning, FoundStatement, StatementOrigin, learn
from shared.telemetry.metrics import AgentKind, FactRemoval
from tests.support.api import Api, metric_of


def write(api: Api, path: str, *statements: str, **more: object) -> list[int]:
    return [api.ask("POST", f"{path}/facts", 201, json={"fact": one, **more})["id"] for one in statements]


def listed(api: Api, path: str, **query: object) -> list[str]:
    return [fact["fact"] for fact in api.ask("GET", f"{path}/facts", params=query)["facts"]]


def hear(api: Api, path: str, conversation_id: str, statement: str, message_id: str = "m0") -> FactLearning:
    app_id = path.rpartition("/")[2]
    api.converse(path, conversation_id, statement)
    with api.loop.database.write() as session:
        lock_app(session, app_id)
        key = get_conversation(session, app_id, conversation_id).key
        heard = StatementOrigin(key, conversation_id, "", api.clock.now(), "extractive")
        found = [FoundStatement(statement, Category.IDENTITY, (message_id,))]
        return learn(session, app_id, heard, found, Cause("extractive", "it was said", api.clock.now()), 0.8)


def changes(api: Api, path: str) -> list[dict[str, Any]]:
    return list(api.ask("GET", path)["changes"])


def settle(api: Api) -> None:
    SettleFacts(api.loop.database, api.loop.clock, api.loop.metrics).run()


def removed(api: Api, why: FactRemoval) -> float:
    return api.loop.metrics.facts_removed.labels(why)._value.get()


def test_a_fact_written_by_hand_is_cleaned_sorted_and_shown(api: Api) -> None:
    path = api.install()
    made = api.ask("POST", f"{path}/facts", 201, json={"fact": "  Lives \n in Copenhagen. ", "userId": "u1"})
    assert (made["fact"], made["category"], made["confidence"]) == ("Lives in Copenhagen.", "identity", 0.6)
    assert (made["byHand"], made["agent"], made["userId"], made["merged"]) == (True, "admin", "u1", False)
    assert [(one["conversationId"], one["messageIds"]) for one in made["sources"]] == [(None, [])]
    shown = api.ask("GET", f"{path}/facts/{made['id']}")
    assert shown == {key: value for key, value in made.items() if key not in ("merged", "evicted")}
    assert api.ask("GET", f"{path}/facts") == {"facts": [shown], "total": 1, "cursor": None, "clearUndoUntil": None}


def test_what_is_said_in_a_conversation_and_by_hand_is_one_fact(api: Api) -> None:
    path = api.install()
    [learned] = hear(api, path, "c1", "User likes jazz").learned
    again = api.ask("POST", f"{path}/facts", 200, json={"fact": "the user likes jazz."})
    assert (again["id"], again["merged"], again["confidence"], again["mentionCount"]) == (learned, True, 0.9, 2)
    assert again["lastSeenConversationId"] == "c1"
    assert [(one["conversationId"], one["messageIds"]) for one in again["sources"]] == [("c1", ["m0"]), (None, [])]
    [by_hand] = write(api, path, "Plays chess")
    again = api.ask("POST", f"{path}/facts", 200, json={"fact": "The user plays chess."})
    assert (again["id"], again["confidence"], again["byHand"]) == (by_hand, 0.85, True)
    hear(api, path, "c2", "Plays chess")
    assert api.ask("GET", f"{path}/facts/{by_hand}")["confidence"] == 1


def test_what_a_hand_writes_is_counted(sqlite_api: Api) -> None:
    api = sqlite_api
    path = api.install()
    write(api, path, "Lives in Oslo", "Lives in Rome")
    api.ask("POST", f"{path}/facts", 200, json={"fact": "The user lives in Rome."})
    metrics = api.loop.metrics
    counted = [
        metrics.facts_learned.labels(AgentKind.BY_HAND),
        metrics.fact_conflicts,
        metrics.fact_merges.labels("text"),
    ]
    assert [series._value.get() for series in counted] == [2, 1, 1]


def test_facts_are_listed_the_most_pressing_first_and_page_by_page(api: Api) -> None:
    path = api.install()
    write(api, path, "Lives in Copenhagen", "Likes jazz", "Is building a boat", userId="u1")
    write(api, path, "Likes tea", pinned=True)
    order = ["Likes tea", "Is building a boat", "Likes jazz", "Lives in Copenhagen"]
    assert listed(api, path) == order
    first = api.ask("GET", f"{path}/facts", params={"limit": 3})
    rest = api.ask("GET", f"{path}/facts", params={"limit": 3, "cursor": first["cursor"]})
    assert [one["fact"] for one in first["facts"] + rest["facts"]] == order and rest["cursor"] is None
    assert listed(api, path, category="project") == ["Is building a boat"]
    assert listed(api, path, pinned="true") == ["Likes tea"]
    assert listed(api, path, userId="u1", pinned="false") == order[1:]
    assert listed(api, path, userId="nobody") == []


def test_a_contradiction_shows_what_it_replaced(api: Api) -> None:
    path = api.install()
    [old] = write(api, path, "User lives in Copenhagen", pinned=True)
    [new] = write(api, path, "User lives in London")
    shown = api.ask("GET", f"{path}/facts/{new}")
    assert (shown["updatesFactId"], shown["pinned"], shown["confidence"]) == (old, True, 0.6)
    assert listed(api, path, state="replaced") == ["User lives in Copenhagen"]
    [written, replaced] = api.ask("GET", f"{path}/facts/{old}/history")["changes"][0::2]
    assert (written["kind"], replaced["kind"], replaced["relatedFactId"]) == ("written", "replaced", new)
    assert replaced["actor"] == "rule:contradiction"
    api.refused(404, "PATCH", f"{path}/facts/{old}", json={"fact": "x"})


def test_a_fact_is_reworded_moved_and_pinned(sqlite_api: Api) -> None:
    api = sqlite_api
    path = api.install()
    first, second = write(api, path, "Likes jazz", "Plays chess")
    body = {"fact": "Loves jazz", "category": "identity", "pinned": True}
    fact = api.ask("PATCH", f"{path}/facts/{first}", json=body)["fact"]
    assert (fact["fact"], fact["category"], fact["pinned"], fact["agent"]) == ("Loves jazz", "identity", True, "admin")
    kinds = [one["kind"] for one in api.ask("GET", f"{path}/facts/{first}/history")["changes"]]
    assert kinds == ["written", "edited", "moved", "pinned"]
    error = api.refused(409, "PATCH", f"{path}/facts/{second}", json={"fact": "the user loves jazz."})
    assert (error["code"], error["details"]["factId"]) == ("already_known", first)


def test_an_eleventh_pin_is_refused_with_the_limit(sqlite_api: Api) -> None:
    api = sqlite_api
    path = api.install()
    ids = write(api, path, *(f"Owns item {i}" for i in range(11)))
    for fact_id in [*ids[:10], ids[0]]:
        assert api.ask("POST", f"{path}/facts/{fact_id}/pin")["fact"]["pinned"] is True
    error = api.refused(409, "POST", f"{path}/facts/{ids[10]}/pin")
    assert (error["code"], error["details"]) == ("all_pinned", {"limit": 10})
    assert api.ask("POST", f"{path}/facts/{ids[0]}/unpin")["fact"]["pinned"] is False
    api.ask("POST", f"{path}/facts/{ids[10]}/pin")


def test_a_deleted_fact_is_taken_back_in_time_and_not_later(sqlite_api: Api) -> None:
    api = sqlite_api
    path = api.install()
    [early], [late] = write(api, path, "Likes jazz", pinned=True), write(api, path, "Has a secret canary")
    deleted = api.ask("DELETE", f"{path}/facts/{early}")
    assert deleted["undoUntil"] > api.clock.now().isoformat()[:19]
    assert listed(api, path, state="deleted") == ["Likes jazz"]
    api.clock.advance(59)
    back = api.ask("POST", f"{path}/facts/{early}/undo")["fact"]
    assert (back["id"], back["state"], back["pinned"]) == (early, "standing", True)
    assert [one["kind"] for one in changes(api, f"{path}/facts/{early}/history")][-2:] == ["deleted", "undone"]
    api.ask("DELETE", f"{path}/facts/{late}")
    assert api.ask("POST", f"{path}/facts/{late}/undo")["fact"]["pinned"] is False
    api.ask("DELETE", f"{path}/facts/{late}")
    api.clock.advance(60)
    for _ in range(2):
        assert api.refused(409, "POST", f"{path}/facts/{late}/undo")["code"] == "undo_over"
        settle(api)
    api.refused(404, "GET", f"{path}/facts/{late}")
    assert "canary" not in str(api.ask("GET", f"{path}/facts/changes"))
    assert removed(api, FactRemoval.DELETED) == 1


def test_clearing_can_be_taken_back_for_eight_seconds(sqlite_api: Api) -> None:
    api = sqlite_api
    path = api.install()
    write(api, path, "Lives in Oslo", "Lives in Rome")
    write(api, path, "Likes jazz", pinned=True)
    before = api.ask("GET", f"{path}/facts")["facts"]
    cleared = api.ask("DELETE", f"{path}/facts")
    assert (cleared["deletedCount"], cleared["receipt"]) == (2, None)
    assert listed(api, path) == listed(api, path, state="replaced") == []
    assert api.ask("GET", f"{path}/facts")["clearUndoUntil"] == cleared["undoUntil"]
    assert api.ask("GET", f"{path}/facts", params={"userId": "ann"})["clearUndoUntil"] is None
    assert api.refused(409, "POST", f"{path}/facts", json={"fact": "Likes tea"})["code"] == "clear_open"
    api.clock.advance(7)
    settle(api)
    assert api.ask("POST", f"{path}/facts/undo") == {"success": True, "restoredCount": 2}
    volatile = ("version", "updatedAt")
    after = api.ask("GET", f"{path}/facts")["facts"]
    assert [{k: v for k, v in one.items() if k not in volatile} for one in after] == [
        {k: v for k, v in one.items() if k not in volatile} for one in before
    ]
    assert listed(api, path, state="replaced") == ["Lives in Oslo"]


def test_a_clear_that_stands_is_erased_by_the_loop_with_a_receipt(api: Api) -> None:
    path = api.install()
    key = {"Idempotency-Key": "k1"}
    api.ask("POST", f"{path}/facts", json={"fact": "Has a secret canary"}, headers=key)
    api.ask("DELETE", f"{path}/facts")
    api.clock.advance(8)
    assert api.refused(409, "POST", f"{path}/facts/undo")["code"] == "undo_over", "though it is not yet final"
    settle(api)
    [receipt] = api.ask("GET", f"{path}/erasures")["erasures"]
    assert (receipt["scope"], receipt["erased"]["facts"], receipt["left"]["databaseLog"]) == ("facts", 1, 1)
    FinishErasures(api.loop.database, api.loop.store, api.loop.redis).run()
    [receipt] = api.ask("GET", f"{path}/erasures")["erasures"]
    assert {store: left for store, left in receipt["left"].items() if left} == {"queuedText": None} or not any(
        receipt["left"].values()
    )
    assert api.refused(409, "POST", f"{path}/facts/undo")["code"] == "undo_over"
    again = api.send("POST", f"{path}/facts", json={"fact": "Has a secret canary"}, headers=key)
    assert again.status_code == 409 and "canary" not in again.text
    assert api.loop.metrics.erasures.labels("facts")._value.get() == 1
    assert removed(api, FactRemoval.CLEARED) == 1


def test_a_second_clear_makes_the_first_final_and_shows_its_receipt(sqlite_api: Api) -> None:
    api = sqlite_api
    path = api.install()
    write(api, path, "Likes jazz")
    api.ask("DELETE", f"{path}/facts")
    second = api.ask("DELETE", f"{path}/facts")
    assert (second["deletedCount"], second["receipt"]["erased"]["facts"]) == (0, 1)


def test_many_facts_change_all_or_none(sqlite_api: Api) -> None:
    api = sqlite_api
    path = api.install()
    other = api.install("other")
    ids, [foreign] = write(api, path, "Likes jazz", "Plays chess"), write(api, other, "Likes tea")
    bulk = f"{path}/facts/bulk"
    api.refused(404, "POST", bulk, json={"action": "delete", "ids": [*ids, foreign]})
    assert len(listed(api, path)) == 2
    moved = api.ask("POST", bulk, json={"action": "move", "ids": ids, "category": "project"})["results"]
    assert [(one["id"], one["fact"]["category"]) for one in moved] == [(i, "project") for i in ids]
    gone = api.ask("POST", bulk, json={"action": "delete", "ids": ids})["results"]
    assert [one["id"] for one in gone] == ids and all(one["undoUntil"] and one["fact"] is None for one in gone)
    assert listed(api, path) == [] and listed(api, other) == ["Likes tea"]


def test_the_dry_run_names_what_then_goes(sqlite_api: Api) -> None:
    api = sqlite_api
    path = api.install()
    write(api, path, "Is building a boat")
    api.clock.advance(timedelta(days=30).total_seconds())
    write(api, path, *(f"Owns item {i}" for i in range(119)))
    run = api.ask("GET", f"{path}/facts/eviction", params={"more": 1})
    top = run["facts"][0]
    assert (run["standing"], run["remain"], run["limit"]) == (120, 120, 150)
    assert (top["fact"], top["score"], top["goes"]) == ("Is building a boat", 40.0, True)
    assert [one["goes"] for one in run["facts"]].count(True) == 1 and run["expiring"][0] == top["id"]
    made = api.ask("POST", f"{path}/facts", json={"fact": "Owns a kite"})
    assert made["evicted"] == [top["id"]]
    assert removed(api, FactRemoval.EVICTED) == 1


def test_old_facts_expire_by_the_loop_and_their_history_says_so(api: Api) -> None:
    path = api.install()
    [fact_id] = write(api, path, "Is building a boat")
    write(api, path, "Is renovating the kitchen", pinned=True)
    api.clock.advance(timedelta(days=60).total_seconds())
    settle(api)
    assert listed(api, path) == ["Is renovating the kitchen", "Is building a boat"]
    api.clock.advance(0.001)
    settle(api)
    assert listed(api, path) == ["Is renovating the kitchen"], "never while it is pinned"
    last = api.ask("GET", f"{path}/facts/{fact_id}/history")["changes"][-1]
    assert (last["kind"], last["actor"]) == ("expired", "rule:expiry")
    assert removed(api, FactRemoval.EXPIRED) == 1


def test_a_scrape_counts_facts_by_category_and_state(api: Api) -> None:
    path = api.install()
    write(api, path, "Lives in Copenhagen", "Lives in London")
    write(api, path, "Likes tea", pinned=True)
    api.ask("DELETE", f"{path}/facts/{write(api, path, 'Likes jazz')[0]}")

    def counted(category: str, state: str) -> float:
        return metric_of(api, "afterthought_facts", category=category, state=state)

    assert [counted("identity", state) for state in ("standing", "replaced", "deleted", "pinned")] == [1, 1, 0, 0]
    assert [counted("preference", state) for state in ("standing", "replaced", "deleted", "pinned")] == [0, 0, 1, 1]
    assert counted("project", "standing") == 0


def write_of(api: Api, path: str, user: str | None, *statements: str, **more: object) -> list[int]:
    return write(api, path, *statements, **more | {"userId": user})


def listed_sorted(api: Api, path: str, **query: object) -> list[str]:
    return sorted(listed(api, path, **query))


def test_a_full_user_leaves_all_places_and_pins_to_another(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    anns = write_of(api, path, "ann", *(f"Owns item {i}" for i in range(120)))
    bobs = write_of(api, path, "bob", "Likes jazz", "Plays chess")
    for fact_id in anns[:10]:
        api.ask("POST", f"{path}/facts/{fact_id}/pin")
    refused = api.refused(409, "POST", f"{path}/facts/{anns[10]}/pin")
    assert refused["message"].startswith("User ann of app chat has 10 pinned facts")
    assert api.ask("POST", f"{path}/facts/{bobs[0]}/pin")["fact"]["pinned"]
    api.clock.advance(timedelta(days=2).total_seconds())
    [evicted] = api.ask("POST", f"{path}/facts", 201, json={"fact": "Owns a boat", "userId": "ann"})["evicted"]
    assert evicted in anns
    assert listed_sorted(api, path, userId="bob") == ["Likes jazz", "Plays chess"]
    totals = [api.ask("GET", f"{path}/facts", params=q)["total"] for q in ({}, {"userId": "ann", "limit": 1})]
    assert totals == [122, 120]


def test_the_dry_run_reckons_for_each_user(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    write_of(api, path, "ann", "Likes jazz")
    write_of(api, path, "bob", "Plays chess")
    api.clock.advance(86400)
    run = api.ask("GET", f"{path}/facts/eviction", params={"more": 119})
    assert (run["standing"], [one["goes"] for one in run["facts"]]) == (2, [False, False])
    run = api.ask("GET", f"{path}/facts/eviction", params={"more": 120, "userId": "ann"})
    assert [(one["userId"], one["fact"], one["goes"]) for one in run["facts"]] == [("ann", "Likes jazz", True)]


def test_clearing_one_user_leaves_the_others_and_is_taken_back_alone(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    write_of(api, path, "ann", "Likes jazz", pinned=True)
    write_of(api, path, "bob", "Plays chess")
    cleared = api.ask("DELETE", f"{path}/facts", params={"userId": "ann"})
    assert (cleared["userId"], cleared["deletedCount"]) == ("ann", 1)
    assert listed_sorted(api, path) == ["Plays chess"]
    error = api.refused(409, "POST", f"{path}/facts", json={"fact": "Likes tea", "userId": "ann"})
    assert error["code"] == "clear_open" and "/apps/chat/facts/undo?userId=ann" in error["message"]
    write_of(api, path, "bob", "Likes tea")
    assert api.refused(409, "POST", f"{path}/facts/undo")["code"] == "undo_over"
    assert api.ask("POST", f"{path}/facts/undo", params={"userId": "ann"})["restoredCount"] == 1
    assert listed_sorted(api, path, pinned=True) == ["Likes jazz"]


def test_a_clear_of_one_user_becomes_an_erasure_of_theirs_alone(api: Api) -> None:
    path = api.install()
    write_of(api, path, "ann", "Has a secret canary")
    gone = write_of(api, path, "ann", "Had a canary before")
    api.ask("DELETE", f"{path}/facts/{gone[0]}")
    write_of(api, path, "bob", "Plays chess")
    api.ask("DELETE", f"{path}/facts", params={"userId": "ann"})
    api.clock.advance(8)
    settle(api)
    [receipt] = api.ask("GET", f"{path}/erasures")["erasures"]
    assert (receipt["scope"], receipt["erased"]["facts"], receipt["left"]["facts"]) == ("facts", 2, 0)
    with api.loop.database.read() as session:
        assert [one.user_id for one in session.query(Erasure)] == ["ann"]
    changes = api.ask("GET", f"{path}/facts/changes")["changes"]
    assert "canary" not in str(changes) and "Plays chess" in str(changes)
    assert listed_sorted(api, path) == ["Plays chess"]


def test_a_clear_of_the_app_and_one_of_a_user_each_take_back_their_own(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    write_of(api, path, "ann", "Likes jazz")
    write_of(api, path, "bob", "Plays chess")
    api.ask("DELETE", f"{path}/facts", params={"userId": "ann"})
    assert api.ask("DELETE", f"{path}/facts")["deletedCount"] == 1
    assert api.refused(409, "DELETE", f"{path}/facts", params={"userId": "bob"})["code"] == "clear_open"
    assert api.refused(409, "POST", f"{path}/facts/undo", params={"userId": "ann"})["code"] == "clear_open"
    assert api.ask("POST", f"{path}/facts/undo")["restoredCount"] == 1
    assert listed_sorted(api, path) == ["Plays chess"]
    assert api.ask("POST", f"{path}/facts/undo", params={"userId": "ann"})["restoredCount"] == 1
    assert listed_sorted(api, path) == ["Likes jazz", "Plays chess"]


def test_a_final_clear_of_the_app_takes_what_a_user_could_have_taken_back(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    write_of(api, path, "ann", "Likes jazz")
    write_of(api, path, "bob", "Plays chess")
    api.ask("DELETE", f"{path}/facts")
    api.clock.advance(7)
    assert api.refused(409, "DELETE", f"{path}/facts", params={"userId": "ann"})["code"] == "clear_open"
    api.clock.advance(1)
    settle(api)
    assert [one["scope"] for one in api.ask("GET", f"{path}/erasures")["erasures"]] == ["facts"]
    write_of(api, path, "ann", "Likes tea")
    api.ask("DELETE", f"{path}/facts", params={"userId": "ann"})
    api.ask("DELETE", f"{path}/facts")
    api.clock.advance(8)
    settle(api)
    assert api.refused(409, "POST", f"{path}/facts/undo", params={"userId": "ann"})["code"] == "undo_over"
    settle(api)
    assert api.ask("GET", f"{path}/facts", params={"state": "deleted"})["total"] == 0


def test_facts_of_each_user_arrive_in_their_own_places(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    write_of(api, path, "ann", *(f"Owns item {i}" for i in range(80)))
    write_of(api, path, "bob", *(f"Owns item {i}" for i in range(80)))
    archive = api.ask("GET", f"{path}/export")
    copy = api.install("copy")
    assert api.ask("POST", f"{copy}/import", json=archive)["facts"] == {"imported": 160, "skipped": 0}
    full = api.install("full")
    write_of(api, full, "bob", *(f"Sold item {i}" for i in range(80)))
    error = api.refused(409, "POST", f"{full}/import", json=archive)
    assert (error["code"], error["details"]) == ("no_room", {"arriving": 80, "free": 70, "userId": "bob"})
    assert listed_sorted(api, full, userId="ann") == []


def test_single_facts_that_are_gone_have_a_receipt_for_each_user(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    for user, told in (("ann", "Likes jazz"), ("bob", "Plays chess"), ("ann", "Owns a canoe"), (None, "Runs on Linux")):
        [fact_id] = write_of(api, path, user, told)
        api.ask("DELETE", f"{path}/facts/{fact_id}")
    api.clock.advance(60)
    settle(api)
    receipts = api.ask("GET", f"{path}/erasures")["erasures"]
    assert {(one["scope"], one["userId"], one["erased"]["facts"]) for one in receipts} == {
        ("fact", "ann", 2), ("fact", "bob", 1), ("fact", None, 1)
    }  # fmt: skip
