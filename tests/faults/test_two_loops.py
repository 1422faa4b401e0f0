"""Two real loops on one database: one regulates, the other takes over when the first stops, dies or freezes."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select, text

from loop.embedded_redis import EmbeddedRedis
from shared.base.errors import Transient
from shared.db.engine import Database
from shared.energy import ledger
from shared.energy.models import EnergyLevel, Spending
from shared.jobs.models import OPEN, Job
from tests.support.services import System, start_system
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
LONG_LOCK = 600.0


@dataclass
class Pair:
    """Two loops, the first of which regulates at the beginning, and one worker."""

    first: System
    second: System
    database: Database

    def converse(self, system: System, app_id: str, *conversation_ids: str) -> None:
        with system.client() as client:
            client.post("/apps", json={"appId": app_id, "name": app_id})
            for one in conversation_ids:
                path = f"/apps/{app_id}/conversations"
                client.post(path, json={"conversationId": one}).raise_for_status()
                said = {"messages": [{"role": "user", "content": f"I adopted a greyhound named Pixel{one}."}]}
                client.post(f"{path}/{one}/messages", json=said).raise_for_status()
                client.post(f"{path}/{one}/end", json={}).raise_for_status()

    def wait_until_worked_off(self) -> None:
        wait_until(lambda: not self._unfinished(), 60, "every job to finish and every row to be settled")

    def _unfinished(self) -> bool:
        with self.database.read() as session:
            # One query: asked state by state, a job that moves on between two questions is in neither.
            waiting = session.scalar(select(func.count()).select_from(Job).where(Job.state.in_(OPEN)))
            return bool(waiting) or ledger.unsettled(session) > 0

    def is_settled_exactly(self) -> bool:
        """Whether every row that was settled was drawn from the level once and no more."""
        settled = select(func.coalesce(func.sum(Spending.micro), 0)).where(Spending.settled).scalar_subquery()
        with self.database.read() as session:
            # One query: the loops go on, and what was asked for late is settled between two questions.
            rows, drawn = session.execute(select(settled, EnergyLevel.drawn_micro)).one()
            return bool(0 < rows == drawn)

    def freeze(self, system: System) -> None:
        """Stop a loop where it stands, outside a transaction: a frozen writer would stop SQLite as a whole."""
        for _ in range(200):
            os.kill(system.loop.pid, signal.SIGSTOP)
            with contextlib.suppress(Transient), self.database.write() as session:
                session.execute(text("SELECT 1"))
                return
            os.kill(system.loop.pid, signal.SIGCONT)
        pytest.fail("the loop is never outside a transaction")


def regulates(system: System) -> bool:
    return regulator_of(system) == "This loop regulates."


def regulator_of(system: System) -> str:
    with system.client() as client, contextlib.suppress(httpx.TransportError):
        return str(client.get("/health/ready").json()["dependencies"]["regulator"]["detail"])
    return ""


@contextlib.contextmanager
def two_loops(folder: Path, database_url: str, redis_url: str, lock_seconds: float) -> Iterator[Pair]:
    env = {
        "AFTERTHOUGHT_LOCK_SECONDS": str(lock_seconds),
        "AFTERTHOUGHT_TICK_SECONDS": "0.2",
        "AFTERTHOUGHT_QUEUED_SECONDS": "3",
        "AFTERTHOUGHT_LOG_FORMAT": "json",
    }
    with contextlib.ExitStack() as stack:
        (folder / "one").mkdir()
        (folder / "two").mkdir()
        first = stack.enter_context(start_system(folder / "one", database_url, redis_url, env=env))
        wait_until(lambda: regulates(first), 30, "the first loop to regulate")
        second = stack.enter_context(start_system(folder / "two", database_url, redis_url, 0, env))
        wait_until(lambda: "is on standby" in regulator_of(second), 30, "the second loop to are on standby")
        database = Database(database_url)
        stack.callback(database.dispose)
        yield Pair(first, second, database)


def took_over(system: System, why: str) -> bool:
    return any('"leadership_taken"' in line and f'"{why}"' in line for line in system.loop.log.splitlines())


@pytest.mark.postgres
def test_a_killed_loop_is_followed_and_its_work_goes_on(
    tmp_path: Path, postgres_url: str, own_redis: EmbeddedRedis
) -> None:
    with two_loops(tmp_path, postgres_url, own_redis.url, LONG_LOCK) as pair:
        pair.converse(pair.first, "notes", "a", "b", "c")
        pair.first.loop.kill()
        wait_until(lambda: regulates(pair.second), 60, "the second loop to take over")
        assert took_over(pair.second, "died")
        pair.converse(pair.second, "notes", "d")
        pair.wait_until_worked_off()
        assert pair.is_settled_exactly()


@pytest.mark.parametrize(
    "database_url",
    [pytest.param("sqlite", marks=pytest.mark.long), pytest.param("postgres", marks=pytest.mark.postgres)],
    indirect=True,
)
def test_a_frozen_loop_is_followed_after_the_lock_and_stands_by_when_it_thaws(
    tmp_path: Path, database_url: str, own_redis: EmbeddedRedis
) -> None:
    with two_loops(tmp_path, database_url, own_redis.url, 1.0) as pair:
        pair.converse(pair.first, "notes", "a", "b", "c")
        pair.freeze(pair.first)
        wait_until(lambda: regulates(pair.second), 60, "the second loop to take over")
        assert took_over(pair.second, "silent")
        pair.converse(pair.second, "notes", "d", "e")
        pair.wait_until_worked_off()
        os.kill(pair.first.loop.pid, signal.SIGCONT)
        wait_until(lambda: "is on standby" in regulator_of(pair.first), 30, "the first loop to are on standby")
        assert '"leadership_lost"' in pair.first.loop.log
        pair.converse(pair.first, "notes", "f")
        pair.wait_until_worked_off()
        assert regulates(pair.second) and pair.is_settled_exactly()


def test_a_loop_that_is_stopped_hands_over_at_once(tmp_path: Path, sqlite_url: str, own_redis: EmbeddedRedis) -> None:
    with two_loops(tmp_path, sqlite_url, own_redis.url, LONG_LOCK) as pair:
        pair.converse(pair.first, "notes", "a")
        assert pair.first.loop.stop() == 0
        wait_until(lambda: regulates(pair.second), 60, "the second loop to take over")
        assert took_over(pair.second, "vacant"), "it gave leadership back, so nobody had to find that it was gone"
        pair.wait_until_worked_off()
        assert pair.is_settled_exactly()
