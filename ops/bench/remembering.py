"""What is kept, missed and wrong of realistic chats with labels, sort by sort: ``python -m ops.bench.remembering``.

Starts a service of its own, holds the conversations over HTTP message by message in the order of their dates, waits for
the jobs of each, and puts the labelled questions as the first words of new conversations. Side by side: by rules, and
with a model: any that answers (``--model ollama:NAME``, ``--engine FILE.gguf``), with what it read and wrote; else the
recorded answers of tests/fixtures, which were written for the tests and measure no model. An item is found where one
of its regular expressions matches, whatever the case.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select

from ops.bench.corpora import DEFAULT_DATA
from ops.bench.engine import ENGINE_MODEL, PromptWatch, serve_engine, watch_prompts
from ops.bench.figures import say, show
from ops.bench.service import unfinished
from shared.db.engine import Database
from shared.energy.budget import to_units
from shared.energy.models import Spending
from shared.jobs.models import Job
from shared.llm.calls import EXTRACTIVE, WorkKind
from shared.llm.transport import is_loopback
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


@dataclass(frozen=True)
class _Text:
    """A memory or a fact as the service lists it."""

    text: str
    user: str | None
    sources: frozenset[str]
    agent: str


def _texts(ask: Ask, app: str, what: str, field: str) -> list[_Text]:
    listed = ask("GET", f"/apps/{app}/{what}?limit=200")[what]
    sources = (frozenset(source["conversationId"] for source in one["sources"]) for one in listed)
    return [
        _Text(" ".join(one[field].split()), one.get("userId"), of, one["agent"])
        for one, of in zip(listed, sources, strict=True)
    ]


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
class ConversationCost:
    """What the work on one conversation took of a model; ``tokens_read_anew`` is None where no engine tells it."""

    calls: int
    tokens_read: int
    tokens_read_anew: int | None
    tokens_written: int
    seconds: float
    """From its end to the end of its last job."""
    energy_units: float


@dataclass
class CostWatch:
    """Waits for the jobs of one conversation after another, and reads from the ledger what each cost."""

    database: Database
    prompts: PromptWatch | None = None
    of_each: list[ConversationCost] = field(default_factory=list)
    _entry: int = 0
    _read_anew: int = 0

    def settle(self) -> None:
        """Wait until no job is left to do, and note what was spent since it was called last."""
        begun = perf_counter()
        wait_until(lambda: not unfinished(self.database), _SECONDS, "every job to finish")
        seconds = perf_counter() - begun
        with self.database.read() as session:
            rows = list(session.scalars(select(Spending).where(Spending.entry > self._entry)))
        self._entry = max((row.entry for row in rows), default=self._entry)
        calls = [row for row in rows if row.model != EXTRACTIVE and row.kind != WorkKind.EMBED]
        anew = None if self.prompts is None else self.prompts.read_anew
        self.of_each.append(
            ConversationCost(
                calls=len(calls),
                tokens_read=sum(row.prompt_tokens for row in calls),
                tokens_read_anew=None if anew is None else anew - self._read_anew,
                tokens_written=sum(row.completion_tokens for row in calls),
                seconds=round(seconds, 1),
                energy_units=round(to_units(sum(row.micro for row in rows)), 2),
            )
        )
        self._read_anew = anew or self._read_anew

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
        with self.database.read() as session:
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


_THOUGHT = ("create_memory", "extract_facts", "summarise")


def _refused(metrics: str) -> dict[str, float]:
    """Return of each reason how many texts of an agent's were not stored."""
    samples = (sample for family in text_string_to_metric_families(metrics) for sample in family.samples)
    refused = (sample for sample in samples if sample.name == "afterthought_texts_refused_total")
    told = {", ".join(sample.labels.values()): sample.value for sample in refused}
    return {reason: count for reason, count in told.items() if count}


@dataclass(frozen=True)
class Way:
    """One way of remembering: by rules, or with a model at a server."""

    env: Mapping[str, str] = field(default_factory=dict)
    prompts: PromptWatch | None = None


@contextmanager
def recorded(answers: RecordedAnswers) -> Iterator[Way]:
    """Put recorded answers in the place of a model."""
    with OllamaServer(models=(MODEL,), answers=answers) as server:
        yield Way({"OLLAMA_HOST": server.url, "AFTERTHOUGHT_MODEL": f"ollama:{MODEL}"})


@contextmanager
def asked(model: str, engine: Path | None = None, python: str = sys.executable) -> Iterator[Way]:
    """Ask a model where the environment says its server is, or an engine that is started with a file."""
    env = {name: value for name, value in os.environ.items() if name.startswith(_TAKEN_OVER)}
    with ExitStack() as stack:
        address = env.get("AFTERTHOUGHT_OPENAI_BASE_URL") or os.environ.get("OPENAI_BASE_URL")
        if engine is not None:
            address = stack.enter_context(serve_engine(engine, python, _WINDOW))
            env |= {"AFTERTHOUGHT_MODEL_CONTEXT_TOKENS": str(_WINDOW)}
        prompts = None
        # No provider's own address is changed: how it is asked goes by that.
        if model.startswith("openai:") and address is not None and is_loopback(address):
            prompts, address = stack.enter_context(watch_prompts(address))
        chosen = {} if address is None else {"AFTERTHOUGHT_OPENAI_BASE_URL": address}
        yield Way({**env, **chosen, "AFTERTHOUGHT_MODEL": model}, prompts)


_TAKEN_OVER = (
    "AFTERTHOUGHT_MODEL_",
    "AFTERTHOUGHT_OPENAI_",
    "AFTERTHOUGHT_ANTHROPIC_",
    "OLLAMA_HOST",
    "OPENAI_",
    "ANTHROPIC_",
)


def at_a_service(
    folder: Path, conversations: Sequence[Labelled], way: Way, embedding: str | None = None
) -> dict[str, Any]:
    """Measure at a Redis, a loop and a worker of their own below ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    url, redis = f"sqlite:///{folder / 'bench.db'}", start_redis(folder / "redis")
    env = {**way.env, **_ENV, **({"AFTERTHOUGHT_EMBEDDING": embedding} if embedding else {})}
    try:
        with start_system(folder, url, redis.url, env=env) as system, system.client() as client:

            def ask(method: str, path: str, **more: Any) -> Any:
                answer: httpx.Response = client.request(method, path, **more)
                return answer.raise_for_status().json()

            with _opened(url) as database:
                costs = CostWatch(database, way.prompts)
                found = measure(ask, costs.settle, conversations)
                took = {"cost": costs.figures(conversations), "jobs": costs.jobs()}
            return {**found, **took, "refused": _refused(client.get("/metrics").raise_for_status().text)}
    finally:
        redis.stop()


@contextmanager
def _opened(url: str) -> Iterator[Database]:
    """Open a database and let go of it in the end."""
    database = Database(url)
    try:
        yield database
    finally:
        database.dispose()


def main(arguments: list[str]) -> int:
    """Measure and print."""
    options = _options(arguments)
    problem = missing(options.data)
    if problem:
        sys.exit(problem)
    conversations = labelled(options.data)[: options.conversations]
    model = options.model or (ENGINE_MODEL if options.engine else None)
    ways: dict[str, Callable[[], AbstractContextManager[Way]]] = {}
    if not options.recorded:
        ways["by rules"] = lambda: nullcontext(Way())
    if model is not None:
        ways[f"with {model}"] = lambda: asked(model, options.engine, options.engine_python)
    elif not options.rules:
        say("recorded answers were written for the tests and measure no model")
        ways["with recorded answers"] = lambda: recorded(RecordedAnswers(conversations))
    found = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for number, (name, way) in enumerate(ways.items()):
            say(name)
            with way() as open_way:
                measured = at_a_service(Path(folder) / str(number), conversations, open_way, options.embedding)
            if not options.languages:
                del measured["notes by language"]
            found[name] = measured
    show(found)
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="directory that holds kinds/")
    parser.add_argument("--conversations", type=int, help="only so many, the oldest")
    parser.add_argument("--rules", action="store_true", help="only by rules, without a model")
    parser.add_argument("--recorded", action="store_true", help="only with the recorded answers")
    parser.add_argument("--model", help="a model that answers, as AFTERTHOUGHT_MODEL names it; beside by rules")
    parser.add_argument("--engine", type=Path, help="a GGUF file to start xllamacpp with; it is asked as openai:engine")
    parser.add_argument("--engine-python", default=sys.executable, help="the interpreter that has xllamacpp")
    parser.add_argument("--languages", action="store_true", help="also in which languages a model's notes stand")
    parser.add_argument("--embedding", help="as the setting; the built-in one otherwise")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
