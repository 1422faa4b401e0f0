"""Ageing and pruning over HTTP: shown before it is done, never what is in use, each removal with who and why."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from loop.steps.sessions import AgeSessions
from shared.contracts.jobs import JobKind
from shared.sessions.models import BuildState
from tests.support.composing import DAY
from tests.support.sessions import PROJECT, Sessions

MINE = f"/projects/{PROJECT}"
AGEING, PRUNE = f"{MINE}/ageing", f"{MINE}/prune"
AGGRESSIVE = {"tierPreset": "aggressive"}


def register(sessions: Sessions, session_id: str = "s1", days: float = 0, versions: int = 0, tokens: int = 300) -> None:
    """Register a session of so many days ago, with so many versions made by hand."""
    sessions.shop.register(session_id, 40, at=sessions.api.clock.now() - timedelta(days=days))
    for _ in range(versions):
        sessions.shop.version(session_id, tokens)


def rules(sessions: Sessions, **given: Any) -> Any:
    return sessions.ask("PUT", AGEING, body={"retention": None, "autoDecay": None} | given)


def newest(count: int) -> dict[str, Any]:
    return {"retention": {"keep": "newest", "count": count}}


def decay(sessions: Sessions, **given: Any) -> None:
    rules(sessions, autoDecay={"enabled": True} | given)


def ids(sessions: Sessions, session_id: str = "s1") -> list[int]:
    """Return the numbers of the versions of a session that are whole; their files are those and no others."""
    listed = sessions.get(f"/sessions/{session_id}/versions")["versions"]
    found = sorted(int(one["versionId"][1:]) for one in listed)
    assert {f"v{number:03d}" for number in found} == {one[:4] for one in files(sessions, session_id)}
    return found


def files(sessions: Sessions, session_id: str) -> set[str]:
    folder = sessions.store.versions_folder("chat", PROJECT, session_id)
    return {one.name for one in folder.glob("v*_made.*")}


class Tick:
    """The loop's step, as it stays from tick to tick."""

    def __init__(self, sessions: Sessions) -> None:
        loop = sessions.api.loop
        self.sessions = sessions
        self.step = AgeSessions(loop.database, loop.clock, loop.store, loop.metrics, loop.settings)

    def after(self, days: float = 0.0) -> Any:
        """Let time pass and the step run; return what the last run of the project said."""
        self.sessions.api.clock.advance(days * 86_400)
        assert not self.step.run()
        return self.sessions.get(AGEING)["lastPlan"]


def compressions(sessions: Sessions) -> int:
    return len(sessions.house.jobs(kind=JobKind.COMPRESS_SESSION))


def removals(sessions: Sessions) -> list[Any]:
    return [one for one in sessions.get(f"{MINE}/changes")["changes"] if one["kind"] == "removed"]


def removed_total(sessions: Sessions, reason: str) -> float:
    return float(sessions.api.loop.metrics.versions_removed.labels(reason)._value.get())


def test_ageing_is_changed_shown_and_run(sessions: Sessions) -> None:
    register(sessions, versions=2)
    shown = sessions.get(AGEING)
    assert shown["retention"] == {"keep": "all", "count": None, "days": None}
    assert shown["autoDecay"]["rules"] == {
        "createAfterDays": 7, "createPreset": "standard", "aggressiveAfterDays": 30, "aggressivePreset": "aggressive",
        "pruneIntermediateAfterDays": 60,
    }  # fmt: skip
    changed = sessions.ask("PUT", AGEING, body=newest(1))
    assert (changed["shown"], changed["autoDecay"]) == (False, shown["autoDecay"])
    assert sessions.refused(409, "POST", f"{AGEING}/run", {"dryRun": False})["code"] == "dry_run_first"
    plan = sessions.ask("POST", f"{AGEING}/run")
    assert plan["dryRun"] and [one["versionId"] for one in plan["plan"]["remove"]] == ["v001"]
    assert ids(sessions) == [1, 2] and sessions.get(AGEING)["lastPlan"]["plan"] == plan["plan"]
    assert sessions.ask("POST", f"{AGEING}/run", body={"dryRun": False})["plan"] == plan["plan"]
    assert sessions.get(AGEING)["lastPlan"]["dryRun"] is False and ids(sessions) == [2]
    for wrong in ({"retention": {"keep": "newest"}}, {"retention": {"keep": "all", "count": 3}},
                  {"retention": {"keep": "days", "count": 3}}, {"autoDecay": {"rules": {"createAfterDays": 31}}},
                  {"autoDecay": {"rules": {"createPreset": "custom"}}},
                  {"autoDecay": {"schedule": "hourly"}}):  # fmt: skip
        sessions.refused(422, "PUT", AGEING, wrong)


def test_the_first_run_after_enabling_only_shows_what_the_next_one_does(sessions: Sessions) -> None:
    register(sessions, days=8)
    decay(sessions)
    tick = Tick(sessions)
    shown = tick.after()
    assert shown["dryRun"] is True
    assert shown["plan"]["compress"] == [{"sessionId": "s1", "preset": "standard", "reason": "7 days old, no version"}]
    tick.after(0.9)
    assert sessions.house.jobs() == []
    done = tick.after(0.2)
    assert done["dryRun"] is False and done["plan"] == shown["plan"]
    [job] = sessions.house.jobs(kind=JobKind.COMPRESS_SESSION)
    assert job.state == "pending" and job.priority == 9
    working = sessions.get("/sessions/s1/versions")["working"]
    assert (working["askedBy"], working["reason"]) == ("rule:auto_decay", "7 days old, no version")
    assert working["settings"]["tierPreset"] == "standard"
    for _ in range(3):
        tick.after(1.1)
    assert compressions(sessions) == 1, "one at a time"


def test_a_session_is_compressed_further_with_age_and_then_kept_as_that_alone(sessions: Sessions) -> None:
    register(sessions, days=28, versions=1, tokens=900)
    decay(sessions)
    tick = Tick(sessions)
    assert tick.after()["plan"]["counts"] == {"compress": 0, "remove": 0, "keep": 0}
    assert tick.after(3)["plan"]["compress"][0]["preset"] == "aggressive"
    sessions.shop.finish("s1", tokens=300)
    sessions.api.clock.advance(86_400)
    assert ids(sessions) == [1, 2]
    done = tick.after(29)
    assert [(one["versionId"], one["for"]) for one in done["plan"]["remove"]] == [("v001", "decay")]
    assert ids(sessions) == [2]
    [removal] = removals(sessions)
    assert (removal["actor"], removal["subject"], removal["sessionId"]) == ("rule:auto_decay", "v001", "s1")
    assert "60 days old" in removal["reason"] and removal["before"]["outputTokens"] > 0
    assert removed_total(sessions, "decay") == 1


def test_what_a_composition_uses_is_never_removed_by_a_rule(sessions: Sessions) -> None:
    register(sessions, days=100, versions=1, tokens=900)
    sessions.shop.version("s1", 300, settings=AGGRESSIVE)
    sessions.compose("start", "s1", budget=1100)
    sessions.api.clock.advance(3 * 86_400)
    rules(sessions, autoDecay={"enabled": True}, **newest(1))
    tick = Tick(sessions)
    plan = tick.after()["plan"]
    assert plan["remove"] == [] and [one["usedIn"] for one in plan["keep"]] == [["start"], ["start"]]
    for _ in range(3):
        tick.after(2)
    assert ids(sessions) == [1, 2]


def test_retention_keeps_the_newest_and_never_the_last_of_none(sessions: Sessions) -> None:
    register(sessions, "s1", versions=3)
    register(sessions, "s2", versions=1)
    rules(sessions, retention={"keep": "days", "days": 5})
    tick = Tick(sessions)
    tick.after(10)
    assert (ids(sessions), ids(sessions, "s2")) == ([1, 2, 3], [1])
    tick.after(2)
    assert (ids(sessions), ids(sessions, "s2")) == ([3], [1])
    assert {one["actor"] for one in removals(sessions)} == {"rule:retention"}
    assert removed_total(sessions, "retention") == 2


def test_what_an_app_keeps_holds_for_projects_that_do_not_say(sessions: Sessions) -> None:
    register(sessions, versions=3)
    tick = Tick(sessions)
    assert tick.after() is None, "nothing is asked for yet"
    sessions.api.ask("PATCH", "/apps/chat/session-settings", json={"storage": {"compressionRetention": 2}})
    assert sessions.get(AGEING)["retention"]["count"] == 2
    assert tick.after()["dryRun"] is True
    tick.after(1)
    assert ids(sessions) == [2, 3]
    days = sessions.ask("PUT", AGEING, body={"retention": {"keep": "days", "days": 9}})
    assert days["retention"]["days"] == 9
    assert sessions.manifest()["settings"]["compressionRetention"] == "9 days"
    assert rules(sessions)["retention"]["count"] == 2
    assert sessions.ask("PUT", AGEING, body={"autoDecay": {"enabled": True}})["retention"]["count"] == 2
    settings = {"settings": {"compressionRetention": 1}}
    assert sessions.ask("PATCH", MINE, body=settings)["settings"]["compressionRetention"] == 1
    assert sessions.get(AGEING)["retention"]["count"] == 1
    rules(sessions, retention={"keep": "all"})
    sessions.shop.version("s1", 300)
    for _ in range(2):
        tick.after(2)
    assert ids(sessions) == [2, 3, 4], "the project says that all stay"


def test_changed_rules_are_shown_again_before_they_are_followed(sessions: Sessions) -> None:
    register(sessions, versions=3)
    rules(sessions, **newest(2))
    tick = Tick(sessions)
    tick.after()
    tick.after(1.1)
    assert ids(sessions) == [2, 3]
    rules(sessions, **newest(1))
    assert tick.after(0.01)["dryRun"] is True and ids(sessions) == [2, 3]
    tick.after(1.1)
    assert ids(sessions) == [3]


@pytest.mark.parametrize("how", ["rules that were switched off", "an app that was uninstalled"])
def test_what_was_switched_off_is_not_followed(sessions: Sessions, how: str) -> None:
    register(sessions, days=8)
    decay(sessions)
    tick = Tick(sessions)
    shown = tick.after()
    if how.startswith("rules"):
        rules(sessions)
    else:
        sessions.api.ask("DELETE", "/apps/chat")
    for _ in range(3):
        sessions.api.clock.advance(2 * 86_400)
        tick.step.run()
    assert compressions(sessions) == 0 and sessions.get(AGEING)["lastPlan"] == shown


def test_on_access_waits_until_the_project_is_used(sessions: Sessions) -> None:
    register(sessions, days=8)
    register(sessions, "s2", versions=1)
    decay(sessions, schedule="on-access")
    tick = Tick(sessions)
    tick.after()
    tick.after(30)
    assert sessions.house.jobs() == []
    sessions.text("/sessions/s2/versions/v001", format="markdown")
    sessions.api.clock.advance(7200)
    tick.after()
    assert compressions(sessions) >= 1


def test_a_version_that_fails_again_and_again_is_not_asked_for_for_ever(sessions: Sessions) -> None:
    register(sessions, days=8)
    decay(sessions)
    tick = Tick(sessions)
    tick.after()
    for asked in (1, 2, 3, 3, 3):
        tick.after(1.1)
        assert compressions(sessions) == asked
        if sessions.get("/sessions/s1/versions")["working"]:
            sessions.shop.finish("s1", state=BuildState.FAILED)


def test_pruning_shows_before_it_removes_and_refuses_what_is_in_use(sessions: Sessions) -> None:
    register(sessions, versions=1, tokens=1800)
    sessions.shop.version("s1", 300)
    sessions.compose("start", "s1")
    dry = sessions.ask("POST", PRUNE, body={"unused": True})
    assert (dry["dryRun"], [one["versionId"] for one in dry["removed"]]) == (True, ["v002"])
    assert [(one["versionId"], one["usedIn"]) for one in dry["kept"]] == [("v001", ["start"])]
    assert dry["warnings"] == ["s1 v001 stays: in use by start"] and ids(sessions) == [1, 2]
    named = {"dryRun": False, "versions": [{"sessionId": "s1", "versionId": f"v00{n}"} for n in (1, 2)]}
    refused = sessions.refused(409, "POST", PRUNE, named)
    assert refused["code"] == "version_in_use" and "start" in refused["message"]
    done = sessions.ask("POST", PRUNE, body={"unused": True, "dryRun": False})
    assert [one["versionId"] for one in done["removed"]] == ["v002"] and done["tokens"] > 0 and ids(sessions) == [1]
    [removal] = removals(sessions)
    assert (removal["actor"], removal["reason"]) == ("admin", "never used")
    left = sessions.ask("POST", PRUNE, body={"unused": True})
    assert (left["removed"], [one["versionId"] for one in left["kept"]]) == ([], ["v001"])
    for wrong in ({}, {"unused": True, "versions": []}, {"olderThanDays": -1}):
        sessions.refused(422, "POST", PRUNE, wrong)
    for session_id, version_id in (("s1", "v009"), ("s9", "v001")):
        sessions.refused(404, "POST", PRUNE, {"versions": [{"sessionId": session_id, "versionId": version_id}]})


def test_a_session_that_is_used_grows_old_anew_and_keeps_its_distance(sessions: Sessions) -> None:
    for name, day in (("old", 1), ("new", 2)):
        sessions.shop.register(name, 40, at=DAY.replace(day=day))
        sessions.shop.version(name, 300)
    composition = (
        f"/compositions/{sessions.compose('start', {'sessionId': 'old', 'versionId': 'v001'})['compositionId']}"
    )
    sessions.attempt(JobKind.COMPOSE_CONTEXT)
    sessions.ask("PUT", AGEING, body={"autoDecay": {"enabled": True}})
    sessions.api.clock.advance(90 * 86_400)
    version = "/sessions/old/versions/v001"

    def compressed() -> list[str]:
        plan = sessions.ask("POST", f"{AGEING}/run")["plan"]
        return sorted(one["sessionId"] for one in plan["compress"])

    uses = (
        lambda: sessions.text(version, format="markdown"), lambda: sessions.text(composition, format="jsonl"),
        lambda: sessions.ask("POST", f"{composition}/used", body={"sessionId": "next"}),
        lambda: sessions.get("/sessions/old/messages"),
    )  # fmt: skip
    for use in uses:
        assert compressed() == ["new", "old"]
        sessions.get(version), sessions.get(composition)
        assert compressed() == ["new", "old"], "to look at what is known of it is no use"
        use()
        assert compressed() == ["new"]
        assert datetime.fromisoformat(sessions.get("/sessions/old")["usedAt"]) == sessions.api.clock.now()
        sessions.api.clock.advance(31 * 86_400)
    sessions.ask("POST", f"{AGEING}/run", body={"dryRun": False})
    working = sessions.get("/sessions/old/versions")["working"]
    assert working["settings"]["sessionDistance"] == 2, "distance goes by when a session took place"


def test_no_version_of_the_original_is_superseded_by_one_made_of_a_version(sessions: Sessions) -> None:
    register(sessions)
    ratio = {"mode": "uniform", "compactionRatio": 3}
    for source in ({}, {"sourceVersion": "v001"}):
        sessions.compress(**ratio, **source)
    assert sessions.ask("POST", PRUNE, body={"superseded": True})["removed"] == []
    sessions.compress(**ratio)
    [gone] = sessions.ask("POST", PRUNE, body={"superseded": True})["removed"]
    assert (gone["versionId"], gone["reason"]) == ("v001", "superseded by v003")
