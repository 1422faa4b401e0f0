"""Tells one webhook of one event: reads both, posts with no transaction open, and writes how it went.

The message keeps its id over all attempts, so that a receiver can drop what it has seen. Everything but a success is
tried again; 410 disables the webhook, and so does a day of failures. It goes to the very address that was checked,
within a deadline, without redirects.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import httpx
import orjson

from shared.apps.queries import get_app
from shared.base.clock import Clock
from shared.base.errors import AfterthoughtError, Invalid, RetryLater, Transient
from shared.base.settings import Settings
from shared.contracts.jobs import WebhookPayload, WorkClass
from shared.contracts.values import DeliveryOutcome
from shared.db.engine import Database
from shared.event_payloads import payloads_of, trial_payload
from shared.events import webhooks
from shared.events.addresses import Address, AddressGuard, IpAddress, guard_of, parse
from shared.events.models import Webhook
from shared.events.queries import event_at
from shared.events.webhooks import signed_headers
from shared.jobs.dispatch import defer_sequence, make_sequence_due
from shared.jobs.models import JobState
from shared.jobs.ownership import Claim, retry_wait
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from worker.pipelines.attempt import WorkerContainer, end, payload_of

MOST_ADDRESSES = 4
_AGENT = "Afterthought"
_LEAST_SECONDS = 0.001
Trace = Callable[[str, dict[str, Any]], None]


class WebhookUnreachable(Transient):
    """Nothing answered in time, or not in HTTP."""

    code = "unreachable"


@dataclass(frozen=True)
class WebhookRequest:
    """What is posted, and where to."""

    url: str
    headers: dict[str, str]
    body: bytes


@dataclass
class WebhookClient:
    """Posts requests; the proxies of the environment are left alone, and redirects are not followed."""

    guard: AddressGuard
    seconds: float
    """The longest a delivery may take in all."""

    def __post_init__(self) -> None:
        # No connection is kept: under an address there may be several names, each with its own certificate.
        limits = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.Client(
            transport=httpx.HTTPTransport(limits=limits), trust_env=False, follow_redirects=False
        )

    def post(self, request: WebhookRequest) -> int:
        """Post and return the status of the answer. Raises: Invalid, WebhookUnreachable, Transient."""
        # One deadline for all of its addresses.
        until = time.monotonic() + self.seconds
        address = parse(request.url)
        failure: Exception | None = None
        for ip in self.guard.addresses(address)[:MOST_ADDRESSES]:
            try:
                # To the very address that was checked: the name, looked up once more, may lead elsewhere.
                return self._post(request, address, ip, until)
            except httpx.ConnectError as error:
                # Nothing was sent yet, so that the next address may be tried.
                failure = error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise WebhookUnreachable(f"It did not answer in HTTP ({type(error).__name__}).") from error
        raise WebhookUnreachable(f"Nothing could be reached there ({type(failure).__name__}).") from failure

    def close(self) -> None:
        self._client.close()

    def _post(self, request: WebhookRequest, address: Address, ip: IpAddress, until: float) -> int:
        host = f"[{ip}]" if ip.version == 6 else str(ip)
        left = max(until - time.monotonic(), _LEAST_SECONDS)
        with _deadline(left) as trace:
            built = self._client.build_request(
                "POST",
                f"{address.scheme}://{host}:{address.port}{address.target}",
                content=request.body,
                headers={"Host": address.authority, "User-Agent": _AGENT, "Connection": "close", **request.headers},
                timeout=left,
                # The certificate must be the name's, though the connection goes to the address.
                extensions={"sni_hostname": address.host, "trace": trace},
            )
            # The body of the answer is nobody's business, and is not read.
            response = self._client.send(built, stream=True)
            response.close()
            return response.status_code


@contextmanager
def _deadline(seconds: float) -> Iterator[Trace]:
    """Shut the connection down once ``seconds`` have passed, however many bytes still drip in.

    httpx limits each wait for bytes, never the whole.
    """
    # A duplicate: TLS takes the socket itself away.
    sockets: list[socket.socket] = []

    def shut() -> None:
        for one in sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it is closed already

    def trace(name: str, found: dict[str, Any]) -> None:
        if name == "connection.connect_tcp.complete":
            sockets.append(found["return_value"].get_extra_info("socket").dup())

    timer = threading.Timer(seconds, shut)
    timer.daemon = True
    timer.start()
    try:
        yield trace
    finally:
        timer.cancel()
        # It may be at it right now, and what it shuts down is closed below.
        timer.join()
        for one in sockets:
            one.close()


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


@dataclass
class DeliverWebhook:
    """The pipeline of ``deliver_webhook`` jobs."""

    database: Database
    clock: Clock
    client: WebhookClient
    metrics: Metrics
    settings: Settings

    def __call__(self, claim: Claim) -> JobState:
        """Carry out one job. Raises: RetryLater, Configuration, LeaseLost."""
        payload = payload_of(claim, WebhookPayload)
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
        except Invalid as error:
            raise self._failed(payload, DeliveryOutcome.FORBIDDEN, error) from error
        except Transient as error:
            raise self._failed(payload, DeliveryOutcome.UNREACHABLE, error) from error
        if 200 <= status < 300:
            return self._end(claim, payload, DeliveryOutcome.DELIVERED, status)
        if status == GONE:
            return self._end(claim, payload, DeliveryOutcome.GONE, status)
        refused = Transient(f"The webhook answered with status {status}.", code="undelivered")
        raise self._failed(payload, DeliveryOutcome.REFUSED, refused, status)

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
                body, message_id = (
                    trial_payload(claim.app_id, webhook.webhook_id, claim.created_at),
                    f"test_{claim.job_id}",
                )
            else:
                event = event_at(session, payload.position)
                if event is None or event.app_id != claim.app_id:
                    return Undeliverable("the event was erased, or is too old to be told")
                body, message_id = payloads_of(session, [event])[0], f"evt_{payload.position}_{webhook.webhook_id}"
            return SignedEvent(webhook.url, webhook.secret, message_id, orjson.dumps(body.as_fields()))

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
                    webhooks.disable(session, webhook, "it answered that it is gone (410)", now)
                elif webhooks.forget_failures(webhook):
                    make_sequence_due(session, webhook.app_id, WorkClass.DELIVERY, webhook.webhook_id, now)
        self._report(claim, outcome, status)
        return state

    def _failed(
        self, payload: WebhookPayload, outcome: DeliveryOutcome, error: AfterthoughtError, status: int | None = None
    ) -> RetryLater:
        """Record on the webhook how an attempt failed; the job's own row is written by ``attempt``."""
        now, disabled = self.clock.now(), False
        until, attempts = now, self.settings.webhook_max_attempts
        with self.database.write() as session:
            webhook = session.get(Webhook, payload.webhook_id, with_for_update=True)
            if webhook is not None:
                until = webhooks.note_failure(webhook, outcome, status, now, partial(retry_wait, self.settings))
                # What else is to be sent there waits for it.
                defer_sequence(session, webhook.app_id, WorkClass.DELIVERY, webhook.webhook_id, until, now)
                after = timedelta(hours=self.settings.webhook_disable_hours)
                disabled = webhooks.disable_if_failing(session, webhook, after, attempts, now)
        self.metrics.webhook_deliveries.labels(outcome).inc()
        get_logger().info("webhook_not_told", webhook_id=payload.webhook_id, outcome=outcome, status=status)
        if disabled:
            get_logger().warning("webhook_disabled", webhook_id=payload.webhook_id, outcome=outcome, status=status)
        return RetryLater(error.message, until, code=error.code)

    def _report(self, claim: Claim, outcome: DeliveryOutcome, status: int | None) -> None:
        self.metrics.webhook_deliveries.labels(outcome).inc()
        get_logger().info("webhook_told", job_id=claim.job_id, app_id=claim.app_id, outcome=outcome, status=status)


def build(container: WorkerContainer) -> DeliverWebhook:
    settings = container.settings
    client = WebhookClient(guard_of(settings.webhook_internal_hosts), settings.webhook_timeout_seconds)
    return DeliverWebhook(container.database, container.clock, client, container.metrics, settings)
