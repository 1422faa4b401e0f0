"""A disk that fails now and then: what was acknowledged is there and whole, the rest was refused as what may pass."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.support.services import EmbeddedRedis, start_system

SOURCE = Path(__file__).with_name("failing_disk.c")
FAIL_EVERY = 40
"""One of so many writes and syncs of each process."""
MESSAGES = 300
pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]


@pytest.fixture
def shim(tmp_path: Path) -> Path:
    """The library that fails writes; made here, so a C compiler has to be."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here to make the failing disk with")
    made = tmp_path / "failing_disk.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(made), str(SOURCE), "-ldl"], check=True)
    return made


def test_writes_that_fail_on_the_disk_are_refused_and_lose_nothing(
    shim: Path, own_redis: EmbeddedRedis, tmp_path: Path
) -> None:
    database, tally = tmp_path / "afterthought.db", tmp_path / "failures"
    env = {"LD_PRELOAD": str(shim), "TEST_FAIL_EVERY": str(FAIL_EVERY), "TEST_FAIL_COUNT": str(tally)}
    acknowledged, statuses = set[str](), Counter[int]()
    with start_system(tmp_path, f"sqlite:///{database}", own_redis.url, env=env) as system, system.client() as client:
        for path, body in (
            ("/apps", {"appId": "chat", "name": "c"}),
            ("/apps/chat/conversations", {"conversationId": "c1"}),
        ):
            while client.post(path, json=body).status_code == 503:
                pass
        for number in range(MESSAGES):
            said = {"role": "user", "content": f"I like tea {number}. " * 20, "messageId": f"m{number}"}
            answer = client.post("/apps/chat/conversations/c1/messages", json=said)
            statuses[answer.status_code] += 1
            if answer.is_success:
                acknowledged.add(f"m{number}")
    failures = len(tally.read_text())
    assert failures > 5 and set(statuses) <= {202, 503}, (failures, statuses)
    with sqlite3.connect(database) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        found = {name for (name,) in connection.execute("SELECT message_id FROM messages")}
    connection.close()
    assert acknowledged - found == set()
    print(f"{failures} writes failed, {len(acknowledged)} acknowledged and there, {statuses[503]} refused")
