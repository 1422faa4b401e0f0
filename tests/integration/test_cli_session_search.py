"""Finding, linking, learning from, exporting and importing recorded sessions from the command line."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from loop.steps.sessions import IndexSessions
from shared.energy.accounting import Accountant
from shared.jobs.dispatch import take_due
from shared.jobs.models import JobState
from shared.jobs.ownership import Owner, claim
from tests.support.command_line import Terminal
from tests.support.recordings import PROJECT, Shelf
from worker.agent.session_rules import ExtractiveLearningAgent
from worker.pipelines.learn_from_sessions import LearnFromSessions

OTHER = "-home-me-boats"


@pytest.fixture
def shelf(terminal: Terminal, tmp_path: Path) -> Shelf:
    """Two projects of chat with a session each, findable."""
    loop = terminal.api.loop
    shelf = Shelf(loop, tmp_path, loop.store)
    kites = shelf.transcript("kites").human("Make the uploader retry. Always run make lint before a commit.")
    shelf.add(kites.tool("Edit", "ok", file_path="/home/me/kites/up.py"), app_id="chat")
    shelf.add(shelf.transcript("boats", "/home/me/boats").human("Paint the boat blue."), OTHER, "chat")
    step = IndexSessions(loop.database, loop.store)
    while step.run():
        pass
    return shelf


def learn(terminal: Terminal, shelf: Shelf) -> JobState:
    """Carry out the job that learns, as a worker would."""
    loop = terminal.api.loop
    accountant = Accountant(loop.database, loop.clock, loop.settings, loop.metrics, 60.0)
    run = LearnFromSessions(loop.database, loop.clock, ExtractiveLearningAgent(), loop.store, accountant, loop.metrics)
    with loop.database.write() as session:
        now = loop.clock.now()
        (sent,) = take_due(session, now, 10, 60)
        held = claim(session, sent.job_id, sent.fence, Owner("test", lambda _: False), now, now)
    assert held is not None
    return run(held)


def test_what_is_learnt_is_listed_and_judged(terminal: Terminal, shelf: Shelf) -> None:
    assert "is asked for" in terminal.run("sessions", "learn", "chat", "--project", PROJECT, "--no-wait").out
    (job,) = terminal.json("sessions", "jobs", "chat")
    assert (job["kind"], job["progress"]) == ("learn_from_sessions", {"done": 0, "total": 1})
    assert learn(terminal, shelf) is JobState.DONE
    (job,) = terminal.json("sessions", "jobs", "chat")
    assert job["progress"] == {"done": 1, "total": 1}
    (found,) = terminal.json("sessions", "learnt", "chat", "--project", PROJECT)
    assert (found["type"], found["content"]) == ("preference", "Always run make lint before a commit")
    assert [one["sessionId"] for one in found["sources"]] == ["kites"]
    terminal.run("sessions", "reject", "chat", found["id"])
    assert terminal.json("sessions", "learnt", "chat", "--project", PROJECT, "--verdict", "confirmed") == []
    terminal.run("sessions", "confirm", "chat", found["id"])
    (found,) = terminal.json("sessions", "learnt", "chat", "--project", PROJECT, "--verdict", "confirmed")
    assert found["validatedByUser"] and found["decidedBy"] == "admin"
    assert "learnt from" in terminal.run("sessions", "learn", "chat", "--project", PROJECT, status=1).err


def test_a_project_goes_into_a_file_and_comes_back_elsewhere(terminal: Terminal, shelf: Shelf, tmp_path: Path) -> None:
    file = tmp_path / "kites.zip"
    terminal.run("sessions", "export", "chat", "--project", PROJECT, "--output", str(file))
    assert file.stat().st_mode & 0o777 == 0o600 and "originals/kites.jsonl" in zipfile.ZipFile(file).namelist()
    assert "exists" in terminal.run("sessions", "export", "chat", "--project", PROJECT, "-o", str(file), status=2).err
    terminal.api.install("email")
    assert "already" in terminal.run("sessions", "import", "chat", str(file), status=1).err
    imported = terminal.json("sessions", "import", "email", str(file), "--as", "kites-again")
    assert (imported["projectId"], imported["sessions"]) == ("kites-again", 1)
    (session,) = terminal.json("sessions", "list", "email")
    assert session["sessionId"] == "kites"
    file.write_bytes(b"PK nonsense")
    assert "not a whole archive" in terminal.run("sessions", "import", "email", str(file), status=1).err
    nowhere = tmp_path / "nothing.zip"
    assert (
        "no project"
        in terminal.run("sessions", "export", "chat", "--project", "nobody", "-o", str(nowhere), status=1).err
    )
    assert not nowhere.exists()
