"""What a receipt calls clean is clean: nothing of what was erased can be read in the bytes of the database's files.

Apps write long facts and messages by turns, so that their rows share pages that are divided and joined again; one app
after the other is erased while others write, and now and then the loop is killed in the middle of it.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from shared.apps.models import DATABASE_LOG
from tests.faults.fleet import Fleet
from tests.support.canaries import files_holding
from tests.support.waiting import wait_until

ERASURES_IN_CI = 15
ERASURES_IN_THE_LONG_RUN = 1000
ALIVE = 4
"""Apps that are there at any time."""
KILLED = 15
"""During every so-manieth erasure the loop is killed."""
pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("whole")]


@dataclass
class Town:
    """Some apps side by side, and what was erased so far."""

    fleet: Fleet
    chance: random.Random
    apps: list[str] = field(default_factory=list)
    erased: int = 0
    late: int = 0
    """Erasures that the loop had to finish."""
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def fill(self, client: httpx.Client, app_id: str) -> None:
        """Write something long of one app; a loop that is just killed does not take it."""
        said = self._text(app_id)
        path, number = f"/apps/{app_id}", next(self.numbers)
        with contextlib.suppress(httpx.TransportError):
            if self.chance.random() < 0.5:
                client.post(f"{path}/facts", json={"fact": f"{number} {said}"[:400]})
                return
            client.post(f"{path}/conversations", json={"conversationId": f"c{number}"})
            messages = [{"role": "user", "content": said}] * self.chance.randint(1, 4)
            client.post(f"{path}/conversations/c{number}/messages", json={"messages": messages})

    def _text(self, app_id: str) -> str:
        return " ".join(f"{word_of(app_id)} {self.chance.random()}" for _ in range(self.chance.randint(1, 40)))

    def erase_one(self) -> None:
        """Erase the oldest app while the others write, and hold its receipts to what they say."""
        app_id, over = self.apps.pop(0), threading.Event()
        writing = threading.Thread(target=self._write_until, args=(over, list(self.apps)))
        killing = threading.Timer(self.chance.uniform(0, 0.6), self.fleet.system.loop.kill)
        writing.start()
        if self.erased % KILLED == KILLED - 1:
            killing.start()
        self.fleet.ask("DELETE", f"/apps/{app_id}/data")
        self._check(app_id)
        if killing.ident is not None:
            killing.join()
        over.set()
        writing.join()
        self.erased += 1

    def _write_until(self, over: threading.Event, apps: list[str]) -> None:
        with self.fleet.system.client() as client:
            while not over.wait(0.01):
                self.fill(client, self.chance.choice(apps))

    def _check(self, app_id: str) -> None:
        receipts = self._receipts(app_id)
        if any(one["left"][DATABASE_LOG] == 0 for one in receipts):
            self._see_that_it_is_gone(app_id, receipts)
        if any(one["left"][DATABASE_LOG] for one in receipts):
            self.late += 1
            wait_until(lambda: self._is_finished(app_id), 90, "the loop to finish the erasure")
            self._see_that_it_is_gone(app_id, self._receipts(app_id))

    def _is_finished(self, app_id: str) -> bool:
        return not any(one["left"][DATABASE_LOG] for one in self._receipts(app_id))

    def _receipts(self, app_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.fleet.ask("GET", f"/apps/{app_id}/erasures")["erasures"]
        return found

    def _see_that_it_is_gone(self, app_id: str, receipts: list[dict[str, Any]]) -> None:
        held = [path.name for path in files_holding(word_of(app_id), *database_files(self.fleet))]
        assert held == [], f"{held} hold text of {app_id}, and its receipts say {[one['left'] for one in receipts]}"


def word_of(app_id: str) -> str:
    return f"zyzzogeton{app_id}z"


def database_files(fleet: Fleet) -> list[Path]:
    main = Path(str(fleet.database.engine.url.database))
    return [path for path in (main, main.with_name(f"{main.name}-wal")) if path.exists()]


def erase(fleet: Fleet, erasures: int, seed: int) -> Town:
    town = Town(fleet, random.Random(seed))
    with fleet.system.client() as client:
        while town.erased < erasures:
            while len(town.apps) < ALIVE:
                town.apps.append(fleet.new_app())
            for _ in range(12):
                town.fill(client, town.chance.choice(town.apps))
            town.erase_one()
    return town


@pytest.mark.timeout(300)
def test_a_receipt_that_says_clean_is_true_to_the_last_byte(fleet: Fleet) -> None:
    erase(fleet, ERASURES_IN_CI, seed=0)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_a_thousand_receipts_are_true(fleet: Fleet) -> None:
    town = erase(fleet, ERASURES_IN_THE_LONG_RUN, seed=1000)
    print(f"{town.erased} erasures, {town.late} finished by the loop, none untrue")
