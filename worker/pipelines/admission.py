"""What a job lets through the gate, and what it counts as refused.

Shared by all pipelines that store an agent's words, a model's or the rules'.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from shared.contracts.jobs import JobKind
from shared.telemetry.metrics import Metrics
from shared.text.gate import Gate, Refusal, unlooped


@dataclass
class Admission:
    """The texts of one job, judged one by one."""

    refused: Counter[Refusal] = field(default_factory=Counter)
    admitted: int = 0

    def admit(self, text: str, gate: Gate) -> str | None:
        """Return a text as far as it may be stored: up to where it repeats itself; None where it may not."""
        text = unlooped(text)
        verdict = gate.judge(text)
        if verdict is None:
            self.admitted += 1
            return text
        self.refused[verdict.why] += 1
        return None

    @property
    def reason(self) -> str | None:
        """What was refused, for the job's reason; None where nothing was."""
        counted = ", ".join(f"{count} {why}" for why, count in sorted(self.refused.items()))
        return f"not stored: {counted}" if counted else None

    @property
    def is_nothing_usable(self) -> bool:
        """Whether something was said and all of it refused."""
        return bool(self.refused) and not self.admitted

    def count(self, metrics: Metrics, kind: JobKind) -> None:
        """Put what was refused into the figures."""
        for why, count in self.refused.items():
            metrics.texts_refused.labels(kind, why).inc(count)
