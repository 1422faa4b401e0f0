"""Sends calls and follows streams, and tries again. ``async_transport.py`` is written from this file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import TracebackType
from typing import BinaryIO, TypeVar

import httpx

from afterthought_client.calls import Call
from afterthought_client.errors import ApiError, ConnectionFailed, error_of
from afterthought_client.events import EventDecoder, ServerSentEvent
from afterthought_client.retries import TRIED_AGAIN, RetryPolicy
from afterthought_client.transport import Transport, arguments, http_options, rewind

SelfT = TypeVar("SelfT", bound="SyncTransport")
Content = bytes | BinaryIO
"""A file as it is sent; one that is open is read meanwhile."""


class SyncTransport(Transport):
    """Sends calls. Close it, or use it in a ``with`` block."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        app: str | None = None,
        timeout: httpx.Timeout | float | None = None,
        retry: RetryPolicy | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(url, app, retry)
        self._http = httpx.Client(**http_options(self.url, token, timeout), transport=transport)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self: SelfT) -> SelfT:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _send(self, call: Call) -> httpx.Response:
        """Send a call until it is answered. Raises: ApiError, ConnectionFailed."""
        failures, began = 0, time.monotonic()
        while True:
            refusal: ApiError | ConnectionFailed
            try:
                rewind(call)
                response = self._http.request(call.method, call.path, **arguments(call))
                if response.is_success:
                    return response
                failures += 1
                elapsed = time.monotonic() - began
                refusal, wait = error_of(response), self.retry.wait_seconds(failures, response, elapsed)
            except httpx.RequestError as error:
                failures += 1
                refusal = self._failed(failures, error)
                elapsed = time.monotonic() - began
                wait = self.retry.wait_seconds(failures, None, elapsed) if isinstance(error, TRIED_AGAIN) else None
            # Outside of the handler, so that it is not chained to an error whose request holds the token.
            if wait is None:
                raise refusal
            time.sleep(wait)

    def _pieces(self, call: Call) -> Iterator[bytes]:
        """Yield an answer piece by piece as it comes, which is too long to be held. Raises: as ``_send``."""
        refusal: ApiError | ConnectionFailed
        try:
            with self._http.stream(call.method, call.path, **arguments(call)) as response:
                if response.is_success:
                    # The asynchronous half of this file has no `yield from`.
                    for chunk in response.iter_bytes():  # noqa: UP028
                        yield chunk
                    return
                response.read()
                refusal = error_of(response)
        except httpx.RequestError as error:
            refusal = self._failed(1, error)
        raise refusal

    def _follow(self, call: Call) -> Iterator[ServerSentEvent]:
        """Yield the events of a stream, and go on after the last one where it breaks off. Raises: as ``_send``."""
        decoder, failures = EventDecoder(), 0
        while True:
            failures += 1
            refusal: ApiError | ConnectionFailed = ConnectionFailed(f"{self.url} ended the stream.")
            wait = self.retry.wait_seconds(failures)
            again = call.resumed(decoder.last_id)
            try:
                with self._http.stream(again.method, again.path, **arguments(again)) as response:
                    if response.is_success:
                        for chunk in response.iter_bytes():
                            failures, wait = 0, self.retry.wait_seconds(1)
                            # The asynchronous half of this file has no `yield from`.
                            for event in decoder.feed(chunk):  # noqa: UP028
                                yield event
                    else:
                        response.read()
                        refusal, wait = error_of(response), self.retry.wait_seconds(failures, response)
            except httpx.RequestError as error:
                refusal, wait = self._failed(failures, error), wait if isinstance(error, TRIED_AGAIN) else None
            if wait is None:
                raise refusal
            decoder.start_again()
            time.sleep(wait)
