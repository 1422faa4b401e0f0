"""The rules of an app's webhooks: how many, with which secrets, and what disables one.

Which addresses may be called is in ``shared.events.addresses``; calling them is the worker's.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from shared.contracts.events import DeliveryOutcome, EventKind
from shared.errors import Invalid, Limit
from shared.events import queries
from shared.events.models import Webhook
from shared.ids import new_id

MOST_WEBHOOKS = 10
SECRET_PREFIX = "whsec_"
SECRET_BYTES = (24, 64)
"""Least and most. Source: Standard Webhooks."""


def add(
    session: Session, app_id: str, url: str, kinds: Sequence[EventKind], secret: str | None, now: datetime
) -> Webhook:
    """Add a webhook to a locked app; without a secret it is given one. Raises: Invalid, Limit."""
    if queries.count_webhooks(session, app_id) >= MOST_WEBHOOKS:
        raise Limit(f"App {app_id} has {MOST_WEBHOOKS} webhooks, and that is the most; delete one first.")
    if secret is not None:
        key_of(secret)
    webhook = Webhook(
        webhook_id=new_id("wh", now),
        app_id=app_id,
        url=url,
        secret=secret or new_secret(),
        kinds=[kind.value for kind in dict.fromkeys(kinds)],
        created_at=now,
    )
    session.add(webhook)
    session.flush()
    return webhook


def enable(webhook: Webhook) -> None:
    """Have a webhook told of what happens from now on."""
    webhook.disabled_at = webhook.disabled_why = None


def disable(webhook: Webhook, why: str, now: datetime) -> None:
    """Have a webhook told of nothing more."""
    if webhook.disabled_at is None:
        webhook.disabled_at, webhook.disabled_why = now, why


def note(webhook: Webhook, outcome: DeliveryOutcome, status: int | None, now: datetime) -> None:
    """Keep how the last delivery to it went."""
    webhook.tried_at, webhook.outcome, webhook.status = now, outcome, status


def new_secret() -> str:
    """Return a secret with 256 bits of entropy, in the form of Standard Webhooks."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def key_of(secret: str) -> bytes:
    """Return the bytes a secret stands for. Raises: Invalid."""
    least, most = SECRET_BYTES
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(SECRET_PREFIX) or not least <= len(key) <= most:
        raise Invalid(f"secret: it must be {SECRET_PREFIX} and {least} to {most} bytes in base64, or left out.")
    return key


def signed_headers(secret: str, message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """Return the headers that name, date and sign a body."""
    seconds = str(int(at.timestamp()))
    signed = b".".join((message_id.encode(), seconds.encode(), body))
    digest = hmac.new(key_of(secret), signed, hashlib.sha256).digest()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": seconds,
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
