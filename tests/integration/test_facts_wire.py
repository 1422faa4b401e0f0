"""Facts by a model that misbehaves, over the wire: what was seen and what is known agree after every single attempt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from shared.contracts.jobs import JobKind, JobMessage
from shared.conversations.queries import get_conversation
from shared.jobs.dispatch import take_due
from shared.llm.chat import Chat
from shared.llm.providers import make_chat
from tests.support.house import House
from tests.support.model_server import Act, ModelServer
from tests.support.providers import over_each
from tests.support.settings import default_settings, served_at
from worker.agent.fact_model import ModelFactAgent
from worker.wiring import rules_behind

WINDOW = 4096
SAID = ("I live in Lyon.", "Nice.", "I play the oboe.", "Lovely.")
EXPECTED = ["Live in Lyon", "Play the oboe"]


def fact(text: str, *messages: int, **other: Any) -> dict[str, Any]:
    plain = {"category": "identity", "confidence": "high", "updates_previous": False, "updates": 0}
    return {"fact": text, "messages": list(messages), **plain, **other}


LYON, OBOE = fact("Live in Lyon", 1), fact("Play the oboe", 3)
BOTH = {"facts": [LYON, OBOE]}


@pytest.fixture
def house(sqlite_url: str, provider: str, server: ModelServer) -> Iterator[House]:
    house = House(sqlite_url)
    house.settings = house.settings.model_copy(update={"facts": True})
    house.install()
    with closing(make_chat(f"{provider}:tiny", served_at(server.url, WINDOW))) as chat:
        house.fact_agent = patient(chat)  # type: ignore[assignment]
        yield house
    house.database.dispose()


def patient(chat: Chat, seconds: float = 60.0) -> ModelFactAgent:
    """An agent that waits long: on a busy machine an answer may take seconds, and that is not what is tried."""
    return ModelFactAgent(chat, chat.name, WINDOW, seconds)


def attempt(house: House) -> None:
    """Deliver what is due, once, and look at what is seen and what is known."""
    with house.database.write() as session:
        sent = take_due(session, house.clock.now(), 10, 60)
    for one in sent:
        house.attempt(JobMessage(job_id=one.job_id, fence=one.fence))
    agree(house)


def agree(house: House) -> None:
    known = {fact.statement for fact in house.facts()}
    assert bool(known) == bool(seen(house)), f"{seen(house)} messages were seen and {known} is known"


def seen(house: House, conversation_id: str = "c1") -> int:
    with house.database.read() as session:
        return get_conversation(session, "notes", conversation_id).facts_seen


def until_done(house: House, most: int = 12) -> list[str]:
    """Make attempts until no extraction is open; return the states they ended in."""
    for _ in range(most):
        if all(job.finished_at is not None for job in house.jobs()):
            break
        attempt(house)
        house.clock.advance(600)
    return [job.state for job in house.jobs(kind=JobKind.EXTRACT_FACTS)]


def statements(house: House) -> list[str]:
    return sorted(fact.statement for fact in house.facts())


UNUSABLE = {
    "prose": Act(answer="Here is what I think about the user, who seems nice."),
    "an apology": Act(answer="I'm sorry, but I cannot help with that."),
    "nothing": Act(answer=""),
    "a refusal": Act(answer="", refused=True),
    "a truncated list": Act(answer=json.dumps(BOTH)[:-40]),
    "two candidates": Act(answer=f"{json.dumps(BOTH)} or rather {json.dumps({'facts': [LYON]})}"),
    "an answer cut off by its length": Act(answer=json.dumps(BOTH), done_reason="length"),
}
AWAY = {
    "a broken connection": Act(answer=BOTH, close_after=1),
    "an error in the stream": Act(answer=BOTH, error_after=1),
    "not JSON on the wire": Act(answer=BOTH, garbage=True),
    "a server error": Act(status=500),
    "too many requests": Act(status=429),
}


@over_each
@pytest.mark.parametrize("act", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_model_that_answers_nothing_usable_is_asked_three_times_at_most_and_the_rules_do_it(
    house: House, server: ModelServer, act: Act
) -> None:
    house.rules = rules_behind(default_settings())
    house.converse("notes", "c1", *SAID)
    server.will(*[act] * 4)
    assert until_done(house) == ["done"]
    assert len(server.chats) <= 3 and seen(house) == 4, "a long bad answer leaves no room for another"
    assert {fact.agent for fact in house.facts()} == {"extractive"}


@over_each
@pytest.mark.parametrize("act", AWAY.values(), ids=AWAY.keys())
def test_a_model_that_is_away_for_a_while_costs_only_time(house: House, server: ModelServer, act: Act) -> None:
    house.converse("notes", "c1", *SAID)
    server.will(*[act] * 2)
    assert until_done(house) == ["done"]
    assert (statements(house), seen(house)) == (EXPECTED, 4)
    assert [fact.mention_count for fact in house.facts()] == [1, 1]


@over_each
def test_a_model_that_says_nothing_for_a_while_costs_only_time(
    house: House, provider: str, server: ModelServer
) -> None:
    house.converse("notes", "c1", *SAID)
    server.will(Act(stall=True))
    with closing(make_chat(f"{provider}:tiny", served_at(server.url, WINDOW))) as chat:
        house.fact_agent = patient(chat, 1.0)  # type: ignore[assignment]
        for _ in range(4):
            if not server.chats:
                attempt(house)
                house.clock.advance(600)
        assert len(server.chats) == 1
        assert (statements(house), seen(house)) == ([], 0)
        house.fact_agent = patient(chat)  # type: ignore[assignment]
        assert until_done(house) == ["done"]
    assert (statements(house), seen(house)) == (EXPECTED, 4)
    assert [fact.mention_count for fact in house.facts()] == [1, 1]


READ = {
    "fences": f"```json\n{json.dumps(BOTH)}\n```",
    "prose around it": f"Sure! {json.dumps(BOTH)} Anything else?",
    "a bare list": json.dumps(BOTH["facts"]),
    "itself three times in one answer": json.dumps({"facts": [LYON, OBOE, LYON, OBOE, LYON]}),
    "confidence as a number": json.dumps({"facts": [fact("Live in Lyon", 1, confidence=0.95), OBOE]}),
    "confidence as a number in quotes": json.dumps({"facts": [fact("Live in Lyon", 1, confidence="0.9"), OBOE]}),
}


@pytest.mark.parametrize("answer", READ.values(), ids=READ.keys())
def test_what_small_models_return_is_read(house: House, server: ModelServer, answer: str) -> None:
    house.converse("notes", "c1", *SAID)
    server.will(Act(answer=answer))
    assert until_done(house) == ["done"]
    assert statements(house) == EXPECTED
    assert len(server.chats) == 1
    assert all(fact.confidence == 0.75 for fact in house.facts())


DROPPED = {
    "the enumeration copied": fact("Live in Lyon", 1, category="identity|preference|project"),
    "confidence 0": fact("Live in Lyon", 1, confidence=0),
    "confidence low": fact("Live in Lyon", 1, confidence="low"),
    "a message that was not shown": fact("Live in Lyon", 9),
    "words that were not said": fact("Owns a helicopter", 1),
    "an apology": fact("I'm sorry, I cannot say", 1),
    "nothing": fact("", 1),
}


@pytest.mark.parametrize("bad", DROPPED.values(), ids=DROPPED.keys())
def test_a_bad_fact_is_not_stored_and_the_good_ones_beside_it_are(
    house: House, server: ModelServer, bad: dict[str, Any]
) -> None:
    house.converse("notes", "c1", *SAID)
    server.will(*[Act(answer={"facts": [bad, OBOE]})] * 2)
    assert until_done(house) == ["done"]
    assert "Play the oboe" in statements(house)
    assert set(statements(house)) <= set(EXPECTED), "nothing is stored as it stands"
    assert seen(house) == 4


def test_a_model_that_says_the_same_again_in_every_segment_doubles_nothing(house: House, server: ModelServer) -> None:
    for number in range(1, 4):
        house.converse("notes", f"c{number}", *SAID)
    until_done(house)
    assert statements(house) == EXPECTED
    assert [fact.mention_count for fact in house.facts()] == [3, 3]
    assert [round(fact.confidence, 2) for fact in house.facts()] == [1.0, 1.0]


def test_a_model_that_contradicts_itself_leaves_the_last_word(house: House, server: ModelServer) -> None:
    house.converse("notes", "c1", "I live in Lyon.", "Nice.")
    until_done(house)
    [old] = house.facts()
    for number, town in enumerate(("Oslo", "Bern", "Lyon"), 2):
        [standing] = house.facts()
        answer = {"facts": [fact(f"Live in {town}", 1, updates=standing.fact_id, updates_previous=True)]}
        server.will(Act(answer=answer))
        house.converse("notes", f"c{number}", f"I live in {town}.", "Nice.")
        until_done(house)
        assert statements(house) == [f"Live in {town}"]
    assert house.facts()[0].fact_id != old.fact_id, "what comes back is a new replacement"


def test_an_empty_list_is_an_answer_and_moves_the_pointer(house: House, server: ModelServer) -> None:
    house.converse("notes", "c1", "What is the time?", "Noon.")
    server.will(Act(answer={"facts": []}))
    with house.database.write() as session:
        sent = take_due(session, house.clock.now(), 10, 60)
    for one in sent:
        house.attempt(JobMessage(job_id=one.job_id, fence=one.fence))
    house.clock.advance(600)
    house.work_off()
    assert [job.state for job in house.jobs(kind=JobKind.EXTRACT_FACTS)] == ["nothing"]
    assert (statements(house), seen(house), len(server.chats)) == ([], 2, 1)


@over_each
def test_a_model_that_is_down_for_good_ends_as_a_dead_letter_with_nothing_seen(
    house: House, server: ModelServer
) -> None:
    house.converse("notes", "c1", *SAID)
    server.will(*[Act(status=503)] * 40)
    assert until_done(house) == ["dead"]
    assert (statements(house), seen(house)) == ([], 0)
