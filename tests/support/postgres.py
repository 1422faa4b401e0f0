"""A real PostgreSQL for the tests: an installed one, else the one in the ``pgserver`` package (only its binaries).

One server per test process, in a short temporary directory, on a unix socket, with durability off. The server's own
rule that it never runs as root is obeyed by handing it to an unprivileged user.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from shared.db.schema import migrate
from shared.process import tied_to_me
from tests.support.waiting import wait_until

_UNPRIVILEGED = ("postgres", "nobody", "daemon")
_PLACES = ("/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt")
_TEMPLATE = "afterthought_template"
_OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "log_min_messages": "warning",
    "autovacuum_naptime": "5min",
}


class NoPostgres(Exception):
    """No PostgreSQL can be started on this machine; the message says where it was looked for."""


class PostgresServer:
    """A running server; ``new_database`` hands out databases until ``stop``."""

    def __init__(self) -> None:
        self._user = _unprivileged_user()
        base = Path("/tmp") if os.access("/tmp", os.W_OK) else None
        self.directory = Path(tempfile.mkdtemp(prefix="at-pg-", dir=base))
        self._hand_over(self.directory)
        self._binaries = self._find_binaries()
        self._numbers = itertools.count(1)
        self._migrated = False
        try:
            self._process = self._start()
        except (OSError, subprocess.SubprocessError) as error:
            shutil.rmtree(self.directory, ignore_errors=True)
            raise NoPostgres(f"{self._binaries} did not start: {getattr(error, 'stderr', None) or error}") from error

    @property
    def version(self) -> str:
        """The server's version, as it tells it."""
        with self._administration() as connection:
            return str(connection.info.parameter_status("server_version"))

    def new_database(self, *, migrated: bool = True) -> str:
        """Create a database of its own for one test and return its address, with our tables unless told otherwise."""
        if migrated and not self._migrated:
            self._create(_TEMPLATE)
            migrate(self._url(_TEMPLATE))
            self._migrated = True
        name = f"test_{next(self._numbers)}"
        self._create(name, template=_TEMPLATE if migrated else None)
        return self._url(name)

    def drop(self, url: str) -> None:
        """Remove a database handed out before, throwing out whoever still uses it."""
        name = url.partition("@/")[2].partition("?")[0]
        with self._administration() as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def stop(self) -> None:
        """End the server and remove everything it wrote."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(10)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _url(self, name: str) -> str:
        return f"postgresql+psycopg://postgres@/{name}?host={self.directory}"

    def _administration(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(host=str(self.directory), user="postgres", dbname="postgres", autocommit=True)

    def _create(self, name: str, template: str | None = None) -> None:
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
            sql.Identifier(name), sql.Identifier(template or "template0")
        )
        with self._administration() as connection:
            connection.execute(statement)

    def _start(self) -> subprocess.Popen[bytes]:
        data = self.directory / "data"
        self._run("initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        options = [part for name, value in _OPTIONS.items() for part in ("-c", f"{name}={value}")]
        with (self.directory / "server.log").open("wb") as log:
            process = subprocess.Popen(
                [str(self._binaries / "postgres"), "-D", str(data), "-k", str(self.directory), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                start_new_session=True,
                preexec_fn=tied_to_me(signal.SIGQUIT),
                **self._as_user(),
            )
        wait_until(lambda: process.poll() is not None or self._answers(), 60, "PostgreSQL to start")
        if process.poll() is not None:
            raise NoPostgres(f"PostgreSQL ended at once: {(self.directory / 'server.log').read_text()}")
        return process

    def _answers(self) -> bool:
        try:
            self._administration().close()
        except psycopg.OperationalError:
            return False
        return True

    def _find_binaries(self) -> Path:
        for directory in _candidates():
            if self._can_run(directory):
                return directory
        carried = _carried_binaries()
        if carried is not None:
            # Not executable in place for the unprivileged user (a checkout below /root, say): use a copy that is.
            copy = self._copy_of(carried)
            if self._can_run(copy):
                return copy
        shutil.rmtree(self.directory, ignore_errors=True)
        raise NoPostgres(
            "no PostgreSQL on the PATH or in /usr/lib/postgresql, and no pgserver package; install postgresql"
        )

    def _copy_of(self, carried: Path) -> Path:
        """Copy the package and the libraries beside it, which its binaries find by their relative place."""
        package, copies = carried.parents[1], self.directory / "packages"
        for source in package.parent.glob("pgserver*"):
            if source.is_dir():
                shutil.copytree(source, copies / source.name, symlinks=True)
        self._hand_over(copies)
        return copies / carried.relative_to(package.parent)

    def _can_run(self, directory: Path) -> bool:
        try:
            self._run_from(directory, "initdb", "--version")
            self._run_from(directory, "postgres", "--version")
        except (OSError, subprocess.SubprocessError):
            return False
        return True

    def _run(self, name: str, *arguments: str) -> None:
        self._run_from(self._binaries, name, *arguments)

    def _run_from(self, directory: Path, name: str, *arguments: str) -> None:
        subprocess.run(
            [str(directory / name), *arguments],
            check=True,
            capture_output=True,
            timeout=120,
            cwd=self.directory,
            **self._as_user(),
        )

    def _as_user(self) -> dict[str, Any]:
        if self._user is None:
            return {}
        return {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}

    def _hand_over(self, top: Path) -> None:
        if self._user is None:
            return
        for path in (top, *top.rglob("*")):
            os.chown(path, self._user.pw_uid, self._user.pw_gid, follow_symlinks=False)


def _unprivileged_user() -> pwd.struct_passwd | None:
    """Return whom to run the server as, or None when we are nobody special ourselves."""
    if os.geteuid() != 0:
        return None
    known = {user.pw_name: user for user in pwd.getpwall()}
    for name in _UNPRIVILEGED:
        if name in known:
            return known[name]
    raise NoPostgres(f"PostgreSQL does not run as root, and none of the users {', '.join(_UNPRIVILEGED)} exists")


def _candidates() -> Iterator[Path]:
    on_path = shutil.which("postgres")
    if on_path:
        yield Path(on_path).resolve().parent
    for place in _PLACES:
        yield from sorted(Path(place).glob("*/bin"), key=_newest_first)
    carried = _carried_binaries()
    if carried is not None:
        yield carried


def _newest_first(directory: Path) -> int:
    digits = "".join(filter(str.isdigit, directory.parent.name))
    return -int(digits or 0)


def _carried_binaries() -> Path | None:
    # Found, not imported: importing it would write lock files and a user into the machine.
    specification = importlib.util.find_spec("pgserver")
    for place in (specification.submodule_search_locations or ()) if specification else ():
        return Path(place) / "pginstall" / "bin"
    return None
