"""How retrievals went is written beside whoever searches, kept while the database does not take it, and not lost."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from loop.message_search import RetrievalWriter
from shared.energy.models import Spending
from shared.llm.calls import EXTRACTIVE, CallOutcome, ModelCall, WorkKind
from shared.search.models import Retrieval, RetrievalPurpose
from shared.search.statistics import MOST_WAITING, Recorder, RetrievalRecord
from tests.support.house import House
from tests.support.waiting import wait_until

CALL = ModelCall(WorkKind.EMBED, EXTRACTIVE, 10, 0, True, CallOutcome.ANSWERED, 0.5)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def records(house: House, recorder: Recorder) -> Iterator[RetrievalWriter]:
    records = RetrievalWriter(recorder, house.database, house.accountant)
    yield records
    records.drain(10)


def figures(house: House, results: int) -> RetrievalRecord:
    """Return figures that are told apart by how much was found."""
    return RetrievalRecord(
        "notes", None, RetrievalPurpose.SEARCH, house.clock.now(), results, None, {}, {"total": 1.0}, {}
    )


def kept(house: House) -> list[int]:
    """Return the results of the retrievals that are written, in the order in which they were."""
    with house.database.read() as session:
        return list(session.scalars(sa.select(Retrieval.results).order_by(Retrieval.key)))


def booked(house: House) -> list[tuple[str, int]]:
    with house.database.read() as session:
        rows = session.execute(sa.select(Spending.app_id, Spending.prompt_tokens).order_by(Spending.app_id))
        return [(app_id, tokens) for app_id, tokens in rows]


@contextlib.contextmanager
def without(house: House, name: str) -> Iterator[None]:
    """Take a table out of the way."""
    with house.database.engine.begin() as connection:
        connection.execute(sa.text(f"ALTER TABLE {name} RENAME TO away"))
    with capture_logs():
        yield
    with house.database.engine.begin() as connection:
        connection.execute(sa.text(f"ALTER TABLE away RENAME TO {name}"))


def test_figures_that_cannot_be_written_come_before_later_ones_the_next_time(
    house: House, recorder: Recorder, records: RetrievalWriter
) -> None:
    recorder.record(figures(house, 1))
    recorder.book("notes", CALL)
    with without(house, "retrievals"):
        records.flush()
    assert recorder.waiting.is_set() and booked(house) == [("notes", 10)]
    recorder.record(figures(house, 2))
    records.flush()
    assert kept(house) == [1, 2] and booked(house) == [("notes", 10)]


def test_queries_that_cannot_be_booked_are_booked_later_with_the_next_ones(
    house: House, recorder: Recorder, records: RetrievalWriter
) -> None:
    recorder.record(figures(house, 1))
    recorder.book("notes", CALL)
    with without(house, "energy_ledger"):
        records.flush()
    recorder.book("notes", CALL)
    records.flush()
    assert booked(house) == [("notes", 20)] and kept(house) == [1]


def test_while_nothing_can_be_written_the_oldest_figures_give_way(house: House, recorder: Recorder) -> None:
    one = figures(house, 0)
    for results in range(MOST_WAITING + 5):
        recorder.record(replace(one, results=results))
    taken = recorder.take()[0]
    assert [each.results for each in taken[:2]] == [5, 6]
    for results in range(3):
        recorder.record(replace(one, results=-results))
    recorder.put_back(taken)
    left = [each.results for each in recorder.take()[0]]
    assert len(left) == MOST_WAITING
    assert (left[0], left[-4:]) == (8, [MOST_WAITING + 4, 0, -1, -2])


def test_at_the_end_what_was_noted_during_the_last_writing_is_written_too(sqlite_url: str, recorder: Recorder) -> None:
    house = House(sqlite_url)
    house.install()
    records = RetrievalWriter(recorder, house.database, house.accountant)
    records.start()
    with house.database.write():
        recorder.record(figures(house, 1))
        wait_until(lambda: not recorder.waiting.is_set(), 20, "the figures to be taken")
        recorder.record(figures(house, 2))
        records.drain(0)
    records.drain(20)
    assert kept(house) == [1, 2]
    house.database.dispose()
