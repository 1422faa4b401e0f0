"""The server behind a client of OpenAI's or Anthropic's, which are made alike and speak through httpx2.

Importing this takes httpx2 with it, which is an extra, so only who makes such a client does.
"""

from types import ModuleType
from typing import Any, ClassVar

import httpx2

from shared.llm.model_server import IN_STREAM, ModelServer
from shared.llm.provider import Provider
from shared.llm.transport import EndingStream, LimitedTransport, is_loopback

NO_KEY = "none"
"""Sent where no key is set: the clients insist on one, and servers without keys do not look at it."""


class _Stream(EndingStream, httpx2.SyncByteStream):
    late = httpx2.ReadTimeout


class Httpx2DeadlineTransport(LimitedTransport, httpx2.BaseTransport):
    """The transport for clients of httpx2; see ``transport`` for all it does."""

    http: ClassVar[ModuleType] = httpx2
    stream_type = _Stream


class ApiServer(ModelServer):
    """One server of OpenAI's or Anthropic's protocol, and what their clients' errors mean."""

    def __init__(self, provider: Provider, library: ModuleType) -> None:
        """Take the library of the client, for its errors."""
        transport = Httpx2DeadlineTransport()
        super().__init__(provider, transport, (library.APIError,))
        self._library = library
        self.key = NO_KEY if provider.key is None else provider.key.get_secret_value()
        # Whether to ask again is decided in one place for all providers, and the deadline is the transport's.
        self.arguments: dict[str, Any] = {"base_url": provider.address, "max_retries": 0, "timeout": None}
        # A proxy that the environment names does not lead to this machine itself.
        self.http_client = httpx2.Client(transport=transport, trust_env=not is_loopback(provider.address))

    def close(self) -> None:
        self.http_client.close()
        super().close()

    def status_of(self, error: Exception) -> int | None:
        if isinstance(error, self._library.APIStatusError):
            # An error inside a stream of Anthropic's has the status the stream began with.
            return error.status_code if error.status_code >= 400 else IN_STREAM
        # What is left of the client's errors once those of the connection are gone is an error line in a stream.
        is_line = isinstance(error, self._library.APIError) and not isinstance(error, self._library.APIConnectionError)
        return IN_STREAM if is_line and not isinstance(error, self._library.APIResponseValidationError) else None

    def cause_of(self, error: Exception) -> Exception:
        # langchain wraps the client's error in one of its own, and the client that of the connection.
        while isinstance(error, self._library.APIConnectionError) and isinstance(error.__cause__, Exception):
            error = error.__cause__
        return error
