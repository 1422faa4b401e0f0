"""A real PostgreSQL for the tests: an installed one, else the one in the ``pgserver`` package (only its binaries).

One server per test process, in a short temporary directory, on a unix socket, with durability off. The server's own
rule that it never runs as root is obeyed by handing it to an unprivileged user.

A database with our tables is emptied after a test and handed out again: to copy the template takes five times as long.
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
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from shared.base.process import tied_to_me
from shared.db.schema import migrate
from tests.support.waiting import wait_until

_UNPRIVILEGED = ("postgres", "nobody", "daemon")
_PLACES = ("/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt")
_TEMPLATE = "afterthought_template"
_DROP: LiteralString = "DROP DATABASE IF EXISTS {} WITH (FORCE)"
_MOST_MEGABYTES_TO_EMPTY = 16
_CATALOGUES = ("pg_namespace", "pg_class", "pg_attribute", "pg_constraint", "pg_index", "pg_trigger", "pg_proc")
_SCHEMA = " UNION ALL ".join(f"SELECT count(*), sum(xmin::text::bigint) FROM {name}" for name in _CATALOGUES)
"""What a database answers as its template does until somebody changes a table, an index or the like."""
_OPTIONS = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "log_min_messages": "warning",
    "autovacuum_naptime": "5min",
}
_FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_EMPTY = """
DO $$
DECLARE one record;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR one IN SELECT relname, relkind FROM pg_class
               WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S') AND relname <> 'alembic_version'
    LOOP
        IF one.relkind = 'r' THEN
            EXECUTE format('DELETE FROM %I', one.relname);
        ELSE
            PERFORM setval(one.relname::regclass, 1, false);
        END IF;
    END LOOP;
END $$
"""


class NoPostgres(Exception):
    """No PostgreSQL can be started on this machine; the message says where it was looked for."""


class PostgresServer:
    """A running server; ``new_database`` hands out databases until ``stop``.

    ``durable``: what was committed survives a loss of power, as benchmarks need it.
    """

    def __init__(self, *, durable: bool = False) -> None:
        self._options = _OPTIONS if durable else _OPTIONS | _FORGETFUL
        self._user = _unprivileged_user()
        base = Path("/tmp") if os.access("/tmp", os.W_OK) else None
        self.directory = Path(tempfile.mkdtemp(prefix="at-pg-", dir=base))
        self._hand_over(self.directory)
        self.binaries = self._find_binaries()
        self._numbers = itertools.count(1)
        self._schema: list[tuple[object, ...]] = []
        self._empty: list[str] = []
        try:
            self._process = self._start()
            self._administration = self._connect()
        except (OSError, subprocess.SubprocessError) as error:
            shutil.rmtree(self.directory, ignore_errors=True)
            raise NoPostgres(f"{self.binaries} did not start: {getattr(error, 'stderr', None) or error}") from error

    @property
    def version(self) -> str:
        """The server's version, as it tells it."""
        return str(self._administration.info.parameter_status("server_version"))

    def new_database(self, *, migrated: bool = True) -> str:
        """Hand out a database for one test alone and return its address, with our tables unless told otherwise."""
        name = f"test_{next(self._numbers)}"
        if migrated and len(self._empty) > 1:
            # Under a new name, for a thread that a test left behind must not find it again; and not the last that came
            # back, whose connections are still being closed.
            former = self._empty.pop(0)
            try:
                self._administer("ALTER DATABASE {} RENAME TO {}", former, name)
                return self._url(name)
            except psycopg.errors.ObjectInUse:
                self._administer(_DROP, former)
        if migrated and not self._schema:
            self._create(_TEMPLATE)
            migrate(self._url(_TEMPLATE))
            with self._connect(_TEMPLATE) as connection:
                self._schema = connection.execute(_SCHEMA).fetchall()
        self._create(name, template=_TEMPLATE if migrated else None)
        return self._url(name)

    def take_back(self, url: str) -> None:
        """Empty a database handed out before, throwing out whoever still uses it; one that cannot be is removed."""
        name = url.partition("@/")[2].partition("?")[0]
        if self._was_emptied(name):
            self._empty.append(name)
        else:
            self._administer(_DROP, name)

    def _was_emptied(self, name: str) -> bool:
        """Empty a database if its tables are ours, unchanged, and small; return whether it is as new."""
        with self._connect(name) as connection:
            others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            connection.execute(f"SELECT pg_terminate_backend(pid) {others}")
            small = "SELECT pg_database_size(current_database()) < %s * 1024 * 1024"
            [is_small] = connection.execute(small, [_MOST_MEGABYTES_TO_EMPTY]).fetchone() or [False]
            if not (is_small and connection.execute(_SCHEMA).fetchall() == self._schema):
                return False
            connection.execute(_EMPTY)
        return True

    def stop(self) -> None:
        self._administration.close()
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(10)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _url(self, name: str) -> str:
        return f"postgresql+psycopg://postgres@/{name}?host={self.directory}"

    def _connect(self, name: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(host=str(self.directory), user="postgres", dbname=name, autocommit=True)

    def _create(self, name: str, template: str | None = None) -> None:
        self._administer("CREATE DATABASE {} TEMPLATE {}", name, template or "template0")

    def _administer(self, statement: LiteralString, *names: str) -> None:
        self._administration.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    def _start(self) -> subprocess.Popen[bytes]:
        data = self.directory / "data"
        self._run("initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        options = [part for name, value in self._options.items() for part in ("-c", f"{name}={value}")]
        with (self.directory / "server.log").open("wb") as log:
            process = subprocess.Popen(
                [str(self.binaries / "postgres"), "-D", str(data), "-k", str(self.directory), *options],
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
            self._connect().close()
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
        self._run_from(self.binaries, name, *arguments)

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
