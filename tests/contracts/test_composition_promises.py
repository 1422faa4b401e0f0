"""Compositions over each database: within budget, whole or not at all, and what is in one cannot be taken away."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.apps.queries import lock_app
from shared.base.choices import OutputFormat
from shared.base.errors import AfterthoughtError, Conflict, Invalid, NotFound, NotYet
from shared.contracts.jobs import JobKind
from shared.jobs.control import replay
from shared.jobs.models import JobState
from shared.jobs.ownership import Claim, finish, wait
from shared.llm.tokens import estimate_tokens
from shared.sessions.blocks import Block, BlockKind
from shared.sessions.compose.compositions import remove_composition
from shared.sessions.compose.queries import rows_of
from shared.sessions.compose.requests import ComponentOrder, ComponentRequest
from shared.sessions.compress.queries import compositions_with, working_of
from shared.sessions.compress.versions import remove_version
from shared.sessions.models import BuildState, Composition, ProjectLink, SessionVersion
from shared.sessions.queries import changes_of, get_project, lock_project
from shared.sessions.registry.registration import unregister
from tests.support.composing import DAY, Shop, open_shop
from tests.support.house import House
from tests.support.settings import default_settings
from worker.pipelines.compose_context import ComposeContext


@pytest.fixture
def shop(house: House, tmp_path: Path) -> Iterator[Shop]:
    with open_shop(house, tmp_path) as shop:
        yield shop


def pipeline(shop: Shop) -> ComposeContext:
    return ComposeContext(shop.house.database, shop.house.clock, shop.store, shop.house.metrics, default_settings())


def compose(shop: Shop) -> list[JobState]:
    """Carry out the compositions that are due."""
    run = pipeline(shop)
    return [run(claim) for claim in shop.house.claims() if claim.kind == JobKind.COMPOSE_CONTEXT]


def parts(shop: Shop, composition: Composition) -> list[tuple[str, str]]:
    """Return who is in a composition, as which version."""
    with shop.house.database.read() as session:
        rows = rows_of(session, [composition.key])[composition.key]
        return [
            (row.recorded.session_id, row.compression.version_id if row.compression else "original") for row in rows
        ]


def working(shop: Shop, session_id: str) -> SessionVersion:
    """Return the version that is being made of a session."""
    with shop.house.database.read() as session:
        found = working_of(session, shop.recorded(session, session_id).key)
        assert found is not None
        return found


def begin(shop: Shop) -> list[Claim]:
    """Return the compositions that are due, claimed; jobs that compress are taken to be over."""
    found = list(shop.house.claims())
    while found and found[0].kind == JobKind.COMPRESS_SESSION:
        with shop.house.database.write() as session:
            finish(session, found[0], JobState.DONE, shop.house.clock.now())
        found = list(shop.house.claims())
    return found


def wait_once(shop: Shop) -> None:
    """Have the composition that is due look for its versions, and wait."""
    [claim] = begin(shop)
    with pytest.raises(NotYet) as waits:
        pipeline(shop)(claim)
    with shop.house.database.write() as session:
        wait(session, claim, waits.value.message, waits.value.until, shop.house.clock.now())


def test_with_no_versions_at_all_but_an_original_that_fits_the_original_is_used(shop: Shop) -> None:
    shop.register("s1", 2)
    made = shop.ask("start", "s1", budget=3000)
    assert compose(shop) == [JobState.DONE]
    done = shop.composition(made.key)
    assert (done.state, parts(shop, made)) == (BuildState.READY, [("s1", "original")])
    text = shop.text("start")
    assert "Request 0 of s1" in text and "Part 1 of s1 is changed" in text
    assert estimate_tokens(text) == done.total_tokens <= 3000
    assert shop.house.counted("contexts_composed_total") == 1
    assert shop.house.jobs(kind=JobKind.COMPRESS_SESSION) == []


def test_sessions_stand_in_the_order_asked_or_oldest_first_and_each_is_used_by_it(shop: Shop) -> None:
    for day, name in enumerate(("old", "mid", "new")):
        shop.register(name, 30, at=DAY.replace(day=day + 1))
        shop.version(name, 600)
    made = shop.ask("start", "new", "old", "mid", budget=2200, order=ComponentOrder.OLDEST_FIRST)
    given = shop.ask("given", "new", "old", "mid", budget=2200)
    shop.house.clock.advance(60)
    compose(shop)
    compose(shop)
    assert [name for name, _ in parts(shop, made)] == ["old", "mid", "new"]
    assert [name for name, _ in parts(shop, given)] == ["new", "old", "mid"]
    text = shop.text("start")
    assert text.index("Session old") < text.index("Session mid") < text.index("Session new")
    with shop.house.database.read() as session:
        versions = session.query(SessionVersion).all()
        assert {(one.uses, one.last_used) for one in versions} == {(2, shop.house.clock.now())}
        assert shop.recorded(session, "old").last_accessed == shop.house.clock.now()


def test_the_record_beside_the_documents_and_the_manifest_are_the_seeds(shop: Shop) -> None:
    shop.register("s1", 2)
    made = shop.ask("start", "s1", budget=3000)
    compose(shop)
    record = json.loads(shop.text("start", "composition.json"))
    folder = shop.store.project_folder(shop.app_id, shop.project_id)
    assert json.loads((folder / "manifest.json").read_text())["compositions"] == {made.composition_id: record}
    assert set(record) == {
        "compositionId", "name", "createdAt", "components", "outputFile", "totalTokens", "totalMessages",
        "usedInSessions",
    }  # fmt: skip
    [component] = record["components"]
    assert component == {
        "sessionId": "s1", "versionId": "original", "order": 0, "tokenContribution": component["tokenContribution"],
    }  # fmt: skip
    assert record["outputFile"] == "composed/start/composed.md"
    assert shop.files() == [f"composed/start/{name}" for name in ("composed.jsonl", "composed.md", "composition.json")]


@pytest.mark.parametrize("wanted", [OutputFormat.MARKDOWN, OutputFormat.JSONL])
def test_only_the_documents_asked_for_are_written(shop: Shop, wanted: OutputFormat) -> None:
    shop.register("s1", 2)
    shop.ask("start", "s1", budget=3000, output_format=wanted)
    compose(shop)
    document = {"markdown": "composed.md", "jsonl": "composed.jsonl"}[wanted]
    assert shop.files() == [f"composed/start/{document}", "composed/start/composition.json"]
    assert json.loads(shop.text("start", "composition.json"))["outputFile"] == f"composed/start/{document}"


def test_the_same_request_over_the_same_versions_gives_the_same_bytes(shop: Shop) -> None:
    shop.register("s1", 30)
    shop.version("s1", 600)
    first = shop.ask("start", "s1", budget=1000)
    compose(shop)
    before = [shop.text("start", name) for name in ("composed.md", "composed.jsonl")]
    shop.house.clock.advance(3600)
    again = shop.ask("start", "s1", budget=1000, replaces=True)
    compose(shop)
    assert [shop.text("start", name) for name in ("composed.md", "composed.jsonl")] == before
    assert again.composition_id == first.composition_id and again.key != first.key


def test_what_does_not_fit_is_compressed_by_a_job_and_the_composition_waits_for_it(shop: Shop) -> None:
    shop.register("s1", 40)
    made = shop.ask("start", "s1", budget=1000)
    version = working(shop, "s1")
    assert (version.settings["mode"], version.settings["sessionDistance"]) == ("uniform", 1)
    assert version.reason.startswith("for composition start")
    wait_once(shop)
    shop.finish("s1")
    assert compose(shop) == [JobState.DONE]
    assert parts(shop, made) == [("s1", "v001")]
    [component] = json.loads(shop.text("start", "composition.json"))["components"]
    ratio = version.settings["compactionRatio"]
    assert component["recompress"]["settings"]["compactionRatio"] == ratio and component["recompress"]["reason"]


def test_long_sessions_are_compressed_and_composed_without_anybody_looking_after_them(shop: Shop) -> None:
    kept = "##keepit1.00## Deploy only on Tuesdays."
    for day, name in enumerate(("old", "mid", "new")):
        shop.register(name, 40, at=DAY.replace(day=day + 1), marked=kept if name == "old" else "")
    made = shop.ask("start", "old", "mid", "new", budget=3000)
    shop.work_off()
    done = shop.composition(made.key)
    assert done.state == BuildState.READY and 2000 < done.total_tokens <= 3000
    assert parts(shop, made) == [(name, "v001") for name in ("old", "mid", "new")]
    assert "Deploy only on Tuesdays." in shop.text("start")
    states = [job.state for job in shop.house.jobs()]
    assert states == ["done"] * 4


def test_a_version_that_is_there_makes_the_waiting_composition_due_at_once(shop: Shop) -> None:
    shop.register("s1", 40)
    shop.ask("start", "s1", budget=1000)
    wait_once(shop)
    assert compose(shop) == []
    shop.finish("s1")
    assert compose(shop) == [JobState.DONE]


def test_the_longer_it_waits_the_more_rarely_it_looks(shop: Shop) -> None:
    shop.register("s1", 40)
    shop.ask("start", "s1", budget=1000)
    seen = []
    for _ in range(18):
        wait_once(shop)
        [job] = shop.house.jobs(kind=JobKind.COMPOSE_CONTEXT)
        seen.append((job.due_at - shop.house.clock.now()).total_seconds())
        shop.house.clock.advance(seen[-1])
    assert seen[0] == 5 and seen == sorted(seen) and seen[-1] == 60


def test_a_version_that_failed_fails_the_composition_and_a_fresh_request_can_be_made(shop: Shop) -> None:
    shop.register("s1", 40)
    made = shop.ask("start", "s1", budget=1000)
    wait_once(shop)
    shop.finish("s1", state=BuildState.FAILED)
    assert compose(shop) == [JobState.DEAD]
    failed = shop.composition(made.key)
    [job] = shop.house.jobs(kind=JobKind.COMPOSE_CONTEXT)
    assert failed.state == BuildState.FAILED and "v001 of session s1 failed" in (failed.failure or "") == job.reason
    assert (parts(shop, made), shop.files()) == ([], [])
    shop.version("s1", 900)
    again = shop.ask("start", "s1", budget=1000)
    assert compose(shop) == [JobState.DONE] and parts(shop, again) == [("s1", "v002")]


def test_a_dead_composition_that_is_replayed_chooses_anew(shop: Shop) -> None:
    shop.register("s1", 40)
    made = shop.ask("start", "s1", budget=1000)
    wait_once(shop)
    shop.finish("s1", state=BuildState.FAILED)
    compose(shop)
    shop.version("s1", 900)
    with shop.house.database.write() as session:
        replay(session, made.job_id or "", 0, shop.house.clock.now())
    assert compose(shop) == [JobState.DONE]
    assert (shop.composition(made.key).state, parts(shop, made)) == (BuildState.READY, [("s1", "v002")])


def test_a_version_that_is_being_made_is_joined_and_if_it_does_not_serve_another_is_asked_for(shop: Shop) -> None:
    shop.register("s1", 40)
    shop.ask("first", "s1", budget=1000)
    second = shop.ask("second", "s1", budget=1100)
    large = shop.ask("large", "s1", budget=1200)
    assert [job.state for job in shop.house.jobs(kind=JobKind.COMPRESS_SESSION)] == ["pending"]
    assert parts(shop, second) == parts(shop, large) == [("s1", "v001")]
    for _ in range(3):
        wait_once(shop)
    shop.finish("s1", tokens=700)
    assert [compose(shop) for _ in range(3)] == [[JobState.DONE], [JobState.DONE], [JobState.DONE]]
    assert parts(shop, second) == [("s1", "v001")]


def test_a_joined_version_that_does_not_serve_is_followed_by_one_that_does(shop: Shop) -> None:
    shop.register("s1", 40)
    shop.ask("large", "s1", budget=3000)
    small = shop.ask("small", "s1", budget=500)
    wait_once(shop)
    wait_once(shop)
    shop.finish("s1", tokens=2000)
    assert compose(shop) == [JobState.DONE]
    wait_once(shop)
    assert working(shop, "s1").version_id == "v002"
    shop.finish("s1", tokens=350)
    assert compose(shop) == [JobState.DONE]
    assert parts(shop, small) == [("s1", "v002")]


def test_pinned_parts_beyond_the_budget_are_refused_with_what_it_takes(shop: Shop) -> None:
    shop.register("s1", 40)
    pinned = Block(BlockKind.KEEPIT, "user", "k" * 4000, is_pinned=True, marker_ids=("m",))
    shop.version_of("s1", [pinned])
    made = shop.ask("start", ComponentRequest(session_id="s1", version_id="v001"), budget=900)
    assert compose(shop) == [JobState.DEAD]
    failure = shop.composition(made.key).failure or ""
    assert failure.startswith("budget_too_small") and "ask for at least 10" in failure
    assert shop.files() == []


def test_a_message_with_a_pinned_mark_stays_whole_in_an_original(shop: Shop) -> None:
    kept = "##keepit1.00## Deploy only on Tuesdays"
    shop.register("s1", 12, marked=kept)
    shop.ask("start", ComponentRequest(session_id="s1", version_id="original"), budget=300)
    assert compose(shop) == [JobState.DONE]
    assert kept in shop.text("start") and kept in shop.text("start", "composed.jsonl")
    assert estimate_tokens(shop.text("start")) <= 300


REFUSED: list[tuple[str, dict[str, Any], type[AfterthoughtError], str]] = [
    ("taken", {}, Conflict, "name_taken"),
    ("free", {"budget": 100}, Invalid, "budget_too_small"),
    ("free", {"components": ("s1", "nobody")}, NotFound, "not_found"),
    ("free", {"components": ("s1", "stranger")}, Invalid, "session_not_in_project"),
    ("free", {"components": (ComponentRequest(session_id="s1", version_id="v009"),)}, NotFound, "not_found"),
    ("free", {"model": "ollama:none"}, Invalid, "unknown_model"),
]


def test_what_cannot_be_composed_is_refused_and_leaves_nothing(shop: Shop) -> None:
    for one in ("s1", "s2", "s3"):
        shop.register(one, 40)
    Shop(shop.house, shop.store, shop.folder, project_id="-other").register("stranger", 2)
    shop.ask("taken", ComponentRequest(session_id="s1", version_id="original"), budget=3000)
    for name, more, error, code in REFUSED:
        arguments: dict[str, Any] = {"components": ("s1", "s2", "s3"), "budget": 1000} | more
        with pytest.raises(error) as refused:
            shop.ask(name, *arguments.pop("components"), **arguments)
        assert refused.value.code == code
    assert len(shop.house.jobs()) == 1


def test_a_session_of_a_linked_project_can_be_in_it_and_is_named_so(shop: Shop) -> None:
    shop.register("s1", 2)
    other = Shop(shop.house, shop.store, shop.folder, project_id="-lib")
    other.register("theirs", 2)
    with shop.house.database.write() as session:
        theirs, mine = shop.recorded(session, "theirs"), get_project(session, shop.app_id, shop.project_id)
        how = {"link_id": "l1", "reason": "shared", "linked_by": "admin", "linked_at": DAY}
        session.add(ProjectLink(session_key=theirs.key, target_key=mine.key, **how))
    shop.ask("start", "s1", "theirs", budget=4000)
    assert compose(shop) == [JobState.DONE]
    assert "## Session theirs of " in shop.text("start")


def test_what_is_in_a_composition_cannot_be_taken_away(shop: Shop) -> None:
    shop.register("s1", 30)
    key = shop.version("s1", 600)
    made = shop.ask("start", "s1", budget=1000)
    with pytest.raises(Conflict), shop.house.database.write() as session:
        unregister(session, shop.app_id, "s1", shop.cause())
    with shop.house.database.read() as session:
        assert [name for _, _, name in compositions_with(session, [key])] == ["start"]
    drop(shop, made.key)
    with shop.house.database.write() as session:
        unregister(session, shop.app_id, "s1", shop.cause())


def drop(shop: Shop, key: int) -> None:
    with shop.house.database.write() as session:
        lock_app(session, shop.app_id)
        project = lock_project(session, shop.app_id, shop.project_id)
        remove_composition(session, project, session.get_one(Composition, key), shop.cause("not needed"))


def test_removing_one_that_is_being_made_stops_its_job_and_its_result_is_dropped(shop: Shop) -> None:
    shop.register("s1", 2)
    made = shop.ask("start", "s1", budget=3000)
    [claim] = shop.house.claims()
    drop(shop, made.key)
    with pytest.raises(Conflict):
        pipeline(shop)(claim)
    assert [job.state for job in shop.house.jobs()] == ["cancelled"] and shop.files() == []
    with shop.house.database.read() as session:
        [change, *_] = changes_of(session, shop.app_id, shop.project_id, 9)
    assert (change.kind, change.before["name"], change.actor) == ("removed", "start", "admin")


def test_a_purge_drops_a_composition_in_flight(shop: Shop) -> None:
    shop.register("s1", 2)
    shop.ask("start", "s1", budget=3000)
    [claim] = shop.house.claims()
    with shop.house.database.write() as session:
        lock_app(session, shop.app_id).purge_epoch += 1
    with pytest.raises(Conflict):
        pipeline(shop)(claim)
    assert shop.files() == []


def test_two_that_ask_for_one_name_at_once_make_one(shop: Shop) -> None:
    shop.register("s1", 2)
    outcomes: list[str] = []

    def ask() -> None:
        try:
            outcomes.append(shop.ask("start", "s1", budget=3000).state)
        except Conflict as refused:
            outcomes.append(refused.code)

    race(ask, ask)
    assert sorted(outcomes) == ["name_taken", "working"]


def test_of_a_request_and_an_unregistering_at_once_one_wins(shop: Shop) -> None:
    outcomes: list[str] = []
    shop.register("s1", 2)

    def ask() -> None:
        try:
            outcomes.append(shop.ask("start", "s1", budget=3000).state)
        except NotFound as refused:
            outcomes.append(refused.code)

    def leave() -> None:
        try:
            with shop.house.database.write() as session:
                unregister(session, shop.app_id, "s1", shop.cause())
            outcomes.append("left")
        except Conflict as refused:
            outcomes.append(refused.code)

    race(ask, leave)
    assert sorted(outcomes) in (["version_in_use", "working"], ["left", "not_found"])


def test_of_a_request_and_the_removal_of_its_version_at_once_one_wins(shop: Shop) -> None:
    shop.register("s1", 40)
    key = shop.version("s1", 900)
    named = ComponentRequest(session_id="s1", version_id="v001")
    outcomes: list[str] = []

    def ask() -> None:
        try:
            outcomes.append(shop.ask("start", named, budget=1000).state)
        except NotFound as refused:
            outcomes.append(refused.code)

    def prune() -> None:
        try:
            with shop.house.database.write() as session:
                lock_app(session, shop.app_id)
                project = lock_project(session, shop.app_id, shop.project_id)
                version, cause = session.get_one(SessionVersion, key), shop.cause()
                remove_version(session, project, shop.recorded(session, "s1"), version, "removed", cause)
            outcomes.append("removed")
        except Conflict as refused:
            outcomes.append(refused.code)

    race(ask, prune)
    assert sorted(outcomes) in (["version_in_use", "working"], ["not_found", "removed"])


def race(*runs: Any) -> None:
    barrier = threading.Barrier(len(runs))

    def one(run: Any) -> None:
        barrier.wait()
        run()

    threads = [threading.Thread(target=one, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
