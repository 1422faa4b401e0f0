"""Recorded sessions from the command line: files that are sent or written, what is waited for, and exit codes."""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.api import Api
from tests.support.command_line import Ran, Terminal
from tests.support.compressing import long_talk
from tests.support.sessions import PROJECT, Sessions, open_sessions
from tests.support.transcripts import assistant, lines, user, write
from tests.support.waiting import wait_until

_RECORDS = (
    user("##keepit0.80## Keep the WAL", "1", cwd="/home/me/kites"),
    assistant("##keepit0.25## Perhaps", "2", "1"),
)


@pytest.fixture
def sessions(sqlite_api: Api, sqlite_url: str, tmp_path: Path, terminal: Terminal) -> Iterator[Sessions]:
    with open_sessions(sqlite_api, sqlite_url, tmp_path) as opened:
        yield opened


@pytest.fixture
def talk(sessions: Sessions) -> Sessions:
    said = sessions.shelf.transcript("s1").human("##keepit1.00## Kites fly.\n\n##keepit0.20## They are\u2028red.")
    sessions.shelf.add(long_talk(said, 20), PROJECT, "chat")
    return sessions


@pytest.fixture
def folder(terminal: Terminal, tmp_path: Path) -> Path:
    """A folder of transcripts as coding agents keep them, one of them foreign."""
    terminal.api.install()
    folder = tmp_path / PROJECT
    write(folder / "s1.jsonl", *_RECORDS)
    write(folder / "s2.jsonl", user("Another", "1"))
    (folder / "foreign.jsonl").write_text("{\n}\n")
    return folder


def test_what_is_refused_is_named_and_the_rest_is_done(terminal: Terminal, folder: Path) -> None:
    files = [str(path) for path in sorted(folder.iterdir())]
    shown = terminal.run("sessions", "register", "chat", files[1], "--dry-run")
    assert shown.rows()[0][:2] == ["s1", PROJECT] and "0.80: 1, 0.25: 1" in shown.out
    ran = terminal.run("sessions", "register", "chat", *files, status=1)
    assert [row[0] for row in ran.rows()] == ["s1", "s2"]
    assert "foreign.jsonl is not a recorded session" in ran.err
    gone = terminal.run("sessions", "unregister", "chat", "s1", "s9", "--yes", status=1)
    assert "1 sessions are unregistered" in gone.out and "no session s9" in gone.err
    assert [row[0] for row in terminal.run("sessions", "list", "chat").rows()] == ["s2"]


def test_what_is_passed_over_is_said_where_it_is_taken_in(terminal: Terminal, folder: Path) -> None:
    path = folder / "s3.jsonl"
    path.write_bytes(b"\0\0" + lines(user("One", "1"))[:-9] + lines(user("One", "1"), user("One", "1")))
    for wanted in (["--dry-run"], []):
        ran = terminal.run("sessions", "register", "chat", str(path), *wanted)
        assert "s3: passed over 1 records cut off, 1 runs of zero bytes, 1 records that stand there already." in ran.out
    with path.open("ab") as file:
        file.write(b"\0\n" + lines(user("One", "1")))
    assert "2 runs of zero bytes, 2 records that stand" in terminal.run("sessions", "sync", "chat", "s3").out


def test_a_service_that_cannot_read_a_file_is_sent_it(
    terminal: Terminal, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFTERTHOUGHT_TOKEN", terminal.api.token())
    elsewhere = write(tmp_path / "s3.jsonl", *_RECORDS)
    terminal.run("sessions", "register", "chat", str(elsewhere))
    [made] = terminal.json("sessions", "list", "chat", "--project", PROJECT)
    assert (made["sessionId"], made["originalFile"]) == ("s3", None), "its records say where it was worked"
    with elsewhere.open("ab") as file:
        file.write(lines(user("More", "4")))
    assert "upload the longer file" in terminal.run("sessions", "sync", "chat", "s3", status=1).err
    added = len(lines(user("More", "4")))
    assert f"{added} bytes were added" in terminal.run("sessions", "sync", "chat", "s3", str(elsewhere)).out
    uploaded = terminal.json("sessions", "register", "chat", str(folder / "s2.jsonl"), "--upload", "--project", "p1")
    assert uploaded["sessions"][0]["projectId"] == "p1"


def test_settings_are_named_by_their_path_and_taken_back_by_nothing(terminal: Terminal) -> None:
    terminal.api.install()
    changed = terminal.json(
        "sessions", "settings", "chat", "keepitDecay.compressionBase.moderate=0.6", "storage.maxCacheSize=500MB",
        "defaults.compressionPreset=gentle", "ui.showTokenEstimates=false",
    )  # fmt: skip
    assert changed["keepitDecay"]["compressionBase"]["moderate"] == 0.6 and changed["ui"]["showTokenEstimates"] is False
    back = terminal.json("sessions", "settings", "chat", "defaults.compressionPreset=", "ui=")
    assert back["defaults"]["compressionPreset"] == "standard" and back["ui"]["showTokenEstimates"] is True
    terminal.run("sessions", "open", "chat", "/home/me/kites")
    terminal.run("sessions", "settings", "chat", f"--project={PROJECT}", "keepitDecay.maxSessionDistance=20")
    own = terminal.json("sessions", "settings", "chat", f"--project={PROJECT}")
    assert own["keepitDecay"]["maxSessionDistance"] == 20 and own["defaultCompressionPreset"] == "standard"
    for wrong in ("ui", "=1", "ui.defaultView=cloud", "keepitDecay.pinnedWeight=2"):
        assert terminal.run("sessions", "settings", "chat", wrong, status=1).err


def test_a_project_that_is_opened_does_not_say_what_was_not_said(terminal: Terminal) -> None:
    terminal.api.install()
    terminal.run("sessions", "settings", "chat", "defaults.autoRegisterSessions=true")
    terminal.run("sessions", "open", "chat", "/home/me/one")
    terminal.run("sessions", "open", "chat", "/home/me/two", "--no-auto")
    found = {one["displayName"]: one["settings"] for one in terminal.json("sessions", "projects", "chat")}
    assert [found[name]["autoRegisterNewSessions"] for name in ("one", "two")] == [True, False]


def waited_for(terminal: Terminal, talk: Sessions, act: Callable[[], object], *words: str, status: int = 0) -> Ran:
    """Run a command that waits for a job, and do something once the job is there."""
    answering = threading.Thread(target=lambda: (wait_until(talk.house.jobs, 60, "a job"), act()))
    answering.start()
    ran = terminal.run("sessions", *words, status=status)
    answering.join()
    return ran


def test_what_is_made_is_waited_for_and_printed_byte_for_byte(terminal: Terminal, talk: Sessions) -> None:
    ran = waited_for(terminal, talk, talk.work_off, "compress", "chat", "s1", "--ratio", "10")
    assert "v001" in ran.out and "10:1 moderate" in ran.out and "1 kept, 1 summarised" in ran.out
    asked = terminal.json("sessions", "compress", "chat", "s1", "--tiers", "50:5:minimal,100:2:minimal", "--no-wait")
    talk.work_off()
    for form in ("markdown", "jsonl"):
        printed = terminal.run("sessions", "version", "chat", "s1", asked["versionId"], "--content", form).out
        assert printed == talk.text(f"/sessions/s1/versions/{asked['versionId']}", format=form)
    assert "They are\u2028red." in talk.text(f"/sessions/s1/versions/{asked['versionId']}", format="markdown")


def test_a_composition_is_waited_for_and_known_by_its_name(terminal: Terminal, talk: Sessions) -> None:
    ran = waited_for(terminal, talk, talk.work_off, "compose", "chat", "start", "s1", "--budget", "600")
    assert "ready" in ran.out and "v001" in ran.out
    [listed] = terminal.json("sessions", "compositions", "chat", "--project", PROJECT)
    text = terminal.run("sessions", "composition", "chat", "start", "--content", "markdown").out
    assert text == talk.text(f"/compositions/{listed['compositionId']}", format="markdown")
    assert "is called stop" in terminal.run("sessions", "composition", "chat", "stop", status=1).err


@pytest.mark.parametrize(
    ("words", "kind", "why"),
    [
        (("compress", "chat", "s1"), "is cancelled", ""),
        (("compose", "chat", "start", "s1", "--budget", "9000"), "failed", "register the session again"),
    ],
    ids=["cancelled", "failed"],
)
def test_a_job_that_comes_to_nothing_ends_the_waiting_with_its_reason(
    terminal: Terminal, talk: Sessions, words: tuple[str, ...], kind: str, why: str
) -> None:
    def lose() -> None:
        if kind == "failed":
            talk.copy_of().unlink()
            talk.work_off()
        else:
            terminal.api.ask("POST", f"/jobs/{talk.house.jobs()[0].job_id}/cancel")

    ran = waited_for(terminal, talk, lose, *words, status=1)
    assert kind in ran.err and why in ran.err


def test_wrong_options_are_explained(terminal: Terminal, talk: Sessions) -> None:
    two_ways, no_tier = ("--ratio", "5", "--preset", "gentle"), ("--tiers", "half:5:minimal")
    for options in (two_ways, no_tier, ("--preset", "mild"), ("--from", "v009")):
        assert terminal.run("sessions", "compress", "chat", "s1", *options, "--no-wait", status=1).err, options
    for tokens in (("s9=1", "s1=1"), ("s1",)):
        options = [word for one in tokens for word in ("--tokens", one)]
        assert "--tokens" in terminal.run("sessions", "compose", "chat", "start", "s1", *options, status=1).err
    assert "--keep" in terminal.run("sessions", "ageing", "chat", "--project", PROJECT, "--keep", "x", status=1).err
    seen = terminal.run("sessions", "prune", "chat", "--project", PROJECT, "--superseded", "--dry-run")
    assert "Nothing to remove" in seen.out


def test_a_project_goes_into_a_file_and_comes_back_elsewhere(
    terminal: Terminal, talk: Sessions, tmp_path: Path
) -> None:
    file = tmp_path / "kites.zip"
    terminal.run("sessions", "export", "chat", "--project", PROJECT, "--output", str(file))
    assert file.stat().st_mode & 0o777 == 0o600 and "originals/s1.jsonl" in zipfile.ZipFile(file).namelist()
    assert "exists" in terminal.run("sessions", "export", "chat", "--project", PROJECT, "-o", str(file), status=2).err
    assert "already" in terminal.run("sessions", "import", "chat", str(file), status=1).err
    imported = terminal.json("sessions", "import", "email", str(file), "--as", "kites-again")
    assert (imported["projectId"], imported["sessions"]) == ("kites-again", 1)
    file.write_bytes(b"PK nonsense")
    assert "not a whole archive" in terminal.run("sessions", "import", "email", str(file), status=1).err
    nowhere = tmp_path / "nothing.zip"
    asked = ("sessions", "export", "chat", "--project", "nobody", "-o", str(nowhere))
    assert "no project" in terminal.run(*asked, status=1).err and not nowhere.exists()


def test_what_is_learnt_is_judged(terminal: Terminal, sessions: Sessions) -> None:
    said = sessions.shelf.transcript("s2").human("Make it retry. Always run make lint before a commit.")
    sessions.shelf.add(said, PROJECT, "chat")
    ran = waited_for(terminal, sessions, sessions.work_off, "learn", "chat", "--project", PROJECT)
    assert ran.status == 0
    [found] = terminal.json("sessions", "learnt", "chat", "--project", PROJECT)
    for judge, verdict in (("reject", "rejected"), ("confirm", "confirmed")):
        terminal.run("sessions", judge, "chat", found["id"])
        [found] = terminal.json("sessions", "learnt", "chat", "--project", PROJECT, "--verdict", verdict)
