"""The supervisor over small stand-in processes: it restarts, it gives up, it stops, and nothing outlives it."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from loop.supervisor import (
    Child,
    ChildProcess,
    Console,
    Readiness,
    RotatingLog,
    Supervisor,
)
from loop.up import ask_readiness, run_up, welcome
from shared.base.credentials import make_private_directory, read_or_make_secret
from shared.base.errors import Configuration, Transient
from shared.base.settings import read_settings
from tests.support.waiting import wait_until

_STAY = "import time, os; print('here', os.getpid(), flush=True); time.sleep(600)"
_FAIL = "import sys; print('cannot', flush=True); sys.exit(3)"
_DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
_POLITE = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit("bye " + sys.argv[1]))
print("up", flush=True)
time.sleep(600)
"""
_PARENT = (
    "import subprocess, sys, time; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
    "print('child', child.pid, flush=True); time.sleep(600)"
)
_SUPERVISOR = """
import sys
from pathlib import Path
from loop.supervisor import Child, ChildProcess, Console, Supervisor
import os
console = Console(sys.stdout)
code = sys.argv[2]
child = ChildProcess(Child("stay", (sys.executable, "-c", code), os.environ), Path(sys.argv[1]), console)
sys.exit(Supervisor([child], console, drain_seconds=float(sys.argv[3])).run())
"""


class Stage:
    """Children with what they said, and a supervisor over them that other threads may ask to stop."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.output = io.StringIO()
        self.console = Console(self.output)

    def child(self, name: str, code: str) -> ChildProcess:
        child = Child(name, (sys.executable, "-c", code), dict(os.environ))
        return ChildProcess(child, self.directory / f"{name}.log", self.console)

    @property
    def text(self) -> str:
        return self.output.getvalue()

    def numbers(self, word: str) -> list[int]:
        lines = [line.split() for line in self.text.splitlines()]
        return [int(words[-1]) for words in lines if word in words]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@contextmanager
def _meanwhile(story: list[object], supervisor: Supervisor) -> Iterator[None]:
    """Run the callables of ``story`` in a thread while the supervisor has the main one, then stop it."""
    failures: list[Exception] = []

    def tell() -> None:
        try:
            for step in story:
                assert callable(step)
                step()
        except (AssertionError, OSError) as error:
            failures.append(error)
        finally:
            supervisor.request_stop()

    thread = threading.Thread(target=tell)
    thread.start()
    yield
    thread.join()
    if failures:
        raise failures[0]


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/status")
    return "\nState:\tZ" not in status.read_text() if status.exists() else True


def test_a_child_that_is_killed_is_started_again_and_the_log_says_how_it_ended(stage: Stage) -> None:
    supervisor = Supervisor([stage.child("stay", _STAY)], stage.console, first_wait_seconds=0.05)
    story: list[object] = [
        lambda: wait_until(lambda: stage.numbers("here"), 60, "the child"),
        lambda: os.kill(stage.numbers("here")[0], signal.SIGKILL),
        lambda: wait_until(lambda: len(stage.numbers("here")) == 2, 60, "its successor"),
    ]
    with _meanwhile(story, supervisor):
        assert supervisor.run() == 0
    assert "stay ended (SIGKILL); starting it again in 0.05 s" in stage.text
    assert not any(_runs(pid) for pid in stage.numbers("here"))


def test_a_child_that_never_lives_ends_the_start_after_growing_waits(stage: Stage) -> None:
    never = Readiness(False, {})
    supervisor = Supervisor([stage.child("fail", _FAIL)], stage.console, look=lambda: never, first_wait_seconds=0.01)
    assert supervisor.run() == 1
    waits = [line.split()[-2] for line in stage.text.splitlines() if "starting it again" in line]
    assert waits == ["0.01", "0.02", "0.04", "0.08", "0.16"]
    assert "exit status 3" in stage.text
    assert "ended 5 times before the service was ready" in stage.text


def test_once_ready_a_failing_child_never_ends_the_service(stage: Stage) -> None:
    supervisor = Supervisor([stage.child("fail", _FAIL)], stage.console, first_wait_seconds=0.01)
    story: list[object] = [lambda: wait_until(lambda: stage.text.count("cannot") >= 6, 20, "six tries")]
    with _meanwhile(story, supervisor):
        assert supervisor.run() == 0


def test_a_start_that_takes_long_says_once_what_it_lacks(stage: Stage) -> None:
    lacks = Readiness(False, {"redis": "Redis does not answer."})
    supervisor = Supervisor([stage.child("stay", _STAY)], stage.console, look=lambda: lacks, late_seconds=0.0)
    with _meanwhile([lambda: wait_until(lambda: "redis:" in stage.text, 60, "what is lacking")], supervisor):
        supervisor.run()
    assert stage.text.count("redis: Redis does not answer.") == 1


def test_what_a_child_started_itself_ends_with_it(stage: Stage) -> None:
    supervisor = Supervisor([stage.child("parent", _PARENT)], stage.console)
    with _meanwhile([lambda: wait_until(lambda: stage.numbers("child"), 60, "the grandchild")], supervisor):
        supervisor.run()
    wait_until(lambda: not _runs(stage.numbers("child")[0]), 60, "the end of the grandchild")


def test_a_child_that_ignores_sigterm_is_killed_after_the_drain_time(stage: Stage) -> None:
    supervisor = Supervisor([stage.child("deaf", _DEAF)], stage.console, drain_seconds=0.2)
    with _meanwhile([lambda: wait_until(lambda: "deaf" in stage.text, 60, "the child")], supervisor):
        assert supervisor.run() == 0
    assert "did not end in time and is killed" in stage.text


def test_the_foundation_stops_after_everything_that_stands_on_it(stage: Stage) -> None:
    def part(name: str) -> ChildProcess:
        child = Child(name, (sys.executable, "-c", _POLITE, name), dict(os.environ))
        return ChildProcess(child, stage.directory / name, stage.console)

    supervisor = Supervisor([part("a"), part("b")], stage.console, foundation=[part("ground")])
    with _meanwhile([lambda: wait_until(lambda: stage.text.count("| up") == 3, 60, "all three")], supervisor):
        supervisor.run()
    farewells = [line.split()[-1] for line in stage.text.splitlines() if "bye" in line]
    assert sorted(farewells[:2]) == ["a", "b"]
    assert farewells[2] == "ground"


def test_a_log_file_moves_aside_when_it_is_full_and_old_ones_go(tmp_path: Path) -> None:
    log = RotatingLog(tmp_path / "x.log", limit_bytes=10, kept=2)
    for number in range(8):
        log.write(b"line %d\n" % number)
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.log", "x.log.1", "x.log.2"]
    assert (tmp_path / "x.log").read_bytes() == b"line 7\n"
    assert (tmp_path / "x.log.1").read_bytes() == b"line 6\n"


@contextmanager
def _supervisor_process(
    directory: Path, code: str, drain_seconds: float = 5.0
) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    arguments = [sys.executable, "-c", _SUPERVISOR, str(directory / "stay.log"), code, str(drain_seconds)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().split()
        finally:
            process.kill()


@contextmanager
def _inheriting(hangup: signal.Handlers) -> Iterator[None]:
    """Start processes that find SIGHUP as ``hangup`` says."""
    before = signal.signal(signal.SIGHUP, hangup)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_stops_everything_and_is_no_failure(number: signal.Signals, tmp_path: Path) -> None:
    # The tests themselves may have been started with nohup.
    with _inheriting(signal.SIG_DFL), _supervisor_process(tmp_path, _STAY) as (process, words):
        process.send_signal(number)
        assert process.wait(60) == 0
        assert not _runs(int(words[-1]))


def test_started_with_nohup_it_outlives_the_terminal(tmp_path: Path) -> None:
    with _inheriting(signal.SIG_IGN), _supervisor_process(tmp_path, _STAY) as (process, words):
        process.send_signal(signal.SIGHUP)
        os.kill(int(words[-1]), signal.SIGKILL)
        assert process.stdout is not None
        assert "starting it again" in process.stdout.readline(), "it still looks after its child"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_a_second_signal_does_not_wait_for_the_drain_time(tmp_path: Path) -> None:
    with _supervisor_process(tmp_path, _DEAF, drain_seconds=600) as (process, _):
        assert process.stdout is not None
        process.send_signal(signal.SIGINT)
        assert "once more" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_a_port_that_is_taken_is_named_with_the_setting_that_changes_it(tmp_path: Path) -> None:
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        port = squatter.getsockname()[1]
        with pytest.raises(Configuration, match=rf"Port {port} .*AFTERTHOUGHT_PORT"):
            run_up(read_settings(home=tmp_path, port=port), Console(io.StringIO()))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"host": "192.0.2.1"}, r"AFTERTHOUGHT_HOST: cannot listen on 192\.0\.2\.1"),
        ({"home": "file"}, r"file.* cannot be made a directory .*AFTERTHOUGHT_HOME"),
        ({"home": "file/below"}, r"file.* cannot be made a directory .*AFTERTHOUGHT_HOME"),
    ],
    ids=["an address of another machine", "a home that is a file", "a home below a file"],
)
def test_what_cannot_be_is_named_with_the_setting_that_changes_it(
    wrong: dict[str, str], said: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    settings = read_settings(home=tmp_path / wrong.get("home", "."), host=wrong.get("host", "127.0.0.1"))
    with pytest.raises(Configuration, match=said):
        run_up(settings, Console(io.StringIO()))


def test_a_database_that_is_none_ends_the_start_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "afterthought.db").write_bytes(b"no database" * 1000)
    with pytest.raises(Transient, match=r"DATABASE_URL: .*file is not a database"):
        run_up(read_settings(home=tmp_path, port=0), Console(io.StringIO()))


def test_many_who_ask_for_the_token_at_once_get_the_same_one(tmp_path: Path) -> None:
    make_private_directory(tmp_path / "home")
    barrier, tokens = threading.Barrier(8), []

    def ask() -> None:
        barrier.wait()
        tokens.append(read_or_make_secret(tmp_path / "home" / "admin_token"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tokens) == 8
    assert len(set(tokens)) == 1


@pytest.mark.parametrize(("mode", "content"), [(0o644, "secret"), (0o600, "  \n")], ids=["readable by others", "empty"])
def test_a_bad_token_file_is_refused_with_what_to_do(mode: int, content: str, tmp_path: Path) -> None:
    path = tmp_path / "admin_token"
    path.write_text(content)
    path.chmod(mode)
    with pytest.raises(Configuration, match=r"chmod 600|delete it"):
        read_or_make_secret(path)


_MODEL = {"ok": False, "needed": False, "detail": "It has no model tiny. Run: ollama pull tiny"}


_FINE = {"ok": True, "needed": True, "detail": "It answers."}


@contextmanager
def _loop(status: int, body: bytes) -> Iterator[int]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, {"dependencies": {"redis": _FINE}}, Readiness(True, {})),
        (200, {"dependencies": {"redis": _FINE, "ollama": _MODEL}}, Readiness(True, {"ollama": str(_MODEL["detail"])})),
        (503, {"dependencies": {"ollama": _MODEL}}, Readiness(False, {"ollama": str(_MODEL["detail"])})),
        (404, ["a stranger"], Readiness(False, {})),
        (200, None, Readiness(True, {})),
    ],
    ids=["well", "without-its-model", "not-ready", "not-ours", "nothing-said"],
)
def test_a_loop_says_whether_it_can_serve_and_what_it_lacks(status: int, body: object, expected: Readiness) -> None:
    with _loop(status, json.dumps(body).encode()) as port:
        assert ask_readiness("127.0.0.1", port) == expected


def test_the_welcome_says_when_the_model_cannot_be_asked_and_what_to_do(tmp_path: Path) -> None:
    settings = read_settings(home=tmp_path, model="ollama:tiny")
    said = welcome("http://127.0.0.1:8700", "token", settings, Readiness(True, {"ollama": str(_MODEL["detail"])}))
    assert "ollama:tiny, which cannot be asked yet: It has no model tiny. Run: ollama pull tiny" in said
    assert "cannot be asked" not in welcome("http://127.0.0.1:8700", "token", settings, Readiness(True, {}))
