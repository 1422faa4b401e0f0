"""Receipts are true while others write: what was there is gone, and what came afterwards is not counted as left."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import select

from shared.apps.models import IdempotencyKey
from shared.apps.queries import lock_app
from shared.conversations.lifecycle import NewConversation, start
from shared.erasure.erasing import erase_app
from shared.events.models import Event
from shared.jobs.queries import lock_job
from tests.support.api import Api, open_api
from tests.support.canaries import tables_holding
from tests.support.meeting import wait_for_waiting

pytestmark = pytest.mark.postgres

WRITERS, ERASURES, USERS = 6, 18, 6
OF_CONVERSATION, OF_USER = "spoken", "written"
KEY = {"Idempotency-Key": "k1"}


class Rejected(Exception):
    """Takes back what a test's own transaction has written."""


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


@pytest.fixture
def api(postgres_url: str, tmp_path: Path) -> Iterator[Api]:
    with open_api(postgres_url, tmp_path / "home") as opened:
        yield opened


def what_is_left(receipt: dict[str, Any]) -> dict[str, int]:
    return {store: count for store, count in receipt["left"].items() if count}


def test_receipts_are_true_while_others_write(api: Api) -> None:
    traffic = Traffic(api, [api.install("busy"), api.install("other")])
    with ThreadPoolExecutor(WRITERS + 1) as pool:
        running = [pool.submit(traffic.erase), *(pool.submit(traffic.write, one) for one in range(WRITERS))]
        for one in running:
            one.result()
    assert [(one["scope"], what_is_left(one)) for one in traffic.receipts if what_is_left(one)] == []
    assert len(traffic.receipts) > ERASURES / 2 and len(traffic.gone) > ERASURES
    assert tables_holding(api.loop.database, *traffic.gone) == []


@pytest.mark.parametrize("erased", ["data", "users/ann/data"])
def test_a_conversation_that_is_being_opened_goes_too(api: Api, erased: str) -> None:
    path, database = api.install(), api.loop.database
    opened = {"conversationId": "c1", "userId": "ann", "metadata": {"about": OF_CONVERSATION}}
    with ThreadPoolExecutor(2) as pool, suppress(Rejected), database.write() as session:
        # Who opens another of that name waits until it is known what becomes of this one.
        start(session, "chat", NewConversation("c1"), api.clock.now())
        opening = pool.submit(api.ask, "POST", f"{path}/conversations", 201, json=opened, headers=KEY)
        wait_for_waiting(database, opening)
        erasing = pool.submit(api.ask, "DELETE", f"{path}/{erased}")
        wait_for_waiting(database, opening, erasing)
        raise Rejected
    assert opening.result()["conversationId"] == "c1"
    assert what_is_left(erasing.result()["receipt"]) == {}
    assert tables_holding(api.loop.database, OF_CONVERSATION) == []


def test_an_answer_that_shows_an_app_shows_nothing_that_was_erased_before(api: Api) -> None:
    path, database = api.install(), api.loop.database
    api.ask("PATCH", path, json={"config": {"greeting": OF_USER}})
    with ThreadPoolExecutor(1) as pool:
        with database.write() as session:
            lock_app(session, "chat")
            renaming = pool.submit(api.ask, "PATCH", path, json={"name": "Chat 2"}, headers=KEY)
            wait_for_waiting(database, renaming)
            erase_app(session, "chat", "admin", api.clock.now())
        assert (renaming.result()["name"], renaming.result()["config"]) == ("Chat 2", {})
    assert tables_holding(api.loop.database, OF_USER) == []


def test_a_scan_whose_app_is_erased_before_it_is_answered_is_not_remembered(api: Api, tmp_path: Path) -> None:
    api.install()
    projects, folder = "/api/memory/projects", tmp_path / "transcripts"
    folder.mkdir()
    (folder / f"{OF_USER}.jsonl").write_text("no transcript\n")
    opened = {"originalPath": str(folder), "sourceFolder": str(folder)}
    project = api.ask("POST", projects, params={"appId": "chat"}, json=opened)["projectId"]
    with ThreadPoolExecutor(1) as pool, suppress(Rejected), api.loop.database.write() as session:
        # Who uses the key waits until it is known whether this one has.
        used = {"caller": "admin", "key": "k1", "request_digest": "", "status": 0, "answer": {}}
        session.add(IdempotencyKey(**used, at=api.clock.now()))
        session.flush()
        scanning = pool.submit(api.send, "POST", f"{projects}/{project}/scan", params={"appId": "chat"}, headers=KEY)
        wait_for_waiting(api.loop.database, scanning)
        api.ask("DELETE", "/apps/chat/data")
        raise Rejected
    assert scanning.result().status_code == 409, scanning.result().text
    assert tables_holding(api.loop.database, OF_USER) == []


def test_a_job_that_two_cancel_at_once_ends_once(api: Api) -> None:
    path, database = api.install(), api.loop.database
    api.converse(path, "c1", "I like tea.")
    job = api.ask("POST", f"{path}/conversations/c1/end")["jobs"][0]["jobId"]
    with ThreadPoolExecutor(2) as pool:
        with database.write() as session:
            lock_job(session, job)
            cancelling = [pool.submit(api.ask, "POST", f"/jobs/{job}/cancel") for _ in range(2)]
            wait_for_waiting(database, *cancelling)
        assert [one.result()["state"] for one in cancelling] == ["cancelled", "cancelled"]
    with database.read() as session:
        assert len(session.scalars(select(Event).where(Event.subject == job)).all()) == 1
