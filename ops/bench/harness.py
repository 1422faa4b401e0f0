"""What benches share: the command and its options, a service of their own, requests over HTTP, and samples as JSON."""

from __future__ import annotations

import argparse
import http.client
import inspect
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from shared.db.engine import Database
from shared.jobs.models import OPEN
from shared.jobs.queries import JobFilter, list_jobs
from shared.telemetry.logging import configure_logging
from tests.support.services import System, start_redis, start_system
from tests.support.waiting import wait_until

QUICK = {"AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "1000", "AFTERTHOUGHT_LOG_LEVEL": "warning"}
"""Settings under which nothing waits for energy."""
DatabaseUrl = Annotated[str | None, "an empty PostgreSQL; SQLite in a temporary folder otherwise"]


def run(measure: Callable[..., Any]) -> None:
    """Be the command of a bench: take ``measure``'s parameters as options, measure, and print its figures.

    ``given: Annotated[int, "its help"] = 3`` is the option ``--given``; what has no default gets a temporary folder.
    """
    parser = argparse.ArgumentParser(description=measure.__globals__["__doc__"])
    hints, folders = get_type_hints(measure, include_extras=True), []
    for name, parameter in inspect.signature(measure).parameters.items():
        if parameter.default is parameter.empty:
            folders.append(name)
        else:
            _add_option(parser, name, hints[name], parameter.default)
    options = vars(parser.parse_args())
    configure_logging("error", "console", "bench")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        figures = measure(**dict.fromkeys(folders, Path(folder)), **options)
    print(figures if isinstance(figures, str) else json.dumps(figures, indent=2, ensure_ascii=False))


def _add_option(parser: argparse.ArgumentParser, name: str, hint: Any, default: Any) -> None:
    more: dict[str, Any] = {"default": default}
    if get_origin(hint) is Annotated:
        hint, more["help"] = get_args(hint)
    if isinstance(hint, UnionType):
        hint = next(one for one in get_args(hint) if one is not NoneType)
    if get_origin(hint) is list:
        [hint] = get_args(hint)
        more |= {"action": "append"} if default is None else {"nargs": "+"}
    if get_origin(hint) is Literal:
        more["choices"] = get_args(hint)
    else:
        more |= {"action": "store_true"} if hint is bool else {"type": hint}
    parser.add_argument(f"--{name.replace('_', '-')}", **more)


def say(what: str) -> None:
    """Tell a waiting person what is being measured; standard output is for the figures alone."""
    print(what, file=sys.stderr, flush=True)


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Return p50, p95 and p99 of durations, in milliseconds."""
    ordered = sorted(seconds)
    return {f"p{q}_ms": round(ordered[min(len(ordered) - 1, q * len(ordered) // 100)] * 1000, 3) for q in (50, 95, 99)}


def seconds_of(call: Callable[[], Any]) -> float:
    """Return how long a call takes."""
    begun = perf_counter()
    call()
    return perf_counter() - begun


def timed(calls: Iterable[Callable[[], Any]]) -> list[float]:
    """Return how long each call took, in seconds."""
    return [seconds_of(call) for call in calls]


def by_turns(ways: Mapping[str, Callable[[], Any]], times: int) -> dict[str, list[float]]:
    """Call each way in turn, so that whatever else the machine does slows down all; return the seconds of each."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(times):
        for name, call in ways.items():
            taken[name].append(seconds_of(call))
    return taken


class Connection:
    """One client: a connection that is kept, as an app's token or the admin's."""

    def __init__(self, url: str, token: str | None = None) -> None:
        where = urlsplit(url)
        self._connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=300)
        self._token = token

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Send and return the answer's JSON. Raises: RuntimeError for any but a success."""
        return json.loads(self.send_bytes(method, path, None if body is None else json.dumps(body).encode()))

    def send_bytes(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> bytes:
        """Send and return the answer. Raises: RuntimeError for any but a success."""
        head = {"Content-Type": kind, "Authorization": f"Bearer {self._token}"}
        try:
            self._connection.request(method, path, body, head)
            answer = self._connection.getresponse()
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            # The server ends a connection that was idle for some seconds; the next request opens another.
            self._connection.close()
            self._connection.request(method, path, body, head)
            answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:500]!r}")
        return text


@dataclass
class BenchService:
    """A Redis, a loop and workers that run, with their database."""

    system: System
    database: Database

    def connect(self, token: str | None = None) -> Connection:
        """Return a new connection, as the admin unless a token is given."""
        return Connection(self.system.url, token or self.system.admin_token)

    def settle(self, seconds: float = 600) -> None:
        """Wait until no job is left to do."""
        wait_until(lambda: not unfinished(self.database), seconds, "every job to finish")

    def samples(self, name: str) -> list[Sample]:
        """Return what the metrics say by this name of a sample."""
        text = self.connect().send_bytes("GET", "/metrics").decode()
        return [one for family in text_string_to_metric_families(text) for one in family.samples if one.name == name]


def unfinished(database: Database) -> bool:
    """Whether any job has yet to end."""
    with database.read() as session:
        return any(list_jobs(session, JobFilter(state), 1) for state in OPEN)


@contextmanager
def serve(
    folder: Path, url: str | None = None, env: Mapping[str, str] = QUICK, workers: int = 1,
    worker: Sequence[str] = ("worker",), *, start: bool = True,
) -> Iterator[BenchService]:  # fmt: skip
    """Run a service below ``folder``, its workers as the module and arguments ``worker``; not ``start``: as planned."""
    folder.mkdir(parents=True, exist_ok=True)
    url, redis = url or f"sqlite:///{folder / 'bench.db'}", start_redis(folder / "redis")
    try:
        with start_system(folder, url, redis.url, workers, env, loop=False) as system:
            for process in system.workers:
                process.argv = (sys.executable, "-m", *worker)
            for process in system.processes if start else ():
                process.start()
            if start:
                system.wait_ready()
            database = Database(url)
            try:
                yield BenchService(system, database)
            finally:
                database.dispose()
    finally:
        redis.stop()


def converse(
    line: Connection, app: str, name: str, messages: Sequence[Mapping[str, Any]], end: bool = False
) -> list[dict[str, Any]]:
    """Open a conversation and say all of it in one request; return the jobs of its end where it is ended."""
    base = f"/apps/{app}/conversations"
    line.send("POST", base, {"conversationId": name})
    if messages:
        line.send("POST", f"{base}/{name}/messages", {"messages": messages})
    return list(line.send("POST", f"{base}/{name}/end", {})["jobs"]) if end else []


def wait_for_job(line: Connection, job_id: str) -> None:
    """Wait until a job has finished."""
    wait_until(lambda: line.send("GET", f"/jobs/{job_id}")["finishedAt"], 60, job_id)
