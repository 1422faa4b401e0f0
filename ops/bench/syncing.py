"""What it costs to have each commit of SQLite on the disk before it is acknowledged: ``python -m ops.bench.syncing``.

Writes rows like messages, one a transaction, into a file with our settings, by turns with ``synchronous=NORMAL``
(a loss of power may take the last commits) and ``FULL`` (it takes none).
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Annotated

import sqlalchemy as sa

from ops.bench.harness import run
from shared.db.engine import Database

_TEXT = "I adopted a greyhound named Pixel, and we walk by the river every morning. " * 4
_ROUNDS = 5


def measure(
    folder: Annotated[Path | None, "on the disk to be measured; by default the one of temporary files"] = None,
    seconds: Annotated[float, "of each round"] = 2.0,
) -> dict[str, dict[str, float]]:
    """Return for both settings the median rate and what one commit takes."""
    rates: dict[str, list[float]] = {"NORMAL": [], "FULL": []}
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for _ in range(_ROUNDS):
            for synchronous, found in rates.items():
                found.append(_write_rate(Path(place), synchronous, seconds))
    medians = {name: statistics.median(found) for name, found in rates.items()}
    return {name: {"commitsPerSecond": round(rate), "ms": round(1000 / rate, 3)} for name, rate in medians.items()}


def _write_rate(folder: Path, synchronous: str, seconds: float) -> float:
    """Return how many transactions of one row are committed in a second."""
    database = Database(f"sqlite:///{folder / f'{synchronous}.db'}", pool_size=1)
    sa.event.listen(database.engine, "connect", lambda raw, _: raw.execute(f"PRAGMA synchronous={synchronous}"))
    with database.write() as session:
        session.execute(sa.text("CREATE TABLE IF NOT EXISTS said (id INTEGER PRIMARY KEY, text TEXT)"))
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        with database.write() as session:
            session.execute(sa.text("INSERT INTO said (text) VALUES (:text)"), {"text": _TEXT})
        count += 1
    rate = count / (time.perf_counter() - began)
    database.dispose()
    return rate


if __name__ == "__main__":
    run(measure)
