"""Facts by chance: they keep their promises whatever happens, and stand as they were said whichever chat came first."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from shared.apps.queries import get_app
from shared.base.choices import Category, FactState
from shared.base.errors import Conflict, NotFound
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, end, start
from shared.conversations.queries import lock_conversation
from shared.erasure.erasing import finish_fact_deletes
from shared.facts import queries
from shared.facts.fold import certainty
from shared.facts.mentions import FoundStatement
from shared.facts.models import PIN_SLOTS, SLOTS, FactChangeKind
from shared.facts.retention import PRUNE_TO, expire
from shared.llm.embedding import to_bytes
from tests.support.house import House
from tests.support.notebook import Notebook

POOL = [
    "User lives in Copenhagen", "User lives in London", "User lives in Oslo", "User likes jazz",
    "The user really enjoys jazz.", "user likes jazz.", "User does not like jazz", "User has a dog",
    "User is building a boat",
]  # fmt: skip
ALIKE = to_bytes(np.array([1.0, 0.0], dtype=np.float32))
GONE = {
    FactChangeKind.DELETED, FactChangeKind.EVICTED, FactChangeKind.EXPIRED, FactChangeKind.ERASED,
    FactChangeKind.REPLACED,
}  # fmt: skip
_apps = itertools.count()

number = st.integers(0, 5)
OPERATIONS = st.one_of(
    st.tuples(st.just("learn"), number, st.integers(0, len(POOL) - 1), number, st.none() | number),
    st.tuples(st.just("learn"), number, st.integers(0, len(POOL) - 1), number, st.none() | number),
    st.tuples(st.just("write"), st.integers(0, len(POOL) - 1), st.booleans(), st.booleans()),
    st.tuples(st.sampled_from(["delete", "undo", "pin", "erase"]), number),
    st.tuples(st.sampled_from(["clear", "undo_clear", "settle"]), st.sampled_from([None, "", "u1"])),
    st.tuples(st.sampled_from(["finish", "expire"])),
    st.tuples(st.just("burst"), st.sampled_from([12, 12, 12, 125])),
    st.tuples(st.just("wait"), st.sampled_from([1.0, 7.0, 61.0, 61 * 86400.0, 200 * 86400.0])),
)


class Machine:
    """Carries operations out on an app of its own; what is refused changes nothing and is no failure."""

    def __init__(self, house: House) -> None:
        app_id = f"app{next(_apps)}"
        house.install(app_id)
        self.book = Notebook(house, app_id)
        self.ever: set[int] = set()
        self.burst_count = itertools.count()
        self.done: Counter[str] = Counter()

    def carry_out(self, operation: tuple[Any, ...]) -> None:
        name, *arguments = operation
        step: Callable[..., None] = getattr(self, name)
        with contextlib.suppress(Conflict, NotFound):
            step(*arguments)
            self.done[name] += 1

    def learn(self, conversation: int, text: int, message: int, updates: int | None) -> None:
        user = "u1" if conversation % 2 else None
        standing = self.book.facts()
        target = standing[updates % len(standing)].fact_id if updates is not None and standing else None
        found = FoundStatement(POOL[text], Category.IDENTITY, (f"m{message}",), target, ALIKE, "m")
        self.book.learn(f"c{conversation}", found, user_id=user)
        assert max(Counter(one.user_id for one in self.book.facts()).values(), default=0) <= PRUNE_TO

    def write(self, text: int, pinned: bool, of_user: bool) -> None:
        self.book.write(POOL[text], pinned, "u1" if of_user else None)

    def burst(self, count: int) -> None:
        """Bring the app to its caps."""
        found = (
            FoundStatement(f"User owns item {next(self.burst_count)}", Category.PREFERENCE, ("b",))
            for _ in range(count)
        )
        self.book.learn("c0", *found)
        assert sum(not one.user_id for one in self.book.facts()) <= PRUNE_TO

    def delete(self, which: int) -> None:
        standing = self.book.facts()
        if standing:
            self.book.delete(standing[which % len(standing)].fact_id)

    def undo(self, which: int) -> None:
        with self.book.house.database.read() as session:
            deleted = queries.facts_in(session, self.book.app_id, (FactState.DELETED,))
        if deleted:
            self.book.undo(deleted[which % len(deleted)].fact_id)

    def pin(self, which: int) -> None:
        standing = self.book.facts()
        if standing:
            self.book.pin(standing[-1 - which % len(standing)].fact_id)

    def erase(self, conversation: int) -> None:
        if f"c{conversation}" in self.book.known():
            receipt = self.book.erase(f"c{conversation}")
            left = {store: count for store, count in receipt.left.items() if store.startswith("fact")}
            assert left == {"facts": 0, "factSources": 0, "factHistory": 0}

    def clear(self, user: str | None) -> None:
        others = {one.fact_id for one in self.book.facts() if user not in (None, one.user_id)}
        self.book.clear(user_id=user)
        assert {one.fact_id for one in self.book.facts()} == others

    def undo_clear(self, user: str | None) -> None:
        self.book.undo_clear(user)

    def settle(self, user: str | None) -> None:
        others = {one.fact_id for one in self.book.facts()}
        self.book.settle(user)
        assert {one.fact_id for one in self.book.facts()} == others, "what stands is no clear's to take"

    def finish(self) -> None:
        with self.book.house.database.write() as session:
            finish_fact_deletes(session, self.book.app_id, self.book.house.clock.now())

    def expire(self) -> None:
        with self.book.locked() as session:
            expire(session, self.book.app_id, self.book.cause())

    def wait(self, seconds: float) -> None:
        self.book.house.clock.advance(seconds)

    def check(self) -> None:
        with self.book.house.database.read() as session:
            facts = {one.fact_id: one for one in queries.facts_in(session, self.book.app_id, tuple(FactState))}
            sources = queries.sources_by_fact(session, list(facts))
            kinds: dict[int, set[str]] = defaultdict(set)
            for change in queries.changes_of_app(session, self.book.app_id, 100_000):
                kinds[change.fact_id].add(change.kind)
        standing = {key: one for key, one in facts.items() if one.state == FactState.STANDING}
        self.ever |= standing.keys()
        assert max(Counter(one.user_id for one in standing.values()).values(), default=0) <= SLOTS
        pinned = Counter(one.user_id for one in standing.values() if one.pin_slot is not None)
        assert max(pinned.values(), default=0) <= PIN_SLOTS
        assert len({one.said_key for one in standing.values()}) == len(standing), "one statement stands twice"
        for key, one in facts.items():
            assert sources.get(key), f"fact {key} ({one.state}) was said nowhere"
            assert one.mention_count == sum(source.mentions for source in sources[key])
            assert one.confidence == pytest.approx(certainty(one.mention_count, one.by_hand)) and one.confidence <= 1
            assert one.said_at == max(source.said_at for source in sources[key])
            assert one.updates_fact_id not in facts or facts[one.updates_fact_id].said_at <= one.said_at
        above = Counter(one.updates_fact_id for one in facts.values() if one.updates_fact_id in facts)
        assert max(above.values(), default=1) == 1, "two facts stand for one"
        assert all(above[key] == 1 for key, one in facts.items() if one.state == FactState.REPLACED)
        assert not any(above[key] for key in standing), "what was replaced stands"
        for key in self.ever - standing.keys():
            assert kinds[key] & GONE, f"nothing tells why fact {key} is gone"


EVERYTHING = [
    ("learn", 1, 0, 0, None), ("learn", 3, 1, 1, 0), ("write", 3, True, False), ("pin", 0), ("delete", 0), ("undo", 0),
    ("erase", 1), ("clear", "u1"), ("undo_clear", "u1"), ("burst", 12), ("clear", None), ("wait", 61.0),
    ("settle", None), ("finish",), ("expire",),
]  # fmt: skip


@pytest.mark.both_databases
def test_facts_keep_their_promises_whatever_happens(house: House, request: pytest.FixtureRequest) -> None:
    total: Counter[str] = Counter()

    @settings(
        max_examples=(14 if house.database.is_sqlite else 3) * (8 if request.config.getoption("--long") else 1),
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(OPERATIONS, min_size=5, max_size=25))
    @example(EVERYTHING)
    def run(operations: list[tuple[Any, ...]]) -> None:
        machine = Machine(house)
        for operation in operations:
            machine.carry_out(operation)
            machine.check()
        total.update(machine.done)

    run()
    if house.database.is_sqlite:
        assert min(total[name] for name in ("learn", "write", "delete", "undo", "pin", "erase", "clear")) > 0, total


SAID = (
    "Lives in Madrid", "Lives in Berlin", "lives in Madrid.", "identity: Lives in Oslo", "Likes jazz",
    "preference: Does not like jazz", "Has a dog",
)  # fmt: skip
_others = itertools.count()


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
        append_messages(session, conversation, said, house.clock.now(), fact_settings=house.settings)
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
        for fact in queries.list_facts(session, app_id, queries.FactFilter(), 10_000, 0):
            places = [
                (one.conversation_id, one.message_ids, one.mentions, one.said_at, one.statement, one.category)
                for one in queries.sources_of(session, fact.fact_id)
            ]
            beneath = [(one.statement, one.said_at) for one in queries.chain_beneath(session, fact)]
            kept = (fact.category, fact.confidence, fact.mention_count, sorted(places), beneath)
            found.append((fact.user_id, fact.statement, fact.said_at, *kept))
    return sorted(found)


def learned_from(
    house: House, chats: Sequence[Chat], random: Random | None = None
) -> tuple[str, list[tuple[object, ...]]]:
    app_id = f"app{next(_others)}"
    house.install(app_id)
    for chat in chats:
        bring_in(house, app_id, chat)
        if random is not None:
            wander(house, app_id, random)
    return app_id, looks(house, app_id)


MADRID = Chat("c-march", None, ((60, "Lives in Madrid"),))
BERLIN = Chat("c-august", None, ((210, "Lives in Berlin"),))


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
    """Deal out what was said, each on a day of its own, to conversations that go on beside or after each other."""
    of: dict[int, list[tuple[int, str]]] = {}
    for day, (conversation, text) in enumerate(said if overlap else sorted(said, key=itemgetter(0))):
        of.setdefault(conversation, []).append((day, SAID[text]))
    return [Chat(f"c{one}", "ann" if one == 3 else None, tuple(lines)) for one, lines in of.items()]


def wander(house: House, app_id: str, random: Random) -> None:
    """Do what leaves nothing: delete a fact and take that back, and bring in a chat and erase it."""
    book = Notebook(house, app_id)
    chat = Chat("c-erased", random.choice([None, "ann"]), ((random.randrange(9), random.choice(SAID)),))
    standing = book.facts()
    going = random.choice(standing).fact_id if standing else None
    if going is not None:
        book.delete(going, seconds=3600)
    bring_in(house, app_id, chat)
    if random.random() < 0.5 and going is not None:
        # While the chat is there the same may stand again; after it, it is brought back.
        with contextlib.suppress(Conflict):
            book.undo(going)
            going = None
    house.erase(chat.name, app_id)
    if going is not None:
        book.undo(going)


def test_the_same_chats_leave_the_same_facts_whichever_comes_first_and_whatever_was_taken_back_in_between(
    house: House, request: pytest.FixtureRequest
) -> None:
    statement = st.tuples(st.integers(0, 4), st.integers(0, len(SAID) - 1))

    @settings(
        max_examples=(7 if house.database.is_sqlite else 3) * (8 if request.config.getoption("--long") else 1),
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
        other, here = learned_from(house, shuffled, random)
        assert here == there, f"{shuffled}"
        erased = chats[gone % len(chats)]
        for app_id in (one, other):
            house.erase(erased.name, app_id)
        _, never = learned_from(house, [chat for chat in chats if chat is not erased])
        assert looks(house, one) == looks(house, other) == never, f"{erased} of {shuffled}"

    run()
