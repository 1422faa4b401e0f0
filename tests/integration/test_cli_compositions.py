"""``afterthought sessions``: composing, pruning and ageing."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from shared.contracts.jobs import JobKind
from tests.support.command_line import Terminal
from tests.support.composing import PROJECT, Shop
from tests.support.house import House
from tests.support.waiting import wait_until


@pytest.fixture
def shop(terminal: Terminal, sqlite_url: str, tmp_path: Path) -> Shop:
    house = House(sqlite_url)
    house.clock = terminal.api.clock
    originals = tmp_path / "originals"
    originals.mkdir()
    shop = Shop(house, terminal.api.loop.store, originals, app_id="chat")
    shop.register("s1", 40)
    shop.register("s2", 2)
    return shop


def test_a_context_is_composed_and_followed_until_it_is_there(terminal: Terminal, shop: Shop) -> None:
    def work() -> None:
        wait_until(lambda: bool(shop.house.jobs(kind=JobKind.COMPOSE_CONTEXT)), 20, "a composition asked for")
        shop.work_off()

    worker = threading.Thread(target=work)
    worker.start()
    ran = terminal.run("sessions", "compose", "chat", "start", "s1", "s2", "--budget", "2500")
    worker.join()
    assert "ready" in ran.out and "original" in ran.out and "v001" in ran.out
    [listed] = terminal.json("sessions", "compositions", "chat", "--project", PROJECT)
    assert listed["totalTokens"] <= 2500
    composition = listed["compositionId"]
    text = terminal.run("sessions", "composition", "chat", composition, "--content", "markdown").out
    assert text == shop.text("start")
    assert terminal.run("sessions", "composition", "chat", "start", "--content", "markdown").out == text
    assert "is called stop" in terminal.run("sessions", "composition", "chat", "stop", status=1).err
    assert "1 session." in terminal.run("sessions", "used", "chat", composition, "later").out
    assert "later" in terminal.run("sessions", "composition", "chat", composition).out
    again = terminal.run("sessions", "compose-again", "chat", composition, "--name", "more", "--no-wait").out
    assert "is being made" in again
    assert "is removed" in terminal.run("sessions", "delete-composition", "chat", composition, "--yes").out


def test_a_composition_that_fails_ends_the_waiting_with_its_reason(terminal: Terminal, shop: Shop) -> None:
    def lose() -> None:
        wait_until(lambda: bool(shop.house.jobs(kind=JobKind.COMPOSE_CONTEXT)), 20, "a composition asked for")
        shop.store.remove(shop.store.original("chat", PROJECT, "s2"))
        shop.work_off()

    worker = threading.Thread(target=lose)
    worker.start()
    ran = terminal.run("sessions", "compose", "chat", "start", "s1", "s2", "--budget", "2500", status=1)
    worker.join()
    assert "failed" in ran.err and "register the session again" in ran.err


def test_a_preview_shows_who_would_get_what(terminal: Terminal, shop: Shop) -> None:
    words = ("compose", "chat", "start", "s1", "s2=original", "--preview")
    seen = terminal.run("sessions", *words, "--tokens", "s1=900", "--tokens", "s2=100", "--budget", "1200").out
    assert "1000 of 1200 tokens; 1 versions would be made." in seen
    assert json.loads(terminal.run("sessions", *words, "--json").out)["components"][1]["way"] in (
        "original",
        "compress",
    )


def test_what_makes_no_sense_is_refused(terminal: Terminal, shop: Shop) -> None:
    words = ("compose", "chat", "start", "s1", "s2")
    for tokens in (("s1=900",), ("s9=1", "s1=1", "s2=1"), ("s1",)):
        options = [word for one in tokens for word in ("--tokens", one)]
        assert "--tokens" in terminal.run("sessions", *words, *options, status=1).err


def test_versions_are_pruned_after_a_look(terminal: Terminal, shop: Shop) -> None:
    for _ in range(2):
        shop.version("s1", 300)
    seen = terminal.run("sessions", "prune", "chat", "--project", PROJECT, "--superseded", "--dry-run").out
    assert "superseded by v002" in seen and "would be removed" in seen
    done = terminal.run("sessions", "prune", "chat", "--project", PROJECT, "--version", "s1=v001", "--yes").out
    assert "1 versions" in done and "would" not in done
    assert "Nothing to remove" in terminal.run("sessions", "prune", "chat", "--project", PROJECT, "--superseded").out


def test_rules_are_changed_shown_and_followed(terminal: Terminal, shop: Shop) -> None:
    for _ in range(2):
        shop.version("s1", 300)
    words = ("ageing", "chat", "--project", PROJECT)
    changed = terminal.run("sessions", *words, "--keep", "1", "--decay", "--create-after", "3").out
    assert "newest 1" in changed and "standard, after 3 days" in changed
    assert "shown yet" in terminal.run("sessions", *words, "--run", status=1).err
    assert "v001" in terminal.run("sessions", *words, "--plan").out
    assert "are removed" in terminal.run("sessions", *words, "--run").out
    assert "v001" in terminal.run("sessions", *words).out
    assert "--keep" in terminal.run("sessions", *words, "--keep", "some", status=1).err
