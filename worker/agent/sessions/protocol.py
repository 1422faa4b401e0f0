"""What the Memory Sub-Agent is given of recorded sessions, and what it makes of it: chunks condensed, things learnt.

What survives word for word, what else finds room, and how long the whole comes out are left to
``shared.sessions.compress``: an agent never sees a surviving marked part, and so cannot change it.

Agents raise ``Transient`` when the model could not be reached or ran out of time, ``ModelOutput`` when it answered
unusably twice, and ``Configuration`` when it can never answer (model missing, window too small).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.llm.calls import Meter
from shared.sessions.compress.assembly import Chunk, CondensedChunk
from shared.sessions.semantic import SemanticProposal, SessionPrompt


class CompressionAgent(Protocol):
    """The part of the Memory Sub-Agent that condenses.

    Raises ``Transient`` when the model could not be reached or ran out of time, ``ModelOutput`` when it answered
    unusably twice, and ``Configuration`` when it can never answer (model missing, window too small).
    """

    @property
    def name(self) -> str:
        """Recorded with each version: ``extractive`` or ``ollama:NAME``."""

    @property
    def chunk_tokens(self) -> int:
        """The most tokens it reads in one go; part of how a session is divided."""

    def condense(self, chunk: Chunk, meter: Meter) -> CondensedChunk:
        """Say what a chunk comes to, in no more characters than it has room for."""


@dataclass(frozen=True)
class LearningResult:
    """What was found, and how far was read."""

    proposals: tuple[SemanticProposal, ...]
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

    def learn(self, prompts: Sequence[SessionPrompt], meter: Meter) -> LearningResult:
        """Find preferences, decisions and facts in at least one prompt."""
