"""The tuning of retrieval and summaries, for all apps and for one; changed while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Generic, TypeVar

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field, StrictInt, create_model
from sqlalchemy.orm import Session

from loop.api.dependencies import AppInPath, Reads, RequestContext, Writes
from loop.api.policy import OF_ADMIN, OF_APP, policy, under
from loop.api.schema import Flag, RequestModel, ResponseModel
from loop.api.writes import WriteResult
from shared.apps.queries import get_app, get_installed_app, lock_app
from shared.base.choices import RankingFormula
from shared.base.search_settings import AppTuning, Tuning, meaning_of
from shared.search.models import EVERYWHERE
from shared.search.tuning import NAMES, TuningInForce, TuningSource, change_tuning, tuning_in_force, tuning_of

_Value = TypeVar("_Value")
_Body = TypeVar("_Body", bound=BaseModel)


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


_BACK = "null takes the change back."
_ANSWERED: dict[Any, Any] = {bool: Switch, int: WholeNumber, float: Weight, RankingFormula: Formula}
# Strict, as JSON is. A whole number may lie out of its bounds, and is brought within them.
_TAKEN: dict[Any, Any] = {
    bool: Flag,
    int: Annotated[StrictInt, Field(ge=-(10**9), le=10**9)],
    float: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)],
    RankingFormula: RankingFormula,
}
_BY_WEIGHTS = "The formula is weighted now, so that the weights have effect; set formula to signals to go back."


def _with_fields(fields: dict[str, Any]) -> Callable[[type[_Body]], type[_Body]]:
    return lambda shape: create_model(shape.__name__, __base__=shape, __doc__=shape.__doc__, **fields)


def _changed_of(group: type[AppTuning]) -> dict[str, Any]:
    return {
        name: (_TAKEN[field.annotation] | None, Field(None, description=f"{meaning_of(name)}. {_BACK}"))
        for name, field in group.model_fields.items()
    }


@_with_fields({name: _ANSWERED[field.annotation] for name, field in Tuning.model_fields.items()})
class TuningValues(ResponseModel):
    """The values in force."""


class TuningAnswer(TuningValues):
    """How retrieval and summaries work."""

    clamped: list[str] = Field([], description="What was brought within its bounds by this change.")
    note: str | None = Field(None, description="What this change changed beside what was given.")

    @classmethod
    def of(cls, in_force: TuningInForce, clamped: tuple[str, ...] = (), note: str | None = None) -> TuningAnswer:
        """Return the values in force as they go over the wire."""
        values = {name: {"value": getattr(in_force.tuning, name), "source": in_force.sources[name]} for name in NAMES}
        names = [cls.model_fields[name].alias or name for name in clamped]
        return cls.model_validate({**values, "clamped": names, "note": note})


class Changes(RequestModel):
    """Values to change."""

    @property
    def wanted(self) -> dict[str, object]:
        """What was given, null too."""
        return {name: getattr(self, name) for name in self.model_fields_set}


@_with_fields(_changed_of(AppTuning))
class TuneApp(Changes):
    """What to change for one app. What is left out stays as it is; null takes a change back.

    A weight that is given selects the formula weighted, unless a formula is given too.
    """


@_with_fields(_changed_of(Tuning))
class TuneAll(Changes):
    """What to change for all apps. What is left out stays as it is; null takes a change back.

    A weight that is given selects the formula weighted, unless a formula is given too.
    """


router = APIRouter(tags=["Retrieval settings"], route_class=under(OF_APP))


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


def _change(ctx: RequestContext, session: Session, scope: str, body: Changes) -> WriteResult:
    done = change_tuning(session, _defaults(ctx), scope, body.wanted, ctx.caller.name, ctx.now())
    return WriteResult(TuningAnswer.of(done.in_force, done.clamped, _BY_WEIGHTS if done.selects_weighted else None))


def _defaults(ctx: RequestContext) -> Tuning:
    return tuning_of(ctx.loop.settings)
