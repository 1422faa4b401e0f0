"""What was spent, and the level it is drawn from. Units are kept as whole micro-units, so that sums are exact."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from shared.db.base import Base, BigKey
from shared.db.types import UtcDateTime


class Spending(Base):
    """One model call, answered or not. Rows are only ever added, and settled once."""

    __tablename__ = "energy_ledger"
    __table_args__ = (
        Index(
            "ix_energy_ledger_unsettled",
            "entry",
            postgresql_where=text("NOT settled"),
            sqlite_where=text("NOT settled"),
        ),
        Index("ix_energy_ledger_app_id_at", "app_id", "at"),
        Index("ix_energy_ledger_at", "at"),
        {"sqlite_autoincrement": True},
    )

    entry: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    app_id: Mapped[str] = mapped_column(String(100))
    job_id: Mapped[str | None] = mapped_column(String(40), index=True)
    conversation_key: Mapped[int | None] = mapped_column(BigInteger, index=True)
    kind: Mapped[str] = mapped_column(String(40))
    model: Mapped[str] = mapped_column(String(200))
    outcome: Mapped[str] = mapped_column(String(20))
    prompt_tokens: Mapped[int]
    completion_tokens: Mapped[int]
    estimated: Mapped[bool] = mapped_column(Boolean)
    micro: Mapped[int] = mapped_column(BigInteger)
    settled: Mapped[bool] = mapped_column(Boolean, default=False)
    at: Mapped[datetime] = mapped_column(UtcDateTime)


class Level(Base):
    """The one row of the level, as it was at ``at``; what it is now follows by arithmetic."""

    __tablename__ = "energy_level"
    __table_args__ = (CheckConstraint("only_row = 1", name="one_row"),)

    only_row: Mapped[int] = mapped_column(primary_key=True, default=1)
    micro: Mapped[int] = mapped_column(BigInteger)
    drawn_micro: Mapped[int] = mapped_column(BigInteger, default=0)
    at: Mapped[datetime] = mapped_column(UtcDateTime)
