"""The declarative base of all models: one naming rule for constraints, and column types both dialects agree on.

Parts of an archive's document are copied from rows and to them by the names of their columns.
"""

from contextlib import AbstractContextManager
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from sqlalchemy import BigInteger, DateTime, Dialect, Integer, MetaData, text
from sqlalchemy.orm import DeclarativeBase, Session
from sqlalchemy.types import TypeDecorator

from shared.base.closed import Closed

BigKey = BigInteger().with_variant(Integer, "sqlite")
"""A 64-bit key; on SQLite only ``INTEGER`` may autoincrement, and it is 64 bits there."""
_SHARED = Path(__file__).parents[1]


class Base(DeclarativeBase):
    """Base of all models."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


def models_metadata() -> MetaData:
    """Return the tables of all models; each package of ``shared`` that has rows has a module ``models``."""
    for path in sorted(_SHARED.glob("*/models.py")):
        import_module(f"shared.{path.parent.name}.models")
    return Base.metadata


def partial(condition: str) -> dict[str, Any]:
    """Return the arguments that make an index hold only the rows that meet a condition, on either database."""
    return {"postgresql_where": text(condition), "sqlite_where": text(condition)}


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC time with microseconds; SQLite keeps it as text that sorts by time."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("times must be aware; use datetime.now(UTC)")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        # PostgreSQL gives a time in the session's zone, SQLite without one.
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


_PartT = TypeVar("_PartT", bound="ArchivePart")
_RowT = TypeVar("_RowT", bound=Base)


class ArchivePart(Closed):
    """A part of an archive; a field that is not known is refused."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, allow_inf_nan=False)


def copied(part: type[_PartT], row: object, **own: Any) -> _PartT:
    """Return a part of the document with the fields of a row that have its names; ``own`` are set apart."""
    return part(**own, **{name: getattr(row, name) for name in part.model_fields if name not in own})


def row_of(model: type[_RowT], part: ArchivePart, **own: Any) -> _RowT:
    """Return a new row with the fields of a part of the document that its columns share; ``own`` are set apart."""
    shared_names = type(part).model_fields.keys() & model.__mapper__.attrs.keys()
    return model(**own, **{name: _as_column(getattr(part, name)) for name in shared_names - own.keys()})


def _as_column(value: Any) -> Any:
    is_object = isinstance(value, BaseModel)
    return value.model_dump(mode="json", by_alias=True, exclude_none=True) if is_object else value


class Transactions(Protocol):
    """Short transactions; none may be held across a call to anything outside the database."""

    def read(self) -> AbstractContextManager[Session]:
        """Open a transaction that only reads. Raises: Transient."""

    def write(self) -> AbstractContextManager[Session]:
        """Open a transaction that may write; commits on leaving, rolls back on an error. Raises: Transient."""

    def scrub(self, patience_seconds: float = ..., /) -> None:
        """Make deleted text unreadable in the database's own files. Raises: Transient."""
