"""Whatever happens to facts, in whatever order: the caps hold, nothing stands twice, and what is gone is told."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.base.choices import FactState
from shared.base.errors import Conflict, NotFound
from shared.erasure.erasing import finish_fact_deletes
from shared.facts import queries
from shared.facts.categories import Category
from shared.facts.changes import certainty
from shared.facts.models import PIN_SLOTS, SLOTS, FactChangeKind
from shared.facts.retention import PRUNE_TO, expire
from shared.facts.writing import FoundStatement
from shared.llm.embedding import to_bytes
from tests.support.house import House
from tests.support.notebook import Notebook

POOL = [
    "User lives in Copenhagen",
    "User lives in London",
    "User lives in Oslo",
    "User likes jazz",
    "The user really enjoys jazz.",
    "user likes jazz.",
    "User does not like jazz",
    "User has a dog",
    "User is building a boat",
]
ALIKE = to_bytes(np.array([1.0, 0.0], dtype=np.float32))
GONE = {
    FactChangeKind.DELETED,
    FactChangeKind.EVICTED,
    FactChangeKind.EXPIRED,
    FactChangeKind.ERASED,
    FactChangeKind.REPLACED,
}
_EXAMPLES = {"sqlite": 14, "postgres": 3}
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


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_facts_keep_their_promises_whatever_happens(kind: str, request: pytest.FixtureRequest) -> None:
    house = House(str(request.getfixturevalue(f"{kind}_url")))
    total: Counter[str] = Counter()

    @settings(
        max_examples=_EXAMPLES[kind] * (8 if request.config.getoption("--long") else 1),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(OPERATIONS, min_size=5, max_size=25))
    def run(operations: list[tuple[Any, ...]]) -> None:
        machine = Machine(house)
        for operation in operations:
            machine.carry_out(operation)
            machine.check()
        total.update(machine.done)

    try:
        run()
    finally:
        house.database.dispose()
    if kind == "sqlite":
        assert min(total[name] for name in ("learn", "write", "delete", "undo", "pin", "erase", "clear")) > 0, total
