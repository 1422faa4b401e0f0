"""The built-in embedding model at work: ``python -m ops.bench.embedding``.

Embeds messages of LoCoMo in this process, then has a service of its own embed them while it is searched over HTTP.
Prints JSON: messages a second and a question's time, what the service embedded a second, and searches while nothing is
embedded, while all is, and asked again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

from ops.bench import harness
from ops.bench.corpora import DEFAULT_DATA, CorpusSubject, DataFolder, locomo, required
from shared.llm.minilm import MiniLmEmbedder
from shared.search.index_queries import count_all_unembedded
from tests.support.meters import Calls
from tests.support.waiting import wait_until

_ROUNDS = 3
_AT_ONCE = 100


def measure(
    folder: Path,
    data: DataFolder = DEFAULT_DATA,
    database_url: harness.DatabaseUrl = None,
    messages: Annotated[int, "at most so many go into the service"] = 10_000,
) -> dict[str, Any]:
    """Run everything in ``folder``; return the figures."""
    subjects = list(locomo(required(data)))
    texts = [turn.content for one in subjects for day in one.conversations for turn in day.messages]
    questions = [question.text for one in subjects for question in one.questions]
    harness.say("embedding in this process")
    figures = _in_process(texts, questions)
    with harness.serve(folder, database_url) as service:
        return figures | {"service": _in_service(service, subjects, messages // 10, questions)}


def _in_process(texts: Sequence[str], questions: Sequence[str]) -> dict[str, Any]:
    """Embed some texts and some questions by turns."""
    embedder = MiniLmEmbedder(in_background=True)
    embedder.embed(texts[:1], Calls())
    rates, asked = list[float](), list[float]()
    for nth in range(_ROUNDS):
        some = texts[nth * 256 : nth * 256 + 256]
        rates.append(len(some) / harness.seconds_of(partial(embedder.embed, some, Calls())))
        asked += harness.timed(partial(embedder.embed, [text], Calls()) for text in questions[nth * 20 : nth * 20 + 20])
    return {"messages_a_second": round(median(rates), 1), "question": harness.spread(asked)}


def _in_service(
    service: harness.BenchService, subjects: Sequence[CorpusSubject], most: int, questions: Sequence[str]
) -> dict[str, Any]:
    """Have messages embedded by the worker, one app first and the others while that one is searched."""
    line = service.connect()

    def waiting() -> int:
        with service.database.read() as session:
            return count_all_unembedded(session)

    first, *others = subjects
    _add(line, first, most)
    wait_until(lambda: not waiting(), 600, "the first app's vectors")
    ask = [partial(line.send, "POST", f"/apps/{first.app}/search", {"query": text}) for text in questions[:300]]
    harness.say("searching while nothing is embedded")
    idle, before = harness.timed(ask[:100]), waiting()
    for subject in others:
        _add(line, subject, most)
    begun, count = time.perf_counter(), waiting() - before
    harness.say(f"searching while {count} messages are embedded")
    busy: list[float] = []
    for one in ask[100:]:
        busy.append(harness.seconds_of(one))
        if not waiting():
            break
    while_searched = (count - waiting()) / (time.perf_counter() - begun)
    wait_until(lambda: not waiting(), 600, "all vectors")
    return {
        "messages": count,
        "embedded_a_second": round(count / (time.perf_counter() - begun), 1),
        "embedded_a_second_while_searched": round(while_searched, 1),
        "search_idle": harness.spread(idle),
        "search_while_embedding": harness.spread(busy),
        "search_asked_again": harness.spread(harness.timed(ask[:100])),
    }


def _add(line: harness.Connection, subject: CorpusSubject, most: int) -> None:
    line.send("POST", "/apps", {"appId": subject.app, "name": subject.name})
    texts = [turn.content for day in subject.conversations for turn in day.messages][:most]
    harness.converse(line, subject.app, "c", [])
    for at in range(0, len(texts), _AT_ONCE):
        said = [{"role": "user", "content": text} for text in texts[at : at + _AT_ONCE]]
        line.send("POST", f"/apps/{subject.app}/conversations/c/messages", {"messages": said})


if __name__ == "__main__":
    harness.run(measure)
