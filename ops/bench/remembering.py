"""What is kept, missed and wrong of realistic chats with labels, sort by sort: ``python -m ops.bench.remembering``.

Starts a service of its own, holds the conversations over HTTP message by message in the order of their dates, waits for
the jobs of each, and puts the labelled questions as the first words of new conversations. Side by side: by rules, and
with a model: any that answers (``--model ollama:NAME``, ``--engine FILE.gguf``), with what it read and wrote; else the
recorded answers of tests/fixtures, which were written for the tests and measure no model. An item is found where one
of its regular expressions matches, whatever the case.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from statistics import mean
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from sqlalchemy import select

from ops.bench.corpora import DEFAULT_DATA
from ops.bench.engine import ENGINE_MODEL, EngineFile, EnginePython, ModelCost, PromptWatch, cost_of, open_model
from ops.bench.harness import QUICK, BenchService, run, say, seconds_of, serve
from shared.energy.models import Spending
from shared.jobs.models import Job
from shared.llm.calls import EXTRACTIVE, WorkKind
from tests.support.ollama_server import OllamaServer
from tests.support.recorded_answers import MODEL, RecordedAnswers

KEPT = ("must", "nice", "facts", "kept where something", "silent where nothing", "asks answered", "asks clean")
"""What should be as it is labelled; of each a share is told."""
WRONG = ("never", "wrong", "stale", "forbidden")
"""What should not be there; of each a count is told."""
_PACE = timedelta(seconds=30)
_WINDOW = 8192
_SECONDS = 300
_THOUGHT = ("create_memory", "extract_facts", "summarise")
_TAKEN_OVER = (
    "AFTERTHOUGHT_MODEL_", "AFTERTHOUGHT_OPENAI_", "AFTERTHOUGHT_ANTHROPIC_", "OLLAMA_HOST", "OPENAI_", "ANTHROPIC_",
)  # fmt: skip
_ENV = QUICK | {"AFTERTHOUGHT_TICK_SECONDS": "0.1", "AFTERTHOUGHT_FACTS_DEBOUNCE_SECONDS": "60"}
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


def hold(ask: Ask, settle: Callable[[], None], conversations: Sequence[Labelled]) -> dict[str, Any]:
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
        "notes by language": _by_language(conversations, kept),
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


class _Text(NamedTuple):
    """A memory or a fact as the service lists it."""

    text: str
    user: str | None
    sources: frozenset[str]
    agent: str


def _texts(ask: Ask, app: str, what: str, field: str) -> list[_Text]:
    return [
        _Text(
            " ".join(one[field].split()), one.get("userId"),
            frozenset(source["conversationId"] for source in one["sources"]), one["agent"],
        )
        for one in ask("GET", f"/apps/{app}/{what}?limit=200")[what]
    ]  # fmt: skip


def _by_language(conversations: Iterable[Labelled], kept: Mapping[str, Sequence[_Text]]) -> dict[str, Any]:
    """Return of each language how many conversations have something to keep, and of how many a model's note stands."""
    by_model = {name for texts in kept.values() for text in texts if text.agent != EXTRACTIVE for name in text.sources}
    found: dict[str, Any] = {}
    for one in (one for one in conversations if not one["nothing"]):
        of = found.setdefault(one["language"], {"conversations": 0, "by the model": 0})
        of["conversations"] += 1
        of["by the model"] += one["id"] in by_model
    return dict(sorted(found.items()))


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


@dataclass
class CostWatch:
    """Waits for the jobs of one conversation after another, and reads from the ledger what each cost."""

    service: BenchService
    prompts: PromptWatch | None = None
    of_each: list[ModelCost] = field(default_factory=list)
    _entry: int = 0

    def settle(self) -> None:
        """Wait until no job is left to do, and note what was spent since it was called last."""
        seconds = seconds_of(lambda: self.service.settle(_SECONDS))
        with self.service.database.read() as session:
            rows = list(session.scalars(select(Spending).where(Spending.entry > self._entry)))
        self._entry = max((row.entry for row in rows), default=self._entry)
        calls = [row for row in rows if row.model != EXTRACTIVE and row.kind != WorkKind.EMBED]
        self.of_each.append(cost_of(calls, rows, seconds, None if self.prompts is None else self.prompts.take()))

    def figures(self, conversations: Sequence[Labelled]) -> dict[str, Any]:
        """Return what a conversation cost in the mean, and what each did."""
        each = [asdict(cost) for cost in self.of_each]
        means = {name: [one[name] for one in each if one[name] is not None] for name in each[0]}
        return {
            "a conversation": {name: round(mean(values), 2) if values else None for name, values in means.items()},
            "each": {one["id"]: cost for one, cost in zip(conversations, each, strict=True)},
        }

    def jobs(self) -> dict[str, Any]:
        """Return by whom the jobs were done that a model is asked in, and why not by the model where it was not."""
        with self.service.database.read() as session:
            asked = set(session.scalars(select(Spending.job_id).where(Spending.model != EXTRACTIVE)))
            found = [job for job in session.scalars(select(Job)) if job.kind in _THOUGHT]
        done: dict[str, Counter[str]] = {}
        reasons: Counter[str] = Counter()
        for job in found:
            is_handed_on = f"done by {EXTRACTIVE}" in (job.reason or "")
            who = "by rules" if is_handed_on else "by the model" if job.job_id in asked else "without a call"
            done.setdefault(job.kind, Counter())[f"{who}, {job.state}"] += 1
            reasons[job.reason or ""] += is_handed_on
        return {**done, "why by rules": {why: count for why, count in reasons.most_common() if count}}


class Way(NamedTuple):
    """One way of remembering: by rules, or with a model at a server."""

    env: Mapping[str, str] = MappingProxyType({})
    prompts: PromptWatch | None = None


@contextmanager
def with_recorded(answers: RecordedAnswers) -> Iterator[Way]:
    """Put recorded answers in the place of a model."""
    with OllamaServer(models=(MODEL,), answers=answers) as server:
        yield Way({"OLLAMA_HOST": server.url, "AFTERTHOUGHT_MODEL": f"ollama:{MODEL}"})


@contextmanager
def asked(model: str, engine: Path | None = None, python: str = sys.executable) -> Iterator[Way]:
    """Ask a model where the environment says its server is, or an engine that is started with a file."""
    env = {name: value for name, value in os.environ.items() if name.startswith(_TAKEN_OVER)}
    address = env.get("AFTERTHOUGHT_OPENAI_BASE_URL") or os.environ.get("OPENAI_BASE_URL")
    if engine is not None:
        env |= {"AFTERTHOUGHT_MODEL_CONTEXT_TOKENS": str(_WINDOW)}
    with open_model(model, address, engine, python, _WINDOW) as (prompts, place):
        chosen = {} if place is None else {"AFTERTHOUGHT_OPENAI_BASE_URL": place}
        yield Way({**env, **chosen, "AFTERTHOUGHT_MODEL": model}, prompts)


def at_a_service(
    folder: Path, conversations: Sequence[Labelled], way: Way, embedding: str | None = None
) -> dict[str, Any]:
    """Hold the conversations at a Redis, a loop and a worker of their own below ``folder``."""
    env = {**way.env, **_ENV, **({"AFTERTHOUGHT_EMBEDDING": embedding} if embedding else {})}
    with serve(folder, env=env) as service, service.system.client() as client:

        def ask(method: str, path: str, **more: Any) -> Any:
            return client.request(method, path, **more).raise_for_status().json()

        costs = CostWatch(service, way.prompts)
        found = hold(ask, costs.settle, conversations)
        counted = service.samples("afterthought_texts_refused_total")
        refused = {", ".join(one.labels.values()): one.value for one in counted if one.value}
        return {**found, "cost": costs.figures(conversations), "jobs": costs.jobs(), "refused": refused}


def measure(
    folder: Path,
    data: Annotated[Path, "directory that holds kinds/"] = DEFAULT_DATA,
    conversations: Annotated[int | None, "only so many, the oldest"] = None,
    rules: Annotated[bool, "only by rules, without a model"] = False,
    recorded: Annotated[bool, "only with the recorded answers"] = False,
    model: Annotated[str | None, "a model that answers, as AFTERTHOUGHT_MODEL names it; beside by rules"] = None,
    engine: EngineFile = None,
    engine_python: EnginePython = sys.executable,
    languages: Annotated[bool, "also in which languages a model's notes stand"] = False,
    embedding: Annotated[str | None, "as the setting; the built-in one otherwise"] = None,
) -> dict[str, Any]:
    """Hold the conversations each way, one after the other."""
    if (problem := missing(data)) is not None:
        sys.exit(problem)
    chats = labelled(data)[:conversations]
    model = model or (ENGINE_MODEL if engine else None)
    ways: dict[str, AbstractContextManager[Way]] = {} if recorded else {"by rules": nullcontext(Way())}
    if model is not None:
        ways[f"with {model}"] = asked(model, engine, engine_python)
    elif not rules:
        say("recorded answers were written for the tests and measure no model")
        ways["with recorded answers"] = with_recorded(RecordedAnswers(chats))
    found = {}
    for number, (name, way) in enumerate(ways.items()):
        say(name)
        with way as open_way:
            found[name] = at_a_service(folder / str(number), chats, open_way, embedding)
        if not languages:
            del found[name]["notes by language"]
    return found


if __name__ == "__main__":
    run(measure)
