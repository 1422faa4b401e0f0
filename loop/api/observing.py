"""Counts and times every request, and is the last to see an error that nobody expected.

Labels are route templates, methods we serve and classes of status, so a stranger cannot make new series.
"""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loop.api.errors import internal
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics

UNMATCHED = "unmatched"
_TAKES_TIME = "takes_time"
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})


class Observing:
    """ASGI middleware; the outermost."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._log = get_logger()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 0

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watch)
        # The top of a request: whatever nobody expected is told with its traceback, and the server goes on.
        except Exception:
            self._log.exception("request_failed", route=route_of(scope), method=scope["method"])
            if status:
                raise
            await internal()(scope, receive, watch)
        finally:
            self._count(scope, status, time.perf_counter() - begun)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = route_of(scope)
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.http_requests.labels(route, method, f"{status // 100}xx").inc()
        if not scope.get("state", {}).get(_TAKES_TIME):
            self._metrics.http_duration.labels(route).observe(seconds)


def route_of(scope: Scope) -> str:
    """Return the template of the route that was matched."""
    return str(getattr(scope.get("route"), "path", UNMATCHED))


def take_time(request: Request) -> None:
    """Keep a request that waits on purpose out of the durations."""
    setattr(request.state, _TAKES_TIME, True)
