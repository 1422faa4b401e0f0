"""Fills a database quickly: with many apps at their cap, or with what a month of work leaves behind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, SQLColumnExpression, String, cast, func, insert, literal, select

from shared.apps.models import App
from shared.base.choices import Category
from shared.contracts.jobs import JobKind, WorkClass
from shared.conversations.models import Conversation, Message
from shared.db.base import Base
from shared.db.engine import Database
from shared.energy.models import Spending
from shared.facts.models import Fact
from shared.jobs.models import Job, JobState, TenantQueue
from shared.llm.calls import CallOutcome, WorkKind
from shared.llm.embedding import DIMENSIONS, NgramEmbedder
from shared.memories.models import Memory, Origin
from shared.search.models import SetState, VectorSet

FULL_APP = 10
_BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
_BATCH = 1000


def app_id(number: int) -> str:
    """Return the id of an app of the population."""
    return f"bench-{number:06d}"


_DAYS = 30
_OF_AN_APP = 5
_TEXT = "They keep eleven hives behind the orchard and are allergic to the stings."
_MODEL = "ollama:filled"


def fill(database: Database, apps: int, conversations: int, finished_jobs: int, first: int = 0) -> None:
    """Add apps, the first with that number, and what a month up to now left of them; nothing of it waits for anything.

    Each app has five memories, five facts, an idle tenant queue and a set of vectors; each conversation has ended and
    has two messages and a settled call of a model.
    """
    now = datetime.now(UTC)
    for day in range(_DAYS):
        at = now - timedelta(days=_DAYS - 1 - day)
        with database.engine.begin() as connection:
            if database.is_sqlite:
                # With the little a service has, each row would write pages of every index anew.
                connection.exec_driver_sql("PRAGMA cache_size = -2000000")
            if day == 0:
                _fill_apps(connection, apps, first, at)
            talks, jobs = (
                range(count * day // _DAYS, count * (day + 1) // _DAYS) for count in (conversations, finished_jobs)
            )
            _fill_conversations(connection, talks, apps, first, at)
            _fill_jobs(connection, jobs, apps, first, at)
    database.engine.dispose()
    # As autovacuum would. SQLite has no such thing, and a service there plans without statistics.
    vacuum(database)


def _fill_apps(connection: Connection, apps: int, first: int, at: datetime) -> None:
    n = _numbers(range(apps))
    made = {"app_id": _label("bench-", n + first), "created_at": literal(at)}
    _insert(connection, App, **made, name="App", answered_by="app", updated_at=at)
    _insert(connection, TenantQueue, app_id=made["app_id"], work_class=WorkClass.THOUGHT)
    _insert(connection, VectorSet, **made, model=NgramEmbedder.name, dimensions=DIMENSIONS, state=SetState.SERVING)
    for slot in range(1, _OF_AN_APP + 1):
        before = connection.scalar(select(func.coalesce(func.max(Origin.memory_id), 0)))
        _insert(connection, Origin, **made, epoch=0, agent=_MODEL)
        of_it = {"memory_id": Origin.memory_id, "app_id": Origin.app_id}
        times = {"created_at": at, "updated_at": at}
        _insert(connection, Memory, Origin.memory_id > before, **of_it, **times, slot=slot, content=_TEXT, agent=_MODEL)
        seen = dict.fromkeys(("first_seen", "last_seen", "said_at", "updated_at"), at)
        said = {"statement": _TEXT, "said_key": str(slot), "category": Category.PROJECT, "confidence": 0.9}
        _insert(connection, Fact, app_id=made["app_id"], slot=slot, **said, **seen, agent=_MODEL)


def _fill_conversations(connection: Connection, wanted: range, apps: int, first: int, at: datetime) -> None:
    n, before = _numbers(wanted), connection.scalar(select(func.coalesce(func.max(Conversation.key), 0)))
    names = {"app_id": _label("bench-", n % apps + first), "conversation_id": _label(f"filled-{first}-", n)}
    _insert(connection, Conversation, **names, message_count=2, created_at=at, updated_at=at, ended_at=at)
    new, of_it = Conversation.key > before, {"app_id": Conversation.app_id, "conversation_key": Conversation.key}
    for position, role in enumerate(("user", "assistant")):
        said = {"position": position, "message_id": f"m{position}", "role": role, "content": _TEXT, "created_at": at}
        _insert(connection, Message, new, **of_it, **said)
    counts = {"prompt_tokens": 500, "completion_tokens": 50, "micro": 10_000}
    call = {"kind": WorkKind.CREATE, "model": _MODEL, "outcome": CallOutcome.ANSWERED, "estimated": False}
    _insert(connection, Spending, new, **of_it, **call, **counts, settled=True, at=at)


def _fill_jobs(connection: Connection, wanted: range, apps: int, first: int, at: datetime) -> None:
    n = _numbers(wanted)
    names = {"job_id": _label(f"job_{first}_", n), "dedupe": _label(f"filled:{first}:", n)}
    times = dict.fromkeys(("created_at", "due_at", "started_at", "finished_at"), at)
    done = {"kind": JobKind.CREATE_MEMORY, "state": JobState.DONE, "attempts": 1, "fence": 1}
    _insert(connection, Job, **names, **times, **done, app_id=_label("bench-", n % apps + first))


def _numbers(wanted: range) -> ColumnElement[int]:
    """Select the numbers of a range, which must not be empty."""
    numbers = select(literal(wanted.start).label("n")).cte("numbers", recursive=True)
    following = select(numbers.c.n + 1).where(numbers.c.n < wanted.stop - 1)
    return numbers.union_all(following).c.n


def _label(prefix: str, number: ColumnElement[int]) -> ColumnElement[str]:
    """Return a name that ends in a number of at least six digits."""
    digits = cast(number, String)
    return literal(prefix) + func.substr("000000", func.length(digits) + 1) + digits


def _insert(connection: Connection, table: type[Base], /, *conditions: ColumnElement[bool], **columns: Any) -> None:
    found = select(*(value if isinstance(value, SQLColumnExpression) else literal(value) for value in columns.values()))
    connection.execute(insert(table).from_select(list(columns), found.where(*conditions)))


def install_apps(database: Database, numbers: range) -> None:
    """Add apps that hold nothing."""
    times = {"config": {}, "purge_epoch": 0, "created_at": _BEGUN, "updated_at": _BEGUN}
    with database.write() as session:
        session.execute(insert(App), [{"app_id": app_id(n), "name": f"Bench {n}", **times} for n in numbers])


def populate(database: Database, apps: int, first: int = 0) -> None:
    """Add apps ``first``..``apps``-1, each with ten memories."""
    for start in range(first, apps, _BATCH):
        numbers = range(start, min(apps, start + _BATCH))
        install_apps(database, numbers)
        with database.write() as session:
            origins = [
                {"app_id": app_id(number), "epoch": 0, "agent": "extractive", "created_at": _BEGUN + timedelta(hours=n)}
                for number in numbers
                for n in range(FULL_APP)
            ]
            ids = session.scalars(insert(Origin).returning(Origin.memory_id, sort_by_parameter_order=True), origins)
            rows = zip(ids.all(), origins, range(len(origins)), strict=True)
            session.execute(insert(Memory), [_memory(memory_id, origin, i % FULL_APP) for memory_id, origin, i in rows])


def _memory(memory_id: int, origin: dict[str, Any], nth: int) -> dict[str, object]:
    text = f"User: planted {nth + 3} rows of beans in the north field and sold the tractor to cousin Marta {nth}."
    return {
        "memory_id": memory_id, "app_id": origin["app_id"], "slot": nth + 1, "content": text, "importance": 5,
        "tags": ["beans"], "pinned": False, "agent": "extractive", "version": 1,
        "created_at": origin["created_at"], "updated_at": origin["created_at"],
    }  # fmt: skip


def serving_set(app: str, dimensions: int = 384) -> VectorSet:
    """Return a set of vectors that an app is served from, to be filled with what a bench hands in."""
    return VectorSet(app_id=app, model="bench", dimensions=dimensions, state=SetState.SERVING, created_at=_BEGUN)


def vacuum(database: Database) -> None:
    """Do what PostgreSQL does by itself every minute, so that no figure depends on when; nothing on SQLite."""
    if not database.is_sqlite:
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")
