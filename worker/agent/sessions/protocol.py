"""What an agent is given of a recorded session, and what it makes of it.

What survives word for word, what else finds room, and how long the whole comes out are left to
``shared.sessions.compressions``: an agent never sees a surviving marked part, and so cannot change it.
"""

from __future__ import annotations

from typing import Protocol

from shared.llm.calls import Meter
from shared.sessions.compressions.chunks import Chunk, Condensed


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

    def condense(self, chunk: Chunk, meter: Meter) -> Condensed:
        """Say what a chunk comes to, in no more characters than it has room for."""
