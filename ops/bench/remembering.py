"""What is kept, missed and wrong of realistic chats with labels, sort by sort: ``python -m ops.bench.remembering``.

Starts a service of its own, holds the conversations over HTTP message by message in the order of their dates, waits for
the jobs of each, and puts the labelled questions as the first words of new conversations. Twice, side by side: by
rules, and with the recorded answers of tests/fixtures in the place of a model. Those were written for the tests:
nothing here was measured on Ollama. An item is found where one of its regular expressions matches, whatever the case.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from ops.bench.corpora import DEFAULT_DATA
from ops.bench.figures import say, show
from ops.bench.service import unfinished
from shared.db.engine import Database
from tests.support.ollama_server import OllamaServer
from tests.support.recorded_answers import MODEL, RecordedAnswers
from tests.support.services import start_redis, start_system
from tests.support.waiting import wait_until

KEPT = ("must", "nice", "facts", "kept where something", "silent where nothing", "asks answered", "asks clean")
"""What should be as it is labelled; of each a share is told."""
WRONG = ("never", "wrong", "stale", "forbidden")
"""What should not be there; of each a count is told."""
_PACE = timedelta(seconds=30)
_WINDOW = 8192
_SECONDS = 300
_ENV = {
    "AFTERTHOUGHT_ENERGY_REFILL_PER_SECOND": "1000", "AFTERTHOUGHT_LOG_LEVEL": "warning",
    "AFTERTHOUGHT_TICK_SECONDS": "0.1", "AFTERTHOUGHT_FACTS_DEBOUNCE_SECONDS": "60",
}  # fmt: skip
Labelled = dict[str, Any]
"""A conversation with its labels, as a line of the file has it."""
Ask = Callable[..., Any]
"""Sends a request, method, path and ``json``, that must succeed; returns the JSON of the answer."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked for; of ``WRONG`` there is one only where it was found."""

    measure: str
    conversation: str
    sorts: tuple[str, ...]
    held: bool
    what: str

    def __str__(self) -> str:
        return f"{self.conversation} {self.measure}: {self.what}"


def missing(data: Path) -> str | None:
    """Say that the conversations are not at ``data``, or return None."""
    file = data / "kinds" / "dev.jsonl"
    return None if file.is_file() else f"{file} not found; give the directory that holds kinds/ with --data"


def labelled(data: Path) -> list[Labelled]:
    """Return the conversations in the order of their dates."""
    lines = (data / "kinds" / "dev.jsonl").read_text(encoding="utf-8").strip().split("\n")
    return sorted(map(json.loads, lines), key=lambda one: str(one["createdAt"]))


def measure(ask: Ask, settle: Callable[[], None], conversations: Sequence[Labelled]) -> dict[str, Any]:
    """Hold the conversations at a service that knows nothing yet; ``settle`` returns once it has no job left to do."""
    apps = sorted({one["app"] for one in conversations})
    for app in apps:
        ask("POST", "/apps", json={"appId": app, "name": app, "answeredBy": "app"})
    for one in conversations:
        _hold(ask, one)
        settle()
    kept = {app: _texts(ask, app, "memories", "content") for app in apps}
    known = {app: _texts(ask, app, "facts", "fact") for app in apps}
    checks: list[Check] = []
    for one in conversations:
        checks += _judged(one, kept[one["app"]], known[one["app"]])
        for asked in one["asks"]:
            checks += _answered(ask, one, asked)
    sorts = sorted({sort for one in conversations for sort in _sorts(one)})
    facts = sum(map(len, known.values()))
    return {
        "in all": {"conversations": len(conversations), **figures(checks), "facts standing": facts},
        "by sort": {sort: _of_sort(sort, conversations, checks) for sort in sorts},
        "facts without a label": list(_unlabelled(conversations, known)),
        "memories": {name: text.text for texts in kept.values() for text in texts for name in text.sources},
    }


def figures(checks: Iterable[Check]) -> dict[str, Any]:
    """Return shares and counts, with what was missed and what was wrong."""
    every = list(checks)
    shares = {name: [one.held for one in every if one.measure == name] for name in KEPT}
    return {
        **{name: {"kept": sum(held), "of": len(held)} for name, held in shares.items()},
        **{name: sum(one.measure == name for one in every) for name in WRONG},
        "missed": [str(one) for one in every if one.measure in KEPT and not one.held],
        "was wrong": [str(one) for one in every if one.measure in WRONG],
    }


def _of_sort(sort: str, conversations: Iterable[Labelled], checks: Iterable[Check]) -> dict[str, Any]:
    count = sum(sort in _sorts(one) for one in conversations)
    return {"conversations": count, **figures(check for check in checks if sort in check.sorts)}


def _sorts(one: Labelled) -> tuple[str, ...]:
    return tuple(dict.fromkeys((one["kind"], *one.get("also", ()), f"in {one['language']}")))


def _hold(ask: Ask, one: Labelled) -> None:
    """Open a conversation, say all of it and end it. A message without a time is said soon after the one before."""
    path, now = f"/apps/{one['app']}/conversations", datetime.fromisoformat(one["createdAt"])
    ask("POST", path, json={"conversationId": one["id"], **_user(one)})
    for message in one["messages"]:
        now = datetime.fromisoformat(message.get("createdAt", now.isoformat()))
        ask("POST", f"{path}/{one['id']}/messages", json={**message, "createdAt": now.isoformat()})
        now += _PACE
    ask("POST", f"{path}/{one['id']}/end", json={})


def _user(one: Mapping[str, Any]) -> dict[str, str]:
    return {"userId": one["userId"]} if "userId" in one else {}


@dataclass(frozen=True)
class _Text:
    """A memory or a fact as the service lists it."""

    text: str
    user: str | None
    sources: frozenset[str]


def _texts(ask: Ask, app: str, what: str, field: str) -> list[_Text]:
    listed = ask("GET", f"/apps/{app}/{what}?limit=200")[what]
    sources = (frozenset(source["conversationId"] for source in one["sources"]) for one in listed)
    return [_Text(" ".join(one[field].split()), one.get("userId"), of) for one, of in zip(listed, sources, strict=True)]


def _judged(one: Labelled, kept: Sequence[_Text], known: Sequence[_Text]) -> Iterator[Check]:
    """Compare what an app's memories and facts say with the labels of one conversation."""
    memory, facts = ([text.text for text in texts if one["id"] in text.sources] for texts in (kept, known))
    for name, texts in (("must", memory), ("nice", memory), ("facts", facts)):
        yield from (Check(name, one["id"], _sorts(one), _found(item, texts), item["about"]) for item in one[name])
    silent = "silent where nothing" if one["nothing"] else "kept where something"
    yield Check(silent, one["id"], _sorts(one), bool(memory) != one["nothing"], "; ".join(memory) or "no memory")
    everything = [text.text for text in (*kept, *known)]
    of_user = [text.text for text in known if text.user == one.get("userId")]
    looked_in = {"never": everything, "wrong": memory + facts, "stale": memory + of_user}
    for name, texts in looked_in.items():
        for pattern in one.get(name, ()):
            hits = (text for text in texts if _matches(pattern, text))
            yield from (Check(name, one["id"], _sorts(one), False, f"{pattern} in {text}") for text in hits)


def _answered(ask: Ask, one: Labelled, asked: Mapping[str, Any]) -> Iterator[Check]:
    """Put a question as the first words of a new conversation, and look at the context without the question."""
    app, user = f"/apps/{one['app']}", _user({**_user(one), **_user(asked)})
    fresh = ask("POST", f"{app}/conversations", json=user)["conversationId"]
    wanted = {"conversationId": fresh, "message": asked["question"], "contextWindow": _WINDOW, **user}
    messages = ask("POST", f"{app}/context", json=wanted)["messages"][:-1]
    lines = "\n".join(map(_words, messages)).splitlines()
    missed = [item["about"] for item in asked["expect"] if not _found(item, lines)]
    forbidden = [string for string in asked["forbid"] if any(string.lower() in line.lower() for line in lines)]
    if asked["expect"]:
        yield Check("asks answered", one["id"], _sorts(one), not missed, f"{asked['question']} ({'; '.join(missed)})")
    yield Check("asks clean", one["id"], _sorts(one), not forbidden, asked["question"])
    yield from (Check("forbidden", one["id"], _sorts(one), False, string) for string in forbidden)


def _words(message: Mapping[str, Any]) -> str:
    """Return what a message of a context says, with what its calls of tools are given."""
    content = message["content"] or ""
    text = content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
    return "\n".join([text, *(call["function"]["arguments"] for call in message.get("tool_calls") or ())])


def _unlabelled(conversations: Iterable[Labelled], known: Mapping[str, Sequence[_Text]]) -> Iterator[str]:
    """Yield the facts that no label of their conversations asks for: a reader has to judge them."""
    items = {one["id"]: [*one["must"], *one["nice"], *one["facts"]] for one in conversations}
    for fact in (fact for facts in known.values() for fact in facts):
        if not any(_found(item, [fact.text]) for name in fact.sources for item in items.get(name, ())):
            yield f"{', '.join(sorted(fact.sources))}: {fact.text}"


def _found(item: Mapping[str, Any], texts: Sequence[str]) -> bool:
    return any(_matches(pattern, text) for pattern in item["any"] for text in texts)


def _matches(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def at_a_service(
    folder: Path, conversations: Sequence[Labelled], answers: RecordedAnswers | None, embedding: str | None = None
) -> dict[str, Any]:
    """Measure at a Redis, a loop and a worker of their own below ``folder``; by rules where no answers are given."""
    folder.mkdir(parents=True, exist_ok=True)
    url, redis = f"sqlite:///{folder / 'bench.db'}", start_redis(folder / "redis")
    model = OllamaServer(models=(MODEL,), answers=answers) if answers else None
    try:
        with model or nullcontext():
            thinking = {"OLLAMA_HOST": model.url, "AFTERTHOUGHT_MODEL": f"ollama:{MODEL}"} if model else {}
            chosen = {"AFTERTHOUGHT_EMBEDDING": embedding} if embedding else {}
            env = {**_ENV, **thinking, **chosen}
            with start_system(folder, url, redis.url, env=env) as system, system.client() as client:
                database = Database(url)

                def ask(method: str, path: str, **more: Any) -> Any:
                    answer: httpx.Response = client.request(method, path, **more)
                    return answer.raise_for_status().json()

                def settle() -> None:
                    wait_until(lambda: not unfinished(database), _SECONDS, "every job to finish")

                found = measure(ask, settle, conversations)
                database.dispose()
                return found
    finally:
        redis.stop()


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="directory that holds kinds/")
    parser.add_argument("--rules", action="store_true", help="only by rules, without a model")
    parser.add_argument("--recorded", action="store_true", help="only with the recorded answers")
    parser.add_argument("--embedding", help="as the setting; the built-in one otherwise")
    options = parser.parse_args(arguments)
    problem = missing(options.data)
    if problem:
        sys.exit(problem)
    conversations, found = labelled(options.data), {}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        if options.rules or not options.recorded:
            say("by rules")
            found["by rules"] = at_a_service(Path(folder) / "rules", conversations, None, options.embedding)
        if options.recorded or not options.rules:
            say("with recorded answers, which were written for the tests and not measured on Ollama")
            answers = RecordedAnswers(conversations)
            found["with recorded answers"] = at_a_service(
                Path(folder) / "recorded", conversations, answers, options.embedding
            )
    show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
