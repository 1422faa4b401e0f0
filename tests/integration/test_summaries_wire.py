"""Summaries by a model that misbehaves, over the wire: nothing unusable is stored, nothing unread counts as covered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing

import pytest

from shared.apps.queries import lock_app
from shared.contracts.jobs import JobKind, JobMessage
from shared.conversations import summarising
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, say, start
from shared.conversations.queries import get_conversation, lock_conversation
from shared.jobs.dispatch import take_due
from shared.llm.providers import make_chat
from shared.summaries.queries import of_conversation
from tests.support.house import House
from tests.support.model_server import Act, ModelServer
from tests.support.providers import over_each
from tests.support.settings import served_at
from worker.agent.summary_model import ModelSummaryAgent

WINDOW = 4096
SAID = ("We take SQLite.", "Good.", "Backups are open.", "I'll look into it.")
GOOD = {"points": ["They take SQLite", "Backups are open"]}
CONTENT = "- They take SQLite\n- Backups are open"


@pytest.fixture
def house(sqlite_url: str, provider: str, server: ModelServer) -> Iterator[House]:
    house = House(sqlite_url)
    house.install()
    with closing(make_chat(f"{provider}:tiny", served_at(server.url, WINDOW))) as chat:
        house.summary_agent = ModelSummaryAgent(chat, chat.name, WINDOW, 60.0)  # type: ignore[assignment]
        yield house
    house.database.dispose()


def ask(house: House) -> None:
    """Say something and ask for its summary."""
    now = house.clock.now()
    with house.database.write() as session:
        epoch = lock_app(session, "notes").purge_epoch
        start(session, "notes", NewConversation("c1"), now)
        conversation = lock_conversation(session, "notes", "c1")
        roles = (Role.USER, Role.ASSISTANT)
        say(session, conversation, [NewMessage(roles[i % 2], text) for i, text in enumerate(SAID)], now)
        summarising.ask(session, conversation, epoch, now)


def look(house: House) -> tuple[list[str], int]:
    """Return the summaries, and how many messages count as covered."""
    with house.database.read() as session:
        conversation = get_conversation(session, "notes", "c1")
        return [one.content for one in of_conversation(session, conversation.key)], conversation.summarised


def until_done(house: House) -> str:
    """Make attempts until the job has ended, and look at what is kept after each."""
    for _ in range(8):
        with house.database.write() as session:
            sent = take_due(session, house.clock.now(), 10, 60)
        for one in sent:
            house.attempt(JobMessage(job_id=one.job_id, fence=one.fence))
        kept, covered = look(house)
        assert bool(kept) == bool(covered)
        house.clock.advance(600)
    [job] = house.jobs(kind=JobKind.SUMMARISE)
    return job.state


UNUSABLE = {
    "prose": Act(answer="They talk about databases."),
    "an apology": Act(answer="I'm sorry, but I cannot help with that."),
    "an apology as a point": Act(answer={"points": ["I'm sorry, I cannot summarise that."]}),
    "nothing": Act(answer=""),
    "a refusal": Act(answer="", refused=True),
    "a truncated list": Act(answer=json.dumps(GOOD)[:-12]),
    "two candidates": Act(answer=f"{json.dumps(GOOD)} or rather {json.dumps({'points': ['They take Mongo']})}"),
    "an answer cut off by its length": Act(answer=GOOD, done_reason="length"),
    "a prompt that was cut": Act(answer=GOOD, seen_tokens=20),
    "a broken connection": Act(answer=GOOD, close_after=1),
    "an error in the stream": Act(answer=GOOD, error_after=1),
    "not JSON on the wire": Act(answer=GOOD, garbage=True),
    "a server error": Act(status=500),
    "too many requests": Act(status=429),
}


@over_each
@pytest.mark.parametrize("act", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_model_that_is_unusable_for_a_while_costs_only_time(house: House, server: ModelServer, act: Act) -> None:
    ask(house)
    server.will(*[act] * 2, *[Act(answer=GOOD)] * 4)
    assert until_done(house) == "done"
    assert look(house) == ([CONTENT], 4)


@over_each
def test_a_model_that_is_down_for_good_ends_as_a_dead_letter_and_harms_nothing(
    house: House, server: ModelServer
) -> None:
    ask(house)
    server.will(*[Act(status=503)] * 40)
    assert until_done(house) == "dead"
    assert look(house) == ([], 0)
    with house.database.write() as session:
        conversation = lock_conversation(session, "notes", "c1")
        say(session, conversation, [NewMessage(Role.USER, "We go on.")], house.clock.now())


def test_the_test_servers_own_answer_is_a_summary(house: House, server: ModelServer) -> None:
    ask(house)
    assert until_done(house) == "done"
    assert look(house) == (["- We take SQLite."], 4) and len(server.chats) == 1


def test_an_empty_list_is_an_answer_and_counts_as_covered(house: House, server: ModelServer) -> None:
    ask(house)
    server.will(Act(answer={"points": []}))
    with house.database.write() as session:
        [one] = take_due(session, house.clock.now(), 10, 60)
    house.attempt(JobMessage(job_id=one.job_id, fence=one.fence))
    [job] = house.jobs(kind=JobKind.SUMMARISE)
    assert (job.state, look(house), len(server.chats)) == ("nothing", ([], 4), 1)
