"""How search and summaries are tuned: the settings, values changed for all apps above them, for one app above both.

Every process reads the values anew each time, so a change takes effect at once.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import ValidationError
from sqlalchemy import Text, bindparam, cast, delete, select, update
from sqlalchemy.orm import Session

from shared.base.choices import RankingFormula
from shared.base.errors import Invalid
from shared.base.settings import AppTuning, Tuning, bounds_of
from shared.db.inserting import insert_if_absent
from shared.search.models import EVERYWHERE, TuningOverride
from shared.telemetry.logging import get_logger


class TuningSource(StrEnum):
    """Where a value in force comes from."""

    SETTING = "setting"
    EVERYWHERE = "everywhere"
    APP = "app"


NAMES = tuple(Tuning.model_fields)
_WEIGHTS = frozenset({"alpha", "beta", "gamma"})
"""They add up to 1, so one is never kept without the others."""


@dataclass(frozen=True)
class TuningInForce:
    """The values in force, and where each comes from."""

    tuning: Tuning
    sources: Mapping[str, TuningSource]


def tuning_of(settings: Tuning) -> Tuning:
    """Return the values of the settings, in force where nothing was changed."""
    return Tuning.model_construct(**{name: getattr(settings, name) for name in NAMES})


def overlay(below: TuningInForce, chosen: Mapping[str, object], source: TuningSource) -> TuningInForce:
    """Return what is in force once ``chosen`` lies above ``below``. Raises: Invalid, where ``chosen`` is damaged."""
    known = acceptable({name: value for name, value in chosen.items() if name in NAMES})
    tuning = below.tuning.model_copy(update=known)
    if known.keys() & _WEIGHTS:
        _refuse_unbalanced(tuning)
    return TuningInForce(tuning, {**below.sources, **dict.fromkeys(known, source)})


def acceptable(values: Mapping[str, object]) -> dict[str, object]:
    """Return values as they are kept, whole numbers brought within their bounds. Raises: Invalid."""
    within = {name: _clamped(name, value) for name, value in values.items()}
    try:
        # As JSON, which is strict about flags and numbers and still takes a formula by its name.
        checked = Tuning.model_validate_json(json.dumps(within), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise Invalid(f"{first['loc'][0]}: {first['msg']}.") from error
    return {name: getattr(checked, name) for name in values}


def _clamped(name: str, value: object) -> object:
    bounds = bounds_of(name)
    # A weight out of its bounds is refused: brought within them, the three would hardly add up.
    if bounds is None or name in _WEIGHTS or isinstance(value, bool) or not isinstance(value, int):
        return value
    return min(max(value, int(bounds[0])), int(bounds[1]))


def _refuse_unbalanced(tuning: Tuning) -> None:
    if not tuning.is_balanced:
        total = tuning.alpha + tuning.beta + tuning.gamma
        raise Invalid(f"alpha, beta and gamma must add up to 1; they would be {total:g}.", code="weights_unbalanced")


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
    # What holds for all apps first, an app's own above it.
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
    if scope != EVERYWHERE and (foreign := wanted.keys() - AppTuning.model_fields.keys()):
        raise Invalid(f"{min(foreign)} can only be changed for all apps.")
    # The row first, as a lock needs one: two first changes would else both begin from nothing.
    insert_if_absent(session, TuningOverride, scope=scope, chosen={}, changed_by=actor, changed_at=now)
    kept = acceptable({name: value for name, value in wanted.items() if value is not None})
    former = lock_choices(session, scope)
    chosen = {name: value for name, value in former.items() if name not in wanted} | kept
    below = defaults if scope == EVERYWHERE else in_force(session, defaults, None)
    if wanted.keys() & _WEIGHTS:
        chosen = _with_weights(chosen, kept, below)
    gives_weights = "formula" not in wanted and bool(kept.keys() & _WEIGHTS)
    selects = gives_weights and chosen.get("formula", below.formula) != RankingFormula.WEIGHTED
    if selects:
        chosen = {**chosen, "formula": RankingFormula.WEIGHTED}
    new = {TuningOverride.chosen: chosen, TuningOverride.changed_by: actor, TuningOverride.changed_at: now}
    session.execute(update(TuningOverride).where(TuningOverride.scope == scope).values(new))
    result = tuning_in_force(session, defaults, None if scope == EVERYWHERE else scope)
    return TuningChange(result, tuple(name for name in kept if kept[name] != wanted[name]), selects)


def forget_tuning(session: Session, app_id: str) -> dict[str, int]:
    """Take back everything that was changed for an app; no receipt counts it."""
    session.execute(delete(TuningOverride).where(TuningOverride.scope == app_id))
    return {}


def _with_weights(chosen: Mapping[str, object], kept: Mapping[str, object], below: Tuning) -> dict[str, object]:
    """Keep all three weights or none; those that are not chosen come from below. Raises: Invalid."""
    others = {name: value for name, value in chosen.items() if name not in _WEIGHTS}
    if not kept.keys() & _WEIGHTS:
        return others
    weights = {name: chosen.get(name, getattr(below, name)) for name in sorted(_WEIGHTS)}
    _refuse_unbalanced(below.model_copy(update=weights))
    return others | weights
