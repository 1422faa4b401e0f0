"""What the tables take, how many rows a statement finds or changes, and whole numbers given to one as one value.

A statement with hundreds of values takes longer to build than to run; as JSON, which both databases take apart, they
are one value, and the statement is written once for both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy import BigInteger, Cast, Delete, Dialect, FromClause, Select, Text, Update, bindparam, cast
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator

from shared.db.base import models_metadata

_TIMES = ("at", "created_at")
_WORDS = "message_words"
_Sizes = dict[str, tuple[int | None, int | None]]
"""Bytes and rows by table; None where they are not known."""
_SQLITE_BYTES = (
    "SELECT held.tbl_name, sum(pages.pgsize) FROM dbstat pages JOIN sqlite_master held ON held.name = pages.name"
    " GROUP BY 1"
)
# `reltuples` is -1 until a table was first analysed.
_POSTGRES_SIZES = (
    "SELECT relname, pg_total_relation_size(oid), greatest(reltuples, 0)::bigint FROM pg_class"
    " WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
)


@dataclass(frozen=True)
class TableSize:
    """What a table takes: rows (about, on PostgreSQL; None of the word index) and bytes (None where not known)."""

    table: str
    rows: int | None
    size_bytes: int | None
    oldest: datetime | None
    """When its first row was written, where rows have a time and are numbered as they come."""


def size_in_bytes(session: Session) -> int:
    if session.get_bind().dialect.name == "sqlite":
        pages, size = (session.scalar(sa.text(f"PRAGMA {name}")) or 0 for name in ("page_count", "page_size"))
        return int(pages * size)
    return session.scalar(sa.text("SELECT pg_database_size(current_database())")) or 0


def table_sizes(session: Session) -> list[TableSize]:
    """Return the sizes of all tables of models, the largest first. On SQLite it looks at every page."""
    on_sqlite = session.get_bind().dialect.name == "sqlite"
    sizes = _bytes_on_sqlite(session) if on_sqlite else _on_postgres(session)
    tables = models_metadata().sorted_tables
    found = [TableSize(one.name, *_of(session, one, sizes), _oldest(session, one)) for one in tables]
    # Each database keeps words its own way, in tables of no model's.
    words = [size or 0 for name, (size, _) in sizes.items() if name.startswith(_WORDS)]
    found.append(TableSize(_WORDS, None, sum(words) if words else None, None))
    return sorted(found, key=lambda one: (-(one.size_bytes or 0), one.table))


def _of(session: Session, table: sa.Table, sizes: _Sizes) -> tuple[int, int | None]:
    size, rows = sizes.get(table.name, (None, None))
    return session.scalar(sa.select(sa.func.count()).select_from(table)) or 0 if rows is None else rows, size


def _bytes_on_sqlite(session: Session) -> _Sizes:
    try:
        return {name: (size, None) for name, size in session.execute(sa.text(_SQLITE_BYTES))}
    except OperationalError:
        return {}  # Built without dbstat.


def _on_postgres(session: Session) -> _Sizes:
    return {name: (size, rows) for name, size, rows in session.execute(sa.text(_POSTGRES_SIZES))}


def _oldest(session: Session, table: sa.Table) -> datetime | None:
    """Return the time of the row with the least key."""
    time = next((table.c[name] for name in _TIMES if name in table.c), None)
    [key, *more] = list(table.primary_key)
    if time is None or more or not isinstance(key.type, sa.Integer):
        return None
    found: Any = session.scalar(sa.select(time).order_by(key).limit(1))
    return found if isinstance(found, datetime) else None


def count(session: Session, query: Select[int]) -> int:
    """Return the one number a query selects; 0 where it selects none."""
    return session.scalar(query) or 0


def rows_changed(session: Session, statement: Delete | Update) -> int:
    return int(session.execute(statement).rowcount)  # type: ignore[attr-defined]


class _Json(TypeDecorator[Sequence[int]]):
    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[int] | None, dialect: Dialect) -> str:
        return orjson.dumps(list(value or ())).decode()


class _EachOf(FunctionElement[Any]):
    inherit_cache = True


@compiles(_EachOf)
def _each_on_postgres(element: _EachOf, compiler: SQLCompiler, **given: Any) -> str:
    return f"jsonb_array_elements_text(CAST({compiler.process(element.clauses, **given)} AS JSONB))"


@compiles(_EachOf, "sqlite")
def _each_on_sqlite(element: _EachOf, compiler: SQLCompiler, **given: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **given)})"


def given_numbers(parameter: str) -> tuple[FromClause, Cast[int]]:
    """Return the numbers that are given as a list under the name of a parameter: what to select from, and each."""
    found = _EachOf(bindparam(parameter, type_=_Json())).table_valued("value", name="given")
    return found, cast(found.c.value, BigInteger)
