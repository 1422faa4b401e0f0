"""What open pages cost the interface: ``python -m ops.bench.watching``.

Starts a loop and a worker, fills an app and a conversation of 10,000 messages, and takes how long each page needs until
it answers to clicks. Then it asks as one app does (adding, memories, contexts) with no page open and with 20 open in a
real Chromium, in turns of the same run. Prints JSON.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

from afterthought_client import Afterthought
from ops.bench.figures import say, show, spread, timed
from ops.bench.talking import Connection
from tests.support.browser import chromium, window
from tests.support.services import System, start_redis, start_system

_PATHS = ("/chat/diary?conversation=long", "/memory/diary", "/operations", "/administration")
_APP = "diary"
_FACTS = 140


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--requests", type=int, default=300, help="so many of each kind a turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rows", type=int, default=10_000, help="messages of one conversation")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, ExitStack() as stack:
        redis = start_redis(Path(folder, "redis"))
        stack.callback(redis.stop)
        env = {"AFTERTHOUGHT_LOG_LEVEL": "warning", "AFTERTHOUGHT_EMBEDDING": "ngrams"}
        url = f"sqlite:///{folder}/afterthought.db"
        system = stack.enter_context(start_system(Path(folder, "system"), url, redis.url, env=env))
        browser = stack.enter_context(chromium())
        _fill(system, options.rows)
        show({"pages": _first_pages(browser, system), **_beside(browser, system, options)})


def _fill(system: System, rows: int) -> None:
    say(f"adding {rows} messages")
    with Afterthought(system.url, system.admin_token, app=_APP, timeout=300) as client:
        client.install_app(_APP, "Diary", answered_by="app")
        client.start_conversation(conversation_id="long", user_id="ada")
        for start in range(0, rows, 500):
            said = [{"role": "user", "content": f"Note {i} about the boat."} for i in range(start, start + 500)]
            client.add_messages("long", said)
        for i in range(_FACTS):
            client.write_fact(f"Owns boat number {i} of the harbour.", user_id=f"user-{i % 10}")


def _first_pages(browser: Browser, system: System) -> dict[str, Any]:
    """Return seconds until each page answers to clicks, the first time and again."""
    taken: dict[str, Any] = {}
    with window(browser, system.url) as seen:
        seen.log_in(system.admin_token)
        for path in _PATHS:
            taken[path] = [round(timed([lambda path=path: seen.open(path)])[0], 3) for _ in range(3)]
    return taken


def _beside(browser: Browser, system: System, options: argparse.Namespace) -> dict[str, Any]:
    """Return the durations of requests without and with open pages, in turns."""
    found: dict[str, dict[str, list[float]]] = {"without": {}, "with": {}}
    line = Connection(system.url, system.admin_token)
    for turn in range(options.turns):
        say(f"turn {turn}")
        _ask(line, options.requests, turn * 2, found["without"])
        with window(browser, system.url) as seen:
            seen.log_in(system.admin_token)
            for number in range(options.pages):
                page = seen.page.context.new_page()
                page.goto(system.url + _PATHS[number % len(_PATHS)])
            _ask(line, options.requests, turn * 2 + 1, found["with"])
    told = {side: {kind: spread(taken) for kind, taken in kinds.items()} for side, kinds in found.items()}
    ratio = {kind: round(told["with"][kind]["p50_ms"] / told["without"][kind]["p50_ms"], 2) for kind in told["with"]}
    return {"open_pages": options.pages, "requests": told, "with_over_without_p50": ratio}


def _ask(line: Connection, count: int, turn: int, taken: dict[str, list[float]]) -> None:
    for kind, request in _requests(turn):
        line.send(request(0))
        asked = [lambda i=i, request=request: line.send(request(i)) for i in range(1, count)]
        taken.setdefault(kind, []).extend(timed(asked))


def _requests(turn: int) -> Iterator[tuple[str, Any]]:
    base = f"/apps/{_APP}"
    said = {"role": "user", "content": "Another note about the boat and its mast."}
    yield "adding", lambda i: ("POST", f"{base}/conversations/long/messages", said | {"messageId": f"t{turn}-{i}"})
    yield "memories", lambda i: ("GET", f"{base}/memories?limit=10", None)
    yield "contexts", lambda i: ("POST", f"{base}/context", {"userId": "user-1", "message": f"Which boat, {i}?"})


if __name__ == "__main__":
    main()
