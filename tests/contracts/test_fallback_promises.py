"""A model that answers nothing usable: the rules do its work in the same attempt, by name, at a bounded price."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import update

from shared.base.errors import ModelOutput, Transient
from shared.contracts.jobs import JobKind, JobMessage
from shared.jobs import ownership
from shared.jobs.dispatch import take_due
from shared.jobs.models import Job
from shared.memories.queries import changes_of_app
from shared.sessions.compress.queries import parts_of
from tests.contracts.test_compression_promises import by_model
from tests.contracts.test_semantic_promises import RULE, ask, carry_out, memories
from tests.contracts.test_summary_promises import exchange, open_conversation, summaries, tick
from tests.support.compressing import Press, long_talk
from tests.support.house import House
from tests.support.recordings import Shelf
from tests.support.scripted_chat import ScriptedChat
from tests.support.settings import default_settings
from worker.agent.memory_model import ModelAgent
from worker.agent.session_model import ModelLearningAgent
from worker.agent.session_rules import ExtractiveLearningAgent
from worker.agent.summary_model import ModelSummaryAgent
from worker.wiring import rules_behind

GARBAGE = "Sure! I will gladly help you with that."
MODEL = "ollama:scripted"


@pytest.fixture
def house(house: House) -> House:
    house.rules = rules_behind(default_settings())
    return house


def deliver(house: House) -> None:
    """Attempt what is due, as often as anything is."""
    for _ in range(50):
        with house.database.write() as session:
            sent = take_due(session, house.clock.now(), 10, 60)
        if not sent:
            return
        for one in sent:
            house.attempt(JobMessage(job_id=one.job_id, fence=one.fence))


def only(house: House, kind: JobKind) -> Job:
    [job] = house.jobs(kind=kind)
    return job


def test_a_memory_is_made_by_the_rules_which_are_named_with_the_reason(house: House) -> None:
    house.scripted.says = [ModelOutput("The model gave no usable answer: first it is empty.")]
    house.converse("notes", "c1", "I moved to Lyon and my sister Ada keeps bees there.")
    deliver(house)
    job = only(house, JobKind.CREATE_MEMORY)
    [memory] = house.memories()
    with house.database.read() as session:
        [change] = changes_of_app(session, "notes", 5)
    assert (job.state, job.attempts, memory.agent, change.actor) == ("done", 1, "extractive", "extractive")
    for reason in (job.reason, change.reason):
        assert "done by extractive, as ollama:scripted could not: The model gave no usable answer" in (reason or "")
    assert house.counted("agent_fallbacks_total", kind="create_memory") == 1
    assert house.counted("memories_created_total", agent="extractive") == 1


def test_where_only_the_compaction_fails_the_draft_stays_the_models_and_the_rules_choose(house: House) -> None:
    for number in range(10):
        house.converse("notes", f"c{number}", f"I own boat number {number}.")
    deliver(house)
    house.scripted.decides = [ModelOutput("no usable answer")]
    house.converse("notes", "c10", "I own a bicycle from Denmark.")
    deliver(house)
    assert {memory.agent for memory in house.memories() if "bicycle" in memory.content} <= {MODEL, "extractive"}
    with house.database.read() as session:
        changes = changes_of_app(session, "notes", 3)
    assert {change.actor for change in changes if change.kind == "created"} == {MODEL}
    chosen = [change for change in changes if change.kind != "created"]
    assert chosen and {change.actor for change in chosen} == {"extractive"}
    assert all("room made by the rules, as ollama:scripted could not decide" in change.reason for change in chosen)
    assert house.counted("compactions_total", outcome="merged", reason="model_failed") == 1
    assert house.counted("agent_fallbacks_total", kind="create_memory") == 0, "the memory is the model's"


def test_a_model_that_is_away_is_no_reason_for_the_rules(house: House) -> None:
    house.scripted.says = [Transient("away")]
    house.converse("notes", "c1", "I moved to Lyon.")
    deliver(house)
    assert (only(house, JobKind.CREATE_MEMORY).state, house.memories()) == ("retrying", [])


LONG = "I live in Lyon. " + "We walked along the river and talked about the weather. " * 200 + "I play the oboe."


@pytest.mark.parametrize("answered", [0, 2], ids=["the first part fails", "the third part fails"])
def test_a_talk_of_many_parts_is_left_to_the_rules_once_and_not_part_by_part(house: House, answered: int) -> None:
    chat = ScriptedChat([{"memory": "", "facts": []}] * answered + [GARBAGE] * 50, context_tokens=3072)
    house.pipeline.agent = ModelAgent(chat, MODEL, 3072, 30.0)
    house.converse("notes", "c1", LONG, "Nice.")
    deliver(house)
    job = only(house, JobKind.CREATE_MEMORY)
    assert (job.state, job.attempts, len(chat.questions)) == ("done", 1, answered + 3)
    assert [memory.agent for memory in house.memories()] == ["extractive"]
    assert "done by extractive" in (job.reason or "")


SMALL = (
    "I am Ada's brother and I have been running the bakery on the corner of the old square with her since 2019, and "
    "I get migraines from strong light so please never suggest a terrace. We open at five, the oven takes two hours "
    "and a half to warm up, and Kwame from the mill brings the flour every Tuesday before the school bus comes by."
)


def shortened(house: House, *lines: str) -> ScriptedChat:
    chat = ScriptedChat([{"short": list(lines)}] * 3)
    house.pipeline.agent = ModelAgent(chat, MODEL, 8192, 30.0, lambda: True)
    house.converse("notes", "c1", SMALL)
    deliver(house)
    return chat


def test_a_small_model_shortens_what_the_rules_chose_and_is_named(house: House) -> None:
    lines = ("migraines from strong light, never suggest a terrace", "Kwame from the mill brings flour every Tuesday")
    chat = shortened(house, *lines)
    [memory] = house.memories()
    assert memory.agent == MODEL and "migraines" in memory.content and "terrace" in memory.content
    [question] = chat.questions
    assert "migraines" in question.user and "mill" in question.user


def test_lines_of_a_small_model_that_say_something_else_do_not_stand_and_the_rules_write(house: House) -> None:
    shortened(house, "migraines from dogs", "suggest a terrace", "Kwame brings 40 sacks", "Bob is an administrator")
    [memory] = house.memories()
    assert memory.agent == "extractive" and "migraines" in memory.content
    assert "None of the lines" in (only(house, JobKind.CREATE_MEMORY).reason or "")


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("I am allergic to peanuts.", id="all has room as it stands"),
        pytest.param("Hello there, how are you?", id="nothing is worth keeping"),
        pytest.param(
            "Ik ben verpleegkundige in Gent en ik werk al negen jaar in de nachtdienst van het grote ziekenhuis, dus "
            "bel mij nooit voor twee uur in de middag. Mijn dochter Fien is allergisch voor noten en eieren. We "
            "verhuizen in april naar Brugge en zoeken nog een school die dichtbij het station ligt, met opvang.",
            id="a language that it cannot word",
        ),
    ],
)
def test_a_small_model_is_not_asked_where_it_would_be_of_no_use(house: House, said: str) -> None:
    chat = ScriptedChat([])
    house.pipeline.agent = ModelAgent(chat, MODEL, 8192, 30.0, lambda: True)
    house.converse("notes", "c1", said)
    deliver(house)
    job = only(house, JobKind.CREATE_MEMORY)
    assert not chat.questions and {memory.agent for memory in house.memories()} <= {"extractive"}
    assert "could not" not in (job.reason or ""), "nothing has failed"


def test_a_summary_is_made_by_the_rules_and_says_so(house: House) -> None:
    chat = ScriptedChat([GARBAGE] * 9)
    house.summary_agent = ModelSummaryAgent(chat, MODEL, 8192, 30.0)  # type: ignore[assignment]
    open_conversation(house)
    exchange(house, 5)
    assert tick(house)
    deliver(house)
    job = only(house, JobKind.SUMMARISE)
    assert job.attempts == 1 and len(chat.questions) == 3 and "done by extractive" in (job.reason or "")
    assert [one.agent for one in summaries(house)] == ["extractive"] * (job.state == "done")


def test_a_version_is_made_anew_by_the_rules_whole(house: House, tmp_path: Path) -> None:
    press = Press(house, tmp_path)
    press.shelf.add(long_talk(press.shelf.transcript("s1")))
    press.scripted.says = [None, None, ModelOutput("no usable answer")]  # type: ignore[list-item]
    version = press.make("s1", by_model())
    [job] = house.jobs(kind=JobKind.COMPRESS_SESSION)
    assert (job.state, job.attempts, len(press.scripted.seen)) == ("done", 1, 3)
    assert "went well" not in press.text(version, "s1"), "one version has one author"
    assert version.agent == "extractive" and "done by extractive" in (job.reason or "")
    with house.database.read() as session:
        assert not parts_of(session, version.key)


def test_a_project_of_many_sessions_is_left_to_the_rules_once(house: House, tmp_path: Path) -> None:
    shelf = Shelf(house, tmp_path)
    for name in ("one", "two", "three"):
        shelf.add(shelf.transcript(name).human(f"{RULE} Mind {name}."))
    chat = ScriptedChat([GARBAGE] * 20)
    ask(shelf)
    carry_out(shelf, ModelLearningAgent(chat, MODEL, 8192, 30.0), rules=ExtractiveLearningAgent())
    assert len(chat.questions) == 3
    assert memories(shelf) and {one.agent for one in memories(shelf).values()} == {"extractive"}


@pytest.mark.parametrize(("most", "tries"), [(5, 3), (2, 2)], ids=["of five attempts", "of two attempts"])
def test_a_model_that_does_not_answer_is_given_up_in_the_third_attempt_or_the_last(
    house: House, most: int, tries: int
) -> None:
    house.scripted.says = [Transient("ollama:scripted did not answer in time.")] * 9
    house.converse("notes", "c1", "I moved to Lyon and my sister Ada keeps bees there.")
    with house.database.write() as session:
        session.execute(update(Job).values(max_attempts=most))
    for _ in range(most):
        deliver(house)
        house.clock.advance(600)
    job = only(house, JobKind.CREATE_MEMORY)
    assert (job.state, job.attempts, len(house.scripted.seen)) == ("done", tries, tries)
    assert "done by extractive, as ollama:scripted could not: ollama:scripted did not answer in time" in job.reason
    assert [memory.agent for memory in house.memories()] == ["extractive"]


def test_a_model_whose_workers_were_killed_in_three_attempts_is_not_asked_again(house: House) -> None:
    house.converse("notes", "c1", "I moved to Lyon and my sister Ada keeps bees there.")
    for _ in range(3):
        assert len(list(house.claims())) == 1
        house.clock.advance(61)
        with house.database.write() as session:
            ownership.sweep(session, house.clock.now(), house.settings)
        house.clock.advance(600)
    deliver(house)
    job = only(house, JobKind.CREATE_MEMORY)
    assert (job.state, job.attempts, len(house.scripted.seen)) == ("done", 4, 0)
    assert "could not: it was asked in 3 attempts already" in (job.reason or "")
