"""Whether somebody still waits for what is being done: work whose result nobody would see is given up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from shared.errors import AfterthoughtError

ABANDONED = "abandoned"


class Abandoned(AfterthoughtError):
    """Who asked for it has left."""

    code = ABANDONED


@dataclass
class Client:
    """Who asked for something. Threads that work for it see what the loop's own thread notes."""

    has_left: bool = False
    was_given_up: bool = False
    """Whether something was not finished for that."""


_client: ContextVar[Client | None] = ContextVar("client", default=None)


@contextmanager
def working_for(client: Client) -> Iterator[None]:
    """Have everything within, threads that are given the context too, done for a client."""
    token = _client.set(client)
    try:
        yield
    finally:
        _client.reset(token)


def give_up_if_abandoned() -> None:
    """Go on where somebody waits, or nobody is known to have asked. Raises: Abandoned."""
    client = _client.get()
    if client is not None and client.has_left:
        client.was_given_up = True
        raise Abandoned("Who asked for this has left.")
