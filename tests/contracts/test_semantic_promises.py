"""What sessions teach is kept once with its sources, and a person's word about it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from shared.apps.queries import lock_app
from shared.base.choices import SemanticVerdict
from shared.base.errors import Conflict, LeaseLost, NotFound, NotYet, Transient
from shared.erasure.erasing import purge_memories
from shared.jobs.models import JobState
from shared.jobs.ownership import fail, wait
from shared.llm.calls import Meter
from shared.sessions.models import SemanticKind, SemanticMemory
from shared.sessions.queries import changes_of, find_project_by_key, find_session, lock_project
from shared.sessions.registry.registration import unregister
from shared.sessions.semantic.memories import (
    SemanticProposal,
    SessionPrompt,
    judge_memory,
    remove_memory,
    request_learning,
    save_proposals,
)
from shared.sessions.semantic.queries import list_semantic_memories, sources_of
from tests.support.house import House
from tests.support.recordings import PROJECT, Shelf
from tests.support.settings import default_settings
from worker.agent.protocol import LearningAgent, SessionFindings
from worker.agent.session_rules import ExtractiveLearningAgent
from worker.pipelines.learn_from_sessions import LearnFromSessions

RULE = "Always run make lint before a commit."


@pytest.fixture
def shelf(house: House, tmp_path: Path) -> Shelf:
    return Shelf(house, tmp_path)


class Reader(LearningAgent):
    """Learns one prompt at a time, as rules do; does what it is told before each."""

    name = "ollama:reader"

    def __init__(self, before: Callable[[int], None] = lambda _: None) -> None:
        self.seen: list[str] = []
        self._before = before

    def learn(self, prompts: Sequence[SessionPrompt], meter: Meter) -> SessionFindings:
        self._before(len(self.seen))
        self.seen.append(prompts[0].text)
        return ExtractiveLearningAgent().learn(prompts[:1], meter)


def ask(shelf: Shelf) -> str:
    with shelf.house.database.write() as session:
        app = lock_app(session, "notes")
        return request_learning(
            session, app, lock_project(session, "notes", PROJECT), shelf.house.clock.now(), 5
        ).job_id


def carry_out(
    shelf: Shelf, agent: LearningAgent | None = None, seconds: float = 0.0, rules: LearningAgent | None = None
) -> JobState:
    house, ticks = shelf.house, iter(range(1000))

    def elapsed() -> float:
        return next(ticks) * seconds

    run = LearnFromSessions(
        house.database, house.clock, agent or ExtractiveLearningAgent(), shelf.store, house.accountant, house.metrics,
        elapsed, rules,
    )  # fmt: skip
    (claim,) = house.claims()
    try:
        return run(claim)
    except (Transient, NotYet) as error:
        with house.database.write() as session:
            if isinstance(error, NotYet):
                wait(session, claim, error.message, error.until, house.clock.now())
            else:
                fail(
                    session,
                    claim,
                    error.message,
                    house.clock.now(),
                    default_settings(retry_base_seconds=1, retry_max_seconds=1),
                )
        house.clock.advance(5)
        raise


def memories(shelf: Shelf, **wanted: SemanticVerdict) -> dict[str, SemanticMemory]:
    with shelf.house.database.read() as session:
        project = find_project_by_key(session, "notes", 1)
        assert project is not None
        rows = list_semantic_memories(session, project.key, **wanted)
        return {one.content: one for one in rows}


def sources(shelf: Shelf, memory: SemanticMemory) -> list[tuple[str, str]]:
    with shelf.house.database.read() as session:
        return [(name, source.message_uuid) for source, name in sources_of(session, [memory.key])]


def test_what_several_sessions_say_is_one_memory_and_believed_more(shelf: Shelf) -> None:
    shelf.add(shelf.transcript("one").human(f"{RULE} The project uses Jest for testing."))
    shelf.add(shelf.transcript("two").human("always run make lint before commit. We use Redis for the queue."))
    shelf.add(shelf.transcript("three").human("For testing, as you know, the project uses Jest."))
    shelf.add(shelf.transcript("four").human("the project uses Jest for testing"))
    ask(shelf)
    assert carry_out(shelf) is JobState.DONE
    found = memories(shelf)
    assert {content: one.confidence for content, one in found.items()} == {
        RULE.rstrip("."): 0.75,
        "The project uses Jest for testing": 0.75,
    }, "what was said once, and not for good, is not proposed"
    assert sources(shelf, found[RULE.rstrip(".")]) == [("one", "one-0"), ("two", "two-0")]
    assert sources(shelf, found["The project uses Jest for testing"]) == [("one", "one-0"), ("four", "four-0")]


def test_a_session_that_was_copied_says_nothing_twice_and_another_prompt_does(shelf: Shelf) -> None:
    transcript = shelf.transcript("one").human("The project uses Jest for testing.")
    shelf.add(transcript)
    copy = shelf.transcript("copy")
    copy.records.extend(transcript.records)
    shelf.add(copy)
    ask(shelf)
    carry_out(shelf)
    assert memories(shelf) == {}
    shelf.sync(
        transcript.human("As I said, the project uses Jest for testing.").human("The project uses Jest for testing!")
    )
    ask(shelf)
    carry_out(shelf)
    (memory,) = memories(shelf).values()
    assert sources(shelf, memory) == [("one", "one-0"), ("one", "one-2"), ("copy", "one-0")]
    with shelf.house.database.read() as session:
        assert [one.kind for one in changes_of(session, "notes", PROJECT, 100) if one.subject == memory.memory_id] == [
            "created"
        ]


def test_what_says_nothing_is_not_kept_and_only_what_is_new_changes_the_project(shelf: Shelf) -> None:
    shelf.add(shelf.transcript("one").human("Fly"))
    blank, rule = (SemanticProposal(SemanticKind.DECISION, content, "one-0", "Fly") for content in (" \n", RULE))
    revisions = []
    for proposals in ([blank], [rule], [rule]):
        with shelf.house.database.write() as session:
            recorded = find_session(session, "notes", "one")
            assert recorded is not None
            project = lock_project(session, "notes", PROJECT)
            before = project.revision
            kept = save_proposals(session, project, recorded, proposals, "extractive", shelf.house.clock.now())
            revisions.append((kept, project.revision - before))
    assert revisions == [(0, 0), (1, 1), (0, 0)] and len(memories(shelf)) == 1


def test_a_project_is_learnt_from_once_until_something_new_is_there(shelf: Shelf) -> None:
    transcript = shelf.transcript("one").human(RULE)
    shelf.add(transcript)
    assert ask(shelf) == ask(shelf), "one job at a time"
    carry_out(shelf)
    with pytest.raises(Conflict) as refused:
        ask(shelf)
    assert refused.value.code == "nothing_new"
    shelf.sync(transcript.human("We decided to keep SQLite for tests."))
    ask(shelf)
    reader = Reader()
    assert carry_out(shelf, reader) is JobState.DONE
    assert reader.seen == ["We decided to keep SQLite for tests."], "what was read is not read again"
    assert len(memories(shelf)) == 2


def test_a_job_that_gives_way_or_fails_goes_on_where_it_was(shelf: Shelf) -> None:
    shelf.add(shelf.transcript("one").human(RULE).human("Never push to main.").human("Never use global state."))
    ask(shelf)

    def fail_at_second(seen: int) -> None:
        if seen == 1:
            raise Transient("The model is away.")

    reader = Reader(fail_at_second)
    with pytest.raises(Transient):
        carry_out(shelf, reader)
    assert len(memories(shelf)) == 1
    again = Reader()
    assert carry_out(shelf, again) is JobState.DONE
    assert again.seen == ["Never push to main.", "Never use global state."]
    assert len(memories(shelf)) == 3


def test_a_job_gives_way_to_other_work_between_prompts(shelf: Shelf) -> None:
    shelf.add(shelf.transcript("one").human(RULE).human("Never push to main."))
    shelf.add(shelf.transcript("two").human("Never use global state."))
    ask(shelf)
    reader, slices = Reader(), 1
    while True:
        try:
            assert carry_out(shelf, reader, seconds=30) is JobState.DONE
            break
        except NotYet:
            slices += 1
    assert slices > 2
    assert sorted(reader.seen) == sorted([RULE, "Never push to main.", "Never use global state."]), "each read once"
    assert len(memories(shelf)) == 3


def test_a_rejected_memory_never_comes_back_and_a_removed_one_does(shelf: Shelf) -> None:
    transcript = shelf.transcript("one").human(f"{RULE} Never push to main.")
    shelf.add(transcript)
    ask(shelf)
    carry_out(shelf)
    found = memories(shelf)
    with shelf.house.database.write() as session:
        cause = shelf.cause("no")
        judge_memory(session, "notes", found["Never push to main"].memory_id, SemanticVerdict.REJECTED, None, cause)
        remove_memory(session, "notes", found[RULE.rstrip(".")].memory_id, cause)
    shelf.add(shelf.transcript("two").human(f"{RULE} Never push to main."))
    ask(shelf)
    carry_out(shelf)
    found = memories(shelf)
    assert {content: one.verdict for content, one in found.items()} == {
        RULE.rstrip("."): "proposed", "Never push to main": "rejected",
    }  # fmt: skip
    with shelf.house.database.read() as session:
        (judged,) = [one for one in changes_of(session, "notes", PROJECT, 100) if one.kind == "judged"]
    assert (judged.actor, judged.reason) == ("token:test", "no")
    assert (judged.before, judged.after) == ({"verdict": "proposed"}, {"verdict": "rejected", "reworded": False})


def test_without_its_last_session_only_what_a_person_confirmed_stays(shelf: Shelf) -> None:
    shelf.add(shelf.transcript("one").human(f"{RULE} Never push to main."))
    ask(shelf)
    carry_out(shelf)
    with shelf.house.database.write() as session:
        kept = memories(shelf)[RULE.rstrip(".")].memory_id
        judge_memory(session, "notes", kept, SemanticVerdict.CONFIRMED, None, shelf.cause("yes"))
    with shelf.house.database.write() as session:
        unregister(session, "notes", "one", shelf.cause("gone"))
    (left,) = memories(shelf).values()
    assert left.memory_id == kept and sources(shelf, left) == []


def test_a_memory_can_be_put_in_other_words_but_not_in_those_of_another(shelf: Shelf) -> None:
    shelf.add(shelf.transcript("one").human(f"{RULE} Never push to main."))
    ask(shelf)
    carry_out(shelf)
    memory_id = memories(shelf)[RULE.rstrip(".")].memory_id
    with shelf.house.database.write() as session:
        judge_memory(session, "notes", memory_id, None, "Lint before commits", shelf.cause("shorter"))
    assert memories(shelf)["Lint before commits"].verdict == "proposed"
    with shelf.house.database.write() as session, pytest.raises(Conflict) as refused:
        judge_memory(session, "notes", memory_id, None, "never push to the main.", shelf.cause("again"))
    assert refused.value.code == "already_known"


def test_a_purge_forgets_them_and_stops_the_job(shelf: Shelf) -> None:
    shelf.add(shelf.transcript("one").human(RULE))
    ask(shelf)
    carry_out(shelf)
    shelf.add(shelf.transcript("two").human("Never push to main."))
    job_id = ask(shelf)
    (claim,) = shelf.house.claims()
    with shelf.house.database.write() as session:
        receipt = purge_memories(session, "notes", "admin", shelf.house.clock.now())
    assert (receipt.erased["semanticMemories"], receipt.left["semanticMemories"]) == (1, 0)
    house = shelf.house
    run = LearnFromSessions(
        house.database, house.clock, ExtractiveLearningAgent(), shelf.store, house.accountant, house.metrics
    )
    with pytest.raises((LeaseLost, Conflict)):
        run(claim)
    assert memories(shelf) == {}
    assert house.jobs()[0].job_id == job_id and house.jobs()[0].state == JobState.CANCELLED


def test_nobody_judges_what_belongs_to_another_app(shelf: Shelf) -> None:
    shelf.add(shelf.transcript("one").human(RULE))
    ask(shelf)
    carry_out(shelf)
    shelf.house.install("mail")
    (memory,) = memories(shelf).values()
    with shelf.house.database.write() as session, pytest.raises(NotFound):
        judge_memory(session, "mail", memory.memory_id, SemanticVerdict.REJECTED, None, shelf.cause("no"))
