"""Sends calls and follows streams, and tries again. ``async_transport.py`` is written from this file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import TracebackType
from typing import TypeVar

import httpx

from afterthought_client.calls import Call
from afterthought_client.errors import ApiError, ConnectionFailed, error_of
from afterthought_client.events import EventDecoder, ServerSentEvent
from afterthought_client.retries import TRIED_AGAIN, RetryPolicy
from afterthought_client.transport import Transport, arguments, http_options

SelfT = TypeVar("SelfT", bound="SyncTransport")


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
        failures = 0
        while True:
            refusal: ApiError | ConnectionFailed
            try:
                response = self._http.request(call.method, call.path, **arguments(call))
                if response.is_success:
                    return response
                failures += 1
                refusal, wait = error_of(response), self.retry.wait_seconds(failures, response)
            except httpx.RequestError as error:
                failures += 1
                refusal = self._failed(failures, error)
                wait = self.retry.wait_seconds(failures) if isinstance(error, TRIED_AGAIN) else None
            # Outside of the handler, so that it is not chained to an error whose request holds the token.
            if wait is None:
                raise refusal
            time.sleep(wait)

    def _follow(self, call: Call) -> Iterator[ServerSentEvent]:
        """Yield the events of a stream, and go on after the last one where it breaks off. Raises: as ``_send``."""
        decoder, failures = EventDecoder(), 0
        while True:
            failures += 1
            refusal: ApiError | ConnectionFailed = ConnectionFailed(f"{self.url} ended each stream as it began.")
            wait = self.retry.wait_seconds(failures)
            again = call.resumed(decoder.last_id)
            try:
                with self._http.stream(again.method, again.path, **arguments(again)) as response:
                    if response.is_success:
                        for chunk in response.iter_bytes():
                            failures, wait = 0, self.retry.first_wait_seconds
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
