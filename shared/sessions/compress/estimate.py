"""What would come of a compression: made whole by rules where a session is short, from a sample where it is long.

Tiers, budgets and marked parts are always those of the whole session; a sample only tells how they are filled.
Source: seed 004, "Creating a New Compression".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.base.choices import KeepitMode
from shared.sessions.blocks import Block
from shared.sessions.compress.plan import CompressionPlan, plan_compression
from shared.sessions.compress.run import CompressionRun
from shared.sessions.compress.sources import CompressionTask, message_count
from shared.sessions.markers import threshold

SAMPLE_TOKENS = 50_000
"""What rules compress within half a second."""
_WINDOW = 8
"""Messages that are sampled together, so that answers stand behind what was asked."""


@dataclass(frozen=True)
class VersionEstimate:
    """What would come of a compression."""

    plan: CompressionPlan
    output_tokens: int
    output_messages: int
    note: str | None
    """Why the ratio would not be near the one asked for."""
    is_sampled: bool

    @property
    def ratio(self) -> float:
        """The ratio that would be achieved."""
        return self.plan.input_tokens / max(1, self.output_tokens)

    @property
    def thresholds(self) -> list[float]:
        """The least weight that survives in each tier; none where decay does not decide."""
        settings = self.plan.settings
        if settings.keepit_mode is not KeepitMode.DECAY:
            return []
        return [
            float(
                threshold(tier.aggressiveness, tier.compaction_ratio, settings.session_distance, settings.decay) / 1000
            )
            for tier in settings.tiers
        ]


def estimate_version(task: CompressionTask, chunk_tokens: int) -> VersionEstimate:
    """Return what would come of a task, without a model."""
    plan = plan_compression(task.blocks, task.settings)
    sample = task
    if is_sampled := plan.input_tokens > SAMPLE_TOKENS:
        blocks = sampled_blocks(task.blocks, -(-plan.input_tokens // SAMPLE_TOKENS))
        sample = replace(task, blocks=blocks, settings=task.settings.model_copy(update={"skip_first_messages": 0}))
    made = CompressionRun(sample, chunk_tokens).finish(())
    scale = sum(plan.budgets) / max(1, sum(made.plan.budgets)) if is_sampled else 1.0
    return VersionEstimate(plan, round(made.output_tokens * scale), round(made.messages * scale), made.note, is_sampled)


def sampled_blocks(blocks: Sequence[Block], nth: int) -> list[Block]:
    """Return every ``nth`` window of messages, the last one among them, numbered anew."""
    messages = message_count(blocks)
    window = max(1, min(_WINDOW, messages // (2 * nth)))
    found: list[Block] = []
    numbers: dict[int, int] = {}
    for block in blocks:
        if (messages - 1 - block.message) // window % nth == 0:
            number = numbers.setdefault(block.message, len(numbers))
            found.append(replace(block, message=number))
    return found
