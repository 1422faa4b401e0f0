"""Apps and their tokens: read, installed, changed, uninstalled; issued, revoked, checked; receipts, idempotency keys.

Memories outlive an uninstalled app unless they are purged. A token is shown once and kept as a SHA-256.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, TextClause, bindparam, delete, func, or_, select, text, update
from sqlalchemy.orm import Session

from shared.apps.models import (
    DATABASE_LOG,
    QUEUED_TEXT,
    AnsweredBy,
    App,
    Budgets,
    Erasure,
    Grant,
    IdempotencyKey,
    Login,
    Scope,
    Token,
    UserSettings,
)
from shared.base.errors import Conflict, Denied, NotFound, Operation
from shared.base.ids import new_id, new_token
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
    # Most apps have none, and their calls need not wait for each other; those that have are read again once locked.
    if not budgets_of(session, app_id).windows():
        return Budgets()
    lock_app(session, app_id)
    return budgets_of(session, app_id)


def answered_by_loop(session: Session, app_ids: Collection[str]) -> set[str]:
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
    # No app's id has a slash, so no user's name is that of another app's user.
    return app_id if user_id is None else f"{app_id}/{user_id}"


def list_apps(
    session: Session, limit: int, after: str | None = None, search: str | None = None, *only: ColumnElement[bool]
) -> Sequence[App]:
    """Return apps by id, those after ``after``, with ``search`` in their id or name, for which ``only`` holds."""
    query = select(App).where(*only).order_by(App.app_id).limit(limit)
    query = query if after is None else query.where(App.app_id > after)
    if search is not None:
        query = query.where(or_(*(one.icontains(search, autoescape=True) for one in (App.app_id, App.name))))
    return session.scalars(query).all()


def list_user_settings(session: Session, app_id: str, user_id: str | None = None) -> Sequence[UserSettings]:
    query = select(UserSettings).where(UserSettings.app_id == app_id).order_by(UserSettings.user_id)
    return session.scalars(query if user_id is None else query.where(UserSettings.user_id == user_id)).all()


def list_tokens(session: Session, app_id: str) -> Sequence[Token]:
    """Return an app's tokens, oldest first."""
    return session.scalars(select(Token).where(Token.app_id == app_id).order_by(Token.created_at, Token.token_id)).all()


def list_erasures(session: Session, app_id: str) -> Sequence[Erasure]:
    """Return an app's erasure receipts, newest first."""
    return session.scalars(select(Erasure).where(Erasure.app_id == app_id).order_by(Erasure.at.desc())).all()


def count_erasures(session: Session, app_id: str) -> int:
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


def change(session: Session, app_id: str, changes: AppChange, now: datetime) -> App:
    """Change an installed app. Raises: NotFound, Conflict."""
    lock_app(session, app_id)
    app = get_installed_app(session, app_id)
    for field, value in vars(changes).items():
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


LOGIN_LASTS = timedelta(days=7)
_MOST_LOGINS = 50
"""Of one token at a time; the oldest goes."""
_NAMED = "token:"
_UNKNOWN = "This token is unknown or revoked; ask an admin for {operation}."
_ISSUE = Operation("issueToken")


class Rights(StrEnum):
    """What may be done with what a token opens."""

    ALL = "all"
    READ = "read"
    METRICS = "metrics"
    """To read what Prometheus reads."""


@dataclass(frozen=True)
class Caller:
    """Who asks, and what they may touch."""

    name: str
    """``admin`` or ``token:ID``; recorded with every change."""
    scope: Scope
    app_id: str | None = None
    rights: Rights = Rights.ALL
    grants: frozenset[Grant] = frozenset()
    """What an app's token may do beside working with its app's data; an admin's may do everything."""
    user_id: str | None = None
    """Whose own token it is: they may touch what is theirs in the app, and nothing else."""
    login_digest: str | None = None
    """Of the login that stands for the token, where they came with one."""

    @property
    def token_id(self) -> str | None:
        """The id of an app's token; None for an admin's."""
        return self.name.removeprefix(_NAMED) if self.scope is Scope.APP else None

    def has(self, grant: Grant) -> bool:
        return self.scope is Scope.ADMIN or grant in self.grants

    def may_touch(self, app_id: str) -> bool:
        return self.scope is Scope.ADMIN or self.app_id == app_id


ADMIN = Caller("admin", Scope.ADMIN)
READER = Caller("reader", Scope.ADMIN, rights=Rights.READ)
SCRAPER = Caller("scraper", Scope.ADMIN, rights=Rights.METRICS)


def issue_token(
    session: Session,
    app_id: str,
    label: str,
    now: datetime,
    caller: Caller = ADMIN,
    grants: Collection[Grant] = (),
    user_id: str | None = None,
) -> tuple[Token, str]:
    """Make a token for an app, or for one of its users; the second value is the token itself, which is not kept.

    Raises: NotFound, Conflict, Denied where the caller lacks a grant that it would give.
    """
    lock_app(session, app_id)
    get_installed_app(session, app_id)
    # Once more behind the lock of the app: what issues it may have been revoked meanwhile, with all that it issued.
    if caller.token_id is not None and not is_in_force(session, caller):
        raise Denied(_UNKNOWN, operation=_ISSUE)
    lacking = [grant.value for grant in grants if not caller.has(grant)]
    if lacking:
        raise Denied(f"This token cannot grant what it was not granted itself: {', '.join(lacking)}.")
    secret = new_token()
    token = Token(
        token_id=new_id("tok", now),
        app_id=app_id,
        scope=Scope.APP,
        label=label,
        digest=digest_of(secret),
        grants=[grant.value for grant in dict.fromkeys(grants)],
        user_id=user_id,
        parent_id=caller.token_id,
        created_at=now,
    )
    session.add(token)
    session.flush()
    return token, secret


def revoke_token(session: Session, app_id: str, token_id: str, now: datetime) -> Token:
    """Make a token, and all it issued, useless from now on. Raises: NotFound."""
    lock_app(session, app_id)
    token = session.get(Token, token_id)
    if token is None or token.app_id != app_id:
        raise NotFound(f"App {app_id} has no token {token_id}.")
    todo = [token]
    while todo:
        one = todo.pop()
        one.revoked_at = one.revoked_at or now
        todo += session.scalars(select(Token).where(Token.parent_id == one.token_id)).all()
    return token


def log_in(session: Session, digest: str, now: datetime) -> tuple[Login, str]:
    """Make a login for whoever came with a token of this digest; the second value is its secret.

    Raises: Denied where they came with a login: it would outlast its end, and a copy the logging out.
    """
    if session.get(Login, digest) is not None:
        raise Denied("A login cannot make another; log in with the token itself.", code="login_of_login")
    session.execute(delete(Login).where(Login.ends_at <= now))
    secret = new_token()
    login = Login(digest=digest_of(secret), token_digest=digest, ends_at=now + LOGIN_LASTS)
    session.add(login)
    session.flush()
    of_token = select(Login.digest).where(Login.token_digest == digest, Login.digest != login.digest)
    older = session.scalars(of_token.order_by(Login.ends_at.desc()).offset(_MOST_LOGINS - 1)).all()
    session.execute(delete(Login).where(Login.digest.in_(older)))
    return login, secret


def log_out(session: Session, digest: str) -> bool:
    """End a login; whether there was one."""
    login = session.get(Login, digest)
    if login is not None:
        session.delete(login)
    return login is not None


def token_digest_of(session: Session, digest: str, now: datetime) -> str | None:
    """Return the digest of the token that a login stands for; None where it is none, or has ended."""
    return session.scalar(select(Login.token_digest).where(Login.digest == digest, Login.ends_at > now))


def authenticate(session: Session, digest: str) -> Caller:
    """Return who holds an app's token, by its digest. Raises: Denied."""
    token = session.scalar(select(Token).where(Token.digest == digest, Token.revoked_at.is_(None)))
    if token is None:
        raise Denied(_UNKNOWN, operation=_ISSUE)
    grants = frozenset(Grant(one) for one in token.grants)
    return Caller(f"{_NAMED}{token.token_id}", Scope(token.scope), token.app_id, grants=grants, user_id=token.user_id)


def digest_of(secret: str) -> str:
    """Return the SHA-256 a token is kept as."""
    # Without salt and fast: nobody guesses 256 random bits, and every request looks its token up by this.
    return hashlib.sha256(secret.encode()).hexdigest()


def is_in_force(session: Session, caller: Caller) -> bool:
    """Whether the token a caller came with has not been revoked since."""
    token = session.get(Token, caller.name.removeprefix(_NAMED))
    return token is not None and token.revoked_at is None
