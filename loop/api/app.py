"""Builds the HTTP interface of a loop.

Addresses whose parts may hold a slash: an id as chat services have them is one part, its slash written %2F.

Servers decode an address before it is matched, and then a slash of an id looks like one between two parts.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.datastructures import State
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from loop.api.admission import Admission, ConcurrencyLimit
from loop.api.bodies import BodyGate
from loop.api.errors import DOCUMENTED, RouteWords, install_handlers
from loop.api.guard import AccessGuard
from loop.api.observing import Observing, PlainRoute
from loop.api.openapi import DESCRIPTION, SERVERS, TAGS, complete, operation_id
from loop.api.policy import OF_ANYBODY, OF_TOKEN, RoutePolicies
from loop.api.routes import (
    ageing,
    answers,
    apps,
    comparison,
    compositions,
    conversations,
    events,
    fact_eviction,
    facts,
    jobs,
    keepits,
    memories,
    originals,
    profiles,
    projects,
    retrieval,
    search,
    semantic,
    session_search,
    sessions,
    summaries,
    system,
    versions,
    webhooks,
    whole_app,
)
from loop.completions.endpoint import COMPLETION_ROUTES
from loop.mcp.endpoint import McpEndpoint
from loop.wiring import Loop
from shared.base.installation import release
from shared.base.settings import Settings

_KEPT = re.compile(rb"%(?=2[5Ff])")


class WholeParts:
    """ASGI middleware; leaves slashes within a part, and percent signs, encoded until the part is handed to a route."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path") or b""
        if scope["type"] == "http" and _KEPT.search(raw):
            scope["path"] = unquote(_KEPT.sub(b"%25", raw).decode("latin-1"))
        await self._app(scope, receive, send)


class _Part(StringConvertor):
    """A part of an address."""

    def convert(self, value: str) -> str:
        return unquote(value) if "%" in value else value


# Before any route is made: each looks its convertors up then.
register_url_convertor("str", _Part())


ROUTERS = (
    # First what is asked for all the time: routes are tried one after the other.
    conversations.router, search.router, whole_app.router, memories.router, apps.router, answers.router,
    # The eviction of facts before the facts, whose last part of an address is taken for an id.
    memories.compactions_router, fact_eviction.router, facts.router, apps.users_router, retrieval.router,
    summaries.router, profiles.router, session_search.router, projects.session_settings_router, semantic.router,
    search.tuning_router, whole_app.project_archive_router, projects.router, sessions.router, keepits.router,
    originals.router, events.router, webhooks.router, jobs.router, compositions.router, versions.router,
    comparison.router, ageing.router, system.router,
)  # fmt: skip


def build_api(loop: Loop) -> FastAPI:
    """Return the HTTP interface of a loop, ready to be served."""
    app = _interface()
    complete(app, _policies(app), lambda: app.state.loop.settings)
    attach(app, loop)
    return app


def describe(settings: Settings) -> dict[str, Any]:
    """Return what ``/openapi.json`` says under these settings, without a loop that serves it."""
    app = _interface()
    complete(app, _policies(app), lambda: settings)
    return app.openapi()


def _interface() -> FastAPI:
    # FastAPI's own page loads its scripts from elsewhere.
    app = FastAPIOffline(
        title="Afterthought",
        version=release(),
        description=DESCRIPTION,
        servers=SERVERS,
        openapi_tags=TAGS,
        redoc_url=None,
        static_url="/docs/files",
        # Nor is anybody asked whether what it shows is valid.
        swagger_ui_parameters={"validatorUrl": None, "docExpansion": "none"},
        redirect_slashes=False,
        responses=DOCUMENTED,
        generate_unique_id_function=operation_id,
        separate_input_output_schemas=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    install_handlers(app)
    # The description and its page, made by the library.
    for route in app.router.routes:
        setattr(route, "policy", OF_ANYBODY)  # noqa: B010
    for router in ROUTERS:
        app.include_router(router)
    # Answers without a stream of its own, so there is nothing to get or to end.
    app.router.routes += [PlainRoute("/mcp", McpEndpoint(), ["POST"], OF_TOKEN), *COMPLETION_ROUTES]
    return app


def _policies(app: FastAPI) -> RoutePolicies:
    # Of the routers themselves: what is included of them is worked out at the first request only.
    own = (one for one in app.router.routes if isinstance(one, Route | Mount))
    return RoutePolicies([*own, *(one for router in ROUTERS for one in router.routes)])


def attach(app: FastAPI, loop: Loop) -> None:
    """Put a loop behind an interface that is built, in the place of the one that was there.

    What its routes take and answer is worked out at the first request, which takes a quarter of a second, and kept.
    """
    app.state = State({"loop": loop, "route_words": RouteWords(ROUTERS)})
    app.user_middleware.clear()
    # Starlette refuses more middleware once the stack is built.
    app.middleware_stack = None
    # The last one added is the outermost.
    # Within the body gate: a turn is not used up by waiting for a slow body, unless that is a file.
    app.add_middleware(ConcurrencyLimit, settings=loop.settings, metrics=loop.metrics)
    app.add_middleware(BodyGate, max_bytes=loop.settings.max_body_bytes)
    app.add_middleware(Admission, settings=loop.settings, metrics=loop.metrics)
    app.add_middleware(AccessGuard, loop=loop, policies=_policies(app))
    app.add_middleware(Observing, metrics=loop.metrics, tracing=loop.tracing)
    app.add_middleware(WholeParts)
