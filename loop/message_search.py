"""Builds what searches in the loop, and writes down how its searches went, some at a time, on a thread of its own.

Every loop has one, whether it regulates or not, because each writes down what it was asked itself.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from shared.base.clock import Clock
from shared.base.errors import AfterthoughtError
from shared.base.settings import Settings
from shared.context.sources import RecallSources
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.energy.ledger import LedgerAccount
from shared.llm.embedding import Embedder
from shared.llm.minilm import WordVectors, is_installed
from shared.llm.providers import NGRAMS, make_embedder_by_name
from shared.search.query import QueryEmbedders
from shared.search.search import MessageSearch
from shared.search.statistics import Recorder, insert_retrievals
from shared.search.tuning import tuning_of
from shared.search.vectors import VectorMatrices
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics

_MEGABYTE = 1_000_000
_BOOKING_SECONDS = 10.0
"""Beside the longest call; then what was set aside for it is free again."""


@dataclass(frozen=True)
class SearchServices:
    """Search over messages, recall for contexts, and the records of how searches went."""

    finder: MessageSearch
    reach: RecallSources
    records: RetrievalWriter
    matrices: VectorMatrices


def make_search_services(settings: Settings, database: Database, clock: Clock, metrics: Metrics) -> SearchServices:
    recorder = Recorder()
    matrices = VectorMatrices(settings.search_cache_mb * _MEGABYTE)
    longest = settings.search_embed_seconds + _BOOKING_SECONDS
    accountant = Accountant(database, clock, settings, metrics, longest)

    def make(model: str) -> Embedder | None:
        return make_embedder_by_name(model, settings, settings.search_embed_seconds)

    finder = MessageSearch(
        database,
        clock,
        QueryEmbedders(make),
        matrices,
        recorder,
        lambda app_id: accountant.meter(LedgerAccount(app_id, None, None)),
        tuning_of(settings),
        metrics,
        WordVectors() if is_installed() and settings.embedding != NGRAMS else None,
    )
    reach = RecallSources(database, finder, clock, metrics)
    return SearchServices(finder, reach, RetrievalWriter(recorder, database, accountant), matrices)


_PAUSE_SECONDS = 1.0


class RetrievalWriter:
    """Empties a recorder into the database about once a second while there is something in it."""

    def __init__(self, recorder: Recorder, database: Database, accountant: Accountant) -> None:
        self._recorder = recorder
        self._database = database
        self._accountant = accountant
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="records", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def drain(self, seconds: float) -> None:
        """Write what is left, and end."""
        self._over.set()
        # Or the thread, waiting for something to write, would not see that it is over.
        self._recorder.waiting.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def flush(self) -> None:
        """Write what is there; what cannot be written now is kept for the next time."""
        records, calls = self._recorder.take()
        try:
            if records:
                with self._database.write() as session:
                    insert_retrievals(session, records)
        except (AfterthoughtError, SQLAlchemyError) as error:
            self._recorder.put_back(records)
            get_logger().warning("retrievals_not_recorded", count=len(records), error=type(error).__name__)
        for app_id, call in calls.items():
            try:
                self._accountant.meter(LedgerAccount(app_id, None, None))(call)
                # Found out afterwards: to look at the budget before each query would cost each a transaction.
                if self._accountant.is_spent(app_id):
                    self._recorder.over_budget.add(app_id)
            except (AfterthoughtError, SQLAlchemyError) as error:
                self._recorder.book(app_id, call)
                get_logger().warning("query_not_booked", app_id=app_id, error=type(error).__name__)

    def _run(self) -> None:
        while not self._over.is_set():
            self._recorder.waiting.wait()
            # What comes within this time is written in the same transaction.
            self._over.wait(_PAUSE_SECONDS)
            self.flush()
        # What was noted while the last was being written.
        self.flush()
