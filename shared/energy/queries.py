"""What is looked up about who regulates, and about how long the prompts of a model are in its own tokens."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from shared.energy.models import Mandate, TokenRate

_LEAST_IDLE_SECONDS = 1.0
OLLAMA = "ollama:"


def get_mandate(session: Session) -> Mandate | None:
    """Return the one row; None before the first loop ever started."""
    return session.get(Mandate, 1, populate_existing=True)


def hold_fence(session: Session, idle_seconds: float) -> int | None:
    """Return the fence of whoever regulates and keep it so until this transaction ends.

    PostgreSQL lets a takeover wait for the shared lock, and ends the transaction by itself when nothing is said in it
    for ``idle_seconds``, so that a frozen process cannot keep the lock. On SQLite the writer is alone anyway.
    """
    held = select(Mandate.fence).where(Mandate.only_row == 1, Mandate.holder.is_not(None))
    query = held.with_for_update(read=True)
    if session.get_bind().dialect.name == "postgresql":
        limit = func.set_config(
            "idle_in_transaction_session_timeout", f"{int(max(_LEAST_IDLE_SECONDS, idle_seconds) * 1000)}ms", True
        )
        query = query.add_columns(limit)
    found = session.execute(query).first()
    return None if found is None else int(found[0])


def token_rate(session: Session, model: str) -> TokenRate | None:
    """Return what is known of a model, which may be named with its provider or without."""
    names = (model, f"{OLLAMA}{model}")
    found = {rate.model: rate for rate in session.scalars(select(TokenRate).where(TokenRate.model.in_(names)))}
    return next((found[name] for name in names if name in found), None)
