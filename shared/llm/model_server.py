"""A model's server as a client reaches it: where it is, its client's errors, and whether it is there.

The chats and the embedders of all providers share what becomes of each failure; a client says only how to read it.
"""

from abc import ABC, abstractmethod
from enum import Enum, auto
from typing import ClassVar

from pydantic import SecretStr

from shared.base.addresses import without_credentials
from shared.base.errors import Configuration
from shared.base.setting_groups import ModelSettings
from shared.llm.transport import LimitedTransport, TooMuch, is_there

IN_STREAM = -1
"""The status of an error that came inside a stream, after the answer had begun."""


LOOK_SECONDS = 2.0
"""Patience of a look at a server."""


class Endpoint(ABC):
    """Where a provider's models are reached, and how it is spoken of."""

    name: ClassVar[str]
    """As settings and rows write it before a model's: ``NAME:MODEL``."""
    product: ClassVar[str]
    """What its server is called in messages."""
    address_setting: ClassVar[str]
    key_setting: ClassVar[str | None] = None
    libraries: ClassVar[tuple[str, ...]] = ()
    """What the extra of its name brings, as it is imported."""
    probe_path: ClassVar[str]
    """What can be asked for without a key and at no cost, to see whether anybody is there."""
    openai_path: ClassVar[str] = "/v1"
    """Where, beneath its address, OpenAI's protocol is spoken."""
    lists_all: ClassVar[bool] = False
    """Whether a model that its server does not list cannot be asked."""
    more_at_once: ClassVar[str] = "Have it do more calls at once"
    """What to do where calls wait in its queue."""
    why_refused: ClassVar[str] = "; its own log says why"

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        self.address: str = getattr(settings, self.address_setting)
        self.key: SecretStr | None = None if self.key_setting is None else getattr(settings, self.key_setting)
        self.host = without_credentials(self.address)

    def refusal(self, model: str, status: int, needs: str) -> Configuration:
        """Return what to raise where it can never answer; ``needs`` says what to look for when all else is right."""
        return Configuration(
            f"{self.product} at {self.host} refused the request to {self.name}:{model} with status {status}"
            f"{self.why_refused}. {needs}"
        )

    def is_there(self) -> bool:
        """Whether its server answers at all. Does not raise."""
        return is_there(self.address, self.probe_path, LOOK_SECONDS)


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

    def __init__(self, provider: Endpoint, transport: LimitedTransport, errors: tuple[type[Exception], ...]) -> None:
        """Take the transport the client uses, and what it raises where the server answers with an error."""
        self.provider = provider
        self.product, self.host = provider.product, provider.host
        self.transport = transport
        self.errors = errors

    def close(self) -> None:
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
        # In this order: a ConnectTimeout is a TimeoutException too, and both are TransportErrors.
        for kinds, failure in (
            ((http.ConnectError, http.ConnectTimeout, ConnectionError), Failure.UNREACHED),
            (http.TimeoutException, Failure.LATE),
            (TooMuch, Failure.FLOODED),
            ((http.TransportError, OSError), Failure.BROKEN),
        ):
            if isinstance(cause, kinds):
                return failure
        return Failure.FOREIGN if self.status_of(error) is None else Failure.STATUS
