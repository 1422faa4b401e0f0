"""Who pays for model calls: each is reserved before it is made and booked after it, in transactions of their own.

Spending counts whatever becomes of the work. An app's budgets are held by what a call can cost at most, so that no
answer, however long, passes them; the level is reckoned with what such calls cost on average. What a job may cost is
bounded by how often it asks (``shared.llm.chat``, ``worker.pipelines.fallback``).
"""

from dataclasses import dataclass, field
from datetime import timedelta

from shared.apps.queries import budgets_of, lock_budgets
from shared.base.clock import Clock
from shared.base.errors import OverBudget
from shared.base.settings import Settings
from shared.db.engine import Database
from shared.energy import ledger, rates
from shared.energy.budget import Status, most, status_of, to_units
from shared.energy.ledger import LedgerAccount
from shared.llm.calls import CallEstimate, CallOutcome, Meter, ModelCall
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

    def meter(self, account: LedgerAccount) -> Meter:
        """Return a meter that books on an account; for one thread."""
        return _Account(self, account)

    def is_plentiful(self) -> bool:
        """Whether so much is left that work which others should not wait for may go on."""
        with self.database.read() as session:
            level = ledger.level_now(session, self.settings.energy_refill_per_second, self.clock.now())
        return status_of(level) is Status.HIGH

    def is_spent(self, app_id: str) -> bool:
        """Whether an app's budgets cover nothing more now."""
        with self.database.read() as session:
            budgets = budgets_of(session, app_id)
            # For a need of next to nothing: whether anything at all is left.
            return ledger.affordable(session, app_id, budgets, 1, self.clock.now()) is not None


@dataclass
class _Account(Meter):
    accountant: Accountant
    account: LedgerAccount
    reservation_key: int | None = None
    """What is set aside for the call under way."""

    def reserve(self, estimate: CallEstimate) -> None:
        if self.reservation_key is not None:
            return  # The same call is tried once more.
        accountant = self.accountant
        cost = most(estimate, accountant.settings)
        now = accountant.clock.now()
        until = now + timedelta(seconds=accountant.call_seconds)
        with accountant.database.write() as session:
            # Locked, so that nobody else reckons with them until the transaction has ended.
            budgets = lock_budgets(session, self.account.app_id)
            refused = ledger.affordable(session, self.account.app_id, budgets, cost, now)
            if refused is None:
                self.reservation_key = ledger.reserve(session, estimate, self.account, cost, now, until)
        if refused is not None:
            raise OverBudget(str(refused), refused.until or now + NEVER_WAIT)

    def __call__(self, call: ModelCall) -> None:
        accountant, cost = self.accountant, 0
        accountant.tracing.record_call(call)
        # A row of nothing for a call that nobody took would make a call seem cheaper than it is.
        was_taken = call.outcome is not CallOutcome.UNAVAILABLE or call.prompt_tokens or call.completion_tokens
        with accountant.database.write() as session:
            if was_taken:
                cost = ledger.book(session, call, self.account, accountant.settings, accountant.clock.now())
                rates.learn(session, call)
            if self.reservation_key is not None:
                ledger.release_reservation(session, self.reservation_key)
        self.reservation_key = None
        metrics, agent = accountant.metrics, agent_kind(call.model)
        metrics.energy_spent.labels(call.kind).inc(to_units(cost))
        metrics.model_calls.labels(call.kind, agent, call.outcome).inc()
        metrics.model_tokens.labels(call.kind, agent, "prompt").inc(call.prompt_tokens)
        metrics.model_tokens.labels(call.kind, agent, "completion").inc(call.completion_tokens)
        metrics.model_call_duration.labels(call.kind).observe(call.seconds)
