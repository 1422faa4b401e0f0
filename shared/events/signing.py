"""Signing what is sent to a webhook, so that its owner knows who sent it and when. Source: Standard Webhooks 1.0."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import datetime

from shared.events.webhooks import key_of


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
