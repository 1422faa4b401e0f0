"""The one tree of errors; each message says what happened and what to do.

Adapters translate foreign errors into these; only ``loop/api/errors.py`` knows HTTP statuses.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Operation:
    """An operation of the interface that would help: its id, and what is known of its arguments as JSON names them.

    A message names it as ``{operation}``, or its address alone as ``{address}``; each door puts in its own words.
    """

    id: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


class AfterthoughtError(Exception):
    """Base of every error that is ours; ``code`` never changes once published."""

    code = "error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        details: dict[str, Any] | None = None,
        operation: Operation | None = None,
    ) -> None:
        self._written = message
        self.operation = operation
        self.message = message if operation is None else self.worded(lambda one: (one.id, one.id))
        super().__init__(self.message)
        self.code = code or type(self).code
        self.details = details or {}

    def worded(self, words: Callable[[Operation], tuple[str, str]]) -> str:
        """Return the message with a door's words for the operation that would help, and for its address."""
        if self.operation is None:
            return self.message
        operation, address = words(self.operation)
        return self._written.replace("{operation}", operation).replace("{address}", address)


class NotFound(AfterthoughtError):
    """The thing named does not exist for this caller."""

    code = "not_found"


class Conflict(AfterthoughtError):
    """The request contradicts the present state."""

    code = "conflict"


class LeaseLost(Conflict):
    """Another owner has the job now, so this owner's writing is refused."""

    code = "lease_lost"


class LeadershipLost(Conflict):
    """Another loop regulates now, or none does, so this loop's writing is refused."""

    code = "leadership_lost"


class Purged(Conflict):
    """The app's memories were purged after this work was asked for."""

    code = "purged"


class Limit(AfterthoughtError):
    """A bound would be passed: a size, a count or a budget."""

    code = "limit"


class OverBudget(Limit):
    """An app's energy budget does not cover what was about to be done; ``until`` says when it may again."""

    code = "over_budget"

    def __init__(self, message: str, until: datetime) -> None:
        super().__init__(message)
        self.until = until


class Invalid(AfterthoughtError):
    """A value is of the right shape but not acceptable."""

    code = "invalid"


class Denied(AfterthoughtError):
    """The token is missing, unknown, revoked or not for this app."""

    code = "denied"


class Transient(AfterthoughtError):
    """Something outside failed in a way that may pass; the only error a job is retried for without a repair."""

    code = "transient"


class ProviderAway(Transient):
    """Nobody answers where the model's server should be; what needs it waits until somebody does."""

    code = "provider_away"


class ModelMissing(ProviderAway):
    """The model's server answers and has no such model; what needs it waits until a person mends that."""


class Unanswered(Transient):
    """A model was asked and gave no answer: it was too slow, or its server failed at it."""


class ServerFailed(Unanswered):
    """A model's server answered with an error of its own in the place of an answer."""


class ServerBusy(Unanswered):
    """A model's server takes no more questions for now: of a rate there is too much, or a quota is spent."""


class NotYet(Transient):
    """What is to be done has to wait ``until`` something is over; nothing has failed."""

    def __init__(self, message: str, until: datetime) -> None:
        super().__init__(message)
        self.until = until


class RetryLater(Transient):
    """It failed, and is not to be tried again before ``until``."""

    def __init__(self, message: str, until: datetime, *, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.until = until


class ModelOutput(AfterthoughtError):
    """The model answered, but with nothing that may be used, however it was asked."""

    code = "model_output"


class Configuration(AfterthoughtError):
    """A setting or a dependency is wrong; the message names it and what would be right."""

    code = "configuration"
