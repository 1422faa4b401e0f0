"""Webhooks over each database: signed, told again until they take it, never sent where they may not go."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from http.server import BaseHTTPRequestHandler

import pytest
from sqlalchemy import insert, select

from loop.steps.publish_events import PublishEvents
from shared.apps.queries import uninstall
from shared.base.audit import Cause
from shared.base.errors import AfterthoughtError, RetryLater
from shared.base.subjects import Subject
from shared.contracts.jobs import JobKind, JobMessage, WebhookPayload, WorkClass
from shared.contracts.values import EventKind
from shared.erasure.erasing import purge_memories
from shared.events import webhooks
from shared.events.addresses import guard_of, parse
from shared.events.models import Event, Webhook
from shared.events.queries import get_webhook
from shared.jobs import control, dispatch, ownership
from shared.jobs.models import Job, JobState
from shared.jobs.ownership import Claim
from shared.jobs.queries import LOOK_AHEAD
from shared.memories.writing import NewMemory, insert_memory
from tests.support.house import House
from tests.support.receiver import Receiver, receiving
from worker.pipelines.deliver_webhook import DeliverWebhook, WebhookClient, WebhookRequest

SECONDS = 0.5
PATIENCE = 10.0
"""Where an answer is expected: a busy machine takes its time."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


class Watching(WebhookClient):
    """Calls nobody while a transaction is open."""

    def __init__(self, house: House, internal: str, seconds: float) -> None:
        super().__init__(guard_of(internal), seconds)
        self._house = house

    def post(self, request: WebhookRequest) -> int:
        assert not self._house.database.is_held_here
        return super().post(request)


class Post:
    """Publishes and delivers by hand what the loop and a worker would."""

    def __init__(self, house: House, internal: str = "127.0.0.1", seconds: float = PATIENCE) -> None:
        self.house = house
        self.told: list[int] = []
        self.publish = PublishEvents(
            house.database, house.clock, self.told.append, timedelta(hours=24), 3, house.metrics
        )
        self.client = Watching(house, internal, seconds)
        self.pipeline = DeliverWebhook(house.database, house.clock, self.client, house.metrics, house.settings)

    def add(self, url: str, *kinds: EventKind, app_id: str = "notes") -> Webhook:
        with self.house.database.write() as session:
            return webhooks.add(session, app_id, url, kinds, None, self.house.clock.now())

    def remember(self, content: str, app_id: str = "notes") -> int:
        with self.house.database.write() as session:
            cause = Cause("admin", "by hand", self.house.clock.now())
            return insert_memory(
                session, Subject(app_id), NewMemory(content=content, agent="by hand", epoch=0), cause, 10
            ).memory_id

    def claims(self) -> list[Claim]:
        while self.publish.run():
            pass
        return self.due()

    def due(self) -> list[Claim]:
        with self.house.database.write() as session:
            sent = dispatch.take_due(session, self.house.clock.now(), 100, 60, work_class=WorkClass.DELIVERY)
        claims = [self.house.claim(JobMessage(job_id=one.job_id, fence=one.fence)) for one in sent]
        return [claim for claim in claims if claim is not None]

    def attempt(self, claim: Claim) -> JobState:
        """Deliver as a worker would, recording what goes wrong."""
        try:
            return self.pipeline(claim)
        except AfterthoughtError as error:
            now = self.house.clock.now()
            with self.house.database.write() as session:
                until = error.until if isinstance(error, RetryLater) else None
                return ownership.fail(session, claim, error.message, now, self.house.settings, until=until)

    def webhook(self, webhook_id: str) -> Webhook:
        with self.house.database.read() as session:
            return get_webhook(session, "notes", webhook_id)

    def deliveries(self) -> list[Job]:
        return self.house.jobs(kind="deliver_webhook")


@pytest.fixture
def post(house: House) -> Iterator[Post]:
    post = Post(house)
    yield post
    post.client.close()


def test_an_event_is_delivered_signed_with_the_text_it_is_about(post: Post, receiver: Receiver) -> None:
    webhook = post.add(receiver.url)
    memory_id = post.remember("Likes tea.")
    [claim] = post.claims()
    assert post.attempt(claim) is JobState.DONE
    [got] = receiver.received
    assert got.is_signed_with(webhook.secret) and got.path == "/hook?a=b"
    assert got.headers["content-type"] == "application/json"
    assert got.message_id == f"evt_1_{webhook.webhook_id}"
    assert got.json == {
        "position": 1, "kind": "memory.created", "appId": "notes", "conversationId": None, "subject": str(memory_id),
        "details": {"change": "created"}, "at": "2026-03-01T12:00:00Z", "content": "Likes tea.",
    }  # fmt: skip
    found = post.webhook(webhook.webhook_id)
    assert (found.outcome, found.status) == ("delivered", 204)
    assert post.house.counted("webhook_deliveries_total", outcome="delivered") == 1


def test_a_webhook_is_told_only_of_the_kinds_and_the_app_it_asked_for(post: Post, receiver: Receiver) -> None:
    post.house.install("other")
    post.add(receiver.url, EventKind.MEMORIES_PURGED)
    post.remember("Likes tea.")
    post.remember("Likes coffee.", app_id="other")
    assert post.claims() == []
    with post.house.database.write() as session:
        purge_memories(session, "notes", "admin", post.house.clock.now())
    [claim] = post.claims()
    post.attempt(claim)
    assert [got.json["kind"] for got in receiver.received] == ["memories.purged"]
    assert "content" not in receiver.received[0].json


def test_however_much_waits_for_a_webhook_that_hangs_the_others_are_told(post: Post, receiver: Receiver) -> None:
    hung = post.add("http://127.0.0.1:9/")
    post.remember("Likes tea.")
    post.publish.run()
    [first] = post.deliveries()
    own = {"seq", "job_id", "dedupe"}
    row = {one.key: getattr(first, one.key) for one in Job.__mapper__.column_attrs if one.key not in own}
    with post.house.database.write() as session:
        alike = [row | {"job_id": f"job-{n}", "dedupe": f"alike-{n}"} for n in range(LOOK_AHEAD + 10)]
        session.execute(insert(Job), alike)
    [claim] = post.claims()
    assert claim.payload["webhookId"] == hung.webhook_id
    well = post.add(receiver.url)
    post.remember("one more")
    [claim] = post.claims()
    assert claim.payload["webhookId"] == well.webhook_id
    assert post.attempt(claim) is JobState.DONE


def test_while_a_webhook_fails_all_that_is_to_be_sent_there_waits_and_then_comes_in_order(
    post: Post, receiver: Receiver
) -> None:
    webhook = post.add(receiver.url)
    for number in range(3):
        post.remember(f"fact {number}")
    receiver.statuses = [503, 503]
    waits = []
    for _ in range(2):
        assert post.attempt(post.claims()[0]) is JobState.RETRYING
        post.remember("one more meanwhile")
        assert post.claims() == [], "one attempt for the whole webhook, not one an event"
        found = post.webhook(webhook.webhook_id)
        assert found.retry_at is not None
        waits.append((found.retry_at - post.house.clock.now()).total_seconds())
        post.house.clock.advance(waits[-1])
    assert waits[0] < waits[1] and found.failures == 2
    while claims := post.claims():
        assert post.attempt(claims[0]) is JobState.DONE
    assert [got.json["position"] for got in receiver.received] == [1, 1, 1, 2, 3, 4, 5]
    found = post.webhook(webhook.webhook_id)
    assert (found.failures, found.failing_since, found.retry_at) == (0, None, None)


def test_what_waits_for_a_webhook_goes_on_at_once_when_a_trial_or_one_delivery_succeeds(
    post: Post, receiver: Receiver
) -> None:
    webhook = post.add(receiver.url)
    post.remember("Likes tea.")
    receiver.statuses = [503]
    post.attempt(post.claims()[0])
    with post.house.database.write() as session:
        payload = WebhookPayload(webhook_id=webhook.webhook_id, position=None)
        trial = dispatch.NewJob(JobKind.DELIVER_WEBHOOK, "notes", "trial", payload=payload, sequence=webhook.webhook_id)
        dispatch.enqueue(session, trial, post.house.clock.now())
    assert post.attempt(post.due()[0]) is JobState.DONE
    assert post.attempt(post.due()[0]) is JobState.DONE
    assert [got.json["position"] for got in receiver.received] == [1, None, 1]


def test_a_webhook_that_took_nothing_for_a_day_is_disabled_and_that_is_an_event(post: Post, receiver: Receiver) -> None:
    well = post.add(receiver.url, EventKind.WEBHOOK_DISABLED)
    webhook = post.add(f"http://127.0.0.1:{receiver.port}/away")
    attempts = 0

    def refuse(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(503 if handler.path == "/away" else 204)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    receiver.behave = refuse
    for number in range(20):
        post.remember(f"fact {number}")
    while (found := post.webhook(webhook.webhook_id)).disabled_at is None:
        [claim] = post.claims()
        post.attempt(claim)
        attempts += 1
        post.house.clock.advance(7200)
        assert attempts < 20
    assert found.failing_since is not None
    assert found.disabled_at - found.failing_since >= timedelta(days=1) and found.failures == attempts
    assert found.disabled_why is not None and "it took nothing since 2026-03-01 12:00 UTC" in found.disabled_why
    assert "refused, status 503" in found.disabled_why
    states = []
    while claims := post.claims():
        states += [post.attempt(claim) for claim in claims]
    assert set(states) == {JobState.NOTHING, JobState.DONE}, "what was to be sent there is dropped"
    told = [got.json for got in receiver.received if got.path != "/away"]
    assert [(one["kind"], one["subject"]) for one in told] == [("webhook.disabled", webhook.webhook_id)]
    assert told[0]["details"] == {"failures": attempts, "status": 503}
    assert post.webhook(well.webhook_id).disabled_at is None


def test_a_webhook_that_cannot_take_one_event_is_not_disabled_for_it(post: Post, receiver: Receiver) -> None:
    webhook = post.add(receiver.url)
    post.remember("Likes tea.")
    receiver.statuses = [503] * 4
    for _ in range(3):
        post.attempt(post.claims()[0])
        post.house.clock.advance(90_000)
    post.remember("Likes coffee.")
    assert post.attempt(post.claims()[0]) is JobState.RETRYING
    assert post.webhook(webhook.webhook_id).disabled_at is None


@pytest.mark.parametrize("status", [503, 400, 301])
def test_whatever_is_no_success_is_tried_again_under_the_same_id(post: Post, receiver: Receiver, status: int) -> None:
    webhook = post.add(receiver.url)
    post.remember("Likes tea.")
    receiver.statuses = [status, status]
    states = []
    for _ in range(3):
        [claim] = post.claims()
        states.append(post.attempt(claim))
        post.house.clock.advance(10)
    assert states == [JobState.RETRYING, JobState.RETRYING, JobState.DONE]
    assert [got.path for got in receiver.received] == ["/hook?a=b"] * 3, "no redirect is followed"
    assert {got.message_id for got in receiver.received} == {f"evt_1_{webhook.webhook_id}"}
    assert len({got.headers["webhook-timestamp"] for got in receiver.received}) == 3
    assert all(got.is_signed_with(webhook.secret) for got in receiver.received)


def test_an_event_is_kept_until_its_deliveries_are_over_and_can_not_be_replayed(post: Post, receiver: Receiver) -> None:
    house = post.house
    post.add(receiver.url)
    post.remember("Likes tea.")
    receiver.statuses = [503] * 3
    for _ in range(3):
        post.attempt(post.claims()[0])
        house.clock.advance(10)
    house.clock.advance(25 * 3600)
    assert Post(house).claims() == [] and kept_events(house) == [1]
    [dead] = post.deliveries()
    assert dead.state == JobState.DEAD and "status 503" in (dead.reason or "")
    with house.database.write() as session:
        control.replay(session, dead.job_id, 7, house.clock.now())
    assert post.attempt(Post(house).claims()[0]) is JobState.DONE
    assert Post(house).claims() == [] and kept_events(house) == []


def kept_events(house: House) -> list[int | None]:
    with house.database.read() as session:
        return list(session.scalars(select(Event.position)))


def test_a_webhook_that_is_gone_is_told_nothing_more(post: Post, receiver: Receiver) -> None:
    webhook = post.add(receiver.url)
    post.remember("Likes tea.")
    receiver.statuses = [410]
    assert post.attempt(post.claims()[0]) is JobState.NOTHING
    found = post.webhook(webhook.webhook_id)
    assert found.disabled_at is not None and "410" in (found.disabled_why or "") and found.outcome == "gone"
    post.remember("Likes coffee.")
    assert post.claims() == [] and len(receiver.received) == 1


def linger(_: BaseHTTPRequestHandler) -> None:
    threading.Event().wait(SECONDS * 3)


def drip(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    with contextlib.suppress(OSError):
        for i in range(200):
            handler.wfile.write(f"X-{i}: y\r\n".encode())
            handler.wfile.flush()
            threading.Event().wait(0.05)


def nonsense(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"220 mail.example ESMTP\r\n")


@pytest.mark.parametrize("behave", [linger, drip, nonsense], ids=["never answers", "drips", "is no web server"])
def test_an_answer_is_waited_for_only_so_long(house: House, receiver: Receiver, behave: object) -> None:
    post = Post(house, seconds=SECONDS)
    webhook = post.add(receiver.url)
    post.remember("Likes tea.")
    receiver.behave = behave  # type: ignore[assignment]
    [claim] = post.claims()
    begun = time.monotonic()
    with pytest.raises(RetryLater):
        post.pipeline(claim)
    assert time.monotonic() - begun < 60
    assert post.webhook(webhook.webhook_id).outcome == "unreachable"


def test_the_body_of_an_answer_is_not_read(post: Post, receiver: Receiver) -> None:
    def flood(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        with contextlib.suppress(OSError):
            while True:
                handler.wfile.write(b"x" * 65536)

    receiver.behave = flood
    post.add(receiver.url)
    post.remember("Likes tea.")
    assert post.attempt(post.claims()[0]) is JobState.DONE


def test_a_name_that_leads_inside_by_the_time_of_the_delivery_is_not_called(house: House, receiver: Receiver) -> None:
    answers: list[Sequence[str]] = [["8.8.8.8"], ["127.0.0.1"]]
    guard = guard_of("", lambda host, port: answers.pop(0))
    address = parse(f"http://rebinding.example:{receiver.port}/")
    assert guard.addresses(address), "as it was when the webhook was added"
    post = Post(house)
    post.pipeline = DeliverWebhook(
        house.database, house.clock, WebhookClient(guard, SECONDS), house.metrics, house.settings
    )
    webhook = post.add(f"http://{address.authority}/")
    post.remember("Likes tea.")
    with pytest.raises(RetryLater, match="not public"):
        post.pipeline(post.claims()[0])
    assert receiver.received == [] and post.webhook(webhook.webhook_id).outcome == "forbidden"


def test_a_name_is_looked_up_once_and_its_checked_address_is_called(receiver: Receiver) -> None:
    asked = []

    def resolve(host: str, port: int) -> Sequence[str]:
        asked.append((host, port))
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

    client = WebhookClient(guard_of("127.0.0.1", resolve), SECONDS)
    url = f"http://hooks.example:{receiver.port}/x"
    assert client.post(WebhookRequest(url, {}, b"{}")) == 204
    assert asked == [("hooks.example", receiver.port)]
    assert receiver.received[0].headers["host"] == f"hooks.example:{receiver.port}"
    client.close()


def test_the_proxies_of_the_environment_are_left_alone(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    client = WebhookClient(guard_of("127.0.0.1"), SECONDS)
    assert client.post(WebhookRequest(receiver.url, {}, b"{}")) == 204
    client.close()


@pytest.mark.parametrize("what", ["removed", "disabled", "app uninstalled"])
def test_a_delivery_that_has_become_pointless_ends_and_says_why(post: Post, receiver: Receiver, what: str) -> None:
    webhook = post.add(receiver.url)
    post.remember("Likes tea.")
    [claim] = post.claims()
    house = post.house
    with house.database.write() as session:
        found = session.get(Webhook, webhook.webhook_id)
        if what == "removed":
            session.delete(found)
        elif what == "disabled":
            assert found is not None
            webhooks.disable(session, found, "by admin", house.clock.now())
        else:
            uninstall(session, "notes", house.clock.now())
    assert post.attempt(claim) is JobState.NOTHING and receiver.received == []
    [job] = post.deliveries()
    assert job.reason and house.counted("webhook_deliveries_total", outcome="dropped") == 1
