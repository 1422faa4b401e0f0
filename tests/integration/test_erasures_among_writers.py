"""Receipts are true while others write: what was there is gone, and what came afterwards is not counted as left."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import select

from shared.db.base import Base
from tests.support.api import Api, open_api

WRITERS, ERASURES, USERS = 6, 18, 6
OF_CONVERSATION, OF_USER = "spoken", "written"


@dataclass(frozen=True)
class Held:
    """A conversation that was held from its beginning to its end, and what else was written of its user."""

    at: int
    path: str
    user: str
    name: str


@dataclass
class Traffic:
    """Writers who hold conversations under keys, a word of its own in each, until whoever erases has done so."""

    api: Api
    paths: list[str]
    held: list[Held] = field(default_factory=list)
    receipts: list[dict[str, Any]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    over: threading.Event = field(default_factory=threading.Event)
    ticks: itertools.count[int] = field(default_factory=itertools.count)

    def write(self, writer: int) -> None:
        """Hold one conversation after the other."""
        chance = Random(writer)
        for number in itertools.count():
            if self.over.is_set():
                return
            path, user, name = chance.choice(self.paths), f"u{chance.randrange(USERS)}", f"{writer}x{number}q"
            spoken, written = OF_CONVERSATION + name, OF_USER + name
            opened = {"conversationId": name, "userId": user, "metadata": {"about": spoken}}
            said = [{"role": "user", "content": f"I sail the {spoken}."}, {"role": "assistant", "content": "Noted."}]
            self._send(f"{path}/conversations", opened)
            for _ in range(3):
                self._send(f"{path}/conversations/{name}/messages", {"messages": said})
            self._send(f"{path}/context", {"userId": user, "message": f"Where is the {spoken}?"})
            self._send(f"{path}/memories", {"userId": user, "content": f"Sails the {written}."})
            self._send(f"{path}/facts", {"userId": user, "fact": f"Sails the {written}"})
            self._send(f"{path}/conversations/{name}/end", {"reason": f"back from the {spoken}"})
            self.held.append(Held(next(self.ticks), path, user, name))

    def _send(self, path: str, body: dict[str, Any]) -> None:
        # What is erased meanwhile is not found; nothing else may go wrong.
        answer = self.api.send("POST", path, json=body, headers={"Idempotency-Key": f"k{next(self.ticks)}"})
        assert answer.is_success or answer.status_code == 404, (path, answer.text)

    def erase(self) -> None:
        """Erase users, conversations and whole apps by turns."""
        chance = Random(0)
        try:
            for number in range(ERASURES):
                path, user = chance.choice(self.paths), f"u{chance.randrange(USERS)}"
                begun = next(self.ticks)
                mine = [one for one in list(self.held) if one.at < begun and one.path == path]
                if number % 3 == 0:
                    mine = [one for one in mine if one.user == user]
                    self._erase(f"{path}/users/{user}/data")
                elif number % 3 == 1:
                    mine = mine[-1:]
                    self._erase(*(f"{path}/conversations/{one.name}" for one in mine))
                else:
                    self._erase(f"{path}/data")
                words = (OF_CONVERSATION,) if number % 3 == 1 else (OF_CONVERSATION, OF_USER)
                self.gone |= {f"{word}{one.name}" for one in mine for word in words}
        finally:
            self.over.set()

    def _erase(self, *paths: str) -> None:
        for path in paths:
            answer = self.api.send("DELETE", path)
            assert answer.is_success or answer.status_code == 404, (path, answer.text)
            if answer.is_success:
                self.receipts.append(answer.json()["receipt"])


@pytest.mark.postgres
def test_receipts_are_true_while_others_write(postgres_url: str, tmp_path: Path) -> None:
    with open_api(postgres_url, tmp_path / "home") as api:
        traffic = Traffic(api, [api.install("busy"), api.install("other")])
        with ThreadPoolExecutor(WRITERS + 1) as pool:
            running = [pool.submit(traffic.erase), *(pool.submit(traffic.write, one) for one in range(WRITERS))]
            for one in running:
                one.result()
        left = [(one["scope"], {store: n for store, n in one["left"].items() if n}) for one in traffic.receipts]
        assert [one for one in left if one[1]] == []
        assert len(traffic.receipts) > ERASURES / 2 and len(traffic.gone) > ERASURES
        with api.loop.database.read() as session:
            tables = Base.metadata.sorted_tables
            holding = {table.name: str([tuple(row) for row in session.execute(select(table))]) for table in tables}
        assert [(name, word) for name, rows in holding.items() for word in traffic.gone if word in rows] == []
