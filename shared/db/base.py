"""The declarative base of all models, with one naming rule for constraints, 64-bit keys, and partial indexes."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from sqlalchemy import BigInteger, Integer, MetaData, text
from sqlalchemy.orm import DeclarativeBase

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
