"""Recorded sessions over HTTP: registered by path or upload, listed, weighed, synced and taken out of the registry."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import Api, open_api
from tests.support.sessions import MEMORY, NDJSON, PROJECT, TEXT, Sessions, digest, open_sessions
from tests.support.transcripts import FOREIGN, REAL, lines, tool, user, write

SESSIONS = f"/projects/{PROJECT}/sessions"
FOLDER = "/home/me/kites"


def test_an_app_uploads_lists_and_shows_a_session(sessions: Sessions) -> None:
    token = sessions.api.token()
    made = sessions.upload(token=token)
    assert (made["projectId"], made["originalFile"], made["originalMessages"], made["markers"]) == (PROJECT, None, 3, 3)
    assert made["markerProblems"][0]["written"] == "##keepit0.5##"
    assert made["sizeBytes"] == len(TEXT) and made["counts"]["humanPrompts"] == 2
    shown = sessions.get("/sessions/s1", token=token)
    assert shown["metadata"]["cwd"] == FOLDER and shown["files"] == []
    for path in ("/sessions", SESSIONS):
        assert [one["sessionId"] for one in sessions.get(path, token=token)["sessions"]] == ["s1"]
    [project] = sessions.get("/projects", token=token)["projects"]
    assert (project["originalPath"], project["displayName"], project["sessions"]) == (FOLDER, "kites", 1)
    manifest = sessions.manifest()
    assert list(manifest["sessions"]) == ["s1"] and sessions.in_cache() == []
    assert sessions.api.loop.metrics.sessions_registered.labels("upload")._value.get() == 1


def test_the_real_sessions_are_copied_with_their_hash_and_the_foreign_file_is_refused(sessions: Sessions) -> None:
    if not (REAL / FOREIGN).exists():
        pytest.skip("the recorded sessions are not here")
    before = {path: digest(path) for path in sorted(REAL.glob("*.jsonl"))}
    for path, known in before.items():
        asked = ("POST", f"{SESSIONS}/{path.stem}", {"path": str(path)})
        if path.name == FOREIGN:
            error = sessions.refused(422, *asked)
            assert error["code"] == "not_a_transcript" and FOREIGN in error["message"]
            continue
        made = sessions.register(path, path.stem)
        assert (made["originalFile"], made["sizeBytes"]) == (str(path), path.stat().st_size)
        assert made["sha256"] == known == digest(sessions.copy_of(path.stem))
        assert sessions.refused(409, *asked)["code"] == "already_registered"
        assert sessions.ask("POST", f"/sessions/{path.stem}/sync")["session"]["sha256"] == known
    assert len(sessions.get("/sessions")["sessions"]) == len(before) - 1 == 12
    assert sessions.api.loop.metrics.session_files_refused._value.get() == 1
    assert {path: digest(path) for path in before} == before
    assert sum("originals" in one for one in sessions.files()) == 12 and sessions.in_cache() == []


def test_only_an_admin_names_paths(sessions: Sessions, tmp_path: Path) -> None:
    own, path = {"token": sessions.api.token()}, write(tmp_path / "s1.jsonl", user("x", "1"))
    assert "upload" in sessions.refused(403, "POST", f"{SESSIONS}/s1", {"path": str(path)}, **own)["message"]
    opened = {"originalPath": FOLDER}
    sessions.refused(403, "POST", "/projects", opened | {"sourceFolder": str(tmp_path)}, **own)
    sessions.ask("POST", "/projects", 201, opened, **own)
    sessions.refused(403, "PATCH", f"/projects/{PROJECT}", {"sourceFolder": str(tmp_path)}, **own)
    for dry_run in (True, False):
        sessions.refused(403, "POST", f"/projects/{PROJECT}/scan", dryRun=dry_run, **own)
    sessions.refused(404, "GET", "/sessions/s1", **own)


PREVIEW = {"sessionId": "s1", "compressionRatio": 2, "aggressiveness": "light", "sessionDistance": 1}
PART = {"name": "mine", "components": [{"sessionId": "s1"}], "totalTokenBudget": 2000}
ISOLATED: dict[str, Any] = {
    "POST /decay/preview": PREVIEW, "PUT /sessions/s1/keepits/{marker}": {"weight": 0.1},
    "PATCH /projects/{project}": {"displayName": "x"}, "POST /projects/{project}/compositions": PART,
    "POST /projects/{project}/compositions/preview": PART, "POST /compositions/{composition}/used": {"sessionId": "x"},
    "POST /projects/{project}/prune": {"unused": True}, "PUT /projects/{project}/ageing": {"retention": None},
    "POST /projects/{project}/search": {"text": "kites"}, "POST /projects/{project}/suggest": {"text": "kites"},
    "POST /projects/{project}/links": {"sourceProject": PROJECT, "sourceSession": "s1", "reason": "x"},
    "PATCH /semantic/{semantic}": {"verdict": "confirmed"},
} | dict.fromkeys((
    "GET /projects/{project}", "GET /projects/{project}/sessions", "GET /sessions/s1", "GET /sessions/s1/keepits",
    "GET /projects/{project}/changes", "DELETE /projects/{project}/sessions/s1", "GET /sessions/s1/messages",
    "POST /sessions/s1/sync", "DELETE /projects/{project}",
    "GET /projects/{project}/export", "GET /projects/{project}/compositions", "GET /projects/{project}/ageing",
    "POST /projects/{project}/ageing/run", "GET /compositions/{composition}", "DELETE /compositions/{composition}",
    "GET /compositions/{composition}?format=markdown", "POST /compositions/{composition}/again",
    "GET /sessions/s1/versions", "POST /sessions/s1/versions", "GET /sessions/s1/versions/v001",
    "DELETE /sessions/s1/versions/v001", "GET /sessions/s1/versions/v001/comparison?with=v001", "GET /jobs/{job}",
    "GET /projects/{project}/links", "DELETE /links/{link}", "GET /projects/{project}/semantic",
    "POST /projects/{project}/semantic/learn", "GET /semantic/{semantic}", "DELETE /semantic/{semantic}",
))  # fmt: skip
"""What is asked for with another app's token, by the operation."""
OTHERS = {
    "POST /projects/{project}/scan", "GET /projects", "POST /projects", "POST /projects/import", "GET /sessions",
    "POST /sessions/delete", "GET /jobs",
    "POST /sessions/search", "POST /projects/{project}/sessions/{session}",
}  # fmt: skip
"""What only an admin may do, and what answers with what is the caller's own."""


def test_no_app_sees_or_touches_anothers_sessions(sessions: Sessions) -> None:
    said = user("##keepit0.80## From now on always put a tail on kites. Never cut the string.", "1", cwd=FOLDER)
    sessions.upload("s1", lines(said))
    sessions.upload("s2", lines(user("Sail.", "2")), project="boats")
    sessions.index()
    link = {"sourceProject": PROJECT, "sourceSession": "s1", "reason": "x"}
    ids = {"project": PROJECT, "marker": sessions.keepits()[0]["markerId"]}
    ids["link"] = sessions.ask("POST", "/projects/boats/links", 201, link)["linkId"]
    ids["job"] = sessions.compress(mode="uniform", compactionRatio=2) and sessions.get("/jobs")["jobs"][0]["jobId"]
    ids["composition"] = sessions.compose("start", "s1")["compositionId"]
    sessions.ask("POST", f"/projects/{PROJECT}/semantic/learn", 202)
    sessions.work_off()
    ids["semantic"] = sessions.get(f"/projects/{PROJECT}/semantic")["memories"][0]["id"]
    own, before = {"token": sessions.api.token("email")}, sessions.get(f"/projects/{PROJECT}")
    for operation, body in ISOLATED.items():
        method, path = operation.format(**ids).split(" ")
        assert sessions.refused(404, method, path, body, **own)["code"] == "not_found", operation
        sessions.refused(403, method, path, body, **own, appId="chat")
    for path in ("/sessions", "/jobs"):
        assert list(sessions.get(path, **own).values()) in ([[], None], [None, []]), path
    found = sessions.ask("POST", "/sessions/search", body={"text": "kites"}, **own)
    assert found["results"] == [] and "kites" not in json.dumps(found)
    [kept] = sessions.ask("POST", "/sessions/delete", body={"sessionIds": ["s1"]}, **own)["sessions"]
    assert (kept["deleted"], kept["code"]) == (False, "not_found")
    assert sessions.api.refused(422, "GET", f"{MEMORY}/sessions")["code"] == "app_missing"
    assert sessions.get(f"/projects/{PROJECT}") == before


def test_every_operation_about_sessions_is_tried_with_another_apps_token(sqlite_api: Api) -> None:
    nouns = ("projects", "sessions", "compositions", "decay", "semantic", "links", "jobs")
    names = {"projectId": "project", "compositionId": "composition", "markerId": "marker", "jobId": "job",
             "linkId": "link", "semanticId": "semantic", "versionId": "v001"}  # fmt: skip

    def named(operation: str) -> str:
        for name, short in names.items():
            operation = operation.replace(f"{{{name}}}", short if short == "v001" else f"{{{short}}}")
        return operation.replace("sessions/{sessionId}", "sessions/s1")

    paths = sqlite_api.client.get("/openapi.json").json()["paths"]
    every = {named(f"{method.upper()} {path.removeprefix(MEMORY)}") for path, item in paths.items() for method in item
             if path.startswith(MEMORY) and path.split("/")[3] in nouns}  # fmt: skip
    tried = {one.partition("?")[0] for one in ISOLATED}
    assert every - tried == {one.replace("{session}", "s1") for one in OTHERS}


LEADING_OUT = (
    "/projects/..%2f..%2fetc/sessions/s1", "/projects/p/sessions/..%2fx", "/projects/.hidden/sessions/s1",
     "/projects/p/sessions/%2e%2e", "/projects/p/sessions/-x", "/projects/p/sessions/a%00", "/projects/p/sessions/é",
     f"/projects/{'p' * 201}/sessions/s1", f"/projects/p/sessions/{'s' * 201}",
)  # fmt: skip


def test_no_id_leads_out_of_the_store(sessions: Sessions) -> None:
    for path in LEADING_OUT:
        answer = sessions.api.send("POST", f"{MEMORY}{path}", params={"appId": "chat"}, content=TEXT, headers=NDJSON)
        assert answer.status_code in {400, 404, 405, 422}, path
    assert sessions.files() == []


def test_what_cannot_be_registered_is_refused_and_leaves_nothing(sessions: Sessions, tmp_path: Path) -> None:
    path = f"{SESSIONS}/s1"
    for wrong in ("relative.jsonl", "", "~/x.jsonl", 5, None, "/x\n"):
        assert sessions.refused(422, "POST", path, {"path": wrong})["details"]["fields"][0]["field"] == "path"
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name, status in (("none", 404), ("folder", 422), ("pipe", 422)):
        error = sessions.refused(status, "POST", path, {"path": str(tmp_path / f"{name}.jsonl")})
        assert name in error["message"] and (status == 422 or error["code"] == "no_such_file")
    error = sessions.refused(422, "POST", path, {"path": "/" + "x" * 300})
    assert "cannot be read here: File name too long" in error["message"]
    assert "s1.jsonl is not a recorded session" in sessions.refused(422, "POST", path, b"{\n}\n")["message"]
    error = sessions.refused(422, "POST", path, b"", headers={"Content-Type": ""})
    assert "application/x-ndjson" in error["message"]
    sessions.refused(404, "POST", path, TEXT, appId="none")
    assert sessions.files() == [] and not sessions.store.app("none").exists()


def test_a_marked_part_is_shown_with_what_stands_around_it(sessions: Sessions) -> None:
    said = f"{'x' * 100} [...] before ##keepit0.80## the part\n\nafter [...] {'y' * 100}"
    sessions.upload(body=lines(user(said, "1")))
    [one] = sessions.keepits()
    assert (one["before"], one["content"]) == (said[: said.index("##")][-80:], "the part")
    assert one["after"] == said[said.index("part") + 4 :][:80]


@pytest.fixture
def narrow(sqlite_url: str, tmp_path: Path) -> Iterator[Sessions]:
    limits = {"sessions_max_mb": 1, "sessions_cache_mb": 1, "sessions_max_lines": 1000}
    with (
        open_api(sqlite_url, tmp_path / "home", **limits) as opened,
        open_sessions(opened, sqlite_url, tmp_path) as found,
    ):
        yield found


@pytest.mark.parametrize("announced", [True, False], ids=["with a length", "without a length"])
def test_an_upload_over_the_limit_is_refused_as_it_arrives(narrow: Sessions, announced: bool, tmp_path: Path) -> None:
    part, path = TEXT + b'{"type":"progress","x":"' + b"x" * 300_000 + b'"}\n', f"{SESSIONS}/s1"
    error = narrow.refused(413, "POST", path, part * 4 if announced else iter([part] * 40))
    assert error["details"]["limit"] == 2**20 and "AFTERTHOUGHT_SESSIONS_MAX_MB" in error["message"]
    (tmp_path / "large.jsonl").write_bytes(part * 4)
    error = narrow.refused(413, "POST", path, {"path": str(tmp_path / "large.jsonl")})
    assert "large.jsonl is larger than 1 MB" in error["message"] and narrow.files() == []
    narrow.upload(body=TEXT + part)
    narrow.refused(413, "POST", "/sessions/s1/sync", part * 4)
    narrow.store.write_text(narrow.store.cache("chat") / "left-over", ["x" * 2**20])
    assert "AFTERTHOUGHT_SESSIONS_CACHE_MB" in narrow.refused(503, "POST", f"{SESSIONS}/s2", TEXT)["message"]


def test_a_transcript_of_too_many_lines_or_marks_is_refused_before_it_is_read(narrow: Sessions) -> None:
    few = lines(*[user("x", str(n)) for n in range(1000)])
    many = few + lines(user("y", "y"))
    narrow.upload("s1", few)
    for path in (f"{SESSIONS}/s2", f"{SESSIONS}/s3", "/sessions/s1/sync"):
        error = narrow.refused(413, "POST", path, many)
        assert (error["code"], error["details"]["limit"]) == ("too_large", 1000)
        assert "AFTERTHOUGHT_SESSIONS_MAX_LINES" in error["message"]
    narrow.upload("s4", lines(user("##keepit0.80## A lathe.\n\n" * 100, "1")))
    error = narrow.refused(413, "POST", f"{SESSIONS}/s5", lines(user("##KeepIt0.80## a " * 2_001, "1")))
    assert (error["code"], error["details"]["limit"]) == ("too_large", 2_000) and narrow.in_cache() == []


def test_a_line_of_many_megabytes_is_passed_over_and_told_and_refused_where_it_is_all_there_is(
    sessions: Sessions,
) -> None:
    huge = lines(user("x" * (17 * 2**20), "huge"))
    made = sessions.upload("s1", lines(user("Before", "1")) + huge + lines(user("After", "2")))
    assert (made["counts"]["records"], made["counts"]["badLines"], made["originalMessages"]) == (2, 1, 2)
    error = sessions.refused(422, "POST", f"{SESSIONS}/s2", huge)
    assert error["code"] == "not_a_transcript" and "does not end within 16777216 bytes" in error["message"]


def test_a_session_is_registered_once_in_an_app_and_an_upload_is_repeated_under_its_key(sessions: Sessions) -> None:
    key, path = {"Idempotency-Key": "k1"}, f"{SESSIONS}/s1"
    first = sessions.upload(headers=key)
    sent = {"params": {"appId": "chat"}, "content": TEXT, "headers": NDJSON | key}
    again = sessions.api.send("POST", f"{MEMORY}{path}", **sent)
    assert (again.status_code, again.json(), again.headers["idempotency-replayed"]) == (201, first, "true")
    assert sessions.refused(409, "POST", path, TEXT + TEXT, headers=key)["code"] == "idempotency_key_reused"
    for there in (path, "/projects/another/sessions/s1"):
        known = sessions.refused(409, "POST", there, TEXT)
        assert known["code"] == "already_registered" and known["details"]["projectId"] == PROJECT
    assert [one for one in sessions.files() if "originals" in one] == [f"projects/{PROJECT}/originals/s1.jsonl"]
    assert sessions.in_cache() == [] and len(sessions.keepits()) == 3
    sessions.upload(appId="email")
    assert f"projects/{PROJECT}/originals/s1.jsonl" in sessions.files("email")


def test_an_upload_is_synced_by_the_longer_file(sessions: Sessions) -> None:
    sessions.upload()
    path, longer = "/sessions/s1/sync", TEXT + lines(user("More", "4"))
    assert sessions.refused(409, "POST", path)["code"] == "no_original"
    synced = sessions.ask("POST", path, body=longer + b'{"type')
    assert synced["addedBytes"] == len(longer) - len(TEXT) and synced["session"]["originalMessages"] == 4
    assert sessions.ask("POST", path, body=longer)["addedBytes"] == 0
    assert sessions.refused(409, "POST", path, b"x" + longer)["code"] == "original_changed"
    assert sessions.in_cache() == [] and sessions.copy_of().read_bytes() == longer


def test_a_weight_is_overridden_and_taken_back_and_the_preview_goes_by_it(sessions: Sessions) -> None:
    sessions.upload()
    pinned, kept, noted = (one["markerId"] for one in sessions.keepits())
    asked = {"sessionId": "s1", "compressionRatio": 30, "aggressiveness": "aggressive", "sessionDistance": 5}

    def preview(**more: Any) -> Any:
        return sessions.ask("POST", "/decay/preview", body=asked | more)

    assert preview() == {
        "markers": [
            {"markerId": pinned, "weight": 1.0, "survives": True}, {"markerId": kept, "weight": 0.8, "survives": True},
            {"markerId": noted, "weight": 0.5, "survives": False},
        ],
        "threshold": 0.65, "pinnedWeight": 1.0,
    }  # fmt: skip
    assert preview(aggressiveness="light")["threshold"] == preview(aggressiveness="minimal")["threshold"] == 0.25
    path, before = f"/sessions/s1/keepits/{noted}", sessions.copy_of().read_bytes()
    item = sessions.ask("PUT", path, body={"weight": 0.65})
    assert (item["weight"], item["writtenWeight"], item["overriddenBy"]) == (0.65, 0.5, "admin")
    assert preview()["markers"][2] == {"markerId": noted, "weight": 0.65, "survives": True}
    assert sessions.ask("PUT", path, body={"preset": "HINT"})["weight"] == 0.1
    item = sessions.ask("PUT", path, body={"weight": None})
    assert (item["weight"], item["overriddenBy"], item["overriddenAt"]) == (0.5, None, None)
    for body in ({}, {"weight": 0.123}, {"weight": 1.1}, {"weight": -0.1}, {"preset": None}, {"preset": "X"},
                 {"weight": 0.5, "preset": "HINT"}):  # fmt: skip
        sessions.refused(422, "PUT", path, body)
    sessions.refused(404, "PUT", "/sessions/s1/keepits/k0", {"weight": 0.5})
    assert sessions.copy_of().read_bytes() == before
    changes = sessions.get(f"/projects/{PROJECT}/changes")["changes"]
    weighed = [(one["subject"], one["before"], one["after"]) for one in changes if one["kind"] == "weighed"]
    assert weighed[-1] == (noted, {"weight": 50}, {"weight": 65}) and len(weighed) == 3
    assert "Note" not in json.dumps(changes)


def test_marked_parts_and_sessions_are_listed_page_by_page_and_by_what_is_asked_for(sessions: Sessions) -> None:
    sessions.upload()
    edited = {"type": "tool_use", "id": "t", "name": "Edit", "input": {"file_path": "/home/me/kites/a.py"}}
    said = user("x", "9", timestamp="2026-02-01T00:00:00Z"), {"type": "assistant", "message": {"content": [edited]}}
    sessions.upload("s2", lines(*said))

    def listed(**params: Any) -> list[str]:
        return [one["sessionId"] for one in sessions.get("/sessions", **params)["sessions"]]

    assert listed() == ["s2", "s1"] and listed(marked=True) == ["s1"] and listed(marked=False) == ["s2"]
    assert listed(file="/home/me/kites/a.py") == ["s2"] and listed(projectId="none") == []
    assert listed(since="2026-01-15T00:00:00Z") == ["s2"] and listed(until="2026-01-15T00:00:00Z") == ["s1"]
    sessions.refused(422, "GET", "/sessions", since="0001-01-01T00:00:00+14:00")
    sessions.refused(404, "GET", "/projects/none/sessions")
    first = sessions.get("/sessions", limit=1)
    assert first["cursor"] and listed(cursor=first["cursor"]) == ["s1"]
    page = sessions.get("/sessions/s1/keepits", limit=2)
    rest = sessions.get("/sessions/s1/keepits", cursor=page["cursor"])
    assert [one["content"] for one in page["keepits"] + rest["keepits"]] == ["Pin", "Keep", "Note"]
    assert page["keepits"][0]["position"] == {"start": 0, "end": 18} and rest["cursor"] is None


def pages(sessions: Sessions, path: str, name: str, **params: Any) -> list[Any]:
    found, cursor = [], {}
    for _ in range(40):
        page = sessions.get(path, **params, **cursor)
        assert len(page[name]) <= params["limit"]
        found += page[name]
        if page["cursor"] is None:
            return found
        cursor = {"cursor": page["cursor"]}
    raise AssertionError("the pages do not end")


def test_a_projects_sessions_are_listed_by_when_they_went_on_page_by_page(sessions: Sessions) -> None:
    # In the order of registration; one has no times, and counts as of today.
    months = {"june": "2026-06", "march": "2026-03", "never": None, "may": "2026-05", "also-may": "2026-05"}
    for name, month in months.items():
        at = {} if month is None else {"timestamp": f"{month}-02T10:00:00Z"}
        sessions.upload(name, lines(user(f"Work of {name}.", "1", cwd=FOLDER, **at)))
    listed = [one["sessionId"] for one in pages(sessions, SESSIONS, "sessions", order="time", limit=2)]
    assert sorted(listed) == sorted(months)
    assert [one for one in listed if one != "never"] == ["june", "also-may", "may", "march"]
    assert [one["sessionId"] for one in sessions.get(SESSIONS)["sessions"]] == list(reversed(months))
    sessions.refused(422, "GET", SESSIONS, order="time", cursor="c2Vzc2lvbnN8Mw")


def test_sessions_are_unregistered_one_by_one_or_several_at_once(sessions: Sessions) -> None:
    for name in ("s1", "s2", "s3"):
        sessions.upload(name)
    sessions.ask("DELETE", f"{SESSIONS}/s1")
    sessions.refused(404, "DELETE", f"{SESSIONS}/s1")
    sessions.refused(404, "DELETE", "/projects/other/sessions/s2")
    answer = sessions.ask("POST", "/sessions/delete", body={"sessionIds": ["s2", "s9", "s2"]})
    assert [(one["sessionId"], one["deleted"], one["code"]) for one in answer["sessions"]] == [
        ("s2", True, None), ("s9", False, "not_found"),
    ]  # fmt: skip
    assert sorted(one.rsplit("/")[-1] for one in sessions.files()) == ["config.json", "manifest.json", "s3.jsonl"]
    error = sessions.refused(409, "DELETE", f"/projects/{PROJECT}")
    assert error["code"] == "project_not_empty" and error["details"] == {"sessions": 1, "compositions": 0}
    gone = sessions.ask("DELETE", f"/projects/{PROJECT}", force=True)
    assert gone["sessions"] == ["s3"] and not sessions.store.project_folder("chat", PROJECT).exists()
    changes = sessions.get(f"/projects/{PROJECT}/changes")["changes"]
    kinds = [one["kind"] for one in changes]
    assert kinds[:2] == ["removed", "unregistered"] and kinds.count("unregistered") == 3


def test_a_session_in_a_composition_stays_and_every_removal_is_written_down(sessions: Sessions, tmp_path: Path) -> None:
    original = write(tmp_path / "s1.jsonl", user("One", "1"))
    sessions.register(original)
    sessions.compress(mode="uniform", compactionRatio=2)
    composition = sessions.compose("feature-x", "s1")["compositionId"]
    sessions.work_off()
    for path, more in ((f"{SESSIONS}/s1", {}), (f"/projects/{PROJECT}", {"force": True})):
        error = sessions.refused(409, "DELETE", path, **more)
        assert "feature-x" in error["message"] and error["details"] == {"compositions": [composition]}
    sessions.ask("DELETE", f"/compositions/{composition}")
    sessions.ask("DELETE", f"{SESSIONS}/s1")
    assert not [one for one in sessions.files() if "s1" in one] and original.exists()
    assert sessions.manifest()["sessions"] == {}
    change = sessions.get(f"/projects/{PROJECT}/changes")["changes"][0]
    assert (change["kind"], change["actor"], change["before"]["versions"]) == ("unregistered", "admin", 1)


def test_a_project_is_opened_and_changed_and_paths_that_look_alike_get_projects_of_their_own(
    sessions: Sessions, tmp_path: Path
) -> None:
    opened = {"originalPath": FOLDER, "settings": {"defaultCompressionPreset": "gentle"}}
    project = sessions.ask("POST", "/projects", 201, opened)
    assert (project["projectId"], project["settings"]["defaultCompressionPreset"]) == (PROJECT, "gentle")
    assert sessions.refused(409, "POST", "/projects", opened)["code"] == "already_registered"
    wanted = {"sourceFolder": str(tmp_path), "settings": {"autoRegisterNewSessions": True}}
    changed = sessions.ask("PATCH", f"/projects/{PROJECT}", body=wanted)
    own = {"defaultCompressionPreset": "gentle", "autoRegisterNewSessions": True}
    assert changed["ownSettings"] == own and changed["settings"].items() > own.items()
    for body in ({}, {"displayName": ""}, {"settings": {"other": 1}}, {"sourceFolder": "x"}):
        sessions.refused(422, "PATCH", f"/projects/{PROJECT}", body)
    alike = ("/a/b", "/a_b", "/a.b")
    ids = [sessions.ask("POST", "/projects", 201, {"originalPath": path})["projectId"] for path in alike]
    assert ids[0] == "-a-b" and len(set(ids)) == 3 and all(one.startswith("-a-b-") for one in ids[1:])
    sessions.refused(409, "POST", "/projects", {"originalPath": "/a_b"})


def test_what_would_be_registered_is_shown_with_its_counts_and_leaves_nothing(
    sessions: Sessions, tmp_path: Path
) -> None:
    token, path = sessions.api.token(), tmp_path / "s1.jsonl"
    path.write_bytes(TEXT + b'{"type": "user", "mess')
    foreseen = sessions.ask("POST", f"{SESSIONS}/s1", 200, TEXT, token=token, dryRun=True)
    assert foreseen["markerWeights"] == {"1.00": 1, "0.80": 1, "0.50": 1}
    assert (foreseen["originalMessages"], foreseen["markers"], foreseen["sizeBytes"]) == (3, 3, len(TEXT))
    assert foreseen["firstTimestamp"] == "2026-01-02T10:00:00Z" and foreseen["originalFile"] is None
    named = {"path": str(path)}
    seen = sessions.ask("POST", f"{SESSIONS}/s1", 200, named, dryRun=True)
    assert seen == foreseen | {"originalFile": str(path)}
    sessions.refused(403, "POST", f"{SESSIONS}/s1", named, token=token, dryRun=True)
    sessions.refused(422, "POST", f"{SESSIONS}/s1", b"{\n}\n", dryRun=True)
    assert sessions.get("/projects")["projects"] == [] and sessions.files() == []
    made = sessions.upload()
    shared = foreseen.keys() & made.keys()
    assert {name: foreseen[name] for name in shared} == {name: made[name] for name in shared}
    assert sessions.refused(409, "POST", f"{SESSIONS}/s1", named, dryRun=True)["code"] == "already_registered"


def test_an_original_is_read_page_by_page_with_speakers_times_and_markers(sessions: Sessions) -> None:
    long, at = "z" * 250_000, "2026-01-02T10:00:00Z"
    call = tool("Bash", {"command": "make"}, "done", 7)
    side = user("Look there", "8", isSidechain=True)
    sessions.upload(body=TEXT + lines(user(f"{long} ##keepit0.90## Last", "4", timestamp=at), *call, side))
    path, marker = "/sessions/s1/messages", sessions.keepits()[1]["markerId"]
    sessions.ask("PUT", f"/sessions/s1/keepits/{marker}", body={"weight": 0.1})
    assert sum(len(one["text"]) for one in sessions.get(path)["messages"]) <= 200_000
    read = pages(sessions, path, "messages", limit=2)
    speakers = ["User", "Assistant", "User", "User", "User", "Tool", "Tool", "Order to a sub-agent"]
    assert [one["speaker"] for one in read] == speakers
    assert [(one["uuid"], one["position"]) for one in read[:4]] == [("1", 0), ("2", 1), ("3", 2), ("4", 3)]
    assert (read[0]["at"], read[5]["tool"], read[6]["tool"]) == ("2026-01-02T10:00:00Z", "Bash", "Bash")
    assert {one["held"] for one in read} == {None}
    first = read[0]["markers"][1]
    assert (first["markerId"], first["weight"], first["writtenWeight"]) == (marker, 0.1, 0.8)
    assert read[0]["text"][first["start"] : first["end"]] == "##keepit0.80## Keep"
    pieces = [one for one in read if one["uuid"] == "4"]
    assert [one["start"] for one in pieces] == [0, len(pieces[0]["text"])]
    assert pieces[0]["markers"] == pieces[1]["markers"]
    whole = "".join(one["text"] for one in pieces)
    assert whole == f"{long} ##keepit0.90## Last" and pieces[0]["characters"] == len(whole)
    assert whole[pieces[1]["markers"][0]["start"] :] == "##keepit0.90## Last"
    [there] = sessions.get(path, limit=1, messageUuid="3", token=sessions.api.token())["messages"]
    assert there["text"] == "##keepit0.5## odd"
    for wrong in ({"messageUuid": "none"}, {"versionId": "v001"}):
        sessions.refused(404, "GET", path, **wrong)
    sessions.refused(404, "GET", "/sessions/none/messages")
    sessions.refused(422, "GET", path, cursor="x")


def test_a_project_lists_its_sessions_and_both_say_what_they_take(sessions: Sessions) -> None:
    sessions.upload()
    sessions.upload("s2", lines(user("x", "9")))
    shown = sessions.get(f"/projects/{PROJECT}")
    assert [one["sessionId"] for one in shown["sessionList"]["sessions"]] == ["s2", "s1"]
    assert shown["sessionList"] == sessions.get(SESSIONS) and shown["sessions"] == 2
    taken = len(TEXT) + len(lines(user("x", "9")))
    empty = {"versions": 0, "versionBytes": 0, "compositions": 0}
    assert shown["storage"] == empty | {"originalBytes": taken, "compositionBytes": 0}
    storage = sessions.get("/sessions/s1")["storage"]
    assert storage == empty | {"originalBytes": len(TEXT), "compositionBytes": None}


def test_a_session_that_is_read_is_recalled_and_registering_it_is_no_use(sessions: Sessions) -> None:
    for name, day in (("old", "01"), ("new", "05")):
        sessions.upload(name, lines(user("Kites", "1", cwd=FOLDER, timestamp=f"2020-01-{day}T10:00:00Z")))

    def suggested() -> list[str]:
        answer = sessions.ask("POST", f"/projects/{PROJECT}/suggest", body={"workingDir": FOLDER})
        return [one["sessionId"] for one in answer["suggestions"]]

    assert suggested() == ["new", "old"]
    sessions.api.clock.advance(3600)
    sessions.get("/sessions/old")
    assert suggested() == ["new", "old"], "to look at what is known of it is no use"
    sessions.get("/sessions/old/messages")
    assert suggested() == ["old", "new"]
    assert sessions.get("/sessions/old")["usedAt"] is not None and sessions.get("/sessions/new")["usedAt"] is None
