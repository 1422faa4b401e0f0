"""The tuning of retrieval and summaries, for all apps and for one; changed while it runs."""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

from fastapi import APIRouter, Response
from pydantic import Field, StrictInt
from sqlalchemy.orm import Session

from loop.api.dependencies import AppInPath, Reads, RequestContext, Writes
from loop.api.policy import OF_ADMIN, OF_APP, policy, under
from loop.api.schema import Flag, RequestModel, ResponseModel
from loop.api.writes import WriteResult
from shared.apps.queries import get_app, get_installed_app, lock_app
from shared.choices import RankingFormula
from shared.search.models import EVERYWHERE
from shared.search.tuning import NAMES, Tuning, TuningInForce, TuningSource, change_tuning, tuning_in_force, tuning_of

_Value = TypeVar("_Value")
_Whole = Annotated[StrictInt, Field(ge=-(10**9), le=10**9)]
_Weight = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
_BACK = "null takes the change back."


class Valued(ResponseModel, Generic[_Value]):
    """A value in force."""

    value: _Value
    source: TuningSource = Field(
        description="What it comes from: the settings, a change for all apps, or one for this app."
    )


# Named, because a generic class has neither a plain name nor a text in the description of the interface.
class Switch(Valued[bool]):
    """Something on or off, in force."""


class WholeNumber(Valued[int]):
    """A whole number in force."""


class Weight(Valued[float]):
    """A weight in force, from 0 to 1."""


class Formula(Valued[RankingFormula]):
    """A formula in force, by which results are ranked."""


class TuningAnswer(ResponseModel):
    """How retrieval and summaries work."""

    hybrid: Switch
    chunking: Switch
    token_budget: WholeNumber
    summary_frequency: WholeNumber
    formula: Formula
    alpha: Weight
    beta: Weight
    gamma: Weight
    metrics_days: WholeNumber
    clamped: list[str] = Field([], description="What was brought within its bounds by this change.")
    note: str | None = Field(None, description="What this change changed beside what was given.")

    @classmethod
    def of(cls, in_force: TuningInForce, clamped: tuple[str, ...] = (), note: str | None = None) -> TuningAnswer:
        """Return the values in force as they go over the wire."""
        values = {name: {"value": getattr(in_force.tuning, name), "source": in_force.sources[name]} for name in NAMES}
        names = [cls.model_fields[name].alias or name for name in clamped]
        return cls.model_validate({**values, "clamped": names, "note": note})


class TuneApp(RequestModel):
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


router = APIRouter(tags=["Retrieval settings"], route_class=under(OF_APP))
_BY_WEIGHTS = "The formula is weighted now, so that the weights have effect; set formula to signals to go back."


@router.get("/api/memory/settings", summary="Show the retrieval settings of all apps")
@policy(OF_ADMIN)
def show_tuning(ctx: Reads) -> TuningAnswer:
    """Show what is in force for apps that have nothing of their own."""
    with ctx.read() as session:
        return TuningAnswer.of(tuning_in_force(session, _defaults(ctx), None))


@router.patch("/api/memory/settings", response_model=TuningAnswer, summary="Change the retrieval settings of all apps")
@policy(OF_ADMIN)
def tune_all(ctx: Writes, body: TuneAll) -> Response:
    """Change how retrieval works for all apps, at once and without a restart. Numbers out of bounds are clamped."""
    return ctx.write(lambda session: _change(ctx, session, EVERYWHERE, body))


@router.get("/apps/{appId}/retrieval-settings", summary="Show an app's retrieval settings")
def show_app_tuning(ctx: Reads, app_id: AppInPath) -> TuningAnswer:
    """Show what is in force for an app, and where each value comes from."""
    with ctx.read() as session:
        get_app(session, app_id)
        return TuningAnswer.of(tuning_in_force(session, _defaults(ctx), app_id))


@router.patch(
    "/apps/{appId}/retrieval-settings", response_model=TuningAnswer, summary="Change an app's retrieval settings"
)
def tune_app(ctx: Writes, app_id: AppInPath, body: TuneApp) -> Response:
    """Change how retrieval works for an app, at once and without a restart. Numbers out of bounds are clamped."""

    def work(session: Session) -> WriteResult:
        lock_app(session, app_id)
        get_installed_app(session, app_id)
        return _change(ctx, session, app_id, body)

    return ctx.write(work)


def _change(ctx: RequestContext, session: Session, scope: str, body: TuneApp) -> WriteResult:
    done = change_tuning(session, _defaults(ctx), scope, body.wanted, ctx.caller.name, ctx.now())
    return WriteResult(TuningAnswer.of(done.in_force, done.clamped, _BY_WEIGHTS if done.selects_weighted else None))


def _defaults(ctx: RequestContext) -> Tuning:
    return tuning_of(ctx.loop.settings)
