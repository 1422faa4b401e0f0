"""A whole Afterthought of real processes that fault tests break and watch recover."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import select

from shared.contracts.jobs import JobKind
from shared.db.engine import Database
from shared.jobs.models import OPEN, Job
from shared.jobs.queries import JobFilter, list_jobs
from shared.memories.queries import list_memories
from tests.support.canaries import places_of
from tests.support.faultpoints import VARIABLE, Faultpoints
from tests.support.services import EmbeddedRedis, System, start_redis, start_system
from tests.support.waiting import wait_until

QUICK = {
    "AFTERTHOUGHT_MODEL_TIMEOUT_SECONDS": "2",
    "AFTERTHOUGHT_TASK_SOFT_LIMIT_SECONDS": "20",
    "AFTERTHOUGHT_LEASE_SECONDS": "26",
    "AFTERTHOUGHT_HEARTBEAT_SECONDS": "1",
    "AFTERTHOUGHT_QUEUED_SECONDS": "3",
    "AFTERTHOUGHT_RETRY_BASE_SECONDS": "0.2",
    "AFTERTHOUGHT_RETRY_MAX_SECONDS": "1",
    "AFTERTHOUGHT_JOB_MAX_ATTEMPTS": "50",
    "AFTERTHOUGHT_TICK_SECONDS": "0.2",
    "AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "1000",
    "AFTERTHOUGHT_WORKER_SILENCE_SECONDS": "4",
    "AFTERTHOUGHT_LOG_FORMAT": "json",
    "AFTERTHOUGHT_EMBED_BATCH": "2",
    "AFTERTHOUGHT_WEBHOOK_INTERNAL_HOSTS": "127.0.0.1",
}


@dataclass
class Fleet:
    """The processes, and what the test asked of them."""

    system: System
    redis: EmbeddedRedis
    database: Database
    points: Faultpoints
    folder: Path
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def ask(self, method: str, path: str, **more: Any) -> Any:
        """Send one request as the admin; a loop that is just coming back is asked again."""

        def answer() -> httpx.Response | None:
            with contextlib.suppress(httpx.TransportError), self.system.client() as client:
                got = client.request(method, path, **more)
                return got if got.status_code < 500 else None
            self.revive_processes()
            return None

        got = wait_until(answer, 60, f"an answer to {method} {path}")
        assert got.status_code < 400 or got.status_code == 409, got.text
        return got.json()

    def new_app(self) -> str:
        app_id = f"app{next(self.numbers)}"
        self.ask("POST", "/apps", json={"appId": app_id, "name": app_id})
        return app_id

    def converse(self, app_id: str, *said: str, user_id: str | None = None) -> str:
        """Open, fill and end a conversation, in a way that may be repeated after a lost answer."""
        conversation_id = f"c{next(self.numbers)}"
        base = f"/apps/{app_id}/conversations"
        whose = {"userId": user_id} if user_id else {}
        self.ask("POST", base, json={"conversationId": conversation_id, **whose})
        messages = [
            {"role": "user", "content": text, "messageId": f"{conversation_id}-{i}"} for i, text in enumerate(said)
        ]
        self.ask("POST", f"{base}/{conversation_id}/messages", json={"messages": messages})
        self.ask("POST", f"{base}/{conversation_id}/end", json={})
        return conversation_id

    def open_jobs(self, app_id: str | None = None) -> list[str]:
        with self.database.read() as session:
            # One query: asked state by state, a job that moves on between two questions is in neither.
            jobs = session.scalars(select(Job).where(Job.state.in_(OPEN), *JobFilter(app_id=app_id).conditions())).all()
        return [f"{j.job_id} {j.state} {j.attempts} {j.reason}" for j in jobs]

    def settle(self, app_id: str | None = None, timeout: float = 90) -> None:
        def settled() -> bool:
            self.revive()
            return not self.open_jobs(app_id)

        try:
            wait_until(settled, timeout, "every job to finish")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.open_jobs(app_id)}\n{self.system.workers[0].log[-3000:]}") from None

    def revive(self) -> None:
        """Start again what ended, as the supervisor would."""
        if not self.redis.alive:
            self.redis.start()
        self.revive_processes()

    def revive_processes(self) -> None:
        """Start the loop and the worker again; from the main thread only, since they end with the starting thread."""
        for process in self.system.processes:
            if not process.alive:
                process.start()

    def make_whole(self) -> None:
        """Wait until everything serves; a process may still be dying from what the test did to it."""

        def serves() -> bool:
            self.revive()
            return self.system.is_ready()

        wait_until(serves, 60, "everything to serve again")
        # What was sent a signal may not have died of it yet, and was taken for alive.
        time.sleep(0.2)
        wait_until(serves, 60, "everything to serve again")

    def lose_redis(self) -> None:
        self.redis.kill()
        shutil.rmtree(self.redis.data_directory, ignore_errors=True)
        self.redis.start()

    def states(self, app_id: str) -> dict[str, str]:
        wanted = JobFilter(app_id=app_id, kind=JobKind.CREATE_MEMORY)
        with self.database.read() as session:
            return {str(j.conversation_id): j.state for j in list_jobs(session, wanted, 200)}

    def memories(self, app_id: str) -> list[str]:
        with self.database.read() as session:
            return [memory.content for memory in list_memories(session, app_id, None, 1000)]

    def wait_until_gone(self, canary: str) -> None:
        found: list[str] = []

        def is_gone() -> bool:
            found[:] = self.places_of(canary)
            return not found

        try:
            wait_until(is_gone, 60, f"no trace of {canary}")
        except AssertionError as error:
            raise AssertionError(f"{error}: {found}") from None

    def places_of(self, canary: str) -> list[str]:
        with self.redis.client() as client:
            return places_of(canary, self.database, client, self.folder)


@contextlib.contextmanager
def launch(folder: Path, database_url: str) -> Iterator[Fleet]:
    redis = start_redis(folder / "redis")
    points = Faultpoints(folder / "points")
    env = {**QUICK, VARIABLE: str(points.directory)}
    try:
        with start_system(folder, database_url, redis.url, env=env, loop=False) as system:
            system.loop.argv = (sys.executable, "-m", "tests.support.faulty_loop")
            system.workers[0].argv = (sys.executable, "-m", "tests.support.faulty_worker")
            for process in system.processes:
                process.start()
            system.wait_ready()
            database = Database(database_url)
            yield Fleet(system, redis, database, points, folder)
            database.dispose()
    finally:
        redis.stop()
