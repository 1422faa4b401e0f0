"""What somebody who had to go on working from versions missed in them, or was led astray by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.compressing import Press, open_press, uniform
from tests.support.odd_recorder import Recorder
from tests.support.odd_transcripts import HIVE, work


@pytest.fixture(scope="module")
def press(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Press]:
    with open_press(sqlite_template, tmp_path_factory.mktemp("onward")) as press:
        yield press


def begun(name: str, *, rounds: int = 6) -> Recorder:
    """Return a session in which a person has asked for some things."""
    session = Recorder(name, HIVE.folder, rounds)
    for number in range(rounds):
        session.prompt(f"Check how the {HIVE.things[number]} is counted, and write down what you find in NOTES.md.")
        work(session, HIVE, 4)
        session.say(f"The {HIVE.things[number]} is counted once. I wrote that down in NOTES.md.")
    return session


def version_of(press: Press, session: Recorder, ratio: int) -> str:
    """Compress a session and return the Markdown."""
    odd = session.finish()
    press.shelf.add(odd)
    return press.text(press.make(odd.name, uniform(ratio)), odd.name, "md")


@pytest.mark.parametrize(
    ("passed", "why"),
    [
        ("tests/test_{0}.py::test_{0}_error PASSED [ {1}%]", "2000 batches, 9 stuck"),
        ("  ✓ {0} throws no error for {1} (3 ms)", "Tests: 2 failed, 38 passed"),
        ("test {0}::unexpected_{1} ... ok", "3 Fehler: Fremdschlüssel buchung_mitglied fehlt"),
        ("--- PASS: Test{0}Fails{1} (0.00s)", "got 7 rows, want 8"),
    ],
)  # fmt: skip
def test_no_test_that_passed_is_why_an_attempt_failed(passed: str, why: str, press: Press) -> None:
    session = begun(f"passed{len(why)}")
    session.prompt("Replay the night.")
    log = "\n".join(passed.format(thing, number) for number, thing in enumerate(HIVE.things * 3))
    session.tool("Bash", {"command": "./replay --all"}, f"Exit code 1\n{log}\n{why}", error=why)
    session.say("That is not it. I leave it as it was and look at the probes next.")
    text = version_of(press, session, 8)
    assert f"**Failed:** ran `./replay --all`: {why}" in text
    assert log.splitlines()[0].strip() not in text


def test_a_line_about_an_attempt_says_why_it_failed_however_little_room_there_is(press: Press) -> None:
    session = begun("crowded")
    session.prompt("Replay the night until it works.")
    for number in range(60):
        command = f"./replay --from 2026-06-30 --until 2026-07-01 --batches {number}"
        told = f"tests/probes/test_{number}_of_the_apiary.py::test_counts_{number}_times FAILED"
        session.tool("Bash", {"command": command}, f"Exit code 1\n{told}", error=told)
    session.say("It does not work yet.")
    failed = [line for line in version_of(press, session, 30).splitlines() if "./replay" in line]
    assert failed and [line for line in failed if "test" not in line.split("`")[-1]] == []
