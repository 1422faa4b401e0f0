"""Tells one webhook of one event: reads both, sends with no transaction open, and writes how it went.

The message keeps its id over all attempts, so that a receiver can drop what it has seen. Everything but a success is
tried again; 410 means that the address is gone for good, and disables the webhook.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from sqlalchemy.orm import Session

from shared.apps.queries import get_app
from shared.clock import Clock
from shared.contracts.events import DeliveryOutcome
from shared.db.engine import Database
from shared.errors import Configuration, Invalid, Transient
from shared.event_payloads import EventPayload, payloads_of, trial_payload
from shared.events import webhooks
from shared.events.models import Webhook
from shared.events.queries import event_at
from shared.events.signing import signed_headers
from shared.outbox.models import JobState
from shared.outbox.ownership import Claim
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from worker.courier import Courier, Parcel
from worker.pipelines.ending import end

GONE = 410


class Errand(BaseModel):
    """The payload of a delivery job."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)

    webhook_id: str
    position: int | None = Field(description="Of the event; none for a test.")


@dataclass(frozen=True)
class Sending:
    """What is sent, where to, under which id and secret."""

    url: str
    secret: str
    message_id: str
    body: bytes


@dataclass(frozen=True)
class Pointless:
    """There is nothing to payloads_of any more, or nobody to payloads_of it to."""

    why: str


class Undelivered(Transient):
    """The webhook answered that it did not take the event."""

    code = "undelivered"


class DeliverWebhook:
    """The pipeline of ``deliver_webhook`` jobs."""

    def __init__(self, database: Database, clock: Clock, courier: Courier, metrics: Metrics) -> None:
        self._database = database
        self._clock = clock
        self._courier = courier
        self._metrics = metrics
        self._log = get_logger()

    def __call__(self, claim: Claim) -> JobState:
        """Carry out one job. Raises: Transient, Invalid, LeaseLost."""
        errand = _errand(claim)
        sending = self._read(claim, errand)
        if isinstance(sending, Pointless):
            return self._drop(claim, sending)
        headers = signed_headers(sending.secret, sending.message_id, self._clock.now(), sending.body)
        headers["Content-Type"] = "application/json"
        try:
            status = self._courier.bring(Parcel(sending.url, headers, sending.body))
        except Invalid:
            self._note(errand, DeliveryOutcome.FORBIDDEN)
            raise
        except Transient:
            self._note(errand, DeliveryOutcome.UNREACHABLE)
            raise
        return self._conclude(claim, errand, status)

    def _conclude(self, claim: Claim, errand: Errand, status: int) -> JobState:
        if 200 <= status < 300:
            return self._end(claim, errand, DeliveryOutcome.DELIVERED, status)
        if status == GONE:
            return self._end(claim, errand, DeliveryOutcome.GONE, status)
        self._note(errand, DeliveryOutcome.REFUSED, status)
        raise Undelivered(f"The webhook answered with status {status}.")

    def _read(self, claim: Claim, errand: Errand) -> Sending | Pointless:
        with self._database.read() as session:
            webhook = session.get(Webhook, errand.webhook_id)
            if webhook is None or webhook.app_id != claim.app_id:
                return Pointless("the webhook was removed")
            if webhook.disabled_at is not None:
                return Pointless("the webhook is disabled")
            if get_app(session, claim.app_id).uninstalled_at is not None:
                return Pointless("the app is uninstalled")
            telling = _telling(session, claim, errand)
            if telling is None:
                return Pointless("the event was erased, or is too old to be told")
            return Sending(webhook.url, webhook.secret, _message_id(claim, errand), orjson.dumps(telling.as_fields()))

    def _end(self, claim: Claim, errand: Errand, outcome: DeliveryOutcome, status: int) -> JobState:
        now = self._clock.now()
        is_gone = outcome is DeliveryOutcome.GONE
        state = JobState.NOTHING if is_gone else JobState.DONE
        with self._database.write() as session:
            webhook = session.get(Webhook, errand.webhook_id, with_for_update=True)
            end(session, claim, state, now, "the webhook answered that it is gone (410)" if is_gone else None)
            if webhook is not None:
                _keep(webhook, outcome, status, now)
        self._tell(claim, outcome, status)
        return state

    def _drop(self, claim: Claim, pointless: Pointless) -> JobState:
        with self._database.write() as session:
            end(session, claim, JobState.NOTHING, self._clock.now(), pointless.why)
        self._tell(claim, DeliveryOutcome.DROPPED, None)
        return JobState.NOTHING

    def _note(self, errand: Errand, outcome: DeliveryOutcome, status: int | None = None) -> None:
        """Keep how an attempt failed; the job's own row is written by whoever runs the attempt."""
        with self._database.write() as session:
            webhook = session.get(Webhook, errand.webhook_id, with_for_update=True)
            if webhook is not None:
                webhooks.note(webhook, outcome, status, self._clock.now())
        self._metrics.webhook_deliveries.labels(outcome).inc()
        self._log.info("webhook_not_told", webhook_id=errand.webhook_id, outcome=outcome, status=status)

    def _tell(self, claim: Claim, outcome: DeliveryOutcome, status: int | None) -> None:
        self._metrics.webhook_deliveries.labels(outcome).inc()
        self._log.info("webhook_told", job_id=claim.job_id, app_id=claim.app_id, outcome=outcome, status=status)


def _errand(claim: Claim) -> Errand:
    try:
        return Errand.model_validate(claim.payload)
    except ValidationError:
        raise Configuration(f"The payload of job {claim.job_id} is not one this release knows.") from None


def _message_id(claim: Claim, errand: Errand) -> str:
    """Return the id a receiver tells repetitions by: the same for every attempt at one event."""
    if errand.position is None:
        return f"test_{claim.job_id}"
    return f"evt_{errand.position}_{errand.webhook_id}"


def _telling(session: Session, claim: Claim, errand: Errand) -> EventPayload | None:
    if errand.position is None:
        return trial_payload(claim.app_id, errand.webhook_id, claim.created_at)
    event = event_at(session, errand.position)
    if event is None or event.app_id != claim.app_id:
        return None
    return payloads_of(session, [event])[0]


def _keep(webhook: Webhook, outcome: DeliveryOutcome, status: int, now: datetime) -> None:
    webhooks.note(webhook, outcome, status, now)
    if outcome is DeliveryOutcome.GONE:
        webhooks.disable(webhook, "it answered that it is gone (410)", now)
