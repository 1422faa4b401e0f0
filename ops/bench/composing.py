"""What composing a context costs without a model: ``python -m ops.bench.composing``.

One conversation of 10,000 messages, 150 facts and ten memories. Prints JSON: p50, p95 and p99 of a context for a small
window (it is compacted), of one without a window (everything is handed out), of one whose messages come with the
request, and of a conversation that fits. Timed is what a request makes the database and the rules do, HTTP aside.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from prometheus_client import CollectorRegistry
from sqlalchemy import insert, text

from ops.bench.harness import DatabaseUrl, run, say, spread, timed
from ops.bench.population import app_id, populate
from shared.base.choices import Category
from shared.base.clock import SystemClock
from shared.context.context import ContextRequest, open_context
from shared.context.sources import RecallSources
from shared.context.window import Utterance
from shared.conversations.models import Conversation, Message
from shared.db.engine import Database
from shared.db.schema import migrate
from shared.facts.models import PIN_SLOTS, SLOTS, Fact
from shared.telemetry.metrics import Metrics

_AT = datetime(2026, 3, 1, tzinfo=UTC)
_APP = app_id(0)
_BATCH = 5_000


def measure(
    folder: Path,
    messages: int = 10_000,
    contexts: Annotated[int, "how many of each kind are composed"] = 300,
    database_url: DatabaseUrl = None,
) -> dict[str, Any]:
    """Fill a database, compose contexts, return the figures."""
    url = database_url or f"sqlite:///{folder / 'bench.db'}"
    migrate(url)
    database = Database(url)
    say(f"{messages} messages, {SLOTS} facts")
    populate(database, 1)
    _converse(database, "long", messages)
    _converse(database, "short", 40)
    _learn(database)
    reach = RecallSources(database, None, SystemClock(), Metrics(CollectorRegistry()))
    said = [Utterance(*_message(number)) for number in range(messages)]
    request = partial(ContextRequest, 1000, pending_message="What was my next step in the northern field?")
    kinds = {
        "stored_and_compacted": request(conversation_id="long", context_window=8192),
        "stored_and_whole": request(conversation_id="long"),
        "stored_and_fitting": request(conversation_id="short", context_window=8192),
        "in_the_request_and_compacted": request(messages=said, context_window=8192),
    }
    figures = {}
    for name, wanted in kinds.items():
        compose = partial(open_context, reach, _APP, wanted, "bench")
        opening = compose()
        figures[name] = {
            **spread(timed([compose] * contexts)),
            "stage": opening.stage,
            "messages_in_it": len(opening.messages),
            "tokens": opening.total_tokens,
            "facts_in_it": len(opening.fact_ids),
            "memories_in_it": len(opening.memory_ids),
        }
    database.dispose()
    return {"database": url.split(":")[0], "messages": messages, "facts": SLOTS, **figures}


def _message(number: int) -> tuple[str, str]:
    if number == 0:
        return "system", "You help on a farm, in few words."
    role = "user" if number % 2 else "assistant"
    return role, f"Row {number}: " + "beans are sown, watered and hoed before the frost comes back. " * 3


def _converse(database: Database, name: str, messages: int) -> None:
    times = {"created_at": _AT, "updated_at": _AT}
    with database.write() as session:
        conversation = Conversation(app_id=_APP, conversation_id=name, message_count=messages, **times)
        session.add(conversation)
        session.flush()
        of_it = {"conversation_key": conversation.key, "app_id": _APP, "created_at": _AT}
        rows = [
            {**of_it, "position": n, "message_id": f"{name}-{n}", "role": role, "content": content}
            for n, (role, content) in enumerate(map(_message, range(messages)))
        ]
        for start in range(0, messages, _BATCH):
            session.execute(insert(Message), rows[start : start + _BATCH])


def _learn(database: Database) -> None:
    categories = list(Category)
    with database.write() as session:
        session.execute(insert(Fact), [_fact(number, categories[number % 3]) for number in range(1, SLOTS + 1)])
        # As PostgreSQL does by itself within a minute; until then it has to guess how to find things.
        session.execute(text("ANALYZE"))


def _fact(number: int, category: Category) -> dict[str, object]:
    at = _AT - timedelta(days=number % 50)
    return {
        "app_id": _APP, "state": "standing", "slot": number, "pin_slot": number if number <= PIN_SLOTS else None,
        "statement": f"Plans to plough field {number} with the grey tractor before the harvest festival",
        "said_key": f"key-{number}", "category": category, "confidence": 0.5 + number % 50 / 100,
        "mention_count": 1, "by_hand": False, "agent": "extractive", "version": 1,
        "first_seen": at, "last_seen": at, "updated_at": at,
    }  # fmt: skip


if __name__ == "__main__":
    run(measure)
