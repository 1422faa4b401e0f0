"""Tells one webhook of one event: reads both, sends with no transaction open, and writes how it went.

The message keeps its id over all attempts, so that a receiver can drop what it has seen. Everything but a success is
tried again; 410 means that the address is gone for good, and disables the webhook.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson
from pydantic import ValidationError

from shared.apps.queries import get_app
from shared.clock import Clock
from shared.contracts.events import DeliveryOutcome
from shared.contracts.jobs import WebhookPayload
from shared.db.engine import Database
from shared.errors import Configuration, Invalid, Transient
from shared.event_payloads import payloads_of, trial_payload
from shared.events import webhooks
from shared.events.models import Webhook
from shared.events.queries import event_at
from shared.events.webhooks import signed_headers
from shared.jobs.models import JobState
from shared.jobs.ownership import Claim
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from worker.pipelines.attempt import end
from worker.webhook_client import WebhookClient, WebhookRequest

GONE = 410


@dataclass(frozen=True)
class SignedEvent:
    """What is sent, where to, under which id and with which secret it is signed."""

    url: str
    secret: str
    message_id: str
    body: bytes


@dataclass(frozen=True)
class Undeliverable:
    """Why an event is not delivered any more: it, or its webhook, is gone."""

    why: str


class Undelivered(Transient):
    """The webhook answered that it did not take the event."""

    code = "undelivered"


@dataclass
class DeliverWebhook:
    """The pipeline of ``deliver_webhook`` jobs."""

    database: Database
    clock: Clock
    client: WebhookClient
    metrics: Metrics

    def __call__(self, claim: Claim) -> JobState:
        """Carry out one job. Raises: Transient, Invalid, LeaseLost."""
        try:
            payload = WebhookPayload.model_validate(claim.payload)
        except ValidationError:
            raise Configuration(f"The payload of job {claim.job_id} is not one this release knows.") from None
        event = self._read(claim, payload)
        if isinstance(event, Undeliverable):
            with self.database.write() as session:
                end(session, claim, JobState.NOTHING, self.clock.now(), event.why)
            self._report(claim, DeliveryOutcome.DROPPED, None)
            return JobState.NOTHING
        headers = signed_headers(event.secret, event.message_id, self.clock.now(), event.body)
        headers["Content-Type"] = "application/json"
        try:
            status = self.client.post(WebhookRequest(event.url, headers, event.body))
        except Invalid:
            self._note(payload, DeliveryOutcome.FORBIDDEN)
            raise
        except Transient:
            self._note(payload, DeliveryOutcome.UNREACHABLE)
            raise
        if 200 <= status < 300:
            return self._end(claim, payload, DeliveryOutcome.DELIVERED, status)
        if status == GONE:
            return self._end(claim, payload, DeliveryOutcome.GONE, status)
        self._note(payload, DeliveryOutcome.REFUSED, status)
        raise Undelivered(f"The webhook answered with status {status}.")

    def _read(self, claim: Claim, payload: WebhookPayload) -> SignedEvent | Undeliverable:
        with self.database.read() as session:
            webhook = session.get(Webhook, payload.webhook_id)
            if webhook is None or webhook.app_id != claim.app_id:
                return Undeliverable("the webhook was removed")
            if webhook.disabled_at is not None:
                return Undeliverable("the webhook is disabled")
            if get_app(session, claim.app_id).uninstalled_at is not None:
                return Undeliverable("the app is uninstalled")
            # The id by which a receiver tells repetitions is the same for every attempt at one event.
            if payload.position is None:
                told, message_id = (
                    trial_payload(claim.app_id, webhook.webhook_id, claim.created_at),
                    f"test_{claim.job_id}",
                )
            else:
                event = event_at(session, payload.position)
                if event is None or event.app_id != claim.app_id:
                    return Undeliverable("the event was erased, or is too old to be told")
                told, message_id = payloads_of(session, [event])[0], f"evt_{payload.position}_{webhook.webhook_id}"
            return SignedEvent(webhook.url, webhook.secret, message_id, orjson.dumps(told.as_fields()))

    def _end(self, claim: Claim, payload: WebhookPayload, outcome: DeliveryOutcome, status: int) -> JobState:
        now = self.clock.now()
        is_gone = outcome is DeliveryOutcome.GONE
        state = JobState.NOTHING if is_gone else JobState.DONE
        with self.database.write() as session:
            webhook = session.get(Webhook, payload.webhook_id, with_for_update=True)
            end(session, claim, state, now, "the webhook answered that it is gone (410)" if is_gone else None)
            if webhook is not None:
                webhooks.note(webhook, outcome, status, now)
                if is_gone:
                    webhooks.disable(webhook, "it answered that it is gone (410)", now)
        self._report(claim, outcome, status)
        return state

    def _note(self, payload: WebhookPayload, outcome: DeliveryOutcome, status: int | None = None) -> None:
        """Record on the webhook how an attempt failed; the job's own row is written by ``attempt``."""
        with self.database.write() as session:
            webhook = session.get(Webhook, payload.webhook_id, with_for_update=True)
            if webhook is not None:
                webhooks.note(webhook, outcome, status, self.clock.now())
        self.metrics.webhook_deliveries.labels(outcome).inc()
        get_logger().info("webhook_not_told", webhook_id=payload.webhook_id, outcome=outcome, status=status)

    def _report(self, claim: Claim, outcome: DeliveryOutcome, status: int | None) -> None:
        self.metrics.webhook_deliveries.labels(outcome).inc()
        get_logger().info("webhook_told", job_id=claim.job_id, app_id=claim.app_id, outcome=outcome, status=status)
