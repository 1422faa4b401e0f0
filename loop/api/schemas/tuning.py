"""The tuning of retrieval: what is in force, where it comes from, and changing it."""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

from pydantic import Field, StrictInt

from loop.api.schemas.wire import Answer, Body, Flag
from shared.search.tuning import NAMES, RankingFormula, TuningInForce, TuningSource

_Value = TypeVar("_Value")
_Whole = Annotated[StrictInt, Field(ge=-(10**9), le=10**9)]
_Weight = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
_BACK = "null takes the change back."


class Valued(Answer, Generic[_Value]):
    """A value in force."""

    value: _Value
    source: TuningSource = Field(
        description="What it comes from: the settings, a change for all apps, or one for this app."
    )


class TuningAnswer(Answer):
    """How retrieval and summaries work."""

    hybrid: Valued[bool]
    chunking: Valued[bool]
    token_budget: Valued[int]
    summary_frequency: Valued[int]
    formula: Valued[RankingFormula]
    alpha: Valued[float]
    beta: Valued[float]
    gamma: Valued[float]
    metrics_days: Valued[int]
    clamped: list[str] = Field([], description="What was brought within its bounds by this change.")
    note: str | None = Field(None, description="What this change changed beside what was given.")

    @classmethod
    def of(cls, in_force: TuningInForce, clamped: tuple[str, ...] = (), note: str | None = None) -> TuningAnswer:
        """Return the values in force as they go over the wire."""
        values = {name: {"value": getattr(in_force.tuning, name), "source": in_force.sources[name]} for name in NAMES}
        names = [cls.model_fields[name].alias or name for name in clamped]
        return cls.model_validate({**values, "clamped": names, "note": note})


class TuneApp(Body):
    """What to change for one app. What is left out stays as it is; null takes a change back."""

    hybrid: Flag | None = Field(None, description=f"Search words beside vectors. {_BACK}")
    chunking: Flag | None = Field(None, description=f"Hand long messages out in passages. {_BACK}")
    token_budget: _Whole | None = Field(None, description=f"Most tokens of retrieved messages, 100..5000. {_BACK}")
    summary_frequency: _Whole | None = Field(
        None, description=f"Messages of the assistant after which a summary is made, 0..100; 0 is never. {_BACK}"
    )
    formula: RankingFormula | None = Field(None, description=f"How results are ranked. {_BACK}")
    alpha: _Weight | None = Field(
        None,
        description=(
            "Weight of the vectors; the three add up to 1. A weight that is given selects the formula weighted, "
            f"unless a formula is given too. {_BACK}"
        ),
    )
    beta: _Weight | None = Field(None, description=f"Weight of the words. {_BACK}")
    gamma: _Weight | None = Field(None, description=f"Weight of code identifiers. {_BACK}")

    @property
    def wanted(self) -> dict[str, object]:
        """What was given, null too."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class TuneAll(TuneApp):
    """What to change for all apps. What is left out stays as it is; null takes a change back."""

    metrics_days: _Whole | None = Field(
        None, description=f"Days that figures of single retrievals are kept, 1..365. {_BACK}"
    )
