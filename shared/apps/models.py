"""An app is a tenant: everything else belongs to one, and to no other."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, BigInteger, CheckConstraint, ForeignKey, Index, String, UniqueConstraint, false, text
from sqlalchemy.orm import Mapped, mapped_column

from shared.db.base import Base, BigKey, UtcDateTime, partial


class AnsweredBy(StrEnum):
    """Who answers an app's conversations."""

    LOOP = "loop"
    """The central loop, when a model is configured."""
    APP = "app"
    """The app itself; the loop never thinks about its open conversations."""


class App(Base):
    """An installed (or once installed) app. Rows are never deleted, so that its purge epoch outlives it."""

    __tablename__ = "apps"
    __table_args__ = (
        Index(
            "ix_apps_to_review", "reviewed_at", "app_id", **partial("answered_by = 'loop' AND uninstalled_at IS NULL")
        ),
    )

    app_id: Mapped[str] = mapped_column(String(100), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    config: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    purge_epoch: Mapped[int] = mapped_column(default=0)
    """Raised by every purge; work asked for under an older epoch may not write."""
    hourly_budget_micro: Mapped[int | None] = mapped_column(BigInteger)
    daily_budget_micro: Mapped[int | None] = mapped_column(BigInteger)
    weight: Mapped[int] = mapped_column(default=1)
    """The app's share of the work beside other apps', 1..100."""
    answered_by: Mapped[str] = mapped_column(String(10), default=AnsweredBy.LOOP)
    approves_answers: Mapped[bool] = mapped_column(default=False)
    """Whether a person approves each answer of the loop's before it is sent."""
    shared_memory: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether what names no user is recalled for every user of the app."""
    time_zone: Mapped[str | None] = mapped_column(String(64))
    """Whose days are meant where neither a conversation, its user nor its messages say, an IANA name; None: UTC's."""
    session_settings: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict, server_default=text("'{}'"))
    """What was set for its recorded sessions, by the names of ``config.json``."""
    reviewed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When the loop last looked whether its conversations want reviewing."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    uninstalled_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class UserSettings(Base):
    """What was set for a user of an app; one for whom nothing is has no row."""

    __tablename__ = "user_settings"

    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"), primary_key=True)
    user_id: Mapped[str] = mapped_column(String(200), primary_key=True)
    time_zone: Mapped[str | None] = mapped_column(String(64))
    """Where they live, an IANA name."""


class Scope(StrEnum):
    """What a token may do."""

    ADMIN = "admin"
    APP = "app"


class Grant(StrEnum):
    """What an app's token may do beside working with its app's data, if it was made for it."""

    TOKENS = "tokens"
    """To issue tokens of the app and to revoke others than itself."""
    UNINSTALL = "uninstall"
    ANSWERS = "answers"
    """To change who answers, and whether a person approves answers."""


class Token(Base):
    """A bearer token, kept only as its SHA-256."""

    __tablename__ = "tokens"
    __table_args__ = (CheckConstraint("(scope = 'app') = (app_id IS NOT NULL)", name="scope_matches_app"),)

    token_id: Mapped[str] = mapped_column(String(40), primary_key=True)
    app_id: Mapped[str | None] = mapped_column(ForeignKey("apps.app_id"), index=True)
    scope: Mapped[str] = mapped_column(String(10))
    label: Mapped[str] = mapped_column(String(200), default="")
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    grants: Mapped[list[str]] = mapped_column(JSON, default=list, server_default=text("'[]'"))
    """Of ``Grant``."""
    user_id: Mapped[str | None] = mapped_column(String(200))
    """Whose own it is: it opens what is theirs in the app, and nothing else."""
    parent_id: Mapped[str | None] = mapped_column(ForeignKey("tokens.token_id"), index=True)
    """The token that issued it, if no admin did; it is revoked with that one."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class Login(Base):
    """A browser's: a secret of its own that stands for a token for as long as that is accepted.

    Neither secret nor token can be read here, nor the token from the browser.
    """

    __tablename__ = "logins"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    token_digest: Mapped[str] = mapped_column(String(64))
    """Of a token of an app's, or of one of the installation's own, which have no row."""
    ends_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


DATABASE_LOG = "databaseLog"
"""The store of a receipt that is 1 until the database's own files are scrubbed."""
QUEUED_TEXT = "queuedText"
"""The store of a receipt that counts messages in Redis that may hold words of the app; null: not known."""


class Erasure(Base):
    """The receipt of a purge or an erasure: counts, times and ids, never text."""

    __tablename__ = "erasures"

    erasure_id: Mapped[str] = mapped_column(String(40), primary_key=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"), index=True)
    scope: Mapped[str] = mapped_column(String(20))
    user_id: Mapped[str | None] = mapped_column(String(200))
    """Whose; None where it was about the whole app, or what it was about has no user."""
    actor: Mapped[str] = mapped_column(String(100))
    epoch: Mapped[int]
    erased: Mapped[dict[str, Any]] = mapped_column(JSON)
    left: Mapped[dict[str, Any]] = mapped_column(JSON)
    at: Mapped[datetime] = mapped_column(UtcDateTime)

    @property
    def receipt_id(self) -> str:
        return self.erasure_id


NO_DIGEST = ""
"""Stands in a key whose answer was erased."""


class IdempotencyKey(Base):
    """The first answer to a write, so that the same key gets the same answer and the write happens once."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (UniqueConstraint("caller", "key"),)

    row: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    caller: Mapped[str] = mapped_column(String(40))
    key: Mapped[str] = mapped_column(String(200))
    app_id: Mapped[str | None] = mapped_column(String(100), index=True)
    request_digest: Mapped[str] = mapped_column(String(64))
    status: Mapped[int]
    answer: Mapped[dict[str, Any]] = mapped_column(JSON)
    at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


@dataclass(frozen=True)
class Budgets:
    """What an app may spend in a sliding hour and in a sliding day, micro-units; None is no budget."""

    hourly: int | None = None
    daily: int | None = None

    def windows(self) -> tuple[tuple[str, int, timedelta], ...]:
        """Return each budget that is set: its name, micro-units and window."""
        both = (("hourly", self.hourly, timedelta(hours=1)), ("daily", self.daily, timedelta(days=1)))
        return tuple((name, budget, span) for name, budget, span in both if budget is not None)
