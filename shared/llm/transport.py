"""An HTTP transport that ends a request at a fixed moment, however many bytes still drip in, and a flood at once.

httpx limits each wait for bytes, never the whole; a model that streams slowly would pass any such limit. What the
request is for is left to the client that uses the transport.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx

_CONNECT_SECONDS = 5.0
_LEAST_SECONDS = 0.001
MOST_BYTES = 8 * 1024 * 1024
"""Far more than any answer takes; whoever sends more would fill the memory."""


class TooMuch(httpx.TransportError):
    """The answer is longer than any answer is."""


class DeadlineTransport(httpx.BaseTransport):
    """Wraps httpx's own transport; requests of one thread inside ``limit`` end together at its end."""

    def __init__(self) -> None:
        self._inner = httpx.HTTPTransport()
        self._thread = threading.local()

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """End every request of this thread once ``seconds`` have passed, with ``httpx.TransportError``."""
        self._thread.end = time.monotonic() + seconds
        try:
            yield
        finally:
            del self._thread.end

    def handle_request(self, request: httpx.Request) -> httpx.Response:
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
        assert isinstance(response.stream, httpx.SyncByteStream)
        response.stream = _Ending(response, response.stream, end)
        return response

    def close(self) -> None:
        self._inner.close()


class _Ending(httpx.SyncByteStream):
    """Shuts the socket down at the deadline, which wakes a reader that waits for bytes; closing it would not."""

    def __init__(self, response: httpx.Response, stream: httpx.SyncByteStream, end: float) -> None:
        self._stream = stream
        self._end = end
        self._socket = response.extensions["network_stream"].get_extra_info("socket")
        self._timer = threading.Timer(max(end - time.monotonic(), 0), self._shut)
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
                raise httpx.ReadTimeout("The deadline has passed.")

    def close(self) -> None:
        self._timer.cancel()
        self._stream.close()


def is_loopback(address: str) -> bool:
    """Whether the HTTP ``address`` leads to this machine without leaving it."""
    name = urlsplit(address).hostname or ""
    try:
        ip = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
    return ip.is_loopback or ip.is_unspecified
