"""The HTTP API as the command line sees it: one request at a time, and errors that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from loop.cli.routes import given, in_commands
from shared.base.errors import AfterthoughtError, Invalid, Transient
from shared.base.installation import start_command

PATIENCE_SECONDS = 120.0
TIMEOUT = httpx.Timeout(60.0, connect=5.0)
_LONG_TIMEOUT = httpx.Timeout(900.0, connect=5.0)
"""For what reads whole files before it answers."""
_STREAM_TIMEOUT = httpx.Timeout(120.0, connect=5.0)
"""Longer than the silence of any stream that is alive."""
_PAGE = 200
_LONGEST_WAIT_SECONDS = 10.0
_PASSING = {429, 502, 503, 504}


class Refused(AfterthoughtError):
    """The service answered that it will not do this; the message is its own."""

    def __init__(
        self, status: int, code: str, message: str, details: dict[str, Any] | None = None, retry_after: float = 0
    ) -> None:
        super().__init__(message, code=code, details=details)
        self.status = status
        self.retry_after_seconds = retry_after


class Unreachable(Transient):
    """Nothing answers at the address."""

    code = "unreachable"


class Service:
    """A running Afterthought at ``url``; every request may raise Refused or Unreachable.

    With ``patience_seconds``, requests are sent again for so long while the service is busy or away; only where they
    may be repeated. Uploads, streams and what takes minutes are sent once.
    """

    def __init__(self, url: str, token: str, patience_seconds: float = 0.0) -> None:
        self.url = url
        self._patience_seconds = patience_seconds
        self._client = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=TIMEOUT, trust_env=False
        )

    def get(self, path: str, **parameters: Any) -> Any:
        """Return the answer to a GET."""
        return self._ask("GET", path, parameters)

    def post(self, path: str, body: Any = None, **parameters: Any) -> Any:
        """Return the answer to a POST."""
        return self._ask("POST", path, parameters, body)

    def patch(self, path: str, body: Any, **parameters: Any) -> Any:
        """Return the answer to a PATCH."""
        return self._ask("PATCH", path, parameters, body)

    def put(self, path: str, body: Any, **parameters: Any) -> Any:
        """Return the answer to a PUT."""
        return self._ask("PUT", path, parameters, body)

    def delete(self, path: str, **parameters: Any) -> Any:
        """Return the answer to a DELETE."""
        return self._ask("DELETE", path, parameters)

    def post_long(self, path: str, body: Any = None, **parameters: Any) -> Any:
        """Return the answer to a POST that may take minutes."""
        return self._send("POST", path, parameters, json=body, timeout=_LONG_TIMEOUT)

    def upload(self, path: str, file: Path, media_type: str, **parameters: Any) -> Any:
        """Return the answer to a POST of a file, which is read as it is sent."""
        with file.open("rb") as content:
            headers = {"Content-Type": media_type, "Content-Length": str(file.stat().st_size)}
            return self._send("POST", path, parameters, content=content, headers=headers, timeout=_LONG_TIMEOUT)

    def listing(self, path: str, field: str, limit: int | None, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Yield up to ``limit`` entries of a listing, or all, page by page."""
        cursor = None
        while limit is None or limit > 0:
            size = _PAGE if limit is None else min(limit, _PAGE)
            page = self.get(path, limit=size, cursor=cursor, **parameters)
            yield from page[field]
            cursor = page.get("cursor")
            limit = None if limit is None else limit - len(page[field])
            if cursor is None:
                return

    def lines(self, path: str, **parameters: Any) -> Iterator[str]:
        """Yield the lines of a stream for as long as it goes on."""
        with self._stream(path, parameters) as response:
            yield from response.iter_lines()

    def pieces(self, path: str, **parameters: Any) -> Iterator[bytes]:
        """Yield a document byte for byte."""
        with self._stream(path, parameters) as response:
            yield from response.iter_bytes()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(self, method: str, path: str, parameters: dict[str, Any], body: Any = None) -> Any:
        if not self._patience_seconds:
            return self._send(method, path, parameters, json=body)
        retrying = Retrying(
            retry=retry_if_exception(
                lambda error: (
                    isinstance(error, Unreachable) or (isinstance(error, Refused) and error.status in _PASSING)
                )
            ),
            wait=_wait,
            stop=stop_after_delay(self._patience_seconds),
            reraise=True,
        )
        return retrying(self._send, method, path, parameters, json=body)

    def _send(self, method: str, path: str, parameters: dict[str, Any], **more: Any) -> Any:
        try:
            response = self._client.request(method, path, params=given(parameters), **more)
        except httpx.TimeoutException:
            raise Unreachable(f"{self.url} did not answer in time; try again.") from None
        except UnicodeEncodeError:
            raise Invalid("What was given is not valid Unicode text.") from None
        except httpx.TransportError as error:
            raise self._nothing_answers(error) from None
        return _answer(response)

    @contextmanager
    def _stream(self, path: str, parameters: dict[str, Any]) -> Iterator[httpx.Response]:
        try:
            with self._client.stream("GET", path, params=given(parameters), timeout=_STREAM_TIMEOUT) as response:
                if not response.is_success:
                    response.read()
                    _answer(response)
                yield response
        except httpx.ConnectError as error:
            raise self._nothing_answers(error) from None
        except httpx.TransportError as error:
            raise Unreachable(f"The stream from {self.url} broke off ({error}); follow it again.") from None

    def _nothing_answers(self, error: httpx.TransportError) -> Unreachable:
        return Unreachable(
            f"Nothing answers at {self.url} ({error}). Start the service with {start_command()}, or "
            "name another address with --url."
        )


def _wait(state: RetryCallState) -> float:
    """Wait as long as the service asked for, at least; otherwise longer each time."""
    error = state.outcome.exception() if state.outcome is not None else None
    asked = error.retry_after_seconds if isinstance(error, Refused) else 0.0
    return max(asked, wait_random_exponential(multiplier=0.2, max=_LONGEST_WAIT_SECONDS)(state))


def _answer(response: httpx.Response) -> Any:
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if response.is_success and answer is not None:
        return answer
    after = response.headers.get("retry-after", "0")
    seconds = float(after) if after.isdigit() else 0.0
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        message = f"{response.url} answered with status {response.status_code}, and not as Afterthought does."
        raise Refused(response.status_code, "foreign", message, retry_after=seconds)
    message = in_commands(str(error.get("message")))
    if response.status_code == 401:
        found = "--token, AFTERTHOUGHT_TOKEN, AFTERTHOUGHT_ADMIN_TOKEN or the home's admin_token"
        message += f" The command line takes it from the first there is of {found}."
    raise Refused(response.status_code, str(error.get("code")), message, error.get("details"), seconds)
