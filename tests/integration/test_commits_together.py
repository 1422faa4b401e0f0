"""Writes of several clients at once are committed together on SQLite, and none answers for another."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError

from tests.support.api import Api
from tests.support.waiting import wait_until

CLIENTS = 8


@contextmanager
def held_up(api: Api, waiting: int) -> Iterator[list[object]]:
    """Let all that is sent meanwhile wait for a writer elsewhere; yield the commits that come after it."""
    commits: list[object] = []
    database = api.loop.database
    assert database.turns is not None
    event.listen(database.engine, "commit", commits.append)
    path = database.engine.url.database
    with closing(sqlite3.connect(str(path), isolation_level=None, check_same_thread=False)) as elsewhere:
        elsewhere.execute("BEGIN IMMEDIATE")
        yield commits
        turns = database.turns
        # One has the turn and waits for the file, the others wait for the turn.
        wait_until(lambda: turns.waiting >= waiting - 1, 30, "all to wait")
        elsewhere.execute("ROLLBACK")


def add(api: Api, path: str, nth: int, **more: Any) -> tuple[int, dict[str, Any]]:
    body = {"role": "user", "content": f"message {nth}", "messageId": f"m{nth}"}
    answer = api.send("POST", f"{path}/messages", json=body, **more)
    return answer.status_code, answer.json()


def contents(api: Api, path: str) -> list[str]:
    return [one["content"] for one in api.ask("GET", f"{path}/messages")["messages"]]


def test_adds_at_once_take_fewer_commits_and_keep_their_order(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    talks = [api.converse(path, f"c{nth}") for nth in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        with held_up(api, CLIENTS) as commits:
            sent = [pool.submit(add, api, talk, nth) for nth, talk in enumerate(talks)]
        assert [one.result()[0] for one in sent] == [202] * CLIENTS
    assert 0 < len(commits) < CLIENTS
    assert [contents(api, talk) for talk in talks] == [[f"message {nth}"] for nth in range(CLIENTS)]
    for nth in range(3):
        add(api, talks[0], 10 + nth)
    assert contents(api, talks[0]) == ["message 0", "message 10", "message 11", "message 12"]


def test_what_is_refused_takes_nobody_elses_rows_with_it(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    talks = [api.converse(path, f"c{nth}") for nth in range(CLIENTS)]
    for talk in talks[::2]:
        api.ask("POST", f"{talk}/end", json={})
    with ThreadPoolExecutor(CLIENTS) as pool:
        with held_up(api, CLIENTS):
            sent = [pool.submit(add, api, talk, nth) for nth, talk in enumerate(talks)]
        statuses = [one.result()[0] for one in sent]
    assert statuses == [409, 202] * (CLIENTS // 2)
    assert [len(contents(api, talk)) for talk in talks] == [0, 1] * (CLIENTS // 2)


def test_one_key_at_once_is_carried_out_once(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    talk = api.converse(path, "c")
    with ThreadPoolExecutor(CLIENTS) as pool:
        with held_up(api, CLIENTS):
            sent = [pool.submit(add, api, talk, 0, headers={"Idempotency-Key": "once"}) for _ in range(CLIENTS)]
        answers = [one.result() for one in sent]
    assert all(one == answers[0] for one in answers) and answers[0][0] == 202
    assert contents(api, talk) == ["message 0"]


def test_a_commit_that_fails_is_told_to_all_of_it(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    talks = [api.converse(path, f"c{nth}") for nth in range(CLIENTS)]
    failing = True

    def fail(connection: Connection) -> None:
        if failing and connection.get_execution_options().get("begin_immediate"):
            raise OperationalError("COMMIT", {}, sqlite3.OperationalError("disk I/O error"))

    event.listen(api.loop.database.engine, "commit", fail)
    with ThreadPoolExecutor(CLIENTS) as pool:
        with held_up(api, CLIENTS):
            sent = [pool.submit(add, api, talk, nth) for nth, talk in enumerate(talks)]
        answers = [one.result() for one in sent]
    assert {status for status, _ in answers} == {503}, answers
    assert {body["error"]["code"] for _, body in answers} == {"transient"}
    failing = False
    assert [contents(api, talk) for talk in talks] == [[]] * CLIENTS
    assert [add(api, talk, nth)[0] for nth, talk in enumerate(talks)] == [202] * CLIENTS


def test_a_commit_that_ends_in_the_midst_spoils_no_later_write(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    talk = api.converse(path, "c")
    failures = [MemoryError()]

    def fail_once(connection: Connection) -> None:
        if failures and connection.get_execution_options().get("begin_immediate"):
            raise failures.pop()

    event.listen(api.loop.database.engine, "commit", fail_once)
    with suppress(MemoryError):
        assert add(api, talk, 0)[0] == 500
    assert add(api, talk, 1)[0] == 202
    assert contents(api, talk) == ["message 1"]


def test_what_must_stand_alone_waits_for_what_was_handed_on(sqlite_api: Api) -> None:
    api, path = sqlite_api, sqlite_api.install()
    talks = [api.converse(path, f"c{nth}") for nth in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS + 1) as pool:
        with held_up(api, CLIENTS):
            sent = [pool.submit(add, api, talk, nth) for nth, talk in enumerate(talks)]
            scrubbed = pool.submit(api.loop.database.scrub, 15.0)
        assert [one.result()[0] for one in sent] == [202] * CLIENTS
        scrubbed.result()
    assert [len(contents(api, talk)) for talk in talks] == [1] * CLIENTS
