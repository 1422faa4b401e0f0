"""Over each database: of a conversation whose memory is off or read nothing is kept, whenever that was said."""

from __future__ import annotations

import pytest

from loop.steps.due_jobs import EnqueueExtraction, EnqueueSummaries
from shared.apps.queries import get_app
from shared.base.errors import ModelOutput
from shared.base.settings import Tuning
from shared.contracts.jobs import JobKind
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, end, set_memory, start
from shared.conversations.models import MemoryMode
from shared.conversations.queries import get_conversation, lock_conversation
from shared.jobs.control import replay
from shared.jobs.models import JobState
from shared.summaries.queries import of_conversation
from tests.support.house import House

SAID = ("I am allergic to peanuts.", "Noted.", "I live in Lisbon.", "Nice.", "I play the oboe.", "Lovely.")
NOT_ON = pytest.mark.parametrize("mode", [MemoryMode.READ, MemoryMode.OFF])


@pytest.fixture(autouse=True)
def everything_on(house: House) -> None:
    house.settings = house.settings.model_copy(update={"facts": True})


def hold(house: House, mode: MemoryMode = MemoryMode.ON) -> None:
    tuning = Tuning(summary_frequency=2)
    with house.database.write() as session:
        start(session, "notes", NewConversation("c1", memory=mode), house.clock.now())
        conversation = lock_conversation(session, "notes", "c1")
        said = [NewMessage((Role.USER, Role.ASSISTANT)[place % 2], text) for place, text in enumerate(SAID)]
        append_messages(session, conversation, said, house.clock.now(), fact_settings=house.settings, tuning=tuning)


def switch(house: House, mode: MemoryMode) -> None:
    with house.database.write() as session:
        conversation = lock_conversation(session, "notes", "c1")
        set_memory(session, conversation, mode, house.clock.now(), house.settings, Tuning(summary_frequency=2))


def finish(house: House) -> None:
    with house.database.write() as session:
        conversation, epoch = lock_conversation(session, "notes", "c1"), get_app(session, "notes").purge_epoch
        end(session, conversation, epoch, None, house.clock.now(), 1, fact_settings=house.settings)


def tick(house: House) -> None:
    house.clock.advance(3600)
    EnqueueExtraction(house.database, house.clock, 5).run()
    EnqueueSummaries(house.database, house.clock, 5, Tuning(summary_frequency=2)).run()


def attempt_all(house: House) -> None:
    while house.deliver():
        pass


def kept(house: House) -> tuple[int, int, int]:
    """Return how many memories, facts and summaries there are."""
    with house.database.read() as session:
        summaries = len(of_conversation(session, get_conversation(session, "notes", "c1").key))
    return len(house.memories()), len(house.facts()), summaries


@NOT_ON
def test_nothing_is_asked_for_while_it_goes_on_nor_at_its_end(house: House, mode: MemoryMode) -> None:
    hold(house, mode)
    tick(house)
    finish(house)
    tick(house)
    assert house.jobs() == [] and kept(house) == (0, 0, 0)


@NOT_ON
def test_jobs_that_wait_when_it_is_switched_end_as_nothing_and_say_why(house: House, mode: MemoryMode) -> None:
    hold(house)
    tick(house)
    assert {job.kind for job in house.jobs()} == {JobKind.EXTRACT_FACTS, JobKind.SUMMARISE}
    switch(house, mode)
    attempt_all(house)
    assert {job.state for job in house.jobs()} == {JobState.NOTHING} and kept(house) == (0, 0, 0)
    assert {job.reason for job in house.jobs()} == {f"memory is {mode} for this conversation"}
    assert house.fact_agent.seen == [] and house.summary_agent.seen == [], "an agent was shown what is not remembered"


@NOT_ON
@pytest.mark.parametrize("kind", [JobKind.EXTRACT_FACTS, JobKind.SUMMARISE, JobKind.CREATE_MEMORY])
def test_what_an_agent_thought_of_meanwhile_is_not_written(house: House, kind: JobKind, mode: MemoryMode) -> None:
    hold(house)
    agent = {JobKind.EXTRACT_FACTS: house.fact_agent, JobKind.SUMMARISE: house.summary_agent}.get(kind, house.scripted)
    agent.while_thinking = lambda: switch(house, mode)  # type: ignore[attr-defined]
    if kind is JobKind.CREATE_MEMORY:
        finish(house)
    tick(house)
    attempt_all(house)
    assert agent.seen, "it was not asked at all"  # type: ignore[attr-defined]
    [job] = house.jobs(kind=kind)
    assert (job.state, job.reason) == (JobState.NOTHING, f"memory is {mode} for this conversation")
    assert kept(house)[{JobKind.CREATE_MEMORY: 0, JobKind.EXTRACT_FACTS: 1, JobKind.SUMMARISE: 2}[kind]] == 0


def test_a_dead_letter_that_is_replayed_is_no_way_around_it(house: House) -> None:
    house.scripted.says = [ModelOutput("unusable")]
    hold(house)
    finish(house)
    attempt_all(house)
    [dead] = house.jobs(kind=JobKind.CREATE_MEMORY)
    assert dead.state == JobState.DEAD
    switch(house, MemoryMode.OFF)
    with house.database.write() as session:
        replay(session, dead.job_id, dead.epoch, house.clock.now())
    attempt_all(house)
    [job] = house.jobs(kind=JobKind.CREATE_MEMORY)
    assert job.state == JobState.NOTHING and house.memories() == []


def test_what_was_drawn_before_stays_and_switched_on_it_is_read_on(house: House) -> None:
    hold(house)
    tick(house)
    attempt_all(house)
    before = kept(house)
    assert before[1] == 3 and before[2] == 1
    switch(house, MemoryMode.OFF)
    with house.database.write() as session:
        conversation = lock_conversation(session, "notes", "c1")
        more = [NewMessage(Role.USER, "I keep bees."), NewMessage(Role.ASSISTANT, "Oh.")]
        append_messages(session, conversation, more, house.clock.now(), fact_settings=house.settings)
    tick(house)
    attempt_all(house)
    assert kept(house) == before
    switch(house, MemoryMode.ON)
    tick(house)
    attempt_all(house)
    assert kept(house)[1] == before[1] + 1
