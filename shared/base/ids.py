"""Identifiers that sort by the time they were made."""

import secrets
from datetime import datetime


def new_id(prefix: str, at: datetime) -> str:
    """Return ``prefix_`` and 28 hex digits: 48 bits of milliseconds, then 64 random bits."""
    return f"{prefix}_{int(at.timestamp() * 1000):012x}{secrets.token_hex(8)}"


def new_token() -> str:
    """Return a bearer token with 256 bits of entropy."""
    return f"aft_{secrets.token_urlsafe(32)}"
