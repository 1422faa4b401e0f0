"""What the loop may attend to by its energy, how much of it, and with which model. Pure functions of values.

Source: oracles, "Loop"; seed 003, "Context Injection Points".
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.energy.budget import FULL, MICRO, Status, status_of, to_micro
from shared.subjects import Subject
from shared.telemetry.metrics import FocusKind

REVIEW_ABOVE = 50 * MICRO
_MOST_REVIEWED = 19
"""Beside the first one."""


@dataclass(frozen=True)
class Focus:
    """What the loop attends to: one conversation, or (in a review) one app."""

    kind: FocusKind
    app_id: str
    conversation_id: str | None = None
    subject: Subject | None = None
    """Whose conversations a review is about; None until it is known whose there are."""


def permitted(micro: int, gate_percent: float) -> frozenset[FocusKind]:
    """Return what the energy (micro-units) allows: answers while any is left, the rest only when there is enough."""
    allowed = set()
    if micro > 0:
        allowed.add(FocusKind.UNANSWERED)
    if micro > to_micro(gate_percent) * FULL // (100 * MICRO) and micro > 0:
        allowed.add(FocusKind.SELECTED)
    if micro > REVIEW_ABOVE and FocusKind.SELECTED in allowed:
        allowed.add(FocusKind.REVIEW)
    return frozenset(allowed)


def review_size(percentage: float) -> int:
    """Return how many recent conversations a review shows at an energy of ``percentage``, 0..100."""
    return max(1, round(1 + percentage / 100 * _MOST_REVIEWED))


def model_for(micro: int, large: str, small: str | None) -> str:
    """Return the model to think with: the large one while energy is high or medium."""
    return large if small is None or status_of(micro) in (Status.HIGH, Status.MEDIUM) else small
