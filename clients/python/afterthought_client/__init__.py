"""Client of Afterthought, a self-hosted memory service for language-model apps."""

from afterthought_client import models
from afterthought_client.async_client import AsyncAfterthought
from afterthought_client.client import Afterthought
from afterthought_client.errors import (
    AfterthoughtError,
    ApiError,
    BadRequest,
    Conflict,
    ConnectionFailed,
    Invalid,
    InvalidArgument,
    LimitReached,
    NotFound,
    PermissionDenied,
    RateLimited,
    ServerError,
    ServiceUnavailable,
    TimedOut,
    TooLarge,
    Unauthenticated,
    UnexpectedAnswer,
)
from afterthought_client.events import ServerSentEvent
from afterthought_client.retries import RetryPolicy

__all__ = [
    "Afterthought",
    "AfterthoughtError",
    "ApiError",
    "AsyncAfterthought",
    "BadRequest",
    "Conflict",
    "ConnectionFailed",
    "Invalid",
    "InvalidArgument",
    "LimitReached",
    "NotFound",
    "PermissionDenied",
    "RateLimited",
    "RetryPolicy",
    "ServerError",
    "ServerSentEvent",
    "ServiceUnavailable",
    "TimedOut",
    "TooLarge",
    "Unauthenticated",
    "UnexpectedAnswer",
    "models",
]
