"""A project goes into one file and comes out of it whole, or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from shared.base.errors import AfterthoughtError, Conflict, Invalid, Limit, NotFound, Purged
from shared.sessions.archive import restore
from shared.sessions.archive.document import CHECKSUMS, DOCUMENT
from shared.sessions.archive.export import packed
from shared.sessions.archive.restore import check_archive, restore_archive
from shared.sessions.models import Composition, KeepitMarker, Project, RecordedSession, SemanticMemory, SessionChange
from shared.sessions.queries import find_project, get_project, get_session, markers_of
from shared.sessions.registry.registration import SessionPlace
from shared.sessions.semantic.memories import SemanticProposal, save_proposals
from tests.support.composing import PROJECT, Shop, open_shop
from tests.support.house import House
from tests.support.settings import default_settings

Members = dict[str, bytes]
SETTINGS, MOST = default_settings(sessions_max_mb=64), 100 * 2**20


@pytest.fixture
def shop(house: House, tmp_path: Path) -> Iterator[Shop]:
    house.install("elsewhere")
    with open_shop(house, tmp_path) as shop:
        yield shop


def fill(shop: Shop) -> None:
    """Fill a project with everything an archive holds: marks, a weight, versions, a composition, a memory."""
    shop.register("one", marked="##keepit0.90## Retries stop after five.")
    shop.register("two", 3)
    shop.ask("start", "one", "two", budget=1500)
    shop.work_off()
    with shop.house.database.write() as session:
        (marker,) = markers_of(session, shop.recorded(session, "one").key)
        marker.override_weight, marker.overridden_by, marker.overridden_at = 40, "admin", shop.house.clock.now()
        project = get_project(session, "notes", PROJECT)
        found = SemanticProposal("preference", "Always lint", "u1", "Always lint.")  # type: ignore[arg-type]
        project.settings = {
            "keepitDecayEnabled": False, "compressionRetention": 7, "keepitDecay": {"maxSessionDistance": 20},
            "autoDecay": {"rules": {"createAfterDays": 9}},
        }  # fmt: skip
        save_proposals(session, project, shop.recorded(session, "two"), [found], "extractive", shop.house.clock.now())


def export(shop: Shop, app_id: str = "notes", project_id: str = PROJECT) -> bytes:
    with packed(shop.house.database, shop.store, app_id, project_id) as path:
        return path.read_bytes()


def bring(
    shop: Shop,
    content: bytes,
    app_id: str = "elsewhere",
    project_id: str = PROJECT,
    epoch: int = 0,
    keeps_origins: bool = True,
) -> Project:
    upload = shop.store.unfinished(app_id)
    shop.store.make_folder(upload.parent)
    upload.write_bytes(content)

    def carry(work: Callable[[Session], Project]) -> Project:
        with shop.house.database.write() as session:
            return work(session)

    try:
        with check_archive(shop.store, app_id, upload, SETTINGS, MOST) as found:
            place, cause = SessionPlace(app_id, project_id, "", epoch), shop.cause("import")
            return restore_archive(shop.house.database, shop.store, place, found, cause, carry, keeps_origins)
    finally:
        upload.unlink()


def members(content: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(parts: Members) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return buffer.getvalue()


def signed(parts: Members) -> bytes:
    """Return an archive with checksums made anew."""
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in parts.items() if name != CHECKSUMS}
    return zipped(parts | {CHECKSUMS: json.dumps(sums).encode()})


def document(content: bytes) -> Any:
    return json.loads(members(content)[DOCUMENT])


def changed(content: bytes, change: Callable[[Any], object]) -> bytes:
    said = document(content)
    change(said)
    return signed(members(content) | {DOCUMENT: json.dumps(said).encode()})


def everything(shop: Shop, app_id: str) -> tuple[list[str], int]:
    """Return an app's files, and how many rows its projects have."""
    with shop.house.database.read() as session:
        rows = sum(
            session.scalar(select(func.count()).select_from(model).where(model.app_id == app_id)) or 0
            for model in (Project, RecordedSession, SemanticMemory, SessionChange)
        )
    return [str(path.relative_to(shop.store.app(app_id))) for path in shop.store.files(app_id)], rows


def test_what_went_in_comes_out_the_same(shop: Shop) -> None:
    fill(shop)
    first = export(shop)
    assert export(shop) == first, "the same project is the same file"
    bring(shop, first)
    with shop.house.database.read() as session:
        rows = {one.app_id: one.request for one in session.scalars(select(Composition))}
    assert rows["elsewhere"].keys() == rows["notes"].keys(), "the rows say it in the same words"
    second = export(shop, "elsewhere")
    ours, theirs = document(first), document(second)
    imported = theirs["changes"]
    assert [one for one in ours["changes"] if one in imported] == ours["changes"]
    assert "imported" in [one["kind"] for one in imported]
    for one in (ours, theirs):
        del one["changes"], one["project"]["createdAt"]
    assert ours == theirs
    with shop.house.database.read() as session:
        own = [get_project(session, app_id, PROJECT).settings for app_id in ("notes", "elsewhere")]
    assert own[0] == own[1], "and nothing that the project does not say itself"
    assert [one.get("number") for one in ours["compositions"][0]["components"]] == [1, None]
    both = members(first), members(second)
    assert {k: v for k, v in both[0].items() if k not in (DOCUMENT, CHECKSUMS)} == {
        k: v for k, v in both[1].items() if k not in (DOCUMENT, CHECKSUMS)
    }


def test_a_session_that_was_uploaded_arrives_as_well(shop: Shop) -> None:
    shop.register("one")
    with shop.house.database.write() as session:
        get_session(session, "notes", "one").original_file = None
    bring(shop, export(shop))
    with shop.house.database.read() as session:
        assert get_session(session, "elsewhere", "one").original_file is None


def test_an_override_and_the_fates_of_marks_arrive(shop: Shop) -> None:
    fill(shop)
    bring(shop, export(shop), project_id="other-name")
    with shop.house.database.read() as session:
        markers = session.scalars(select(KeepitMarker).order_by(KeepitMarker.key)).all()
    assert [(one.weight, one.override_weight, one.overridden_by) for one in markers] == [(90, 40, "admin")] * 2


def test_nothing_that_is_there_is_written_over(shop: Shop) -> None:
    fill(shop)
    content = export(shop)
    before = everything(shop, "notes")
    for project_id in (PROJECT, "other-name"):
        with pytest.raises(Conflict) as refused:
            bring(shop, content, "notes", project_id)
        assert refused.value.code == "already_registered"
    assert everything(shop, "notes") == before


def test_what_an_archive_says_was_learnt_holds_no_secret(shop: Shop) -> None:
    fill(shop)

    def says(what: str) -> Callable[[Any], object]:
        def change(said: Any) -> None:
            [memory] = said["semanticMemories"]
            where = memory if what == "content" else memory["sources"][0]
            where[what] = "Always lint. The wifi password is hunter2."

        return change

    content = export(shop)
    with pytest.raises(Invalid) as refused:
        bring(shop, changed(content, says("content")))
    assert refused.value.code == "secret" and everything(shop, "elsewhere") == ([], 0)
    bring(shop, changed(content, says("excerpt")))
    [memory] = document(export(shop, "elsewhere"))["semanticMemories"]
    assert [one["excerpt"] for one in memory["sources"]] == ["Always lint. […]"]


def _without(name: str) -> Callable[[bytes], bytes]:
    return lambda content: zipped({k: v for k, v in members(content).items() if not k.startswith(name)})


def _with(name: str) -> Callable[[bytes], bytes]:
    return lambda content: signed(members(content) | {name: b"x"})


def _wrong(change: Callable[[Any], object]) -> Callable[[bytes], bytes]:
    return lambda content: changed(content, change)


def _swap(content: bytes) -> bytes:
    parts = members(content)
    one, two = (name for name in parts if name.startswith("originals/"))
    return signed(parts | {one: parts[two], two: parts[one]})


def _tampered(content: bytes) -> bytes:
    parts = members(content)
    (name,) = (name for name in parts if name.endswith("composed.md"))
    return zipped(parts | {name: parts[name] + b"!"})


def _foreign_transcript(content: bytes) -> bytes:
    parts = members(content)
    name = "originals/two.jsonl"
    said = json.loads(parts[DOCUMENT])
    (session,) = (one for one in said["sessions"] if one["sessionId"] == "two")
    foreign = b'{\n  "not": "a transcript"\n}\n'
    session |= {"sha256": hashlib.sha256(foreign).hexdigest(), "sizeBytes": len(foreign)}
    return signed(parts | {name: foreign, DOCUMENT: json.dumps(said).encode()})


def _packed_another_way(content: bytes) -> bytes:
    parts = members(content)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in parts.items():
            file.writestr(name, data, zipfile.ZIP_BZIP2 if name == CHECKSUMS else zipfile.ZIP_DEFLATED)
    return made.getvalue()


BROKEN: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "not a zip": (lambda _: b"PK\x03\x04 nonsense", "the file"),
    "cut off": (lambda content: content[: len(content) // 2], "the file"),
    "empty": (lambda _: b"", "the file"),
    "a foreign zip": (lambda _: zipped({"readme.txt": b"hello"}), DOCUMENT),
    "without its document": (_without(DOCUMENT), DOCUMENT),
    "without its checksums": (_without(CHECKSUMS), CHECKSUMS),
    "without an original": (_without("originals/two"), "originals/two.jsonl"),
    "a name that leads out": (_with("../../etc/passwd"), "../../etc/passwd"),
    "an absolute name": (_with("/etc/passwd"), "/etc/passwd"),
    "more than it speaks of": (_with("originals/three.jsonl"), "originals/three.jsonl"),
    "swapped originals": (_swap, "originals/one.jsonl"),
    "a changed composition": (_tampered, "composed/start/composed.md"),
    "a transcript that is none": (_foreign_transcript, "originals/two.jsonl"),
    "another format": (_wrong(lambda said: said.update(format="zip")), DOCUMENT),
    "another version": (_wrong(lambda said: said.update(version=99)), DOCUMENT),
    "an unknown field": (_wrong(lambda said: said.update(extra=1)), DOCUMENT),
    "a session twice": (_wrong(lambda said: said["sessions"].append(said["sessions"][0])), DOCUMENT),
    "a version number twice": (
        _wrong(lambda said: said["sessions"][0]["versions"].append(said["sessions"][0]["versions"][0])), DOCUMENT,
    ),
    "a version number to come": (_wrong(lambda said: said["sessions"][0].update(nextVersion=1)), DOCUMENT),
    "a version under another one's name": (
        _wrong(lambda said: said["sessions"][0]["versions"][0].update(file="v007_uniform-minimal_1k")), DOCUMENT,
    ),
    "a version that says why in no words": (
        _wrong(lambda said: said["sessions"][0]["versions"][0]["statistics"].update(why=[])), DOCUMENT,
    ),
    "another way of packing": (_packed_another_way, CHECKSUMS),
    "half a version": (_wrong(lambda said: said["sessions"][0]["versions"][0]["digests"].pop("jsonl")), DOCUMENT),
    "a time before all others": (
        _wrong(lambda said: said["project"].update(createdAt="0001-01-01T00:00:00+14:00")), DOCUMENT,
    ),
    "a part of a session that is not there": (
        _wrong(lambda said: said["compositions"][0]["components"][0].update(sessionId="three")), DOCUMENT,
    ),
    "a part of a version that is not there": (
        _wrong(lambda said: said["compositions"][0]["components"][0].update(number=77)), DOCUMENT,
    ),
    "a session id that leads out": (_wrong(lambda said: said["sessions"][0].update(sessionId="../x")), DOCUMENT),
    "a mark that is not there": (
        _wrong(lambda said: said["sessions"][0]["weights"][0].update(markerId="nobody")), "originals/one.jsonl",
    ),
    "a length that is not so": (_wrong(lambda said: said["sessions"][0].update(sizeBytes=3)), "originals/one.jsonl"),
}  # fmt: skip


def test_what_is_not_whole_is_refused_by_the_part_that_is_wrong_and_leaves_nothing(shop: Shop) -> None:
    fill(shop)
    content, before = export(shop), everything(shop, "elsewhere")
    for kind, (make, member) in BROKEN.items():
        with pytest.raises(Invalid) as refused:
            bring(shop, make(content))
        named = refused.value.details.get("member") or refused.value.details.get("file")
        assert (kind, named) == (kind, member)
        assert refused.value.code in ("bad_archive", "not_a_transcript"), kind
        assert everything(shop, "elsewhere") == before == ([], 0), kind


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(shop: Shop) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(DOCUMENT, b" " * (MOST + 1))
    assert len(buffer.getvalue()) < MOST / 100
    with pytest.raises(Limit):
        bring(shop, buffer.getvalue())


def test_a_list_of_parts_that_would_fill_the_memory_is_not_read(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restore, "_MOST_READ_BYTES", 4096)
    with pytest.raises(Invalid) as refused:
        bring(shop, zipped({f"part{number}": b"" for number in range(100)}))
    assert refused.value.code == "bad_archive"


def test_only_where_an_admin_says_so_sessions_are_synced_from_where_an_archive_says_they_come_from(shop: Shop) -> None:
    fill(shop)
    content = changed(export(shop), lambda said: said["sessions"][0].update(originalFile="/etc/passwd"))
    for keeps_origins, origin in ((False, None), (True, "/etc/passwd")):
        project_id = f"keeps-{keeps_origins}"
        bring(shop, content, project_id=project_id, keeps_origins=keeps_origins)
        with shop.house.database.write() as session:
            recorded = get_session(session, "elsewhere", "one")
            assert recorded.original_file == origin
            session.execute(delete(Composition).where(Composition.app_id == "elsewhere"))
            session.delete(get_project(session, "elsewhere", project_id))


def test_files_go_again_where_the_rows_do_not_come_to_be(shop: Shop) -> None:
    fill(shop)
    content = export(shop)
    with pytest.raises(Purged):
        bring(shop, content, epoch=7)
    assert everything(shop, "elsewhere") == ([], 0)
    with shop.house.database.read() as session:
        assert find_project(session, "elsewhere", PROJECT) is None


def test_a_file_that_was_changed_in_the_store_is_not_handed_out(shop: Shop) -> None:
    fill(shop)
    path = shop.store.composition_folder("notes", PROJECT, "start") / "composed.md"
    path.write_text("something else")
    with pytest.raises(Conflict) as refused:
        export(shop)
    assert refused.value.code == "store_changed"
    assert not list(shop.store.files("elsewhere")) and not list(shop.store.cache("notes").glob("*"))


def test_a_project_of_another_app_is_not_to_be_had(shop: Shop) -> None:
    fill(shop)
    with pytest.raises(NotFound):
        export(shop, "elsewhere")


def test_every_refusal_is_ours(shop: Shop) -> None:
    fill(shop)
    content = export(shop)
    for at in range(0, len(content), max(1, len(content) // 40)):
        broken = content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]
        try:
            bring(shop, broken, project_id=f"p{at}")
        except AfterthoughtError:
            continue
        with shop.house.database.write() as session:
            session.delete(get_project(session, "elsewhere", f"p{at}"))
