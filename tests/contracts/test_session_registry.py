"""The registry of sessions over each database: copies with their hash, only tails added, nothing lost or left."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from loop.steps.sessions import ScanSessions, TendSessions
from shared.apps.queries import lock_app
from shared.base.errors import Conflict, Invalid, Limit, NotFound, Purged
from shared.base.ids import new_id
from shared.contracts.jobs import JobKind
from shared.erasure.erasing import erase_app, purge_memories
from shared.jobs.models import Job, JobState
from shared.sessions import manifest
from shared.sessions.models import (
    BuildState,
    Composition,
    CompositionComponent,
    KeepitMarker,
    MarkerOutcome,
    RecordedSession,
    SemanticKind,
    SemanticMemory,
    SessionVersion,
    VersionPart,
)
from shared.sessions.queries import (
    changes_of,
    compositions_using,
    find_claims,
    get_project,
    get_session,
    lock_project,
    markers_of,
    projects_to_write,
)
from shared.sessions.registry.configuration import change_configuration
from shared.sessions.registry.intake import from_path
from shared.sessions.registry.projects import change_project, create_project
from shared.sessions.registry.registration import (
    Registrar,
    SessionWork,
    remove_project_files,
    remove_project_with_sessions,
    remove_session_files,
    set_marker_weight,
    unregister,
)
from shared.sessions.registry.scan import FolderScanner
from shared.sessions.sweep import clear_files
from tests.support.house import House
from tests.support.recordings import FOLDER, PROJECT, Shelf
from tests.support.settings import default_settings
from tests.support.transcripts import FOREIGN, REAL, assistant, lines, real_files, user, write

APP = "notes"


@pytest.fixture
def shelf(house: House, tmp_path: Path) -> Shelf:
    return Shelf(house, tmp_path)


def register(
    shelf: Shelf, original: Path, session_id: str = "s1", project_id: str = PROJECT, app_id: str = APP
) -> None:
    place = shelf.registrar.place(app_id, project_id, session_id)
    with from_path(shelf.store, app_id, session_id, original, shelf.settings) as intake:
        shelf.registrar.register(place, intake, shelf.cause("a test"), carrying(shelf))


def carrying(shelf: Shelf) -> Callable[[SessionWork], RecordedSession]:
    def carry(work: SessionWork) -> RecordedSession:
        with shelf.house.database.write() as session:
            return work(session)

    return carry


def sync(shelf: Shelf, session_id: str = "s1", uploaded: Path | None = None) -> RecordedSession:
    return shelf.registrar.sync(APP, session_id, uploaded, shelf.cause("a test"), carrying(shelf))


def recorded(shelf: Shelf, session_id: str = "s1") -> RecordedSession:
    with shelf.house.database.read() as session:
        return get_session(session, APP, session_id)


def markers(shelf: Shelf, session_id: str = "s1") -> list[KeepitMarker]:
    with shelf.house.database.read() as session:
        return list(markers_of(session, get_session(session, APP, session_id).key))


def copy_of(shelf: Shelf, session_id: str = "s1", project_id: str = PROJECT) -> Path:
    return shelf.store.original(APP, project_id, session_id)


def files(shelf: Shelf, app_id: str = APP) -> list[str]:
    return [shelf.store.path_of(app_id, path) for path in shelf.store.files(app_id)]


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def manifest_of(shelf: Shelf) -> dict[str, Any]:
    assert manifest.write(shelf.house.database, shelf.store, APP, PROJECT)
    value: dict[str, Any] = json.loads(shelf.store.manifest(APP, PROJECT).read_text("utf-8"))
    return value


def add_version(
    shelf: Shelf, state: BuildState = BuildState.READY, job_id: str | None = None, **more: Any
) -> SessionVersion:
    with shelf.house.database.write() as session:
        version = SessionVersion(
            session_key=get_session(session, APP, more.pop("session_id", "s1")).key,
            number=more.pop("number", 1),
            state=state,
            job_id=job_id,
            settings={"mode": "uniform", "compactionRatio": 10, "tierPreset": None},
            source_sha256="0" * 64,
            source_bytes=10,
            asked_by="admin",
            file="v001_uniform-moderate_1k",
            ratio=9.87654,
            output_tokens=100,
            output_messages=4,
            keepit_stats={"preserved": 1, "summarized": 0, "weights": {"0.80": 1}},
            created_at=shelf.house.clock.now(),
            **more,
        )
        session.add(version)
        session.flush()
        return version


def add_composition(
    shelf: Shelf, state: BuildState, version: SessionVersion | None, job_id: str | None = None, name: str = "feature-x"
) -> Composition:
    with shelf.house.database.write() as session:
        held = get_session(session, APP, "s1")
        made = Composition(
            composition_id=new_id("cmp", shelf.house.clock.now()),
            app_id=APP,
            project_key=held.project_key,
            name=name,
            state=state,
            job_id=job_id,
            request={},
            budget=1000,
            used_in_sessions=[],
            asked_by="admin",
            created_at=shelf.house.clock.now(),
        )
        session.add(made)
        session.flush()
        key = None if version is None else version.key
        session.add(
            CompositionComponent(
                composition_key=made.key, position=0, session_key=held.key, compression_key=key, allocation=5, tokens=5
            )
        )
        return made


def test_every_real_session_is_copied_with_its_hash_and_its_original_stays(shelf: Shelf) -> None:
    if not real_files():
        pytest.skip("the recorded sessions are not here")
    before = {path: digest(path) for path in real_files()}
    for path in before:
        register(shelf, path, path.stem)
        row = recorded(shelf, path.stem)
        assert row.sha256 == before[path] == digest(copy_of(shelf, path.stem))
        assert (row.size_bytes, row.original_file) == (path.stat().st_size, str(path))
    for path in before:
        with pytest.raises(Conflict) as refused:
            register(shelf, path, path.stem)
        assert refused.value.code == "already_registered"
        assert sync(shelf, path.stem).sha256 == before[path]
    assert len(manifest_of(shelf)["sessions"]) == len(before)
    assert {path: digest(path) for path in before} == before
    with pytest.raises(Invalid, match=FOREIGN):
        register(shelf, REAL / FOREIGN, "foreign")
    assert len([one for one in files(shelf) if not one.endswith("manifest.json")]) == len(before), "no leftovers"


def test_registering_twice_adds_nothing_wherever_it_is_tried(shelf: Shelf, tmp_path: Path) -> None:
    original = write(tmp_path / "s1.jsonl", user("##keepit0.80## Keep", "1"))
    register(shelf, original)
    for project_id in (PROJECT, "another"):
        with pytest.raises(Conflict, match=f"project {PROJECT}"):
            register(shelf, original, project_id=project_id)
    assert files(shelf) == [f"projects/{PROJECT}/originals/s1.jsonl"] and len(markers(shelf)) == 1
    shelf.house.install("email")
    register(shelf, original, app_id="email")
    assert files(shelf, "email") == [f"projects/{PROJECT}/originals/s1.jsonl"]


def test_only_a_tail_that_is_whole_is_taken_in_and_markers_keep_their_weight_and_fates(
    shelf: Shelf, tmp_path: Path
) -> None:
    original = write(tmp_path / "s1.jsonl", user("##keepit0.80## One", "1"))
    register(shelf, original)
    version = add_version(shelf)
    with shelf.house.database.write() as session:
        set_marker_weight(session, APP, "s1", markers(shelf)[0].marker_id, 25, shelf.cause("by hand"))
        session.add(MarkerOutcome(compression_key=version.key, marker_key=markers(shelf)[0].key, survived=True))
    first = markers(shelf)[0]
    with original.open("ab") as file:
        file.write(lines(assistant("##keepit1.00## Two", "2", "1")) + b'{"type":"user","uu')
    grown = sync(shelf)
    assert copy_of(shelf).read_bytes() == original.read_bytes()[: -len(b'{"type":"user","uu')]
    assert grown.sha256 == digest(copy_of(shelf)) and grown.counts["badLines"] == 0
    kept = markers(shelf)[0]
    assert (kept.key, kept.weight, kept.weight_in_force) == (first.key, 80, 25)
    assert [one.content for one in markers(shelf)] == ["One", "Two"]
    with original.open("ab") as file:
        file.write(b'id":"3","message":{"content":"Three"}}\n')
    assert sync(shelf).original_messages == 3 and copy_of(shelf).read_bytes() == original.read_bytes()
    [one, _] = manifest_of(shelf)["sessions"]["s1"]["keepitMarkers"]
    assert (one["weight"], one["survivedIn"], one["content"]) == (0.25, ["v001"], "One")


def test_what_a_killed_sync_left_is_replaced_and_a_copy_that_is_gone_comes_back(shelf: Shelf, tmp_path: Path) -> None:
    original = write(tmp_path / "s1.jsonl", user("One", "1"))
    register(shelf, original)
    with copy_of(shelf).open("ab") as file:
        file.write(b"what a sync had appended when it was killed, longer than the real tail")
    with original.open("ab") as file:
        file.write(lines(user("Two", "2")))
    assert sync(shelf).sha256 == digest(original) == digest(copy_of(shelf))
    for harm in (copy_of(shelf).unlink, lambda: os.truncate(copy_of(shelf), 3)):
        harm()
        assert sync(shelf).sha256 == digest(original) == digest(copy_of(shelf))
    assert not [one for one in files(shelf) if "cache" in one]


@pytest.mark.parametrize("changed", [b"", b"x", b'{"type":"user","uuid":"9","message":{"content":"Another"}}\n' * 9])
def test_an_original_that_was_rewritten_is_refused_and_the_copy_kept(
    shelf: Shelf, tmp_path: Path, changed: bytes
) -> None:
    original = write(tmp_path / "s1.jsonl", user("One", "1"))
    register(shelf, original)
    before = copy_of(shelf).read_bytes()
    original.write_bytes(changed)
    with pytest.raises(Conflict, match="unregister") as refused:
        sync(shelf)
    assert refused.value.code == "original_changed"
    original.unlink()
    with pytest.raises(Conflict, match="Nothing is lost") as refused:
        sync(shelf)
    assert refused.value.code == "original_gone"
    assert copy_of(shelf).read_bytes() == before and recorded(shelf).size_bytes == len(before)


def test_what_cannot_be_read_or_is_too_large_is_refused_and_leaves_nothing(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    large = write(tmp_path / "large.jsonl", *[user("x" * 1000, str(n)) for n in range(1100)])
    for name, kind in (("none", NotFound), ("folder", Invalid), ("pipe", Invalid)):
        with pytest.raises(kind, match=name):
            register(shelf, tmp_path / f"{name}.jsonl")
    shelf.settings = default_settings(sessions_max_mb=1)
    with pytest.raises(Limit, match=r"large\.jsonl is larger than 1 MB"):
        register(shelf, large)
    assert files(shelf) == []


def test_what_was_begun_before_an_erasure_is_not_brought_back_by_it(shelf: Shelf, tmp_path: Path) -> None:
    original = write(tmp_path / "s1.jsonl", user("One", "1"))
    place = shelf.registrar.place(APP, PROJECT, "s1")
    with from_path(shelf.store, APP, "s1", original, shelf.settings) as intake:
        with shelf.house.database.write() as session:
            erase_app(session, APP, "admin", shelf.house.clock.now())
        with pytest.raises(Purged):
            shelf.registrar.register(place, intake, shelf.cause("late"), carrying(shelf))
    assert files(shelf) == []


def test_a_tail_that_was_read_before_a_purge_is_not_taken_in_after_it(shelf: Shelf, tmp_path: Path) -> None:
    original = write(tmp_path / "s1.jsonl", user("One", "1"))
    register(shelf, original)
    write(original, user("One", "1"), user("Two", "2"))

    def purge_first(work: SessionWork) -> RecordedSession:
        with shelf.house.database.write() as session:
            purge_memories(session, APP, "admin", shelf.house.clock.now())
        return carrying(shelf)(work)

    with pytest.raises(Purged):
        shelf.registrar.sync(APP, "s1", None, shelf.cause("late"), purge_first)
    assert sync(shelf).size_bytes == original.stat().st_size


def test_an_erasure_leaves_no_row_and_no_file_and_counts_them(shelf: Shelf, tmp_path: Path) -> None:
    shelf.house.install("email")
    original = write(tmp_path / "s1.jsonl", user("##keepit0.80## Keep", "1"))
    for app_id in (APP, "email"):
        register(shelf, original, app_id=app_id)
    version = add_version(shelf)
    add_composition(shelf, BuildState.READY, version)
    manifest_of(shelf)
    with shelf.house.database.write() as session:
        erasure = erase_app(session, APP, "admin", shelf.house.clock.now())
    counted = ("projects", "recordedSessions", "compositions", "semanticMemories")
    assert [erasure.erased[name] for name in counted] == [1, 1, 1, 0] and erasure.erased["sessionChanges"] >= 2
    assert [erasure.left[name] for name in (*counted, "sessionChanges")] == [0] * 5
    assert clear_files(shelf.house.database, shelf.store, APP) == 0
    assert files(shelf) == [] and not shelf.store.app(APP).exists()
    assert len(files(shelf, "email")) == 1 and original.exists()
    assert clear_files(shelf.house.database, shelf.store, "email") == 0
    assert len(files(shelf, "email")) == 1, "what its rows name stays"


def test_a_purge_of_memories_forgets_what_was_learnt_and_keeps_the_sessions(shelf: Shelf, tmp_path: Path) -> None:
    register(shelf, write(tmp_path / "s1.jsonl", user("One", "1")))
    with shelf.house.database.write() as session:
        held = get_session(session, APP, "s1")
        session.add(
            SemanticMemory(
                memory_id="sem_1", project_key=held.project_key, app_id=APP, kind=SemanticKind.FACT, content="x",
                normal="0" * 64, is_standing=True, confidence=0.5, agent="extractive",
                extracted_at=shelf.house.clock.now(),
            )
        )  # fmt: skip
    with shelf.house.database.write() as session:
        erasure = purge_memories(session, APP, "admin", shelf.house.clock.now())
    assert (erasure.erased["semanticMemories"], erasure.left["semanticMemories"]) == (1, 0)
    assert recorded(shelf).session_id == "s1"


def test_a_session_in_a_composition_stays_and_every_removal_is_written_down(shelf: Shelf, tmp_path: Path) -> None:
    original = write(tmp_path / "s1.jsonl", user("One", "1"))
    register(shelf, original)
    composition = add_composition(shelf, BuildState.READY, add_version(shelf))
    manifest_of(shelf)
    database = shelf.house.database
    for way in (
        lambda s: unregister(s, APP, "s1", shelf.cause("x")),
        lambda s: remove_project_with_sessions(s, APP, PROJECT, shelf.cause("x"), True),
    ):
        with pytest.raises(Conflict, match="feature-x") as refused, database.write() as session:
            way(session)
        assert refused.value.details == {"compositions": [composition.composition_id]}
    with database.write() as session:
        session.delete(session.get_one(Composition, composition.key))
    with database.write() as session:
        left = [unregister(session, APP, "s1", shelf.cause("not needed"))]
    remove_session_files(database, shelf.store, left)
    assert not [one for one in files(shelf) if "s1" in one] and manifest_of(shelf)["sessions"] == {}
    assert original.exists()
    with database.read() as session:
        change = changes_of(session, APP, PROJECT, 1)[0]
    assert (change.kind, change.reason, change.actor, change.before["versions"]) == (
        "unregistered",
        "not needed",
        "token:test",
        1,
    )


def test_a_project_is_removed_when_it_is_empty_or_by_force(shelf: Shelf, tmp_path: Path) -> None:
    register(shelf, write(tmp_path / "s1.jsonl", user("One", "1")))
    database = shelf.house.database
    with pytest.raises(Conflict, match="1 sessions"), database.write() as session:
        remove_project_with_sessions(session, APP, PROJECT, shelf.cause("x"), force=False)
    with database.write() as session:
        remove_project_with_sessions(session, APP, PROJECT, shelf.cause("x"), force=True)
    remove_project_files(database, shelf.store, APP, PROJECT)
    assert files(shelf) == [] and not shelf.store.project_folder(APP, PROJECT).exists()


def test_paths_that_look_alike_get_projects_of_their_own(shelf: Shelf) -> None:
    with shelf.house.database.write() as session:
        lock_app(session, APP)
        ids = [create_project(session, APP, path, shelf.cause("x")).project_id for path in ("/a/b", "/a_b", "/a.b")]
        assert ids[0] == "-a-b" and len(set(ids)) == 3 and all(one.startswith("-a-b-") for one in ids[1:])
        with pytest.raises(Conflict):
            create_project(session, APP, "/a_b", shelf.cause("x"))


def test_the_manifest_has_the_seeds_fields(shelf: Shelf, tmp_path: Path) -> None:
    register(shelf, write(tmp_path / "s1.jsonl", user("##keepit0.80## Kites", "1", gitBranch="main", cwd=FOLDER)))
    version = add_version(shelf, source_number=3)
    add_version(shelf, BuildState.FAILED, number=2)
    add_composition(shelf, BuildState.READY, version)
    shown = manifest_of(shelf)
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
        "versionId": "v001", "file": "v001_uniform-moderate_1k", "createdAt": made["createdAt"],
        "settings": {"mode": "uniform", "compactionRatio": 10}, "outputTokens": 100, "outputMessages": 4,
        "compressionRatio": 9.88, "keepitStats": {"preserved": 1, "summarized": 0, "weights": {"0.80": 1}},
        "sourceVersion": "v003",
    }  # fmt: skip
    [composed] = shown["compositions"].values()
    assert composed["components"] == [{"sessionId": "s1", "versionId": "v001", "order": 0, "tokenContribution": 5}]
    listed = json.loads((shelf.store.versions_folder(APP, PROJECT, "s1") / "versions.json").read_text())
    assert list(listed) == ["sessionId", "originalFile", "originalTokens", "originalMessages", "versions"]
    assert listed["versions"] == entry["compressions"]
    with shelf.house.database.read() as session:
        project = get_project(session, APP, PROJECT)
        assert project.revision == project.written_revision and projects_to_write(session, 9) == []


_CLAIMED = {
    "config.json": True,
    "cache/.tmp-1": False,
    "projects/P/manifest.json": True,
    "projects/q/manifest.json": False,
    "projects/P/.tmp-1": False,
    "projects/P/originals/s1.jsonl": True,
    "projects/P/originals/s9.jsonl": False,
    "projects/P/originals/.tmp-1": False,
    "projects/P/summaries/s1/versions.json": True,
    "projects/P/summaries/s1/v001_uniform-moderate_1k.md": True,
    "projects/P/summaries/s1/v001_uniform-moderate_1k.jsonl": True,
    "projects/P/summaries/s1/v002_uniform-moderate_1k.md": False,
    "projects/P/summaries/s1/.tmp-1": False,
    "projects/P/summaries/s2/.tmp-1": True,
    "projects/P/summaries/s2/v001_tiered-standard_1k.md": True,
    "projects/P/summaries/s9/versions.json": False,
    "projects/P/composed/ready/composed.md": True,
    "projects/P/composed/ready/composition.json": True,
    "projects/P/composed/ready/.tmp-1": False,
    "projects/P/composed/making/.tmp-1": True,
    "projects/P/composed/gone/composed.md": False,
    "strange.txt": False,
}


def test_what_no_row_names_is_an_orphan(shelf: Shelf, tmp_path: Path) -> None:
    register(shelf, write(tmp_path / "s1.jsonl", user("One", "1")))
    register(shelf, write(tmp_path / "s2.jsonl", user("Two", "2")), "s2")
    add_version(shelf)
    add_version(shelf, BuildState.WORKING, session_id="s2")
    for name, state in (("ready", BuildState.READY), ("making", BuildState.WORKING), ("gone", BuildState.FAILED)):
        add_composition(shelf, state, None, name=name)
    with shelf.house.database.read() as session:
        claims, others = find_claims(session, APP), find_claims(session, "mail")
    assert {path: claims.cover(path.replace("P", PROJECT)) for path in _CLAIMED} == _CLAIMED
    assert not any(others.cover(path.replace("P", PROJECT)) for path in _CLAIMED)


def tend(shelf: Shelf) -> TendSessions:
    return TendSessions(shelf.house.database, shelf.house.clock, shelf.store, shelf.house.metrics, default_settings())


def test_the_loop_writes_what_was_not_shown_and_sweeps_what_belongs_to_nothing(shelf: Shelf, tmp_path: Path) -> None:
    register(shelf, write(tmp_path / "s1.jsonl", user("One", "1")))
    add_version(shelf)
    versions = shelf.store.versions_folder(APP, PROJECT, "s1")
    named, orphan, young = (
        versions / "v001_uniform-moderate_1k.md",
        versions / "v009_x_1k.md",
        shelf.store.cache(APP) / "up",
    )
    other = shelf.store.original(APP, "no-project", "s7")
    for path in (named, orphan, young, other):
        shelf.store.write_text(path, ["x"])
    now = shelf.house.clock.now()
    old = (now - timedelta(hours=2)).timestamp()
    for path in (named, orphan, other, copy_of(shelf)):
        os.utime(path, (old, old))
    os.utime(young, (now.timestamp(), now.timestamp()))
    tend(shelf).run()
    assert named.exists() and young.exists() and copy_of(shelf).exists()
    assert not orphan.exists() and not other.exists()
    assert shelf.store.manifest(APP, PROJECT).exists()
    assert shelf.house.counted("session_files_swept_total") == 2


@pytest.mark.parametrize("state", [JobState.DEAD, JobState.CANCELLED, None], ids=str)
def test_what_a_job_left_unfinished_is_said_to_have_failed(
    shelf: Shelf, tmp_path: Path, state: JobState | None
) -> None:
    register(shelf, write(tmp_path / "s1.jsonl", user("One", "1")))
    now = shelf.house.clock.now()
    with shelf.house.database.write() as session:
        for job_id, wanted in (("job_over", state), ("job_open", JobState.RUNNING)):
            if wanted is not None:
                session.add(
                    Job(
                        job_id=job_id,
                        kind=JobKind.COMPRESS_SESSION,
                        app_id=APP,
                        state=wanted,
                        created_at=now,
                        due_at=now,
                    )
                )
    made = add_version(shelf, BuildState.WORKING, "job_over")
    composition = add_composition(shelf, BuildState.WORKING, None, "job_over")
    with shelf.house.database.write() as session:
        session.add(VersionPart(compression_key=made.key, position=0, content=[]))
    tend(shelf).run()
    with shelf.house.database.read() as session:
        failed = session.get_one(SessionVersion, made.key)
        assert (failed.state, failed.finished_at) == (BuildState.FAILED, now)
        assert session.get(VersionPart, (made.key, 0)) is None
        assert session.get_one(Composition, composition.key).state == BuildState.FAILED
        assert compositions_using(session, [made.session_key]) == []
    alive = add_version(shelf, BuildState.WORKING, "job_open", number=2)
    tend(shelf).run()
    with shelf.house.database.read() as session:
        assert session.get_one(SessionVersion, alive.key).state == BuildState.WORKING


def scanned(shelf: Shelf, folder: Path) -> FolderScanner:
    with shelf.house.database.write() as session:
        lock_app(session, APP)
        project = create_project(session, APP, FOLDER, shelf.cause("x"))
        wanted = {"settings": {"autoRegisterNewSessions": True}, "source_folder": str(folder)}
        change_project(session, project, wanted, shelf.cause("x"))
    return FolderScanner(shelf.house.database, shelf.store, shelf.registrar)


def test_a_folder_is_looked_through_and_what_is_refused_waits_until_it_changes(shelf: Shelf, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write(folder / "a.jsonl", user("One", "1"))
    write(folder / "b.jsonl", user("Two", "2"))
    (folder / "foreign.jsonl").write_text("{\n}\n")
    (folder / "bad name.jsonl").write_text("x")
    (folder / os.fsdecode(b"no\xfftext.jsonl")).write_text("x")
    (folder / "notes.txt").write_text("x")
    scanner = scanned(shelf, folder)

    def scan(most: int = 9) -> Any:
        return scanner.scan(APP, PROJECT, shelf.cause("scan"), most)

    first = scan(1)
    assert (first.registered, first.left) == (["a"], 2)
    second = scan()
    assert (second.registered, second.unchanged, sorted(second.refused)) == (
        ["b"],
        1,
        ["bad name.jsonl", "foreign.jsonl", "no\ufffdtext.jsonl"],
    )
    assert "foreign.jsonl is not a recorded session" in second.refused["foreign.jsonl"]
    write(folder / "a.jsonl", user("One", "1"), user("More", "3"))
    third = scan(1)
    assert (third.synced, third.left, sorted(third.refused)) == (["a"], 0, sorted(second.refused))
    write(folder / "foreign.jsonl", user("Mended", "4"))
    write(folder / "b.jsonl", user("Rewritten", "9"))
    fourth = scan()
    assert fourth.registered == ["foreign"] and "no longer begins" in fourth.refused["b.jsonl"]
    assert recorded(shelf, "a").size_bytes == (folder / "a.jsonl").stat().st_size


def look(step: ScanSessions) -> None:
    step.run()
    step.drain(20)


def test_a_folder_that_fails_keeps_no_other_waiting(shelf: Shelf, tmp_path: Path) -> None:
    write(tmp_path / "folder" / "a.jsonl", user("One", "1"))
    scanned(shelf, tmp_path / "folder")
    house = shelf.house
    registrar = Registrar(house.database, shelf.store, default_settings(sessions_max_mb=1))
    step = ScanSessions(house.database, house.clock, shelf.store, registrar, 60, house.metrics)
    house.install("barred")
    shelf.store.app("barred").mkdir(parents=True)
    shelf.store.cache("barred").write_text("in the way")
    with house.database.write() as session:
        lock_app(session, "barred")
        project = create_project(session, "barred", FOLDER, shelf.cause("x"))
        project.source_folder = str(tmp_path / "folder")
        session.flush()
        session.expunge(project)
    with house.database.read() as session:
        step.look([project, get_project(session, APP, PROJECT)])
    assert recorded(shelf, "a").session_id == "a"


def test_a_store_that_cannot_be_written_raises_nothing_and_is_written_later(shelf: Shelf, tmp_path: Path) -> None:
    scanned(shelf, tmp_path)
    folder = shelf.store.project_folder(APP, PROJECT)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.symlink_to(tmp_path)
    assert not manifest.write(shelf.house.database, shelf.store, APP, PROJECT)
    folder.unlink()
    assert manifest.write(shelf.house.database, shelf.store, APP, PROJECT)


def test_the_loop_registers_what_it_finds_where_that_is_wanted(shelf: Shelf, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write(folder / "a.jsonl", user("One", "1"))
    scanned(shelf, folder)
    house = shelf.house
    step = ScanSessions(
        house.database,
        house.clock,
        shelf.store,
        Registrar(house.database, shelf.store, default_settings(sessions_max_mb=1)),
        60,
        house.metrics,
    )
    look(step)
    assert recorded(shelf, "a").session_id == "a" and house.counted("sessions_registered_total", source="scan") == 1
    write(folder / "b.jsonl", user("Two", "2"))
    look(step)
    assert house.counted("sessions_registered_total", source="scan") == 1, "not before a minute is over"
    house.clock.advance(61)
    look(step)
    assert recorded(shelf, "b").session_id == "b", "then it is looked through again"
    write(folder / "c.jsonl", user("Three", "3"))
    house.clock.advance(61)
    with house.database.write() as session:
        lock_app(session, APP)
        project = lock_project(session, APP, PROJECT)
        change_project(session, project, {"settings": {"autoRegisterNewSessions": False}}, shelf.cause("x"))
    look(step)
    with pytest.raises(NotFound):
        recorded(shelf, "c")
    with house.database.write() as session:
        app = lock_app(session, APP)
        wanted = {"defaults": {"autoRegisterSessions": True}}
        change_configuration(session, app, wanted, default_settings(), shelf.cause("x"))
    look(step)
    with pytest.raises(NotFound):
        recorded(shelf, "c")
    with house.database.write() as session:
        lock_app(session, APP)
        project = lock_project(session, APP, PROJECT)
        change_project(session, project, {"settings": {"autoRegisterNewSessions": None}}, shelf.cause("x"))
    look(step)
    assert recorded(shelf, "c").session_id == "c", "the app says so, and the project no longer otherwise"
