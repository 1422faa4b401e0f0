"""Sends calls and follows streams, for asyncio. Generated: `python -m ops.client`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TypeVar

import httpx

from afterthought_client.calls import Call
from afterthought_client.errors import ApiError, ConnectionFailed, error_of
from afterthought_client.events import EventDecoder, ServerSentEvent
from afterthought_client.retries import TRIED_AGAIN, RetryPolicy
from afterthought_client.transport import Transport, arguments, http_options, rewind

SelfT = TypeVar("SelfT", bound="AsyncTransport")
Content = bytes
"""A file as it is sent."""


class AsyncTransport(Transport):
    """Sends calls. Close it, or use it in a ``async with`` block."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        app: str | None = None,
        timeout: httpx.Timeout | float | None = None,
        retry: RetryPolicy | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(url, app, retry)
        self._http = httpx.AsyncClient(**http_options(self.url, token, timeout), transport=transport)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def __aenter__(self: SelfT) -> SelfT:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, call: Call) -> httpx.Response:
        """Send a call until it is answered. Raises: ApiError, ConnectionFailed."""
        failures, began = 0, time.monotonic()
        while True:
            refusal: ApiError | ConnectionFailed
            try:
                rewind(call)
                response = await self._http.request(call.method, call.path, **arguments(call))
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
            await asyncio.sleep(wait)

    async def _pieces(self, call: Call) -> AsyncIterator[bytes]:
        """Yield an answer piece by piece as it comes, which is too long to be held. Raises: as ``_send``."""
        refusal: ApiError | ConnectionFailed
        try:
            async with self._http.stream(call.method, call.path, **arguments(call)) as response:
                if response.is_success:
                    # The asynchronous half of this file has no `yield from`.
                    async for chunk in response.aiter_bytes():
                        yield chunk
                    return
                await response.aread()
                refusal = error_of(response)
        except httpx.RequestError as error:
            refusal = self._failed(1, error)
        raise refusal

    async def _follow(self, call: Call) -> AsyncIterator[ServerSentEvent]:
        """Yield the events of a stream, and go on after the last one where it breaks off. Raises: as ``_send``."""
        decoder, failures = EventDecoder(), 0
        while True:
            failures += 1
            refusal: ApiError | ConnectionFailed = ConnectionFailed(f"{self.url} ended the stream.")
            wait = self.retry.wait_seconds(failures)
            again = call.resumed(decoder.last_id)
            try:
                async with self._http.stream(again.method, again.path, **arguments(again)) as response:
                    if response.is_success:
                        async for chunk in response.aiter_bytes():
                            failures, wait = 0, self.retry.wait_seconds(1)
                            # The asynchronous half of this file has no `yield from`.
                            for event in decoder.feed(chunk):
                                yield event
                    else:
                        await response.aread()
                        refusal, wait = error_of(response), self.retry.wait_seconds(failures, response)
            except httpx.RequestError as error:
                refusal, wait = self._failed(failures, error), wait if isinstance(error, TRIED_AGAIN) else None
            if wait is None:
                raise refusal
            decoder.start_again()
            await asyncio.sleep(wait)
