"""``afterthought sessions``: compressing, reading and removing versions."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests.support.command_line import Terminal
from tests.support.compressing import Press, long_talk, uniform
from tests.support.house import House
from tests.support.recordings import Shelf
from tests.support.waiting import wait_until


@pytest.fixture
def press(terminal: Terminal, sqlite_url: str, tmp_path: Path) -> Press:
    house = House(sqlite_url)
    house.clock = terminal.api.clock
    press = Press(house, tmp_path, Shelf(house, tmp_path, terminal.api.loop.store), "chat")
    said = press.shelf.transcript("s1").human("##keepit1.00## Kites fly.\n\n##keepit0.20## They are\u2028red.")
    press.shelf.add(long_talk(said, 20), app_id="chat")
    return press


def sessions(terminal: Terminal, command: str, *more: str, status: int = 0) -> list[list[str]]:
    return terminal.run("sessions", command, "chat", *more, status=status).rows()


def test_a_compression_is_followed_until_its_version_is_there(terminal: Terminal, press: Press) -> None:
    def work() -> None:
        wait_until(press.jobs, 60, "a job")
        press.work_off()

    worker = threading.Thread(target=work)
    worker.start()
    shown = terminal.run("sessions", "compress", "chat", "s1", "--ratio", "10")
    worker.join()
    assert "v001" in shown.out and "10:1 moderate" in shown.out and "1 kept, 1 summarised" in shown.out
    [row] = sessions(terminal, "versions", "s1")
    assert row[0] == "v001" and "extractive" in row


def test_a_version_that_skips_the_beginning_says_so(terminal: Terminal, press: Press) -> None:
    press.make("s1", uniform(5, skip_first_messages=3))
    assert "5:1 minimal, skips the first 3" in terminal.run("sessions", "version", "chat", "s1", "v001").out


def test_a_job_that_was_cancelled_ends_the_waiting_with_its_reason(terminal: Terminal, press: Press) -> None:
    def cancel() -> None:
        wait_until(press.jobs, 60, "a job")
        terminal.api.ask("POST", f"/jobs/{press.house.jobs()[0].job_id}/cancel")

    canceller = threading.Thread(target=cancel)
    canceller.start()
    ran = terminal.run("sessions", "compress", "chat", "s1", status=1)
    canceller.join()
    assert "is cancelled" in ran.err


def test_what_would_come_of_it_is_shown_without_a_job(terminal: Terminal, press: Press) -> None:
    shown = terminal.run("sessions", "compress", "chat", "s1", "--ratio", "20", "--dry-run").out
    assert "survives" in shown and "is summarised" in shown
    assert terminal.json("sessions", "jobs", "chat") == []
    assert terminal.json("sessions", "compress", "chat", "s1", "--dry-run")["compressionRatio"] > 3


def test_a_version_is_printed_byte_for_byte(terminal: Terminal, press: Press) -> None:
    asked = terminal.json("sessions", "compress", "chat", "s1", "--tiers", "50:5:minimal,100:2:minimal")
    press.work_off()
    version = press.version("s1", asked["versionId"])
    for form, ending in (("markdown", "md"), ("jsonl", "jsonl")):
        printed = terminal.run("sessions", "version", "chat", "s1", "v001", "--content", form).out
        assert printed == press.text(version, "s1", ending)
    assert "They are\u2028red." in press.text(version, "s1")
    assert json.loads(terminal.run("sessions", "version", "chat", "s1", "v001", "--json").out)["version"]["uses"] == 2
    assert sessions(terminal, "jobs")[0][1:3] == ["compress_session", "s1"]


def test_wrong_settings_are_explained(terminal: Terminal, press: Press) -> None:
    two_ways, no_tier = ("--ratio", "5", "--preset", "gentle"), ("--tiers", "half:5:minimal")
    for options in (two_ways, no_tier, ("--preset", "mild"), ("--from", "v009")):
        assert terminal.run("sessions", "compress", "chat", "s1", *options, "--no-wait", status=1).err, options
