"""What composing a context costs without a model: ``python -m ops.bench.composing``.

One conversation of 10,000 messages, 150 facts and ten memories. Prints JSON: p50, p95 and p99 of a context for a small
window (it is compacted), of one without a window (everything is handed out), of one whose messages come with the
request, and of a conversation that fits. Timed is what a request makes the database and the rules do, HTTP aside.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from sqlalchemy import insert, text

from ops.bench.figures import say, show, spread, timed
from ops.bench.population import app_id, populate
from shared.context.context import ContextRequest, ConversationContext, open_context
from shared.context.window import Utterance
from shared.conversations.models import Conversation, Message
from shared.db.engine import Database
from shared.db.schema import migrate
from shared.facts.categories import Category
from shared.facts.models import PIN_SLOTS, SLOTS, Fact
from shared.telemetry.logging import configure_logging
from shared.telemetry.metrics import Metrics

_AT = datetime(2026, 3, 1, tzinfo=UTC)
_LONG, _SHORT = "long", "short"
_WINDOW, _ASKED = 8192, "What was my next step in the northern field?"
_BATCH = 5_000


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", help="an empty PostgreSQL; SQLite in a temporary folder otherwise")
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--contexts", type=int, default=300, help="how many of each kind are composed")
    options = parser.parse_args(arguments)
    configure_logging("error", "console", "bench")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        show(measure(Path(folder), options.messages, options.contexts, options.database_url))
    return 0


def measure(folder: Path, messages: int, contexts: int, database_url: str | None = None) -> dict[str, Any]:
    """Fill a database, compose contexts, return the figures."""
    url = database_url or f"sqlite:///{folder / 'bench.db'}"
    migrate(url)
    database = Database(url)
    say(f"{messages} messages, {SLOTS} facts")
    populate(database, 1)
    _converse(database, _LONG, messages)
    _converse(database, _SHORT, 40)
    _learn(database)
    metrics = Metrics(CollectorRegistry())
    said = [Utterance(*_message(number)) for number in range(messages)]
    stored = ContextRequest(1000, conversation_id=_LONG, now_said=_ASKED)
    kinds = {
        "stored_and_compacted": ContextRequest(1000, conversation_id=_LONG, now_said=_ASKED, context_window=_WINDOW),
        "stored_and_whole": stored,
        "stored_and_fitting": ContextRequest(1000, conversation_id=_SHORT, now_said=_ASKED, context_window=_WINDOW),
        "in_the_request_and_compacted": ContextRequest(1000, said=said, now_said=_ASKED, context_window=_WINDOW),
    }
    figures = {name: _measured(database, wanted, contexts, metrics) for name, wanted in kinds.items()}
    database.dispose()
    return {"database": url.split(":")[0], "messages": messages, "facts": SLOTS, **figures}


def _measured(database: Database, wanted: ContextRequest, contexts: int, metrics: Metrics) -> dict[str, Any]:
    def compose() -> ConversationContext:
        return open_context(database, app_id(0), wanted, metrics)

    opening = compose()
    taken = timed([compose] * contexts)
    return {
        **spread(taken),
        "stage": opening.stage,
        "messages_in_it": len(opening.messages),
        "tokens": opening.total_tokens,
        "facts_in_it": len(opening.fact_ids),
        "memories_in_it": len(opening.memory_ids),
    }


def _message(number: int) -> tuple[str, str]:
    if number == 0:
        return "system", "You help on a farm, in few words."
    role = "user" if number % 2 else "assistant"
    return role, f"Row {number}: " + "beans are sown, watered and hoed before the frost comes back. " * 3


def _converse(database: Database, conversation_id: str, messages: int) -> None:
    with database.write() as session:
        conversation = Conversation(
            app_id=app_id(0), conversation_id=conversation_id, message_count=messages, created_at=_AT, updated_at=_AT
        )
        session.add(conversation)
        session.flush()
        rows = [_row(conversation.key, conversation_id, number) for number in range(messages)]
        for start in range(0, messages, _BATCH):
            session.execute(insert(Message), rows[start : start + _BATCH])


def _row(key: int, conversation_id: str, number: int) -> dict[str, object]:
    role, content = _message(number)
    return {
        "conversation_key": key, "app_id": app_id(0), "position": number, "message_id": f"{conversation_id}-{number}",
        "role": role, "content": content, "created_at": _AT,
    }  # fmt: skip


def _learn(database: Database) -> None:
    categories = list(Category)
    with database.write() as session:
        session.execute(insert(Fact), [_fact(number, categories[number % 3]) for number in range(1, SLOTS + 1)])
        # As PostgreSQL does by itself within a minute; until then it has to guess how to find things.
        session.execute(text("ANALYZE"))


def _fact(number: int, category: Category) -> dict[str, object]:
    at = _AT - timedelta(days=number % 50)
    return {
        "app_id": app_id(0), "state": "standing", "slot": number, "pin_slot": number if number <= PIN_SLOTS else None,
        "statement": f"Plans to plough field {number} with the grey tractor before the harvest festival",
        "said_key": f"key-{number}", "category": category, "confidence": 0.5 + number % 50 / 100,
        "mention_count": 1, "by_hand": False, "agent": "extractive", "version": 1,
        "first_seen": at, "last_seen": at, "updated_at": at,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
