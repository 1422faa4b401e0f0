"""What was spent, and the level it is drawn from. Units are kept as whole micro-units, so that sums are exact."""

from datetime import date, datetime

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Date, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from shared.db.base import Base, BigKey, UtcDateTime, partial


class Spending(Base):
    """One model call, answered or not. Rows are only ever added, and settled once."""

    __tablename__ = "energy_ledger"
    __table_args__ = (
        Index("ix_energy_ledger_unsettled", "entry", **partial("NOT settled")),
        Index("ix_energy_ledger_of_jobs", "entry", **partial("job_id IS NOT NULL")),
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


class DaySpending(Base):
    """What an app spent on a day on one kind of work with one model, of calls whose own rows were folded."""

    __tablename__ = "energy_days"

    app_id: Mapped[str] = mapped_column(String(100), primary_key=True)
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    kind: Mapped[str] = mapped_column(String(40), primary_key=True)
    model: Mapped[str] = mapped_column(String(200), primary_key=True)
    calls: Mapped[int] = mapped_column(BigInteger)
    prompt_tokens: Mapped[int] = mapped_column(BigInteger)
    completion_tokens: Mapped[int] = mapped_column(BigInteger)
    micro: Mapped[int] = mapped_column(BigInteger)


class ConversationSpending(Base):
    """What a conversation cost, of calls whose own rows were folded."""

    __tablename__ = "energy_conversations"

    conversation_key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=False)
    micro: Mapped[int] = mapped_column(BigInteger)


class EnergyLevel(Base):
    """The one row of the level, as it was at ``at``; what it is now follows by arithmetic."""

    __tablename__ = "energy_level"
    __table_args__ = (CheckConstraint("only_row = 1", name="one_row"),)

    only_row: Mapped[int] = mapped_column(primary_key=True, default=1)
    micro: Mapped[int] = mapped_column(BigInteger)
    drawn_micro: Mapped[int] = mapped_column(BigInteger, default=0)
    at: Mapped[datetime] = mapped_column(UtcDateTime)


class Reservation(Base):
    """What a model call that is about to be made, or under way, will likely cost.

    It goes in the transaction that books the true cost. One whose process was killed runs out at ``until``.
    """

    __tablename__ = "energy_reservations"
    # A key that is given out again could be released by a call whose own reservation ran out before.
    __table_args__ = ({"sqlite_autoincrement": True},)

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    app_id: Mapped[str] = mapped_column(String(100), index=True)
    job_id: Mapped[str | None] = mapped_column(String(40), index=True)
    kind: Mapped[str] = mapped_column(String(40))
    model: Mapped[str] = mapped_column(String(200))
    micro: Mapped[int] = mapped_column(BigInteger)
    """The estimate the level is reckoned with."""
    most_micro: Mapped[int] = mapped_column(BigInteger)
    """The most the call can cost, which the app's budgets are reckoned with."""
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    until: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


class Estimate(Base):
    """What a call of a kind costs with a model: a moving average of the true costs."""

    __tablename__ = "energy_estimates"

    kind: Mapped[str] = mapped_column(String(40), primary_key=True)
    model: Mapped[str] = mapped_column(String(200), primary_key=True)
    micro: Mapped[int] = mapped_column(BigInteger)
    calls: Mapped[int] = mapped_column(BigInteger, default=0)


class Leadership(Base):
    """Which loop regulates. Every change of holder raises the fence; a former holder's writing is refused."""

    __tablename__ = "leadership"
    __table_args__ = (CheckConstraint("only_row = 1", name="one_row"),)

    only_row: Mapped[int] = mapped_column(primary_key=True, default=1)
    holder: Mapped[str | None] = mapped_column(String(200))
    fence: Mapped[int] = mapped_column(BigInteger, default=0)
    beats: Mapped[int] = mapped_column(BigInteger, default=0)
    """Raised while the holder lives; whoever sees it stand still may take over."""
    since: Mapped[datetime] = mapped_column(UtcDateTime)


class TokenRate(Base):
    """How long the prompts of one model were, in characters and in the tokens its provider counted."""

    __tablename__ = "token_rates"

    model: Mapped[str] = mapped_column(String(200), primary_key=True)
    chars: Mapped[int] = mapped_column(BigInteger)
    tokens: Mapped[int] = mapped_column(BigInteger)
    calls: Mapped[int] = mapped_column(BigInteger)


class ModelBreaker(Base):
    """What the last jobs got from one model, and from when on one of them may ask it where that was nothing usable."""

    __tablename__ = "model_breakers"

    model: Mapped[str] = mapped_column(String(200), primary_key=True)
    outcomes: Mapped[str] = mapped_column(String(20))
    """A sign for each job, the latest last."""
    ask_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Of the next probe; None: every job asks."""
    failed_probes: Mapped[int]
