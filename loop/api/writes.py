"""The one shape of a write: a transaction, its answer remembered under the caller's key, then what follows a commit.

The answer to a key is stored in the transaction of the write itself, so a client that repeats a request it never saw
answered gets the first answer, and the write happens once. Errors are not remembered: nothing was written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from fastapi import Response
from pydantic import BaseModel
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from shared.apps.models import NO_DIGEST, IdempotencyKey
from shared.apps.queries import idempotency_key
from shared.base.errors import Conflict
from shared.db.engine import Database

REPLAYED = "Idempotency-Replayed"


@dataclass(frozen=True)
class IdempotentRequest:
    """Who asks for a write, and under which key."""

    caller: str
    key: str | None = None
    request: str = ""
    """Method, address and the digest of the body: what the key stands for."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.request.encode()).hexdigest()


@dataclass(frozen=True)
class WriteResult:
    """What a write did.

    ``about`` is the app whose text the answer may hold, so that an erasure of the app takes the remembered answer too.
    ``kept`` is what to remember instead of ``body``, when the body holds a secret. ``then`` runs after the commit and
    may give a better answer, which is remembered as well.
    """

    body: BaseModel
    status: int = 200
    about: str | None = None
    kept: BaseModel | None = None
    then: Callable[[], BaseModel | None] | None = None


Work = Callable[[Session], WriteResult]


def carry_out(database: Database, request: IdempotentRequest, work: Work, now: datetime) -> Response:
    """Write once per key and answer. Raises: Conflict for a key that was used for something else."""
    try:
        return _write(database, request, work, now)
    except IntegrityError:
        pass  # Another request made the same thing at the same moment; what it made is found this time.
    try:
        return _write(database, request, work, now)
    except IntegrityError as error:
        raise Conflict("Another request changes the same thing at this moment; try again.") from error


def _write(database: Database, request: IdempotentRequest, work: Work, now: datetime) -> Response:
    with database.write(together=True) as session:
        claimed = None
        if request.key is not None:
            known = idempotency_key(session, request.caller, request.key)
            if known is not None:
                return _replay(known, request)
            # Take the key before the work is done: on PostgreSQL a second request then waits for the first.
            claimed = IdempotencyKey(
                caller=request.caller, key=request.key, request_digest=request.digest, status=0, answer={}, at=now
            )
            session.add(claimed)
            session.flush()
        done = work(session)
        if claimed is not None:
            claimed.status, claimed.app_id = done.status, done.about
            claimed.answer = as_json(done.kept or done.body)
    # No transaction is open now; should this fail, the answer above is committed and a repetition gets it.
    better = done.then() if done.then is not None else None
    if better is not None and claimed is not None:
        # Unless it was erased since the commit.
        mine = (IdempotencyKey.row == claimed.row, IdempotencyKey.request_digest != NO_DIGEST)
        with database.write() as session:
            session.execute(update(IdempotencyKey).where(*mine).values(answer=as_json(better)))
    return answer(better or done.body, done.status)


def _replay(known: IdempotencyKey, request: IdempotentRequest) -> Response:
    if known.request_digest == NO_DIGEST:
        raise Conflict(
            "A request under this Idempotency-Key was carried out. Its answer is kept no more, as something of the "
            "app was erased since. See whether what it did still stands before you ask anew, under a new key: "
            "else it may be done twice.",
            code="erased",
        )
    if known.request_digest != request.digest:
        raise Conflict(
            "This Idempotency-Key was used for another request; use a new key.", code="idempotency_key_reused"
        )
    return Response(orjson.dumps(known.answer), known.status, {REPLAYED: "true"}, "application/json")


def answer(body: BaseModel, status: int = 200) -> Response:
    """Return a success."""
    return Response(body.model_dump_json(by_alias=True), status, media_type="application/json")


def as_json(body: BaseModel) -> dict[str, Any]:
    return body.model_dump(mode="json", by_alias=True)
