"""Compositions over HTTP: within budget, whole or not at all, and what is in one cannot be taken away."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from shared.base.errors import Conflict
from shared.contracts.jobs import JobKind
from shared.llm.calls import estimate_tokens
from shared.sessions.blocks import Block, BlockKind
from shared.sessions.models import BuildState
from tests.support.composing import DAY
from tests.support.compressing import long_talk
from tests.support.sessions import PROJECT, Sessions

MINE = f"/projects/{PROJECT}"
COMPOSE = f"{MINE}/compositions"


def at(composition: Any) -> str:
    return f"/compositions/{composition['compositionId']}"


def parts(sessions: Sessions, composition: Any) -> list[tuple[str, str]]:
    """Return who is in a composition, as which version."""
    shown = sessions.get(at(composition))
    assert [one["order"] for one in shown["components"]] == list(range(len(shown["components"])))
    return [(one["sessionId"], one["versionId"]) for one in shown["components"]]


def state(sessions: Sessions, composition: Any) -> str:
    return str(sessions.get(at(composition))["state"])


def look(sessions: Sessions) -> None:
    """Have the compositions that are due look for their versions; what compresses is left undone."""
    sessions.attempt(JobKind.COMPOSE_CONTEXT)


def working(sessions: Sessions, session_id: str = "s1") -> Any:
    return sessions.get(f"/sessions/{session_id}/versions")["working"]


def register_days(sessions: Sessions, exchanges: int, *names: str, marked: str = "") -> None:
    """Register sessions, one a day; ``marked`` stands in the first."""
    for day, name in enumerate(names, 1):
        sessions.shop.register(name, exchanges, at=DAY.replace(day=day), marked="" if day > 1 else marked)


def test_a_composition_is_asked_for_made_read_used_made_again_and_removed(sessions: Sessions) -> None:
    sessions.shop.register("s1", 4)
    body = {"name": "start", "components": [{"sessionId": "s1"}], "totalTokenBudget": 2000}
    made, repeated = (sessions.ask("POST", COMPOSE, 202, body, headers={"Idempotency-Key": "k1"}) for _ in range(2))
    assert made == repeated and made["composition"]["state"] == "working"
    assert made["job"]["kind"] == "compose_context"
    path = at(made["composition"])
    waiting = sessions.refused(409, "GET", path, format="markdown")
    assert waiting["code"] == "composition_not_ready" and waiting["details"]["job"] == made["job"]["jobId"]
    look(sessions)
    shown = sessions.get(path)
    assert parts(sessions, shown) == [("s1", "original")], "the original fits, and no version is made"
    assert sessions.house.jobs(kind=JobKind.COMPRESS_SESSION) == []
    assert (shown["state"], shown["uses"], shown["lastUsed"]) == ("ready", 0, None)
    assert sessions.house.counted("contexts_composed_total") == 1
    text = sessions.text(path, format="markdown")
    assert "Request 0 of s1" in text and "Part 1 of s1 is changed" in text
    assert estimate_tokens(text) == shown["totalTokens"] <= 2000
    lines = sessions.text(path, format="jsonl").splitlines()
    assert {json.loads(line)["sessionId"] for line in lines} == {shown["compositionId"]}
    for form, content in (("markdown", "text/markdown; charset=utf-8"), ("jsonl", "application/x-ndjson")):
        answer = sessions.api.send("GET", f"/api/memory{path}?appId=chat&format={form}")
        assert answer.headers["content-type"] == content
    for _ in range(2):
        used = sessions.ask("POST", f"{path}/used", body={"sessionId": "new-session"})
    assert (used["usedInSessions"], used["uses"]) == (["new-session"], 5)
    again = sessions.ask("POST", f"{path}/again", 202, {"name": "later"})["composition"]
    assert again["name"] == "later" and again["request"] == shown["request"]
    sessions.work_off()
    assert [one["name"] for one in sessions.get(COMPOSE)["compositions"]] == ["later", "start"]
    assert sessions.ask("DELETE", path)["success"]
    sessions.refused(404, "GET", path)
    assert {one.split("/")[1] for one in sessions.shop.files()} == {"later"}
    assert [one["name"] for one in sessions.manifest()["compositions"].values()] == ["later"]


def test_again_without_a_name_takes_the_place_of_the_former(sessions: Sessions) -> None:
    sessions.shop.register("s1", 4)
    path = at(sessions.compose("start", "s1"))
    look(sessions)
    again = sessions.ask("POST", f"{path}/again", 202)["composition"]
    assert again["state"] == "working"
    look(sessions)
    assert state(sessions, again) == "ready" and len(sessions.get(COMPOSE)["compositions"]) == 1


def test_a_preview_says_who_gets_what_and_writes_nothing(sessions: Sessions) -> None:
    register_days(sessions, 40, "old", "mid")
    sessions.shop.register("new", 2, at=DAY.replace(day=3))
    sessions.shop.version("mid", 1300)
    body = {"components": [{"sessionId": one} for one in ("new", "mid", "old")], "totalTokenBudget": 4000}
    seen = sessions.ask("POST", f"{COMPOSE}/preview", body=body)
    ways = [(one["sessionId"], one["way"], one["versionId"]) for one in seen["components"]]
    assert ways == [("new", "original", None), ("mid", "version", "v001"), ("old", "compress", None)]
    assert seen["compressions"] == 1 and seen["allocated"] <= 4000
    assert seen["components"][2]["settings"]["sessionDistance"] == 3
    assert sessions.house.jobs() == [] and sessions.get(COMPOSE)["compositions"] == []


def test_sessions_stand_in_the_order_of_the_request_unless_it_says_otherwise_and_are_used_by_it(
    sessions: Sessions,
) -> None:
    register_days(sessions, 30, "old", "mid", "new")
    for name in ("old", "mid", "new"):
        sessions.shop.version(name, 600)
    registered = sessions.get("/sessions/new")["lastAccessed"]
    sessions.api.clock.advance(60)
    for order, expected in (({}, ["mid", "new", "old"]), ({"order": "oldest-first"}, ["old", "mid", "new"])):
        made = sessions.compose("start", "mid", "new", "old", budget=2200, replace=True, **order)
        look(sessions)
        assert [name for name, _ in parts(sessions, made)] == expected
        text = sessions.shop.text("start")
        assert sorted(expected, key=lambda name: text.index(f"Session {name}")) == expected
    for name in expected:
        [version] = sessions.get(f"/sessions/{name}/versions")["versions"]
        assert version["uses"] == 2 and sessions.get(f"/sessions/{name}")["lastAccessed"] > registered


REFUSED: list[tuple[dict[str, Any], int, str]] = [
    ({"name": "../up"}, 422, "invalid"), ({"name": ".hidden"}, 422, "invalid"), ({"components": []}, 422, "invalid"),
    ({"components": [{"sessionId": "s1"}, {"sessionId": "s1"}]}, 422, "invalid"),
    ({"components": [{"sessionId": "s1", "allocation": 10}]}, 422, "invalid"), ({"strategy": "custom"}, 422, "invalid"),
    ({"strategy": "custom", "components": [{"sessionId": "s1", "allocation": 2001}]}, 422, "invalid"),
    ({"components": [{"sessionId": "nobody"}]}, 404, "not_found"),
    ({"components": [{"sessionId": "s1", "versionId": "v007"}]}, 404, "not_found"),
    ({"components": [{"sessionId": "stranger"}]}, 422, "session_not_in_project"),
    ({"totalTokenBudget": 99}, 422, "invalid"), ({"totalTokenBudget": True}, 422, "invalid"),
    ({"totalTokenBudget": 100}, 422, "budget_too_small"), ({"misspelt": 1}, 422, "invalid"),
    ({"model": "ollama:none"}, 422, "unknown_model"), ({"name": "taken"}, 409, "name_taken"),
]  # fmt: skip


def test_what_cannot_be_composed_is_refused_and_leaves_nothing(sessions: Sessions) -> None:
    register_days(sessions, 40, "s1", "s2", "s3")
    sessions.upload("stranger", project="other")
    sessions.compose("taken", {"sessionId": "s1", "versionId": "original"})
    three = [{"sessionId": name} for name in ("s1", "s2", "s3")]
    plain = {"name": "start", "components": three, "totalTokenBudget": 2000}
    for body, status, code in REFUSED:
        assert sessions.refused(status, "POST", COMPOSE, plain | body)["code"] == code, body
    assert len(sessions.house.jobs()) == 1 and len(sessions.get(COMPOSE)["compositions"]) == 1


DOCUMENTS = {
    None: ["composed.jsonl", "composed.md"], "markdown": ["composed.md"], "jsonl": ["composed.jsonl"],
}  # fmt: skip


@pytest.mark.parametrize("wanted", DOCUMENTS)
def test_only_the_documents_asked_for_are_written(sessions: Sessions, wanted: str | None) -> None:
    sessions.shop.register("s1", 2)
    made = sessions.compose("start", "s1", **({} if wanted is None else {"outputFormat": wanted}))
    look(sessions)
    files = DOCUMENTS[wanted]
    assert sessions.shop.files() == [f"composed/start/{name}" for name in (*files, "composition.json")]
    assert sessions.manifest()["compositions"][made["compositionId"]]["outputFile"] == f"composed/start/{files[-1]}"
    if wanted == "markdown":
        sessions.refused(404, "GET", at(made), format="jsonl")


def test_the_same_request_over_the_same_versions_gives_the_same_bytes(sessions: Sessions) -> None:
    sessions.shop.register("s1", 30)
    sessions.shop.version("s1", 600)
    texts = set()
    for _ in range(2):
        made = sessions.compose("start", "s1", budget=1000, replace=True)
        look(sessions)
        texts.add((made["compositionId"], *map(sessions.shop.text, ("start",) * 2, ("composed.md", "composed.jsonl"))))
        sessions.api.clock.advance(3600)
    assert len(texts) == 1


def test_what_does_not_fit_is_compressed_by_a_job_and_the_composition_waits_for_it(sessions: Sessions) -> None:
    sessions.shop.register("s1", 40)
    made = sessions.compose("start", "s1", budget=1000)
    version = working(sessions)
    assert (version["settings"]["mode"], version["settings"]["sessionDistance"]) == ("uniform", 1)
    assert version["reason"].startswith("for composition start")
    look(sessions)
    look(sessions)
    assert state(sessions, made) == "working"
    sessions.shop.finish("s1")
    look(sessions)  # Due at once, though it would have waited on.
    assert parts(sessions, made) == [("s1", "v001")] and state(sessions, made) == "ready"
    [component] = json.loads(sessions.shop.text("start", "composition.json"))["components"]
    recompressed, ratio = component["recompress"], version["settings"]["compactionRatio"]
    assert recompressed["settings"]["compactionRatio"] == ratio and recompressed["reason"]


def test_long_sessions_are_compressed_and_composed_without_anybody_looking_after_them(sessions: Sessions) -> None:
    register_days(sessions, 40, "old", "mid", "new", marked="##keepit1.00## Deploy only on Tuesdays.")
    made = sessions.compose("start", "old", "mid", "new", budget=3000)
    sessions.work_off()
    shown = sessions.get(at(made))
    assert shown["state"] == "ready" and 2000 < shown["totalTokens"] <= 3000
    assert parts(sessions, made) == [(name, "v001") for name in ("old", "mid", "new")]
    assert "Deploy only on Tuesdays." in sessions.shop.text("start")
    assert [job.state for job in sessions.house.jobs()] == ["done"] * 4


def test_the_longer_it_waits_the_more_rarely_it_looks(sessions: Sessions) -> None:
    sessions.shop.register("s1", 40)
    sessions.compose("start", "s1", budget=1000)
    seen = []
    for _ in range(18):
        look(sessions)
        [job] = sessions.house.jobs(kind=JobKind.COMPOSE_CONTEXT)
        seen.append((job.due_at - sessions.api.clock.now()).total_seconds())
        sessions.api.clock.advance(seen[-1])
    assert seen[0] == 5 and seen == sorted(seen) and seen[-1] == 60


def test_a_version_that_failed_fails_the_composition_which_chooses_anew_when_it_is_replayed_or_asked_for_again(
    sessions: Sessions,
) -> None:
    sessions.shop.register("s1", 40)
    made = sessions.compose("start", "s1", budget=1000)
    look(sessions)
    sessions.shop.finish("s1", state=BuildState.FAILED)
    look(sessions)
    failed = sessions.get(at(made))
    [job] = sessions.house.jobs(kind=JobKind.COMPOSE_CONTEXT)
    assert (failed["state"], job.state) == ("failed", "dead")
    assert "v001 of session s1 failed" in failed["failure"] == job.reason
    assert (failed["components"], sessions.shop.files()) == ([], [])
    sessions.shop.version("s1", 900)
    sessions.api.ask("POST", f"/jobs/{made['jobId']}/replay")
    look(sessions)
    assert (state(sessions, made), parts(sessions, made)) == ("ready", [("s1", "v002")])


def test_a_version_that_is_being_made_is_joined_and_followed_by_another_where_it_does_not_serve(
    sessions: Sessions,
) -> None:
    sessions.shop.register("s1", 40)
    large = sessions.compose("large", "s1", budget=3000)
    likewise = sessions.compose("likewise", "s1", budget=3100)
    small = sessions.compose("small", "s1", budget=500)
    assert [job.state for job in sessions.house.jobs(kind=JobKind.COMPRESS_SESSION)] == ["pending"]
    assert parts(sessions, likewise) == parts(sessions, large) == [("s1", "v001")]
    look(sessions)
    sessions.shop.finish("s1", tokens=2000)
    look(sessions)
    assert [state(sessions, one) for one in (large, likewise, small)] == ["ready", "ready", "working"]
    assert working(sessions)["versionId"] == "v002"
    sessions.shop.finish("s1", tokens=350)
    look(sessions)
    assert parts(sessions, small) == [("s1", "v002")] and state(sessions, small) == "ready"
    assert parts(sessions, likewise) == [("s1", "v001")]


def test_pinned_parts_beyond_the_budget_are_refused_with_what_it_takes(sessions: Sessions) -> None:
    sessions.shop.register("s1", 40)
    sessions.shop.version_of("s1", [Block(BlockKind.KEEPIT, "user", "k" * 4000, is_pinned=True, marker_ids=("m",))])
    made = sessions.compose("start", {"sessionId": "s1", "versionId": "v001"}, budget=900)
    look(sessions)
    failed = sessions.get(at(made))
    assert failed["state"] == "failed" and sessions.shop.files() == []
    assert failed["failure"].startswith("budget_too_small") and "ask for at least 10" in failed["failure"]


def test_a_message_with_a_pinned_mark_stays_whole_in_an_original(sessions: Sessions) -> None:
    kept = "##keepit1.00## Deploy only on Tuesdays"
    sessions.shop.register("s1", 12, marked=kept)
    sessions.compose("start", {"sessionId": "s1", "versionId": "original"}, budget=300)
    look(sessions)
    assert kept in sessions.shop.text("start") and kept in sessions.shop.text("start", "composed.jsonl")
    assert estimate_tokens(sessions.shop.text("start")) <= 300


def test_a_session_of_a_linked_project_can_be_in_it_and_is_named_so(sessions: Sessions) -> None:
    sessions.shop.register("s1", 2)
    sessions.upload("theirs", project="lib")
    link = {"sourceProject": "lib", "sourceSession": "theirs", "reason": "shared"}
    sessions.ask("POST", f"{MINE}/links", 201, link)
    sessions.compose("start", "s1", "theirs", budget=4000)
    look(sessions)
    assert "## Session theirs of " in sessions.shop.text("start")


@pytest.mark.parametrize("erased", ["itself", "with what is remembered"])
def test_one_that_is_removed_while_it_is_made_leaves_nothing(sessions: Sessions, erased: str) -> None:
    sessions.shop.register("s1", 2)
    made = sessions.compose("start", "s1")
    [claim] = sessions.house.claims()
    if erased == "itself":
        sessions.ask("DELETE", at(made))
        change = sessions.get(f"{MINE}/changes")["changes"][0]
        assert (change["kind"], change["before"]["name"], change["actor"]) == ("removed", "start", "admin")
    else:
        sessions.api.ask("DELETE", "/apps/chat/memories")
    with pytest.raises(Conflict):
        sessions.house.pipeline_of(claim.kind)(claim)
    assert [job.state for job in sessions.house.jobs()] == ["cancelled"] and sessions.shop.files() == []


def test_a_document_that_was_damaged_is_not_handed_out(sessions: Sessions) -> None:
    sessions.shop.register("s1", 4)
    made = sessions.compose("start", "s1")
    look(sessions)
    (sessions.store.composition_folder("chat", PROJECT, "start") / "composed.md").write_text("Other words")
    assert sessions.refused(409, "GET", at(made), format="markdown")["code"] == "composition_damaged"


def test_listings_are_narrowed_and_go_on(sessions: Sessions) -> None:
    register_days(sessions, 4, "s1", "s2")
    for name, session in (("a", "s1"), ("b", "s2"), ("c", "s1")):
        sessions.compose(name, session)
    look(sessions)

    def named(**params: Any) -> list[str]:
        return [one["name"] for one in sessions.get(COMPOSE, **params)["compositions"]]

    assert named(sessionId="s1") == ["c", "a"] and named(state="failed") == []
    first = sessions.get(COMPOSE, limit=2)
    assert named(limit=2, cursor=first["cursor"]) == ["a"]


def race(*requests: tuple[str, str, Any]) -> Callable[[Sessions], list[str]]:
    """Send requests at once; return the state or the code of each answer."""

    def run(sessions: Sessions) -> list[str]:
        gate, outcomes = threading.Barrier(len(requests)), list[str]()

        def send(method: str, path: str, body: Any) -> None:
            gate.wait()
            answer = sessions.api.send(method, f"/api/memory{path}", params={"appId": "chat"}, json=body).json()
            outcomes.append(answer["error"]["code"] if "error" in answer else "done")

        threads = [threading.Thread(target=send, args=one) for one in requests]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(outcomes)

    return run


_PART = {"sessionId": "s1", "versionId": "v001"}
_START = ("POST", COMPOSE, {"name": "start", "components": [_PART], "totalTokenBudget": 2000})
RACES = {
    "two of one name": (race(_START, _START), [["done", "name_taken"]]),
    "a request and an unregistering": (
        race(_START, ("DELETE", f"{MINE}/sessions/s1", None)), [["done", "version_in_use"], ["done", "not_found"]],
    ),
    "a request and the removal of its version": (
        race(_START, ("DELETE", "/sessions/s1/versions/v001", None)), [["done", "version_in_use"],
                                                                        ["done", "not_found"]],
    ),
}  # fmt: skip


@pytest.mark.both_databases
@pytest.mark.parametrize("name", RACES)
def test_of_two_that_ask_at_once_one_wins(sessions: Sessions, name: str) -> None:
    sessions.shop.register("s1", 40)
    sessions.shop.version("s1", 900)
    run, expected = RACES[name]
    assert run(sessions) in expected


def versions_in(sessions: Sessions, name: str, component: str | dict[str, Any], **more: Any) -> tuple[str, str]:
    """Return as which version a session went into a composition, and what that says."""
    made = sessions.compose(name, component, budget=600, **more)
    sessions.work_off()
    (used,) = parts(sessions, made)
    return used[1], sessions.text(at(made), format="markdown")


def test_what_was_asked_since_a_version_was_made_is_in_a_composition(sessions: Sessions) -> None:
    said = long_talk(sessions.shelf.transcript("s1"), 12)
    sessions.shelf.add(said, PROJECT, "chat")
    assert versions_in(sessions, "before", "s1")[0] == "v001"
    sessions.shelf.sync(said.human("And now paint_everything_green."), "chat")
    version, text = versions_in(sessions, "since", "s1")
    assert version == "v002" and "paint_everything_green" in text and "since it was made" not in text
    version, text = versions_in(sessions, "any", "s1", minFreshness=10, strategy="equal")
    assert version == "v002"
    # Whoever names the old one gets it, and is told what it is.
    version, text = versions_in(sessions, "named", {"sessionId": "s1", "versionId": "v001"})
    assert "v001, without what was said since it was made)" in text and "paint_everything_green" not in text


def test_a_version_without_the_beginning_is_only_in_a_composition_by_its_name(sessions: Sessions) -> None:
    sessions.shelf.add(long_talk(sessions.shelf.transcript("s1").human("Begin with the tail."), 12), PROJECT, "chat")
    skipped = sessions.compress("s1", mode="uniform", compactionRatio=10, skipFirstMessages=4)["version"]
    assert skipped["statistics"]["skippedMessages"] == 4
    from_it = sessions.compress("s1", mode="uniform", compactionRatio=2, sourceVersion="v001")["version"]
    assert from_it["statistics"]["skippedMessages"] == 4
    version, text = versions_in(sessions, "whole", "s1")
    assert version == "v003" and "without its first" not in text
    named = {"sessionId": "s1", "versionId": "v001"}
    assert "v001, without its first 4 messages)" in versions_in(sessions, "named", named)[1]
    body = {"name": "n", "components": [named], "totalTokenBudget": 600}
    [foreseen] = sessions.ask("POST", f"{COMPOSE}/preview", 200, body)["components"]
    assert foreseen["reason"] == "it skips the first 4 messages"
