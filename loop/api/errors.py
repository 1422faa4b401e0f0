"""Errors to HTTP, in one table. Every answer that is not a success has the same shape.

Messages of our own errors are shown, because they say what to do. Of anything else only that it failed is shown; what
failed is logged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

import orjson
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.types import Scope

from loop.api.openapi import operation_id
from loop.api.schema import APP_ID_PATTERN, KEY_PATTERN, MANY, ONE, ResponseModel
from shared.base import errors
from shared.base.process import ABANDONED
from shared.contracts.values import FILE_ID_PATTERN, ID_PATTERN
from shared.sessions.compose.compositions import MAX_NAME_CHARS, NAME_PATTERN

TOO_LARGE = "too_large"
UNAUTHENTICATED = "unauthenticated"
MALFORMED = "malformed"
TOO_MANY = "too_many"
TOO_SLOW = "too_slow"
STATUS_OF_CODE = {TOO_LARGE: 413, UNAUTHENTICATED: 401, MALFORMED: 400, TOO_MANY: 429, TOO_SLOW: 408, ABANDONED: 499}
"""Where a code says more than its class. The last is seen by nobody but the log and the metrics."""
STATUS_OF_CLASS: Sequence[tuple[type[errors.AfterthoughtError], int]] = (
    (errors.NotFound, 404),
    (errors.Conflict, 409),
    (errors.Limit, 409),
    (errors.Invalid, 422),
    (errors.Denied, 403),
    (errors.ModelOutput, 502),
    (errors.Transient, 503),
)
_RETRY_AFTER_SECONDS = "1"
_WITH_BODY = {"PUT", "PATCH"}
_MOST_FIELDS = 20
_MOST_CHARACTERS = 200


class ErrorBody(ResponseModel):
    """What went wrong and what to do about it."""

    code: str = Field(description="Never changes once published.", examples=["already_installed"])
    message: str = Field(description="What happened and what to do.", examples=["App chat is already installed"])
    details: dict[str, Any] = Field(
        default_factory=dict,
        description="Machine-readable particulars. Where an operation would help, `operation` has its `id` as in this "
        "document, what is known of its `arguments`, and its `route` as the message names it.",
    )


class ErrorAnswer(ResponseModel):
    """The shape of every answer that is not a success."""

    error: ErrorBody


DOCUMENTED: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": description}
    for status, description in {
        400: "The body is not JSON.",
        401: "No token, or one that is unknown or revoked.",
        403: "The token is not for this.",
        404: "What the path names does not exist.",
        408: "The body did not come in time.",
        409: "The request contradicts the present state.",
        413: "The body or a text in it is too large.",
        429: "The app asks for too much at once; Retry-After says when to try again.",
        422: "A field or parameter is not acceptable; details.fields names it.",
        503: "A dependency does not answer at the moment; Retry-After says when to try again.",
    }.items()
}


def status_of(error: errors.AfterthoughtError) -> int:
    if error.code in STATUS_OF_CODE:
        return STATUS_OF_CODE[error.code]
    return next((status for kind, status in STATUS_OF_CLASS if isinstance(error, kind)), 500)


class RouteWords:
    """Words errors as those read them who call over HTTP: an operation that would help is named by its route."""

    def __init__(self, routers: Iterable[APIRouter]) -> None:
        every = (one for router in routers for one in router.routes if isinstance(one, APIRoute))
        self._routes = {one.operation_id or operation_id(one): one for one in every}

    def of(self, error: errors.AfterthoughtError) -> tuple[str, dict[str, Any]]:
        if (one := error.operation) is None:
            return error.message, error.details
        operation = {"id": one.id, "arguments": dict(one.arguments), "route": self._words(one)[0]}
        return error.worded(self._words), {**error.details, "operation": operation}

    def _words(self, operation: errors.Operation) -> tuple[str, str]:
        """Return a route with what is known of it, and its address alone; what is not known stays open."""
        route = self._routes[operation.id]
        path, method = route.path, min(route.methods or ())
        in_path = {name for name in operation.arguments if "{" + name + "}" in path}
        for name in in_path:
            path = path.replace("{" + name + "}", quote(str(operation.arguments[name]), safe=":@"))
        # Which app is meant goes without saying where an app's own token need not say it either.
        implied = {"appId"} if method not in _WITH_BODY and path.startswith("/api/memory") else set()
        rest = {name: value for name, value in operation.arguments.items() if name not in in_path | implied}
        if rest and method in _WITH_BODY:
            return f"{method} {path} with {json.dumps(rest, ensure_ascii=False)}", path
        return f"{method} {path}{'?' * bool(rest)}{urlencode(rest, quote_via=quote)}", path


def opens_only(app_id: str | None) -> errors.Denied:
    """Return what is raised where an app's token is used for what is not its app's."""
    message = f"This token opens only /apps/{app_id} and what lies under it."
    return errors.Denied(message, details={"onlyApp": app_id})


def opens_only_of_user(user_id: str) -> errors.Denied:
    """Return what is raised where a user's own token names another user."""
    message = f"This token is {user_id}'s own, and opens what is theirs alone: leave out userId, or name {user_id}."
    return errors.Denied(message, details={"onlyUser": user_id})


def opens_for_app(user_id: str, app_id: str | None) -> errors.Denied:
    """Return what is raised where a user's own token is used on a route that only an app's opens."""
    message = (
        f"This token is {user_id}'s own, and this route takes a token of the app {app_id} (where it asks for one user, "
        "it is told whom). Theirs opens, under "
        f"/apps/{app_id}: conversations, context, search, memories, facts, profile, events, export and users/{user_id}."
    )
    return errors.Denied(message, details={"onlyUser": user_id})


def answer_error(error: errors.AfterthoughtError, scope: Scope) -> Response:
    status = status_of(error)
    if status >= 500 and not isinstance(error, errors.Transient | errors.ModelOutput):
        return internal()
    message, details = scope["app"].state.route_words.of(error)
    return refuse(status, error.code, message, details)


def refuse(status: int, code: str, message: str, details: dict[str, Any] | None = None) -> Response:
    """Return an error in the one shape all errors have."""
    content = orjson.dumps({"error": {"code": code, "message": message, "details": details or {}}})
    return Response(content, status, _headers(status), "application/json")


def internal() -> Response:
    """Return the answer for what must not happen; its cause stands in the log and nowhere else."""
    return refuse(500, "internal", "Something went wrong here; the server's log says what.")


def body_error(error: ValidationError) -> RequestValidationError:
    """Return the error of a body that a route reads itself, as it is for the others."""
    return RequestValidationError([{**one, "loc": ("body", *one["loc"])} for one in error.errors()])


def install_handlers(app: FastAPI) -> None:
    """Have every error of a route answered in the one shape."""
    app.add_exception_handler(errors.AfterthoughtError, _of_ours)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_framework)


async def _of_ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.AfterthoughtError)
    return answer_error(error, request.scope)


async def _of_validation(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = error.errors()[:_MOST_FIELDS]
    if any(problem["type"] == "json_invalid" for problem in problems):
        return refuse(400, MALFORMED, "The body is not valid JSON.")
    # Bytes are handed on where the type that was sent is not JSON's.
    if any(tuple(problem["loc"]) == ("body",) and isinstance(problem.get("input"), bytes) for problem in problems):
        return refuse(422, "invalid", "Send the body as JSON, with the header Content-Type: application/json.")
    fields = [{"field": _field_path(problem["loc"]), "problem": in_words(problem)} for problem in problems]
    summary = "; ".join(f"{one['field']}: {one['problem']}" for one in fields[:3])
    return refuse(422, "invalid", summary, {"fields": fields})


async def _of_framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return refuse(404, "unknown_route", "There is no such route; /openapi.json lists them all.")
    if error.status_code == 405:
        answer = refuse(405, "method_not_allowed", f"This route does not take {request.method}.")
        answer.headers.update(error.headers or {})
        return answer
    # FastAPI's own, for a body that it cannot parse.
    if error.status_code == 400:
        return refuse(400, MALFORMED, "The body is not valid JSON.")
    return refuse(error.status_code, "refused", HTTPStatus(error.status_code).phrase)


def _headers(status: int) -> dict[str, str]:
    if status == 401:
        return {"WWW-Authenticate": "Bearer"}
    if status == 408:
        # The rest of the body would be read as the next request.
        return {"Connection": "close"}
    return {"Retry-After": _RETRY_AFTER_SECONDS} if status in (429, 503) else {}


def _field_path(location: Sequence[int | str]) -> str:
    parts = [str(part) for part in location]
    named = parts[1:] if len(parts) > 1 and parts[0] in {"body", "query", "path", "header"} else parts
    named = [part for part in named if part not in (ONE, MANY)] or parts[:1]
    return ".".join(named)[:_MOST_CHARACTERS]


def in_words(problem: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, a form it should have not as the expression that is matched."""
    if problem["type"] == "string_pattern_mismatch":
        return _FORMS.get(problem["ctx"]["pattern"], "is not written as it must be; /openapi.json describes it")
    return str(problem["msg"]).removeprefix("Value error, ")[:_MOST_CHARACTERS]


def _letters(most: int, first: str, marks: str = ". _ : @ -") -> str:
    return f"must be 1 to {most} letters (a to z), digits and {marks}, beginning with {first}"


_FORMS = {
    ID_PATTERN: _letters(200, "a letter or a digit"),
    FILE_ID_PATTERN: _letters(200, "a letter, a digit, _ or -") + ": it names a file",
    APP_ID_PATTERN: _letters(100, "a letter or a digit"),
    NAME_PATTERN: _letters(MAX_NAME_CHARS, "a letter or a digit", ". _ -") + ": it names a file",
    KEY_PATTERN: "must be 1 to 200 visible ASCII characters, without spaces",
}
