"""Recorded sessions over HTTP: registered by path or upload, listed, weighed, synced and taken out of the registry."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loop.steps.sessions import TendSessions
from loop.steps.upkeep import FinishErasures
from shared.sessions import sweep
from tests.support.api import Api, open_api
from tests.support.recordings import Shelf
from tests.support.transcripts import FOREIGN, REAL, assistant, lines, tool, user, write

NDJSON = {"Content-Type": "application/x-ndjson"}
CHAT = {"appId": "chat"}
SESSIONS = "/api/memory/projects/-home-me-app/sessions"
TEXT = lines(
    user("##keepit1.00## Pin\n\n##keepit0.80## Keep", "1", cwd="/home/me/app", timestamp="2026-01-02T10:00:00Z"),
    assistant("##keepit0.50## Note", "2", "1", timestamp="2026-01-02T10:01:00Z"),
    user("##keepit0.5## odd", "3"),
)


def upload(api: Api, session_id: str = "s1", content: bytes = TEXT, status: int = 201, **more: Any) -> Any:
    params = more.pop("params", CHAT)
    path = f"{SESSIONS}/{session_id}"
    return api.ask(
        "POST", path, status, params=params, content=content, headers=NDJSON | more.pop("headers", {}), **more
    )


def in_cache(api: Api, app_id: str = "chat") -> list[Path]:
    return [path for path in api.loop.store.files(app_id) if "cache" in path.parts]


def keepits(api: Api, session_id: str = "s1") -> list[dict[str, Any]]:
    found = api.ask("GET", f"/api/memory/sessions/{session_id}/keepits", params=CHAT)["keepits"]
    return list(found)


def test_an_app_uploads_lists_and_shows_a_session(api: Api) -> None:
    api.install()
    token = api.token()
    made = upload(api, token=token, params={})
    assert (made["projectId"], made["originalFile"], made["originalMessages"], made["markers"]) == (
        "-home-me-app",
        None,
        3,
        3,
    )
    assert made["markerProblems"][0]["written"] == "##keepit0.5##"
    assert made["sizeBytes"] == len(TEXT) and made["counts"]["humanPrompts"] == 2
    shown = api.ask("GET", "/api/memory/sessions/s1", token=token)
    assert shown["metadata"]["cwd"] == "/home/me/app" and shown["files"] == []
    for path in ("/api/memory/sessions", SESSIONS):
        assert [one["sessionId"] for one in api.ask("GET", path, token=token)["sessions"]] == ["s1"]
    [project] = api.ask("GET", "/api/memory/projects", token=token)["projects"]
    assert (project["originalPath"], project["displayName"], project["sessions"]) == ("/home/me/app", "app", 1)
    shown = json.loads(api.loop.store.manifest("chat", "-home-me-app").read_text())
    assert list(shown["sessions"]) == ["s1"]
    config = json.loads(api.loop.store.config("chat").read_text())
    assert config["keepitDecay"] == {
        "compressionBase": {"light": 0.1, "moderate": 0.3, "aggressive": 0.5},
        "maxSessionDistance": 10,
        "pinnedWeight": 1.0,
    }
    assert in_cache(api) == []
    assert api.loop.metrics.sessions_registered.labels("upload")._value.get() == 1


def test_the_real_sessions_are_registered_by_path_and_the_foreign_file_is_refused(sqlite_api: Api) -> None:
    if not (REAL / FOREIGN).exists():
        pytest.skip("the recorded sessions are not here")
    api = sqlite_api
    api.install()
    for path in sorted(REAL.glob("*.jsonl")):
        asked = {"params": CHAT, "json": {"path": str(path)}}
        if path.name == FOREIGN:
            error = api.refused(422, "POST", f"{SESSIONS}/{path.stem}", **asked)
            assert error["code"] == "not_a_transcript" and FOREIGN in error["message"]
        else:
            assert api.ask("POST", f"{SESSIONS}/{path.stem}", 201, **asked)["originalFile"] == str(path)
            assert api.refused(409, "POST", f"{SESSIONS}/{path.stem}", **asked)["code"] == "already_registered"
    assert len(api.ask("GET", "/api/memory/sessions", params=CHAT)["sessions"]) == 12
    assert api.loop.metrics.session_files_refused._value.get() == 1


def test_only_an_admin_names_paths(sqlite_api: Api, tmp_path: Path) -> None:
    api = sqlite_api
    api.install()
    token, path = api.token(), write(tmp_path / "s1.jsonl", user("x", "1"))
    refused = api.refused(403, "POST", f"{SESSIONS}/s1", token=token, json={"path": str(path)})
    assert "upload" in refused["message"]
    opened = {"originalPath": "/home/me/app", "sourceFolder": str(tmp_path)}
    api.refused(403, "POST", "/api/memory/projects", token=token, json=opened)
    api.ask("POST", "/api/memory/projects", 201, token=token, json={"originalPath": "/home/me/app"})
    api.refused(403, "PATCH", "/api/memory/projects/-home-me-app", token=token, json={"sourceFolder": str(tmp_path)})
    api.refused(403, "POST", "/api/memory/projects/-home-me-app/scan", token=token)
    api.refused(404, "GET", "/api/memory/sessions/s1", token=token)


def test_no_app_sees_or_touches_anothers_sessions(sqlite_api: Api) -> None:
    api = sqlite_api
    api.install()
    api.install("email")
    upload(api)
    token, marker = api.token("email"), keepits(api)[0]["markerId"]
    preview = {"sessionId": "s1", "compressionRatio": 2, "aggressiveness": "light", "sessionDistance": 1}
    for method, path, body in (
        ("GET", "/api/memory/sessions/s1", None), ("GET", "/api/memory/projects/-home-me-app", None),
        ("GET", SESSIONS, None), ("POST", "/api/memory/decay/preview", preview),
        ("GET", "/api/memory/sessions/s1/keepits", None), ("GET", "/api/memory/projects/-home-me-app/changes", None),
        ("PUT", f"/api/memory/sessions/s1/keepits/{marker}", {"weight": 0.1}), ("DELETE", f"{SESSIONS}/s1", None),
        ("GET", "/api/memory/sessions/s1/messages", None),
        ("POST", "/api/memory/sessions/s1/sync", None), ("DELETE", "/api/memory/projects/-home-me-app", None),
        ("PATCH", "/api/memory/projects/-home-me-app", {"displayName": "x"}),
    ):  # fmt: skip
        api.refused(404, method, path, token=token, **({} if body is None else {"json": body}))
        api.refused(403, method, path, token=token, params=CHAT, **({} if body is None else {"json": body}))
    assert api.ask("GET", "/api/memory/sessions", token=token)["sessions"] == []
    [kept] = api.ask("POST", "/api/memory/sessions/delete", token=token, json={"sessionIds": ["s1"]})["sessions"]
    assert (kept["deleted"], kept["code"]) == (False, "not_found")
    assert api.refused(422, "GET", "/api/memory/sessions")["code"] == "app_missing"
    assert len(keepits(api)) == 3


@pytest.mark.parametrize(
    "path",
    [
        "/api/memory/projects/..%2f..%2fetc/sessions/s1", "/api/memory/projects/p/sessions/..%2fx",
        "/api/memory/projects/.hidden/sessions/s1", "/api/memory/projects/p/sessions/%2e%2e",
        "/api/memory/projects/p/sessions/-x", "/api/memory/projects/p/sessions/a%00",
        "/api/memory/projects/p/sessions/é",
        f"/api/memory/projects/{'p' * 201}/sessions/s1", f"/api/memory/projects/p/sessions/{'s' * 201}",
    ],
)  # fmt: skip
def test_no_id_leads_out_of_the_store(sqlite_api: Api, path: str) -> None:
    sqlite_api.install()
    answer = sqlite_api.send("POST", path, params=CHAT, content=TEXT, headers=NDJSON)
    assert answer.status_code in {400, 404, 405, 422}
    assert list(sqlite_api.loop.store.files("chat")) == []


@pytest.mark.parametrize("path", ["relative.jsonl", "", "~/x.jsonl", 5, None, "/x\n"])
def test_a_path_must_be_absolute(sqlite_api: Api, path: object) -> None:
    sqlite_api.install()
    error = sqlite_api.refused(422, "POST", f"{SESSIONS}/s1", params=CHAT, json={"path": path})
    assert error["details"]["fields"][0]["field"] == "path"


def test_a_file_that_is_not_there_and_a_body_that_is_no_transcript_are_refused(sqlite_api: Api, tmp_path: Path) -> None:
    api = sqlite_api
    api.install()
    error = api.refused(404, "POST", f"{SESSIONS}/s1", params=CHAT, json={"path": str(tmp_path / "none.jsonl")})
    assert error["code"] == "no_such_file"
    error = api.refused(422, "POST", f"{SESSIONS}/s1", params=CHAT, content=b"{\n}\n", headers=NDJSON)
    assert "s1.jsonl is not a recorded session" in error["message"]
    error = api.refused(422, "POST", f"{SESSIONS}/s1", params=CHAT, content=b"", headers={})
    assert "application/x-ndjson" in error["message"]
    api.refused(404, "POST", f"{SESSIONS}/s1", params={"appId": "none"}, content=TEXT, headers=NDJSON)
    assert list(api.loop.store.files("chat")) == [] and not api.loop.store.app("none").exists()


def test_a_marked_part_is_shown_with_what_stands_around_it(sqlite_api: Api) -> None:
    sqlite_api.install()
    said = f"{'x' * 100} [...] before ##keepit0.80## the part\n\nafter [...] {'y' * 100}"
    upload(sqlite_api, content=lines(user(said, "1")))
    [one] = keepits(sqlite_api)
    assert (one["before"], one["content"]) == (said[: said.index("##")][-80:], "the part")
    assert one["after"] == said[said.index("part") + 4 :][:80]


@pytest.fixture
def narrow(sqlite_url: str, tmp_path: Path) -> Iterator[Api]:
    """An interface that takes little."""
    with open_api(sqlite_url, tmp_path / "home", sessions_max_mb=1, sessions_cache_mb=1) as opened:
        opened.install()
        yield opened


@pytest.mark.parametrize("announced", [True, False], ids=["with a length", "without a length"])
def test_an_upload_over_the_limit_is_refused_as_it_arrives(narrow: Api, announced: bool) -> None:
    part = TEXT + b'{"type":"progress","x":"' + b"x" * 300_000 + b'"}\n'
    taken: list[int] = []

    def parts() -> Iterator[bytes]:
        for number in range(40):
            taken.append(number)
            yield part

    content: Any = part * 4 if announced else parts()
    error = narrow.refused(413, "POST", f"{SESSIONS}/s1", params=CHAT, content=content, headers=NDJSON)
    assert error["details"]["limit"] == 2**20 and "AFTERTHOUGHT_SESSIONS_MAX_MB" in error["message"]
    assert in_cache(narrow) == []
    upload(narrow, content=TEXT + part)
    narrow.refused(413, "POST", "/api/memory/sessions/s1/sync", params=CHAT, content=part * 4, headers=NDJSON)
    left = narrow.loop.store.cache("chat") / "left-over"
    narrow.loop.store.write_text(left, ["x" * 2**20])
    error = narrow.refused(503, "POST", f"{SESSIONS}/s2", params=CHAT, content=TEXT, headers=NDJSON)
    assert "AFTERTHOUGHT_SESSIONS_CACHE_MB" in error["message"]


def test_an_upload_is_repeated_under_its_key_and_refused_without_it(sqlite_api: Api) -> None:
    api = sqlite_api
    api.install()
    key = {"Idempotency-Key": "k1"}
    first = upload(api, headers=key)
    again = api.send("POST", f"{SESSIONS}/s1", params=CHAT, content=TEXT, headers=NDJSON | key)
    assert (again.status_code, again.json(), again.headers["idempotency-replayed"]) == (201, first, "true")
    other = api.refused(409, "POST", f"{SESSIONS}/s1", params=CHAT, content=TEXT + TEXT, headers=NDJSON | key)
    assert other["code"] == "idempotency_key_reused"
    known = api.refused(409, "POST", f"{SESSIONS}/s1", params=CHAT, content=TEXT, headers=NDJSON)
    assert known["code"] == "already_registered" and known["details"]["projectId"] == "-home-me-app"
    assert in_cache(api) == []


def test_an_upload_is_synced_by_the_longer_file(sqlite_api: Api) -> None:
    api = sqlite_api
    api.install()
    upload(api)
    path, longer = "/api/memory/sessions/s1/sync", TEXT + lines(user("More", "4"))
    assert api.refused(409, "POST", path, params=CHAT)["code"] == "no_original"
    synced = api.ask("POST", path, params=CHAT, content=longer + b'{"type', headers=NDJSON)
    assert synced["addedBytes"] == len(longer) - len(TEXT) and synced["session"]["originalMessages"] == 4
    assert api.ask("POST", path, params=CHAT, content=longer, headers=NDJSON)["addedBytes"] == 0
    changed = api.refused(409, "POST", path, params=CHAT, content=b"x" + longer, headers=NDJSON)
    assert changed["code"] == "original_changed" and in_cache(api) == []
    assert api.loop.store.original("chat", "-home-me-app", "s1").read_bytes() == longer


def test_a_weight_is_overridden_and_taken_back_and_the_preview_goes_by_it(sqlite_api: Api) -> None:
    api = sqlite_api
    api.install()
    upload(api)
    pinned, kept, noted = (one["markerId"] for one in keepits(api))
    asked = {"sessionId": "s1", "compressionRatio": 30, "aggressiveness": "aggressive", "sessionDistance": 5}

    def preview(**more: Any) -> dict[str, Any]:
        answer: dict[str, Any] = api.ask("POST", "/api/memory/decay/preview", params=CHAT, json=asked | more)
        return answer

    assert preview() == {
        "markers": [
            {"markerId": pinned, "weight": 1.0, "survives": True},
            {"markerId": kept, "weight": 0.8, "survives": True},
            {"markerId": noted, "weight": 0.5, "survives": False},
        ],
        "threshold": 0.65,
        "pinnedWeight": 1.0,
    }
    assert preview(aggressiveness="light")["threshold"] == preview(aggressiveness="minimal")["threshold"] == 0.25
    path = f"/api/memory/sessions/s1/keepits/{noted}"
    before = api.loop.store.original("chat", "-home-me-app", "s1").read_bytes()
    item = api.ask("PUT", path, params=CHAT, json={"weight": 0.65})
    assert (item["weight"], item["writtenWeight"], item["overriddenBy"]) == (0.65, 0.5, "admin")
    assert preview()["markers"][2] == {"markerId": noted, "weight": 0.65, "survives": True}
    assert api.ask("PUT", path, params=CHAT, json={"preset": "HINT"})["weight"] == 0.1
    item = api.ask("PUT", path, params=CHAT, json={"weight": None})
    assert (item["weight"], item["overriddenBy"], item["overriddenAt"]) == (0.5, None, None)
    for body in (
        {},
        {"weight": 0.123},
        {"weight": 1.1},
        {"weight": -0.1},
        {"preset": None},
        {"preset": "X"},
        {"weight": 0.5, "preset": "HINT"},
    ):
        api.refused(422, "PUT", path, params=CHAT, json=body)
    api.refused(404, "PUT", "/api/memory/sessions/s1/keepits/k0", params=CHAT, json={"weight": 0.5})
    assert api.loop.store.original("chat", "-home-me-app", "s1").read_bytes() == before
    changes = api.ask("GET", "/api/memory/projects/-home-me-app/changes", params=CHAT)["changes"]
    weighed = [(one["subject"], one["before"], one["after"]) for one in changes if one["kind"] == "weighed"]
    assert weighed[-1] == (noted, {"weight": 50}, {"weight": 65}) and len(weighed) == 3
    assert "Note" not in json.dumps(changes)


def test_marked_parts_and_sessions_are_listed_page_by_page_and_by_what_is_asked_for(api: Api) -> None:
    api.install()
    upload(api)
    edited = {"type": "tool_use", "id": "t", "name": "Edit", "input": {"file_path": "/home/me/app/a.py"}}
    said = user("x", "9", timestamp="2026-02-01T00:00:00Z"), {"type": "assistant", "message": {"content": [edited]}}
    upload(api, "s2", lines(*said))

    def listed(**params: Any) -> list[str]:
        found = api.ask("GET", "/api/memory/sessions", params=CHAT | params)["sessions"]
        return [one["sessionId"] for one in found]

    assert listed() == ["s2", "s1"] and listed(marked=True) == ["s1"] and listed(marked=False) == ["s2"]
    assert listed(file="/home/me/app/a.py") == ["s2"] and listed(projectId="none") == []
    assert listed(since="2026-01-15T00:00:00Z") == ["s2"] and listed(until="2026-01-15T00:00:00Z") == ["s1"]
    api.refused(422, "GET", "/api/memory/sessions", params=CHAT | {"since": "0001-01-01T00:00:00+14:00"})
    api.refused(404, "GET", "/api/memory/projects/none/sessions", params=CHAT)
    first = api.ask("GET", "/api/memory/sessions", params=CHAT | {"limit": 1})
    assert first["cursor"] and listed(cursor=first["cursor"]) == ["s1"]
    page = api.ask("GET", "/api/memory/sessions/s1/keepits", params=CHAT | {"limit": 2})
    rest = api.ask("GET", "/api/memory/sessions/s1/keepits", params=CHAT | {"cursor": page["cursor"]})
    assert [one["content"] for one in page["keepits"] + rest["keepits"]] == ["Pin", "Keep", "Note"]
    assert page["keepits"][0]["position"] == {"start": 0, "end": 18} and rest["cursor"] is None


def test_sessions_are_unregistered_one_by_one_or_several_at_once(sqlite_api: Api) -> None:
    api = sqlite_api
    api.install()
    for name in ("s1", "s2", "s3"):
        upload(api, name)
    api.ask("DELETE", f"{SESSIONS}/s1", params=CHAT)
    api.refused(404, "DELETE", f"{SESSIONS}/s1", params=CHAT)
    api.refused(404, "DELETE", "/api/memory/projects/other/sessions/s2", params=CHAT)
    answer = api.ask("POST", "/api/memory/sessions/delete", params=CHAT, json={"sessionIds": ["s2", "s9", "s2"]})
    assert [(one["sessionId"], one["deleted"], one["code"]) for one in answer["sessions"]] == [
        ("s2", True, None), ("s9", False, "not_found"),
    ]  # fmt: skip
    names = [path.name for path in api.loop.store.files("chat")]
    assert sorted(names) == ["config.json", "manifest.json", "s3.jsonl"]
    error = api.refused(409, "DELETE", "/api/memory/projects/-home-me-app", params=CHAT)
    assert error["code"] == "project_not_empty" and error["details"] == {"sessions": 1, "compositions": 0}
    gone = api.ask("DELETE", "/api/memory/projects/-home-me-app", params=CHAT | {"force": True})
    assert gone["sessions"] == ["s3"] and not api.loop.store.project_folder("chat", "-home-me-app").exists()
    kinds = [one["kind"] for one in api.ask("GET", "/api/memory/projects/-home-me-app/changes", params=CHAT)["changes"]]
    assert kinds[:2] == ["removed", "unregistered"] and kinds.count("unregistered") == 3


def test_a_project_is_opened_changed_and_its_folder_looked_through(sqlite_api: Api, tmp_path: Path) -> None:
    api = sqlite_api
    api.install()
    write(tmp_path / "folder" / "s1.jsonl", user("x", "1"))
    (tmp_path / "folder" / "bad.jsonl").write_text("x")
    opened = {"originalPath": "/home/me/app", "settings": {"defaultCompressionPreset": "gentle"}}
    project = api.ask("POST", "/api/memory/projects", 201, params=CHAT, json=opened)
    assert (project["projectId"], project["settings"]["defaultCompressionPreset"]) == ("-home-me-app", "gentle")
    assert api.refused(409, "POST", "/api/memory/projects", params=CHAT, json=opened)["code"] == "already_registered"
    path = "/api/memory/projects/-home-me-app"
    wanted = {"sourceFolder": str(tmp_path / "folder"), "settings": {"autoRegisterNewSessions": True}}
    changed = api.ask("PATCH", path, params=CHAT, json=wanted)
    own = {"defaultCompressionPreset": "gentle", "autoRegisterNewSessions": True}
    assert changed["ownSettings"] == own and changed["settings"].items() > own.items()
    scan = api.ask("POST", f"{path}/scan", params=CHAT)
    assert (scan["registered"], [one["file"] for one in scan["refused"]]) == (["s1"], ["bad.jsonl"])
    shown = api.ask("GET", path, params=CHAT)
    assert shown["refusedFiles"][0]["file"] == "bad.jsonl" and shown["scannedAt"] is not None
    assert api.ask("PATCH", path, params=CHAT, json={"sourceFolder": None})["refusedFiles"] == []
    for body in ({}, {"displayName": ""}, {"settings": {"other": 1}}, {"sourceFolder": "x"}):
        api.refused(422, "PATCH", path, params=CHAT, json=body)


def test_a_scan_follows_no_link_and_what_became_one_is_not_read_on(api: Api, tmp_path: Path) -> None:
    api.install()
    folder, secret = tmp_path / "folder", tmp_path / "secret.jsonl"
    write(folder / "s1.jsonl", user("One", "1"))
    write(secret, user("One", "1"), user("zyzzogeton", "2"))
    (folder / "linked.jsonl").symlink_to(secret)
    path = "/api/memory/projects/-home-me-app"
    opened = {"originalPath": "/home/me/app", "sourceFolder": str(folder)}
    api.ask("POST", "/api/memory/projects", params=CHAT, json=opened)
    api.ask("PATCH", path, params=CHAT, json={"settings": {"autoRegisterNewSessions": True}})
    for dry_run in (True, False):
        scan = api.ask("POST", f"{path}/scan", params=CHAT | {"dryRun": dry_run})
        assert [one["file"] for one in scan["refused"]] == ["linked.jsonl"]
        assert "links are not followed" in scan["refused"][0]["reason"]
    (folder / "s1.jsonl").unlink()
    (folder / "s1.jsonl").symlink_to(secret)
    scan = api.ask("POST", f"{path}/scan", params=CHAT)
    assert sorted(one["file"] for one in scan["refused"]) == ["linked.jsonl", "s1.jsonl"]
    api.refused(422, "POST", "/api/memory/sessions/s1/sync", params=CHAT)
    [session] = api.ask("GET", f"{path}/sessions", params=CHAT)["sessions"]
    assert session["sessionId"] == "s1" and session["originalMessages"] == 1
    by_hand = api.send("POST", f"{path}/sessions/linked", params=CHAT, json={"path": str(folder / "linked.jsonl")})
    assert by_hand.status_code == 201, "an admin names the file"


def test_a_folder_that_became_a_link_is_not_looked_through(sqlite_api: Api, tmp_path: Path) -> None:
    api, folder = sqlite_api, tmp_path / "folder"
    api.install()
    write(folder / "s1.jsonl", user("One", "1"))
    write(tmp_path / "others" / "s2.jsonl", user("zyzzogeton", "2"))
    (tmp_path / "by-link").symlink_to(folder)
    opened = {"originalPath": "/home/me/app", "sourceFolder": str(tmp_path / "by-link")}
    assert api.ask("POST", "/api/memory/projects", params=CHAT, json=opened)["sourceFolder"] == str(folder)
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "others")
    for dry_run in (True, False):
        scan = api.ask("POST", "/api/memory/projects/-home-me-app/scan", params=CHAT | {"dryRun": dry_run})
        assert scan["registered"] == [] and "link leads elsewhere" in scan["refused"][0]["reason"]


def test_a_path_that_no_file_can_have_is_refused(sqlite_api: Api) -> None:
    sqlite_api.install()
    error = sqlite_api.refused(422, "POST", f"{SESSIONS}/s1", params=CHAT, json={"path": "/" + "x" * 300})
    assert "cannot be read here: File name too long" in error["message"]


def test_what_would_be_registered_is_shown_with_its_counts_and_leaves_nothing(api: Api, tmp_path: Path) -> None:
    api.install()
    token, path = api.token(), write(tmp_path / "s1.jsonl")
    path.write_bytes(TEXT + b'{"type": "user", "mess')
    answered = api.send("POST", f"{SESSIONS}/s1?dryRun=true", token=token, content=TEXT, headers=NDJSON)
    foreseen = answered.json()
    assert answered.status_code == 200
    assert foreseen["markerWeights"] == {"1.00": 1, "0.80": 1, "0.50": 1}
    assert (foreseen["originalMessages"], foreseen["markers"], foreseen["sizeBytes"]) == (3, 3, len(TEXT))
    assert foreseen["firstTimestamp"] == "2026-01-02T10:00:00Z" and foreseen["originalFile"] is None
    by_path = {"params": CHAT | {"dryRun": True}, "json": {"path": str(path)}}
    assert api.ask("POST", f"{SESSIONS}/s1", 200, **by_path) == foreseen | {"originalFile": str(path)}
    api.refused(403, "POST", f"{SESSIONS}/s1?dryRun=true", token=token, json={"path": str(path)})
    api.refused(422, "POST", f"{SESSIONS}/s1?dryRun=true", params=CHAT, content=b"{\n}\n", headers=NDJSON)
    assert api.ask("GET", "/api/memory/projects", params=CHAT)["projects"] == []
    assert list(api.loop.store.files("chat")) == []
    made = upload(api)
    shared = foreseen.keys() & made.keys()
    assert {name: foreseen[name] for name in shared} == {name: made[name] for name in shared}
    assert api.refused(409, "POST", f"{SESSIONS}/s1", **by_path)["code"] == "already_registered"


def test_a_projects_sessions_are_listed_by_when_they_went_on_page_by_page(api: Api) -> None:
    api.install()
    # In the order of registration; one has no times, and counts as of today.
    months = {"june": "2026-06", "march": "2026-03", "never": None, "may": "2026-05", "also-may": "2026-05"}
    for name, month in months.items():
        at = {} if month is None else {"timestamp": f"{month}-02T10:00:00Z"}
        upload(api, name, lines(user(f"Work of {name}.", "1", cwd="/home/me/app", **at)))
    listed: list[str] = []
    cursor = None
    while True:
        asked = CHAT | {"order": "time", "limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = api.ask("GET", SESSIONS, params=asked)
        listed += [one["sessionId"] for one in page["sessions"]]
        if (cursor := page["cursor"]) is None:
            break
    assert sorted(listed) == sorted(months)
    assert [one for one in listed if one != "never"] == ["june", "also-may", "may", "march"]
    by_registration = api.ask("GET", SESSIONS, params=CHAT)["sessions"]
    assert [one["sessionId"] for one in by_registration] == list(reversed(months))
    api.ask("GET", SESSIONS, 422, params=CHAT | {"order": "time", "cursor": "c2Vzc2lvbnN8Mw"})


def test_the_files_of_a_folder_that_are_not_registered_are_listed_with_their_counts(
    sqlite_api: Api, tmp_path: Path
) -> None:
    api, folder = sqlite_api, tmp_path / "folder"
    api.install()
    for name in ("a", "b", "c", "d"):
        write(folder / f"{name}.jsonl", user(f"##keepit0.80## {name}", "1", timestamp="2026-01-02T10:00:00Z"))
    (folder / "bad.jsonl").write_text("x")
    write(folder / "elsewhere.jsonl", user("x", "1"))
    path, opened = "/api/memory/projects/-home-me-app", {"originalPath": "/home/me/app", "sourceFolder": str(folder)}
    api.ask("POST", "/api/memory/projects", 201, params=CHAT, json=opened)
    api.ask("POST", f"{SESSIONS}/b", 201, params=CHAT, json={"path": str(folder / "b.jsonl")})
    upload(api, "elsewhere")
    with (folder / "b.jsonl").open("ab") as file:
        file.write(lines(user("More", "2")))
    before = api.ask("GET", f"{path}/changes", params=CHAT), api.ask("GET", path, params=CHAT)
    first = api.ask("POST", f"{path}/scan", params=CHAT | {"dryRun": True, "limit": 2})
    rest = api.ask("POST", f"{path}/scan", params=CHAT | {"dryRun": True, "limit": 2, "cursor": first["cursor"]})
    assert rest["cursor"] is None and first["foreseen"][0]["markerWeights"] == {"0.80": 1}
    assert [one["sessionId"] for one in first["foreseen"] + rest["foreseen"]] == ["a", "c", "d"]
    assert first["registered"] + rest["registered"] == ["a", "c", "d"] and first["synced"] == ["b"]
    refused = {one["file"]: one["reason"] for one in first["refused"] + rest["refused"]}
    assert "is not a recorded session" in refused["bad.jsonl"] and "registered already" in refused["elsewhere.jsonl"]
    assert before == (api.ask("GET", f"{path}/changes", params=CHAT), api.ask("GET", path, params=CHAT))
    api.refused(403, "POST", f"{path}/scan?dryRun=true", token=api.token())


def test_an_original_is_read_page_by_page_with_speakers_times_and_markers(api: Api) -> None:
    api.install()
    long, at = "z" * 250_000, "2026-01-02T10:00:00Z"
    call = tool("Bash", {"command": "make"}, "done", 7)
    side = user("Look there", "8", isSidechain=True)
    upload(api, content=TEXT + lines(user(f"{long} ##keepit0.90## Last", "4", timestamp=at), *call, side))
    path, marker = "/api/memory/sessions/s1/messages", keepits(api)[1]["markerId"]
    api.ask("PUT", f"/api/memory/sessions/s1/keepits/{marker}", params=CHAT, json={"weight": 0.1})
    read: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(20):
        page = api.ask("GET", path, params=CHAT | {"limit": 2} | ({"cursor": cursor} if cursor else {}))
        assert len(page["messages"]) <= 2 and sum(len(one["text"]) for one in page["messages"]) <= 200_000
        read, cursor = read + page["messages"], page["cursor"]
        if cursor is None:
            break
    speakers = ["User", "Assistant", "User", "User", "User", "Tool", "Tool", "Order to a sub-agent"]
    assert [one["speaker"] for one in read] == speakers
    assert [(one["uuid"], one["position"]) for one in read[:4]] == [("1", 0), ("2", 1), ("3", 2), ("4", 3)]
    assert (read[0]["at"], read[5]["tool"], read[6]["tool"]) == ("2026-01-02T10:00:00Z", "Bash", "Bash")
    assert {one["held"] for one in read} == {None}
    api.refused(404, "GET", path, params=CHAT | {"versionId": "v001"})
    first = read[0]["markers"][1]
    assert (first["markerId"], first["weight"], first["writtenWeight"]) == (marker, 0.1, 0.8)
    assert read[0]["text"][first["start"] : first["end"]] == "##keepit0.80## Keep"
    pieces = [one for one in read if one["uuid"] == "4"]
    assert [one["start"] for one in pieces] == [0, len(pieces[0]["text"])]
    assert pieces[0]["markers"] == pieces[1]["markers"]
    whole = "".join(one["text"] for one in pieces)
    assert whole == f"{long} ##keepit0.90## Last" and pieces[0]["characters"] == len(whole)
    assert whole[pieces[1]["markers"][0]["start"] :] == "##keepit0.90## Last"
    [there] = api.ask("GET", path, params={"limit": 1, "messageUuid": "3"}, token=api.token())["messages"]
    assert there["text"] == "##keepit0.5## odd"
    api.refused(404, "GET", path, params=CHAT | {"messageUuid": "none"})
    api.refused(404, "GET", "/api/memory/sessions/none/messages", params=CHAT)
    api.refused(422, "GET", path, params=CHAT | {"cursor": "x"})


def test_a_project_lists_its_sessions_and_both_say_what_they_take(sqlite_api: Api) -> None:
    api = sqlite_api
    api.install()
    upload(api)
    upload(api, "s2", lines(user("x", "9")))
    shown = api.ask("GET", "/api/memory/projects/-home-me-app", params=CHAT)
    assert [one["sessionId"] for one in shown["sessionList"]["sessions"]] == ["s2", "s1"]
    assert shown["sessionList"] == api.ask("GET", SESSIONS, params=CHAT) and shown["sessions"] == 2
    taken = len(TEXT) + len(lines(user("x", "9")))
    empty = {"versions": 0, "versionBytes": 0, "compositions": 0}
    assert shown["storage"] == empty | {"originalBytes": taken, "compositionBytes": 0}
    one = api.ask("GET", "/api/memory/sessions/s1", params=CHAT)
    assert one["storage"] == empty | {"originalBytes": len(TEXT), "compositionBytes": None}


def test_a_session_that_is_read_is_recalled_and_registering_it_is_no_use(sqlite_api: Api) -> None:
    api = sqlite_api
    api.install()
    for name, day in (("old", "01"), ("new", "05")):
        upload(api, name, lines(user("Kites", "1", cwd="/home/me/app", timestamp=f"2020-01-{day}T10:00:00Z")))

    def suggested() -> list[str]:
        path, body = "/api/memory/projects/-home-me-app/suggest", {"workingDir": "/home/me/app"}
        return [one["sessionId"] for one in api.ask("POST", path, params=CHAT, json=body)["suggestions"]]

    assert suggested() == ["new", "old"]
    api.clock.advance(3600)
    api.ask("GET", "/api/memory/sessions/old", params=CHAT)
    assert suggested() == ["new", "old"], "to look at what is known of it is no use"
    api.ask("GET", "/api/memory/sessions/old/messages", params=CHAT)
    assert suggested() == ["old", "new"]
    assert api.ask("GET", "/api/memory/sessions/old", params=CHAT)["usedAt"] is not None
    assert api.ask("GET", "/api/memory/sessions/new", params=CHAT)["usedAt"] is None


def test_a_receipt_counts_the_rows_and_files_of_sessions(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.install()
    upload(api)
    receipt = api.ask("DELETE", "/apps/chat/data")["receipt"]
    assert (receipt["erased"]["recordedSessions"], receipt["erased"]["projects"]) == (1, 1)
    assert {receipt["left"][name] for name in ("recordedSessions", "projects", "sessionChanges", "sessionFiles")} == {0}
    assert not api.loop.store.app("chat").exists()
    upload(api)
    with monkeypatch.context() as patched:
        patched.setattr(sweep, "sweep", _disk_gone)
        assert api.ask("DELETE", "/apps/chat/data")["receipt"]["left"]["sessionFiles"] == 1
    assert api.loop.store.app("chat").exists()
    FinishErasures(api.loop.database, api.loop.store, api.loop.redis).run()
    assert not api.loop.store.app("chat").exists()
    receipts = api.ask("GET", "/apps/chat/erasures")["erasures"]
    assert [one["left"]["sessionFiles"] for one in receipts] == [0, 0]


def _disk_gone(*_: object, **__: object) -> int:
    raise OSError("the disk does not answer")


def test_the_manifest_of_a_large_project_is_left_to_the_loop(sqlite_api: Api, tmp_path: Path) -> None:
    sqlite_api.install()
    loop, shelf = sqlite_api.loop, Shelf(sqlite_api.loop, tmp_path, sqlite_api.loop.store)
    for number in range(49):
        shelf.add(shelf.transcript(f"s{number}").human("Fly."), "-home-me-app", "chat")
    path = loop.store.manifest("chat", "-home-me-app")
    for number, shown in ((49, 50), (50, 50)):
        upload(sqlite_api, f"s{number}")
        assert len(json.loads(path.read_text())["sessions"]) == shown
    TendSessions(loop.database, loop.clock, loop.store, loop.metrics, loop.settings).run()
    assert len(json.loads(path.read_text())["sessions"]) == 51


def test_a_transcript_of_too_many_lines_is_refused_before_it_is_read(sqlite_url: str, tmp_path: Path) -> None:
    with open_api(sqlite_url, tmp_path / "home", sessions_max_lines=100) as api:
        api.install()
        many = lines(*[user("x", str(n)) for n in range(101)])
        for name in ("s1", "s2"):
            error = api.refused(413, "POST", f"{SESSIONS}/{name}", params=CHAT, content=many, headers=NDJSON)
            assert (error["code"], error["details"]["limit"]) == ("too_large", 100)
            assert "AFTERTHOUGHT_SESSIONS_MAX_LINES" in error["message"]
        few = lines(*[user("x", str(n)) for n in range(100)])
        upload(api, "s1", few)
        sync = "/api/memory/sessions/s1/sync"
        api.refused(413, "POST", sync, params=CHAT, content=few + lines(user("y", "y")), headers=NDJSON)
        assert in_cache(api) == []


def test_a_transcript_with_more_marks_than_anybody_writes_is_refused_before_it_is_read(sqlite_api: Api) -> None:
    sqlite_api.install()
    upload(sqlite_api, "s1", lines(user("##keepit0.80## A lathe.\n\n" * 100, "1")))
    many = lines(user("##KeepIt0.80## a " * 2_001, "1"))
    error = sqlite_api.refused(413, "POST", f"{SESSIONS}/s2", params=CHAT, content=many, headers=NDJSON)
    assert (error["code"], error["details"]["limit"]) == ("too_large", 2_000)


def test_an_archive_that_packs_better_than_transcripts_do_is_refused_before_it_is_unpacked(sqlite_api: Api) -> None:
    api = sqlite_api
    api.install()
    upload(api)
    exported = api.send("GET", "/api/memory/projects/-home-me-app/export", params=CHAT).content
    api.ask("DELETE", f"{SESSIONS}/s1", params=CHAT)
    bomb, made = lines(user("x", "u")) * 1_000_000, io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(exported)) as source, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name in source.namelist():
            file.writestr(name, bomb if name.startswith("originals/") else source.read(name))
    error = api.refused(
        413, "POST", "/api/memory/projects/import?projectId=bomb", params=CHAT, content=made.getvalue(),
        headers={"Content-Type": "application/zip"},
    )  # fmt: skip
    assert error["code"] == "too_large" and "100 times its size" in error["message"]
    assert in_cache(api) == []


def test_a_line_of_many_megabytes_is_passed_over_and_told_and_refused_where_it_is_all_there_is(sqlite_api: Api) -> None:
    api = sqlite_api
    api.install()
    huge = lines(user("x" * (17 * 2**20), "huge"))
    made = upload(api, "s1", lines(user("Before", "1")) + huge + lines(user("After", "2")))
    assert (made["counts"]["records"], made["counts"]["badLines"], made["originalMessages"]) == (2, 1, 2)
    error = api.refused(422, "POST", f"{SESSIONS}/s2", params=CHAT, content=huge, headers=NDJSON)
    assert error["code"] == "not_a_transcript" and "does not end within 16777216 bytes" in error["message"]
