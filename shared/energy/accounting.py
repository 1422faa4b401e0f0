"""Who pays for model calls: each is reserved before it is made and booked after it, in transactions of their own.

Spending counts whatever becomes of the work. An app's budgets are held by what a call can cost at most, so that no
answer, however long, passes them; the level is reckoned with what such calls cost on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from shared.apps.queries import lock_budgets
from shared.clock import Clock
from shared.db.engine import Database
from shared.energy import ledger, rates
from shared.energy.budget import most, to_units
from shared.energy.ledger import Booking
from shared.errors import OverBudget
from shared.llm.calls import Meter, ModelCall, Prospect
from shared.settings import Settings
from shared.telemetry.metrics import Metrics, agent_kind

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

    def meter(self, account: Booking) -> Meter:
        """Return a meter that books on an account; for one thread."""
        return _Account(self, account)


@dataclass
class _Account(Meter):
    accountant: Accountant
    account: Booking
    held: int | None = None
    """What is set aside for the call under way."""

    def reserve(self, prospect: Prospect) -> None:
        if self.held is not None:
            return  # The same call is tried once more.
        office = self.accountant
        cost = most(prospect, office.settings)
        now = office.clock.now()
        until = now + timedelta(seconds=office.call_seconds)
        with office.database.write() as session:
            # Locked, so that nobody else reckons with them until the transaction has ended.
            budgets = lock_budgets(session, self.account.app_id)
            refused = ledger.affordable(session, self.account.app_id, budgets, cost, now)
            if refused is None:
                self.held = ledger.reserve(session, prospect, self.account, cost, now, until)
        if refused is not None:
            raise OverBudget(str(refused), refused.until or now + NEVER_WAIT)

    def __call__(self, call: ModelCall) -> None:
        office = self.accountant
        with office.database.write() as session:
            cost = ledger.book(session, call, self.account, office.settings, office.clock.now())
            rates.learn(session, call)
            if self.held is not None:
                ledger.let_go(session, self.held)
        self.held = None
        metrics, agent = office.metrics, agent_kind(call.model)
        metrics.energy_spent.labels(call.kind).inc(to_units(cost))
        metrics.model_calls.labels(call.kind, agent, call.outcome).inc()
        metrics.model_tokens.labels(call.kind, agent, "prompt").inc(call.prompt_tokens)
        metrics.model_tokens.labels(call.kind, agent, "completion").inc(call.completion_tokens)
        metrics.model_call_duration.labels(call.kind).observe(call.seconds)
