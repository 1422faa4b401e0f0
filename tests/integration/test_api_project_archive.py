"""A project goes into one file and comes out of it whole, or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from shared.base.errors import Purged
from shared.sessions.archive import restore
from shared.sessions.archive.document import CHECKSUMS, DOCUMENT
from shared.sessions.archive.restore import check_archive, restore_archive
from shared.sessions.registry.registration import SessionPlace
from tests.support.api import error_in, open_api
from tests.support.sessions import MEMORY, PROJECT, ZIP, Sessions, open_sessions
from tests.support.transcripts import lines, user

Members = dict[str, bytes]
MINE = f"/projects/{PROJECT}"
RULE = "Always run make lint before a commit."


def fill(sessions: Sessions) -> None:
    """Fill a project with everything an archive holds: marks, a weight, versions, a composition, a memory, settings."""
    sessions.shop.register("one", marked="##keepit0.90## Retries stop after five.")
    sessions.shop.register("two", 3)
    sessions.compose("start", "one", "two", budget=1500)
    sessions.work_off()
    [marker] = sessions.keepits("one")
    sessions.ask("PUT", f"/sessions/one/keepits/{marker['markerId']}", body={"weight": 0.4})
    settings = {"keepitDecayEnabled": False, "compressionRetention": 7, "keepitDecay": {"maxSessionDistance": 20}}
    sessions.ask("PATCH", MINE, body={"settings": settings})
    sessions.ask("PUT", f"{MINE}/ageing", body={"autoDecay": {"rules": {"createAfterDays": 9}}})
    sessions.shelf.add(sessions.shelf.transcript("three").human(RULE), PROJECT, "chat")
    sessions.ask("POST", f"{MINE}/semantic/learn", 202)
    sessions.work_off()


def export(sessions: Sessions, app_id: str = "chat") -> bytes:
    answer = sessions.api.send("GET", f"{MEMORY}{MINE}/export?appId={app_id}")
    assert answer.is_success, answer.text
    return answer.content


def send(sessions: Sessions, content: bytes, app_id: str = "email", **more: Any) -> httpx2.Response:
    own = {"token": more.pop("token")} if "token" in more else {}
    params = ({} if own else {"appId": app_id}) | more
    return sessions.api.send("POST", f"{MEMORY}/projects/import", params=params, content=content, headers=ZIP, **own)


def bring(sessions: Sessions, content: bytes, **more: Any) -> Any:
    answer = send(sessions, content, **more)
    assert answer.status_code == 201, answer.text
    return answer.json()


def members(content: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(parts: Members, odd: Iterable[str] = ()) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content, zipfile.ZIP_BZIP2 if name in odd else zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def signed(parts: Members) -> bytes:
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in parts.items() if name != CHECKSUMS}
    return zipped(parts | {CHECKSUMS: json.dumps(sums).encode()})


def document(content: bytes) -> Any:
    return json.loads(members(content)[DOCUMENT])


def changed(content: bytes, change: Callable[[Any], object]) -> bytes:
    said = document(content)
    change(said)
    return signed(members(content) | {DOCUMENT: json.dumps(said).encode()})


def everything(sessions: Sessions, app_id: str) -> Any:
    """Return what there is of an app: its files, projects, sessions, and what was done to the project."""
    found = [sessions.get(path, appId=app_id) for path in ("/projects", "/sessions")]
    changes = sessions.api.send("GET", f"{MEMORY}{MINE}/changes", params={"appId": app_id}).text
    return sessions.files(app_id), found, changes


def test_what_went_in_comes_out_the_same(sessions: Sessions) -> None:
    fill(sessions)
    first = export(sessions)
    assert export(sessions) == first, "the same project is the same file"
    done = bring(sessions, first)
    learnt = len(document(first)["semanticMemories"])
    assert (done["sessions"], done["versions"], done["compositions"], done["semanticMemories"]) == (3, 1, 1, learnt)
    assert learnt
    second = export(sessions, "email")
    ours, theirs = document(first), document(second)
    assert [one for one in ours["changes"] if one in theirs["changes"]] == ours["changes"]
    assert "imported" in [one["kind"] for one in theirs["changes"]]
    for one in (ours, theirs):
        del one["changes"], one["project"]["createdAt"]
    assert ours == theirs
    own = [sessions.get(MINE, appId=app_id)["ownSettings"] for app_id in ("chat", "email")]
    assert own[0] == own[1], "and nothing that the project does not say itself"
    assert [one.get("number") for one in ours["compositions"][0]["components"]] == [1, None]
    requests = [sessions.get(f"{MINE}/compositions", appId=app_id)["compositions"][0]["request"]
                for app_id in ("chat", "email")]  # fmt: skip
    assert requests[0].keys() == requests[1].keys(), "the rows say it in the same words"
    [marker] = sessions.get("/sessions/one/keepits", appId="email")["keepits"]
    assert (marker["writtenWeight"], marker["weight"], marker["overriddenBy"]) == (0.9, 0.4, "admin")
    both = [{name: one for name, one in members(content).items() if name not in (DOCUMENT, CHECKSUMS)}
            for content in (first, second)]  # fmt: skip
    assert both[0] == both[1]


def test_where_a_session_comes_from_arrives_only_where_an_admin_says_so(sessions: Sessions) -> None:
    sessions.shop.register("one")
    sessions.upload("uploaded")

    def named(said: Any) -> None:
        said["sessions"][0]["originalFile"] = "/etc/passwd"

    content = changed(export(sessions), named)
    for more, origin in (({"token": sessions.api.token("email")}, None), ({}, "/etc/passwd")):
        done = bring(sessions, content, projectId="other-name", **more)
        assert done["projectId"] == "other-name"
        found = {one: sessions.get(f"/sessions/{one}", appId="email")["originalFile"] for one in ("one", "uploaded")}
        assert found == {"one": origin, "uploaded": None}
        sessions.ask("DELETE", "/projects/other-name", appId="email", force=True)


def test_nothing_that_is_there_is_written_over(sessions: Sessions) -> None:
    fill(sessions)
    content, before = export(sessions), everything(sessions, "chat")
    for project_id in (PROJECT, "other-name"):
        answer = send(sessions, content, "chat", projectId=project_id)
        assert (answer.status_code, error_in(answer)["code"]) == (409, "already_registered")
    assert everything(sessions, "chat") == before


def the_rule(said: Any) -> Any:
    """Return what an archive says was learnt from the one who gave a rule."""
    return next(one for one in said["semanticMemories"] if RULE in one["sources"][0]["excerpt"] or "wifi" in str(one))


def test_what_an_archive_says_was_learnt_holds_no_secret(sessions: Sessions) -> None:
    fill(sessions)
    content, empty = export(sessions), everything(sessions, "email")

    def says(what: str) -> bytes:
        def change(said: Any) -> None:
            memory = the_rule(said)
            where = memory if what == "content" else memory["sources"][0]
            where[what] = f"{RULE} The wifi password is hunter2."

        return changed(content, change)

    answer = send(sessions, says("content"))
    assert (answer.status_code, error_in(answer)["code"]) == (422, "secret")
    assert everything(sessions, "email") == empty
    bring(sessions, says("excerpt"))
    memory = the_rule(document(export(sessions, "email")))
    assert [one["excerpt"] for one in memory["sources"]] == [f"{RULE} […]"]


Change = Callable[[bytes], bytes]


def _without(name: str) -> Change:
    return lambda content: zipped({k: v for k, v in members(content).items() if not k.startswith(name)})


def _with(name: str) -> Change:
    return lambda content: signed(members(content) | {name: b"x"})


def _session(**more: Any) -> Change:
    return lambda content: changed(content, lambda said: said["sessions"][0].update(more))


def _wrong(change: Callable[[Any], object]) -> Change:
    return lambda content: changed(content, change)


def _version(change: Callable[[Any], object]) -> Change:
    return _wrong(lambda said: change(said["sessions"][0]["versions"]))


def _component(**more: Any) -> Change:
    return _wrong(lambda said: said["compositions"][0]["components"][0].update(more))


def _swap(content: bytes) -> bytes:
    parts = members(content)
    one, _, two = (name for name in parts if name.startswith("originals/"))
    return signed(parts | {one: parts[two], two: parts[one]})


def _tampered(content: bytes) -> bytes:
    parts = members(content)
    (name,) = (name for name in parts if name.endswith("composed.md"))
    return zipped(parts | {name: parts[name] + b"!"})


def _foreign_transcript(content: bytes) -> bytes:
    parts, foreign = members(content), b'{\n  "not": "a transcript"\n}\n'
    said = json.loads(parts[DOCUMENT])
    (session,) = (one for one in said["sessions"] if one["sessionId"] == "two")
    session |= {"sha256": hashlib.sha256(foreign).hexdigest(), "sizeBytes": len(foreign)}
    return signed(parts | {"originals/two.jsonl": foreign, DOCUMENT: json.dumps(said).encode()})


BROKEN: dict[str, tuple[Change, str]] = {
    "not a zip": (lambda _: b"PK\x03\x04 nonsense", "the file"), "empty": (lambda _: b"", "the file"),
    "cut off": (lambda content: content[: len(content) // 2], "the file"),
    "a foreign zip": (lambda _: zipped({"readme.txt": b"hello"}), DOCUMENT),
    "without its document": (_without(DOCUMENT), DOCUMENT), "without its checksums": (_without(CHECKSUMS), CHECKSUMS),
    "without an original": (_without("originals/two"), "originals/two.jsonl"),
    "a name that leads out": (_with("../../etc/passwd"), "../../etc/passwd"),
    "an absolute name": (_with("/etc/passwd"), "/etc/passwd"),
    "more than it speaks of": (_with("originals/four.jsonl"), "originals/four.jsonl"),
    "swapped originals": (_swap, "originals/one.jsonl"),
    "a changed composition": (_tampered, "composed/start/composed.md"),
    "a transcript that is none": (_foreign_transcript, "originals/two.jsonl"),
    "another way of packing": (lambda content: zipped(members(content), [CHECKSUMS]), CHECKSUMS),
    "another format": (_wrong(lambda said: said.update(format="zip")), DOCUMENT),
    "another version": (_wrong(lambda said: said.update(version=99)), DOCUMENT),
    "an unknown field": (_wrong(lambda said: said.update(extra=1)), DOCUMENT),
    "a session twice": (_wrong(lambda said: said["sessions"].append(said["sessions"][0])), DOCUMENT),
    "a version number twice": (_version(lambda versions: versions.append(versions[0])), DOCUMENT),
    "a version number to come": (_session(nextVersion=1), DOCUMENT),
    "a version under another one's name": (
        _version(lambda versions: versions[0].update(file="v007_uniform-minimal_1k")), DOCUMENT),
    "a version that says why in no words": (_version(lambda all_: all_[0]["statistics"].update(why=[])), DOCUMENT),
    "half a version": (_version(lambda versions: versions[0]["digests"].pop("jsonl")), DOCUMENT),
    "a time before all others": (
        _wrong(lambda said: said["project"].update(createdAt="0001-01-01T00:00:00+14:00")), DOCUMENT),
    "a part of a session that is not there": (_component(sessionId="four"), DOCUMENT),
    "a part of a version that is not there": (_component(number=77), DOCUMENT),
    "a session id that leads out": (_session(sessionId="../x"), DOCUMENT),
    "a mark that is not there": (
        _wrong(lambda said: said["sessions"][0]["weights"][0].update(markerId="nobody")), "originals/one.jsonl"),
    "a length that is not so": (_session(sizeBytes=3), "originals/one.jsonl"),
}  # fmt: skip


def test_what_is_not_whole_is_refused_by_the_part_that_is_wrong_and_leaves_nothing(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(sessions)
    content, before = export(sessions), everything(sessions, "email")
    for kind, (make, member) in BROKEN.items():
        answer = send(sessions, make(content))
        error = error_in(answer)
        named = error["details"].get("member") or error["details"].get("file")
        assert (kind, answer.status_code, named) == (kind, 422, member)
        assert error["code"] in ("bad_archive", "not_a_transcript"), kind
    monkeypatch.setattr(restore, "_MOST_READ_BYTES", 4096)
    answer = send(sessions, zipped({f"part{number}": b"" for number in range(100)}))
    assert error_in(answer)["code"] == "bad_archive", "a list of parts that would fill the memory is not read"
    assert everything(sessions, "email") == before


def test_every_refusal_is_ours(sessions: Sessions) -> None:
    fill(sessions)
    content = export(sessions)
    for at in range(0, len(content), max(1, len(content) // 40)):
        answer = send(sessions, content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        assert answer.status_code in (201, 413, 422), answer.text
        if answer.status_code == 201:
            sessions.api.ask("DELETE", "/apps/email/data")


@pytest.mark.parametrize(("cache_mb", "why"), [(32, "AFTERTHOUGHT_SESSIONS_CACHE_MB"), (1024, "100 times its size")])
def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(
    sqlite_url: str, tmp_path: Path, cache_mb: int, why: str
) -> None:
    with (
        open_api(sqlite_url, tmp_path / "home", sessions_cache_mb=cache_mb) as api,
        open_sessions(api, sqlite_url, tmp_path) as sessions,
    ):
        sessions.upload()
        parts, bomb = members(export(sessions)), lines(user("x", "u")) * 1_000_000
        answer = send(sessions, zipped({name: bomb if "originals/" in name else one for name, one in parts.items()}))
        assert answer.status_code == 413 and error_in(answer)["code"] == "too_large"
        assert why in error_in(answer)["message"] and sessions.files("email") == []


def test_files_go_again_where_the_rows_do_not_come_to_be(sessions: Sessions) -> None:
    fill(sessions)
    upload = sessions.store.unfinished("email")
    sessions.store.make_folder(upload.parent)
    upload.write_bytes(export(sessions))
    loop, place = sessions.api.loop, SessionPlace("email", PROJECT, "", 7)
    with check_archive(sessions.store, "email", upload, loop.settings, 2**27) as found, pytest.raises(Purged):
        restore_archive(loop.database, sessions.store, place, found, sessions.shop.cause(), sessions.shelf._carry, True)
    upload.unlink()
    assert sessions.files("email") == [] and sessions.get("/projects", appId="email")["projects"] == []


def test_a_file_that_was_changed_in_the_store_is_not_handed_out(sessions: Sessions) -> None:
    fill(sessions)
    (sessions.store.composition_folder("chat", PROJECT, "start") / "composed.md").write_text("something else")
    assert sessions.refused(409, "GET", f"{MINE}/export")["code"] == "store_changed"
    assert sessions.in_cache() == []
