"""Who does the thinking of one job: the agent that is set up, or the rules once the model cannot; and what is let in.

The rules do it where the model's answers cannot be used, in the last of the attempts that a job has for its model where
it gives none, and without asking while the model's breaker is open (``shared.energy.breaker``). It is decided once for
a job and not for each of its questions, so that a model which answers nothing usable is not asked again and again. What
a pipeline writes is in the name of the agent that made it.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from sqlalchemy.orm import Session

from shared.base.errors import (
    AfterthoughtError,
    ModelOutput,
    NotYet,
    ProviderAway,
    ServerBusy,
    ServerFailed,
    Transient,
    Unanswered,
)
from shared.contracts.jobs import JobKind
from shared.energy import breaker, ledger
from shared.energy.accounting import Accountant
from shared.energy.breaker import ModelOutcome
from shared.energy.ledger import LedgerAccount
from shared.jobs.ownership import Claim
from shared.llm.calls import EXTRACTIVE, Meter
from shared.telemetry.logging import get_logger
from shared.text.gate import Gate, Refusal, unlooped
from shared.text.lines import shorten
from worker.agent.protocol import Agent, LeftToRules

AgentT = TypeVar("AgentT", bound=Agent)
ResultT = TypeVar("ResultT")
_LONGEST_WHY = 300
_OUTCOMES = {ServerFailed: ModelOutcome.SERVER_FAILED, ServerBusy: ModelOutcome.SERVER_BUSY}
MODEL_ATTEMPTS = 3
"""Of a job, in which its model is asked; each question of it at most three times."""


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


@dataclass
class JobAgent(Generic[AgentT]):
    """The agent of one job. Without ``rules`` behind it, a model's unusable answers are the job's failure."""

    agent: AgentT
    rules: AgentT | None
    claim: Claim
    accountant: Accountant
    why: str | None = None
    """Why the rules do what the model was to do; None while it does it itself."""
    _is_chosen: bool = field(default=False, init=False)
    _is_probe: bool = field(default=False, init=False)
    """Whether it asks a model whose breaker is open, to see whether it may close."""
    assigned_agent: str = field(default="", init=False)
    """Who was to do it."""
    meter: Meter = field(init=False)
    """Books on the job."""
    admission: Admission = field(default_factory=Admission, init=False)

    def __post_init__(self) -> None:
        self.assigned_agent = self.agent.name
        self.meter = self.accountant.meter(
            LedgerAccount(self.claim.app_id, self.claim.job_id, self.claim.conversation_key)
        )

    @property
    def name(self) -> str:
        """Who writes what comes next."""
        return self.agent.name

    def do(self, work: Callable[[AgentT], ResultT]) -> ResultT:
        """Have a piece of work done, by the rules where the model cannot. Raises what the agent does."""
        # Not before there is work: a job that asks nothing must not take the breaker's probe.
        if not self._is_chosen:
            self._choose()
        try:
            return work(self.agent)
        except LeftToRules as left:
            # Nothing has failed, and nothing is said of it: the author is who did it.
            self.agent = self.rules or left.agent
        except ModelOutput as error:
            if self.name != EXTRACTIVE:
                self._record_failure(ModelOutcome.UNUSABLE)
            if self.rules is None or self.why is not None:
                raise
            self._leave_to_rules(self._could_not(error))
        # Transient as well, but the job waits and no attempt is used, so the rules need not do it.
        except (NotYet, ProviderAway):
            raise
        except Transient as error:
            is_last = self.claim.attempt >= min(MODEL_ATTEMPTS, self.claim.max_attempts)
            if not self._has_rules_behind or not (is_last or self._is_probe):
                raise
            if isinstance(error, Unanswered):
                self._record_failure(_OUTCOMES.get(type(error), ModelOutcome.LATE))
            self._leave_to_rules(self._could_not(error))
        return work(self.agent)

    def conclude(self) -> None:
        """Count what the gate refused, and tell the model's breaker what came of asking it; before it is written."""
        for why, count in self.admission.refused.items():
            self.accountant.metrics.texts_refused.labels(JobKind(self.claim.kind), why).inc(count)
        if self.why is not None or self.assigned_agent == EXTRACTIVE:
            return
        with self.accountant.database.write() as session:
            # A job that asked nothing says nothing of its model.
            if ledger.was_asked(session, self.claim.job_id, self.assigned_agent):
                outcome = ModelOutcome.UNUSABLE if self.admission.is_nothing_usable else ModelOutcome.USABLE
                self._record(session, outcome)
            elif self._is_probe:
                breaker.release_probe(session, self.assigned_agent, self.accountant.clock.now())

    @property
    def _has_rules_behind(self) -> bool:
        """Whether it is a model that works, and rules stand behind it."""
        return self.rules is not None and self.rules.name != self.agent.name

    def _choose(self) -> None:
        """Leave the job to the rules where its model is not to be asked."""
        self._is_chosen = True
        if not self._has_rules_behind:
            return
        if self.claim.attempt > MODEL_ATTEMPTS:
            # Its worker was killed while it asked, or what was made could not be written.
            self._leave_to_rules(f"{self._instead} could not: it was asked in {MODEL_ATTEMPTS} attempts already")
            return
        accountant, now = self.accountant, self.accountant.clock.now()
        # Read first, as a breaker is nearly always closed; the probe is claimed by one statement, whoever saw it due.
        with accountant.database.read() as session:
            pause = breaker.find_pause(session, self.name)
        if pause is not None and pause.ask_at <= now:
            with accountant.database.write() as session:
                longest = timedelta(seconds=accountant.call_seconds)
                self._is_probe = breaker.claim_probe(session, self.name, now, longest)
                pause = None if self._is_probe else breaker.find_pause(session, self.name)
        if pause is not None:
            self._leave_to_rules(f"{self._instead} {pause.why}; {pause.until(now)}")

    @property
    def _instead(self) -> str:
        return f"done by {EXTRACTIVE}, as {self.name}"

    def _could_not(self, error: AfterthoughtError) -> str:
        why = shorten(error.message, _LONGEST_WHY)
        # Without a model it is the rules that come after the rules, and nobody's stead.
        return f"{self._instead} could not: {why}" if self._has_rules_behind else why

    def _leave_to_rules(self, why: str) -> None:
        assert self.rules is not None
        self.why = why
        get_logger().warning(
            "agent_fell_back", job_id=self.claim.job_id, app_id=self.claim.app_id, agent=self.agent.name
        )
        self.accountant.metrics.agent_fallbacks.labels(self.claim.kind).inc()
        self.agent = self.rules

    def _record_failure(self, outcome: ModelOutcome) -> None:
        with self.accountant.database.write() as session:
            self._record(session, outcome)

    def _record(self, session: Session, outcome: ModelOutcome) -> None:
        # Where no rules stand behind it the model is always asked, so that each job is a probe.
        is_probe = self._is_probe or self.rules is None
        breaker.record_outcome(session, self.assigned_agent, outcome, self.accountant.clock.now(), is_probe=is_probe)

    def job_reason(self, *own: str | None) -> str | None:
        """Return what the job's row says: reasons, what was not stored, and why the rules did it; None for nothing."""
        return self.reason(*own, self.admission.reason) or None

    def reason(self, *own: str | None) -> str:
        """Return reasons together with why the rules did it, where they did."""
        return "; ".join(filter(None, (*own, self.why)))
