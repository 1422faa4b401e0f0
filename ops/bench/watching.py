"""What open pages cost the interface: ``python -m ops.bench.watching``.

Starts a loop and a worker, fills an app and a conversation of 10,000 messages, and takes how long each page needs until
it answers to clicks. Then it asks as one app does (adding, memories, contexts) with no page open and with 20 open in a
real Chromium, in turns of the same run. Prints JSON.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from ops.bench.harness import Connection, run, say, seconds_of, serve, spread, timed
from tests.support.browser import chromium, window

_PATHS = ("/chat/diary?conversation=long", "/memory/diary", "/operations", "/administration")
_TALK = "/apps/diary/conversations/long/messages"
_FACTS = 140


def measure(
    folder: Path,
    pages: int = 20,
    requests: Annotated[int, "so many of each kind a turn"] = 300,
    turns: int = 3,
    rows: Annotated[int, "messages of one conversation"] = 10_000,
) -> dict[str, Any]:
    """Run everything in ``folder``; return the figures."""
    env = {"AFTERTHOUGHT_LOG_LEVEL": "warning", "AFTERTHOUGHT_EMBEDDING": "ngrams"}
    asked: dict[str, dict[str, list[float]]] = {"without": {}, "with": {}}
    with serve(folder, env=env) as service, chromium() as browser:
        line, url, token = service.connect(), service.system.url, service.system.admin_token
        _fill(line, rows)
        with window(browser, url) as seen:
            seen.log_in(token)
            # The first time and again.
            opened = {path: [round(seconds_of(partial(seen.open, path)), 3) for _ in range(3)] for path in _PATHS}
        for turn in range(turns):
            say(f"turn {turn}")
            _ask(line, requests, turn * 2, asked["without"])
            with window(browser, url) as seen:
                seen.log_in(token)
                for number in range(pages):
                    seen.page.context.new_page().goto(url + _PATHS[number % len(_PATHS)])
                _ask(line, requests, turn * 2 + 1, asked["with"])
    took = {side: {kind: spread(taken) for kind, taken in kinds.items()} for side, kinds in asked.items()}
    ratios = {kind: round(took["with"][kind]["p50_ms"] / took["without"][kind]["p50_ms"], 2) for kind in took["with"]}
    return {"pages": opened, "open_pages": pages, "requests": took, "with_over_without_p50": ratios}


def _fill(line: Connection, rows: int) -> None:
    say(f"adding {rows} messages")
    line.send("POST", "/apps", {"appId": "diary", "name": "Diary", "answeredBy": "app"})
    line.send("POST", "/apps/diary/conversations", {"conversationId": "long", "userId": "ada"})
    for start in range(0, rows, 500):
        said = [{"role": "user", "content": f"Note {i} about the boat."} for i in range(start, start + 500)]
        line.send("POST", _TALK, {"messages": said})
    for i in range(_FACTS):
        fact = {"fact": f"Owns boat number {i} of the harbour.", "userId": f"user-{i % 10}"}
        line.send("POST", "/apps/diary/facts", fact)


def _ask(line: Connection, count: int, turn: int, taken: dict[str, list[float]]) -> None:
    note = {"role": "user", "content": "Another note about the boat and its mast."}
    kinds: dict[str, Any] = {
        "adding": lambda i: ("POST", _TALK, note | {"messageId": f"t{turn}-{i}"}),
        "memories": lambda i: ("GET", "/apps/diary/memories?limit=10"),
        "contexts": lambda i: ("POST", "/apps/diary/context", {"userId": "user-1", "message": f"Which boat, {i}?"}),
    }
    for kind, request in kinds.items():
        line.send(*request(0))
        taken.setdefault(kind, []).extend(timed(partial(line.send, *request(i)) for i in range(1, count)))


if __name__ == "__main__":
    run(measure)
