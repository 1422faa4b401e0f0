"""What it costs to have each commit of SQLite on the disk before it is acknowledged: ``python -m ops.bench.syncing``.

Writes rows like messages, one a transaction, into a file with our settings, by turns with ``synchronous=NORMAL``
(a loss of power may take the last commits) and ``FULL`` (it takes none).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import sqlalchemy as sa

from ops.bench.figures import show
from shared.db.engine import Database

_TEXT = "I adopted a greyhound named Pixel, and we walk by the river every morning. " * 4
_ROUNDS = 5


def write_rate(folder: Path, synchronous: str, seconds: float) -> float:
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


def measure(folder: Path, seconds: float) -> dict[str, dict[str, float]]:
    """Return for both settings the median rate and what one commit takes."""
    rates: dict[str, list[float]] = {"NORMAL": [], "FULL": []}
    for _ in range(_ROUNDS):
        for synchronous, found in rates.items():
            found.append(write_rate(folder, synchronous, seconds))
    return {
        name: {"commitsPerSecond": round(statistics.median(found)), "ms": round(1000 / statistics.median(found), 3)}
        for name, found in rates.items()
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="on the disk to be measured; by default the one of temporary files")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each round")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        show(measure(Path(folder), given.seconds))


if __name__ == "__main__":
    main()
