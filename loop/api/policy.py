"""What a route declares of itself: who may call it, how it names its app, and what a request takes of the loop.

A router declares for its routes (``route_class=under(OF_APP)``), a route that differs for itself (``@policy``). Guard,
admission, body gate and description read it; an interface with a route that declares nothing is not built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeVar
from urllib.parse import parse_qs

from fastapi.routing import APIRoute
from starlette.types import Scope

_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])
_APP_IN_PATH = re.compile(r"/apps/([^/]+)")


class Access(Enum):
    """Whose token opens a route, beside the admin's; the one that reads opens what reads."""

    ANYBODY = auto()  # none is needed
    APP = auto()  # an app's, for itself alone: the guard sees to it where the path names the app, else the route
    SCRAPER = auto()  # the one for metrics
    ADMIN = auto()


class AppPlace(Enum):
    """Where a request names the app it is for, and is counted for."""

    PATH = auto()
    QUERY = auto()
    NOWHERE = auto()  # or in a header or the body: only an app's token tells


class Whose(Enum):
    """How a route is held to what is one user's, where the token of a request is that user's own."""

    APPS = auto()  # it is not: such a token does not open it
    IN_PATH = auto()  # the path names the user, or a conversation, a fact or a memory; another's is not there for them
    IN_QUERY = auto()  # ``userId`` narrows all it reads and writes; where it is not given, the guard gives it
    BY_ROUTE = auto()  # the route asks ``ctx.user_meant`` or narrows by the caller itself


class Trait(Enum):
    """What a request to a route takes of the loop."""

    COSTLY = auto()  # an app has a few done at a time; the others wait for their turn
    READS = auto()  # asks with a body, and writes nothing of what it asks about
    WAITS = auto()  # takes no thread while it waits, is counted apart, and kept out of the durations
    TAKES_FILE = auto()  # its body may be a file, which the route writes down as it arrives
    LARGE_BODY = auto()  # its body may be several times larger than others


@dataclass(frozen=True)
class RoutePolicy:
    """What one route declares."""

    access: Access
    app: AppPlace = AppPlace.NOWHERE
    traits: frozenset[Trait] = frozenset()
    whose: Whose = Whose.APPS

    def app_named(self, scope: Scope) -> str | None:
        if self.app is AppPlace.PATH:
            found = _APP_IN_PATH.match(scope["path"])
            return found[1] if found else None
        if self.app is AppPlace.QUERY:
            named = parse_qs(scope["query_string"].decode("latin-1")).get("appId")
            return named[0] if named else None
        return None


OF_ANYBODY = RoutePolicy(Access.ANYBODY)
OF_APP = RoutePolicy(Access.APP, AppPlace.PATH)
OF_APP_IN_QUERY = RoutePolicy(Access.APP, AppPlace.QUERY)
"""The route takes ``SessionsAppId``, or looks itself whose token it is."""
OF_TOKEN = RoutePolicy(Access.APP)
OF_SCRAPER = RoutePolicy(Access.SCRAPER)
OF_ADMIN = RoutePolicy(Access.ADMIN)
OF_ADMIN_ABOUT_APP = RoutePolicy(Access.ADMIN, AppPlace.QUERY)
UNMATCHED = "unmatched"
"""The template of a wrong address. Under an app's own it is answered to its token in words (404), as ``OF_APP``."""


def under(declared: RoutePolicy) -> type[APIRoute]:
    """Return the class of a router's routes, all of which declare this unless they declare for themselves."""

    class DeclaredRoute(APIRoute):
        policy = declared

    return DeclaredRoute


def policy(declared: RoutePolicy, *traits: Trait, whose: Whose = Whose.APPS) -> Callable[[_Endpoint], _Endpoint]:
    def declare(endpoint: _Endpoint) -> _Endpoint:
        setattr(endpoint, "policy", RoutePolicy(declared.access, declared.app, frozenset(traits), whose))  # noqa: B010
        return endpoint

    return declare


class RoutePolicies:
    """What the routes of an interface declare, looked up before one of them is reached.

    Raises: TypeError, for a route that declares nothing.
    """

    def __init__(self, routes: Iterable[Any]) -> None:
        # What is mounted takes every method.
        self._known = [(one.path_regex, getattr(one, "methods", None), (_declared(one), one.path)) for one in routes]

    def of(self, scope: Scope) -> tuple[RoutePolicy, str]:
        """Return what the route declares that a request is for, or one of another method there; and its template."""
        among = None
        # As the router goes through them, which takes a microsecond or ten.
        for pattern, methods, declared in self._known:
            if pattern.match(scope["path"]):
                if methods is None or scope["method"] in methods:
                    return declared
                among = among or declared
        return among or (OF_APP, UNMATCHED)


def _declared(route: Any) -> RoutePolicy:
    found = getattr(getattr(route, "endpoint", None), "policy", None) or getattr(route, "policy", None)
    if not isinstance(found, RoutePolicy):
        raise TypeError(
            f"The route {route.name} ({route.path}) declares no policy: give its router route_class=under(...), "
            "or its function @policy(...), from loop.api.policy."
        )
    return found


def policy_of(scope: Scope) -> RoutePolicy:
    """Return what the guard found."""
    found: RoutePolicy = scope["state"]["policy"]
    return found
