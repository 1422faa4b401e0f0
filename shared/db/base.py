"""The declarative base every room's models share, with one naming rule for constraints."""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, MetaData
from sqlalchemy.orm import DeclarativeBase

BigKey = BigInteger().with_variant(Integer, "sqlite")
"""A 64-bit key; on SQLite only ``INTEGER`` may autoincrement, and it is 64 bits there."""


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
