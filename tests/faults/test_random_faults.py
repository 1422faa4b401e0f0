"""Faults at random points, round after round: nothing lost, nothing twice, nothing over the cap, no canary left, and
no user's words in what belongs to another.

The thread that breaks something only breaks it: what it started would end with it, so the main thread revives.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import func, select

from shared.conversations.models import Conversation
from shared.facts.models import Fact, FactMention
from shared.jobs.models import Job
from shared.memories.models import Change, Memory, MemorySource, Origin
from tests.faults.fleet import Fleet, launch
from tests.support.services import pool_children

ROUNDS_IN_CI = 6
ROUNDS_IN_THE_LONG_RUN = 200
pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("whole")]
TELLING = 3
"""Conversations of an app, from the first, that tell of something that is a fact."""
TOWNS = (
    "Lisbon",
    "Bergen",
    "Quito",
    "Osaka",
    "Tartu",
    "Galway",
    "Leuven",
    "Pécs",
    "Cusco",
    "Hobart",
    "Aarhus",
    "Izmir",
)


def kill_pool_child(fleet: Fleet, _: random.Random) -> None:
    for child in pool_children(fleet.system.workers[0].pid)[:1]:
        os.kill(child, 9)


def kill_worker(fleet: Fleet, _: random.Random) -> None:
    fleet.system.workers[0].kill()


def kill_loop(fleet: Fleet, _: random.Random) -> None:
    fleet.system.loop.kill()


def lose_redis(fleet: Fleet, _: random.Random) -> None:
    fleet.redis.kill()
    shutil.rmtree(fleet.redis.data_directory, ignore_errors=True)


def kill_redis(fleet: Fleet, _: random.Random) -> None:
    fleet.redis.kill()


def lock_database(fleet: Fleet, chance: random.Random) -> None:
    if not fleet.database.is_sqlite:
        return kill_pool_child(fleet, chance)
    connection = sqlite3.connect(str(fleet.database.engine.url.database), isolation_level=None, timeout=30)
    connection.execute("BEGIN IMMEDIATE")
    threading.Event().wait(chance.uniform(0.05, 0.5))
    connection.execute("ROLLBACK")
    return connection.close()


FAULTS: list[Callable[[Fleet, random.Random], None]] = [
    kill_pool_child, kill_worker, kill_loop, lose_redis, kill_redis, lock_database,
]  # fmt: skip


def play(fleet: Fleet, chance: random.Random, fault: Callable[[Fleet, random.Random], None]) -> None:
    """One round: talk in three apps while something breaks, perhaps forget one of them, or a user of another, then look
    at everything."""
    apps = [fleet.new_app() for _ in range(3)]
    delay = chance.uniform(0.0, 0.6)
    over = threading.Event()
    counts: list[int] = []
    breaking = threading.Timer(delay, fault, (fleet, chance))
    sampling = threading.Thread(target=sample_the_cap, args=(fleet, over, counts))
    breaking.start()
    sampling.start()
    talked = {app_id: talk(fleet, chance, app_id) for app_id in apps}
    forgotten = apps[0] if chance.random() < 0.4 else None
    erased = chance.random() < 0.5
    if forgotten:
        fleet.ask("DELETE", f"/apps/{forgotten}/{'data' if erased else 'memories'}")
    user_forgotten = apps[1] if chance.random() < 0.4 else None
    if user_forgotten:
        fleet.ask("DELETE", f"/apps/{user_forgotten}/users/ann/data")
    breaking.join()
    over.set()
    sampling.join()
    fleet.settle()
    assert max(counts, default=0) <= 10
    for app_id in apps:
        check_apart(fleet, app_id)
        if app_id == forgotten:
            check_forgotten(fleet, app_id, erased)
        elif app_id == user_forgotten:
            check_user_forgotten(fleet, app_id, len(talked[app_id]))
        else:
            check_remembered(fleet, app_id, talked[app_id])


def sample_the_cap(fleet: Fleet, over: threading.Event, counts: list[int]) -> None:
    while not over.wait(0.02):
        counts.append(most_memories(fleet))


def talk(fleet: Fleet, chance: random.Random, app_id: str) -> list[str]:
    count = chance.choice((1, 2, 14))
    return [
        fleet.converse(
            app_id,
            f"I bought house number {n + 3} in {chance.choice(TOWNS)}, {canary(app_id, user_of(n))}.",
            *[f"I am allergic to {canary(app_id, user_of(n))}{TOWNS[n % len(TOWNS)]}."][: n < TELLING],
            user_id=user_of(n),
        )
        for n in range(count)
    ]


def user_of(n: int) -> str:
    """Return who holds the nth conversation of an app: twelve of fourteen are one user's, above the cap."""
    return "bob" if n % 7 == 3 else "ann"


def canary(app_id: str, user: str) -> str:
    return f"canary{app_id}z{user}x"


def most_memories(fleet: Fleet) -> int:
    with fleet.database.read() as session:
        counts = session.scalars(select(func.count()).select_from(Memory).group_by(Memory.app_id, Memory.user_id)).all()
    return max(counts, default=0)


def check_remembered(fleet: Fleet, app_id: str, conversations: list[str]) -> None:
    states = fleet.states(app_id)
    assert set(states) == set(conversations) and set(states.values()) <= {"done", "nothing"}, states
    check_known(fleet, app_id, conversations)
    with fleet.database.read() as session:
        made = session.scalars(select(Origin.conversation_id).where(Origin.app_id == app_id)).all()
        created = session.scalars(
            select(Change.memory_id).where(Change.app_id == app_id, Change.kind == "created")
        ).all()
        mine = (Job.app_id == app_id, Job.state == "done", Job.kind == "create_memory")
        done = session.scalars(select(Job.conversation_id).where(*mine)).all()
    assert sorted(made) == sorted(done), "a memory was lost or made twice"
    assert len(created) == len(set(created)) == len(made)
    assert len(fleet.memories(app_id)) > 0


def check_apart(fleet: Fleet, app_id: str) -> None:
    """What belongs to a user came from that user's conversations, and holds no word of the other's."""
    others = {"ann": canary(app_id, "bob"), "bob": canary(app_id, "ann")}
    with fleet.database.read() as session:
        memories = session.scalars(select(Memory).where(Memory.app_id == app_id)).all()
        facts = session.scalars(select(Fact).where(Fact.app_id == app_id)).all()
        drawn = (
            select(Memory.user_id, Conversation.user_id)
            .join(MemorySource, MemorySource.memory_id == Memory.memory_id)
            .join(Conversation, Conversation.key == MemorySource.conversation_key)
        )
        pairs = session.execute(drawn.where(Memory.app_id == app_id)).all()
    assert all(owner == speaker for owner, speaker in pairs)
    assert [one.content for one in memories if others[one.user_id] in one.content] == []
    assert [one.statement for one in facts if others[one.user_id] in one.statement] == []


def check_user_forgotten(fleet: Fleet, app_id: str, talked: int) -> None:
    gone = canary(app_id, "ann")
    fleet.wait_until_gone(gone)
    with fleet.database.read() as session:
        kept = session.scalars(select(Memory.user_id).where(Memory.app_id == app_id)).all()
    assert kept == ["bob"] * sum(user_of(n) == "bob" for n in range(talked)), "the other user lost something"


def check_known(fleet: Fleet, app_id: str, conversations: list[str]) -> None:
    """The first conversations told of one allergy each: it is known once, from there, and all of it was read."""
    with fleet.database.read() as session:
        rows = session.scalars(select(Conversation).where(Conversation.app_id == app_id)).all()
        mentioned = select(FactMention).where(FactMention.app_id == app_id)
        mentions = session.scalars(mentioned.where(FactMention.statement.contains("llergic"))).all()
    assert [one.conversation_id for one in rows if one.facts_seen != one.message_count > 1] == [], "left unread"
    telling = sorted(conversations[:TELLING])
    assert sorted(str(one.conversation_id) for one in mentions) == telling, "a fact was lost or doubled"


def check_forgotten(fleet: Fleet, app_id: str, erased: bool) -> None:
    assert fleet.memories(app_id) == []
    with fleet.database.read() as session:
        texts = session.execute(select(Change.before, Change.after).where(Change.app_id == app_id)).all()
    assert all(before is None and after is None for before, after in texts)
    if erased:
        fleet.wait_until_gone(f"canary{app_id}z")


def play_rounds(fleet: Fleet, rounds: int, first: int = 0) -> None:
    for number in range(first, first + rounds):
        try:
            # In turn, so that six rounds try each of them.
            play(fleet, random.Random(number), FAULTS[number % len(FAULTS)])
        except AssertionError as error:
            raise AssertionError(f"in round {number}: {error}") from error


@pytest.mark.timeout(500)
def test_six_random_faults_lose_and_double_nothing(fleet: Fleet) -> None:
    play_rounds(fleet, ROUNDS_IN_CI)


@pytest.mark.long
@pytest.mark.timeout(9000)
def test_two_hundred_random_faults_lose_and_double_nothing(fleet: Fleet) -> None:
    play_rounds(fleet, ROUNDS_IN_THE_LONG_RUN, first=1000)


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.timeout(9000)
def test_random_faults_lose_and_double_nothing_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    with launch(tmp_path, postgres_url) as fleet:
        play_rounds(fleet, ROUNDS_IN_THE_LONG_RUN, first=5000)
