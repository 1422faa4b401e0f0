"""Versions over each database: whole or not at all, made once, reproducible, and never under another's name."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from shared.apps.queries import lock_app
from shared.base.choices import KeepitMode
from shared.base.errors import Conflict, Transient
from shared.erasure.erasing import purge_memories
from shared.jobs.control import cancel, replay
from shared.llm.tokens import estimate_tokens
from shared.sessions.compress.queries import get_version, parts_of
from shared.sessions.compress.settings import CompressionSettings
from shared.sessions.compress.versions import refuse_in_use, remove_version
from shared.sessions.models import BuildState, Composition, CompositionComponent, VersionPart
from shared.sessions.queries import get_project, lock_project, lock_session, markers_of
from shared.sessions.recording import blocks_in
from shared.sessions.registry.registration import remove_project_with_sessions
from shared.sessions.semantic.memories import request_learning
from tests.support.compressing import Press, long_talk, uniform
from tests.support.house import House
from tests.support.recordings import PROJECT

MODEL = {"model": "ollama:scripted"}


@pytest.fixture
def press(house: House, tmp_path: Path) -> Press:
    press = Press(house, tmp_path)
    press.shelf.add(long_talk(press.shelf.transcript("s1")))
    return press


def by_model(ratio: int = 5) -> CompressionSettings:
    return uniform(ratio).model_copy(update=MODEL)


def parts(press: Press, key: int) -> list[VersionPart]:
    with press.house.database.read() as session:
        return list(parts_of(session, key).values())


def test_a_version_is_listed_with_its_files_its_figures_and_its_place_in_the_manifest(press: Press) -> None:
    made = press.make("s1", CompressionSettings().complete("extractive"))
    assert (made.state, made.file) == ("ready", f"v001_tiered-standard_{max(1, round(made.output_tokens / 1000))}k")
    assert press.files("s1") == [f"{made.file}.jsonl", f"{made.file}.md"]
    assert made.output_tokens == estimate_tokens(press.text(made, "s1"))
    records = [json.loads(line) for line in press.text(made, "s1", "jsonl").splitlines()]
    said = [own for one in records if one["type"] != "system" for own in one["afterthought"]["blocks"] if "kind" in own]
    assert made.output_messages == len(said)
    assert made.input_tokens == press.recorded("s1").original_tokens
    assert made.ratio == pytest.approx(made.statistics["askedRatio"], rel=0.2) and made.statistics["note"] is None
    manifest = json.loads((press.shelf.store.project_folder("notes", PROJECT) / "manifest.json").read_text())
    [entry] = manifest["sessions"]["s1"]["compressions"]
    assert entry["versionId"] == "v001" and entry["settings"]["tierPreset"] == "standard"
    versions = json.loads((press.folder("s1") / "versions.json").read_text())["versions"]
    assert [one["versionId"] for one in versions] == ["v001"]
    assert press.house.counted("sessions_compressed_total", agent="extractive") == 1
    assert press.house.counted("session_tokens_total", side="output") == made.output_tokens


def test_the_same_settings_over_the_same_bytes_give_the_same_files(press: Press) -> None:
    first, second, other = (press.make("s1", uniform(ratio)) for ratio in (10, 10, 11))
    assert first.digests == second.digests != other.digests
    assert press.text(first, "s1") == press.text(second, "s1")


def test_what_a_session_says_after_it_was_asked_for_is_left_to_the_next_version(press: Press) -> None:
    transcript = long_talk(press.shelf.transcript("s2"), 10)
    press.shelf.add(transcript)
    before = press.make("s2", uniform(5))
    asked = press.ask("s2", uniform(5))
    press.shelf.sync(transcript.human("And now paint_everything_green."))
    press.work_off()
    made = press.version("s2", asked.version_id)
    assert made.digests == before.digests and made.source_bytes < press.recorded("s2").size_bytes
    assert "paint_everything_green" in press.text(press.make("s2", uniform(5)), "s2")


def test_one_compression_of_a_session_at_a_time(press: Press) -> None:
    press.ask("s1", uniform(5))
    with pytest.raises(Conflict, match="v001") as refused:
        press.ask("s1", uniform(10))
    assert refused.value.code == "compression_running"
    press.work_off()
    assert press.make("s1", uniform(10)).version_id == "v002"


def test_a_number_is_never_used_again(press: Press) -> None:
    press.make("s1", uniform(5))
    with press.house.database.write() as session:
        lock_app(session, "notes")
        project = lock_project(session, "notes", PROJECT)
        recorded = lock_session(session, "notes", "s1")
        version = get_version(session, recorded, "v001")
        files = remove_version(session, project, recorded, version, "removed", press.shelf.cause("no use"))
    assert files == press.files("s1")[::-1] and press.listed("s1") == []
    asked = press.ask("s1", by_model())
    with press.house.database.write() as session:
        cancel(session, asked.job_id or "", "admin", press.house.clock.now())
    assert press.make("s1", uniform(5)).version_id == "v003"
    assert press.version("s1", "v002").state == BuildState.FAILED
    assert press.listed("s1") == ["v003"]


def test_each_part_is_kept_as_soon_as_it_is_made_and_none_is_made_twice(press: Press) -> None:
    now = iter(range(0, 10_000, 15))
    press.elapsed = lambda: float(next(now))
    asked = press.ask("s1", by_model())
    counts = []
    while press.attempt():
        version = press.version("s1", asked.version_id)
        counts.append((version.parts_done, len(parts(press, asked.key)), press.listed("s1")))
    total = len(press.scripted.seen)
    assert total > 3 and len(counts) > 2
    assert [chunk.position for chunk in press.scripted.seen] == list(range(total))
    assert all(done == kept and listed == [] for done, kept, listed in counts[:-1])
    assert counts[-1] == (total, 0, ["v001"])
    assert press.version("s1", "v001").parts_total == total, "so that it can be said how far it is"
    text = press.text(press.version("s1", "v001"), "s1")
    assert all(f"Module tests, part {number}, went well." in text for number in range(total))


def test_parts_of_another_division_are_not_taken_for_these(press: Press) -> None:
    press.scripted.says = [Transient("away")]
    asked = press.ask("s1", by_model())
    with press.house.database.write() as session:
        session.add(VersionPart(compression_key=asked.key, position=0, content=[{"outline": "old"}, {"kept": []}]))
    press.attempt()
    assert parts(press, asked.key) == []
    press.house.clock.advance(600)
    press.work_off()
    assert [chunk.position for chunk in press.scripted.seen][:2] == [0, 0]
    assert press.listed("s1") == ["v001"]


def test_a_model_that_fails_for_good_leaves_nothing_half(press: Press) -> None:
    press.scripted.says = [Transient("away")] * 5
    asked = press.ask("s1", by_model())
    for _ in range(8):
        press.attempt()
        press.house.clock.advance(600)
    [job] = press.jobs()
    assert (job.state, press.listed("s1"), press.files("s1")) == ("dead", [], [])
    assert press.make("s1", uniform(5)).version_id == "v002"
    assert press.version("s1", asked.version_id).state == BuildState.FAILED
    with press.house.database.write() as session:
        epoch = lock_app(session, "notes").purge_epoch
        replay(session, job.job_id, epoch, press.house.clock.now())
    press.work_off()
    assert press.listed("s1") == ["v002", "v001"]


def test_a_purge_or_a_removal_on_the_way_drops_what_was_made(press: Press) -> None:
    def purge() -> None:
        with press.house.database.write() as session:
            purge_memories(session, "notes", "admin", press.house.clock.now())

    press.scripted.while_thinking = purge
    press.ask("s1", by_model())
    press.work_off()
    [job] = press.jobs()
    assert (job.state, press.listed("s1"), press.files("s1")) == ("cancelled", [], [])


def test_a_version_made_from_a_version_says_so_and_keeps_what_is_pinned(house: House, tmp_path: Path) -> None:
    press = Press(house, tmp_path)
    pinned, light = "The key of the kite shed\n    is under  the mat.\t", "Kites are red."
    transcript = press.shelf.transcript("s1").human(f"##keepit1.00## {pinned}\n\n##keepit0.40## {light}")
    press.shelf.add(long_talk(transcript))
    first = press.make("s1", uniform(2))
    second = press.make("s1", uniform(5), source="v001")
    third = press.make("s1", uniform(20), source="v002")
    assert (second.source_number, second.source_sha256) == (1, first.digests["jsonl"])
    assert [press.outcomes(one) for one in (first, second, third)] == [
        {0: True, 1: True}, {0: True, 1: True}, {0: True, 1: False},
    ]  # fmt: skip
    for one in (first, second, third):
        assert pinned.rstrip() in press.text(one, "s1")
    assert third.keepit_stats == {"preserved": 1, "summarized": 1, "weights": {"1.00": 1, "0.40": 1}}
    fourth = press.make("s1", uniform(2), source="v003")
    assert press.outcomes(fourth) == {0: True, 1: False}, "what was summarised once does not come back"


def test_a_changed_weight_counts_for_new_versions_only(house: House, tmp_path: Path) -> None:
    press = Press(house, tmp_path)
    press.shelf.add(long_talk(press.shelf.transcript("s1").human("##keepit0.20## The shed is blue.")))
    before = press.make("s1", uniform(20))
    with press.house.database.write() as session:
        marker = markers_of(session, press.recorded("s1").key)[0]
        marker.override_weight = 100
    after = press.make("s1", uniform(20))
    assert (press.outcomes(before), press.outcomes(after)) == ({0: False}, {0: True})
    assert press.version("s1", "v001").keepit_stats["preserved"] == 0


@pytest.mark.parametrize(
    ("mode", "survivors"),
    [(KeepitMode.DECAY, {0}), (KeepitMode.PRESERVE_ALL, {0, 1, 2}), (KeepitMode.IGNORE, {0})],
    ids=["decay", "preserve all", "ignore"],
)
def test_the_mode_decides_on_marked_parts(house: House, tmp_path: Path, mode: KeepitMode, survivors: set[int]) -> None:
    press = Press(house, tmp_path)
    said = "##keepit1.00## one-is-first\n\n##keepit0.30## two-is-second\n\n##keepit0.10## three-is-third"
    press.shelf.add(long_talk(press.shelf.transcript("s1").human(said)))
    made = press.make("s1", uniform(20, keepit_mode=mode))
    assert {ordinal for ordinal, survived in press.outcomes(made).items() if survived} == survivors
    texts = ("one-is-first", "two-is-second", "three-is-third")
    kept = [one.text for one in blocks_in(press.folder("s1") / f"{made.file}.jsonl") if one.kind == "keepit"]
    assert kept == [text for ordinal, text in enumerate(texts) if ordinal in survivors]


def test_a_version_that_something_needs_is_not_removed(press: Press) -> None:
    made = press.make("s1", uniform(5))
    press.ask("s1", uniform(10), source="v001")
    with press.house.database.write() as session, pytest.raises(Conflict) as refused:
        recorded = lock_session(session, "notes", "s1")
        refuse_in_use(session, recorded, get_version(session, recorded, "v001"))
    assert (refused.value.code, refused.value.details["versionId"]) == ("version_in_use", "v002")
    press.work_off()
    now = press.house.clock.now()
    with press.house.database.write() as session:
        project = get_project(session, "notes", PROJECT)
        composition = Composition(
            composition_id="cmp_1", app_id="notes", project_key=project.key, name="start", state=BuildState.READY,
            request={}, budget=100, asked_by="admin", created_at=now,
        )  # fmt: skip
        session.add(composition)
        session.flush()
        session.add(
            CompositionComponent(
                composition_key=composition.key,
                position=0,
                session_key=made.session_key,
                compression_key=made.key,
                allocation=100,
            )
        )
    with press.house.database.write() as session, pytest.raises(Conflict, match="start"):
        recorded = lock_session(session, "notes", "s1")
        refuse_in_use(session, recorded, get_version(session, recorded, "v001"))


def test_an_app_over_its_budget_waits_and_has_failed_at_nothing(press: Press) -> None:
    with press.house.database.write() as session:
        lock_app(session, "notes").hourly_budget_micro = 1
    asked = press.ask("s1", by_model())
    press.attempt()
    [job] = press.jobs()
    assert (job.state, job.attempts) == ("deferred", 0)
    assert press.version("s1", asked.version_id).state == BuildState.WORKING


def test_of_two_who_ask_at_once_one_is_refused(press: Press) -> None:
    gate, outcomes = threading.Barrier(2), list[str]()

    def ask(ratio: int) -> None:
        gate.wait()
        try:
            outcomes.append(press.ask("s1", uniform(ratio)).version_id)
        except Conflict as refused:
            outcomes.append(refused.code)

    askers = [threading.Thread(target=ask, args=(ratio,)) for ratio in (5, 10)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert sorted(outcomes) == ["compression_running", "v001"] and len(press.jobs()) == 1


def test_what_is_unregistered_leaves_no_job_that_others_would_wait_for(press: Press) -> None:
    press.ask("s1", by_model())
    assert press.attempt()
    press.shelf.add(long_talk(press.shelf.transcript("s2")))
    press.ask("s2", by_model())
    house = press.house
    with house.database.write() as session:
        app, project = lock_app(session, "notes"), get_project(session, "notes", PROJECT)
        request_learning(session, app, project, house.clock.now(), 5)
    with house.database.write() as session:
        remove_project_with_sessions(session, "notes", PROJECT, press.shelf.cause("x"), force=True)
    ended = [(one.kind, one.state) for one in house.jobs()]
    assert {("compress_session", "cancelled"), ("learn_from_sessions", "cancelled")} <= set(ended)
    assert {state for _, state in ended} <= {"done", "cancelled"}
