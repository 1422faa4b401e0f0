"""The arithmetic of energy: level, refill, status, price, and what may start. Pure functions of values.

A leaky bucket of 0..100 units with a floor of -50 that refills with wall-clock time. Source: decisions, "Energy".
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil

from shared.base.settings import Settings
from shared.llm.calls import EXTRACTIVE, CallEstimate, ModelCall, WorkKind

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


def to_micro(units: float) -> int:
    return round(units * MICRO)


def to_units(micro: int) -> float:
    """Return units, for people and JSON."""
    return micro / MICRO


def refilled(micro: int, since: datetime, now: datetime, per_second: float) -> int:
    """Return the level ``micro`` of ``since`` as it is ``now``; a clock set back refills nothing.

    A clock set forward cannot be told from a machine that slept, and fills the bucket at most once.
    """
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


def price(call: ModelCall, settings: Settings) -> int:
    """Return what a call costs, in micro-units: by tokens, whether it was answered or not."""
    return _price(call.kind, call.model, call.prompt_tokens, call.completion_tokens, settings)


def most(estimate: CallEstimate, settings: Settings) -> int:
    """Return the most a call can cost, in micro-units."""
    return _price(estimate.kind, estimate.model, estimate.most_prompt_tokens, estimate.most_completion_tokens, settings)


def _price(kind: WorkKind, model: str, prompt_tokens: int, completion_tokens: int, settings: Settings) -> int:
    units = prompt_tokens * settings.price_prompt_token + completion_tokens * settings.price_completion_token
    if kind is WorkKind.COMPACT:
        units *= settings.compaction_price_factor
    if model == settings.small_model:
        units *= settings.small_model_price_factor
    if kind is WorkKind.EMBED and model != EXTRACTIVE:
        units *= settings.embedding_price_factor
    return to_micro(units * settings.extractive_fraction if model == EXTRACTIVE else units)


TYPICAL_TOKENS = {WorkKind.CREATE: (1480, 65), WorkKind.COMPACT: (1000, 60)}
"""Prompt and completion of each call of a large model at the end of a conversation: six messages of 35 words, ten
memories. The built-in agent counts its own.
"""
TYPICAL_TOKENS_OF_SMALL = {WorkKind.CREATE: (230, 50)}
"""Of a small model, which six talks in ten ask once: the mean of all. Source: docs/guides/choose-a-model.md."""


def estimated_conversation(settings: Settings, *, is_small: bool) -> int:
    """Return what a conversation is expected to cost, in micro-units, where none has been paid for yet."""
    model, tokens_by_kind = settings.model or EXTRACTIVE, TYPICAL_TOKENS_OF_SMALL if is_small else TYPICAL_TOKENS
    return sum(_price(kind, model, *tokens, settings) for kind, tokens in tokens_by_kind.items())


def carried_an_hour(per_second: float, conversation: int) -> float:
    """Return how many conversations of that cost (micro-units) an hour's refill pays for."""
    return per_second * 3600 * MICRO / max(1, conversation)


def refill_for(an_hour: float, conversation: int) -> float:
    """Return the refill in units a second, rounded up to a tenth, that carries so many conversations an hour."""
    return ceil(an_hour * to_units(conversation) / 360) / 10


def averaged(average: int, calls: int, cost: int) -> int:
    """Return the moving average of costs after one more: the mean of the first ones, then a tenth of each new one."""
    return average + (cost - average) // min(calls + 1, 10)


def affordable_at(
    spent: Sequence[tuple[datetime, int]], budget: int, span: timedelta, need: int, now: datetime
) -> datetime | None:
    """Return from when a budget covers ``need`` more beside what was spent in its window; None: it never will.

    ``spent`` is what was spent when, oldest first. All amounts in micro-units.
    """
    if need > budget:
        return None
    in_window = [(at, micro) for at, micro in spent if now - span < at]
    total = sum(micro for _, micro in in_window)
    free_from = now
    # The oldest leaves the window first, and what it cost is free again then.
    for at, micro in in_window:
        if total + need <= budget:
            break
        total, free_from = total - micro, at + span
    return free_from


def may_start(micro: int, gate_percent: float, under_way: int, typical: int, limit: int) -> int:
    """Return how many more jobs may start: above the gate only, less what those under way will likely draw.

    When nothing is under way and the level is above the gate, one may always start.
    """
    gate = to_micro(gate_percent) * FULL // (100 * MICRO)
    free = micro - gate - under_way
    if micro <= gate or (free <= 0 and under_way):
        return 0
    # Rounded up: the last one may pass the gate by a part of what it costs.
    return limit if typical <= 0 else min(limit, max(1, -(-free // typical)))


def must_shed(micro: int) -> bool:
    """Whether so little is left that even what was sent, and not begun, is called back."""
    return micro <= 0


def expected_wait(micro: int, gate_percent: float, per_second: float, ahead: int, typical: int) -> float | None:
    """Return in how many seconds a deferred job with ``ahead`` others before it may start; None when never."""
    return seconds_until_open(micro - ahead * typical, gate_percent, per_second)


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
