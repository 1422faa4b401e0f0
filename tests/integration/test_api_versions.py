"""Versions over HTTP: foreseen, whole or not at all, made once, reproducible, and never under another's name."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from shared.apps.queries import lock_app
from shared.base.errors import Transient
from shared.llm.calls import estimate_tokens
from shared.sessions.blocks import Block, BlockKind, RecordedToolCall
from shared.sessions.compress.queries import find_version, parts_of
from shared.sessions.models import SessionVersion, VersionPart
from shared.sessions.queries import get_session
from shared.sessions.recording import blocks_in
from tests.support.compressing import long_talk
from tests.support.sessions import PROJECT, Sessions
from tests.support.transcripts import assistant, lines, tool, user

VERSIONS = "/sessions/s1/versions"
UNIFORM = {"mode": "uniform", "compactionRatio": 5}
LIGHT = {"mode": "uniform", "compactionRatio": 20}
MARKED = "##keepit1.00## The key of the kite shed\n    is under  the mat.\t\n\n##keepit0.20## They are red."
PINNED = "The key of the kite shed\n    is under  the mat."


@pytest.fixture
def sessions(sessions: Sessions) -> Sessions:
    """A session ``s1`` of 31 prompts with two marks, and the model that does what a test says."""
    said = sessions.shelf.transcript("s1").human(MARKED)
    sessions.shelf.add(long_talk(said, 30), PROJECT, "chat")
    return sessions


def ask(sessions: Sessions, session_id: str = "s1", **body: Any) -> Any:
    return sessions.ask("POST", f"/sessions/{session_id}/versions", 202, body or UNIFORM)


def ask_model(sessions: Sessions) -> SessionVersion:
    """Ask for a version by a model, which no setting of the service names; return its row."""
    version_id = ask(sessions)["versionId"]
    with sessions.house.database.write() as session:
        version = _row(sessions, session, version_id)
        version.settings = version.settings | {"model": sessions.press.scripted.name}
    return version


def _row(sessions: Sessions, session: Any, version_id: str) -> SessionVersion:
    version = find_version(session, get_session(session, "chat", "s1").key, version_id)
    assert version is not None
    return version


def parts(sessions: Sessions, version: SessionVersion) -> list[VersionPart]:
    with sessions.house.database.read() as session:
        return list(parts_of(session, version.key).values())


def listed(sessions: Sessions, session_id: str = "s1") -> list[str]:
    found = sessions.get(f"/sessions/{session_id}/versions")["versions"]
    return [one["versionId"] for one in found]


def test_a_version_is_asked_for_made_and_read_in_three_forms(sessions: Sessions) -> None:
    made = ask(sessions, **UNIFORM, reason="for the new start")
    assert (made["versionId"], made["job"]["kind"], made["job"]["state"]) == ("v001", "compress_session", "pending")
    job = sessions.get(f"/jobs/{made['job']['jobId']}")
    assert (job["versionId"], job["sessionId"], job["progress"]) == ("v001", "s1", {"done": 0, "total": 0})
    waiting = sessions.get(VERSIONS)
    assert (waiting["versions"], waiting["working"]["versionId"]) == ([], "v001")
    sessions.work_off()
    [version] = sessions.get(VERSIONS)["versions"]
    assert version["keepitStats"] == {"preserved": 2, "summarized": 0, "weights": {"1.00": 1, "0.20": 1}}
    assert version["reason"] == "for the new start" and version["settings"]["model"] == "extractive"
    assert version["file"] == f"v001_uniform-minimal_{max(1, round(version['outputTokens'] / 1000))}k"
    assert sessions.press.files("s1") == [f"{version['file']}.jsonl", f"{version['file']}.md"]
    assert version["inputTokens"] == sessions.get("/sessions/s1")["originalTokens"]
    assert version["compressionRatio"] == pytest.approx(5, rel=0.2) and version["statistics"]["note"] is None
    read = sessions.get(f"{VERSIONS}/v001")
    assert read["version"] == version and estimate_tokens(read["content"]) == version["outputTokens"]
    assert sessions.text(f"{VERSIONS}/v001", format="markdown") == read["content"]
    records = [json.loads(line) for line in sessions.text(f"{VERSIONS}/v001", format="jsonl").splitlines()]
    said = [own for one in records if one["type"] != "system" for own in one["afterthought"]["blocks"] if "kind" in own]
    assert len(said) == version["outputMessages"]
    for form, content in (("markdown", "text/markdown; charset=utf-8"), ("jsonl", "application/x-ndjson")):
        answer = sessions.api.send("GET", f"/api/memory{VERSIONS}/v001?appId=chat&format={form}")
        assert answer.headers["content-type"] == content
    assert version["why"].startswith("Left out: ") and "tool calls" in version["why"]
    assert sessions.get(VERSIONS)["versions"][0]["uses"] == 4
    [job] = sessions.get("/jobs")["jobs"]
    assert job["state"] == "done" and job["progress"]["done"] == job["progress"]["total"] > 0
    [entry] = sessions.manifest()["sessions"]["s1"]["compressions"]
    assert entry["versionId"] == "v001" and entry["settings"]["mode"] == "uniform"
    house = sessions.house
    assert house.counted("sessions_compressed_total", agent="extractive") == 1
    assert house.counted("session_tokens_total", side="output") == version["outputTokens"]
    mine = {"token": sessions.api.token("chat")}
    assert sessions.get(f"{VERSIONS}/v001", **mine)["version"]["versionId"] == "v001"
    for name in sessions.press.files("s1"):
        (sessions.press.folder("s1") / name).unlink()
    assert sessions.refused(409, "GET", f"{VERSIONS}/v001", format="markdown")["code"] == "source_gone"


def test_what_is_foreseen_is_what_comes_of_it_and_leaves_nothing_behind(sessions: Sessions) -> None:
    path = sessions.api.client.get("/openapi.json").json()["paths"]["/api/memory/sessions/{sessionId}/versions"]
    assert {"200", "202"} <= path["post"]["responses"].keys()
    foreseen = sessions.ask("POST", VERSIONS, 200, LIGHT | {"dryRun": True})["foreseen"]
    assert [one["survives"] for one in foreseen["markers"]] == [True, False]
    assert (foreseen["preserved"], foreseen["summarized"], foreseen["thresholds"]) == (1, 1, [0.52])
    assert sessions.get("/jobs")["jobs"] == []
    version = sessions.compress(**LIGHT)["version"]
    assert version["outputTokens"] == pytest.approx(foreseen["outputTokens"], rel=0.1)
    assert version["compressionRatio"] == pytest.approx(20, rel=0.2)


def test_of_a_long_session_a_sample_is_compressed_and_every_marked_part_is_decided(sessions: Sessions) -> None:
    said = sessions.shelf.transcript("long").human("##keepit0.60## Early")
    sessions.shelf.add(long_talk(said, 400).human("##keepit0.20## Late"), PROJECT, "chat")
    for settings in (LIGHT, {"tierPreset": "aggressive", "sessionDistance": 10}):
        foreseen = sessions.ask("POST", "/sessions/long/versions", 200, settings | {"dryRun": True})["foreseen"]
        assert foreseen["isSampled"] and foreseen["inputTokens"] > 50_000 and foreseen["thresholds"]
        version = sessions.compress("long", **settings)["version"]
        known = version["inputTokens"], version["statistics"]["messagesBefore"]
        assert (foreseen["inputTokens"], foreseen["inputMessages"]) == known
        for name, rel in (("outputTokens", 0.1), ("compressionRatio", 0.1), ("outputMessages", 0.35)):
            assert foreseen[name] == pytest.approx(version[name], rel=rel)
        assert all(foreseen[name] == version["keepitStats"][name] for name in ("preserved", "summarized"))


def test_the_same_settings_over_the_same_bytes_give_the_same_files(sessions: Sessions) -> None:
    texts = [tuple(sessions.text(f"{VERSIONS}/v00{number}", format=form) for form in ("markdown", "jsonl"))
             for number, ratio in enumerate((10, 10, 11), 1)
             if sessions.compress(mode="uniform", compactionRatio=ratio)]  # fmt: skip
    assert texts[0][0] == texts[1][0] != texts[2][0]
    with sessions.house.database.read() as session:
        digests = [_row(sessions, session, f"v00{number}").digests for number in (1, 2, 3)]
    assert digests[0] == digests[1] != digests[2]


def test_what_a_session_says_after_it_was_asked_for_is_left_to_the_next_version(sessions: Sessions) -> None:
    transcript = long_talk(sessions.shelf.transcript("s2"), 10)
    sessions.shelf.add(transcript, PROJECT, "chat")
    before = sessions.compress("s2", **UNIFORM)
    ask(sessions, "s2")
    sessions.shelf.sync(transcript.human("And now paint_everything_green."), "chat")
    sessions.work_off()
    assert sessions.get("/sessions/s2/versions/v002")["content"] == before["content"]
    assert "paint_everything_green" in sessions.compress("s2", **UNIFORM)["content"]


TIER = {"endPercent": 100, "compactionRatio": 3, "aggressiveness": "minimal"}
EARLY = TIER | {"endPercent": 90}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a ratio of 1": ({"mode": "uniform", "compactionRatio": 1}, "greater than or equal to 2"),
    "a ratio of 101": ({"mode": "uniform", "compactionRatio": 101}, "less than or equal to 100"),
    "tiers with the uniform mode": ({"mode": "uniform", "tierPreset": "gentle"}, "uniform mode takes"),
    "a ratio with the tiered mode": ({"compactionRatio": 5}, "tiered mode takes"),
    "a manner with the tiered mode": ({"aggressiveness": "minimal"}, "tiered mode takes"),
    "custom without tiers": ({"tierPreset": "custom"}, "go together"),
    "tiers and a preset": ({"tierPreset": "gentle", "customTiers": [TIER]}, "go together"),
    "tiers that end early": ({"customTiers": [EARLY]}, "ascend"), "no tiers": ({"customTiers": []}, "ascend"),
    "tiers alike": ({"customTiers": [EARLY, EARLY, TIER]}, "ascend"),
    "tiers that descend": ({"customTiers": [TIER, EARLY]}, "ascend"),
    "a tier of 101": ({"customTiers": [TIER | {"compactionRatio": 101}]}, "less than or equal to 100"),
    "a distance of 0": ({"sessionDistance": 0}, "greater than or equal to 1"),
    "less than none skipped": ({"skipFirstMessages": -1}, "greater than or equal to 0"),
    "an unknown mode of marks": ({"keepitMode": "forget"}, "decay"),
    "an unknown model": ({"model": "ollama:nobody"}, "ollama:nobody"),
    "an unknown field": ({"tierpreset": "gentle"}, "tierpreset"),
    "a source that is no version": ({"sourceVersion": "latest"}, "sourceVersion"),
}  # fmt: skip


def test_bad_settings_are_refused_before_anything_is_asked_for(sessions: Sessions) -> None:
    for name, (body, word) in REFUSED.items():
        assert word in sessions.refused(422, "POST", VERSIONS, body)["message"], name
    assert sessions.get(VERSIONS)["working"] is None


def test_one_version_of_a_session_is_made_at_a_time_and_one_key_asks_once(sessions: Sessions) -> None:
    key = {"Idempotency-Key": "k1"}
    first, again = (sessions.ask("POST", VERSIONS, 202, UNIFORM, headers=key) for _ in range(2))
    assert first == again
    error = sessions.refused(409, "POST", VERSIONS, LIGHT)
    assert (error["code"], error["details"]["versionId"]) == ("compression_running", "v001")
    sessions.work_off()
    assert ask(sessions, **LIGHT)["versionId"] == "v002" and len(sessions.press.jobs()) == 2


@pytest.mark.both_databases
def test_of_two_who_ask_at_once_one_is_refused(sessions: Sessions) -> None:
    gate, outcomes = threading.Barrier(2), list[int]()

    def send(body: dict[str, Any]) -> None:
        gate.wait()
        outcomes.append(sessions.api.send("POST", f"/api/memory{VERSIONS}?appId=chat", json=body).status_code)

    askers = [threading.Thread(target=send, args=(body,)) for body in (UNIFORM, LIGHT)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert sorted(outcomes) == [202, 409] and len(sessions.press.jobs()) == 1


def test_a_version_is_removed_with_its_files_and_its_id_stays_used(sessions: Sessions) -> None:
    for _ in range(2):
        sessions.compress(**UNIFORM)
    ask(sessions, **LIGHT, sourceVersion="v002")
    error = sessions.refused(409, "DELETE", f"{VERSIONS}/v002")
    assert (error["code"], error["details"]["versionId"]) == ("version_in_use", "v003")
    sessions.work_off()
    sessions.ask("DELETE", f"{VERSIONS}/v002")
    found = sessions.get(VERSIONS)["versions"]
    assert [(one["versionId"], one["sourceVersion"]) for one in found] == [("v003", "v002"), ("v001", None)]
    assert not [name for name in sessions.press.files("s1") if name.startswith("v002")]
    written = json.loads((sessions.press.folder("s1") / "versions.json").read_text())["versions"]
    assert [one["versionId"] for one in written] == ["v001", "v003"]
    change = sessions.get(f"/projects/{PROJECT}/changes")["changes"][0]
    assert (change["subject"], change["kind"], change["actor"]) == ("v002", "removed", "admin")
    assert sessions.api.loop.metrics.versions_removed.labels("by_hand")._value.get() == 1
    cancelled = ask(sessions)
    assert cancelled["versionId"] == "v004"
    sessions.api.ask("POST", f"/jobs/{cancelled['job']['jobId']}/cancel")
    assert sessions.compress(**UNIFORM)["version"]["versionId"] == "v005"
    assert listed(sessions) == ["v005", "v003", "v001"]


def test_two_versions_are_compared_by_settings_markers_and_what_is_said(sessions: Sessions) -> None:
    for ratio in (5, 20):
        sessions.compress(mode="uniform", compactionRatio=ratio)
    path = f"{VERSIONS}/v001/comparison"
    seen = sessions.get(path, **{"with": "v002"})
    assert seen["settings"]["compactionRatio"] == {"version": 5, "other": 20}
    assert "mode" not in seen["settings"] and "model" not in seen["settings"]
    ratios = [seen[one]["compressionRatio"] for one in ("version", "other")]
    assert ratios == [pytest.approx(5, rel=0.2), pytest.approx(20, rel=0.2)]
    [lost] = seen["onlyInVersion"]["markers"]
    assert (lost["weight"], lost["content"], seen["onlyInOther"]["markers"]) == (0.2, "They are red.", [])
    read: list[dict[str, Any]] = []
    cursor: dict[str, str] | None = {}
    while cursor is not None:
        page = sessions.get(path, limit=3, **{"with": "v002"}, **cursor)
        assert len(page["differences"]) <= 3 and page["onlyInVersion"] == seen["onlyInVersion"]
        read, cursor = read + page["differences"], {"cursor": page["cursor"]} if page["cursor"] else None
    assert {one["isIn"] for one in read} == {"v001", "v002"} and all(len(one["text"]) <= 1000 for one in read)
    texts = {one: sessions.get(f"{VERSIONS}/{one}")["content"] for one in ("v001", "v002")}
    assert all(one["text"] in texts[one["isIn"]] for one in read)
    assert sum(seen["onlyInVersion"]["blocks"].values()) <= sum(one["isIn"] == "v001" for one in read)
    same = sessions.get(path, **{"with": "v001"})
    assert (same["settings"], same["differences"], same["onlyInVersion"]["blocks"]) == ({}, [], {})
    assert same["sameBlocks"] == seen["sameBlocks"] + sum(seen["onlyInVersion"]["blocks"].values())
    sessions.refused(404, "GET", path, **{"with": "v009"})
    sessions.refused(422, "GET", path, **{"with": "latest"})
    assert sessions.get(VERSIONS)["versions"][0]["uses"] == 0, "to compare is no use"


def test_versions_say_which_compositions_use_them(sessions: Sessions) -> None:
    for _ in range(2):
        sessions.compress(**UNIFORM)
    sessions.compose("start", {"sessionId": "s1", "versionId": "v001"}, budget=4000)
    found = sessions.get(VERSIONS)["versions"]
    assert [(one["versionId"], one["usedIn"]) for one in found] == [("v002", []), ("v001", ["start"])]
    assert sessions.get(f"{VERSIONS}/v001")["version"]["usedIn"] == ["start"]
    prune = {"versions": [{"sessionId": "s1", "versionId": "v001"}]}
    warned = sessions.ask("POST", f"/projects/{PROJECT}/prune", body=prune)
    assert warned["dryRun"] and warned["warnings"] == ["s1 v001 stays: in use by start"]
    error = sessions.refused(409, "DELETE", f"{VERSIONS}/v001")
    assert error["code"] == "version_in_use" and "start" in error["message"]
    storage = sessions.get("/sessions/s1")["storage"]
    assert storage["versionBytes"] == sum(path.stat().st_size for path in sessions.press.folder("s1").iterdir()) > 0
    assert (storage["versions"], storage["compositions"]) == (2, 1)


def test_pages_of_versions_and_of_jobs_go_on(sessions: Sessions) -> None:
    for ratio in (5, 10, 20):
        sessions.compress(mode="uniform", compactionRatio=ratio)
    for path, name in ((VERSIONS, "versions"), ("/jobs", "jobs")):
        first = sessions.get(path, limit=2)
        rest = sessions.get(path, limit=2, cursor=first["cursor"])
        assert [one["versionId"] for one in first[name] + rest[name]] == ["v003", "v002", "v001"]
        assert rest["cursor"] is None


def test_a_version_made_from_a_version_says_so_and_what_was_summarised_once_does_not_come_back(
    sessions: Sessions,
) -> None:
    kept = {"preserved": 2, "summarized": 0}, {"preserved": 2, "summarized": 0}, {"preserved": 1, "summarized": 1}
    weights = {"weights": {"1.00": 1, "0.20": 1}}
    for number, (ratio, stats) in enumerate(zip((2, 5, 20, 2), (*kept, kept[2]), strict=True), 1):
        source = {"sourceVersion": f"v00{number - 1}"} if number > 1 else {}
        made = sessions.compress(mode="uniform", compactionRatio=ratio, **source)
        assert made["version"]["sourceVersion"] == source.get("sourceVersion")
        assert made["version"]["keepitStats"] == stats | weights and PINNED in made["content"]
    with sessions.house.database.read() as session:
        first, second = (_row(sessions, session, name) for name in ("v001", "v002"))
        assert second.source_sha256 == first.digests["jsonl"]


def test_a_changed_weight_counts_for_new_versions_only(sessions: Sessions) -> None:
    sessions.compress(**LIGHT)
    marker = sessions.keepits()[1]["markerId"]
    sessions.ask("PUT", f"/sessions/s1/keepits/{marker}", body={"weight": 1})
    sessions.compress(**LIGHT)
    found = sessions.get(VERSIONS)["versions"]
    assert [one["keepitStats"]["preserved"] for one in found] == [2, 1]


MODES = {"decay": {0}, "preserve-all": {0, 1, 2}, "ignore": {0}}


@pytest.mark.parametrize("mode", MODES)
def test_the_mode_decides_on_marked_parts(sessions: Sessions, mode: str) -> None:
    texts = ("one-is-first", "two-is-second", "three-is-third")
    said = "\n\n".join(
        f"##keepit{weight}## {text}" for weight, text in zip(("1.00", "0.30", "0.10"), texts, strict=True)
    )
    sessions.shelf.add(long_talk(sessions.shelf.transcript("s2").human(said)), PROJECT, "chat")
    made = sessions.compress("s2", **LIGHT, keepitMode=mode)["version"]
    written = sessions.store.versions_folder("chat", PROJECT, "s2") / f"{made['file']}.jsonl"
    kept = [one.text for one in blocks_in(written) if one.kind == "keepit"]
    assert kept == [text for ordinal, text in enumerate(texts) if ordinal in MODES[mode]]


def test_each_part_is_kept_as_soon_as_it_is_made_and_none_is_made_twice(sessions: Sessions) -> None:
    now, press = iter(range(0, 10_000, 15)), sessions.press
    press.elapsed = lambda: float(next(now))
    made, counts = ask_model(sessions), []
    while press.attempt():
        [job] = sessions.get("/jobs")["jobs"]
        counts.append((job["progress"]["done"], len(parts(sessions, made)), listed(sessions)))
    total = len(press.scripted.seen)
    assert total > 3 and len(counts) > 2
    assert [chunk.position for chunk in press.scripted.seen] == list(range(total))
    assert all(done == kept and found == [] for done, kept, found in counts[:-1])
    assert counts[-1] == (total, 0, ["v001"]) and job["progress"]["total"] == total
    text = sessions.text(f"{VERSIONS}/v001", format="markdown")
    assert all(f"Module tests, part {number}, went well." in text for number in range(total))


def test_parts_of_another_division_are_not_taken_for_these(sessions: Sessions) -> None:
    sessions.press.scripted.says = [Transient("away")]
    made = ask_model(sessions)
    with sessions.house.database.write() as session:
        session.add(VersionPart(compression_key=made.key, position=0, content=[{"outline": "old"}, {"kept": []}]))
    sessions.press.attempt()
    assert parts(sessions, made) == []
    sessions.api.clock.advance(600)
    sessions.work_off()
    assert [chunk.position for chunk in sessions.press.scripted.seen][:2] == [0, 0] and listed(sessions) == ["v001"]


def test_a_model_that_fails_for_good_leaves_nothing_half(sessions: Sessions) -> None:
    sessions.press.scripted.says = [Transient("away")] * 5
    ask_model(sessions)
    for _ in range(8):
        sessions.press.attempt()
        sessions.api.clock.advance(600)
    [job] = sessions.press.jobs()
    assert (job.state, listed(sessions), sessions.press.files("s1")) == ("dead", [], [])
    assert sessions.compress(**UNIFORM)["version"]["versionId"] == "v002"
    sessions.api.ask("POST", f"/jobs/{job.job_id}/replay")
    sessions.work_off()
    assert listed(sessions) == ["v002", "v001"]


def test_a_purge_on_the_way_drops_what_was_made(sessions: Sessions) -> None:
    sessions.press.scripted.while_thinking = lambda: sessions.api.ask("DELETE", "/apps/chat/memories")
    ask_model(sessions)
    sessions.work_off()
    [job] = sessions.press.jobs()
    assert (job.state, listed(sessions), sessions.press.files("s1")) == ("cancelled", [], [])


def test_an_app_over_its_budget_waits_and_has_failed_at_nothing(sessions: Sessions) -> None:
    with sessions.house.database.write() as session:
        lock_app(session, "chat").hourly_budget_micro = 1
    ask_model(sessions)
    sessions.press.attempt()
    [job] = sessions.press.jobs()
    assert (job.state, job.attempts) == ("deferred", 0)
    assert sessions.get(VERSIONS)["working"]["versionId"] == "v001"


def test_what_is_unregistered_leaves_no_job_that_others_would_wait_for(sessions: Sessions) -> None:
    ask_model(sessions)
    assert sessions.press.attempt()
    sessions.shelf.add(long_talk(sessions.shelf.transcript("s2")), PROJECT, "chat")
    ask(sessions, "s2")
    sessions.ask("POST", f"/projects/{PROJECT}/semantic/learn", 202)
    sessions.ask("DELETE", f"/projects/{PROJECT}", force=True)
    ended = [(one.kind, one.state) for one in sessions.house.jobs()]
    assert {("compress_session", "cancelled"), ("learn_from_sessions", "cancelled")} <= set(ended)
    assert {state for _, state in ended} <= {"done", "cancelled"}


PAGE = lines(
    user("Make it faster. Reading takes too long.\n\n##keepit0.90## Keep the API.", "u1"),
    assistant("First I look.\n\nThen I measure.", "a1"), *tool("Bash", {"command": "ls"}, "a.py\nb.py\n" * 9, 1),
    *tool("Bash", {"command": "whoami"}, "dev", 2), user("Thanks.", "u2"),
)  # fmt: skip
LS = RecordedToolCall("t1", "Bash", {"command": "ls"}, None)


def words(kind: BlockKind, text: str, *sources: str, role: str = "assistant", **more: Any) -> Block:
    return Block(kind, role, text, sources=sources, **more)


HELD: dict[str, tuple[list[Block], dict[str, str]]] = {
    "a line that tells calls holds their results only where it says them": (
        [words(BlockKind.TOOL, "Ran `ls`, `whoami` (dev)", "use1", "res1", "use2", "res2")],
        {"use1": "part", "res1": "none", "use2": "part", "res2": "whole"}),
    **{f"a call that is kept with {result!r} for its result": (
        [words(BlockKind.TOOL, "Ran `ls`", "use1", "res1", call=replace(LS, result=result))],
        {"use1": "whole", "res1": held})
       for result, held in (("a.py\nb.py\n" * 9, "whole"), ("a.py\n…", "part"), ("", "none"), (None, "none"))},
    "words": (
        [words(BlockKind.REQUEST, "Make it faster. […]", "u1", role="user"),
         words(BlockKind.KEEPIT, "Keep the API.", "u1", role="user"),
         words(BlockKind.WORDS, "First I look.\n\nThen I measure.\n\nAnd more.", "a1", "a2")],
        {"u1": "part", "a1": "whole", "u2": "none"}),
    "a summary": ([words(BlockKind.SUMMARY, "It was measured.", "a1", "res1")],
                  {"a1": "part", "res1": "part", "use1": "none"}),
}  # fmt: skip


@pytest.mark.parametrize(("version", "expected"), HELD.values(), ids=HELD)
def test_an_original_is_read_beside_a_version_with_how_much_of_each_message_it_holds(
    sessions: Sessions, version: list[Block], expected: dict[str, str]
) -> None:
    sessions.upload("read", PAGE)
    sessions.shop.version_of("read", version)
    read = sessions.get("/sessions/read/messages", versionId="v001")["messages"]
    held = {one["uuid"]: one["held"] for one in read}
    assert {uuid: held[uuid] for uuid in expected} == expected


def test_what_survived_for_its_mark_is_marked_when_the_version_is_registered_as_a_session(sessions: Sessions) -> None:
    said = sessions.shelf.transcript("s3").human("##keepit1.00## Fly on Sundays.\n\n##keepit0.80##\n    one = 1")
    long_talk(said.human("<bash-input>git status</bash-input>"), 6).human(
        "Go on with the kites, please, whatever the wind says."
    )
    sessions.shelf.add(said.assistant("##keepit0.90## The wind is west."), PROJECT, "chat")
    sessions.compress("s3", mode="uniform", compactionRatio=2)
    text = sessions.text("/sessions/s3/versions/v001", format="jsonl")
    assert "##keepit" not in sessions.text("/sessions/s3/versions/v001", format="markdown")
    sessions.upload("again", text.encode())
    weighed = [[(one["content"], one["weight"]) for one in sessions.keepits(name)] for name in ("s3", "again")]
    assert weighed[0] == weighed[1] and len(weighed[0]) == 3
    read = sessions.get("/sessions/again/messages")["messages"]
    assert ("User ran", "git status") in [(one["speaker"], one["text"]) for one in read]
    from_it = sessions.compress("s3", mode="uniform", compactionRatio=2, sourceVersion="v001")
    assert from_it["version"]["keepitStats"]["preserved"] == 3 and "##keepit" not in from_it["content"]
