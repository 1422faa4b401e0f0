"""The rules of an app's webhooks: how many, with which secrets, and what disables one.

Which addresses may be called is in ``shared.events.addresses``; calling them is the worker's.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from shared.base.errors import Invalid, Limit
from shared.base.ids import new_id
from shared.contracts.values import DeliveryOutcome, EventKind
from shared.events import queries
from shared.events.models import Webhook
from shared.events.recording import record

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
        # Called for its error alone.
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


def disable(session: Session, webhook: Webhook, why: str, now: datetime) -> None:
    """Have a webhook told of nothing more, and its app told of that."""
    if webhook.disabled_at is not None:
        return
    webhook.disabled_at, webhook.disabled_why = now, why
    record(
        session,
        EventKind.WEBHOOK_DISABLED,
        webhook.app_id,
        now,
        subject=webhook.webhook_id,
        failures=webhook.failures or None,
        status=webhook.status,
    )


def note(webhook: Webhook, outcome: DeliveryOutcome, status: int | None, now: datetime) -> None:
    """Keep how the last delivery to it went."""
    webhook.tried_at, webhook.outcome, webhook.status = now, outcome, status


def forget_failures(webhook: Webhook) -> bool:
    """Have what is to be sent to a webhook wait no more; return whether it did, as its jobs are to be made due then."""
    was_failing = webhook.failures > 0
    webhook.failures, webhook.failing_since, webhook.retry_at = 0, None, None
    return was_failing


def note_failure(
    webhook: Webhook, outcome: DeliveryOutcome, status: int | None, now: datetime, wait: Callable[[int], timedelta]
) -> datetime:
    """Keep that a delivery failed, and return till when all that is to be sent there waits.

    ``wait``: how long to wait after so many failures in a row.
    """
    note(webhook, outcome, status, now)
    webhook.failures += 1
    webhook.failing_since = webhook.failing_since or now
    webhook.retry_at = now + wait(webhook.failures)
    return webhook.retry_at


def disable_if_failing(session: Session, webhook: Webhook, after: timedelta, attempts: int, now: datetime) -> bool:
    """Disable a webhook that took nothing for so long; return whether it is so.

    More than ``attempts`` must have failed: one event that it cannot take says nothing of the others.
    """
    since = webhook.failing_since
    if since is None or now - since < after or webhook.failures <= attempts:
        return False
    why = f"it took nothing since {since:%Y-%m-%d %H:%M} UTC, in {webhook.failures} attempts ({webhook.outcome}"
    disable(session, webhook, why + (")" if webhook.status is None else f", status {webhook.status})"), now)
    return True


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
