"""A model's server as a client reaches it: its client's errors, and whether it is there.

The chats and the embedders of all providers share what becomes of each failure; a client says only how to read it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum, auto

from shared.llm.provider import Provider
from shared.llm.transport import LimitedTransport, TooMuch

IN_STREAM = -1
"""The status of an error that came inside a stream, after the answer had begun."""


class Failure(Enum):
    """What a foreign error means, as far as it matters to whoever asked."""

    UNREACHED = auto()
    """Nobody took the call."""
    LATE = auto()
    FLOODED = auto()
    """More came than any answer has."""
    STATUS = auto()
    """It answered with an error of its own."""
    BROKEN = auto()
    """The connection broke."""
    FOREIGN = auto()
    """It speaks another protocol."""


class ModelServer(ABC):
    """A provider's server and the client that speaks to it. Build it after a fork, and close it."""

    def __init__(self, provider: Provider, transport: LimitedTransport, errors: tuple[type[Exception], ...]) -> None:
        """Take the transport the client uses, and what it raises where the server answers with an error."""
        self.provider = provider
        self.product, self.host = provider.product, provider.host
        self.transport = transport
        self.errors = errors

    def close(self) -> None:
        """Close the connections."""
        self.transport.close()

    @abstractmethod
    def status_of(self, error: Exception) -> int | None:
        """Return the HTTP status of an error of its client, ``IN_STREAM`` for one inside a stream, None for others."""

    def cause_of(self, error: Exception) -> Exception:
        """Return the error of the connection that the client wrapped in ``error``, else ``error``."""
        return error

    def failure_of(self, error: Exception) -> Failure:
        """Say what an error that its client raised means."""
        http, cause = self.transport.http, self.cause_of(error)
        for kinds, failure in (
            ((http.ConnectError, http.ConnectTimeout, ConnectionError), Failure.UNREACHED),
            (http.TimeoutException, Failure.LATE),
            (TooMuch, Failure.FLOODED),
            ((http.TransportError, OSError), Failure.BROKEN),
        ):
            if isinstance(cause, kinds):
                return failure
        return Failure.FOREIGN if self.status_of(error) is None else Failure.STATUS
