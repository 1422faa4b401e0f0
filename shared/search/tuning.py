"""How search and summaries are tuned: the settings, values changed for all apps above them, for one app above both.

Every process reads the values anew each time, so a change takes effect at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Text, bindparam, cast, delete, select, update
from sqlalchemy.orm import Session

from shared.choices import RankingFormula
from shared.db.inserting import insert_if_absent
from shared.errors import Invalid
from shared.search.models import EVERYWHERE, TuningOverride
from shared.settings import Settings
from shared.telemetry.logging import get_logger


class TuningSource(StrEnum):
    """Where a value in force comes from."""

    SETTING = "setting"
    EVERYWHERE = "everywhere"
    APP = "app"


@dataclass(frozen=True)
class Tuning:
    """How retrieval and summaries work for an app."""

    hybrid: bool = True
    chunking: bool = True
    token_budget: int = 1000
    summary_frequency: int = 5
    formula: RankingFormula = RankingFormula.SIGNALS
    alpha: float = 0.6
    beta: float = 0.3
    gamma: float = 0.1
    metrics_days: int = 30


NAMES = tuple(one.name for one in fields(Tuning))
WEIGHTS = ("alpha", "beta", "gamma")
"""They add up to 1, so one is never kept without the others."""
ONLY_EVERYWHERE = frozenset({"metrics_days"})
BOUNDS = {"token_budget": (100, 5000), "summary_frequency": (0, 100), "metrics_days": (1, 365)}
"""Numbers outside are brought to the nearest bound. Source: seed 002."""
_SUM_TOLERANCE = 0.01
_DUST = 1e-9
"""Binary fractions of a sum that is written as exactly 0.99 or 1.01."""


@dataclass(frozen=True)
class TuningInForce:
    """The values in force, and where each comes from."""

    tuning: Tuning
    sources: Mapping[str, TuningSource]


def tuning_of(settings: Settings) -> Tuning:
    """Return the values of the settings, in force where nothing was changed."""
    return Tuning(
        hybrid=settings.rag_hybrid,
        chunking=settings.rag_chunking,
        token_budget=settings.rag_token_budget,
        summary_frequency=settings.rag_summary_frequency,
        formula=RankingFormula(settings.rag_formula),
        alpha=settings.rag_rerank_alpha,
        beta=settings.rag_rerank_beta,
        gamma=settings.rag_rerank_gamma,
        metrics_days=settings.rag_metrics_days,
    )


def overlay(below: TuningInForce, chosen: Mapping[str, object], source: TuningSource) -> TuningInForce:
    """Return what is in force once ``chosen`` lies above ``below``. Raises: Invalid, where ``chosen`` is damaged."""
    known = {name: acceptable(name, value) for name, value in chosen.items() if name in NAMES}
    tuning = replace(below.tuning, **known)  # type: ignore[arg-type]
    if known.keys() & set(WEIGHTS):
        refuse_unbalanced(tuning)
    return TuningInForce(tuning, {**below.sources, **dict.fromkeys(known, source)})


def acceptable(name: str, value: object) -> object:
    """Return a value as it is kept, numbers brought within their bounds. Raises: Invalid."""
    return _CHECKS[name](name, value)


def refuse_unbalanced(tuning: Tuning) -> None:
    """Raises: Invalid, unless the three weights add up to 1."""
    total = tuning.alpha + tuning.beta + tuning.gamma
    if abs(total - 1) > _SUM_TOLERANCE + _DUST:
        raise Invalid(f"alpha, beta and gamma must add up to 1; they would be {total:g}.", code="weights_unbalanced")


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise Invalid(f"{name} must be true or false.")
    return value


def _number(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid(f"{name} must be a whole number.")
    least, most = BOUNDS[name]
    return min(max(value, least), most)


def _formula(name: str, value: object) -> RankingFormula:
    if not isinstance(value, str) or value not in set(RankingFormula):
        raise Invalid(f"{name} must be one of {', '.join(RankingFormula)}.")
    return RankingFormula(value)


def _weight(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Invalid(f"{name} must be 0..1.")
    return float(value)


_CHECKS: Mapping[str, Callable[[str, object], object]] = {
    "hybrid": _flag,
    "chunking": _flag,
    "token_budget": _number,
    "summary_frequency": _number,
    "formula": _formula,
    **dict.fromkeys(WEIGHTS, _weight),
    "metrics_days": _number,
}


_TEXT = cast(TuningOverride.chosen, Text)
"""A row that is no JSON at all must not keep the others from being read."""
_OVERRIDES = select(TuningOverride.scope, _TEXT).where(TuningOverride.scope.in_(bindparam("scopes", expanding=True)))


def in_force(session: Session, defaults: Tuning, app_id: str | None) -> Tuning:
    """Return the values in force for an app, or without one for all; ``defaults`` are the settings'."""
    return tuning_in_force(session, defaults, app_id).tuning


def tuning_in_force(session: Session, defaults: Tuning, app_id: str | None) -> TuningInForce:
    """Return the values in force and where each comes from, read in one statement."""
    scopes = [EVERYWHERE] if app_id is None else [EVERYWHERE, app_id]
    # On the connection: through the session it would flush, and each message and each search reads this.
    found = session.connection().execute(_OVERRIDES, {"scopes": scopes})
    return overlaid(defaults, {scope: chosen for scope, chosen in found})  # noqa: C416 - dict() takes it for a mapping


def overlaid(defaults: Tuning, chosen: Mapping[str, str | None]) -> TuningInForce:
    """Return what is in force under what was changed, as JSON by scope; a text that is damaged counts for nothing."""
    result = TuningInForce(defaults, dict.fromkeys(NAMES, TuningSource.SETTING))
    for scope in sorted(chosen, key=lambda one: one != EVERYWHERE):
        text = chosen[scope]
        if text is not None:
            result = _above(result, scope, text)
    return result


def lock_choices(session: Session, scope: str) -> dict[str, object]:
    """Return what was changed for a scope, locked until the transaction ends; the row must stand."""
    query = select(_TEXT).where(TuningOverride.scope == scope).with_for_update()
    try:
        return _parsed(session.scalars(query).one())
    except (ValueError, Invalid):
        return {}


def _above(below: TuningInForce, scope: str, text: str) -> TuningInForce:
    try:
        return overlay(below, _parsed(text), TuningSource.EVERYWHERE if scope == EVERYWHERE else TuningSource.APP)
    except (ValueError, Invalid) as error:
        get_logger().warning("tuning_ignored", scope=scope, why=type(error).__name__)
        return below


def _parsed(text: str) -> dict[str, object]:
    chosen = json.loads(text)
    if not isinstance(chosen, dict):
        raise Invalid("What was changed is no object.")
    return chosen


@dataclass(frozen=True)
class TuningChange:
    """What is in force after a change, and which of the wanted numbers were brought within their bounds."""

    in_force: TuningInForce
    clamped: tuple[str, ...]
    selects_weighted: bool
    """Whether the formula the weights belong to was selected with them, because it was not in force."""


def change_tuning(
    session: Session, defaults: Tuning, scope: str, wanted: Mapping[str, object], actor: str, now: datetime
) -> TuningChange:
    """Change values of a scope; None takes a change back. For an app's scope the caller has locked the app.

    A weight that is given has effect: it selects the formula it belongs to, unless the formula is given too.
    Raises: Invalid; then nothing may be committed.
    """
    unknown = [name for name in wanted if name not in NAMES]
    if unknown:
        raise Invalid(f"{unknown[0]} cannot be tuned; what can is {', '.join(NAMES)}.")
    if scope != EVERYWHERE and (foreign := wanted.keys() & ONLY_EVERYWHERE):
        raise Invalid(f"{min(foreign)} can only be changed for all apps.")
    insert_if_absent(session, TuningOverride, scope=scope, chosen={}, changed_by=actor, changed_at=now)
    kept = {name: acceptable(name, value) for name, value in wanted.items() if value is not None}
    former = lock_choices(session, scope)
    chosen = {name: value for name, value in former.items() if name not in wanted} | kept
    below = defaults if scope == EVERYWHERE else in_force(session, defaults, None)
    if wanted.keys() & set(WEIGHTS):
        chosen = _with_weights(chosen, kept, below)
    gives_weights = "formula" not in wanted and bool(kept.keys() & set(WEIGHTS))
    selects = gives_weights and chosen.get("formula", below.formula) != RankingFormula.WEIGHTED
    if selects:
        chosen = {**chosen, "formula": RankingFormula.WEIGHTED}
    new = {TuningOverride.chosen: chosen, TuningOverride.changed_by: actor, TuningOverride.changed_at: now}
    session.execute(update(TuningOverride).where(TuningOverride.scope == scope).values(new))
    result = tuning_in_force(session, defaults, None if scope == EVERYWHERE else scope)
    return TuningChange(result, tuple(name for name in kept if kept[name] != wanted[name]), selects)


def forget_tuning(session: Session, app_id: str) -> None:
    """Take back everything that was changed for an app."""
    session.execute(delete(TuningOverride).where(TuningOverride.scope == app_id))


def _with_weights(chosen: Mapping[str, object], kept: Mapping[str, object], below: Tuning) -> dict[str, object]:
    """Keep all three weights or none; those that are not chosen come from below. Raises: Invalid."""
    others = {name: value for name, value in chosen.items() if name not in WEIGHTS}
    if not kept.keys() & set(WEIGHTS):
        return others
    weights = {name: chosen.get(name, getattr(below, name)) for name in WEIGHTS}
    refuse_unbalanced(replace(below, **weights))  # type: ignore[arg-type]
    return others | weights
