"""Adds and searches the same messages with other stores; run by ``ops.bench.searching`` in an interpreter of theirs.

Both are given the same vectors and no model: mem0 with its local vector store, LangGraph with its store in memory.
Nothing leaves the machine: mem0's own telemetry is switched off before it is imported.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any


def main(path: Path, folder: Path) -> None:
    """Measure each and print JSON on one line."""
    given = json.loads(path.read_text())
    folder.mkdir()
    print(json.dumps({"mem0": _mem0(given, folder), "langgraph": _langgraph(given)}))


def _mem0(given: dict[str, Any], folder: Path) -> dict[str, Any]:
    os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none", "MEM0_DIR": str(folder / "mem0")}
    # Deferred: it reads its environment when it is imported.
    from mem0 import Memory

    store = {
        "provider": "qdrant",
        "config": {"path": str(folder / "store"), "embedding_model_dims": 384, "on_disk": True},
    }
    memory = Memory.from_config({"vector_store": store, "history_db_path": str(folder / "history.db")})
    memory.embedding_model = _KnownRow(given["vectors"])
    begun = perf_counter()
    for text in given["texts"]:
        memory.add(text, user_id="app0", infer=False)
    added = perf_counter() - begun
    size = sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())
    mine = {"filters": {"user_id": "app0"}, "top_k": 10}
    taken = [_timed(memory.search, text, **mine) for text in given["questions"]]
    begun = perf_counter()
    for first in range(0, len(given["texts"]), 100):
        lines = [{"role": "user", "content": text} for text in given["texts"][first : first + 100]]
        memory.add(lines, user_id="app1", infer=False)
    by_hundred = round(len(given["texts"]) / (perf_counter() - begun))
    figures = {"adds_a_second_by_hundred": by_hundred, "bytes_a_message": round(size / len(given["texts"]))}
    return _figures(given, added, taken) | figures


def _langgraph(given: dict[str, Any]) -> dict[str, Any]:
    # Deferred: only this measurement needs it.
    from langgraph.store.memory import InMemoryStore

    known = given["vectors"]
    store = InMemoryStore(
        index={"dims": 384, "embed": lambda texts: [known[text] for text in texts], "fields": ["text"]}
    )
    begun = perf_counter()
    for number, text in enumerate(given["texts"]):
        store.put(("app0",), str(number), {"text": text})
    added = perf_counter() - begun
    taken = [_timed(store.search, ("app0",), query=text, limit=10) for text in given["questions"]]
    return _figures(given, added, taken) | {"bytes_a_message": None}


class _KnownRow:
    """Hands out vectors that were made before."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self._vectors = vectors

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self._vectors[text]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self._vectors[text] for text in texts]


def _timed(work: Callable[..., object], *given: object, **more: object) -> float:
    begun = perf_counter()
    work(*given, **more)
    return perf_counter() - begun


def _figures(given: dict[str, Any], added: float, taken: list[float]) -> dict[str, Any]:
    taken = sorted(taken)
    search = {f"p{q}_ms": round(taken[min(len(taken) - 1, q * len(taken) // 100)] * 1000, 3) for q in (50, 95, 99)}
    return {"adds_a_second": round(len(given["texts"]) / added), "search": search}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
