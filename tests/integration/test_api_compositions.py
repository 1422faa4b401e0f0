"""Compositions, pruning and ageing over HTTP."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pytest

from shared.contracts.jobs import JobKind
from shared.jobs.dispatch import take_due
from shared.jobs.models import JobState
from shared.jobs.ownership import Owner, claim
from shared.jobs.queries import JobFilter, list_jobs
from tests.support.api import Api
from tests.support.composing import DAY, PROJECT, Shop
from tests.support.house import House
from tests.support.settings import default_settings
from worker.pipelines.compose_context import ComposeContext

MEMORY = "/api/memory"
MINE = f"{MEMORY}/projects/{PROJECT}"


@pytest.fixture
def api(sqlite_api: Api) -> Api:
    """Over one database: what differs between them is tried with the promises."""
    return sqlite_api


@pytest.fixture
def shop(api: Api, tmp_path: Path) -> Shop:
    api.install("chat")
    api.install("email")
    originals = tmp_path / "originals"
    originals.mkdir()
    return Shop(cast(House, api.loop), api.loop.store, originals, app_id="chat")


def compose(api: Api) -> list[JobState]:
    """Carry out the compositions that are due."""
    loop = api.loop
    run = ComposeContext(loop.database, loop.clock, loop.store, loop.metrics, default_settings())
    with loop.database.write() as session:
        sent = take_due(session, loop.clock.now(), 100, 60)
        owner = Owner("node/1", lambda _: False)
        until = loop.clock.now()
        found = [claim(session, one.job_id, one.fence, owner, until, loop.clock.now()) for one in sent]
    return [run(one) for one in found if one is not None and one.kind == JobKind.COMPOSE_CONTEXT]


def ask(api: Api, name: str = "start", *sessions: str, **more: Any) -> Any:
    components = [{"sessionId": one} for one in sessions or ("s1",)]
    body = {"name": name, "components": components, "totalTokenBudget": 2000} | more
    return api.ask("POST", f"{MINE}/compositions?appId=chat", 202, json=body)


def test_a_composition_is_asked_for_made_read_used_made_again_and_removed(api: Api, shop: Shop) -> None:
    shop.register("s1", 4)
    made = ask(api)
    assert made["composition"]["state"] == "working" and made["job"]["kind"] == "compose_context"
    path = f"{MEMORY}/compositions/{made['composition']['compositionId']}"
    waiting = api.refused(409, "GET", f"{path}?appId=chat&format=markdown")
    assert waiting["code"] == "composition_not_ready" and waiting["details"]["job"] == made["job"]["jobId"]
    assert compose(api) == [JobState.DONE]
    shown = api.ask("GET", f"{path}?appId=chat")
    [component] = shown["components"]
    assert (shown["state"], shown["totalTokens"] <= 2000, component["versionId"]) == ("ready", True, "original")
    assert (shown["uses"], shown["lastUsed"]) == (0, None)
    text = api.send("GET", f"{path}?appId=chat&format=markdown")
    assert text.headers["content-type"].startswith("text/markdown") and "Request 0 of s1" in text.text
    lines = api.send("GET", f"{path}?appId=chat&format=jsonl")
    assert lines.headers["content-type"].startswith("application/x-ndjson")
    assert {json.loads(line)["sessionId"] for line in lines.text.splitlines()} == {shown["compositionId"]}
    for _ in range(2):
        used = api.ask("POST", f"{path}/used?appId=chat", json={"sessionId": "new-session"})
    assert (used["usedInSessions"], used["uses"]) == (["new-session"], 3)
    again = api.ask("POST", f"{path}/again?appId=chat", 202, json={"name": "later"})
    assert again["composition"]["name"] == "later" and again["composition"]["request"] == shown["request"]
    assert compose(api) == [JobState.DONE]
    listed = api.ask("GET", f"{MINE}/compositions?appId=chat")["compositions"]
    assert [one["name"] for one in listed] == ["later", "start"]
    assert api.ask("DELETE", f"{path}?appId=chat")["success"]
    api.refused(404, "GET", f"{path}?appId=chat")
    assert {one.split("/")[1] for one in shop.files()} == {"later"}
    manifest = json.loads((shop.store.project_folder("chat", PROJECT) / "manifest.json").read_text())
    assert [one["name"] for one in manifest["compositions"].values()] == ["later"]


def test_again_without_a_name_takes_the_place_of_the_former(api: Api, shop: Shop) -> None:
    shop.register("s1", 4)
    path = f"{MEMORY}/compositions/{ask(api)['composition']['compositionId']}"
    compose(api)
    again = api.ask("POST", f"{path}/again?appId=chat", 202)
    assert again["composition"]["state"] == "working"
    assert compose(api) == [JobState.DONE]
    assert len(api.ask("GET", f"{MINE}/compositions?appId=chat")["compositions"]) == 1


def test_a_preview_says_who_gets_what_and_writes_nothing(api: Api, shop: Shop) -> None:
    for day, (name, exchanges) in enumerate((("old", 40), ("mid", 40), ("new", 2))):
        shop.register(name, exchanges, at=DAY.replace(day=day + 1))
    shop.version("mid", 1300)
    body = {"components": [{"sessionId": one} for one in ("new", "mid", "old")], "totalTokenBudget": 4000}
    seen = api.ask("POST", f"{MINE}/compositions/preview?appId=chat", json=body)
    ways = [(one["sessionId"], one["way"], one["versionId"]) for one in seen["components"]]
    assert ways == [("new", "original", None), ("mid", "version", "v001"), ("old", "compress", None)]
    assert seen["compressions"] == 1 and seen["allocated"] <= 4000
    assert seen["components"][2]["settings"]["sessionDistance"] == 3
    with api.loop.database.read() as session:
        assert not list_jobs(session, JobFilter(), 10)
    assert api.ask("GET", f"{MINE}/compositions?appId=chat")["compositions"] == []


REFUSED: list[tuple[dict[str, Any], int, str]] = [
    ({"name": "../up"}, 422, "invalid"),
    ({"name": ".hidden"}, 422, "invalid"),
    ({"components": []}, 422, "invalid"),
    ({"components": [{"sessionId": "s1"}, {"sessionId": "s1"}]}, 422, "invalid"),
    ({"components": [{"sessionId": "s1", "allocation": 10}]}, 422, "invalid"),
    ({"strategy": "custom"}, 422, "invalid"),
    ({"strategy": "custom", "components": [{"sessionId": "s1", "allocation": 2001}]}, 422, "invalid"),
    ({"components": [{"sessionId": "nobody"}]}, 404, "not_found"),
    ({"components": [{"sessionId": "s1", "versionId": "v007"}]}, 404, "not_found"),
    ({"totalTokenBudget": 99}, 422, "invalid"),
    ({"totalTokenBudget": True}, 422, "invalid"),
    ({"misspelt": 1}, 422, "invalid"),
    ({"name": "taken"}, 409, "name_taken"),
]


def test_sessions_stand_in_the_order_of_the_request_unless_it_says_otherwise(api: Api, shop: Shop) -> None:
    for day, name in enumerate(("old", "mid", "new")):
        shop.register(name, 4, at=DAY.replace(day=day + 1))
    for order, expected in (({}, ["mid", "new", "old"]), ({"order": "oldest-first"}, ["old", "mid", "new"])):
        made = ask(api, "start", "mid", "new", "old", totalTokenBudget=20_000, replace=True, **order)
        compose(api)
        path = f"{MEMORY}/compositions/{made['composition']['compositionId']}?appId=chat"
        parts = api.ask("GET", path)["components"]
        assert [(one["order"], one["sessionId"]) for one in parts] == list(enumerate(expected))
        text = api.send("GET", f"{path}&format=markdown").text
        assert sorted(expected, key=lambda name: text.index(f"Session {name}")) == expected


def test_what_cannot_be_composed_is_refused(api: Api, shop: Shop) -> None:
    shop.register("s1", 4)
    ask(api, "taken")
    plain = {"name": "start", "components": [{"sessionId": "s1"}], "totalTokenBudget": 2000}
    for body, status, code in REFUSED:
        answer = api.refused(status, "POST", f"{MINE}/compositions?appId=chat", json=plain | body)
        assert answer["code"] == code, body


def test_a_repeated_request_under_one_key_asks_once(api: Api, shop: Shop) -> None:
    shop.register("s1", 4)
    body = {"name": "start", "components": [{"sessionId": "s1"}], "totalTokenBudget": 2000}
    headers = {"Idempotency-Key": "k1"}
    first, second = (
        api.ask("POST", f"{MINE}/compositions?appId=chat", 202, json=body, headers=headers) for _ in range(2)
    )
    assert first == second


def test_no_app_sees_or_touches_anothers_compositions(api: Api, shop: Shop) -> None:
    shop.register("s1", 4)
    composition = ask(api)["composition"]["compositionId"]
    compose(api)
    path, token = f"{MEMORY}/compositions/{composition}", api.token("email")
    for method, where, body in (
        ("GET", path, None), ("GET", f"{path}?format=markdown", None), ("DELETE", path, None),
        ("POST", f"{path}/used", {"sessionId": "x"}), ("POST", f"{path}/again", None),
        ("GET", f"{MINE}/compositions", None), ("GET", f"{MINE}/ageing", None),
        ("POST", f"{MINE}/prune", {"unused": True}), ("POST", f"{MINE}/ageing/run", None),
    ):  # fmt: skip
        api.refused(404, method, where, token=token, json=body)
        api.refused(403, method, f"{where}{'&' if '?' in where else '?'}appId=chat", token=token, json=body)
    assert api.send("GET", path, token=api.token("chat")).status_code == 200


def test_a_document_that_was_damaged_is_not_handed_out(api: Api, shop: Shop) -> None:
    shop.register("s1", 4)
    path = f"{MEMORY}/compositions/{ask(api, outputFormat='markdown')['composition']['compositionId']}"
    compose(api)
    api.refused(404, "GET", f"{path}?appId=chat&format=jsonl")
    (shop.store.composition_folder("chat", PROJECT, "start") / "composed.md").write_text("Other words")
    assert api.refused(409, "GET", f"{path}?appId=chat&format=markdown")["code"] == "composition_damaged"


def test_listings_are_narrowed_and_go_on(api: Api, shop: Shop) -> None:
    shop.register("s1", 4)
    shop.register("s2", 4)
    for name, session in (("a", "s1"), ("b", "s2"), ("c", "s1")):
        ask(api, name, session)
    compose(api)
    path = f"{MINE}/compositions?appId=chat"

    def named(more: str) -> list[str]:
        return [one["name"] for one in api.ask("GET", path + more)["compositions"]]

    assert named("&sessionId=s1") == ["c", "a"] and named("&state=failed") == []
    first = api.ask("GET", f"{path}&limit=2")
    assert named(f"&limit=2&cursor={first['cursor']}") == ["a"]


def test_pruning_shows_before_it_removes_and_refuses_what_is_in_use(api: Api, shop: Shop) -> None:
    shop.register("s1", 40)
    shop.version("s1", 1800)
    shop.version("s1", 300)
    ask(api)
    dry = api.ask("POST", f"{MINE}/prune?appId=chat", json={"unused": True})
    assert (dry["dryRun"], [one["versionId"] for one in dry["removed"]]) == (True, ["v002"])
    assert [(one["versionId"], one["usedIn"]) for one in dry["kept"]] == [("v001", ["start"])]
    named = {"dryRun": False, "versions": [{"sessionId": "s1", "versionId": f"v00{n}"} for n in (1, 2)]}
    refused = api.refused(409, "POST", f"{MINE}/prune?appId=chat", json=named)
    assert refused["code"] == "version_in_use" and "start" in refused["message"]
    done = api.ask("POST", f"{MINE}/prune?appId=chat", json={"unused": True, "dryRun": False})
    assert [one["versionId"] for one in done["removed"]] == ["v002"] and done["tokens"] > 0
    left = api.ask("POST", f"{MINE}/prune?appId=chat", json={"unused": True})
    assert (left["removed"], [one["versionId"] for one in left["kept"]]) == ([], ["v001"])
    for wrong in ({}, {"unused": True, "versions": []}, {"olderThanDays": -1}):
        api.refused(422, "POST", f"{MINE}/prune?appId=chat", json=wrong)


def test_ageing_is_changed_shown_and_run(api: Api, shop: Shop) -> None:
    shop.register("s1", 40)
    for _ in range(2):
        shop.version("s1", 300)
    shown = api.ask("GET", f"{MINE}/ageing?appId=chat")
    assert shown["retention"] == {"keep": "all", "count": None, "days": None}
    assert shown["autoDecay"]["rules"] == {
        "createAfterDays": 7, "createPreset": "standard", "aggressiveAfterDays": 30, "aggressivePreset": "aggressive",
        "pruneIntermediateAfterDays": 60,
    }  # fmt: skip
    changed = api.ask("PUT", f"{MINE}/ageing?appId=chat", json={"retention": {"keep": "newest", "count": 1}})
    assert (changed["shown"], changed["autoDecay"]) == (False, shown["autoDecay"])
    early = api.refused(409, "POST", f"{MINE}/ageing/run?appId=chat", json={"dryRun": False})
    assert early["code"] == "dry_run_first"
    plan = api.ask("POST", f"{MINE}/ageing/run?appId=chat")
    assert plan["dryRun"] and [one["versionId"] for one in plan["plan"]["remove"]] == ["v001"]
    assert api.ask("GET", f"{MINE}/ageing?appId=chat")["lastPlan"]["plan"] == plan["plan"]
    done = api.ask("POST", f"{MINE}/ageing/run?appId=chat", json={"dryRun": False})
    assert done["plan"] == plan["plan"]
    assert api.ask("GET", f"{MINE}/ageing?appId=chat")["lastPlan"]["dryRun"] is False
    versions = api.ask("GET", f"{MEMORY}/sessions/s1/versions?appId=chat")["versions"]
    assert [one["versionId"] for one in versions] == ["v002"]
    for wrong in ({"retention": {"keep": "newest"}}, {"autoDecay": {"rules": {"createAfterDays": 99}}}):
        api.refused(422, "PUT", f"{MINE}/ageing?appId=chat", json=wrong)


def test_a_session_that_is_used_grows_old_anew_and_keeps_its_distance(api: Api, shop: Shop) -> None:
    for name, day in (("old", 1), ("new", 2)):
        shop.register(name, 40, at=DAY.replace(day=day))
        shop.version(name, 300)
    part = {"sessionId": "old", "versionId": "v001"}
    made = ask(api, "start", components=[part])["composition"]
    compose(api)
    api.ask("PUT", f"{MINE}/ageing?appId=chat", json={"autoDecay": {"enabled": True}})
    api.clock.advance(90 * 86_400)

    def compressed() -> list[str]:
        plan = api.ask("POST", f"{MINE}/ageing/run?appId=chat")["plan"]
        return sorted(one["sessionId"] for one in plan["compress"])

    def versions(name: str) -> str:
        return f"{MEMORY}/sessions/{name}/versions/v001?appId=chat"

    composition = f"{MEMORY}/compositions/{made['compositionId']}"
    uses = (
        lambda: api.send("GET", versions("old") + "&format=markdown"),
        lambda: api.send("GET", f"{composition}?appId=chat&format=jsonl"),
        lambda: api.ask("POST", f"{composition}/used?appId=chat", json={"sessionId": "next"}),
        lambda: api.ask("GET", f"{MEMORY}/sessions/old/messages?appId=chat"),
    )
    for use in uses:
        assert compressed() == ["new", "old"]
        api.ask("GET", versions("old")), api.ask("GET", f"{composition}?appId=chat")
        assert compressed() == ["new", "old"], "to look at what is known of it is no use"
        use()
        assert compressed() == ["new"]
        used = api.ask("GET", f"{MEMORY}/sessions/old?appId=chat")["usedAt"]
        assert datetime.fromisoformat(used) == api.clock.now()
        api.clock.advance(31 * 86_400)
    api.ask("POST", f"{MINE}/ageing/run?appId=chat", json={"dryRun": False})
    working = api.ask("GET", f"{MEMORY}/sessions/old/versions?appId=chat")["working"]
    assert working["settings"]["sessionDistance"] == 2, "distance goes by when a session took place"
