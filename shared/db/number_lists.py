"""Statements about many numbers that are handed over as one value, written once for each database.

One with hundreds of parameters takes longer to build than to run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson
from sqlalchemy import ARRAY, BigInteger, BindParameter, Select, TableValuedAlias, bindparam, cast, func
from sqlalchemy.orm import Session

_NUMBERS: BindParameter[object] = bindparam("numbers")
_LISTS = {
    "sqlite": func.json_each(_NUMBERS).table_valued("value", name="listed"),
    "postgresql": func.unnest(cast(_NUMBERS, ARRAY(BigInteger))).table_valued("value", name="listed").render_derived(),
}
ByDialect = dict[str, Select[*tuple[Any, ...]]]


def about_numbers(build: Callable[[TableValuedAlias], Select[*tuple[Any, ...]]]) -> ByDialect:
    """Return what ``build`` makes of the listed numbers, which stand in the column ``value``, for each database."""
    return {dialect: build(listed) for dialect, listed in _LISTS.items()}


def rows_about(session: Session, statement: ByDialect, numbers: Sequence[int], **values: object) -> Sequence[Any]:
    """Return what a statement finds of some numbers; ``values`` are its other parameters."""
    dialect = session.get_bind().dialect.name
    listed = orjson.dumps(list(numbers)).decode() if dialect == "sqlite" else list(numbers)
    return session.connection().execute(statement[dialect], {"numbers": listed, **values}).all()
