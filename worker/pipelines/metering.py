"""Books each model call in a transaction of its own, so that spending counts whatever becomes of the work."""

from __future__ import annotations

from shared.clock import Clock
from shared.db.engine import Database
from shared.energy.budget import Prices, to_units
from shared.energy.ledger import Booking, book
from shared.llm.calls import Meter, ModelCall
from shared.outbox.ownership import Claim
from shared.telemetry.metrics import Metrics, agent_kind


class Accountant:
    """Turns a claim into the meter its agent reports to."""

    def __init__(self, database: Database, clock: Clock, prices: Prices, metrics: Metrics) -> None:
        self._database = database
        self._clock = clock
        self._prices = prices
        self._metrics = metrics

    def meter(self, claim: Claim) -> Meter:
        """Return a meter that books on a job's account."""
        account = Booking(claim.app_id, claim.job_id, claim.conversation_key)

        def record(call: ModelCall) -> None:
            with self._database.write() as session:
                cost = book(session, call, account, self._prices, self._clock.now())
            self._count(call, cost)

        return record

    def _count(self, call: ModelCall, cost: int) -> None:
        agent = agent_kind(call.model)
        self._metrics.energy_spent.labels(call.kind).inc(to_units(cost))
        self._metrics.model_calls.labels(call.kind, agent, call.outcome).inc()
        self._metrics.model_tokens.labels(call.kind, agent, "prompt").inc(call.prompt_tokens)
        self._metrics.model_tokens.labels(call.kind, agent, "completion").inc(call.completion_tokens)
        self._metrics.model_call_duration.labels(call.kind).observe(call.seconds)
