"""What can go wrong: the service refused a call, or did not answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx


class AfterthoughtError(Exception):
    """Base of every error of this client."""


class InvalidArgument(AfterthoughtError, ValueError):
    """A call or a client was given what cannot be sent; nothing was."""


class ConnectionFailed(AfterthoughtError):
    """The service could not be reached, or did not answer, as often as it was tried; ``cause`` is the system's word."""

    def __init__(self, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause


class TimedOut(ConnectionFailed):
    """The service did not answer in time."""


class UnexpectedAnswer(AfterthoughtError):
    """The service answered with something this client cannot read; they may be of different releases."""


class ApiError(AfterthoughtError):
    """The service refused a call. ``code`` never changes; ``message`` says what happened and what to do."""

    def __init__(self, status: int, code: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(status, code, message, details)
        self.status = status
        self.code = code
        self.message = message
        self.details = dict(details or {})

    def __str__(self) -> str:
        return f"{self.message} ({self.code}, HTTP {self.status})"


class BadRequest(ApiError):
    """What was sent is not JSON."""


class Unauthenticated(ApiError):
    """The token is missing, unknown or revoked."""


class PermissionDenied(ApiError):
    """The token is not for this: an app's token opens only what belongs to its app."""


class NotFound(ApiError):
    """What is named does not exist."""


class Conflict(ApiError):
    """The call contradicts the present state."""


class LimitReached(Conflict):
    """A bound would be passed: a number of things, or a budget."""


class TooLarge(ApiError):
    """The body or a text in it is too large."""


class Invalid(ApiError):
    """A field or parameter is not acceptable; ``details["fields"]`` names it."""


class RateLimited(ApiError):
    """Too many at once; it was tried again as often as the client may."""


class ServerError(ApiError):
    """Something went wrong in the service."""


class ServiceUnavailable(ServerError):
    """Something the service needs does not answer; it was tried again as often as the client may."""


_BY_CODE: Mapping[str, type[ApiError]] = {"limit": LimitReached, "over_budget": LimitReached}
_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthenticated,
    403: PermissionDenied,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: Invalid,
    429: RateLimited,
    503: ServiceUnavailable,
}


def error_of(response: httpx.Response) -> ApiError:
    """Return the error a refused call ends in; also of what a proxy answers in the place of the service.

    Of a service that is not ready the details are those of ``models.Ready``.
    """
    status, body = response.status_code, {}
    try:
        body = response.json()
        told = body["error"]
        code, message, details = str(told["code"]), str(told["message"]), dict(told.get("details") or {})
    except (ValueError, KeyError, TypeError):
        code, message = f"http_{status}", f"The server answered {status} {response.reason_phrase}"
        details = body if isinstance(body, dict) and "ready" in body else {}
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status) or (ServerError if status >= 500 else ApiError)
    return kind(status, code, message, details)
