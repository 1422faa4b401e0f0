"""Certificates read once for all clients of a process: to read them takes 45 ms, and no test speaks to anybody by TLS.

Each HTTP client that is made reads them anew, whatever it asks; some tests make a client for every look at a service.
"""

from __future__ import annotations

import ssl
from functools import cache

import httpcore2


def share_certificates() -> None:
    """Let all HTTP clients of this process share what they verify servers with, from now on."""
    ssl.create_default_context = cache(ssl.create_default_context)
    httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)
