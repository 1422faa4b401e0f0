"""Versions of sessions over HTTP: asked for, foreseen, read, removed; jobs with how far they have come."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shared.llm.tokens import estimate_tokens
from tests.support.api import Api
from tests.support.compressing import Press, long_talk
from tests.support.house import House
from tests.support.recordings import PROJECT, Shelf

MEMORY = "/api/memory"
SESSION = f"{MEMORY}/sessions/s1"
VERSIONS = f"{SESSION}/versions?appId=chat"
UNIFORM = {"mode": "uniform", "compactionRatio": 5}


@pytest.fixture
def press(sqlite_api: Api, sqlite_url: str, tmp_path: Path) -> Press:
    """A worker beside the interface, and a session of app chat."""
    sqlite_api.install("chat")
    sqlite_api.install("email")
    house = House(sqlite_url)
    house.clock = sqlite_api.clock
    press = Press(house, tmp_path, Shelf(house, tmp_path, sqlite_api.loop.store), "chat")
    said = press.shelf.transcript("s1").human("##keepit1.00## Kites fly.\n\n##keepit0.20## They are red.")
    press.shelf.add(long_talk(said, 20), app_id="chat")
    return press


def ask(api: Api, **body: Any) -> dict[str, Any]:
    made: dict[str, Any] = api.ask("POST", VERSIONS, 202, json=body)
    return made


def test_a_version_is_asked_for_made_and_read_in_three_forms(sqlite_api: Api, press: Press) -> None:
    made = ask(sqlite_api, **UNIFORM, reason="for the new start")
    assert (made["versionId"], made["job"]["kind"], made["job"]["state"]) == ("v001", "compress_session", "pending")
    job = sqlite_api.ask("GET", f"{MEMORY}/jobs/{made['job']['jobId']}?appId=chat")
    assert (job["versionId"], job["sessionId"], job["progress"]) == ("v001", "s1", {"done": 0, "total": 0})
    listed = sqlite_api.ask("GET", VERSIONS)
    assert (listed["versions"], listed["working"]["versionId"]) == ([], "v001")
    press.work_off()
    [version] = sqlite_api.ask("GET", VERSIONS)["versions"]
    assert version["keepitStats"] == {"preserved": 2, "summarized": 0, "weights": {"1.00": 1, "0.20": 1}}
    assert version["reason"] == "for the new start" and version["settings"]["model"] == "extractive"
    read = sqlite_api.ask("GET", f"{SESSION}/versions/v001?appId=chat")
    assert read["version"] == version and estimate_tokens(read["content"]) == version["outputTokens"]
    markdown = sqlite_api.send("GET", f"{SESSION}/versions/v001?appId=chat&format=markdown")
    assert markdown.headers["content-type"].startswith("text/markdown") and markdown.text == read["content"]
    lines = sqlite_api.send("GET", f"{SESSION}/versions/v001?appId=chat&format=jsonl")
    assert lines.headers["content-type"] == "application/x-ndjson"
    records = [json.loads(line) for line in lines.text.splitlines()]
    said = [own for one in records if one["type"] != "system" for own in one["afterthought"]["blocks"] if "kind" in own]
    assert len(said) == version["outputMessages"]
    assert version["why"].startswith("Left out: ") and "tool calls" in version["why"]
    assert sqlite_api.ask("GET", VERSIONS)["versions"][0]["uses"] == 2
    [job] = sqlite_api.ask("GET", f"{MEMORY}/jobs?appId=chat")["jobs"]
    assert job["state"] == "done" and job["progress"]["done"] == job["progress"]["total"] > 0


def test_what_is_foreseen_is_what_comes_of_it_and_leaves_nothing_behind(sqlite_api: Api, press: Press) -> None:
    answered = sqlite_api.send("POST", VERSIONS, json={**UNIFORM, "compactionRatio": 20, "dryRun": True})
    path = sqlite_api.client.get("/openapi.json").json()["paths"][f"{MEMORY}/sessions/{{sessionId}}/versions"]
    assert answered.status_code == 200 and {"200", "202"} <= path["post"]["responses"].keys()
    foreseen = answered.json()["foreseen"]
    assert [one["survives"] for one in foreseen["markers"]] == [True, False]
    assert (foreseen["preserved"], foreseen["summarized"], foreseen["thresholds"]) == (1, 1, [0.52])
    assert sqlite_api.ask("GET", f"{MEMORY}/jobs?appId=chat")["jobs"] == []
    ask(sqlite_api, **{**UNIFORM, "compactionRatio": 20})
    press.work_off()
    [version] = sqlite_api.ask("GET", VERSIONS)["versions"]
    assert version["outputTokens"] == pytest.approx(foreseen["outputTokens"], rel=0.1)
    assert version["compressionRatio"] == pytest.approx(20, rel=0.2)


def test_of_a_long_session_a_sample_is_compressed_and_every_marked_part_is_decided(
    sqlite_api: Api, press: Press
) -> None:
    said = press.shelf.transcript("long").human("##keepit0.60## Early")
    press.shelf.add(long_talk(said, 400).human("##keepit0.20## Late"), app_id="chat")
    path = f"{MEMORY}/sessions/long/versions?appId=chat"
    for settings in ({"mode": "uniform", "compactionRatio": 20}, {"tierPreset": "aggressive", "sessionDistance": 10}):
        foreseen = sqlite_api.ask("POST", path, json={**settings, "dryRun": True})["foreseen"]
        assert foreseen["isSampled"] and foreseen["inputTokens"] > 50_000
        sqlite_api.ask("POST", path, 202, json=settings)
        press.work_off()
        version = sqlite_api.ask("GET", path)["versions"][0]
        assert (foreseen["inputTokens"], foreseen["inputMessages"]) == (
            version["inputTokens"], version["statistics"]["messagesBefore"],
        )  # fmt: skip
        assert foreseen["outputTokens"] == pytest.approx(version["outputTokens"], rel=0.1)
        assert foreseen["compressionRatio"] == pytest.approx(version["compressionRatio"], rel=0.1)
        assert foreseen["outputMessages"] == pytest.approx(version["outputMessages"], rel=0.35)
        kept = {name: version["keepitStats"][name] for name in ("preserved", "summarized")}
        assert {name: foreseen[name] for name in kept} == kept
        assert foreseen["thresholds"]


def test_what_is_left_out_is_as_the_project_says(sqlite_api: Api, press: Press) -> None:
    settings = {"defaultCompressionPreset": "gentle", "keepitDecayEnabled": False}
    sqlite_api.ask("PATCH", f"{MEMORY}/projects/{PROJECT}?appId=chat", json={"settings": settings})
    sqlite_api.ask("POST", VERSIONS, 202)
    press.work_off()
    [version] = sqlite_api.ask("GET", VERSIONS)["versions"]
    assert (version["settings"]["tierPreset"], version["settings"]["keepitMode"]) == ("gentle", "preserve-all")
    assert version["file"].startswith("v001_tiered-gentle_")


REFUSED = {
    "a ratio of 1": {"mode": "uniform", "compactionRatio": 1},
    "a ratio of 101": {"mode": "uniform", "compactionRatio": 101},
    "tiers with the uniform mode": {"mode": "uniform", "tierPreset": "gentle"},
    "a ratio with the tiered mode": {"compactionRatio": 5},
    "custom without tiers": {"tierPreset": "custom"},
    "tiers that end early": {"customTiers": [{"endPercent": 90, "compactionRatio": 3, "aggressiveness": "minimal"}]},
    "a distance of 0": {"sessionDistance": 0},
    "an unknown model": {"model": "ollama:nobody"},
    "an unknown field": {"ratio": 5},
    "a source that is no version": {"sourceVersion": "latest"},
}


def test_bad_settings_are_refused_before_anything_is_asked_for(sqlite_api: Api, press: Press) -> None:
    for name, body in REFUSED.items():
        assert sqlite_api.refused(422, "POST", VERSIONS, json=body)["message"], name
    assert sqlite_api.ask("GET", VERSIONS)["working"] is None


def test_a_second_compression_is_refused_and_names_the_first(sqlite_api: Api, press: Press) -> None:
    ask(sqlite_api, **UNIFORM)
    error = sqlite_api.refused(409, "POST", VERSIONS, json=UNIFORM)
    assert (error["code"], error["details"]["versionId"]) == ("compression_running", "v001")


def test_one_key_asks_once(sqlite_api: Api, press: Press) -> None:
    key = {"Idempotency-Key": "k1"}
    first, again = (sqlite_api.ask("POST", VERSIONS, 202, json=UNIFORM, headers=key) for _ in range(2))
    assert first == again and len(press.house.jobs()) == 1


def test_a_version_is_removed_with_its_files_and_its_id_stays_used(sqlite_api: Api, press: Press) -> None:
    for _ in range(2):
        ask(sqlite_api, **UNIFORM)
        press.work_off()
    ask(sqlite_api, mode="uniform", compactionRatio=10, sourceVersion="v002")
    error = sqlite_api.refused(409, "DELETE", f"{SESSION}/versions/v002?appId=chat")
    assert error["code"] == "version_in_use"
    press.work_off()
    sqlite_api.ask("DELETE", f"{SESSION}/versions/v002?appId=chat")
    listed = sqlite_api.ask("GET", VERSIONS)["versions"]
    assert [(one["versionId"], one["sourceVersion"]) for one in listed] == [("v003", "v002"), ("v001", None)]
    assert not [name for name in press.files("s1") if name.startswith("v002")]
    manifest = json.loads((press.folder("s1") / "versions.json").read_text())
    assert [one["versionId"] for one in manifest["versions"]] == ["v001", "v003"]
    changes = sqlite_api.ask("GET", f"{MEMORY}/projects/{PROJECT}/changes?appId=chat")["changes"]
    assert (changes[0]["subject"], changes[0]["kind"], changes[0]["actor"]) == ("v002", "removed", "admin")
    assert sqlite_api.loop.metrics.versions_removed.labels("by_hand")._value.get() == 1
    assert ask(sqlite_api, **UNIFORM)["versionId"] == "v004"


def test_two_versions_are_compared_by_settings_markers_and_what_is_said(sqlite_api: Api, press: Press) -> None:
    for body in ({"compactionRatio": 5}, {"compactionRatio": 20}):
        ask(sqlite_api, mode="uniform", **body)
        press.work_off()
    path = f"{SESSION}/versions/v001/comparison?appId=chat&with=v002"
    seen = sqlite_api.ask("GET", path)
    assert seen["settings"]["compactionRatio"] == {"version": 5, "other": 20}
    assert "mode" not in seen["settings"] and "model" not in seen["settings"]
    ratios = [seen[one]["compressionRatio"] for one in ("version", "other")]
    assert ratios == [pytest.approx(5, rel=0.2), pytest.approx(20, rel=0.2)]
    [lost] = seen["onlyInVersion"]["markers"]
    assert (lost["weight"], lost["content"], seen["onlyInOther"]["markers"]) == (0.2, "They are red.", [])
    read: list[dict[str, Any]] = []
    cursor = ""
    while cursor is not None:
        page = sqlite_api.ask("GET", f"{path}&limit=3{cursor and '&cursor='}{cursor}")
        assert len(page["differences"]) <= 3 and page["onlyInVersion"] == seen["onlyInVersion"]
        read, cursor = read + page["differences"], page["cursor"]
    assert {one["isIn"] for one in read} == {"v001", "v002"} and all(len(one["text"]) <= 1000 for one in read)
    texts = [sqlite_api.ask("GET", f"{SESSION}/versions/{one}?appId=chat")["content"] for one in ("v001", "v002")]
    for one in read:
        assert one["text"] in texts[one["isIn"] == "v002"]
    assert sum(seen["onlyInVersion"]["blocks"].values()) <= sum(one["isIn"] == "v001" for one in read)
    same = sqlite_api.ask("GET", path.replace("v002", "v001"))
    assert (same["settings"], same["differences"], same["onlyInVersion"]["blocks"]) == ({}, [], {})
    assert same["sameBlocks"] == seen["sameBlocks"] + sum(seen["onlyInVersion"]["blocks"].values())
    sqlite_api.refused(404, "GET", path.replace("v002", "v009"))
    sqlite_api.refused(422, "GET", path.replace("v002", "latest"))
    sqlite_api.refused(403, "GET", path, token=sqlite_api.token("email"))
    assert sqlite_api.ask("GET", VERSIONS)["versions"][0]["uses"] == 0, "to compare is no use"


def test_versions_say_which_compositions_use_them(sqlite_api: Api, press: Press) -> None:
    for _ in range(2):
        ask(sqlite_api, **UNIFORM)
        press.work_off()
    part = {"sessionId": "s1", "versionId": "v001"}
    body = {"name": "start", "components": [part], "totalTokenBudget": 4000}
    sqlite_api.ask("POST", f"{MEMORY}/projects/{PROJECT}/compositions?appId=chat", 202, json=body)
    listed = sqlite_api.ask("GET", VERSIONS)["versions"]
    assert [(one["versionId"], one["usedIn"]) for one in listed] == [("v002", []), ("v001", ["start"])]
    assert sqlite_api.ask("GET", f"{SESSION}/versions/v001?appId=chat")["version"]["usedIn"] == ["start"]
    prune = {"versions": [{"sessionId": "s1", "versionId": "v001"}]}
    warned = sqlite_api.ask("POST", f"{MEMORY}/projects/{PROJECT}/prune?appId=chat", json=prune)
    assert warned["dryRun"] and warned["warnings"] == ["s1 v001 stays: in use by start"]
    error = sqlite_api.refused(409, "DELETE", f"{SESSION}/versions/v001?appId=chat")
    assert error["code"] == "version_in_use" and "start" in error["message"]
    storage = sqlite_api.ask("GET", f"{SESSION}?appId=chat")["storage"]
    assert storage["versionBytes"] == sum(path.stat().st_size for path in press.folder("s1").iterdir()) > 0
    assert (storage["versions"], storage["compositions"]) == (2, 1)


def test_nothing_of_another_app_is_shown_made_or_removed(sqlite_api: Api, press: Press) -> None:
    ask(sqlite_api, **UNIFORM)
    press.work_off()
    token = sqlite_api.token("email")
    job_id = sqlite_api.ask("GET", f"{MEMORY}/jobs?appId=chat")["jobs"][0]["jobId"]
    own = {"token": token}
    for method, path in (
        ("GET", f"{SESSION}/versions"),
        ("POST", f"{SESSION}/versions"),
        ("GET", f"{SESSION}/versions/v001"),
        ("DELETE", f"{SESSION}/versions/v001"),
        ("GET", f"{MEMORY}/jobs/{job_id}"),
    ):
        assert sqlite_api.refused(404, method, path, **own)["code"] == "not_found"
        assert sqlite_api.refused(403, method, f"{path}?appId=chat", **own)["code"] == "denied"
    assert sqlite_api.ask("GET", f"{MEMORY}/jobs", token=token)["jobs"] == []
    mine = sqlite_api.token("chat")
    assert sqlite_api.ask("GET", f"{SESSION}/versions/v001", token=mine)["version"]["versionId"] == "v001"


def test_pages_of_versions_and_of_jobs_go_on(sqlite_api: Api, press: Press) -> None:
    for ratio in (5, 10, 20):
        ask(sqlite_api, mode="uniform", compactionRatio=ratio)
        press.work_off()
    seen, cursor = [], ""
    while cursor is not None:
        page = sqlite_api.ask("GET", f"{VERSIONS}&limit=2{cursor and f'&cursor={cursor}'}")
        seen += [one["versionId"] for one in page["versions"]]
        cursor = page["cursor"]
    assert seen == ["v003", "v002", "v001"]
    first = sqlite_api.ask("GET", f"{MEMORY}/jobs?appId=chat&limit=2")
    rest = sqlite_api.ask("GET", f"{MEMORY}/jobs?appId=chat&limit=2&cursor={first['cursor']}")
    assert [one["versionId"] for one in first["jobs"] + rest["jobs"]] == ["v003", "v002", "v001"]


def test_a_file_that_somebody_took_away_is_said_to_be_missing(sqlite_api: Api, press: Press) -> None:
    ask(sqlite_api, **UNIFORM)
    press.work_off()
    for name in press.files("s1"):
        (press.folder("s1") / name).unlink()
    error = sqlite_api.refused(409, "GET", f"{SESSION}/versions/v001?appId=chat&format=markdown")
    assert error["code"] == "source_gone"
