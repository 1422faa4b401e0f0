"""Who does the thinking of one job: the agent that is set up, or the rules once the model's answers cannot be used.

It is decided once for a job and not for each of its questions, so that a model which answers nothing usable is not
asked again and again. What a pipeline writes is in the name of the agent that made it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from shared.errors import ModelOutput
from shared.jobs.ownership import Claim
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from shared.text.lines import shorten
from worker.agent.protocol import Agent, LeftToRules

AgentT = TypeVar("AgentT", bound=Agent)
ResultT = TypeVar("ResultT")
_LONGEST_WHY = 300


@dataclass
class JobAgent(Generic[AgentT]):
    """The agent of one job. Without ``rules`` behind it, a model's unusable answers are the job's failure."""

    agent: AgentT
    rules: AgentT | None
    claim: Claim
    metrics: Metrics
    why: str | None = None
    """Why the rules do what the model was to do; None while it does it itself."""

    @property
    def name(self) -> str:
        """Who writes what comes next."""
        return self.agent.name

    def do(self, work: Callable[[AgentT], ResultT]) -> ResultT:
        """Have a piece of work done, by the rules where the model cannot. Raises what the agent does."""
        try:
            return work(self.agent)
        except LeftToRules as left:
            # Nothing has failed, and nothing is said of it: the author is who did it.
            self.agent = left.agent
        except ModelOutput as error:
            if self.rules is None or self.why is not None:
                raise
            why = shorten(error.message, _LONGEST_WHY)
            is_other = self.rules.name != self.agent.name
            self.why = f"done by {self.rules.name}, as {self.agent.name} could not: {why}" if is_other else why
            get_logger().warning(
                "agent_fell_back", job_id=self.claim.job_id, app_id=self.claim.app_id, agent=self.agent.name
            )
            self.metrics.agent_fallbacks.labels(self.claim.kind).inc()
            self.agent = self.rules
        return work(self.agent)

    def reason(self, *own: str | None) -> str:
        """Return reasons together with why the rules did it, where they did."""
        return "; ".join(filter(None, (*own, self.why)))
