"""Changing the tuning while it runs: for all apps, or for one above them. Every process reads it anew each time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from shared.db.inserting import insert_if_absent
from shared.errors import Invalid
from shared.tuning.models import EVERYWHERE, Override
from shared.tuning.queries import in_force, lock_choices, standing
from shared.tuning.values import (
    NAMES,
    ONLY_EVERYWHERE,
    WEIGHTS,
    Formula,
    InForce,
    Tuning,
    acceptable,
    refuse_unbalanced,
)


@dataclass(frozen=True)
class Changed:
    """What is in force after a change, and which of the wanted numbers were brought within their bounds."""

    in_force: InForce
    clamped: tuple[str, ...]
    selects_weighted: bool
    """Whether the formula the weights belong to was selected with them, because it was not in force."""


def change(
    session: Session, defaults: Tuning, scope: str, wanted: Mapping[str, object], actor: str, now: datetime
) -> Changed:
    """Change values of a scope; None takes a change back. For an app's scope the caller has locked the app.

    A weight that is given has effect: it selects the formula it belongs to, unless the formula is given too.
    Raises: Invalid; then nothing may be committed.
    """
    _refuse(scope, wanted)
    insert_if_absent(session, Override, scope=scope, chosen={}, changed_by=actor, changed_at=now)
    kept = {name: acceptable(name, value) for name, value in wanted.items() if value is not None}
    former = lock_choices(session, scope)
    chosen = {name: value for name, value in former.items() if name not in wanted} | kept
    if wanted.keys() & set(WEIGHTS):
        chosen = _with_weights(chosen, kept, _below(session, defaults, scope))
    selects = (
        "formula" not in wanted
        and bool(kept.keys() & set(WEIGHTS))
        and not _is_weighted(chosen, _below(session, defaults, scope))
    )
    if selects:
        chosen = {**chosen, "formula": Formula.WEIGHTED}
    new = {Override.chosen: chosen, Override.changed_by: actor, Override.changed_at: now}
    session.execute(update(Override).where(Override.scope == scope).values(new))
    result = standing(session, defaults, None if scope == EVERYWHERE else scope)
    return Changed(result, tuple(name for name in kept if kept[name] != wanted[name]), selects)


def forget(session: Session, app_id: str) -> None:
    """Take back everything that was changed for an app."""
    session.execute(delete(Override).where(Override.scope == app_id))


def _refuse(scope: str, wanted: Mapping[str, object]) -> None:
    unknown = [name for name in wanted if name not in NAMES]
    if unknown:
        raise Invalid(f"{unknown[0]} cannot be tuned; what can is {', '.join(NAMES)}.")
    if scope != EVERYWHERE and (foreign := wanted.keys() & ONLY_EVERYWHERE):
        raise Invalid(f"{min(foreign)} can only be changed for all apps.")


def _below(session: Session, defaults: Tuning, scope: str) -> Tuning:
    return defaults if scope == EVERYWHERE else in_force(session, defaults, None)


def _is_weighted(chosen: Mapping[str, object], below: Tuning) -> bool:
    return chosen.get("formula", below.formula) == Formula.WEIGHTED


def _with_weights(chosen: Mapping[str, object], kept: Mapping[str, object], below: Tuning) -> dict[str, object]:
    """Keep all three weights or none; those that are not chosen come from below. Raises: Invalid."""
    others = {name: value for name, value in chosen.items() if name not in WEIGHTS}
    if not kept.keys() & set(WEIGHTS):
        return others
    weights = {name: chosen.get(name, getattr(below, name)) for name in WEIGHTS}
    refuse_unbalanced(replace(below, **weights))  # type: ignore[arg-type]
    return others | weights
