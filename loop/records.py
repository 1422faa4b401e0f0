"""Writes how retrievals went, some at a time, on a thread of its own: whoever searches does not wait for it.

Every loop has one, whether it regulates or not, because each writes down what it was asked itself.
"""

from __future__ import annotations

import threading

from sqlalchemy.exc import SQLAlchemyError

from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.energy.ledger import Booking
from shared.errors import AfterthoughtError
from shared.search.statistics import Recorder, insert_retrievals
from shared.telemetry.logging import get_logger

_PAUSE_SECONDS = 1.0


class Records:
    """Empties a recorder into the database about once a second while there is something in it."""

    def __init__(self, recorder: Recorder, database: Database, accountant: Accountant) -> None:
        self._recorder = recorder
        self._database = database
        self._accountant = accountant
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="records", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def drain(self, seconds: float) -> None:
        """Write what is left, and end."""
        self._over.set()
        self._recorder.waiting.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def flush(self) -> None:
        """Write what is there; what cannot be written now is kept for the next time."""
        figures, calls = self._recorder.take()
        try:
            if figures:
                with self._database.write() as session:
                    insert_retrievals(session, figures)
        except (AfterthoughtError, SQLAlchemyError) as error:
            self._recorder.put_back(figures)
            get_logger().warning("retrievals_not_recorded", count=len(figures), error=type(error).__name__)
        for app_id, call in calls.items():
            try:
                self._accountant.meter(Booking(app_id, None, None))(call)
            except (AfterthoughtError, SQLAlchemyError) as error:
                self._recorder.book(app_id, call)
                get_logger().warning("query_not_booked", app_id=app_id, error=type(error).__name__)

    def _run(self) -> None:
        while not self._over.is_set():
            self._recorder.waiting.wait()
            self._over.wait(_PAUSE_SECONDS)
            self.flush()
        # What was noted while the last was being written.
        self.flush()
