"""Print as JSON what ten real recorded sessions come to in 4, 16 and 64 thousand tokens, and what that takes.

The database, the store, the extractive agent and both pipelines are the real ones, in this process. Each composition
is checked from its files: within the budget, calls with their results, sessions in order. Versions are made for the
first that needs them and serve those that follow. Run: python -m ops.bench.composing_sessions
"""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from ops.bench.corpora import SESSIONS
from ops.bench.harness import run, say, seconds_of
from shared.base.choices import AllocationStrategy
from shared.db.schema import migrate
from shared.llm.calls import estimate_tokens
from shared.sessions.compose.compositions import ComponentOrder
from shared.sessions.models import BuildState
from tests.support.composing import Shop, open_shop
from tests.support.house import House

BUDGETS = (4_000, 16_000, 64_000)
STRATEGIES = (AllocationStrategy.EQUAL, AllocationStrategy.PROPORTIONAL, AllocationStrategy.RECENT_FIRST)
_COUNT = 10
_FOREIGN = "entire_ec_38b74f08e3_2_full"
"""Another tool's file, which is refused."""


def missing(data: Path) -> str | None:
    """Return why the sessions cannot be composed here."""
    return None if len(_files(data)) >= _COUNT else f"{data} does not hold {_COUNT} recorded sessions"


def measure(
    folder: Path,
    data: Annotated[Path, "folder of recorded sessions"] = SESSIONS,
    smallest: Annotated[bool, "one composition only"] = False,
) -> dict[str, Any]:
    """Register sessions, compose them, and return the figures."""
    if (problem := missing(data)) is not None:
        sys.exit(problem)
    if smallest:
        return compose(folder, data, BUDGETS[:1], STRATEGIES[:1])
    return compose(folder, data)


def compose(
    folder: Path,
    data: Path = SESSIONS,
    budgets: Sequence[int] = BUDGETS,
    strategies: Sequence[AllocationStrategy] = STRATEGIES,
) -> dict[str, Any]:
    """Return the figures of each budget and strategy."""
    url = f"sqlite:///{folder / 'bench.db'}"
    migrate(url)
    house = House(url)
    house.install()
    files = sorted(_files(data), key=lambda file: -file.stat().st_size)[:_COUNT]
    names = [file.stem for file in files]
    with open_shop(house, folder) as shop:
        for file in files:
            shop.take_in(file.stem, file.read_text("utf-8"))
        rows = [_compose(shop, names, budget, strategy) for budget in budgets for strategy in strategies]
        with house.database.read() as session:
            tokens = sum(shop.recorded(session, name).original_tokens for name in names)
    house.database.dispose()
    return {"sessions": len(files), "original_tokens": tokens, "compositions": rows}


def _compose(shop: Shop, names: Sequence[str], budget: int, strategy: AllocationStrategy) -> dict[str, Any]:
    say(f"{budget} tokens, {strategy}")
    name, last_key, waiting = f"{strategy}-{budget}", 0, 0

    def ask(*, replaces: bool = False) -> None:
        nonlocal last_key, waiting
        before = len(shop.house.jobs())
        made = shop.ask(
            name, *names, replaces=replaces, budget=budget, strategy=strategy, order=ComponentOrder.OLDEST_FIRST
        )
        last_key, waiting = made.key, len(shop.house.jobs()) - before
        shop.work_off(200)

    first = seconds_of(ask)
    versions = waiting - 1
    seconds = seconds_of(lambda: ask(replaces=True))
    # The most memory that composing once more takes, over what was in use before.
    tracemalloc.start()
    try:
        ask(replaces=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    done = shop.composition(last_key)
    assert done.state == BuildState.READY, done.failure
    return {
        "budget": budget,
        "strategy": strategy.value,
        "tokens": done.total_tokens,
        "versions_made": versions,
        "seconds_with_versions": round(first, 3),
        "seconds": round(seconds, 3),
        "peak_mb": round(peak / 2**20, 2),
        **_checked(shop, name, budget),
    }


def _checked(shop: Shop, name: str, budget: int) -> dict[str, Any]:
    """Return what the files of a composition show."""
    text = shop.text(name)
    records = [json.loads(line) for line in shop.text(name, "composed.jsonl").splitlines()]
    said = "".join(_said(records))
    dates = [line.split("(")[-1][:10] for line in text.splitlines() if line.startswith("## Session ")]
    blocks = [(nth, block) for nth, record in enumerate(records) for block in _blocks(record)]
    uses = {block["id"]: nth for nth, block in blocks if block["type"] == "tool_use"}
    results = {block["tool_use_id"]: nth for nth, block in blocks if block["type"] == "tool_result"}
    return {
        "within_budget": estimate_tokens(text) <= budget and estimate_tokens(said) <= budget,
        "jsonl_tokens": estimate_tokens(said),
        # Every call has its result in the very next record, and no result stands alone.
        "pairs_kept": {name: place + 1 for name, place in uses.items()} == results,
        "calls": sum(block["type"] == "tool_use" for _, block in blocks),
        "in_order": dates == sorted(dates) and len(dates) == _COUNT,
        "one_chain": [one["parentUuid"] for one in records] == [None, *(one["uuid"] for one in records[:-1])],
    }


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


def _files(data: Path) -> list[Path]:
    return [file for file in data.glob("*.jsonl") if file.stem != _FOREIGN]


if __name__ == "__main__":
    run(measure)
