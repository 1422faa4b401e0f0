"""The command line asks the real interface; what people, machines and scripts get from it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer import Exit

from loop.api.routes import jobs as jobs_routes
from loop.cli.apps import leave_if_incomplete
from loop.cli.table import Invocation
from loop.embedded_redis import free_port
from shared.base.installation import release
from shared.contracts.jobs import JobKind
from shared.jobs import dispatch
from shared.jobs.dispatch import dead_letter
from shared.jobs.models import Deferral, JobState
from shared.jobs.queries import JobFilter, list_jobs
from tests.support.api import ADMIN, open_api
from tests.support.command_line import Busy, Terminal, run, served
from tests.support.ollama_server import OllamaServer

HEAVY = ("langchain_core", "celery", "fastapi", "sqlalchemy", "httpx", "pydantic", "redis")
CHECKOUT = Path(__file__).resolve().parents[2]


pytestmark = pytest.mark.usefixtures("bare_environment")


def test_dead_jobs_are_counted_asked_about_and_replayed_together(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = terminal.api.install()
    for name in ("c1", "c2"):
        terminal.api.converse(path, name, "Hello there.")
        terminal.run("conversations", "end", "chat", name)
    with terminal.api.loop.database.write() as session:
        for job in list_jobs(session, JobFilter(), 10):
            job.state, job.reason = JobState.DEAD, "transient: the model did not answer in time"
    monkeypatch.setattr(jobs_routes, "_REPLAYED_AT_ONCE", 1)
    assert "JOB" in terminal.run("jobs", "replay", status=1).err
    assert "JOB" in terminal.run("jobs", "replay", "--all", "--app", "chat", status=1).err
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    asked = terminal.run("jobs", "replay", "--all", status=1).err
    assert "Replay 4 dead jobs (2 create_memory, 2 extract_facts)?" in asked
    assert len(terminal.json("jobs", "list", "--state", "dead")) == 4, "nobody said yes"
    assert len(terminal.json("jobs", "list", "--reason", "in TIME")) == 4
    assert terminal.json("jobs", "list", "--reason", "no such words") == []
    said = terminal.run("jobs", "replay", "--kind", "create_memory", "--reason", "in TIME", "--yes").out
    assert "2 dead jobs will be done again." in said
    assert terminal.json("jobs", "replay", "--app", "chat", "--yes")["replayed"] == 2
    assert terminal.json("jobs", "list", "--state", "dead") == []
    assert "0 dead jobs" in terminal.run("jobs", "replay", "--all").out


def test_energy_tells_which_apps_spent_it_and_when_the_last_that_waits_may_start(terminal: Terminal) -> None:
    for app_id, units in (("small", 3), ("large", 120)):
        conversation = terminal.api.converse(terminal.api.install(app_id), "c1", "Hello there.")
        terminal.api.spend(app_id, units)
        terminal.api.ask("POST", f"{conversation}/end")
    assert terminal.json("energy")["lastDeferredExpectedAt"] is None
    with terminal.api.loop.database.write() as session:
        dispatch.defer(session, Deferral.ENERGY, "energy", terminal.api.clock.now())
    newest = terminal.json("jobs", "list", "--limit", "1")[0]["expectedAt"]
    told = terminal.json("energy")
    assert list(told["spentByApp"].items()) == [("large", 120), ("small", 3)]
    assert newest is not None and told["lastDeferredExpectedAt"] == newest
    said = terminal.run("energy").out
    assert "large 120, small 3" in said and newest[:19].replace("T", " ") in said


def test_the_doctor_tells_of_dead_jobs(terminal: Terminal) -> None:
    def told() -> list[str]:
        findings = terminal.json("doctor", status=1)["findings"]
        return [one["found"] for one in findings if one["what"] == "jobs"]

    assert told() == []
    with terminal.api.loop.database.write() as session:
        dead_letter(session, JobKind.END_CONVERSATION, "malformed intake message", terminal.api.clock.now())
        dead_letter(session, JobKind.END_CONVERSATION, "another malformed one", terminal.api.clock.now())
    assert told() == ["2 failed for good, the latest: another malformed one"]


@pytest.fixture
def with_model(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Terminal]:
    """A service that has a small model and a key, and a shell without either."""
    with (
        OllamaServer(shown={"details": {"parameter_size": "1.5B"}}) as server,
        open_api(
            sqlite_url, tmp_path / "home", model="ollama:tiny", ollama_host=server.url.replace("//", "//ada:s3cret@"),
            openai_api_key="s3cret",
        ) as api,
        served(api.client.app) as url,
    ):  # fmt: skip
        monkeypatch.setenv("AFTERTHOUGHT_URL", url)
        monkeypatch.setenv("AFTERTHOUGHT_TOKEN", ADMIN)
        yield Terminal(api, url, Busy(api.client.app), capsys)


def _found(findings: list[dict[str, Any]], what: str) -> list[str]:
    return [one["found"] for one in findings if one["what"] == what]


def test_the_doctor_tells_of_the_service_that_runs_and_not_of_the_shell(
    with_model: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = with_model.json("doctor", status=1)["findings"]
    [model, *_] = _found(answer, "model")
    assert re.fullmatch(r"tiny at http://127\.0\.0\.1:\d+, Ollama [\d.]+, 1\.5 B parameters", model)
    [energy] = _found(answer, "energy")
    assert "about 744 conversations an hour with ollama:tiny (about 4.8 units each, estimated)" in energy
    [differs] = [one for one in answer if one["what"] == "settings" and one["health"] == "warn"]
    assert "AFTERTHOUGHT_MODEL is ollama:tiny there and not set here" in differs["found"] and differs["mend"]
    assert "OLLAMA_HOST is http://127.0.0.1" in differs["found"] and "s3cret" not in str(answer)
    monkeypatch.setenv("AFTERTHOUGHT_MODEL", "ollama:tiny")
    monkeypatch.setenv("OLLAMA_HOST", with_model.api.loop.settings.ollama_host)
    assert _found(with_model.json("doctor", status=1)["findings"], "settings") == [
        "given: AFTERTHOUGHT_HOME, AFTERTHOUGHT_MODEL, OLLAMA_HOST"
    ]


@pytest.mark.parametrize("whose", ["nobody's", "an app's"])
def test_the_doctor_says_so_where_it_can_tell_of_the_shell_alone(
    with_model: Terminal, whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if whose == "an app's":
        with_model.api.install()
        monkeypatch.setenv("AFTERTHOUGHT_TOKEN", with_model.api.token("chat"))
    else:
        monkeypatch.setenv("AFTERTHOUGHT_URL", f"http://127.0.0.1:{free_port()}")
    answer = with_model.json("doctor", status=1)["findings"]
    for what in ("model", "energy", "embedding"):
        assert all(found.startswith("as this shell is set: ") for found in _found(answer, what))
    why = "nothing answers" if whose == "nobody's" else "it did not say how it is set"
    assert why in _found(answer, "service")[0]


def test_the_version_is_that_of_the_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version").out == f"afterthought {release()}\n"


@pytest.mark.parametrize(
    ("left", "status"),
    [({"memories": 0, "databaseLog": 1}, 1), ({"memories": 0, "queuedText": None}, None), ({"memories": 0}, None)],
    ids=["something-left", "unknown", "nothing-left"],
)
def test_a_receipt_that_names_something_left_fails(
    left: dict[str, int | None], status: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = {"receipt": {"left": left}, "note": "Ask again."}
    with contextlib.nullcontext() if status is None else pytest.raises(Exit) as left_with:
        leave_if_incomplete(Invocation(), answer)
    said = capsys.readouterr().err
    assert ("databaseLog (1). Ask again." in said) == bool(status)
    assert ("queuedText" in said) == ("queuedText" in left)
    assert (left_with.value.exit_code if left_with else None) == status


def test_nothing_is_erased_without_a_yes(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    path = terminal.api.install()
    terminal.api.remember(path, "Likes tea.")
    for answer in ("n\n", ""):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        terminal.run("purge", "chat", status=1)
    assert terminal.api.contents(path) == ["Likes tea."]
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    terminal.run("purge", "chat")
    assert terminal.api.contents(path) == []


def test_what_is_exported_can_be_imported_elsewhere(terminal: Terminal, tmp_path: Path) -> None:
    path = terminal.api.install()
    terminal.api.remember(path, "Likes tea.", "Has a cat.")
    file = tmp_path / "chat.json"
    file.write_text("of an earlier run, for all to read")
    file.chmod(0o644)
    terminal.run("export", "chat", "-o", str(file))
    assert file.stat().st_mode & 0o077 == 0
    assert json.loads(terminal.run("export", "chat").out)["app"]["appId"] == "chat"
    terminal.run("import", "afterthought", str(file), "--app", "copy")
    assert sorted(terminal.api.contents("/apps/copy")) == ["Has a cat.", "Likes tea."]


def test_a_file_that_is_no_export_is_refused(terminal: Terminal, tmp_path: Path) -> None:
    app = '"app": {"appId": "x"}'
    for text in ("{", "[]", '{"app": 3}', f'{{{app}, "a": NaN}}', f'{{{app}, "a": 1e400}}'):
        (tmp_path / "x.json").write_text(text)
        assert "x.json" in terminal.run("import", "afterthought", str(tmp_path / "x.json"), status=1).err, text


def test_a_long_listing_is_followed_page_by_page(terminal: Terminal) -> None:
    for number in range(205):
        terminal.api.install(f"app-{number:03}")
    assert len(terminal.json("apps", "list")) == 50
    assert len(terminal.json("apps", "list", "--limit", "203")) == 203
    assert len(terminal.json("apps", "list", "--all")) == 205


def test_what_apps_wrote_cannot_command_the_terminal(terminal: Terminal) -> None:
    path = terminal.api.install()
    terminal.api.remember(path, "[red]Likes\x1b[2J tea[/red]")
    out = terminal.run("memories", "list", "chat").out
    assert "[red]Likes" in out
    assert "\x1b" not in out


MISUSED: list[tuple[tuple[str, ...], int]] = [
    (("bogus",), 2),
    (("memories", "show", "chat", "x"), 2),
    (("apps", "update", "chat"), 2),
    (("apps", "update", "chat", "--hourly-budget", "much"), 2),
    (("apps", "update", "chat", "--hourly-budget", "nan"), 2),
    (("apps", "update", "chat", "--daily-budget", "-inf"), 2),
    (("index", "figures", "--hours", "nan"), 2),
    (("import", "mem0", "pyproject.toml", "--app", "chat", "--timeout", "nan"), 2),
    (("tuning", "set", "--alpha", "inf"), 2),
    (("apps", "show", "nope"), 1),
    (("apps", "show", ""), 1),
    (("apps", "show", ".."), 1),
    (("purge", "", "--yes"), 1),
    (("jobs", "list", "--state", "odd"), 1),
    (("apps", "show", "a/b"), 1),
    (("memories", "add", "chat", "\udcff"), 1),
]


def test_failing_and_misusing_are_told_apart(terminal: Terminal) -> None:
    for arguments, status in MISUSED:
        ran = terminal.run(*arguments, status=status)
        assert "Traceback" not in ran.err and not ran.out, arguments


def test_without_a_service_it_says_how_to_start_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AFTERTHOUGHT_ADMIN_TOKEN", "x")
    monkeypatch.setenv("AFTERTHOUGHT_PORT", str(free_port()))
    assert "./ops/up" in run(capsys, "apps", "list", status=1).err


@pytest.mark.parametrize(
    ("environment", "word"),
    [
        ({"AFTERTHOUGHT_PORT": "no"}, "AFTERTHOUGHT_PORT"),
        ({"AFTERTHOUGHT_PORT": "0"}, "--url"),
        ({"AFTERTHOUGHT_URL": "localhost:8700"}, "http://"),
        ({"AFTERTHOUGHT_PORT": "8700"}, "admin_token"),
        ({"AFTERTHOUGHT_URL": "http://elsewhere.example:8700"}, "--token"),
    ],
    ids=["wrong-port", "any-port", "no-scheme", "never-started", "token-stays-here"],
)
def test_a_wrong_setting_is_named(
    environment: dict[str, str], word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert word in run(capsys, "apps", "list", status=2).err


@pytest.mark.parametrize("command", ["up", "loop", "worker", "migrate"])
def test_no_process_starts_with_a_wrong_setting(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AFTERTHOUGHT_LEASE_SECONDS", "-1")
    assert "AFTERTHOUGHT_LEASE_SECONDS" in run(capsys, command, status=2).err


@pytest.mark.parametrize("command", ["loop", "worker"])
def test_loop_and_worker_become_the_process_they_name(command: str, tmp_path: Path) -> None:
    (tmp_path / command).mkdir()
    (tmp_path / command / "__main__.py").write_text("raise SystemExit('the folder of the user ran')")
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "AFTERTHOUGHT_PORT": str(free_port())}
    ran = subprocess.run(
        [sys.executable, "-c", f"from loop.cli.program import main; main(['{command}'])"],
        env=env | {"PYTHONSAFEPATH": "1"}, cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert ran.returncode == 2, ran.stderr
    assert "REDIS_URL is not set" in ran.stderr


def test_migrating_makes_the_schema_and_may_be_repeated(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = run(capsys, "migrate", "--json").json
    assert first["before"] is None
    assert run(capsys, "migrate", "--json").json == {"before": first["after"], "after": first["after"]}


def test_help_is_there_for_every_command_and_loads_nothing_heavy(capsys: pytest.CaptureFixture[str]) -> None:
    code = f"""
import sys
from loop.cli.program import main
try:
    main(["--help"])
except SystemExit:
    print("LOADED", sorted(set({HEAVY!r}) & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert "LOADED []" in ran.stdout
    for command in re.findall(r"^. (\w+) {2,}", ran.stdout, re.MULTILINE):
        assert "Usage" in run(capsys, command, "--help").out
