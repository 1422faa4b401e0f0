"""One reading by a model that misbehaves, over the wire: memory and facts are there, and right, after every attempt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from shared.contracts.jobs import JobKind
from shared.llm.chat import Chat
from shared.llm.providers import make_chat
from tests.support.house import House
from tests.support.model_server import Act, ModelServer
from tests.support.settings import served_at
from worker.agent.fact_rules import ExtractiveFactAgent
from worker.agent.memory_model import ModelAgent
from worker.pipelines.extract_facts import FactLearner

WINDOW = 4096
SAID = ("The kiln came to Ulm.", "Nice.", "The van broke down near Ghent.", "Lovely.")
"""Nothing of it is a fact by the rules, so that what stands is the model's."""
EXPECTED = ["Got a kiln to Ulm", "The van broke down near Ghent"]


def reading(*facts: str, memory: str = "The kiln came to Ulm; the van broke down near Ghent") -> dict[str, Any]:
    return {"memory": memory, "facts": [{"fact": fact, "sort": "project"} for fact in facts]}


BOTH = reading(*EXPECTED)


@pytest.fixture
def house(sqlite_url: str, provider: str, server: ModelServer) -> Iterator[House]:
    house = House(sqlite_url)
    house.pipeline.facts = FactLearner(house.clock, house.embedder, house.metrics)
    house.install()
    with closing(make_chat(f"{provider}:tiny", served_at(server.url, WINDOW))) as chat:
        house.pipeline.agent = patient(chat)
        yield house
    house.database.dispose()


def patient(chat: Chat, seconds: float = 60.0) -> ModelAgent:
    """An agent that waits long: on a busy machine an answer may take seconds, and that is not what is tried."""
    return ModelAgent(chat, chat.name, WINDOW, seconds)


def attempt(house: House) -> None:
    """Deliver what is due, once; memory and facts of a reading are written together or not at all."""
    house.deliver()
    assert house.memories() or not house.facts()


def until_done(house: House, most: int = 12) -> list[str]:
    """Make attempts until no job is open; return the states they ended in."""
    for _ in range(most):
        if all(job.finished_at is not None for job in house.jobs()):
            break
        attempt(house)
        house.clock.advance(600)
    return [job.state for job in house.jobs(kind=JobKind.CREATE_MEMORY)]


def statements(house: House) -> list[str]:
    return sorted(fact.statement for fact in house.facts())


def test_a_model_that_says_the_same_of_every_conversation_doubles_nothing(house: House, server: ModelServer) -> None:
    for number in range(1, 4):
        server.will(Act(answer=BOTH))
        house.converse("notes", f"c{number}", *SAID)
        until_done(house)
    assert statements(house) == EXPECTED
    assert [fact.mention_count for fact in house.facts()] == [3, 3]


def test_what_a_model_found_in_a_talk_is_not_taken_for_what_a_statement_of_it_changes(
    house: House, server: ModelServer
) -> None:
    house.settings = house.settings.model_copy(update={"facts": True})
    house.fact_agent = ExtractiveFactAgent()  # type: ignore[assignment]
    server.will(Act(answer=reading(memory="Works nights in a bakery")))
    house.converse("notes", "c1", "I work nights in a bakery.", "I see.")
    until_done(house)
    server.will(Act(answer=reading("Calling is fine now, best after five", memory="Calling is fine now")))
    house.converse(
        "notes", "c2", "Calling is fine now, I no longer work nights, I got day shifts. Best after five.", "Ok."
    )
    until_done(house)
    assert "Works nights in a bakery" not in statements(house)
    assert "Calling is fine now, best after five" in statements(house)


def test_facts_stand_where_the_talk_comes_to_no_memory(house: House, server: ModelServer) -> None:
    house.converse("notes", "c1", *SAID)
    server.will(*[Act(answer=reading(EXPECTED[0], memory=""))] * 3)
    house.deliver()
    assert [job.state for job in house.jobs()] == ["nothing"]
    assert (house.memories(), statements(house)) == ([], EXPECTED[:1])
