"""A PostgreSQL primary whose standby has everything before it is acknowledged, for tests that kill the primary."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import psycopg

from shared.base.process import tied_to_me
from tests.support.postgres import PostgresServer
from tests.support.waiting import wait_until

PORT, STANDBY_PORT = 5432, 5433


class PostgresPair:
    """Two servers on one machine; ``url`` names both, and leads to whichever takes writes."""

    def __init__(self) -> None:
        self.primary = PostgresServer(durable=True)
        self.name = self.primary.new_database().partition("@/")[2].partition("?")[0]
        self._data = self.primary.directory / "standby"
        self._standby = self._start_standby()

    @property
    def url(self) -> str:
        """Both servers; a connection is only had from the one that takes writes."""
        hosts = "&".join(f"host={self.primary.directory}:{port}" for port in (PORT, STANDBY_PORT))
        return f"postgresql+psycopg://postgres@/{self.name}?{hosts}&target_session_attrs=read-write"

    def kill_primary(self) -> None:
        os.killpg(self.primary._process.pid, signal.SIGKILL)
        self.primary._process.wait()

    def promote(self) -> None:
        self.primary._run("pg_ctl", "promote", "-w", "-D", str(self._data))

    def stop(self) -> None:
        os.killpg(self._standby.pid, signal.SIGQUIT)
        self._standby.wait(20)
        self.primary.stop()

    def _start_standby(self) -> subprocess.Popen[bytes]:
        where, data = str(self.primary.directory), str(self._data)
        self.primary._run(
            "pg_basebackup", "-D", data, "-h", where, "-U", "postgres", "-R", "-c", "fast", "-X", "stream"
        )
        with Path(where, "standby.log").open("wb") as log:
            process = subprocess.Popen(
                [str(self.primary.binaries / "postgres"), "-D", data, "-k", where, "-p", str(STANDBY_PORT),
                 "-c", "listen_addresses=", "-c", "max_connections=200"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=where, start_new_session=True,
                preexec_fn=tied_to_me(signal.SIGQUIT), **self.primary._as_user(),
            )  # fmt: skip
        with psycopg.connect(host=where, user="postgres", autocommit=True) as connection:
            # Of the primary alone: the standby has its own copy of the settings, and would wait for a third.
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
            following = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'"
            wait_until(lambda: (connection.execute(following).fetchone() or (0,))[0], 60, "the standby to follow")
        return process
