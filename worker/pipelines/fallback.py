"""Who does the thinking of one job: the agent that is set up, or the rules once the model cannot.

The rules do it where the model's answers cannot be used, and in the last of the attempts that a job has for its model
where it gives none. It is decided once for a job and not for each of its questions, so that a model which answers
nothing usable is not asked again and again. What a pipeline writes is in the name of the agent that made it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from shared.errors import ModelOutput, NotYet, ProviderAway, Transient
from shared.jobs.ownership import Claim
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from shared.text.lines import shorten
from worker.agent.protocol import Agent, LeftToRules

AgentT = TypeVar("AgentT", bound=Agent)
ResultT = TypeVar("ResultT")
_LONGEST_WHY = 300
MODEL_ATTEMPTS = 3
"""Of a job, in which its model is asked; each question of it at most three times."""


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
        if self._is_asked and self.claim.attempt > MODEL_ATTEMPTS:
            # Its worker was killed while it asked, or what was made could not be written.
            self._hand_over(f"it was asked in {MODEL_ATTEMPTS} attempts already")
        try:
            return work(self.agent)
        except LeftToRules as left:
            # Nothing has failed, and nothing is said of it: the author is who did it.
            self.agent = left.agent
        except ModelOutput as error:
            if self.rules is None or self.why is not None:
                raise
            self._hand_over(error.message)
        except (NotYet, ProviderAway):
            raise
        except Transient as error:
            if not self._is_asked or self.claim.attempt < min(MODEL_ATTEMPTS, self.claim.max_attempts):
                raise
            self._hand_over(error.message)
        return work(self.agent)

    @property
    def _is_asked(self) -> bool:
        """Whether it is a model that works, and rules stand behind it."""
        return self.rules is not None and self.rules.name != self.agent.name

    def _hand_over(self, why: str) -> None:
        """Leave the job to the rules, which are there."""
        assert self.rules is not None
        why = shorten(why, _LONGEST_WHY)
        self.why = f"done by {self.rules.name}, as {self.agent.name} could not: {why}" if self._is_asked else why
        get_logger().warning(
            "agent_fell_back", job_id=self.claim.job_id, app_id=self.claim.app_id, agent=self.agent.name
        )
        self.metrics.agent_fallbacks.labels(self.claim.kind).inc()
        self.agent = self.rules

    def reason(self, *own: str | None) -> str:
        """Return reasons together with why the rules did it, where they did."""
        return "; ".join(filter(None, (*own, self.why)))
