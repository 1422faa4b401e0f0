"""What an agent is given to learn from, and what it proposes. What becomes of a proposal is left to the pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.llm.calls import Meter
from shared.sessions.semantic.material import Prompt, Proposal


@dataclass(frozen=True)
class Learnt:
    """What was found, and how far was read."""

    proposals: tuple[Proposal, ...]
    prompts_read: int
    """How many of the prompts, from the first, were read whole; at least one. The rest is read next time."""


class LearningAgent(Protocol):
    """The part of the Memory Sub-Agent that learns from recorded sessions.

    Raises ``Transient`` when the model could not be reached or ran out of time, ``ModelOutput`` when it answered
    unusably twice, and ``Configuration`` when it can never answer (model missing, window too small).
    """

    @property
    def name(self) -> str:
        """Recorded with each memory: ``extractive`` or ``ollama:NAME``."""

    def learn(self, prompts: Sequence[Prompt], meter: Meter) -> Learnt:
        """Find preferences, decisions and facts in at least one prompt."""
