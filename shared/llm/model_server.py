"""What is particular to a model's server, whoever made it: its client's errors, and whether it is there.

The chats and the embedders of all providers share what becomes of each failure; a provider says only how to read it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar

import httpx

from shared.addresses import without_credentials
from shared.errors import Configuration
from shared.llm.transport import LimitedTransport, TooMuch, is_loopback

GATEWAY_STATUSES = frozenset({502, 503, 504})
"""What a proxy says in the place of a server that is not there; some servers say 503 too, when they are busy."""
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


@dataclass(frozen=True)
class ServerStatus:
    """What was found at an address."""

    model: str
    host: str
    found: str | None = None
    """What answers there; None where nobody does, or another."""
    mend: str | None = None
    """One sentence with what to do; None when all is well."""
    is_listed: bool = False
    """Whether the model stands in the server's list; some servers give none, or not of all that they can be asked."""

    @property
    def ready(self) -> bool:
        """Whether a call can be made."""
        return self.mend is None


class ModelServer(ABC):
    """A server and the client that speaks to it. Build it after a fork, and close it."""

    product: ClassVar[str]
    """What it is called in messages."""
    errors: ClassVar[tuple[type[Exception], ...]]
    """What its client raises where the server answers with an error."""
    more_at_once: ClassVar[str] = "Have it do more calls at once"
    """What to do where calls wait in its queue."""
    probe_path: ClassVar[str]
    """What can be asked for without a key and at no cost, to see whether anybody is there."""

    def __init__(self, host: str, transport: LimitedTransport) -> None:
        """Take the address the client is given, and the transport it uses."""
        self.host = without_credentials(host)
        self.transport = transport
        self._address = host

    def close(self) -> None:
        """Close the connections."""
        self.transport.close()

    @abstractmethod
    def status_of(self, error: Exception) -> int | None:
        """Return the HTTP status of an error of its client, ``IN_STREAM`` for one inside a stream, None for others."""

    @abstractmethod
    def refusal(self, model: str, status: int, needs: str) -> Configuration:
        """Return what to raise where it can never answer; ``needs`` says what to look for when all else is right."""

    def cause_of(self, error: Exception) -> Exception:
        """Return the error of the connection that the client wrapped in ``error``, else ``error``."""
        return error

    def is_there(self) -> bool:
        """Whether a server answers at all."""
        return is_there(self._address, self.probe_path)

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


def open_client(address: str, timeout_seconds: float, headers: Mapping[str, str] | None = None) -> httpx.Client:
    """Open a client for a look at a server; a proxy that the environment names does not lead to this machine itself."""
    trusted = not is_loopback(address)
    return httpx.Client(base_url=address, timeout=timeout_seconds, headers=headers, trust_env=trusted)


def is_there(address: str, path: str, timeout_seconds: float = 2.0) -> bool:
    """Whether a server answers at ``address``, whatever it says; a proxy that answers for nobody does not count.

    Does not raise.
    """
    try:
        with open_client(address, timeout_seconds) as client:
            return client.get(path).status_code not in GATEWAY_STATUSES
    except (httpx.HTTPError, httpx.InvalidURL, OSError):
        return False
