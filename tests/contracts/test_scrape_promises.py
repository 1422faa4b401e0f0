"""A scrape, a tick and the doctor cost what is unfinished or new, not what was ever done; totals are counted beside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, update

from loop.regulator import BackgroundReader
from loop.totals import count_of_apps, count_totals
from ops.bench.population import fill
from shared.apps.models import AnsweredBy, App
from shared.apps.queries import apps_to_review
from shared.base.errors import Transient
from shared.contracts.jobs import JobKind
from shared.jobs.queries import count_asked_since
from shared.llm.embedding import NgramEmbedder
from shared.search.index_queries import apps_with_sets_to_see_to
from tests.support.api import Api, metric_of, open_api

_MOST_ROWS, _MOST_INSTRUCTIONS = 300, 6000
"""What one statement may read on PostgreSQL, and cost on SQLite: thousands of rows are filled in."""


@pytest.fixture
def api(database_url: str, tmp_path: Path) -> Iterator[Api]:
    with open_api(database_url, tmp_path / "home") as opened:
        yield opened


def count_beside(api: Api) -> None:
    """Let no scrape wait for its totals, and the first of them be counted."""
    for reader in (api.loop.totals, api.loop.regulator.share):
        reader.patience_seconds = 0.0
    api.send("GET", "/metrics")
    for reader in (api.loop.totals, api.loop.regulator.share):
        reader.wait(60)


@contextmanager
def selecting() -> Iterator[list[tuple[str, Any]]]:
    said: list[tuple[str, Any]] = []

    def hear(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith(("SELECT", "WITH")):
            said.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", hear)
    try:
        yield said
    finally:
        event.remove(Engine, "before_cursor_execute", hear)


def too_much(api: Api, said: list[tuple[str, Any]]) -> list[str]:
    """Return the statements that read more than what is unfinished."""
    with api.loop.database.read() as session:
        connection = session.connection()
        return [statement for statement, parameters in said if _is_too_much(connection, statement, parameters)]


def _is_too_much(connection: Connection, statement: str, parameters: Any) -> bool:
    if connection.dialect.name == "sqlite":
        return _instructions(connection, statement, parameters) > _MOST_INSTRUCTIONS
    [[plan]] = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters).all()
    return _rows(json.loads(plan)[0]["Plan"] if isinstance(plan, str) else plan[0]["Plan"]) > _MOST_ROWS


def _instructions(connection: Connection, statement: str, parameters: Any) -> int:
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    driver: Any = connection.connection.driver_connection
    driver.set_progress_handler(count, 1)
    connection.exec_driver_sql(statement, parameters).all()
    driver.set_progress_handler(None, 0)
    return counted


def _rows(node: dict[str, Any]) -> int:
    own = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
    read = sum(int(node.get(name, 0)) for name in own) * int(node["Actual Loops"])
    return max([read, *map(_rows, node.get("Plans", ()))])


def test_no_statement_of_a_scrape_reads_what_is_finished(api: Api) -> None:
    fill(api.loop.database, apps=1000, conversations=2000, finished_jobs=4000)
    api.ask("POST", api.converse(api.install(), "c1", "Hello?") + "/end")
    api.converse("/apps/chat", "c2", "Are you there?")
    count_beside(api)
    with selecting() as said:
        assert metric_of(api, "afterthought_jobs", kind="create_memory", state="pending") == 1
    assert metric_of(api, "afterthought_jobs", kind="create_memory", state="done") == 4000
    assert too_much(api, said) == []
    # The totals do: what this looks for would be found.
    with selecting() as said:
        count_totals(api.loop.database)
    assert len(too_much(api, said)) > 3


def test_the_doctor_counts_what_was_asked_for_in_a_day_and_reads_no_more(api: Api) -> None:
    fill(api.loop.database, apps=1000, conversations=2000, finished_jobs=4000)
    with api.loop.database.read() as session, selecting() as said:
        yesterday = datetime.now(UTC) - timedelta(days=1)
        assert count_asked_since(session, JobKind.CREATE_MEMORY, yesterday) == 134
    assert too_much(api, said) == []


def test_a_tick_looks_at_no_set_of_vectors_that_is_as_it_should_be(api: Api) -> None:
    fill(api.loop.database, apps=1000, conversations=2000, finished_jobs=4000)
    with api.loop.database.read() as session, selecting() as said:
        assert apps_with_sets_to_see_to(session, NgramEmbedder.name, "", 200) == []
    assert too_much(api, said) == []
    with api.loop.database.read() as session:
        assert len(apps_with_sets_to_see_to(session, "another", "", 200)) == 200


def test_the_loop_looks_at_no_app_that_was_reviewed_lately(api: Api) -> None:
    fill(api.loop.database, apps=1000, conversations=2000, finished_jobs=4000)
    now = datetime.now(UTC)
    with api.loop.database.write() as session:
        session.execute(update(App).values(answered_by=AnsweredBy.LOOP, reviewed_at=now))
        for app_id, at in (("bench-000009", None), ("bench-000008", now - timedelta(hours=2))):
            session.execute(update(App).where(App.app_id == app_id).values(reviewed_at=at))
    with api.loop.database.read() as session, selecting() as said:
        found = apps_to_review(session, now - timedelta(hours=1), 50)
    assert [one.app_id for one in found] == ["bench-000009", "bench-000008"]
    assert too_much(api, said) == []


def test_what_stands_now_is_of_this_moment_and_totals_tell_their_age(api: Api) -> None:
    conversation = api.converse(api.install(), "c1", "Hello?")
    count_beside(api)
    api.ask("POST", f"{conversation}/end")
    api.converse("/apps/chat", "c2", "Are you there?")
    api.install("email")
    assert metric_of(api, "afterthought_jobs", kind="create_memory", state="pending") == 1
    assert metric_of(api, "afterthought_unanswered_conversations") == 1
    assert metric_of(api, "afterthought_apps_waiting", work_class="thought") == 1
    assert metric_of(api, "afterthought_conversations", state="ended") == 0
    assert metric_of(api, "afterthought_apps") == 1
    first = metric_of(api, "afterthought_totals_age_seconds")
    assert 0 < first < metric_of(api, "afterthought_totals_age_seconds")


def test_no_count_holds_a_transaction_open_for_another(api: Api) -> None:
    begun = 0

    def note(_: Connection) -> None:
        nonlocal begun
        begun += 1

    event.listen(api.loop.database.engine, "begin", note)
    with selecting() as said:
        count_totals(api.loop.database)
        count_of_apps(api.loop.database, api.clock.now(), 20)
    event.remove(api.loop.database.engine, "begin", note)
    assert begun == len(said)


def test_the_energy_tells_the_share_of_memory_work_in_what_was_spent(api: Api) -> None:
    api.install()
    assert api.ask("GET", "/energy")["memoryShare"] is None
    api.spend("chat", 5)
    assert api.ask("GET", "/energy")["memoryShare"] == 1.0


class Slow:
    """A reading that takes some seconds of a clock that it moves itself, and returns how often it was read."""

    def __init__(self, seconds: float) -> None:
        self.now = 0.0
        self.seconds = seconds
        self.fails = False
        self._numbers: Iterator[int] = count(1)
        self.reader = BackgroundReader("test", self._read, lambda: self.now)

    def _read(self) -> int:
        self.now += self.seconds
        if self.fails:
            raise Transient("away")
        return next(self._numbers)

    def ask(self) -> int | None:
        """Return what is shown once a reading that this begins has ended."""
        self.reader.latest()
        self.reader.wait(60)
        found = self.reader._last
        return None if found is None else found.value


@pytest.mark.parametrize(("seconds", "pause"), [(0.5, 60), (2, 100), (10, 500)])
def test_what_takes_long_is_read_at_most_one_part_in_fifty_of_the_time(seconds: float, pause: float) -> None:
    slow = Slow(seconds)
    assert slow.ask() == 1
    slow.now += pause - 0.01
    assert slow.ask() == 1
    slow.now += 0.01
    assert slow.ask() == 2


def test_what_was_read_is_shown_until_a_later_reading_succeeds() -> None:
    slow = Slow(10)
    slow.ask()
    slow.now, slow.fails = 1000, True
    assert slow.ask() == 1
    slow.now, slow.fails = 2000, False
    assert slow.ask() == 2
