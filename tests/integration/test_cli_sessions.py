"""Recorded sessions from the command line, against the real interface."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.command_line import Terminal
from tests.support.transcripts import assistant, lines, user, write

_RECORDS = (
    user("##keepit0.80## Keep the WAL", "1", cwd="/home/me/app"),
    assistant("##keepit0.25## Perhaps", "2", "1"),
    user("##keepit9## odd", "3"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of transcripts as coding agents keep them, one of them foreign."""
    folder = tmp_path / "-home-me-app"
    write(folder / "s1.jsonl", *_RECORDS)
    write(folder / "s2.jsonl", user("Another", "1"))
    (folder / "foreign.jsonl").write_text("{\n}\n")
    return folder


def test_what_is_refused_is_named_and_the_rest_is_registered(terminal: Terminal, folder: Path) -> None:
    files = [str(path) for path in sorted(folder.iterdir())]
    ran = terminal.run("sessions", "register", "chat", *files, status=1)
    assert [row[0] for row in ran.rows()] == ["s1", "s2"]
    assert "foreign.jsonl is not a recorded session" in ran.err
    assert "registered already" in terminal.run("sessions", "register", "chat", files[1], status=1).err


def test_what_is_passed_over_is_said_where_it_is_taken_in(terminal: Terminal, folder: Path) -> None:
    path = folder / "s3.jsonl"
    path.write_bytes(b"\0\0" + lines(user("One", "1"))[:-9] + lines(user("One", "1"), user("One", "1")))
    for wanted in (["--dry-run"], []):
        ran = terminal.run("sessions", "register", "chat", str(path), *wanted)
        assert "s3: passed over 1 records cut off, 1 runs of zero bytes, 1 records that stand there already." in ran.out
    with path.open("ab") as file:
        file.write(b"\0\n" + lines(user("One", "1")))
    assert "2 runs of zero bytes, 2 records that stand" in terminal.run("sessions", "sync", "chat", "s3").out
    assert "zeroByteRuns=2" in terminal.run("sessions", "show", "chat", "s3").out.replace(" ", "").replace(":", "=")


def test_what_would_be_registered_is_shown_first(terminal: Terminal, folder: Path) -> None:
    shown = terminal.run("sessions", "register", "chat", str(folder / "s1.jsonl"), "--dry-run")
    assert shown.rows()[0][:2] == ["s1", "-home-me-app"] and "0.80: 1, 0.25: 1" in shown.out
    terminal.run("sessions", "open", "chat", "/home/me/app", "--folder", str(folder))
    ran = terminal.run("sessions", "scan", "chat", "--project", "-home-me-app", "--dry-run")
    assert "s2" in ran.out and "0.80: 1, 0.25: 1" in ran.out and "foreign.jsonl" in ran.out
    listed = terminal.json("sessions", "scan", "chat", "--project", "-home-me-app", "--dry-run")
    assert [one["sessionId"] for one in listed["foreseen"]] == ["s1", "s2"]
    assert terminal.json("sessions", "list", "chat") == []


def test_an_original_is_read_as_who_said_what(terminal: Terminal, folder: Path) -> None:
    terminal.run("sessions", "register", "chat", str(folder / "s1.jsonl"))
    ran = terminal.run("sessions", "read", "chat", "s1")
    said = [line for line in ran.out.splitlines() if re.match("#[0-9]", line)]
    assert said == ["#0 User", "#1 Assistant", "#2 User"]
    marker = terminal.json("sessions", "keepits", "chat", "s1")[0]["markerId"]
    assert f"[{marker} 0.80: 0-27]\n##keepit0.80## Keep the WAL" in ran.out
    [one] = terminal.json("sessions", "read", "chat", "s1", "--from", "2", "--limit", "1")
    assert (one["speaker"], one["text"]) == ("Assistant", "##keepit0.25## Perhaps")


def test_a_service_that_cannot_read_a_file_is_sent_it(
    terminal: Terminal, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFTERTHOUGHT_TOKEN", terminal.api.token())
    elsewhere = write(tmp_path / "s3.jsonl", *_RECORDS)
    terminal.run("sessions", "register", "chat", str(elsewhere))
    [made] = terminal.json("sessions", "list", "chat", "--project", "-home-me-app")
    assert (made["sessionId"], made["originalFile"]) == ("s3", None), "its records say where it was worked"
    with elsewhere.open("ab") as file:
        file.write(lines(user("More", "4")))
    assert "upload the longer file" in terminal.run("sessions", "sync", "chat", "s3", status=1).err
    added = len(lines(user("More", "4")))
    assert f"{added} bytes were added" in terminal.run("sessions", "sync", "chat", "s3", str(elsewhere)).out
    uploaded = terminal.json("sessions", "register", "chat", str(folder / "s2.jsonl"), "--upload", "--project", "p1")
    assert uploaded["sessions"][0]["projectId"] == "p1"


def test_marked_parts_are_listed_weighed_and_previewed(terminal: Terminal, folder: Path) -> None:
    terminal.run("sessions", "register", "chat", str(folder / "s1.jsonl"))
    ran = terminal.run("sessions", "keepits", "chat", "s1")
    assert [row[1:3] for row in ran.rows()] == [["0.80", "0.80"], ["0.25", "0.25"]]
    assert "Keep the WAL" in ran.out and "##keepit9## in 3: the weight must be written" in ran.err
    marker = ran.rows()[1][0]
    asked = ("sessions", "preview", "chat", "s1", "--ratio", "30", "--level", "aggressive", "--distance", "5")
    assert "0.65 or more survives" in terminal.run(*asked).out
    assert [one["survives"] for one in terminal.json(*asked)["markers"]] == [True, False]
    light = terminal.run("sessions", "preview", "chat", "s1", "--level", "minimal").out
    assert light == terminal.run("sessions", "preview", "chat", "s1", "--level", "light").out
    for weight, said in (("0.70", "weighs 0.70"), ("pinned", "weighs 1.00"), ("written", "weighs 0.25")):
        assert said in terminal.run("sessions", "weigh", "chat", "s1", marker, weight).out
    assert "weight" in terminal.run("sessions", "weigh", "chat", "s1", marker, "7", status=1).err


def test_a_folder_is_looked_through_and_sessions_are_unregistered(terminal: Terminal, folder: Path) -> None:
    terminal.run("sessions", "open", "chat", "/home/me/app", "--folder", str(folder), "--auto")
    ran = terminal.run("sessions", "scan", "chat", "--project", "-home-me-app")
    assert "2 registered, 0 synced, 0 unchanged." in ran.out and "foreign.jsonl" in ran.out
    with (folder / "s2.jsonl").open("ab") as file:
        file.write(lines(user("More", "4")))
    assert terminal.json("sessions", "scan", "chat", "--project", "-home-me-app")["synced"] == ["s2"]
    assert "0 bytes were added" in terminal.run("sessions", "sync", "chat", "s2").out
    gone = terminal.run("sessions", "unregister", "chat", "s1", "s9", "--yes", status=1)
    assert "1 sessions are unregistered" in gone.out and "no session s9" in gone.err
    assert (folder / "s1.jsonl").exists()
    assert [row[0] for row in terminal.run("sessions", "list", "chat").rows()] == ["s2"]


def test_settings_of_an_app_and_of_a_project_that_differs_are_shown_and_changed(
    terminal: Terminal, folder: Path
) -> None:
    terminal.run("sessions", "register", "chat", str(folder / "s1.jsonl"))
    rows = {row[0]: row[1] for row in terminal.run("sessions", "settings", "chat").rows()}
    assert rows["defaults.compressionPreset"] == "standard" and rows["keepitDecay.compressionBase.moderate"] == "0.3"
    changed = terminal.json(
        "sessions", "settings", "chat", "keepitDecay.compressionBase.moderate=0.6", "storage.maxCacheSize=500MB",
        "defaults.compressionPreset=gentle", "ui.showTokenEstimates=false",
    )  # fmt: skip
    assert changed["keepitDecay"]["compressionBase"]["moderate"] == 0.6 and changed["ui"]["showTokenEstimates"] is False
    shown = terminal.run("sessions", "preview", "chat", "s1", "--ratio", "30", "--distance", "10")
    assert "What weighs 0.9 or more survives; 1.00 always does." in shown.out
    terminal.run("sessions", "settings", "chat", "--project=-home-me-app", "keepitDecay.maxSessionDistance=20")
    assert "0.75 or more" in terminal.run("sessions", "preview", "chat", "s1", "--ratio", "30", "--distance", "10").out
    terminal.run("sessions", "ageing", "chat", "--project=-home-me-app", "--decay", "--prune-after", "90")
    terminal.run("sessions", "settings", "chat", "defaults.compressionPreset=aggressive")
    aged = terminal.json("sessions", "ageing", "chat", "--project=-home-me-app")["autoDecay"]["rules"]
    assert (aged["createPreset"], aged["pruneIntermediateAfterDays"]) == ("aggressive", 90)
    terminal.run("sessions", "settings", "chat", "defaults.compressionPreset=gentle")
    own = terminal.json("sessions", "settings", "chat", "--project=-home-me-app")
    assert own["keepitDecay"]["maxSessionDistance"] == 20 and own["defaultCompressionPreset"] == "gentle"
    back = terminal.json("sessions", "settings", "chat", "defaults.compressionPreset=", "ui=")
    assert back["defaults"]["compressionPreset"] == "standard" and back["ui"]["showTokenEstimates"] is True
    last = terminal.json("sessions", "settings", "chat", "--history")[0]
    assert last["before"]["ui"] == {"showTokenEstimates": False} and "ui" not in last["after"]
    assert terminal.json("sessions", "settings", "chat", "--project=-home-me-app", "--history")[0]["kind"] == "changed"
    for wrong in ("ui", "=1", "ui.defaultView=cloud", "keepitDecay.pinnedWeight=2"):
        assert terminal.run("sessions", "settings", "chat", wrong, status=1).err


def test_a_project_that_is_opened_does_not_say_what_was_not_said(terminal: Terminal) -> None:
    terminal.run("sessions", "settings", "chat", "defaults.autoRegisterSessions=true")
    terminal.run("sessions", "open", "chat", "/home/me/one")
    terminal.run("sessions", "open", "chat", "/home/me/two", "--no-auto")
    found = {one["displayName"]: one["settings"] for one in terminal.json("sessions", "projects", "chat")}
    assert [found[name]["autoRegisterNewSessions"] for name in ("one", "two")] == [True, False]
