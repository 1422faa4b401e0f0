"""Which addresses are this machine's own, so that a proxy of the environment stays out of the way."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(address: str) -> bool:
    """Whether the HTTP ``address`` leads to this machine without leaving it."""
    name = urlsplit(address).hostname or ""
    try:
        ip = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
    return ip.is_loopback or ip.is_unspecified
