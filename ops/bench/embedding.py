"""The built-in embedding model at work: ``python -m ops.bench.embedding``.

Embeds messages of LoCoMo in this process, then has a service of its own embed them while it is searched over HTTP.
Prints JSON: messages a second and a question's time, what the service embedded a second, and searches while nothing is
embedded, while all is, and asked again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from ops.bench import corpora
from ops.bench.figures import say, show, spread, timed
from shared.db.engine import Database
from shared.llm.embedding import Embedder
from shared.llm.minilm import MiniLmEmbedder
from shared.search.index_queries import count_all_unembedded
from tests.support.meters import Calls
from tests.support.services import start_redis, start_system
from tests.support.waiting import wait_until

_ENV = {"AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "1000", "AFTERTHOUGHT_LOG_LEVEL": "warning"}
_ROUNDS = 3
_AT_ONCE = 100


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", help="an empty PostgreSQL; SQLite in a temporary folder otherwise")
    parser.add_argument("--messages", type=int, default=10_000, help="at most so many go into the service")
    options = corpora.parse(parser, arguments)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        url = options.database_url or f"sqlite:///{Path(folder) / 'bench.db'}"
        show(measure(Path(folder), url, list(corpora.locomo(options.data)), options.messages))
    return 0


def measure(folder: Path, url: str, subjects: Sequence[corpora.CorpusSubject], most: int) -> dict[str, Any]:
    """Run everything in ``folder``; return the figures."""
    said = {one.name: [turn.content for day in one.conversations for turn in day.messages] for one in subjects}
    questions = [question.text for one in subjects for question in one.questions]
    say("embedding in this process")
    figures = in_process([text for texts in said.values() for text in texts], questions)
    redis = start_redis(folder / "redis")
    try:
        with start_system(folder, url, redis.url, env=_ENV) as system, system.client() as client:
            database = Database(url)
            figures["service"] = in_service(client, database, said, questions, most)
            database.dispose()
    finally:
        redis.stop()
    return figures


def in_process(texts: Sequence[str], questions: Sequence[str]) -> dict[str, Any]:
    """Embed some texts and some questions by turns."""
    embedder = MiniLmEmbedder(in_background=True)
    embedder.embed(texts[:1], Calls())
    rates: list[float] = []
    asked: list[float] = []
    for nth in range(_ROUNDS):
        some = texts[nth * 256 : nth * 256 + 256]
        [seconds] = timed([partial(embedder.embed, some, Calls())])
        rates.append(len(some) / seconds)
        asked += timed(_asking(embedder, questions[nth * 20 : nth * 20 + 20]))
    return {"messages_a_second": round(median(rates), 1), "question": spread(asked)}


def _asking(embedder: Embedder, questions: Sequence[str]) -> list[Callable[[], Any]]:
    return [partial(embedder.embed, [text], Calls()) for text in questions]


def in_service(
    client: httpx.Client, database: Database, said: dict[str, list[str]], questions: Sequence[str], most: int
) -> dict[str, Any]:
    """Have messages embedded by the worker, one app first and the others while that one is searched."""
    (first, texts), *others = said.items()
    _say(client, first, texts[: most // 10])
    wait_until(lambda: not _waiting(database), 600, "the first app's vectors")
    ask = [partial(_search, client, first, text) for text in questions[:300]]
    say("searching while nothing is embedded")
    idle = timed(ask[:100])
    before = _waiting(database)
    for app, of_app in others:
        _say(client, app, of_app[: most // 10])
    begun, count = time.perf_counter(), _waiting(database) - before
    say(f"searching while {count} messages are embedded")
    busy: list[float] = []
    for one in ask[100:]:
        busy += timed([one])
        if not _waiting(database):
            break
    while_searched = (count - _waiting(database)) / (time.perf_counter() - begun)
    wait_until(lambda: not _waiting(database), 600, "all vectors")
    return {
        "messages": count,
        "embedded_a_second": round(count / (time.perf_counter() - begun), 1),
        "embedded_a_second_while_searched": round(while_searched, 1),
        "search_idle": spread(idle),
        "search_while_embedding": spread(busy),
        "search_asked_again": spread(timed(ask[:100])),
    }


def _say(client: httpx.Client, name: str, texts: Sequence[str]) -> None:
    app = name.replace(" ", "-")
    client.post("/apps", json={"appId": app, "name": name}).raise_for_status()
    client.post(f"/apps/{app}/conversations", json={"conversationId": "c"}).raise_for_status()
    for at in range(0, len(texts), _AT_ONCE):
        messages = [{"role": "user", "content": text} for text in texts[at : at + _AT_ONCE] if text.strip()]
        client.post(f"/apps/{app}/conversations/c/messages", json={"messages": messages}).raise_for_status()


def _waiting(database: Database) -> int:
    with database.read() as session:
        return count_all_unembedded(session)


def _search(client: httpx.Client, name: str, text: str) -> None:
    app = name.replace(" ", "-")
    client.post(f"/apps/{app}/search", json={"query": text}).raise_for_status()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
