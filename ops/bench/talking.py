"""What an app feels, over HTTP: ``python -m ops.bench.talking``.

Starts a loop and one worker with the defaults and talks to them as apps do, over connections that are kept, with the
texts of real chats and an app's token: adding messages one a request, searching, contexts, memories, and the way from
an end to its memory, with 1 and with 8 clients, on SQLite and on PostgreSQL, with the built-in embedding and with
hashed words. Beside it in the same run a plain FastAPI route that commits one row, and, where ``--rivals`` names an
interpreter that has it, mem0 without HTTP and with its vectors handed in. Prints JSON.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from ops.bench import corpora
from ops.bench.figures import say, show, spread, timed
from ops.bench.made_up import Chatter
from tests.support.postgres import PostgresServer
from tests.support.services import ServiceProcess, System, free_port, start_redis, start_system
from tests.support.waiting import wait_until

CLIENTS = (1, 8)
_APPS = 8
_CHECKOUT = Path(__file__).resolve().parents[2]
_RIVAL = Path(__file__).with_name("rival_stores.py")
_ENV = {"AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "1000", "AFTERTHOUGHT_LOG_LEVEL": "warning"}
Request = tuple[str, str, dict[str, Any] | None]
"""Method, path and body."""


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=800, help="so many of each kind")
    parser.add_argument("--database", action="append", choices=("sqlite", "postgresql"))
    parser.add_argument("--embedding", action="append", choices=("built-in", "ngrams"))
    parser.add_argument("--rivals", help="an interpreter that has mem0ai and langgraph")
    options = corpora.parse(parser, arguments)
    figures: dict[str, Any] = {"requests_of_a_kind": options.requests}
    texts, questions = _texts(options.data)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for database in options.database or ("sqlite", "postgresql"):
            for embedding in options.embedding or ("built-in", "ngrams"):
                say(f"{database}, {embedding}")
                place = Path(folder) / f"{database}-{embedding}"
                place.mkdir()
                with _new_database(database, place) as url:
                    found = measure(place, url, embedding, texts, questions, options.requests)
                figures[f"{database}, {embedding}"] = found
        if options.rivals:
            figures["rivals, in process"] = _rivals(Path(folder), options.rivals, texts, questions)
    show(figures)
    return 0


def measure(
    folder: Path, url: str, embedding: str, texts: Sequence[str], questions: Sequence[str], count: int
) -> dict[str, Any]:
    """Return the figures of one database and embedding."""
    figures: dict[str, Any] = {"plain_route": _plain(folder, url, texts, count)}
    redis = start_redis(folder / "redis")
    env = _ENV if embedding == "built-in" else _ENV | {"AFTERTHOUGHT_EMBEDDING": embedding}
    try:
        with start_system(folder, url, redis.url, env=env) as system:
            tokens = _install(system)
            figures["adding"] = _with_clients(system.url, tokens, _adding(texts), count)
            fill = perf_counter()
            _wait_embedded(system)
            figures["seconds_until_all_is_embedded"] = round(perf_counter() - fill, 1)
            figures["searching"] = _with_clients(system.url, tokens, _asking("search", "query", questions), count)
            figures["contexts"] = _with_clients(system.url, tokens, _asking("context", "message", questions), count)
            figures["end_to_memory"] = spread(_end_to_memory(system, count // 8))
            figures["memories"] = _with_clients(system.url, tokens, _memories, count)
    finally:
        redis.stop()
    ours, plain = figures["adding"], figures["plain_route"]
    figures["adding_over_plain_route_p50"] = {
        clients: round(ours[clients]["p50_ms"] / plain[clients]["p50_ms"], 2) for clients in ours
    }
    return figures


class Connection:
    """One client: a connection that is kept, as an app's token or the admin's."""

    def __init__(self, url: str, token: str | None = None) -> None:
        where = urlsplit(url)
        self._connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}

    def send(self, request: Request) -> Any:
        """Send and return the answer's JSON. Raises: RuntimeError for any but a success."""
        return json.loads(self.send_text(request))

    def send_text(self, request: Request) -> str:
        """Send and return the answer. Raises: RuntimeError for any but a success."""
        method, path, body = request
        self._connection.request(method, path, None if body is None else json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:500]!r}")
        return text.decode()


def _with_clients(
    url: str, tokens: Sequence[str], requests_of: Callable[[int, int, int], Iterator[Request]], count: int
) -> dict[str, Any]:
    """Return durations and the rate of ``count`` requests in all, by 1 and by 8 clients at once, each of another app.

    ``requests_of`` gives the requests of a client: its number, how many there are, and how many requests.
    """
    figures = {}
    for clients in CLIENTS:
        lines = [Connection(url, tokens[number]) for number in range(clients)]
        asked = [list(requests_of(number, clients, count // clients)) for number in range(clients)]
        for line, mine in zip(lines, asked, strict=True):
            line.send(mine.pop(0))  # The connection and the app's first look-ups.
        begun = perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            work = [
                pool.submit(timed, [lambda one=one, line=line: line.send(one) for one in mine])
                for line, mine in zip(lines, asked, strict=True)
            ]
            taken = [seconds for one in work for seconds in one.result()]
        figures[f"{clients}_clients"] = {"a_second": round(len(taken) / (perf_counter() - begun)), **spread(taken)}
    return figures


def _adding(texts: Sequence[str]) -> Callable[[int, int, int], Iterator[Request]]:
    # Another text each time, over all calls: said again it would cost less to index.
    more = itertools.cycle(texts)

    def requests(number: int, clients: int, count: int) -> Iterator[Request]:
        path = f"/apps/app{number}/conversations/of{clients}/messages"
        for nth in range(count + 1):
            yield "POST", path, {"role": "assistant" if nth % 2 else "user", "content": next(more)}

    return requests


def _asking(route: str, field: str, questions: Sequence[str]) -> Callable[[int, int, int], Iterator[Request]]:
    # Another question each time, so that none is remembered.
    more = itertools.cycle(questions)

    def requests(number: int, clients: int, count: int) -> Iterator[Request]:
        for _ in range(count + 1):
            yield "POST", f"/apps/app{number}/{route}", {field: f"{route} {clients}: {next(more)}"}

    return requests


def _memories(number: int, clients: int, count: int) -> Iterator[Request]:
    return iter([("GET", f"/apps/app{number}/memories", None)] * (count + 1))


def _end_to_memory(system: System, count: int) -> list[float]:
    """Return seconds from the request to end a conversation until its memory's job has finished."""
    admin, taken = Connection(system.url, system.admin_token), []
    for number in range(count):
        base = f"/apps/app0/conversations/ended{number}"
        admin.send(("POST", "/apps/app0/conversations", {"conversationId": f"ended{number}"}))
        said = f"I moved {number} beehives to the orchard in May, and I am allergic to their stings."
        admin.send(("POST", f"{base}/messages", {"role": "user", "content": said}))
        begun = perf_counter()
        [job, *_] = admin.send(("POST", f"{base}/end", {}))["jobs"]
        job_path = f"/jobs/{job['jobId']}"
        wait_until(lambda path=job_path: admin.send(("GET", path, None))["finishedAt"], 30, job_path)
        taken.append(perf_counter() - begun)
    return taken


def _install(system: System) -> list[str]:
    """Install apps, each with conversations to speak in, and return their tokens."""
    admin, tokens = Connection(system.url, system.admin_token), []
    for number in range(_APPS):
        admin.send(("POST", "/apps", {"appId": f"app{number}", "name": f"App {number}"}))
        for clients in CLIENTS:
            admin.send(("POST", f"/apps/app{number}/conversations", {"conversationId": f"of{clients}"}))
        tokens.append(admin.send(("POST", f"/apps/app{number}/tokens", {"label": "bench"}))["token"])
    return tokens


def _wait_embedded(system: System) -> None:
    admin = Connection(system.url, system.admin_token)

    def lacking() -> int:
        return sum(admin.send(("GET", f"/apps/app{number}/indexes", None))["unembedded"] for number in range(_APPS))

    wait_until(lambda: not lacking(), 900, "every message to be embedded")


def _plain(folder: Path, url: str, texts: Sequence[str], count: int) -> dict[str, Any]:
    """Return the figures of the plain route, on the same kind of database in a table of its own."""
    own = url.replace("bench.db", "plain.db")
    port = free_port()
    where = f"http://127.0.0.1:{port}"
    command = (sys.executable, "-m", "ops.bench.plain_route", str(port), own)
    server = ServiceProcess("plain", command, os.environ | {"PYTHONPATH": str(_CHECKOUT)}, folder)
    server.start()
    try:
        wait_until(lambda: _is_up(where), 60, "the plain route")
        return _with_clients(where, [""] * _APPS, _adding(texts), count)
    finally:
        server.stop()


def _is_up(url: str) -> bool:
    try:
        return bool(Connection(url).send(("GET", "/health/ready", None)))
    except OSError:
        return False


def _texts(data: Path) -> tuple[list[str], list[str]]:
    """Return what was said in real chats, and questions about it."""
    subjects = [*corpora.locomo(data), *corpora.memorybank(data)]
    said = [turn.content for one in subjects for talk in one.conversations for turn in talk.messages]
    asked = [question.text for one in subjects for question in one.questions]
    return list(dict.fromkeys(said)), list(dict.fromkeys(asked))


@contextmanager
def _new_database(kind: str, folder: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'bench.db'}"
        return
    server = PostgresServer(durable=True)
    try:
        yield server.new_database(migrated=False)
    finally:
        server.stop()


def _rivals(folder: Path, interpreter: str, texts: Sequence[str], questions: Sequence[str]) -> dict[str, Any]:
    """Return the figures of others, given the same texts, in their own process and with vectors handed in."""
    chatter = Chatter(seed=2)
    texts, questions = texts[:1000], questions[:200]
    vectors = {text: chatter.vector(text).tolist() for text in {*texts, *questions}}
    (folder / "rivals.json").write_text(json.dumps({"texts": texts, "questions": questions, "vectors": vectors}))
    command = [interpreter, str(_RIVAL), str(folder / "rivals.json"), str(folder / "rival-data")]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    return dict(json.loads(told.splitlines()[-1]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
