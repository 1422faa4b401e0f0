"""How often room was made among an app's memories: per day and outcome, from their history."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from loop.api.dependencies import AppInPath, Reads, UserInQuery
from loop.api.policy import OF_APP, under
from loop.api.schema import ResponseModel
from shared.apps.queries import get_app
from shared.memories.queries import compactions_since
from shared.telemetry.metrics import CompactionOutcome

router = APIRouter(prefix="/apps/{appId}/compactions", tags=["Memories"], route_class=under(OF_APP))


class CompactionDay(ResponseModel):
    """How room was made on a day, by outcome."""

    day: date = Field(description="UTC.")
    compactions: int
    outcomes: dict[CompactionOutcome, int]


class CompactionDays(ResponseModel):
    """How room was made, day by day, the oldest first; days on which none was made too."""

    app_id: str
    user_id: str | None = Field(description="Null: of all of the app's memories.")
    compactions: int
    days: list[CompactionDay]


@router.get("", summary="Count compactions by day")
def list_compactions(
    ctx: Reads,
    app_id: AppInPath,
    days: Annotated[int, Query(ge=1, le=365, description="So many days, today the last.")] = 30,
    user_id: UserInQuery = None,
) -> CompactionDays:
    """Count how often room was made for a memory, day by day (UTC) and by what went. Costs no energy."""
    today = ctx.now().astimezone(UTC).date()
    shown = [today - timedelta(days=before) for before in range(days - 1, -1, -1)]
    with ctx.read() as session:
        get_app(session, app_id)
        counted = compactions_since(session, app_id, datetime.combine(shown[0], time(), UTC), user_id)
    of_days = [{outcome: counted.get((day, outcome), 0) for outcome in CompactionOutcome} for day in shown]
    return CompactionDays(
        app_id=app_id,
        user_id=user_id,
        compactions=sum(counted.values()),
        days=[
            CompactionDay(day=day, compactions=sum(outcomes.values()), outcomes=outcomes)
            for day, outcomes in zip(shown, of_days, strict=True)
        ],
    )
