"""What can be changed about retrieval while it runs, and which values are acceptable.

Pure functions of values. Where the values in force come from is left to ``queries``, changing them to ``changing``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from shared.errors import Invalid
from shared.settings import Settings


class Formula(StrEnum):
    """How results are ranked."""

    SIGNALS = "signals"
    WEIGHTED = "weighted"


class Source(StrEnum):
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
    formula: Formula = Formula.SIGNALS
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
class InForce:
    """The values in force, and where each comes from."""

    tuning: Tuning
    sources: Mapping[str, Source]


def tuning_of(settings: Settings) -> Tuning:
    """Return the values of the settings, in force where nothing was changed."""
    return Tuning(
        hybrid=settings.rag_hybrid,
        chunking=settings.rag_chunking,
        token_budget=settings.rag_token_budget,
        summary_frequency=settings.rag_summary_frequency,
        formula=Formula(settings.rag_formula),
        alpha=settings.rag_rerank_alpha,
        beta=settings.rag_rerank_beta,
        gamma=settings.rag_rerank_gamma,
        metrics_days=settings.rag_metrics_days,
    )


def overlaid(below: InForce, chosen: Mapping[str, object], source: Source) -> InForce:
    """Return what is in force once ``chosen`` lies above ``below``. Raises: Invalid, where ``chosen`` is damaged."""
    known = {name: acceptable(name, value) for name, value in chosen.items() if name in NAMES}
    tuning = replace(below.tuning, **known)  # type: ignore[arg-type]
    if known.keys() & set(WEIGHTS):
        refuse_unbalanced(tuning)
    return InForce(tuning, {**below.sources, **dict.fromkeys(known, source)})


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


def _formula(name: str, value: object) -> Formula:
    if not isinstance(value, str) or value not in set(Formula):
        raise Invalid(f"{name} must be one of {', '.join(Formula)}.")
    return Formula(value)


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
