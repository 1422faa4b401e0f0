"""The HTTP interface over a real database, inside the test process: no network, no Redis, a clock that stands still."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy.orm import Session

from loop.api.app import attach, build_api
from loop.wiring import Loop, wire
from shared.base.audit import Cause
from shared.base.settings import Settings
from shared.base.subjects import Subject
from shared.conversations.queries import get_conversation
from shared.energy.ledger import LedgerAccount, book
from shared.llm.calls import CallOutcome, ModelCall, WorkKind
from shared.memories.writing import InsertedMemory, NewMemory, insert_memory
from tests.support.clock import FrozenClock
from tests.support.settings import default_settings

ADMIN = "the-admin-token-of-this-test"
_IDLE: list[FastAPI] = []
"""Interfaces no test uses at this moment: working out their routes anew takes longer than most tests."""
NO_REDIS = "redis://127.0.0.1:1/0"
"""Nobody listens there, and nothing here needs anybody to."""


@dataclass
class Api:
    """A client with the admin's token, and what stands behind it."""

    client: TestClient
    loop: Loop
    clock: FrozenClock

    def ask(self, method: str, path: str, status: int | None = None, **more: Any) -> Any:
        """Send a request, check its status (by default: a success) and return its JSON."""
        answer = self.send(method, path, **more)
        assert answer.status_code == status if status else answer.is_success, (answer.status_code, answer.text)
        return answer.json()

    def send(self, method: str, path: str, token: str | None = ADMIN, **more: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self.client.request(method, path, headers=headers | more.pop("headers", {}), **more)

    def refused(self, status: int, method: str, path: str, **more: Any) -> dict[str, Any]:
        """Send a request that must be refused in the one shape of errors; return the error."""
        answer = self.send(method, path, **more)
        assert answer.status_code == status, (answer.status_code, answer.text)
        return error_in(answer)

    def install(self, app_id: str = "chat") -> str:
        self.ask("POST", "/apps", json={"appId": app_id, "name": app_id.title()})
        return f"/apps/{app_id}"

    def token(self, app_id: str = "chat") -> str:
        return str(self.ask("POST", f"/apps/{app_id}/tokens")["token"])

    def converse(self, path: str, conversation_id: str, *said: str) -> str:
        """Open and fill a conversation; return its path."""
        self.ask("POST", f"{path}/conversations", json={"conversationId": conversation_id})
        messages = [{"role": "user", "content": one, "messageId": f"m{i}"} for i, one in enumerate(said)]
        if messages:
            self.ask("POST", f"{path}/conversations/{conversation_id}/messages", json={"messages": messages})
        return f"{path}/conversations/{conversation_id}"

    def remember(self, path: str, *contents: str, **more: Any) -> list[int]:
        """Write memories by hand, one a second; return their ids."""
        ids = []
        for content in contents:
            ids.append(self.ask("POST", f"{path}/memories", json={"content": content, **more})["id"])
            self.clock.advance(1)
        return ids

    def remember_conversation(self, app_id: str, conversation_id: str, content: str) -> InsertedMemory:
        """Place a memory as a worker would, drawn from the first message of a conversation."""
        with self.loop.database.write() as session:
            key = conversation_key(session, app_id, conversation_id)
            new = NewMemory(
                content=content,
                agent="extractive",
                epoch=0,
                conversation_key=key,
                conversation_id=conversation_id,
                message_ids=("m0",),
            )
            return insert_memory(session, Subject(app_id), new, Cause("extractive", "it ended", self.clock.now()), 10)

    def spend(self, app_id: str, units: float, conversation_id: str | None = None, *, model: str = "ollama:m") -> None:
        call = ModelCall(WorkKind.CREATE, model, round(units * 10), 0, False, CallOutcome.ANSWERED, 0.1)
        with self.loop.database.write() as session:
            key = conversation_key(session, app_id, conversation_id) if conversation_id else None
            book(
                session,
                call,
                LedgerAccount(app_id, None, key),
                default_settings(price_prompt_token=0.1, price_completion_token=0.1, extractive_fraction=1.0),
                self.clock.now(),
            )

    def contents(self, path: str) -> list[str]:
        """Return the app's memories, newest first."""
        return [memory["content"] for memory in self.ask("GET", f"{path}/memories")["memories"]]


def conversation_key(session: Session, app_id: str, conversation_id: str) -> int:
    return get_conversation(session, app_id, conversation_id).key


def metric_of(api: Api, name: str, **labels: str) -> float:
    [value] = [
        sample.value
        for family in text_string_to_metric_families(api.send("GET", "/metrics").text)
        for sample in family.samples
        if sample.name == name and sample.labels == labels
    ]
    return float(value)


def error_in(answer: httpx2.Response) -> dict[str, Any]:
    """Return the error of an answer, which must have the one shape all errors have."""
    body = answer.json()
    assert set(body) == {"error"}, body
    error: dict[str, Any] = body["error"]
    assert set(error) == {"code", "message", "details"} and error["code"] and error["message"], body
    return error


@contextlib.contextmanager
def open_api(url: str, home: Path, redis_url: str = NO_REDIS, **settings: Any) -> Iterator[Api]:
    """Build the interface over a migrated database until the block ends."""
    chosen = Settings(home=home, database_url=url, redis_url=redis_url, admin_token=ADMIN, _env_file=None, **settings)  # type: ignore[call-arg]
    chosen.metrics_path.mkdir(parents=True, exist_ok=True)
    clock = FrozenClock()
    loop = wire(chosen, clock)
    for reader in (loop.totals, loop.regulator.share):
        # What a test asks for is of that moment, however busy the machine is.
        reader.patience_seconds = 60.0
    app = _IDLE.pop() if _IDLE else build_api(loop)
    attach(app, loop)
    try:
        with TestClient(app) as client:
            yield Api(client, loop, clock)
    finally:
        _IDLE.append(app)
        loop.celery.close()
        loop.redis.close()
        loop.database.dispose()
