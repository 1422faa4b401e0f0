"""Webhooks."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from loop.api.schemas.wire import Answer, Body, Flag
from shared.contracts.events import DeliveryOutcome, EventKind
from shared.events.models import Webhook

Url = Annotated[str, Field(min_length=8, max_length=2000, examples=["https://example.org/hooks/afterthought"])]
Kinds = Annotated[list[EventKind], Field(max_length=len(EventKind), description="Kinds of events; empty means all.")]
Secret = Annotated[
    str, Field(max_length=100, description="whsec_ and 24 to 64 bytes in base64; when left out, one is made.")
]


class AddWebhook(Body):
    """Adds a webhook."""

    url: Url
    kinds: Kinds = Field(default_factory=list)
    secret: Secret | None = None


class ChangeWebhook(Body):
    """Changes a webhook; what is left out stays."""

    url: Url | None = None
    kinds: Kinds | None = None
    enabled: Flag | None = None


class WebhookAnswer(Answer):
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

    @classmethod
    def of(cls, webhook: Webhook) -> WebhookAnswer:
        """Return a webhook as it goes over the wire."""
        return cls(
            webhook_id=webhook.webhook_id,
            app_id=webhook.app_id,
            url=webhook.url,
            kinds=webhook.kinds,
            enabled=webhook.disabled_at is None,
            disabled_at=webhook.disabled_at,
            disabled_why=webhook.disabled_why,
            created_at=webhook.created_at,
            tried_at=webhook.tried_at,
            outcome=None if webhook.outcome is None else DeliveryOutcome(webhook.outcome),
            status=webhook.status,
        )


class AddedWebhook(WebhookAnswer):
    """A new webhook; its secret is shown this once."""

    secret: str | None = Field(description="Signs what is sent; null when this answer is a repetition.")


class WebhookList(Answer):
    """An app's webhooks, oldest first."""

    webhooks: list[WebhookAnswer]
    cursor: str | None
