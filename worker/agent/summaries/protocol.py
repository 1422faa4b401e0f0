"""What an agent is given to summarise, and what it proposes.

An agent only proposes. How long a summary may be is seen to by ``shared.summaries.bullets``, and what becomes of it by
the pipeline.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from shared.llm.calls import Meter
from worker.agent.protocol import Turn


@dataclass(frozen=True)
class Span:
    """What was said in a conversation since it was last summarised."""

    app_name: str
    conversation_id: str
    turns: tuple[Turn, ...]
    """New turns in order, of users and assistants only, cleaned of what was recalled."""
    previous: str | None = None
    """The summary before, for what the new turns refer to; it stands beside the new one, and is not repeated."""


@dataclass(frozen=True)
class Digest:
    """What a span comes to, and how far was read."""

    points: tuple[str, ...]
    """The most important first within what they tell; none where nothing was said that is worth one."""
    turns_read: int
    """How many of the span's turns, from the first, were read whole; at least one. The rest is read next time."""


class SummaryAgent(Protocol):
    """The part of the Memory Sub-Agent that summarises.

    Raises ``Transient`` when the model could not be reached or ran out of time, ``ModelOutput`` when it answered
    unusably twice, and ``Configuration`` when it can never answer (model missing, window too small).
    """

    @property
    def name(self) -> str:
        """Recorded with each summary: ``extractive`` or ``ollama:NAME``."""

    def summarise(self, span: Span, meter: Meter) -> Digest:
        """Say what a span with at least one turn comes to."""
