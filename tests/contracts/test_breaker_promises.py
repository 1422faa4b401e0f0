"""When jobs stop asking a model, and when one of them asks again, over each database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest

from shared.base.errors import Configuration, ModelOutput, ProviderAway, ServerFailed, Transient, Unanswered
from shared.contracts.jobs import JobKind, JobMessage
from shared.energy import breaker
from shared.energy.breaker import MOST_UNUSABLE, WINDOW, ModelOutcome, ModelPause, find_pause
from shared.jobs.dispatch import take_due
from tests.support.house import House
from tests.support.settings import default_settings
from worker.wiring import rules_behind

MODEL = "ollama:scripted"
BAD = ModelOutput("The model gave no usable answer.")
BEES = "I moved to Lyon and my sister Ada keeps bees there."


@pytest.fixture
def house(house: House) -> House:
    house.rules = rules_behind(default_settings())
    return house


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
        deliver(house)
        house.clock.advance(30)
    job = house.jobs(kind=JobKind.CREATE_MEMORY)[0]
    assert job.state in ("done", "nothing", "retrying", "deferred"), job.state
    return job.reason


def deliver(house: House) -> None:
    with house.database.write() as session:
        sent = take_due(session, house.clock.now(), 10, 60)
    for one in sent:
        house.attempt(JobMessage(job_id=one.job_id, fence=one.fence))


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
