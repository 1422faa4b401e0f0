"""HTTP transports that end a request at a fixed moment, however many bytes drip in, and a flood at once; and looks.

httpx limits each wait for bytes, never the whole; a model that streams slowly would pass any such limit. What the
request is for is left to the client that uses the transport. ``http`` is httpx, or httpx2, whose classes are the same
but not related.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx

# Whoever is there takes a connection at once, however long the answer takes.
_CONNECT_SECONDS = 5.0
_LEAST_SECONDS = 0.001
MOST_BYTES = 8 * 1024 * 1024
"""Far more than any answer takes; whoever sends more would fill the memory."""
GATEWAY_STATUSES = frozenset({502, 503, 504})
"""What a proxy says in the place of a server that is not there; some servers say 503 too, when they are busy."""


class TooMuch(Exception):
    """The answer is longer than any answer is."""


class LimitedTransport:
    """Wraps ``http``'s own transport; requests of one thread inside ``limit`` end together at its end."""

    http: ClassVar[ModuleType]
    """The module whose transport this is: its errors are the ones raised."""
    stream_type: ClassVar[type[EndingStream]]

    def __init__(self) -> None:
        self._inner = self.http.HTTPTransport()
        self._thread = threading.local()

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """End every request of this thread once ``seconds`` have passed, with one of ``http``'s transport errors."""
        self._thread.end = time.monotonic() + seconds
        try:
            yield
        finally:
            del self._thread.end

    def handle_request(self, request: Any) -> Any:
        end = getattr(self._thread, "end", None)
        if end is None:
            return self._inner.handle_request(request)
        left = max(end - time.monotonic(), _LEAST_SECONDS)
        request.extensions["timeout"] = {
            "connect": min(left, _CONNECT_SECONDS),
            "read": left,
            "write": left,
            "pool": left,
        }
        response = self._inner.handle_request(request)
        response.stream = self.stream_type(response, response.stream, end)
        return response

    def close(self) -> None:
        self._inner.close()


class EndingStream:
    """Shuts the socket down at the deadline, which wakes a reader that waits for bytes; closing it would not."""

    late: ClassVar[type[Exception]]

    def __init__(self, response: Any, stream: Any, end: float) -> None:
        self._stream = stream
        self._end = end
        self._socket = response.extensions["network_stream"].get_extra_info("socket")
        self._timer = threading.Timer(max(end - time.monotonic(), 0), self._shut)
        # So that a process that ends does not wait for the deadline of a call.
        self._timer.daemon = True
        self._timer.start()

    def _shut(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it is closed already

    def __iter__(self) -> Iterator[bytes]:
        received = 0
        for part in self._stream:
            received += len(part)
            if received > MOST_BYTES:
                raise TooMuch(f"More than {MOST_BYTES} bytes came.")
            yield part
            if time.monotonic() >= self._end:
                raise self.late("The deadline has passed.")

    def close(self) -> None:
        self._timer.cancel()
        self._stream.close()


class _Stream(EndingStream, httpx.SyncByteStream):
    late = httpx.ReadTimeout


class DeadlineTransport(LimitedTransport, httpx.BaseTransport):
    """The transport for clients of httpx."""

    http: ClassVar[ModuleType] = httpx
    stream_type = _Stream


def is_loopback(address: str) -> bool:
    """Whether the HTTP ``address`` leads to this machine without leaving it."""
    name = urlsplit(address).hostname or ""
    try:
        ip = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
    return ip.is_loopback or ip.is_unspecified


def is_private(address: str) -> bool:
    """Whether the HTTP ``address`` leads to this machine or one of its own network, as far as its name tells."""
    name = urlsplit(address).hostname or ""
    try:
        return not ipaddress.ip_address(name).is_global
    except ValueError:
        # A name without a dot is one of a container or of the network at hand.
        return "." not in name or name.endswith((".localhost", ".local", ".internal"))


def open_client(address: str, timeout_seconds: float, headers: Mapping[str, str] | None = None) -> httpx.Client:
    """Open a client for a look at a server; a proxy that the environment names does not lead to this machine itself."""
    trusted = not is_loopback(address)
    return httpx.Client(base_url=address, timeout=timeout_seconds, headers=headers, trust_env=trusted)


def is_there(address: str, path: str, timeout_seconds: float) -> bool:
    """Whether a server answers at ``address``, whatever it says; a proxy that answers for nobody does not count.

    Does not raise.
    """
    try:
        with open_client(address, timeout_seconds) as client:
            return client.get(path).status_code not in GATEWAY_STATUSES
    except (httpx.HTTPError, httpx.InvalidURL, OSError):
        return False
