"""The files behind recorded sessions: copies that grow with their originals, folders looked through, what is swept."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update

from loop.steps.sessions import ScanSessions, TendSessions
from loop.steps.upkeep import FinishErasures
from shared.base.errors import Purged
from shared.erasure.erasing import erase_app
from shared.jobs.models import Job, JobState
from shared.sessions import sweep
from shared.sessions.registry.intake import from_path
from tests.support.sessions import PROJECT, Sessions, digest
from tests.support.transcripts import assistant, lines, user, write

SESSIONS = f"/projects/{PROJECT}/sessions"
FOLDER = "/home/me/kites"


def open_folder(sessions: Sessions, folder: Path, **own: bool) -> None:
    opened = {"originalPath": FOLDER, "sourceFolder": str(folder), "settings": own}
    sessions.ask("POST", "/projects", 201, opened)


def scan(sessions: Sessions, **params: Any) -> Any:
    return sessions.ask("POST", f"/projects/{PROJECT}/scan", **params)


def refused_files(scanned: Any) -> dict[str, str]:
    return {one["file"]: one["reason"] for one in scanned["refused"]}


def test_only_a_tail_that_is_whole_is_taken_in_and_markers_keep_their_weight_and_fates(
    sessions: Sessions, tmp_path: Path
) -> None:
    original = write(tmp_path / "s1.jsonl", user("##keepit0.80## One", "1", cwd=FOLDER))
    sessions.register(original)
    [first] = sessions.keepits()
    sessions.ask("PUT", f"/sessions/s1/keepits/{first['markerId']}", body={"weight": 0.25})
    sessions.compress(mode="uniform", compactionRatio=2, keepitMode="preserve-all")
    with original.open("ab") as file:
        file.write(lines(assistant("##keepit1.00## Two", "2", "1")) + b'{"type":"user","uu')
    grown = sessions.ask("POST", "/sessions/s1/sync")["session"]
    assert sessions.copy_of().read_bytes() == original.read_bytes()[: -len(b'{"type":"user","uu')]
    assert grown["sha256"] == digest(sessions.copy_of()) and grown["counts"]["badLines"] == 0
    assert [(one["content"], one["weight"]) for one in sessions.keepits()] == [("One", 0.25), ("Two", 1.0)]
    assert sessions.keepits()[0]["markerId"] == first["markerId"]
    with original.open("ab") as file:
        file.write(b'id":"3","message":{"content":"Three"}}\n')
    assert sessions.ask("POST", "/sessions/s1/sync")["session"]["originalMessages"] == 3
    assert sessions.copy_of().read_bytes() == original.read_bytes()
    [one, _] = sessions.manifest()["sessions"]["s1"]["keepitMarkers"]
    assert (one["weight"], one["survivedIn"], one["content"]) == (0.25, ["v001"], "One")


def test_what_a_killed_sync_left_is_replaced_and_a_copy_that_is_gone_comes_back(
    sessions: Sessions, tmp_path: Path
) -> None:
    original = write(tmp_path / "s1.jsonl", user("One", "1"))
    sessions.register(original)
    copy = sessions.copy_of()
    with original.open("ab") as file:
        file.write(lines(user("Two", "2")))
    left = copy.read_bytes() + b"what a sync had appended when it was killed, longer than the real tail"
    for harm in (lambda: copy.write_bytes(left), copy.unlink, lambda: os.truncate(copy, 3)):
        harm()
        assert sessions.ask("POST", "/sessions/s1/sync")["session"]["sha256"] == digest(original) == digest(copy)
    assert sessions.in_cache() == []


@pytest.mark.parametrize("changed", [b"", b"x", lines(user("Another", "9")) * 9])
def test_an_original_that_was_rewritten_is_refused_and_the_copy_kept(
    sessions: Sessions, tmp_path: Path, changed: bytes
) -> None:
    original = write(tmp_path / "s1.jsonl", user("One", "1"))
    sessions.register(original)
    before = sessions.copy_of().read_bytes()
    original.write_bytes(changed)
    error = sessions.refused(409, "POST", "/sessions/s1/sync")
    assert error["code"] == "original_changed" and "nregister" in error["message"]
    original.unlink()
    error = sessions.refused(409, "POST", "/sessions/s1/sync")
    assert error["code"] == "original_gone" and "Nothing is lost" in error["message"]
    assert sessions.copy_of().read_bytes() == before
    assert sessions.get("/sessions/s1")["sizeBytes"] == len(before)


def test_a_folder_is_looked_through_and_what_is_refused_waits_until_it_changes(
    sessions: Sessions, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    write(folder / "a.jsonl", user("One", "1"))
    write(folder / "b.jsonl", user("Two", "2"))
    (folder / "foreign.jsonl").write_text("{\n}\n")
    for odd in ("bad name.jsonl", os.fsdecode(b"no\xfftext.jsonl"), "notes.txt"):
        (folder / odd).write_text("x")
    open_folder(sessions, folder, autoRegisterNewSessions=True)
    first, wrong = scan(sessions), ["bad name.jsonl", "foreign.jsonl", "no\ufffdtext.jsonl"]
    assert (first["registered"], first["unchanged"], sorted(refused_files(first))) == (["a", "b"], 0, wrong)
    assert "foreign.jsonl is not a recorded session" in refused_files(first)["foreign.jsonl"]
    shown = sessions.get(f"/projects/{PROJECT}")
    assert [one["file"] for one in shown["refusedFiles"]] == ["foreign.jsonl"] and shown["scannedAt"] is not None
    write(folder / "a.jsonl", user("One", "1"), user("More", "3"))
    second = scan(sessions)
    assert (second["synced"], second["unchanged"], sorted(refused_files(second))) == (["a"], 1, wrong)
    write(folder / "foreign.jsonl", user("Mended", "4"))
    write(folder / "b.jsonl", user("Rewritten", "9"))
    third = scan(sessions)
    assert third["registered"] == ["foreign"] and "no longer begins" in refused_files(third)["b.jsonl"]
    assert sessions.get("/sessions/a")["sizeBytes"] == (folder / "a.jsonl").stat().st_size
    assert sessions.ask("PATCH", f"/projects/{PROJECT}", body={"sourceFolder": None})["refusedFiles"] == []


def test_a_scan_follows_no_link_and_what_became_one_is_not_read_on(sessions: Sessions, tmp_path: Path) -> None:
    folder, secret = tmp_path / "folder", write(tmp_path / "secret.jsonl", user("One", "1"), user("zyzzogeton", "2"))
    write(folder / "s1.jsonl", user("One", "1"))
    (folder / "linked.jsonl").symlink_to(secret)
    open_folder(sessions, folder, autoRegisterNewSessions=True)
    for dry_run in (True, False):
        [reason] = refused_files(seen := scan(sessions, dryRun=dry_run)).values()
        assert [*refused_files(seen)] == ["linked.jsonl"] and "links are not followed" in reason
    (folder / "s1.jsonl").unlink()
    (folder / "s1.jsonl").symlink_to(secret)
    assert sorted(refused_files(scan(sessions))) == ["linked.jsonl", "s1.jsonl"]
    sessions.refused(422, "POST", "/sessions/s1/sync")
    [session] = sessions.get(SESSIONS)["sessions"]
    assert session["sessionId"] == "s1" and session["originalMessages"] == 1
    sessions.register(folder / "linked.jsonl", "linked")  # An admin names the file.


def test_a_folder_that_became_a_link_is_not_looked_through(sessions: Sessions, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write(folder / "s1.jsonl", user("One", "1"))
    write(tmp_path / "others" / "s2.jsonl", user("zyzzogeton", "2"))
    (tmp_path / "by-link").symlink_to(folder)
    open_folder(sessions, tmp_path / "by-link")
    assert sessions.get(f"/projects/{PROJECT}")["sourceFolder"] == str(folder)
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "others")
    for dry_run in (True, False):
        seen = scan(sessions, dryRun=dry_run)
        assert seen["registered"] == [] and "link leads elsewhere" in seen["refused"][0]["reason"]


def test_the_files_of_a_folder_that_are_not_registered_are_listed_with_their_counts(
    sessions: Sessions, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    for name in ("a", "b", "c", "d"):
        write(folder / f"{name}.jsonl", user(f"##keepit0.80## {name}", "1", timestamp="2026-01-02T10:00:00Z"))
    (folder / "bad.jsonl").write_text("x")
    write(folder / "elsewhere.jsonl", user("x", "1"))
    open_folder(sessions, folder)
    sessions.register(folder / "b.jsonl", "b")
    sessions.upload("elsewhere")
    with (folder / "b.jsonl").open("ab") as file:
        file.write(lines(user("More", "2")))
    project = f"/projects/{PROJECT}"
    before = sessions.get(f"{project}/changes"), sessions.get(project)
    first = scan(sessions, dryRun=True, limit=2)
    rest = scan(sessions, dryRun=True, limit=2, cursor=first["cursor"])
    assert rest["cursor"] is None and first["foreseen"][0]["markerWeights"] == {"0.80": 1}
    assert [one["sessionId"] for one in first["foreseen"] + rest["foreseen"]] == ["a", "c", "d"]
    assert first["registered"] + rest["registered"] == ["a", "c", "d"] and first["synced"] == ["b"]
    refused = refused_files(first) | refused_files(rest)
    assert "is not a recorded session" in refused["bad.jsonl"] and "registered already" in refused["elsewhere.jsonl"]
    assert before == (sessions.get(f"{project}/changes"), sessions.get(project))


def test_a_receipt_counts_the_rows_and_files_of_sessions(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    api, folder = sessions.api, sessions.store.app("chat")
    sessions.upload(appId="email")
    sessions.upload()
    sessions.compose("start", "s1")
    sessions.work_off()
    receipt = api.ask("DELETE", "/apps/chat/data")["receipt"]
    counted = ("recordedSessions", "projects", "compositions", "semanticMemories")
    assert [receipt["erased"][name] for name in counted] == [1, 1, 1, 0] and receipt["erased"]["sessionChanges"] >= 2
    assert {receipt["left"][name] for name in (*counted, "sessionChanges", "sessionFiles")} == {0}
    assert not folder.exists() and sum("originals" in one for one in sessions.files("email")) == 1
    sessions.upload()
    with monkeypatch.context() as patched:
        patched.setattr(sweep, "sweep", _disk_gone)
        assert api.ask("DELETE", "/apps/chat/data")["receipt"]["left"]["sessionFiles"] == 1
    assert folder.exists()
    FinishErasures(api.loop.database, api.loop.store, api.loop.redis).run()
    assert not folder.exists()
    receipts = api.ask("GET", "/apps/chat/erasures")["erasures"]
    assert [one["left"]["sessionFiles"] for one in receipts] == [0, 0]


def _disk_gone(*_: object, **__: object) -> int:
    raise OSError("the disk does not answer")


def tend(sessions: Sessions) -> None:
    loop = sessions.api.loop
    TendSessions(loop.database, loop.clock, loop.store, loop.metrics, loop.settings).run()


def test_the_manifest_of_a_large_project_is_left_to_the_loop(sessions: Sessions) -> None:
    for number in range(49):
        sessions.shelf.add(sessions.shelf.transcript(f"s{number}").human("Fly."), PROJECT, "chat")
    path = sessions.store.manifest("chat", PROJECT)
    for number, shown in ((49, 50), (50, 50)):
        sessions.upload(f"s{number}")
        assert len(json.loads(path.read_text())["sessions"]) == shown
    tend(sessions)
    assert len(json.loads(path.read_text())["sessions"]) == 51


def test_a_store_that_cannot_be_written_refuses_nothing_and_is_written_later(
    sessions: Sessions, tmp_path: Path
) -> None:
    sessions.upload()
    folder = sessions.store.project_folder("chat", PROJECT)
    folder.rename(tmp_path / "away")
    folder.symlink_to(tmp_path / "away")
    assert sessions.ask("PATCH", f"/projects/{PROJECT}", body={"displayName": "Kites"})["displayName"] == "Kites"
    folder.unlink()
    (tmp_path / "away").rename(folder)
    tend(sessions)
    assert sessions.manifest()["displayName"] == "Kites"


KEPT = {
    "config.json": True, "cache/.tmp-1": False, "projects/P/manifest.json": True, "projects/q/manifest.json": False,
    "projects/P/.tmp-1": False, "projects/P/originals/s1.jsonl": True, "projects/P/originals/s9.jsonl": False,
    "projects/P/originals/.tmp-1": False, "projects/P/summaries/s1/versions.json": True,
    "projects/P/summaries/s1/V.md": True, "projects/P/summaries/s1/V.jsonl": True,
    "projects/P/summaries/s1/v002_uniform-moderate_1k.md": False, "projects/P/summaries/s1/.tmp-1": False,
    "projects/P/summaries/s2/.tmp-1": True, "projects/P/summaries/s2/v001_tiered-standard_1k.md": True,
    "projects/P/summaries/s9/versions.json": False, "projects/P/composed/ready/composed.md": True,
    "projects/P/composed/ready/composition.json": True, "projects/P/composed/ready/.tmp-1": False,
    "projects/P/composed/making/.tmp-1": True, "projects/P/composed/gone/composed.md": False, "strange.txt": False,
}  # fmt: skip
"""Files, and whether a row names them: of a version and compositions that are there, being made, or gone."""


def test_the_loop_sweeps_what_no_row_names_once_it_is_old(sessions: Sessions) -> None:
    for name in ("s1", "s2"):
        sessions.upload(name)
    version = sessions.compress(mode="uniform", compactionRatio=5)["version"]["file"]
    for name in ("ready", "gone"):
        made = sessions.compose(name, "s1")["compositionId"]
        sessions.work_off()
    sessions.ask("DELETE", f"/compositions/{made}")
    sessions.compose("making", "s2")
    sessions.ask("POST", "/sessions/s2/versions", 202)
    tend(sessions)  # The manifest is in step, so that nothing is written below.
    root = sessions.store.app("chat")
    paths = {name: root / name.replace("P", PROJECT).replace("V", version) for name in KEPT}
    old = (sessions.api.clock.now() - timedelta(hours=2)).timestamp()
    for path in (*paths.values(), root / "cache" / "young"):
        if not path.exists():
            sessions.store.write_text(path, ["x"])
        os.utime(path, (old, old))
    os.utime(root / "cache" / "young", (old + 7200, old + 7200))
    sessions.api.clock.advance(1)
    loop = sessions.api.loop
    TendSessions(loop.database, loop.clock, loop.store, loop.metrics, loop.settings).run()
    assert {name: path.exists() for name, path in paths.items()} == KEPT and (root / "cache" / "young").exists()
    assert sessions.files("email") == []


STATES = {"a dead letter": {"state": JobState.DEAD}, "cancelled": {"state": JobState.CANCELLED}, "gone": None}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_what_a_job_left_unfinished_is_said_to_have_failed(sessions: Sessions, state: dict[str, Any] | None) -> None:
    for name in ("s1", "s2"):
        sessions.upload(name)
    made = sessions.ask("POST", "/sessions/s1/versions", 202)
    composed = sessions.compose("start", {"sessionId": "s1", "versionId": "original"})
    over = Job.job_id.in_([made["job"]["jobId"], composed["jobId"]])
    with sessions.house.database.write() as session:
        session.execute(delete(Job).where(over) if state is None else update(Job).where(over).values(state))
    sessions.ask("POST", "/sessions/s2/versions", 202)
    tend(sessions)
    assert sessions.get("/sessions/s1/versions")["working"] is None
    assert sessions.get(f"/compositions/{composed['compositionId']}")["state"] == "failed"
    assert sessions.get("/sessions/s2/versions")["working"]["versionId"] == "v001", "one that goes on stays"
    kinds = {(one["kind"], one["subject"]) for one in sessions.get(f"/projects/{PROJECT}/changes")["changes"]}
    assert {("failed", "v001"), ("failed", composed["compositionId"])} <= kinds
    sessions.ask("DELETE", f"{SESSIONS}/s1")


def test_the_manifest_has_the_seeds_fields(sessions: Sessions, tmp_path: Path) -> None:
    said = user("##keepit0.80## Kites", "1", gitBranch="main", cwd=FOLDER)
    sessions.register(write(tmp_path / "s1.jsonl", said))
    figures = {"ratio": 9.87654, "output_tokens": 100, "output_messages": 4, "source_number": 3}
    stats = {"preserved": 1, "summarized": 0, "weights": {"0.80": 1}}
    settings = {"mode": "uniform", "compactionRatio": 10, "tierPreset": None}
    sessions.shop.version("s1", 100, keepit_stats=stats, settings=settings, **figures)
    composition = sessions.compose("start", {"sessionId": "s1", "versionId": "v001"})["compositionId"]
    sessions.work_off()
    shown = sessions.manifest()
    assert list(shown) == [
        "version", "projectId", "originalPath", "displayName", "createdAt", "lastModified", "sessions", "compositions",
        "settings",
    ]  # fmt: skip
    entry = shown["sessions"]["s1"]
    assert list(entry) == [
        "sessionId", "originalFile", "originalTokens", "originalMessages", "firstTimestamp", "lastTimestamp",
        "registeredAt", "lastAccessed", "metadata", "keepitMarkers", "compressions",
    ]  # fmt: skip
    assert entry["metadata"] == {"gitBranch": "main", "projectName": "kites", "primaryTopics": ["kites"]}
    [made] = entry["compressions"]
    assert made == {
        "versionId": "v001", "file": "v001_made", "createdAt": made["createdAt"],
        "settings": {"mode": "uniform", "compactionRatio": 10}, "outputTokens": 100, "outputMessages": 4,
        "compressionRatio": 9.88, "keepitStats": stats, "sourceVersion": "v003",
    }  # fmt: skip
    listed = json.loads((sessions.store.versions_folder("chat", PROJECT, "s1") / "versions.json").read_text())
    assert list(listed) == ["sessionId", "originalFile", "originalTokens", "originalMessages", "versions"]
    assert listed["versions"] == entry["compressions"]
    [(composition_id, record)] = shown["compositions"].items()
    written = sessions.store.composition_folder("chat", PROJECT, "start") / "composition.json"
    assert composition_id == composition and json.loads(written.read_text()) == record
    assert set(record) == {
        "compositionId", "name", "createdAt", "components", "outputFile", "totalTokens", "totalMessages",
        "usedInSessions",
    }  # fmt: skip
    [component] = record["components"]
    assert component == {
        "sessionId": "s1", "versionId": "v001", "order": 0, "tokenContribution": component["tokenContribution"],
    }  # fmt: skip


def scanning(sessions: Sessions) -> ScanSessions:
    loop = sessions.api.loop
    return ScanSessions(loop.database, loop.clock, loop.store, loop.registrar, 60, loop.metrics)


def test_a_folder_that_fails_keeps_no_other_waiting_and_ten_files_are_taken_in_at_once(
    sessions: Sessions, tmp_path: Path
) -> None:
    for number in range(11):
        write(tmp_path / "many" / f"s{number}.jsonl", user("One", str(number)))
    write(tmp_path / "barred" / "b.jsonl", user("One", "1"))
    for name in ("barred", "many"):
        opened = {"originalPath": f"/{name}", "sourceFolder": str(tmp_path / name)}
        sessions.ask("POST", "/projects", 201, opened | {"settings": {"autoRegisterNewSessions": True}})
    (tmp_path / "barred").rename(tmp_path / "moved")
    (tmp_path / "barred").write_text("in the way")
    step = scanning(sessions)
    for taken in (10, 11):
        step.run()
        step.drain(20)
        assert len(sessions.get("/projects/-many/sessions")["sessions"]) == taken
        sessions.api.clock.advance(61)
    assert sessions.api.loop.metrics.sessions_registered.labels("scan")._value.get() == 11


def test_what_was_begun_before_an_erasure_is_not_brought_back_by_it(sessions: Sessions, tmp_path: Path) -> None:
    original, shelf = write(tmp_path / "s1.jsonl", user("One", "1")), sessions.shelf
    place = shelf.registrar.locate("chat", PROJECT, "s1")
    with from_path(shelf.store, "chat", "s1", original, shelf.settings) as intake:
        with sessions.house.database.write() as session:
            erase_app(session, "chat", "admin", sessions.api.clock.now())
        with pytest.raises(Purged):
            shelf.registrar.register(place, intake, shelf.cause("late"), shelf._carry)
    assert sessions.files() == []


def test_a_tail_that_was_read_before_a_purge_is_not_taken_in_after_it(sessions: Sessions, tmp_path: Path) -> None:
    original, shelf = write(tmp_path / "s1.jsonl", user("One", "1")), sessions.shelf
    sessions.register(original)
    write(original, user("One", "1"), user("Two", "2"))

    def purge_first(work: Any) -> Any:
        sessions.api.ask("DELETE", "/apps/chat/memories")
        return shelf._carry(work)

    with pytest.raises(Purged):
        shelf.registrar.sync("chat", "s1", None, shelf.cause("late"), purge_first)
    assert sessions.ask("POST", "/sessions/s1/sync")["session"]["sizeBytes"] == original.stat().st_size
