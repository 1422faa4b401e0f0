"""Print as JSON what ten real recorded sessions come to in 4, 16 and 64 thousand tokens, and what that takes.

The database, the store, the extractive agent and both pipelines are the real ones, in this process. Each composition
is checked from its files: within the budget, calls with their results, sessions in order. Versions are made for the
first that needs them and serve those that follow. Run: python -m ops.bench.composing_sessions
"""

from __future__ import annotations

import argparse
import json
import sys
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from ops.bench.figures import say, show
from shared.base.choices import AllocationStrategy
from shared.db.schema import migrate
from shared.llm.tokens import estimate_tokens
from shared.sessions.compose.requests import ComponentOrder
from shared.sessions.models import BuildState
from shared.telemetry.logging import configure_logging
from tests.support.composing import Shop, open_shop
from tests.support.house import House

DEFAULT_DATA = Path(__file__).parents[3] / "shared" / "data" / "sessions"
BUDGETS = (4_000, 16_000, 64_000)
SESSIONS = 10
_FOREIGN = "entire_ec_38b74f08e3_2_full"
"""Another tool's file, which is refused."""
_MB = 2**20


def missing(data: Path) -> str | None:
    """Return why the sessions cannot be composed here."""
    return None if len(_files(data)) >= SESSIONS else f"{data} does not hold {SESSIONS} recorded sessions"


def measure(
    folder: Path,
    data: Path = DEFAULT_DATA,
    budgets: Sequence[int] = BUDGETS,
    strategies: Sequence[AllocationStrategy] = (
        AllocationStrategy.EQUAL,
        AllocationStrategy.PROPORTIONAL,
        AllocationStrategy.RECENT_FIRST,
    ),
) -> dict[str, Any]:
    """Register sessions, compose them, and return the figures."""
    url = f"sqlite:///{folder / 'bench.db'}"
    migrate(url)
    house = House(url)
    house.install()
    files = sorted(_files(data), key=lambda file: -file.stat().st_size)[:SESSIONS]
    with open_shop(house, folder) as shop:
        for file in files:
            shop.take_in(file.stem, file.read_text("utf-8"))
        rows = [_compose(shop, files, budget, strategy) for budget in budgets for strategy in strategies]
        tokens = _original_tokens(shop, files)
    house.database.dispose()
    return {"sessions": len(files), "original_tokens": tokens, "compositions": rows}


def _compose(shop: Shop, files: Sequence[Path], budget: int, strategy: AllocationStrategy) -> dict[str, Any]:
    say(f"{budget} tokens, {strategy}")
    name = f"{strategy}-{budget}"
    asked: dict[str, Any] = {"budget": budget, "strategy": strategy, "order": ComponentOrder.OLDEST_FIRST}
    names = [file.stem for file in files]
    before = len(shop.house.jobs())
    begun = perf_counter()
    made = shop.ask(name, *names, **asked)
    versions = len(shop.house.jobs()) - before - 1
    shop.work_off(200)
    first = perf_counter() - begun
    begun = perf_counter()
    again = shop.ask(name, *names, replaces=True, **asked)
    shop.work_off(200)
    seconds = perf_counter() - begun
    peak = _peak(shop, name, names, asked)
    done = shop.composition(max(made.key, again.key) + 1)
    assert done.state == BuildState.READY, done.failure
    return {
        "budget": budget,
        "strategy": strategy.value,
        "tokens": done.total_tokens,
        "versions_made": versions,
        "seconds_with_versions": round(first, 3),
        "seconds": round(seconds, 3),
        "peak_mb": round(peak / _MB, 2),
        **_checked(shop, name, budget),
    }


def _peak(shop: Shop, name: str, names: Sequence[str], asked: dict[str, Any]) -> int:
    """Return the most memory that composing once more takes, over what was in use before."""
    tracemalloc.start()
    try:
        shop.ask(name, *names, replaces=True, **asked)
        shop.work_off(200)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _checked(shop: Shop, name: str, budget: int) -> dict[str, Any]:
    """Return what the files of a composition show."""
    text = shop.text(name)
    records = [json.loads(line) for line in shop.text(name, "composed.jsonl").splitlines()]
    said = "".join(_said(records))
    dates = [line.split("(")[-1][:10] for line in text.splitlines() if line.startswith("## Session ")]
    return {
        "within_budget": estimate_tokens(text) <= budget and estimate_tokens(said) <= budget,
        "jsonl_tokens": estimate_tokens(said),
        "pairs_kept": _pairs_kept(records),
        "calls": sum(block["type"] == "tool_use" for record in records for block in _blocks(record)),
        "in_order": dates == sorted(dates) and len(dates) == SESSIONS,
        "one_chain": [one["parentUuid"] for one in records] == [None, *(one["uuid"] for one in records[:-1])],
    }


def _pairs_kept(records: Sequence[dict[str, Any]]) -> bool:
    """Whether every call has its result in the very next record, and no result stands alone."""
    uses = {
        block["id"]: n for n, record in enumerate(records) for block in _blocks(record) if block["type"] == "tool_use"
    }
    results = {
        block["tool_use_id"]: n
        for n, record in enumerate(records)
        for block in _blocks(record)
        if block["type"] == "tool_result"
    }
    return {name: place + 1 for name, place in uses.items()} == results


def _said(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    for record in records:
        content = record["content"] if record["type"] == "system" else record["message"]["content"]
        if isinstance(content, str):
            yield content
        for block in _blocks(record):
            yield block.get("text") or block.get("content") or json.dumps(block.get("input", ""), ensure_ascii=False)


def _blocks(record: dict[str, Any]) -> list[dict[str, Any]]:
    content = None if record["type"] == "system" else record["message"]["content"]
    return content if isinstance(content, list) else []


def _original_tokens(shop: Shop, files: Sequence[Path]) -> int:
    with shop.house.database.read() as session:
        return sum(shop.recorded(session, file.stem).original_tokens for file in files)


def _files(data: Path) -> list[Path]:
    return [file for file in data.glob("*.jsonl") if file.stem != _FOREIGN]


def main() -> None:
    """Run the bench from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder of recorded sessions")
    parser.add_argument("--smallest", action="store_true", help="one composition only")
    given = parser.parse_args()
    configure_logging("error", "console", "bench")
    why = missing(given.data)
    if why is not None:
        sys.exit(why)
    with TemporaryDirectory() as folder:
        if given.smallest:
            show(measure(Path(folder), given.data, BUDGETS[:1], (AllocationStrategy.EQUAL,)))
        else:
            show(measure(Path(folder), given.data))


if __name__ == "__main__":
    main()
