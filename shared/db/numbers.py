"""Whole numbers that go into a statement as one value: one with hundreds takes longer to build than to run.

As JSON, which both databases take apart, so that such a statement is written once for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import BigInteger, Cast, Dialect, FromClause, Text, bindparam, cast
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator


class _Json(TypeDecorator[Sequence[int]]):
    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[int] | None, dialect: Dialect) -> str:
        return orjson.dumps(list(value or ())).decode()


class _EachOf(FunctionElement[Any]):
    inherit_cache = True


@compiles(_EachOf)
def _on_postgres(element: _EachOf, compiler: SQLCompiler, **given: Any) -> str:
    return f"jsonb_array_elements_text(CAST({compiler.process(element.clauses, **given)} AS JSONB))"


@compiles(_EachOf, "sqlite")
def _on_sqlite(element: _EachOf, compiler: SQLCompiler, **given: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **given)})"


def given_numbers(parameter: str) -> tuple[FromClause, Cast[int]]:
    """Return the numbers that are given as a list under the name of a parameter: what to select from, and each."""
    found = _EachOf(bindparam(parameter, type_=_Json())).table_valued("value", name="given")
    return found, cast(found.c.value, BigInteger)
