"""Bearer tokens: shown once, kept as a SHA-256, scoped to one app or to everything."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy.orm import Session

from shared.apps import queries
from shared.apps.models import Grant, Scope, Token
from shared.base.errors import Denied, NotFound, Operation
from shared.base.ids import new_id, new_token

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

    @property
    def token_id(self) -> str | None:
        """The id of an app's token; None for an admin's."""
        return self.name.removeprefix(_NAMED) if self.scope is Scope.APP else None

    def has(self, grant: Grant) -> bool:
        """Whether this caller may do what a token is made for."""
        return self.scope is Scope.ADMIN or grant in self.grants

    def may_touch(self, app_id: str) -> bool:
        """Whether this caller may act on an app."""
        return self.scope is Scope.ADMIN or self.app_id == app_id


ADMIN = Caller("admin", Scope.ADMIN)
READER = Caller("reader", Scope.ADMIN, rights=Rights.READ)
SCRAPER = Caller("scraper", Scope.ADMIN, rights=Rights.METRICS)


def issue(
    session: Session, app_id: str, label: str, now: datetime, caller: Caller = ADMIN, grants: Collection[Grant] = ()
) -> tuple[Token, str]:
    """Make a token for an app; the second value is the token itself, which is not kept.

    Raises: NotFound, Conflict, Denied where the caller lacks a grant that it would give.
    """
    queries.lock_app(session, app_id)
    queries.get_installed_app(session, app_id)
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
        parent_id=caller.token_id,
        created_at=now,
    )
    session.add(token)
    session.flush()
    return token, secret


def revoke(session: Session, app_id: str, token_id: str, now: datetime) -> Token:
    """Make a token, and all it issued, useless from now on. Raises: NotFound."""
    queries.lock_app(session, app_id)
    token = session.get(Token, token_id)
    if token is None or token.app_id != app_id:
        raise NotFound(f"App {app_id} has no token {token_id}.")
    todo = [token]
    while todo:
        one = todo.pop()
        one.revoked_at = one.revoked_at or now
        todo += queries.tokens_issued_by(session, one.token_id)
    return token


def authenticate(session: Session, secret: str) -> Caller:
    """Return who holds an app's token. Raises: Denied."""
    token = queries.token_by_digest(session, digest_of(secret))
    if token is None:
        raise Denied(_UNKNOWN, operation=_ISSUE)
    grants = frozenset(Grant(one) for one in token.grants)
    return Caller(f"{_NAMED}{token.token_id}", Scope(token.scope), token.app_id, grants=grants)


def digest_of(secret: str) -> str:
    """Return the SHA-256 a token is kept as."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_in_force(session: Session, caller: Caller) -> bool:
    """Whether the token a caller came with has not been revoked since."""
    token = session.get(Token, caller.name.removeprefix(_NAMED))
    return token is not None and token.revoked_at is None
