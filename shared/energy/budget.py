"""The arithmetic of energy: level, refill, status, price, and what may start. Pure functions of values.

A leaky bucket of 0..100 units with a floor of -50 that refills with wall-clock time. Source: decisions, "Energy".
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from shared.llm.calls import EXTRACTIVE, ModelCall, WorkKind

MICRO = 1_000_000
"""Micro-units in a unit; amounts are whole micro-units, so that sums are exact."""
FULL = 100 * MICRO
FLOOR = -50 * MICRO


class Status(StrEnum):
    """How much is left, in a word."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    URGENT = "urgent"


class BudgetStatus(StrEnum):
    """Where spending stands against a budget."""

    WITHIN = "within"
    DEPLETED = "depleted"
    EXCEEDED = "exceeded"


@dataclass(frozen=True)
class Prices:
    """Units a token costs, and what the extractive agent is charged of it."""

    prompt_token: float
    completion_token: float
    compaction_factor: float
    extractive_fraction: float


def to_micro(units: float) -> int:
    """Return whole micro-units."""
    return round(units * MICRO)


def to_units(micro: int) -> float:
    """Return units, for people and JSON."""
    return micro / MICRO


def refilled(micro: int, since: datetime, now: datetime, per_second: float) -> int:
    """Return the level ``micro`` of ``since`` as it is ``now``; a clock set back refills nothing."""
    seconds = max(0.0, (now - since).total_seconds())
    return min(FULL, micro + to_micro(seconds * per_second)) if micro < FULL else FULL


def drained(micro: int, cost: int) -> int:
    """Return the level after a cost, never below the floor."""
    return max(FLOOR, micro - cost)


def status_of(micro: int) -> Status:
    """Return high above 50, medium above 20, low above 0, urgent otherwise."""
    if micro > 50 * MICRO:
        return Status.HIGH
    if micro > 20 * MICRO:
        return Status.MEDIUM
    return Status.LOW if micro > 0 else Status.URGENT


def percentage_of(micro: int) -> float:
    """Return the level as a share of a full bucket, 0..100."""
    return round(100 * max(0, micro) / FULL, 4)


def price(call: ModelCall, prices: Prices) -> int:
    """Return what a call costs, in micro-units: by tokens, whether it was answered or not."""
    units = call.prompt_tokens * prices.prompt_token + call.completion_tokens * prices.completion_token
    if call.kind is WorkKind.COMPACT:
        units *= prices.compaction_factor
    return to_micro(units * prices.extractive_fraction if call.model == EXTRACTIVE else units)


def may_start(micro: int, gate_percent: float, in_flight: int, typical: int, wanted: int) -> int:
    """Return how many more jobs may start: above the gate only, counting what those in flight will likely draw.

    When nothing is in flight and the level is above the gate, one may always start.
    """
    gate = to_micro(gate_percent) * FULL // (100 * MICRO)
    free = micro - gate - in_flight * typical
    if micro <= gate or (free <= 0 and in_flight):
        return 0
    return wanted if typical <= 0 else min(wanted, max(1, -(-free // typical)))


def seconds_until_open(micro: int, gate_percent: float, per_second: float) -> float | None:
    """Return how long until the level passes the gate, or None when it never refills."""
    gate = gate_percent * FULL / 100
    if micro > gate:
        return 0.0
    return (gate - micro) / MICRO / per_second if per_second > 0 else None


def budget_status(budget: int | None, spent: int) -> BudgetStatus | None:
    """Return where ``spent`` stands against ``budget`` (both micro-units); None when there is no budget."""
    if budget is None:
        return None
    if spent > budget:
        return BudgetStatus.EXCEEDED
    return BudgetStatus.DEPLETED if spent == budget else BudgetStatus.WITHIN
