"""Facts about one thing stand in the order in which they were said, whichever chat was brought in first."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.apps.queries import get_app
from shared.base.choices import FactState
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, end, say, start
from shared.conversations.queries import lock_conversation
from shared.erasure.erasing import erase_conversation
from shared.facts import queries
from shared.text.likeness import normal
from tests.support.house import House

POOL = (
    "Lives in Madrid",
    "Lives in Berlin",
    "lives in Madrid.",
    "identity: Lives in Oslo",
    "Likes jazz",
    "preference: Does not like jazz",
    "Has a dog",
)
_EXAMPLES = {"sqlite": 7, "postgres": 3}
_apps = itertools.count()


@dataclass(frozen=True)
class Chat:
    """A conversation of a user, with what they said and on which day."""

    name: str
    user: str | None
    said: tuple[tuple[int, str], ...]

    def __repr__(self) -> str:
        return f"{self.name}/{self.user}: {self.said}"


def bring_in(house: House, app_id: str, chat: Chat) -> None:
    """Bring in a dated chat and have its facts extracted."""
    house.settings = house.settings.model_copy(update={"facts": True})
    house.clock.advance(60)
    with house.database.write() as session:
        start(session, app_id, NewConversation(chat.name, chat.user), house.clock.now())
        conversation = lock_conversation(session, app_id, chat.name)
        said = [
            NewMessage(Role.USER, text, f"m{place}", created_at=BEGUN + timedelta(days=day))
            for place, (day, text) in enumerate(chat.said)
        ]
        say(session, conversation, said, house.clock.now(), fact_settings=house.settings)
        end(
            session,
            conversation,
            get_app(session, app_id).purge_epoch,
            None,
            house.clock.now(),
            fact_settings=house.settings,
        )
    house.work_off()


BEGUN = datetime.fromisoformat("2025-01-01T12:00:00+00:00")


def looks(house: House, app_id: str) -> list[tuple[object, ...]]:
    """What stands, with where and when it was said, and what lies beneath it."""
    with house.database.read() as session:
        found: list[tuple[object, ...]] = []
        for fact in queries.standing_in_app(session, app_id):
            places = [
                (one.conversation_id, one.message_ids, one.mentions, one.said_at, one.statement, one.category)
                for one in queries.sources_of(session, fact.fact_id)
            ]
            beneath = [(one.statement, one.said_at) for one in queries.chain_beneath(session, fact)]
            kept = (fact.category, fact.confidence, fact.mention_count, sorted(places), beneath)
            found.append((fact.user_id, fact.statement, fact.said_at, *kept))
    return sorted(found)


def learned_from(house: House, chats: Sequence[Chat]) -> tuple[str, list[tuple[object, ...]]]:
    app_id = f"app{next(_apps)}"
    house.install(app_id)
    for chat in chats:
        bring_in(house, app_id, chat)
    return app_id, looks(house, app_id)


MADRID = Chat("c-march", None, ((60, "Lives in Madrid"),))
BERLIN = Chat("c-august", None, ((210, "Lives in Berlin"),))


@pytest.mark.parametrize("order", list(itertools.permutations((MADRID, BERLIN))), ids=["in order", "the other way"])
def test_what_was_said_last_stands_and_what_was_said_before_lies_beneath(house: House, order: Sequence[Chat]) -> None:
    app_id, _ = learned_from(house, order)
    with house.database.read() as session:
        (fact,) = queries.standing_in_app(session, app_id)
        (beneath,) = queries.facts_in(session, app_id, (FactState.REPLACED,))
    assert (fact.statement, fact.said_at) == ("Lives in Berlin", BEGUN + timedelta(days=210))
    assert (beneath.statement, beneath.said_at) == ("Lives in Madrid", BEGUN + timedelta(days=60))
    assert fact.last_seen > house.clock.now() - timedelta(days=1), "an old chat is heard on the day it is brought in"


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_who_came_back_to_a_town_is_as_sure_of_it_as_after_a_move(house: House, order: Sequence[int]) -> None:
    """Madrid, Berlin and Madrid again is not Madrid said twice."""
    chats = (MADRID, BERLIN, Chat("c-october", None, ((270, "Lives in Madrid"),)))
    _, [fact] = learned_from(house, [chats[place] for place in order])
    assert (fact[1], fact[4]) == ("Lives in Madrid", 0.75)
    assert [statement for statement, _ in fact[7]] == ["Lives in Berlin", "Lives in Madrid"]  # type: ignore[attr-defined]


def test_a_clock_that_is_ahead_says_nothing_later_than_now(house: House) -> None:
    ahead = (house.clock.now() - BEGUN).days + 400
    learned_from(house, [Chat("c1", None, ((ahead, "Lives in Madrid"),))])
    app_id, _ = learned_from(house, [Chat("c1", None, ((ahead, "Lives in Madrid"),))])
    house.clock.advance(timedelta(days=2).total_seconds())
    bring_in(house, app_id, Chat("c2", None, (((house.clock.now() - BEGUN).days, "Lives in Berlin"),)))
    assert [fact[1] for fact in looks(house, app_id)] == ["Lives in Berlin"]


def dealt(said: Sequence[tuple[int, int]], overlap: bool) -> list[Chat]:
    """Deal out what was said, each on a day of its own, to conversations that go on beside or after each other.

    Where they go on beside each other all say it in the same words: of several words for one thing in one conversation
    the first are kept, and those cannot be told apart again by what another said in between.
    """
    of: dict[int, list[tuple[int, str]]] = {}
    for day, (conversation, text) in enumerate(said if overlap else sorted(said, key=itemgetter(0))):
        words = POOL[0] if overlap and normal(POOL[text]) == normal(POOL[0]) else POOL[text]
        of.setdefault(conversation, []).append((day, words))
    return [Chat(f"c{one}", "ann" if one == 3 else None, tuple(lines)) for one, lines in of.items()]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_same_chats_leave_the_same_facts_whichever_comes_first(kind: str, request: pytest.FixtureRequest) -> None:
    house = House(str(request.getfixturevalue(f"{kind}_url")))
    statement = st.tuples(st.integers(0, 4), st.integers(0, len(POOL) - 1))

    @settings(
        max_examples=_EXAMPLES[kind] * (8 if request.config.getoption("--long") else 1),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(statement, min_size=2, max_size=9), st.booleans(), st.randoms(use_true_random=False), st.integers())
    def run(said: list[tuple[int, int]], overlap: bool, random: Random, gone: int) -> None:
        chats = dealt(said, overlap)
        shuffled = list(chats)
        random.shuffle(shuffled)
        one, there = learned_from(house, chats)
        other, here = learned_from(house, shuffled)
        assert here == there, f"{shuffled}"
        erased = chats[gone % len(chats)]
        for app_id in (one, other):
            with house.database.write() as session:
                erase_conversation(session, app_id, erased.name, "admin", house.clock.now())
        _, never = learned_from(house, [chat for chat in chats if chat is not erased])
        assert looks(house, one) == looks(house, other) == never, f"{erased} of {shuffled}"

    try:
        run()
    finally:
        house.database.dispose()
