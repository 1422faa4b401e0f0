"""Reads of apps, tokens, receipts and idempotency keys.

Installing, changing and uninstalling apps. Memories outlive an uninstalled app unless they are purged.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import TextClause, bindparam, func, or_, select, text, update
from sqlalchemy.orm import Session

from shared.apps.models import (
    DATABASE_LOG,
    QUEUED_TEXT,
    AnsweredBy,
    App,
    Budgets,
    Erasure,
    IdempotencyKey,
    Token,
    UserSettings,
)
from shared.base.errors import Conflict, NotFound, Operation
from shared.base.subjects import NOBODY

# Written once: building a statement takes longer than this one takes to run, and every request asks for its app.
_BY_ID = select(App).where(App.app_id == bindparam("app_id"))
_BEGIN_ERASURE = text("SELECT pg_advisory_xact_lock(hashtextextended(:whose, 0))")
_HOLD_OFF_ERASURE = text(
    "SELECT pg_advisory_xact_lock_shared(hashtextextended(:app, 0)),"
    " pg_advisory_xact_lock_shared(hashtextextended(:whose, 0))"
)
# As their partial index has it: with a bound value, SQLite cannot tell that the index holds what is asked for.
_TO_REVIEW = text("apps.answered_by = 'loop' AND apps.uninstalled_at IS NULL")
_LOOP_ANSWERS = (App.answered_by == AnsweredBy.LOOP, App.uninstalled_at.is_(None))


def get_app(session: Session, app_id: str) -> App:
    """Return an app, installed or not. Raises: NotFound."""
    return _found(session.scalar(_BY_ID, {"app_id": app_id}), app_id)


def get_installed_app(session: Session, app_id: str) -> App:
    """Return an app that may take new conversations. Raises: NotFound, Conflict."""
    app = get_app(session, app_id)
    if app.uninstalled_at is not None:
        message = f"App {app_id} is uninstalled; install it again with {{operation}}."
        raise Conflict(message, code="app_uninstalled", operation=Operation("installApp"))
    return app


def budgets_of(session: Session, app_id: str) -> Budgets:
    """Return an app's energy budgets; an app that is not known has none."""
    row = session.execute(select(App.hourly_budget_micro, App.daily_budget_micro).where(App.app_id == app_id)).first()
    return Budgets() if row is None else Budgets(row[0], row[1])


def lock_budgets(session: Session, app_id: str) -> Budgets:
    """Return an app's energy budgets; where it has any, others who would spend from them wait until this has ended."""
    if not budgets_of(session, app_id).windows():
        return Budgets()
    lock_app(session, app_id)
    return budgets_of(session, app_id)


def answered_by_loop(session: Session, app_ids: Collection[str]) -> set[str]:
    """Return which of the apps are installed and let the loop answer."""
    query = select(App.app_id).where(App.app_id.in_(app_ids), *_LOOP_ANSWERS)
    return set(session.scalars(query))


def apps_to_review(session: Session, reviewed_before: datetime, limit: int) -> Sequence[App]:
    """Return apps the loop answers for and has not looked at since then, the one it looked at longest ago first."""
    found: list[App] = []
    for is_due in (App.reviewed_at.is_(None), App.reviewed_at <= reviewed_before):
        query = select(App).where(_TO_REVIEW, is_due).order_by(App.reviewed_at, App.app_id)
        found += session.scalars(query.limit(limit - len(found)))
    return found


def lock_app(session: Session, app_id: str) -> App:
    """Return an app, locked until the transaction ends: its memories change one writer at a time. Raises: NotFound."""
    # Without its key: rows that point at the app may be added meanwhile, and who adds them may hold what we wait for.
    query = select(App).where(App.app_id == app_id).with_for_update(key_share=True)
    return _found(session.scalar(query, execution_options={"populate_existing": True}), app_id)


def lock_for_erasure(session: Session, app_id: str, user_id: str | None = None) -> App:
    """Return an app, locked once those who hold off its erasure, or that of one of its users, have ended.

    Who would hold it off afterwards waits until this transaction ends. Raises: NotFound.
    """
    _lock_by_name(session, _BEGIN_ERASURE, whose=_whose(app_id, user_id))
    return lock_app(session, app_id)


def hold_off_erasure(session: Session, app_id: str, user_id: str | None) -> None:
    """Have the erasure of an app, and of one of its users, wait until this transaction ends, or wait for one under way.

    For who adds something about a user while holding neither the app nor a conversation of theirs.
    """
    # Not the app's row: it would wait for the result of every job, and whoever wants a row alone is kept out for as
    # long as others come to share it.
    _lock_by_name(session, _HOLD_OFF_ERASURE, app=app_id, whose=_whose(app_id, user_id or NOBODY))


def _lock_by_name(session: Session, statement: TextClause, **names: str) -> None:
    if session.get_bind().dialect.name == "postgresql":  # On SQLite whoever writes is alone.
        session.execute(statement, names)


def _whose(app_id: str, user_id: str | None) -> str:
    return app_id if user_id is None else f"{app_id}/{user_id}"


def list_apps(session: Session, limit: int, after: str | None = None) -> Sequence[App]:
    """Return apps by id, those after ``after``."""
    query = select(App).order_by(App.app_id).limit(limit)
    return session.scalars(query if after is None else query.where(App.app_id > after)).all()


def token_by_digest(session: Session, digest: str) -> Token | None:
    """Return a token that is not revoked."""
    return session.scalar(select(Token).where(Token.digest == digest, Token.revoked_at.is_(None)))


def list_user_settings(session: Session, app_id: str, user_id: str | None = None) -> Sequence[UserSettings]:
    """Return what is set for the users of an app, or for one of them."""
    query = select(UserSettings).where(UserSettings.app_id == app_id).order_by(UserSettings.user_id)
    return session.scalars(query if user_id is None else query.where(UserSettings.user_id == user_id)).all()


def list_tokens(session: Session, app_id: str) -> Sequence[Token]:
    """Return an app's tokens, oldest first."""
    return session.scalars(select(Token).where(Token.app_id == app_id).order_by(Token.created_at, Token.token_id)).all()


def tokens_issued_by(session: Session, token_id: str) -> Sequence[Token]:
    """Return the tokens that a token issued."""
    return session.scalars(select(Token).where(Token.parent_id == token_id)).all()


def list_erasures(session: Session, app_id: str) -> Sequence[Erasure]:
    """Return an app's erasure receipts, newest first."""
    return session.scalars(select(Erasure).where(Erasure.app_id == app_id).order_by(Erasure.at.desc())).all()


def count_erasures(session: Session, app_id: str) -> int:
    """Return how often something of an app was erased."""
    return session.scalar(select(func.count()).select_from(Erasure).where(Erasure.app_id == app_id)) or 0


def unscrubbed_erasures(session: Session) -> Sequence[Erasure]:
    """Return the receipts whose text may still stand in the database's own files."""
    return session.scalars(select(Erasure).where(Erasure.left[DATABASE_LOG].as_integer() == 1)).all()


def erasures_with_queued_text(session: Session) -> Sequence[Erasure]:
    """Return the receipts whose text may still stand in Redis or its file, as far as known."""
    queued = Erasure.left[QUEUED_TEXT].as_integer()
    return session.scalars(select(Erasure).where(or_(queued.is_(None), queued > 0))).all()


def erasures_with_files(session: Session, counted_as: str) -> Sequence[Erasure]:
    """Return the receipts after whose erasure files may still lie in a store."""
    return session.scalars(select(Erasure).where(Erasure.left[counted_as].as_integer() > 0)).all()


def idempotency_keys_before(session: Session, at: datetime, limit: int) -> Sequence[int]:
    """Return the rows of the oldest idempotency keys of before a time."""
    old = select(IdempotencyKey.row).where(IdempotencyKey.at < at).order_by(IdempotencyKey.at).limit(limit)
    return session.scalars(old).all()


def idempotency_key(session: Session, caller: str, key: str) -> IdempotencyKey | None:
    """Return the remembered answer to a caller's key."""
    return session.scalar(select(IdempotencyKey).where(IdempotencyKey.caller == caller, IdempotencyKey.key == key))


def no_such_app(app_id: str) -> NotFound:
    """Return what is raised where an app is asked for that was never installed."""
    message = f"There is no app {app_id}; install it with {{operation}}."
    return NotFound(message, details={"appId": app_id}, operation=Operation("installApp"))


def _found(app: App | None, app_id: str) -> App:
    if app is None:
        raise no_such_app(app_id)
    return app


@dataclass(frozen=True)
class AppChange:
    """What to change; None leaves it."""

    name: str | None = None
    config: dict[str, Any] | None = None
    answered_by: AnsweredBy | None = None
    approves_answers: bool | None = None
    weight: int | None = None
    shared_memory: bool | None = None


def install(session: Session, app_id: str, name: str, config: dict[str, Any], now: datetime) -> App:
    """Install an app, or one that was uninstalled again, with what it remembered. Raises: Conflict."""
    # Without its key, as in ``lock_app``: who tells an event of the app may hold a conversation of it.
    app = session.get(App, app_id, with_for_update={"key_share": True})
    if app is None:
        app = App(app_id=app_id, name=name, config=config, purge_epoch=0, created_at=now, updated_at=now)
        session.add(app)
        session.flush()
        return app
    if app.uninstalled_at is None:
        raise Conflict(f"App {app_id} is already installed", code="already_installed", details={"appId": app_id})
    app.name, app.config, app.updated_at, app.uninstalled_at = name, config, now, None
    return app


def change(session: Session, app_id: str, wanted: AppChange, now: datetime) -> App:
    """Change an installed app. Raises: NotFound, Conflict."""
    lock_app(session, app_id)
    app = get_installed_app(session, app_id)
    for field, value in vars(wanted).items():
        if value is not None:
            setattr(app, field, value)
    app.updated_at = now
    return app


def set_time_zone(session: Session, app_id: str, user_id: str, time_zone: str | None) -> None:
    """Set where a user of a locked app lives; None takes it back."""
    present = session.get(UserSettings, (app_id, user_id))
    if present is not None and time_zone is None:
        session.delete(present)
    elif present is not None:
        present.time_zone = time_zone
    elif time_zone is not None:
        session.add(UserSettings(app_id=app_id, user_id=user_id, time_zone=time_zone))
    session.flush()


def uninstall(session: Session, app_id: str, now: datetime) -> App:
    """Uninstall an app and revoke its tokens; what it remembers stays. Raises: NotFound, Conflict."""
    app = lock_app(session, app_id)
    get_installed_app(session, app_id)
    app.uninstalled_at = app.updated_at = now
    session.execute(update(Token).where(Token.app_id == app_id, Token.revoked_at.is_(None)).values(revoked_at=now))
    return app
