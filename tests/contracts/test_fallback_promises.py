"""A model that answers nothing usable: the rules do its work in the same attempt, by name, at a bounded price."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import update

from shared.base.errors import Configuration, ModelOutput, ProviderAway, ServerFailed, Transient, Unanswered
from shared.contracts.jobs import JobKind
from shared.energy import breaker
from shared.energy.breaker import MOST_UNUSABLE, WINDOW, ModelOutcome, ModelPause, find_pause
from shared.jobs import ownership
from shared.jobs.models import Job
from tests.contracts.test_summary_promises import exchange, open_conversation, summaries, tick
from tests.support.compressing import Press
from tests.support.house import House
from tests.support.scripted_chat import ScriptedChat
from tests.support.settings import default_settings
from worker.agent.memory_model import ModelAgent
from worker.agent.session_model import ModelLearningAgent
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
    while house.deliver():
        pass


def only(house: House, kind: JobKind) -> Job:
    [job] = house.jobs(kind=kind)
    return job


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


def test_a_project_of_many_sessions_is_left_to_the_rules_once(house: House, tmp_path: Path) -> None:
    press, chat = Press(house, tmp_path), ScriptedChat([GARBAGE] * 20)
    for name in ("one", "two", "three"):
        said = f"Always run make lint before a commit. Mind {name}."
        press.shelf.add(press.shelf.transcript(name).human(said))
    found = press.learn(ModelLearningAgent(chat, MODEL, 8192, 30.0))
    assert len(chat.questions) == 3 and found and set(found.values()) == {"extractive"}


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


BAD = ModelOutput("The model gave no usable answer.")
BEES = "I moved to Lyon and my sister Ada keeps bees there."


def tell(house: House, outcomes: str) -> None:
    """Have jobs tell of themselves, a sign for each."""
    for sign in outcomes:
        with house.database.write() as session:
            breaker.record_outcome(session, MODEL, ModelOutcome(sign), house.clock.now(), is_probe=False)


def pause(house: House, model: str = MODEL) -> ModelPause | None:
    with house.database.read() as session:
        return find_pause(session, model)


def converse(house: House, name: str, *errors: BaseException, said: str = BEES) -> str | None:
    """Have one conversation remembered by a model that raises these, attempt by attempt; return the job's reason."""
    house.scripted.says = list(errors)
    house.converse("notes", name, said)
    for _ in range(max(1, len(errors))):
        house.deliver()
        house.clock.advance(30)
    job = house.jobs(kind=JobKind.CREATE_MEMORY)[0]
    assert job.state in ("done", "nothing", "retrying", "deferred"), job.state
    return job.reason


@pytest.mark.parametrize(
    ("outcomes", "unusable"),
    [
        pytest.param("-" * (WINDOW - 1), None, id="fewer jobs than are looked back on"),
        pytest.param("+++" + "-" * 17, None, id="three of twenty are usable"),
        pytest.param("++" + "-" * 18, MOST_UNUSABLE, id="two of twenty are usable"),
        pytest.param("+" * 40 + "-" * 18, MOST_UNUSABLE, id="only the last twenty count"),
        pytest.param("-" * WINDOW + "+" * 5, WINDOW, id="what was begun before it opened does not count"),
    ],
)
def test_eighteen_of_the_last_twenty_jobs_without_anything_usable_stop_all_from_asking(
    house: House, outcomes: str, unusable: int | None
) -> None:
    tell(house, outcomes)
    found = pause(house)
    assert (found and found.unusable) == unusable
    assert pause(house, "ollama:another") is None, "another model begins anew"


@pytest.mark.parametrize(
    ("errors", "counts"),
    [
        pytest.param([BAD], True, id="bad output"),
        pytest.param([Unanswered("It did not answer in time.")] * 3, True, id="no answer in three attempts"),
        pytest.param([Unanswered("It did not answer in time.")] * 2, False, id="an answer in the third attempt"),
        pytest.param([Transient("It broke off.")] * 3, False, id="the network"),
        pytest.param([ProviderAway("Nobody is there.")], False, id="nobody there"),
        pytest.param([Configuration("It has no such model.")], False, id="no such model"),
    ],
)
def test_only_what_the_model_itself_failed_at_counts(house: House, errors: list[BaseException], counts: bool) -> None:
    tell(house, "-" * (WINDOW - 1))
    converse(house, "c1", *errors)
    assert (pause(house) is not None) == counts


@pytest.mark.parametrize(
    ("error", "why", "is_of_server"),
    [
        pytest.param(BAD, "answered nothing usable in 19 of its last 20 jobs", False, id="bad output"),
        pytest.param(Unanswered("Too late."), "did not answer in time", True, id="too slow"),
        pytest.param(ServerFailed("Status 500."), "its server failed", True, id="server failed"),
    ],
)
def test_how_the_last_job_failed_is_told(house: House, error: Exception, why: str, is_of_server: bool) -> None:
    tell(house, "+" + "-te" * 6)
    converse(house, "c1", *[error] * (1 if error is BAD else 3))
    found = pause(house)
    assert found is not None and found.why.endswith(why) and found.is_of_server == is_of_server


def test_a_memory_that_the_gate_refuses_was_not_usable_and_one_that_stands_was(house: House) -> None:
    tell(house, "++" + "-" * 17)
    converse(house, "c1", said="My password is hunter2-Xk9!")
    assert house.contents() == [] and pause(house) is not None
    with house.database.write() as session:
        breaker.record_outcome(session, MODEL, ModelOutcome.USABLE, house.clock.now(), is_probe=True)
    assert pause(house) is None
    tell(house, "-" * (WINDOW - 2))
    converse(house, "c2")
    tell(house, "-")
    assert (found := pause(house)) is not None and found.unusable == WINDOW - 1


def test_of_many_jobs_at_once_one_takes_the_probe(house: House) -> None:
    tell(house, "-" * WINDOW)
    now, together = house.clock.advance(600), Barrier(6)

    def claim(_: int) -> bool:
        together.wait(10)
        with house.database.write() as session:
            return breaker.claim_probe(session, MODEL, now, timedelta(seconds=85))

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(claim, range(6))) == [False] * 5 + [True]
    with house.database.write() as session:
        lost = now + timedelta(minutes=10)
        assert breaker.claim_probe(session, MODEL, lost, timedelta(0)), "one whose worker was killed is taken again"


def test_a_probe_that_gets_no_answer_is_left_to_the_rules_at_once_and_the_next_comes_later(house: House) -> None:
    tell(house, "-" * WINDOW)
    house.clock.advance(600)
    assert "did not answer in time" in (converse(house, "c1", Unanswered("It did not answer in time.")) or "")
    assert [memory.agent for memory in house.memories()] == ["extractive"]
    assert len(house.scripted.seen) == 1
    house.clock.advance(600)
    assert "it is asked again at" in (converse(house, "c2") or "") and len(house.scripted.seen) == 1
    house.clock.advance(600)
    assert converse(house, "c3") is None and pause(house) is None


def test_a_probe_that_had_nothing_to_ask_is_left_to_the_next_job(house: House) -> None:
    tell(house, "-" * WINDOW)
    house.clock.advance(600)
    house.scripted.asks = False
    converse(house, "c1")
    found = pause(house)
    assert found is not None and found.until(house.clock.now()) == "the next job asks it again"
    house.scripted.asks = True
    converse(house, "c2")
    assert pause(house) is None


@pytest.mark.parametrize(("failed", "minutes"), [(0, 10), (1, 20), (3, 80), (4, 120), (400, 120)])
def test_the_wait_doubles_up_to_two_hours(failed: int, minutes: int) -> None:
    assert breaker.wait_after(failed) == timedelta(minutes=minutes)
