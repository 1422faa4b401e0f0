"""A PostgreSQL that vanishes as a machine does: nothing closes its connections, and nothing it is sent is answered.

A network of its own is made for it, in a process that runs this file: the server's address is taken away there, and
given back.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import pytest
import sqlalchemy as sa

from shared.base.errors import Transient
from shared.db import engine
from shared.db.engine import Database
from tests.support import postgres

_ADDRESS = "127.0.0.1"
pytestmark = [pytest.mark.integration, pytest.mark.postgres, pytest.mark.timeout(180)]


def test_a_server_that_vanished_is_not_waited_for_for_ever() -> None:
    apart = ["unshare", "--net", "--kill-child"]
    if subprocess.run([*apart, "ip", "link", "set", "lo", "up"], capture_output=True, check=False).returncode:
        pytest.skip("no network of its own can be made here")
    run = subprocess.run(
        [*apart, sys.executable, "-m", __name__], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["with it"] == ["answered"] * 2 and told["with it again"] == ["answered"] * 2
    assert told["without it"] == ["Transient"] * 3


def _ask(database: Database, seconds: float) -> str:
    try:
        with database.write() as session:
            session.execute(sa.text("SELECT pg_sleep(:seconds)"), {"seconds": seconds})
    except Transient as error:
        return type(error).__name__
    return "answered"


def _lose_it() -> dict[str, list[str]]:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with patch.dict(postgres._OPTIONS, listen_addresses=_ADDRESS):
        server = postgres.PostgresServer()
    # The shortest of which a quarter is whole seconds; sixteen of them prove no more.
    engine._VANISHED_SECONDS = 4
    name = server.new_database().partition("@/")[2].partition("?")[0]
    database = Database(f"postgresql+psycopg://postgres@{_ADDRESS}/{name}")
    told = {}
    with ThreadPoolExecutor() as people:
        # Two connections: one that idles when the server vanishes, and one that waits for an answer.
        told["with it"] = list(people.map(lambda _: _ask(database, 0.2), range(2)))
        waiting = people.submit(_ask, database, 2)
        time.sleep(1)
        subprocess.run(["ip", "addr", "del", f"{_ADDRESS}/8", "dev", "lo"], check=True)
        told["without it"] = [_ask(database, 0), _ask(database, 0), waiting.result()]
        subprocess.run(["ip", "addr", "add", f"{_ADDRESS}/8", "dev", "lo"], check=True)
        told["with it again"] = [_ask(database, 0), _ask(database, 0)]
    database.dispose()
    server.stop()
    return told


if __name__ == "__main__":
    print(json.dumps(_lose_it()))
