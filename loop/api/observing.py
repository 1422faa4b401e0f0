"""Counts, times and traces every request, and is the last to see an error that nobody expected.

Labels are route templates, methods we serve and classes of status, so a stranger cannot make new series.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from starlette.datastructures import Headers
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loop.api.errors import internal
from loop.api.policy import UNMATCHED, RoutePolicy, Trait
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from shared.telemetry.tracing import Attributes, Role, Traced, Tracing, current_traceparent

_UNTRACED = ("/health/", "/metrics")
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})


class Observing:
    """ASGI middleware; outside of all that answers."""

    def __init__(self, app: ASGIApp, metrics: Metrics, tracing: Tracing) -> None:
        self._app = app
        self._metrics = metrics
        self._tracing = tracing
        self._log = get_logger()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # What is asked every few seconds, by machines, would be most of all traces.
        is_traced = not scope["path"].startswith(_UNTRACED)
        with self._traced(scope) if is_traced else nullcontext() as traced:
            await self._observe(scope, receive, send, traced)

    async def _observe(self, scope: Scope, receive: Receive, send: Send, traced: Traced | None) -> None:
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
            # Its answer has begun, and no other can be sent any more.
            if status:
                raise
            await internal()(scope, receive, watch)
        finally:
            route = route_of(scope)
            self._metrics.http_requests.labels(route, method_of(scope), f"{status // 100}xx").inc()
            # What waits on purpose would drown them; without a policy it was an error before the guard.
            declared = scope.get("state", {}).get("policy")
            if declared is None or Trait.WAITS not in declared.traits:
                self._metrics.http_duration.labels(route).observe(time.perf_counter() - begun)
            if traced is not None:
                # Say what a request came to. Its address is left out: what is searched for stands in it.
                route = route_of(scope)
                if route != UNMATCHED:
                    traced.name = f"{traced.name} {route}"
                    traced.attributes["http.route"] = route
                    app_id = scope.get("path_params", {}).get("appId")
                    # What was refused may name what is no app, in any words.
                    if app_id is not None and not 400 <= status < 500:
                        traced.attributes["afterthought.app.id"] = app_id
                traced.attributes["http.response.status_code"] = status
                traced.failed = status >= 500

    def _traced(self, scope: Scope) -> AbstractContextManager[Traced]:
        method = method_of(scope)
        about: Attributes = {"http.request.method": method}
        # What another protocol asks of the interface itself, inside this process, is a part of its own request.
        parent = current_traceparent() or Headers(scope=scope).get("traceparent")
        return self._tracing.span(method, Role.SERVER, parent, about)


def method_of(scope: Scope) -> str:
    """Return the method, as far as it is one that is served."""
    return scope["method"] if scope["method"] in _METHODS else "other"


def route_of(scope: Scope) -> str:
    """Return the template of the route that was matched, here or by the guard."""
    return str(getattr(scope.get("route"), "path", scope.get("state", {}).get("template", UNMATCHED)))


class PlainRoute(Route):
    """A route that is not FastAPI's own, which would otherwise count as none."""

    def __init__(self, path: str, endpoint: Callable[..., Any], methods: list[str], policy: RoutePolicy) -> None:
        super().__init__(path, endpoint, methods=methods)
        self.policy = policy

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return how far the route is meant, and what is noted of it then."""
        match, noted = super().matches(scope)
        return match, {**noted, "route": self} if match is Match.FULL else noted
