"""Energy: the level of the installation, and what an app has spent. All amounts are in units."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from loop.api.schemas.wire import Answer
from shared.energy.budget import BudgetStatus, Status


class EnergyAnswer(Answer):
    """The energy of the installation."""

    level: float = Field(description="0..100, with a floor of -50.")
    percentage: float
    status: Status
    replenish_per_second: float
    gate_percent: float = Field(description="Memory work starts only above this.")
    reserved: float = Field(description="Set aside for model calls under way.")
    deferred_jobs: int
    memory_share: float | None = Field(description="Share of memory work in 24 hours, 0..1; null when nothing was.")
    seconds_until_open: float | None = Field(description="Until memory work may start; null: never.")


class AppEnergy(Answer):
    """What an app has spent."""

    app_id: str
    total: float
    last24h: float = Field(alias="last24h")
    last1h: float = Field(alias="last1h")
    last1min: float = Field(alias="last1min")
    by_kind: dict[str, float]
    hourly_budget: float | None
    hourly_status: BudgetStatus | None
    daily_budget: float | None
    daily_status: BudgetStatus | None
    held_until: datetime | None = Field(description="Until when a budget holds the app's work back; null: it does not.")
