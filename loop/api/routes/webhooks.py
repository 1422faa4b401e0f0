"""Webhooks: addresses of an app's own that are told of its events."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import Field
from sqlalchemy.orm import Session

from loop.api.dependencies import AppInPath, PageOf50, Reads, RequestContext, Writes, as_write
from loop.api.policy import OF_APP, under
from loop.api.routes.jobs import JobAnswer
from loop.api.schema import Flag, RequestModel, ResponseModel, Success
from loop.api.writes import WriteResult
from shared.apps.queries import get_app, get_installed_app, lock_app
from shared.base.errors import Conflict, Invalid, Transient
from shared.base.ids import new_id
from shared.contracts.jobs import JobKind, WebhookPayload, WorkClass
from shared.contracts.values import ID_PATTERN, DeliveryOutcome, EventKind
from shared.events import queries, webhooks
from shared.events.addresses import guard_of, parse
from shared.events.models import Webhook
from shared.jobs.dispatch import NewJob, enqueue, make_sequence_due

Url = Annotated[str, Field(min_length=8, max_length=2000, examples=["https://example.org/hooks/afterthought"])]
Kinds = Annotated[list[EventKind], Field(max_length=len(EventKind), description="Kinds of events; empty means all.")]
Secret = Annotated[
    str, Field(max_length=100, description="whsec_ and 24 to 64 bytes in base64; when left out, one is made.")
]


class AddWebhook(RequestModel):
    """Adds a webhook."""

    url: Url
    kinds: Kinds = Field(default_factory=list)
    secret: Secret | None = None


class ChangeWebhook(RequestModel):
    """Changes a webhook; what is left out stays."""

    url: Url | None = None
    kinds: Kinds | None = None
    enabled: Flag | None = None


class WebhookAnswer(ResponseModel):
    """A webhook, without its secret."""

    webhook_id: str
    app_id: str
    url: str
    kinds: list[str]
    enabled: bool
    disabled_at: datetime | None
    disabled_why: str | None
    created_at: datetime
    tried_at: datetime | None = Field(description="When something was last sent there.")
    outcome: DeliveryOutcome | None = Field(description="How that went.")
    status: int | None = Field(description="The HTTP status it answered, if it answered.")
    failures: int = Field(description="Attempts that failed since it last took something.")
    failing_since: datetime | None = Field(
        description="When the first of them was; after a day (AFTERTHOUGHT_WEBHOOK_DISABLE_HOURS) it is disabled."
    )
    retry_at: datetime | None = Field(description="When it is tried again; what is to be sent there waits till then.")

    @classmethod
    def of(cls, webhook: Webhook) -> WebhookAnswer:
        return cls.from_row(webhook, enabled=webhook.disabled_at is None)


class AddedWebhook(WebhookAnswer):
    """A new webhook; its secret is shown this once."""

    secret: str | None = Field(description="Signs what is sent; null when this answer is a repetition.")


class WebhookList(ResponseModel):
    """An app's webhooks, oldest first."""

    webhooks: list[WebhookAnswer]
    cursor: str | None


router = APIRouter(prefix="/apps/{appId}/webhooks", tags=["Webhooks"], route_class=under(OF_APP))
WebhookInPath = Annotated[str, Path(alias="webhookId", pattern=ID_PATTERN)]


@router.post("", status_code=201, response_model=AddedWebhook, summary="Add a webhook")
def add_webhook(ctx: Writes, app_id: AppInPath, body: AddWebhook) -> Response:
    """Have an address told of an app's events. The secret that signs what is sent is shown this once."""
    _refuse_app(ctx, app_id)
    _refuse_address(ctx, body.url)

    def work(session: Session) -> WriteResult:
        lock_app(session, app_id)
        get_installed_app(session, app_id)
        webhook = webhooks.add(session, app_id, body.url, body.kinds, body.secret, ctx.now())
        shown = WebhookAnswer.of(webhook).model_dump()
        return WriteResult(
            AddedWebhook(**shown, secret=webhook.secret), 201, about=app_id, kept=AddedWebhook(**shown, secret=None)
        )

    return ctx.write(work)


@router.get("", summary="List webhooks")
def list_webhooks(ctx: Reads, page: PageOf50, app_id: AppInPath) -> WebhookList:
    """List an app's webhooks, the disabled ones too, and how the last delivery to each of them went."""
    with ctx.read() as session:
        get_app(session, app_id)
        rows, following = page.part("webhooks", queries.webhooks_of(session, app_id))
        return WebhookList(webhooks=[WebhookAnswer.of(one) for one in rows], cursor=following)


@router.get("/{webhookId}", summary="Show a webhook")
def show_webhook(ctx: Reads, app_id: AppInPath, webhook_id: WebhookInPath) -> WebhookAnswer:
    """Show a webhook and how the last delivery to it went."""
    with ctx.read() as session:
        return WebhookAnswer.of(queries.get_webhook(session, app_id, webhook_id))


@router.patch("/{webhookId}", response_model=WebhookAnswer, summary="Change a webhook")
def change_webhook(ctx: Writes, app_id: AppInPath, webhook_id: WebhookInPath, body: ChangeWebhook) -> Response:
    """Change what a webhook is told and where, disable it, or enable it again."""
    if body.url is not None:
        _refuse_app(ctx, app_id)
        _refuse_address(ctx, body.url)

    def work(session: Session) -> WriteResult:
        lock_app(session, app_id)
        # Locked, as a delivery may be writing down how it went.
        webhook = queries.get_webhook(session, app_id, webhook_id, lock=True)
        if body.url is not None and body.url != webhook.url:
            webhook.url = body.url
            _resume(session, webhook, ctx.now())
        if body.kinds is not None:
            webhook.kinds = [kind.value for kind in dict.fromkeys(body.kinds)]
        if body.enabled:
            webhook.disabled_at = webhook.disabled_why = None
            _resume(session, webhook, ctx.now())
        elif body.enabled is False:
            webhooks.disable(session, webhook, f"by {ctx.caller.name}", ctx.now())
        return WriteResult(WebhookAnswer.of(webhook), about=app_id)

    return ctx.write(work)


@router.delete("/{webhookId}", response_model=Success, summary="Remove a webhook")
@as_write
def remove_webhook(ctx: Writes, session: Session, app_id: AppInPath, webhook_id: WebhookInPath) -> WriteResult:
    """Remove a webhook with its secret; what was to be sent there is not."""
    lock_app(session, app_id)
    session.delete(queries.get_webhook(session, app_id, webhook_id))
    return WriteResult(Success(), about=app_id)


@router.post("/{webhookId}/test", status_code=202, response_model=JobAnswer, summary="Try a webhook")
@as_write
def try_webhook(ctx: Writes, session: Session, app_id: AppInPath, webhook_id: WebhookInPath) -> WriteResult:
    """Send an event of kind webhook.test now; the job says how it went."""
    lock_app(session, app_id)
    webhook = queries.get_webhook(session, app_id, webhook_id)
    if webhook.disabled_at is not None:
        raise Conflict(f"Webhook {webhook_id} is disabled ({webhook.disabled_why}); enable it first.")
    new_job = NewJob(
        kind=JobKind.DELIVER_WEBHOOK,
        app_id=app_id,
        dedupe=f"webhook:{webhook_id}:{new_id('test', ctx.now())}",
        max_attempts=1,
        payload=WebhookPayload(webhook_id=webhook_id, position=None),
        sequence=webhook_id,
    )
    job = enqueue(session, new_job, ctx.now())
    return WriteResult(JobAnswer.of(job), 202, about=app_id, then=ctx.loop.ticker.wake)


def _resume(session: Session, webhook: Webhook, now: datetime) -> None:
    """Have what waits for a webhook sent at once, whatever failed before."""
    if webhooks.forget_failures(webhook):
        make_sequence_due(session, webhook.app_id, WorkClass.DELIVERY, webhook.webhook_id, now)


def _refuse_app(ctx: RequestContext, app_id: str) -> None:
    """Raises: NotFound, Conflict, before the address of a webhook is looked at."""
    with ctx.read() as session:
        get_installed_app(session, app_id)


def _refuse_address(ctx: RequestContext, url: str) -> None:
    """Raises: Invalid, when a webhook may not be called; with no transaction open, for names are looked up."""
    address = parse(url)
    try:
        guard_of(ctx.loop.settings.webhook_internal_hosts, ctx.loop.resolve).addresses(address)
    except Transient:
        raise Invalid(
            f"url: the host {address.host} could not be resolved from here. Look at its spelling and DNS entry, and "
            "ask again once it has an address.",
            code="unresolvable_host",
        ) from None
