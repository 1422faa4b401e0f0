"""What the runbook has an operator do by hand is done as it says: backup and restore, and changing tokens."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import make_url

from tests.support.postgres import PostgresServer
from tests.support.services import EmbeddedRedis, System, start_command, start_redis, start_system
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
RUNBOOK = (Path(__file__).parents[2] / "ops" / "runbook.md").read_text("utf-8")


def _commands(heading: str, language: str = "sh") -> list[str]:
    """The blocks of commands of one section of the runbook, as they stand there."""
    section = RUNBOOK.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


def _run(script: str, env: dict[str, str]) -> None:
    done = subprocess.run(["bash", "-euc", script], env=os.environ | env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


class _Diary:
    """A running system with one app, spoken to as its admin."""

    def __init__(self, system: System, client: httpx.Client) -> None:
        self.system = system
        self._client = client

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._client.request(method, path, json=body)
        assert answer.status_code < 400, answer.text
        return answer.json()

    def remember(self, name: str, text: str) -> None:
        """Hold a conversation, end it, and wait for its memory."""
        base = f"/apps/diary/conversations/{name}"
        self.ask("POST", "/apps/diary/conversations", {"conversationId": name})
        self.ask("POST", f"{base}/messages", {"role": "user", "content": text})
        self.ask("POST", f"{base}/end", {})
        wait_until(lambda: self.states() <= {"done", "nothing"}, 240, f"the jobs of {name}")

    def states(self) -> set[str]:
        return {job["state"] for job in self.ask("GET", "/jobs?appId=diary&limit=200")["jobs"]}

    def memories(self) -> str:
        return json.dumps(self.ask("GET", "/apps/diary/memories"))


def _backup_sqlite(system: System, folder: Path) -> Callable[[], str]:
    """Copy a database that is in use, as the runbook does it; return what restores it and gives its new address."""
    backup, restore = _commands("Backup and restore")[:2]
    python = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    _run(backup, python | {"AFTERTHOUGHT_HOME": str(system.home), "BACKUP": str(folder)})

    def restored() -> str:
        home = folder / "new-home"
        home.mkdir(mode=0o700)
        _run(restore, python | {"AFTERTHOUGHT_HOME": str(home), "BACKUP": str(folder)})
        return f"sqlite:///{home / 'afterthought.db'}"

    return restored


def _backup_postgres(server: PostgresServer, url: str, system: System, folder: Path) -> Callable[[], str]:
    """As for SQLite, with PostgreSQL's own tools."""
    backup, restore = _commands("Backup and restore")[2:4]
    tools = {"PATH": f"{server.binaries}:{os.environ['PATH']}", "BACKUP": str(folder)}
    tools |= {"AFTERTHOUGHT_HOME": str(system.home)}
    _run(backup, tools | {"DATABASE_URL": _plain(url)})

    def restored() -> str:
        new = server.new_database(migrated=False)
        (folder / "new-home").mkdir(mode=0o700)
        _run(restore, tools | {"DATABASE_URL": _plain(new), "AFTERTHOUGHT_HOME": str(folder / "new-home")})
        return new

    return restored


def _afterthought(system: System, *arguments: str, status: int = 0, **settings: str) -> str:
    """Run a command with the settings of the system, as an operator does, and return what it prints."""
    command = start_command(system.home, {**system.loop.env, **settings}, *arguments)
    assert command.popen is not None and command.popen.wait(120) == status, command.log
    return command.log


def _plain(url: str) -> str:
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


@pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.long])]
)
def test_what_was_backed_up_while_it_ran_is_served_after_a_restore_on_an_empty_machine(
    database: str, tmp_path: Path, own_redis: EmbeddedRedis, request: pytest.FixtureRequest
) -> None:
    backup, old = tmp_path / "backup", tmp_path / "old"
    backup.mkdir()
    server: PostgresServer | None = request.getfixturevalue("postgres_server") if database == "postgresql" else None
    url = f"sqlite:///{old / 'home' / 'afterthought.db'}" if server is None else server.new_database(migrated=False)
    (old / "home").mkdir(parents=True, mode=0o700)
    # What was under way in the backup is taken up again when its lease is over.
    soon = {"AFTERTHOUGHT_LEASE_SECONDS": "5", "AFTERTHOUGHT_HEARTBEAT_SECONDS": "2"}
    with start_system(old, url, own_redis.url, env=soon) as system, system.client() as client:
        diary = _Diary(system, client)
        diary.ask("POST", "/apps", {"appId": "diary", "name": "Diary"})
        diary.remember("monday", "I sold my house in Bergen and live on a boat now.")
        (system.home / "sessions").mkdir(exist_ok=True)
        (system.home / "sessions" / "kept.txt").write_text("a recorded session")
        restored = _backup_sqlite(system, backup) if server is None else _backup_postgres(server, url, system, backup)
        diary.remember("tuesday", "My sister opened a bakery in Oslo.")
        token = diary.ask("POST", "/apps/diary/tokens", {"label": "later"})["token"]
    # An empty machine: another home, another Redis, the database as it was backed up.
    new_url = restored()
    assert (backup / "new-home" / "sessions" / "kept.txt").read_text() == "a recorded session"
    empty = start_redis(tmp_path / "new-redis")
    try:
        with start_system(tmp_path / "new", new_url, empty.url, env=soon) as system, system.client() as client:
            diary = _Diary(system, client)
            assert "Bergen" in diary.memories()
            assert "Oslo" not in diary.memories()
            with system.client(token) as later:
                assert later.get("/apps/diary/memories").status_code == 401, "it was issued after the backup"
            diary.remember("wednesday", "I am learning to weld aluminium masts.")
            assert "weld" in diary.memories()
    finally:
        empty.stop()


def test_an_apps_token_is_changed_without_a_moment_in_which_none_opens(
    tmp_path: Path, sqlite_url: str, own_redis: EmbeddedRedis
) -> None:
    with start_system(tmp_path / "system", sqlite_url, own_redis.url, 0) as system, system.client() as client:
        diary = _Diary(system, client)
        diary.ask("POST", "/apps", {"appId": "diary", "name": "Diary"})
        old = json.loads(_afterthought(system, "apps", "token", "diary", "--json"))
        new = json.loads(_afterthought(system, "apps", "token", "diary", "--json"))
        with system.client(old["token"]) as app, system.client(new["token"]) as successor:
            assert [one.get("/apps/diary/memories").status_code for one in (app, successor)] == [200, 200]
            listed = json.loads(_afterthought(system, "apps", "tokens", "diary", "--json"))
            assert old["tokenId"] in {token["tokenId"] for token in listed}
            _afterthought(system, "apps", "revoke", "diary", old["tokenId"])
            assert [one.get("/apps/diary/memories").status_code for one in (app, successor)] == [401, 200]


def test_the_admin_token_changes_with_a_restart_and_the_apps_tokens_stay(
    tmp_path: Path, sqlite_url: str, own_redis: EmbeddedRedis
) -> None:
    with start_system(tmp_path / "system", sqlite_url, own_redis.url, 0) as system, system.client() as client:
        diary = _Diary(system, client)
        diary.ask("POST", "/apps", {"appId": "diary", "name": "Diary"})
        token = diary.ask("POST", "/apps/diary/tokens", {"label": "app"})["token"]
        # Of its own making, as without AFTERTHOUGHT_ADMIN_TOKEN; the runbook removes the file.
        system.loop.env.pop("AFTERTHOUGHT_ADMIN_TOKEN")
        (system.home / "admin_token").unlink(missing_ok=True)
        system.loop.stop()
        system.loop.start()
        system.wait_ready()
        made = (system.home / "admin_token").read_text().strip()
        for given, expected in ((system.admin_token, 401), (made, 200)):
            with system.client(given) as admin:
                assert admin.get("/apps").status_code == expected
        with system.client(token) as app:
            assert app.get("/apps/diary/memories").status_code == 200


@pytest.mark.long
def test_tokens_that_were_set_change_with_a_restart(tmp_path: Path, sqlite_url: str, own_redis: EmbeddedRedis) -> None:
    paths = {"AFTERTHOUGHT_ADMIN_TOKEN": "/apps", "AFTERTHOUGHT_READ_TOKEN": "/apps"}
    paths["AFTERTHOUGHT_METRICS_TOKEN"] = "/metrics"
    old = {name: f"old-{name}" for name in paths}
    with start_system(tmp_path / "system", sqlite_url, own_redis.url, 0, env=old) as system:
        system.loop.env = {**system.loop.env, **{name: f"new-{name}" for name in paths}}
        opened = []
        for _ in range(2):
            for name, path in paths.items():
                for age in ("old", "new"):
                    with system.client(f"{age}-{name}") as client:
                        opened.append(client.get(path).status_code)
            system.restart(system.loop)
    assert opened == [200, 401] * 3 + [401, 200] * 3


def test_what_was_asked_for_before_an_upgrade_is_done_after_it(
    tmp_path: Path, sqlite_url: str, own_redis: EmbeddedRedis
) -> None:
    with start_system(tmp_path / "system", sqlite_url, own_redis.url) as system, system.client() as client:
        diary = _Diary(system, client)
        diary.ask("POST", "/apps", {"appId": "diary", "name": "Diary"})
        system.workers[0].stop()
        base = "/apps/diary/conversations"
        diary.ask("POST", base, {"conversationId": "monday"})
        diary.ask("POST", f"{base}/monday/messages", {"role": "user", "content": "I sold my house in Bergen."})
        diary.ask("POST", f"{base}/monday/end", {})
        system.loop.stop()
        assert "schema is current" in _afterthought(system, "migrate")
        system.loop.start()
        system.wait_ready()
        system.workers[0].start()
        wait_until(lambda: "Bergen" in diary.memories(), 120, "the memory")
        findings = json.loads(_afterthought(system, "doctor", "--json"))["findings"]
        assert [one["health"] for one in findings if one["what"] == "schema"] == ["ok"]


@pytest.mark.parametrize("command", ["migrate", "up"])
def test_an_older_release_refuses_a_newer_database(
    command: str, tmp_path: Path, sqlite_url: str, own_redis: EmbeddedRedis
) -> None:
    with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as database:
        database.execute("UPDATE alembic_version SET version_num = 'of_a_later_release'")
    with start_system(tmp_path / "system", f"sqlite:///{tmp_path}/other.db", own_redis.url, loop=False) as system:
        said = _afterthought(system, command, status=2, DATABASE_URL=sqlite_url)
    assert "Is it a newer one's?" in said
