"""Adds and searches the same messages with other stores, in an interpreter of theirs.

Both are given the same vectors and no model: mem0 with its local vector store, LangGraph with its store in memory.
Nothing leaves the machine: mem0's own telemetry is switched off before it is imported.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any


def measure_rivals(
    folder: Path, interpreter: str, vector_of: Callable[[str], Any], texts: Sequence[str], questions: Sequence[str]
) -> dict[str, Any]:
    """Run this file by ``interpreter``, which has mem0ai and langgraph; return its figures."""
    vectors = {text: vector_of(text).tolist() for text in {*texts, *questions}}
    given = folder / "rivals.json"
    given.write_text(json.dumps({"texts": texts, "questions": questions, "vectors": vectors}))
    command = [interpreter, __file__, str(given), str(folder / "rival-data")]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    return dict(json.loads(told.splitlines()[-1]))


def main(path: Path, folder: Path) -> None:
    """Measure each and print JSON on one line."""
    given = json.loads(path.read_text())
    folder.mkdir()
    print(json.dumps({"mem0": _mem0(given, folder), "langgraph": _langgraph(given)}))


def _mem0(given: dict[str, Any], folder: Path) -> dict[str, Any]:
    os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none", "MEM0_DIR": str(folder / "mem0")}
    # Deferred: it reads its environment when it is imported.
    from mem0 import Memory

    config = {"path": str(folder / "store"), "embedding_model_dims": 384, "on_disk": True}
    store = {"provider": "qdrant", "config": config}
    memory = Memory.from_config({"vector_store": store, "history_db_path": str(folder / "history.db")})
    memory.embedding_model, texts = _KnownRow(given["vectors"]), given["texts"]
    figures = _figures(
        given,
        lambda _, text: memory.add(text, user_id="app0", infer=False),
        lambda text: memory.search(text, filters={"user_id": "app0"}, top_k=10),
    )
    size = sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())
    begun = perf_counter()
    for first in range(0, len(texts), 100):
        lines = [{"role": "user", "content": text} for text in texts[first : first + 100]]
        memory.add(lines, user_id="app1", infer=False)
    by_hundred = round(len(texts) / (perf_counter() - begun))
    return figures | {"adds_a_second_by_hundred": by_hundred, "bytes_a_message": round(size / len(texts))}


def _langgraph(given: dict[str, Any]) -> dict[str, Any]:
    # Deferred: only this measurement needs it.
    from langgraph.store.memory import InMemoryStore

    embed = _KnownRow(given["vectors"]).embed_batch
    store = InMemoryStore(index={"dims": 384, "embed": embed, "fields": ["text"]})
    return _figures(
        given,
        lambda number, text: store.put(("app0",), str(number), {"text": text}),
        lambda text: store.search(("app0",), query=text, limit=10),
    ) | {"bytes_a_message": None}


class _KnownRow:
    """Hands out vectors that were made before."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self._vectors = vectors

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self._vectors[text]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self._vectors[text] for text in texts]


def _timed(work: Callable[[], object]) -> float:
    begun = perf_counter()
    work()
    return perf_counter() - begun


def _figures(
    given: dict[str, Any], add: Callable[[int, str], object], search: Callable[[str], object]
) -> dict[str, Any]:
    added = _timed(lambda: [add(number, text) for number, text in enumerate(given["texts"])])
    taken = sorted(_timed(partial(search, text)) for text in given["questions"])
    spread = {f"p{q}_ms": round(taken[min(len(taken) - 1, q * len(taken) // 100)] * 1000, 3) for q in (50, 95, 99)}
    return {"adds_a_second": round(len(given["texts"]) / added), "search": spread}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
