"""How fast old messages are found, and what that takes: ``python -m ops.bench.searching --messages 100000 --apps 100``.

Messages of made-up words, as often as words are used in speech, with vectors that are sums of vectors of their words.
Searches go through the finder as over HTTP, but for the query's own embedding, which is handed in. ``--one-by-one``
adds so many to an app by themselves, on both databases, and where ``--rivals`` names an interpreter that has them also
to mem0 with its local store and no model, and LangGraph's store in memory, with the same vectors. Prints JSON.
"""

from __future__ import annotations

import gc
import resource
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Annotated, Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from ops.bench.harness import run, say, seconds_of, spread, timed
from ops.bench.made_up import Chatter, make_finder
from ops.bench.population import serving_set, vacuum
from ops.bench.rival_stores import measure_rivals
from shared.apps.models import App
from shared.apps.queries import install
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, start
from shared.conversations.models import Conversation, Message
from shared.conversations.queries import get_conversation
from shared.db.engine import Database
from shared.db.schema import migrate
from shared.erasure.erasing import erase_conversation
from shared.search import word_index
from shared.search.models import Unembedded, VectorSet, doc_id_of
from shared.search.search import MessageSearch
from shared.search.vectors import VectorMatrices, insert_vectors
from shared.search.view import SearchRequest
from tests.support.postgres import PostgresServer

_NOW = datetime(2026, 3, 1, tzinfo=UTC)
_PER_CONVERSATION = 100
_BATCH = 5_000
_AT_ONCE = 100
"""Messages of a request, and vectors of a transaction."""
_FIRST_TIMES = 5
_VACUUMED_EVERY = 1_000
_WARM_UP = SearchRequest("warm up")
_INDEX_TABLES = ("message_words", "message_vectors", "vector_", "passages", "unembedded", "app_indexes")


def measure(
    folder: Path,
    messages: int = 100_000,
    apps: int = 100,
    users: Annotated[int | None, "Users of each app, who search what they said; else it names nobody."] = None,
    queries: int = 300,
    commits: int = 3_000,
    database: Annotated[str | None, "An address; else SQLite in a folder of its own."] = None,
    keep: Annotated[bool, "Search alone, also in what an earlier run has filled."] = False,
    one_by_one: Annotated[int | None, "Messages added so, here and to the rivals; mem0 is slow."] = None,
    rivals: Annotated[str | None, "An interpreter that has mem0ai and langgraph."] = None,
) -> dict[str, Any]:
    """Search what was filled in, and add by the side of others."""
    url = database or f"sqlite:///{folder / 'bench.db'}"
    figures = search(url, messages, apps, queries, None if keep else commits, users)
    if one_by_one:
        figures["side_by_side"] = _side_by_side(folder, rivals, one_by_one)
    return figures


def search(
    url: str, messages: int, apps: int, queries: int, commits: int | None, users: int | None = None
) -> dict[str, Any]:
    """Fill a database unless it is, search it, and return the figures; ``commits`` is None where it is to stay so."""
    migrate(url)
    database = Database(url)
    chatter = Chatter(seed=1)
    begun = perf_counter()
    is_new = _fill(database, chatter, messages, apps, users)
    filled = perf_counter() - begun
    say(f"filled in {filled:.0f} s")
    gc.freeze()  # As the loop does.
    before = _resident()
    matrices = VectorMatrices(1_000_000_000)
    finder = make_finder(database, chatter.vector, matrices)
    first = _first_searches(database, chatter, apps)
    found = _search(finder, chatter, apps, messages // apps, queries, users)
    figures = {
        "database": "sqlite" if database.is_sqlite else "postgresql",
        "messages": messages,
        "apps": apps,
        "users_of_each": users,
        "searches": found,
        "first_of_an_app": first,
        "vectors_in_memory_bytes_a_message": round(matrices.bytes / messages, 1),
        "memory_grown_mb": round(_resident() - before, 1),
        "sizes": _sizes(database, messages),
        "bulk_fill_messages_a_second": round(messages / filled) if is_new else None,
    }
    if commits is not None:
        figures["single_commits"] = _commits(database, chatter, commits)
        after = [_after_erasure(finder, app) for app in range(min(apps, 10))]
        figures["first_search_after_an_erasure"] = spread(after)
    database.dispose()
    return figures


def _side_by_side(folder: Path, rivals: str | None, messages: int) -> dict[str, Any]:
    """Add and search the same messages, in one app, here and with the rivals."""
    chatter = Chatter(seed=2)
    texts = [chatter.message(n) for n in range(messages)]
    questions = [chatter.question(texts[n * 7 % messages]) for n in range(100)]
    server = PostgresServer(durable=True)
    try:
        urls = {"sqlite": f"sqlite:///{folder / 'beside.db'}", "postgresql": server.new_database(migrated=False)}
        ours = {f"ours, {name}": _ours(url, chatter, texts, questions) for name, url in urls.items()}
    finally:
        server.stop()
    theirs = measure_rivals(folder, rivals, chatter.vector, texts, questions) if rivals else {}
    return {"messages": messages, **ours, **theirs}


def _ours(url: str, chatter: Chatter, texts: Sequence[str], questions: Sequence[str]) -> dict[str, Any]:
    migrate(url)
    database = Database(url)
    empty = sum(size for _, size in _by_table(database))
    with database.write() as session:
        install(session, "app0", "App 0", {}, _NOW)
        start(session, "app0", NewConversation("c0"), _NOW)
        start(session, "app0", NewConversation("by hundred"), _NOW)
        session.add(serving_set("app0"))
    added = seconds_of(lambda: _add(database, chatter, "c0", [[text] for text in texts]))
    total = sum(size for _, size in _by_table(database)) - (0 if database.is_sqlite else empty)
    finder = make_finder(database, chatter.vector)
    finder.find("app0", SearchRequest(questions[0]))
    taken = timed(partial(finder.find, "app0", SearchRequest(question)) for question in questions)
    hundreds = [texts[first : first + _AT_ONCE] for first in range(0, len(texts), _AT_ONCE)]
    by_hundred = seconds_of(lambda: _add(database, chatter, "by hundred", hundreds))
    database.dispose()
    return {
        "adds_a_second": round(len(texts) / added),
        "adds_a_second_by_hundred": round(len(texts) / by_hundred),
        "search": spread(taken),
        "bytes_a_message": round(total / len(texts)),
    }


def _add(database: Database, chatter: Chatter, conversation_id: str, lists: Sequence[Sequence[str]]) -> None:
    """Say lists of texts, each in a transaction, and bring in their vectors by the hundred, as workers do."""
    waiting: dict[tuple[int, int], NDArray[np.float32]] = {}
    for nth, texts in enumerate(lists, 1):
        with database.write() as session:
            conversation = get_conversation(session, "app0", conversation_id)
            for said in append_messages(
                session, conversation, [NewMessage(Role.USER, text) for text in texts], datetime.now(UTC)
            ):
                waiting[doc_id_of(said.conversation_key, said.position) or 0, 0] = chatter.vector(said.content)
        if len(waiting) >= _AT_ONCE or nth == len(lists):
            with database.write() as session:
                insert_vectors(session, session.get_one(VectorSet, 1), waiting)
                made = Unembedded.doc_id.in_([doc_id for doc_id, _ in waiting])
                session.execute(sa.delete(Unembedded).where(Unembedded.app_id == "app0", made))
            waiting = {}
        if nth % max(1, _VACUUMED_EVERY // len(texts)) == 0:
            vacuum(database)


def _fill(database: Database, chatter: Chatter, messages: int, apps: int, users: int | None) -> bool:
    """Fill a database; False where it is filled. Raises: SystemExit, where that is with anything else."""
    each = messages // apps
    with database.read() as session:
        held = {
            app: session.scalar(sa.select(sa.func.count()).select_from(Message).where(Message.app_id == app))
            for app in session.scalars(sa.select(App.app_id)).all()
        }
    if held:
        if held != {f"app{app}": each for app in range(apps)}:
            raise SystemExit("the database holds something else; give an empty one")
        return False
    for app in range(apps):
        app_id = f"app{app}"
        with database.write() as session:
            install(session, app_id, f"App {app}", {}, _NOW)
            wanted = [
                Conversation(
                    app_id=app_id, conversation_id=f"c{n}", user_id=_user_of(n, users), details={}, created_at=_NOW,
                    updated_at=_NOW,
                )
                for n in range(-(-each // _PER_CONVERSATION))
            ]  # fmt: skip
            session.add_all([*wanted, vectors := serving_set(app_id)])
            session.flush()
            keys, set_key = [one.key for one in wanted], vectors.key
        for first in range(0, each, _BATCH):
            numbers = range(first, min(first + _BATCH, each))
            with database.write() as session:
                _insert(session, chatter, app_id, keys, set_key, numbers, app * each)
    vacuum(database)
    return True


def _user_of(conversation: int, users: int | None) -> str | None:
    return None if users is None else f"u{conversation % users}"


def _insert(
    session: Session, chatter: Chatter, app_id: str, keys: Sequence[int], set_key: int, numbers: range, offset: int
) -> None:
    texts = [chatter.message(offset + n) for n in numbers]
    where = [(keys[n // _PER_CONVERSATION], n % _PER_CONVERSATION) for n in numbers]
    rows = [
        {
            "conversation_key": key, "app_id": app_id, "position": position, "message_id": f"m{offset + n:09d}",
            "role": "assistant" if position % 2 else "user", "name": None, "content": text, "tokens": None,
            "created_at": _NOW + timedelta(seconds=n),
        }
        for n, (key, position), text in zip(numbers, where, texts, strict=True)
    ]  # fmt: skip
    session.execute(sa.insert(Message), rows)
    doc_ids = [doc_id_of(*one) or 0 for one in where]
    word_index.add(session, app_id, word_index.open_index(session, app_id), zip(doc_ids, texts, strict=True))
    kept = session.get_one(VectorSet, set_key)
    insert_vectors(session, kept, {(one, 0): chatter.vector(text) for one, text in zip(doc_ids, texts, strict=True)})


def _first_searches(database: Database, chatter: Chatter, apps: int) -> dict[str, Any]:
    """Search apps of which the process knows nothing yet, each with a finder of its own, and at least five times."""
    taken, stages = list[float](), list[dict[str, float]]()
    for nth in range(max(apps, _FIRST_TIMES)):
        finder = make_finder(database, chatter.vector)
        begun = perf_counter()
        stages.append(finder.find(f"app{nth % apps}", _WARM_UP).durations)
        taken.append(perf_counter() - begun)
    return spread(taken) | {"mean_ms_by_stage": _means(stages)}


def _means(stages: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: round(float(np.mean([one[name] for one in stages])), 2) for name in stages[0]}


def _search(
    finder: MessageSearch, chatter: Chatter, apps: int, each: int, queries: int, users: int | None
) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    asked = [(int(rng.integers(apps)), int(rng.integers(each))) for _ in range(queries)]
    for app in {one for one, _ in asked}:
        finder.find(f"app{app}", _WARM_UP)
    taken, stages, right = [], [], 0
    begun_working = process_time()
    for app, number in asked:
        text = chatter.message(app * each + number)
        request = SearchRequest(chatter.question(text), user_id=_user_of(number // _PER_CONVERSATION, users))
        begun = perf_counter()
        findings = finder.find(f"app{app}", request)
        taken.append(perf_counter() - begun)
        stages.append(findings.durations)
        right += any(hit.content == text for hit in findings.hits)
    worked = process_time() - begun_working
    return {
        "count": queries,
        **spread(taken),
        "mean_cpu_ms_of_this_process": round(1000 * worked / queries, 2),
        "mean_ms_by_stage": _means(stages),
        "found_within_ten": round(right / queries, 3),
    }


def _after_erasure(finder: MessageSearch, app: int) -> float:
    """Erase an app's last conversation, as over HTTP, and return how long the search after that takes, in seconds."""
    with finder.transactions.write() as session:
        query = sa.select(Conversation.conversation_id).where(Conversation.app_id == f"app{app}")
        last = session.scalars(query.order_by(Conversation.key.desc()).limit(1)).one()
        erase_conversation(session, f"app{app}", last, "bench", _NOW)
    return seconds_of(lambda: finder.find(f"app{app}", _WARM_UP))


def _commits(database: Database, chatter: Chatter, commits: int) -> dict[str, Any]:
    """Say messages one a transaction, as the interface does; nothing is embedded."""
    with database.write() as session:
        start(session, "app0", NewConversation("said"), _NOW)

    def add(text: str) -> None:
        with database.write() as session:
            conversation = get_conversation(session, "app0", "said")
            append_messages(session, conversation, [NewMessage(Role.USER, text)], _NOW)

    taken = timed([partial(add, chatter.message(10**9 + n)) for n in range(commits)])
    return {"count": commits, "a_second": round(commits / sum(taken)), **spread(taken)}


def _sizes(database: Database, messages: int) -> dict[str, Any]:
    sizes = dict(_by_table(database))
    index = sum(size for name, size in sizes.items() if name.startswith(_INDEX_TABLES))
    words = sum(size for name, size in sizes.items() if name.startswith("message_words"))
    return {
        "bytes_a_message_in_all": round(sum(sizes.values()) / messages),
        "messages_table": sizes.get("messages", 0),
        "words_of_messages_table": round(words / max(1, sizes.get("messages", 0)), 3),
        "index_of_messages_table": round(index / max(1, sizes.get("messages", 0)), 3),
        "bytes_a_message_by_table": {
            name: round(size / messages, 1) for name, size in sorted(sizes.items(), key=lambda one: -one[1])[:10]
        },
    }


def _by_table(database: Database) -> Iterator[tuple[str, int]]:
    """Yield each table or index with its size on disk."""
    on_sqlite = "SELECT name, SUM(pgsize) FROM dbstat GROUP BY name"
    on_postgres = (
        "SELECT c.relname, pg_relation_size(c.oid) + coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0) "
        "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = 'public' AND c.relkind IN ('r', 'i')"
    )
    with database.engine.connect() as connection:
        for name, size in connection.execute(sa.text(on_sqlite if database.is_sqlite else on_postgres)):
            yield name, int(size)


def _resident() -> float:
    """Return the most memory this process has held, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    run(measure)
