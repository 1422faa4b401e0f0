"""What open pages cost the interface: ``python -m ops.bench.watching``.

Starts a loop and a worker, fills an app and a conversation of 10,000 messages, and takes how long each page needs until
it answers to clicks, and how long common actions take from the click to what they show. Then it asks as one app does
(adding, memories, contexts) with no page open and with 20 open in a real Chromium, in turns of the same run. Prints
JSON.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated, Any

from playwright.sync_api import Locator

from afterthought_client import Afterthought
from ops.bench.harness import Connection, run, say, seconds_of, serve, spread, timed
from tests.support.browser import Window, chromium, window
from tests.support.recorded import PROJECT, register
from tests.support.transcripts import assistant, lines, user

_PATHS = ("/chat/diary?conversation=long", "/memory/diary", "/operations", "/administration")
_TALK = "/apps/diary/conversations/long/messages"
_FACTS = 140
_SESSION_TURNS = 300
"""Of about 340 tokens: a session of some 100,000."""


def measure(
    folder: Path,
    pages: int = 20,
    requests: Annotated[int, "so many of each kind a turn"] = 300,
    turns: int = 3,
    rows: Annotated[int, "messages of one conversation"] = 10_000,
    times: Annotated[int, "how often each action is done"] = 7,
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
            with Afterthought(url, token, app="diary") as client:
                register(client, "recorded", _session())
            taken: dict[str, list[float]] = defaultdict(list)
            for number in range(times):
                _use(seen, number, taken)
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
    actions = {name: round(1000 * median(found)) for name, found in taken.items()}
    return {
        "pages": opened,
        "actions_ms": actions,
        "open_pages": pages,
        "requests": took,
        "with_over_without_p50": ratios,
    }


def _session() -> bytes:
    said = [(f"What is kept in drawer {n}? " + "It was moved twice since. " * 25) for n in range(_SESSION_TURNS)]
    turns = [(user(text, f"u{n}"), assistant(text, f"a{n}", f"u{n}")) for n, text in enumerate(said)]
    return lines(*(record for turn in turns for record in turn))


def _use(seen: Window, number: int, taken: dict[str, list[float]]) -> None:
    """Do each action once, and note how long it took until what it leads to was there."""
    page = seen.page

    def take(name: str, act: Callable[[], object], shown: Locator, state: Any = "visible") -> None:
        began = perf_counter()
        act()
        shown.wait_for(state=state)
        taken[name].append(perf_counter() - began)

    for name in ("Memory", "Chat"):
        opened = page.get_by_role("list", name="Memories" if name == "Memory" else "Conversations", exact=True)
        take(f"open {name}", partial(seen.open, f"/{name.lower()}/diary?user=user-1"), opened, "attached")
    take("open Operations", partial(seen.open, "/operations"), page.get_by_text("Lowest energy by hour").first)
    take("to another view of it", page.get_by_role("link", name="Jobs").click, page.get_by_label("Jobs, newest first"))
    seen.open("/memory/diary?user=ada")
    conversation = page.get_by_role("list", name="Conversations").get_by_role("listitem").filter(has_text="ada")
    take("menu, Memory to Chat", page.get_by_role("link", name="Chat").click, conversation)
    page.wait_for_function("window.did_handshake")
    take("open a conversation", conversation.click, page.locator(".bubble").first)
    text = f"Where is boat {number} now?"
    page.get_by_role("textbox", name="Message").fill(text)
    bubble = page.locator(".bubble", has_text=text)
    take("send a message", page.get_by_role("button", name="Send").click, bubble)
    seen.open("/memory/diary?user=user-1")
    sheet = page.get_by_role("dialog", name="Memory")
    fact = sheet.get_by_role("listitem").first
    take("open the memory panel", page.get_by_role("button", name="facts").click, fact)
    field = fact.get_by_role("textbox")
    take("click a memory to edit it", fact.locator(".fact-text").click, field)
    new = f"Owns boat {number} of the quay."
    field.fill(new)
    take("save it", partial(field.press, "Enter"), sheet.locator(".fact-text", has_text=new))
    shown = sheet.get_by_role("listitem").filter(has_text=new)
    shown.hover()
    take("delete it", shown.get_by_role("button", name="Delete").click, shown, "detached")
    take("take that back", sheet.get_by_role("button", name="Undo").click, shown)
    seen.open(f"/sessions/diary?project={PROJECT}")
    details = page.get_by_role("button", name="View original")
    take("open a session", page.get_by_role("region", name="Sessions").get_by_role("button").first.click, details)
    message = page.get_by_role("log", name="Original").locator(".message").first
    take("read the original of a session of 100,000 tokens", details.click, message)


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
