"""Health."""

from __future__ import annotations

from pydantic import Field

from loop.api.schemas.wire import Answer


class Live(Answer):
    """The process answers."""

    status: str = "live"


class Dependency(Answer):
    """Whether one thing the loop needs is there."""

    ok: bool
    needed: bool = Field(description="Whether readiness depends on it.")
    detail: str = Field(description="What was found, and what to do where it is not well.")


class Ready(Answer):
    """Whether the loop can serve, and why not."""

    ready: bool
    version: str
    agent: str = Field(description="Who writes memories: extractive, or the model.")
    dependencies: dict[str, Dependency]
