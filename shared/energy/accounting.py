"""Who pays for model calls: each is reserved before it is made and booked after it, in transactions of their own.

Spending counts whatever becomes of the work. An app's budgets are held by what a call can cost at most, so that no
answer, however long, passes them; the level is reckoned with what such calls cost on average. A job that asks its model
again is held by its price, over all of its attempts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy.orm import Session

from shared.apps.queries import budgets_of, lock_budgets
from shared.clock import Clock
from shared.db.engine import Database
from shared.energy import ledger, rates
from shared.energy.budget import completion_tokens_for, likely, most, to_units
from shared.energy.ledger import Booking
from shared.errors import ModelOutput, OverBudget
from shared.llm.calls import ENOUGH, EXTRACTIVE, CallOutcome, Meter, ModelCall, Prospect, WorkKind
from shared.settings import Settings
from shared.telemetry.metrics import Metrics, agent_kind
from shared.telemetry.tracing import Tracing

NEVER_WAIT = timedelta(hours=1)
"""How long to wait before a budget that can never cover the need is looked at again."""


@dataclass(frozen=True)
class Accountant:
    """Makes the meters that model calls report to. ``call_seconds``: no call takes longer."""

    database: Database
    clock: Clock
    settings: Settings
    metrics: Metrics
    call_seconds: float
    tracing: Tracing = field(default_factory=Tracing)

    def meter(self, account: Booking) -> Meter:
        """Return a meter that books on an account; for one thread."""
        return _Account(self, account, _JobPrice(self.settings))

    def is_spent(self, app_id: str) -> bool:
        """Whether an app's budgets cover nothing more now."""
        with self.database.read() as session:
            budgets = budgets_of(session, app_id)
            return ledger.affordable(session, app_id, budgets, 1, self.clock.now()) is not None


MOST_TIMES = 3
"""No job costs more than so many times what its questions cost when each is answered at the first go."""


@dataclass
class _JobPrice:
    """What the questions of a job to its model have cost, and what they usually cost. In micro-units."""

    settings: Settings
    spent: int = 0
    usual: int = 0
    usual_before: int = 0
    """Of an attempt before this one, about: what was answered in them, shared out among them."""
    asked: Prospect | None = None
    prompt_tokens: int = 0
    """Of the question that was asked last, as they were counted."""
    answered: int = 0
    """What of ``usual`` is the answer to it."""
    repeats: bool = False

    def take_over(self, spent: int, answered: int, attempts: int) -> None:
        """Count what earlier attempts have spent."""
        self.spent, self.usual_before = spent, answered // attempts

    def ask(self, prospect: Prospect) -> None:
        """Note a question before it is asked. Raises: ModelOutput, where earlier attempts have spent too much."""
        self.asked = prospect
        cost = likely(prospect, self.settings)
        if not self.repeats and self.spent + cost > MOST_TIMES * max(self.usual + cost, self.usual_before):
            raise ModelOutput(f"Its calls have cost {MOST_TIMES} times the usual price of the job already.")

    def count(self, call: ModelCall, cost: int) -> None:
        """Count an ended call."""
        self.spent += cost
        if call.outcome is CallOutcome.UNAVAILABLE:
            return  # The same is asked once more.
        if not self.repeats:
            self.prompt_tokens = call.prompt_tokens
            self.answered = cost if call.outcome is CallOutcome.ANSWERED else 0
            self.usual += self.answered
        self.repeats = False

    def repeat(self, more_prompt_tokens: int) -> int:
        """Return how long the answer may be when the question is asked again."""
        if self.asked is None:
            return ENOUGH
        # The answer could not be used, so what it should have been is guessed; at most once for a question.
        usual = max(self.answered, likely(self.asked, self.settings, self.prompt_tokens))
        self.usual, self.answered = self.usual - self.answered + usual, usual
        self.repeats = True
        left = MOST_TIMES * max(self.usual, self.usual_before) - self.spent
        prompt = self.prompt_tokens + more_prompt_tokens
        return completion_tokens_for(left, self.asked, prompt, self.settings)


@dataclass
class _Account(Meter):
    accountant: Accountant
    account: Booking
    price: _JobPrice
    held: int | None = None
    """What is set aside for the call under way."""
    has_looked_back: bool = False

    def reserve(self, prospect: Prospect) -> None:
        if self.held is not None:
            return  # The same call is tried once more.
        office = self.accountant
        cost = most(prospect, office.settings)
        now = office.clock.now()
        until = now + timedelta(seconds=office.call_seconds)
        with office.database.write() as session:
            if _is_question(prospect, self.account):
                self._look_back(session, prospect)
                self.price.ask(prospect)
            # Locked, so that nobody else reckons with them until the transaction has ended.
            budgets = lock_budgets(session, self.account.app_id)
            refused = ledger.affordable(session, self.account.app_id, budgets, cost, now)
            if refused is None:
                self.held = ledger.reserve(session, prospect, self.account, cost, now, until)
        if refused is not None:
            raise OverBudget(str(refused), refused.until or now + NEVER_WAIT)

    def __call__(self, call: ModelCall) -> None:
        office, cost = self.accountant, 0
        office.tracing.record_call(call)
        # A row of nothing for a call that nobody took would make a call seem cheaper than it is.
        was_taken = call.outcome is not CallOutcome.UNAVAILABLE or call.prompt_tokens or call.completion_tokens
        with office.database.write() as session:
            if was_taken:
                cost = ledger.book(session, call, self.account, office.settings, office.clock.now())
                rates.learn(session, call)
            if self.held is not None:
                ledger.let_go(session, self.held)
        self.held = None
        if _is_question(call, self.account):
            self.price.count(call, cost)
        metrics, agent = office.metrics, agent_kind(call.model)
        metrics.energy_spent.labels(call.kind).inc(to_units(cost))
        metrics.model_calls.labels(call.kind, agent, call.outcome).inc()
        metrics.model_tokens.labels(call.kind, agent, "prompt").inc(call.prompt_tokens)
        metrics.model_tokens.labels(call.kind, agent, "completion").inc(call.completion_tokens)
        metrics.model_call_duration.labels(call.kind).observe(call.seconds)

    def allow_repeat(self, more_prompt_tokens: int) -> int:
        return self.price.repeat(more_prompt_tokens)

    def _look_back(self, session: Session, prospect: Prospect) -> None:
        job_id, earlier = self.account.job_id, self.account.attempt - 1
        if job_id is not None and earlier > 0 and not self.has_looked_back:
            self.price.take_over(*ledger.spent_on_job(session, job_id, prospect.model), earlier)
        self.has_looked_back = True


def _is_question(asked: Prospect | ModelCall, account: Booking) -> bool:
    """Whether a job asks its model for something: neither the rules nor vectors count for its price."""
    return account.job_id is not None and asked.model != EXTRACTIVE and asked.kind is not WorkKind.EMBED
