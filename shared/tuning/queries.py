"""Reads of the tuning in force: the settings, what was changed for all apps above them, and for one app above both."""

from __future__ import annotations

import json

from sqlalchemy import Text, cast, select
from sqlalchemy.orm import Session

from shared.errors import Invalid
from shared.telemetry.logging import get_logger
from shared.tuning.models import EVERYWHERE, Override
from shared.tuning.values import NAMES, InForce, Source, Tuning, overlaid

_TEXT = cast(Override.chosen, Text)
"""A row that is no JSON at all must not keep the others from being read."""


def in_force(session: Session, defaults: Tuning, app_id: str | None) -> Tuning:
    """Return the values in force for an app, or without one for all; ``defaults`` are the settings'."""
    return standing(session, defaults, app_id).tuning


def standing(session: Session, defaults: Tuning, app_id: str | None) -> InForce:
    """Return the values in force and where each comes from, read in one statement. A damaged row counts for nothing."""
    scopes = {EVERYWHERE: Source.EVERYWHERE} | ({} if app_id is None else {app_id: Source.APP})
    query = select(Override.scope, _TEXT).where(Override.scope.in_(scopes))
    rows = {scope: chosen for scope, chosen in session.execute(query)}  # noqa: C416 - dict() takes a result for a mapping
    result = InForce(defaults, dict.fromkeys(NAMES, Source.SETTING))
    for scope, source in scopes.items():
        if scope in rows:
            result = _above(result, scope, rows[scope], source)
    return result


def lock_choices(session: Session, scope: str) -> dict[str, object]:
    """Return what was changed for a scope, locked until the transaction ends; the row must stand."""
    query = select(_TEXT).where(Override.scope == scope).with_for_update()
    try:
        return _parsed(session.scalars(query).one())
    except (ValueError, Invalid):
        return {}


def _above(below: InForce, scope: str, text: str, source: Source) -> InForce:
    try:
        return overlaid(below, _parsed(text), source)
    except (ValueError, Invalid) as error:
        get_logger().warning("tuning_ignored", scope=scope, why=type(error).__name__)
        return below


def _parsed(text: str) -> dict[str, object]:
    chosen = json.loads(text)
    if not isinstance(chosen, dict):
        raise Invalid("What was changed is no object.")
    return chosen
