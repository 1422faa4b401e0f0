"""What an app feels, over HTTP: ``python -m ops.bench.talking``.

Starts a loop and one worker with the defaults and talks to them as apps do, over connections that are kept, with the
texts of real chats and an app's token: adding messages one a request, searching, contexts, memories, and the way from
an end to its memory, with 1 and with 8 clients, on SQLite and on PostgreSQL, with the built-in embedding and with
hashed words. Beside it in the same run a plain FastAPI route that commits one row, and, where ``--rivals`` names an
interpreter that has it, mem0 without HTTP and with its vectors handed in. Prints JSON.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal

from ops.bench.corpora import DEFAULT_DATA, DataFolder, locomo, memorybank, required
from ops.bench.harness import QUICK, Connection, converse, run, say, seconds_of, serve, spread, timed, wait_for_job
from ops.bench.made_up import Chatter
from ops.bench.rival_stores import measure_rivals
from tests.support.postgres import PostgresServer
from tests.support.services import CHECKOUT, ServiceProcess, free_port
from tests.support.waiting import wait_until

CLIENTS = (1, 8)
_APPS = [f"app{number}" for number in range(8)]
Request = tuple[str, str, dict[str, Any] | None]
"""Method, path and body."""
Requests = Callable[[int, int, int], Iterator[Request]]
"""Requests of a client: its number, how many there are, and how many requests."""


def measure(
    folder: Path,
    data: DataFolder = DEFAULT_DATA,
    requests: Annotated[int, "so many of each kind"] = 800,
    database: list[Literal["sqlite", "postgresql"]] | None = None,
    embedding: list[Literal["built-in", "ngrams"]] | None = None,
    rivals: Annotated[str | None, "an interpreter that has mem0ai and langgraph"] = None,
) -> dict[str, Any]:
    """Return the figures of each database and embedding."""
    figures: dict[str, Any] = {"requests_of_a_kind": requests}
    subjects = [*locomo(required(data)), *memorybank(data)]
    texts = list(dict.fromkeys(m.content for one in subjects for talk in one.conversations for m in talk.messages))
    questions = list(dict.fromkeys(question.text for one in subjects for question in one.questions))
    for kind in database or ("sqlite", "postgresql"):
        for words in embedding or ("built-in", "ngrams"):
            say(f"{kind}, {words}")
            place = folder / f"{kind}-{words}"
            place.mkdir()
            with ExitStack() as stack:
                url = f"sqlite:///{place / 'bench.db'}"
                if kind == "postgresql":
                    server = PostgresServer(durable=True)
                    stack.callback(server.stop)
                    url = server.new_database(migrated=False)
                figures[f"{kind}, {words}"] = _of_database(place, url, words, texts, questions, requests)
    if rivals:
        figures["rivals, in process"] = measure_rivals(folder, rivals, Chatter(2).vector, texts[:1000], questions[:200])
    return figures


def _of_database(
    folder: Path, url: str, embedding: str, texts: Sequence[str], questions: Sequence[str], count: int
) -> dict[str, Any]:
    plain = _plain(folder, url.replace("bench.db", "plain.db"), texts, count)
    env = QUICK if embedding == "built-in" else QUICK | {"AFTERTHOUGHT_EMBEDDING": embedding}
    with serve(folder, url, env) as service:
        admin, tokens = service.connect(), []
        for app in _APPS:
            admin.send("POST", "/apps", {"appId": app, "name": app})
            for clients in CLIENTS:
                admin.send("POST", f"/apps/{app}/conversations", {"conversationId": f"of{clients}"})
            tokens.append(admin.send("POST", f"/apps/{app}/tokens", {"label": "bench"})["token"])
        ask = partial(_with_clients, service.system.url, tokens, count=count)

        def is_embedded() -> bool:
            return not any(admin.send("GET", f"/apps/{app}/indexes")["unembedded"] for app in _APPS)

        adding = ask(_adding(texts))
        return {
            "plain_route": plain,
            "adding": adding,
            "seconds_until_all_is_embedded": round(
                seconds_of(lambda: wait_until(is_embedded, 900, "every message to be embedded")), 1
            ),
            "searching": ask(_asking("search", "query", questions)),
            "contexts": ask(_asking("context", "message", questions)),
            "end_to_memory": spread([_end_to_memory(admin, number) for number in range(count // 8)]),
            "memories": ask(lambda n, _, times: iter([("GET", f"/apps/app{n}/memories", None)] * (times + 1))),
            "adding_over_plain_route_p50": {
                clients: round(adding[clients]["p50_ms"] / plain[clients]["p50_ms"], 2) for clients in adding
            },
        }


def _with_clients(url: str, tokens: Sequence[str], requests_of: Requests, count: int) -> dict[str, Any]:
    """Return durations and the rate of ``count`` requests, by 1 and by 8 clients at once, each of its own app."""
    figures = {}
    for clients in CLIENTS:
        work = []
        for number in range(clients):
            line, asked = Connection(url, tokens[number]), list(requests_of(number, clients, count // clients))
            line.send(*asked.pop(0))  # The connection and the app's first look-ups.
            work.append([partial(line.send, *one) for one in asked])
        begun = perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            taken = [seconds for one in pool.map(timed, work) for seconds in one]
        figures[f"{clients}_clients"] = {"a_second": round(len(taken) / (perf_counter() - begun)), **spread(taken)}
    return figures


def _adding(texts: Sequence[str]) -> Requests:
    # Another text each time, over all calls: said again it would cost less to index.
    more = itertools.cycle(texts)

    def requests(number: int, clients: int, count: int) -> Iterator[Request]:
        path = f"/apps/app{number}/conversations/of{clients}/messages"
        for nth in range(count + 1):
            yield "POST", path, {"role": "assistant" if nth % 2 else "user", "content": next(more)}

    return requests


def _asking(route: str, field: str, questions: Sequence[str]) -> Requests:
    # Another question each time, so that none is remembered.
    more = itertools.cycle(questions)

    def requests(number: int, clients: int, count: int) -> Iterator[Request]:
        for _ in range(count + 1):
            yield "POST", f"/apps/app{number}/{route}", {field: f"{route} {clients}: {next(more)}"}

    return requests


def _end_to_memory(admin: Connection, number: int) -> float:
    """Return seconds from the request to end a conversation until its memory's job has finished."""
    said = f"I moved {number} beehives to the orchard in May, and I am allergic to their stings."
    converse(admin, "app0", f"ended{number}", [{"role": "user", "content": said}])
    begun = perf_counter()
    wait_for_job(admin, admin.send("POST", f"/apps/app0/conversations/ended{number}/end", {})["jobs"][0]["jobId"])
    return perf_counter() - begun


def _plain(folder: Path, url: str, texts: Sequence[str], count: int) -> dict[str, Any]:
    """Return the figures of the plain route, on the same kind of database in a table of its own."""
    port = free_port()
    where = f"http://127.0.0.1:{port}"
    command = (sys.executable, "-m", "ops.bench.plain_route", str(port), url)
    server = ServiceProcess("plain", command, os.environ | {"PYTHONPATH": str(CHECKOUT)}, folder)
    server.start()

    def is_up() -> bool:
        try:
            return bool(Connection(where).send("GET", "/health/ready"))
        except OSError:
            return False

    try:
        wait_until(is_up, 60, "the plain route")
        return _with_clients(where, [""] * len(_APPS), _adding(texts), count)
    finally:
        server.stop()


if __name__ == "__main__":
    run(measure)
