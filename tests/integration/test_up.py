"""The whole of ``run_up`` in a process of its own, with a small web server standing in for the loop."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from loop.embedded_redis import free_port
from shared.base.process import WHEN_TOLD
from shared.db.schema import migrate
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

_LOOP = """
import json, os, sqlite3, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Ready(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass

print("loaded", flush=True)
sys.stdin.read()
with sqlite3.connect(os.environ["DATABASE_URL"].removeprefix("sqlite:///")) as database:
    [migrated] = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'messages'").fetchone()
names = ("REDIS_URL", "DATABASE_URL", "AFTERTHOUGHT_ADMIN_TOKEN", "AFTERTHOUGHT_PORT")
print(json.dumps({"pid": os.getpid(), "migrated": migrated, **{name: os.environ[name] for name in names}}), flush=True)
HTTPServer(("127.0.0.1", int(os.environ["AFTERTHOUGHT_PORT"])), Ready).serve_forever()
"""
_UP = """
import sys
from loop.up import run_up
from shared.base.errors import Configuration
from shared.base.settings import read_settings
stay = "import time; time.sleep(600)"
commands = {"loop": (sys.executable, "-c", sys.argv[1]), "worker": (sys.executable, "-c", stay)}
try:
    sys.exit(run_up(read_settings(), commands=commands))
except Configuration as error:
    sys.exit(error.message)
"""


class Up:
    def __init__(self, home: Path, process: subprocess.Popen[bytes], output: Path) -> None:
        self.home = home
        self.process = process
        self._output = output

    @property
    def text(self) -> str:
        return self._output.read_text()

    def wait_ready(self) -> dict[str, str]:
        """Return what the loop was told, once the service says that it is ready."""
        wait_until(lambda: "is ready" in self.text or self.process.poll() is not None, 60, "the welcome")
        assert self.process.poll() is None, self.text
        # What the loop prints goes through a thread of its own.
        wait_until(self.told, 60, "what the loop was told")
        return self.told()[-1]

    def told(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in re.findall(r"^loop +\| (\{.*)$", self.text, re.MULTILINE)]

    def redis(self) -> redis.Redis:
        return redis.Redis.from_url(self.told()[-1]["REDIS_URL"], retry=Retry(NoBackoff(), 0), socket_timeout=5)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(90)


@contextmanager
def _up(home: Path, **settings: str) -> Iterator[Up]:
    output = home.with_name(f"{home.name}-{len(list(home.parent.iterdir()))}.txt")
    env = {**os.environ, "AFTERTHOUGHT_HOME": str(home), "AFTERTHOUGHT_PORT": "0", **settings}
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", _UP, _LOOP], env=env, stdout=file, stderr=subprocess.STDOUT, cwd=home.parent
        )
    with process:
        try:
            yield Up(home, process, output)
        finally:
            process.kill()


@pytest.fixture(autouse=True)
def _find_our_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    for name in ("REDIS_URL", "DATABASE_URL", "AFTERTHOUGHT_ADMIN_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def _runs(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "\nState:\tZ" not in status.read_text()


def test_it_prints_the_address_the_token_and_a_next_step_and_keeps_its_home_to_itself(tmp_path: Path) -> None:
    with _up(tmp_path / "home") as up:
        told = up.wait_ready()
        token = (tmp_path / "home" / "admin_token").read_text().strip()
        assert f"http://127.0.0.1:{told['AFTERTHOUGHT_PORT']}" in up.text
        assert f"Admin token  {token}" in up.text
        assert "curl -X POST" in up.text
        assert told["AFTERTHOUGHT_ADMIN_TOKEN"] == token
        assert up.stop() == 0
    assert not _runs(int(told["pid"]))
    assert [path for path in (tmp_path / "home").rglob("*") if path.stat().st_mode & 0o077] == []
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700


def test_a_token_and_a_redis_of_one_s_own_are_used_and_the_token_is_not_printed(tmp_path: Path, redis_url: str) -> None:
    with _up(tmp_path / "home", AFTERTHOUGHT_ADMIN_TOKEN="canary-token", REDIS_URL=redis_url) as up:
        told = up.wait_ready()
        assert (told["AFTERTHOUGHT_ADMIN_TOKEN"], told["REDIS_URL"]) == ("canary-token", redis_url)
        assert not (tmp_path / "home" / "redis").exists()
        welcome = "\n".join(line for line in up.text.splitlines() if not line.startswith("loop "))
        assert "canary" not in welcome and "Bearer $AFTERTHOUGHT_ADMIN_TOKEN" in welcome


def test_its_processes_load_while_the_schema_is_made_and_begin_when_it_stands(tmp_path: Path) -> None:
    with _up(tmp_path / "home") as up:
        assert up.wait_ready()["migrated"] == 1
        os.kill(int(up.told()[0]["pid"]), signal.SIGKILL)
        wait_until(lambda: len(up.told()) == 2, 60, "the loop to begin again, untold")


@pytest.mark.parametrize("module", ["loop", "worker"])
def test_a_process_that_is_to_be_told_touches_nothing_before(module: str, tmp_path: Path) -> None:
    env = {
        **os.environ,
        "AFTERTHOUGHT_HOME": str(tmp_path),
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "AFTERTHOUGHT_PORT": f"{free_port()}",
    }
    command = [sys.executable, "-m", module, WHEN_TOLD]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as one:
        assert one.stdin is not None and one.stdout is not None
        migrate(f"sqlite:///{tmp_path}/afterthought.db")
        one.stdin.close()
        # The stand-in address has no Redis, which the loop says at any time.
        said = next(line for line in iter(one.stdout.readline, b"") if b"notices_lost" not in line)
        one.kill()
    assert f"{module}_started" in said.decode()


def test_a_second_start_finds_yesterday_s_queue_and_token(tmp_path: Path) -> None:
    with _up(tmp_path / "home") as up:
        first = up.wait_ready()
        with up.redis() as client:
            client.set("yesterday", "kept")
        assert up.stop() == 0
    with _up(tmp_path / "home") as up:
        second = up.wait_ready()
        with up.redis() as client:
            assert client.get("yesterday") == b"kept"
        assert up.stop() == 0
    same = {"REDIS_URL", "DATABASE_URL", "AFTERTHOUGHT_ADMIN_TOKEN"}
    assert {name: first[name] for name in same} == {name: second[name] for name in same}


def test_stopped_it_leaves_the_database_in_one_file_also_after_a_kill(tmp_path: Path) -> None:
    with _up(tmp_path / "home") as up:
        file = up.wait_ready()["DATABASE_URL"].removeprefix("sqlite:///")
        # As a worker that is killed: it wrote, and never closed the database.
        killed = f"import os, sqlite3; o = sqlite3.connect({file!r}); o.execute('PRAGMA journal_mode=WAL'); "
        subprocess.run(
            [sys.executable, "-c", f"{killed}o.execute('CREATE TABLE kept (one)'); o.commit(); os._exit(9)"],
            check=False,
        )
        assert Path(f"{file}-wal").stat().st_size
        assert up.stop() == 0
    assert not Path(f"{file}-wal").exists()
    with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as copied:
        assert copied.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_redis_is_started_again_at_the_same_address_when_it_dies(tmp_path: Path) -> None:
    with _up(tmp_path / "home") as up:
        up.wait_ready()
        with up.redis() as client:
            pid = client.info("server")["process_id"]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: "redis ended (SIGKILL)" in up.text, 60, "the death to be noticed")
        wait_until(lambda: _answers(up), 20, "Redis at its old address")
        assert up.stop() == 0


def _answers(up: Up) -> bool:
    with up.redis() as client:
        try:
            return bool(client.ping())
        except redis.ConnectionError:
            return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties a process to its parent")
def test_killed_it_leaves_nothing_running_and_the_home_free(tmp_path: Path) -> None:
    with _up(tmp_path / "home") as up:
        told = up.wait_ready()
        with up.redis() as client:
            pids = [int(told["pid"]), client.info("server")["process_id"]]
        up.process.kill()
        up.process.wait()
        wait_until(lambda: not any(map(_runs, pids)), 60, "the end of everything it started")
    with _up(tmp_path / "home") as up:
        up.wait_ready()
        assert up.stop() == 0


def test_a_second_one_on_the_same_home_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    with _up(tmp_path / "home") as first:
        first.wait_ready()
        with _up(tmp_path / "home") as second:
            assert second.process.wait(90) == 1
            assert f"already runs in {tmp_path / 'home'} (process {first.process.pid})" in second.text
        assert first.process.poll() is None
        assert first.stop() == 0
