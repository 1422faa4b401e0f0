"""Who changes what is remembered, why, when, and on behalf of which job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

BY_HAND = "by hand"
ERASED = "erased"
"""Stands where a reason stood that may have quoted what is gone."""
AGED = "its text is no longer kept"
"""Stands there where it went for its age."""


@dataclass(frozen=True)
class Cause:
    """Who changes something, and on whose behalf."""

    actor: str
    """``extractive``, ``ollama:NAME``, ``rule:NAME``, ``admin`` or ``token:ID``."""
    reason: str
    at: datetime
    job_id: str | None = None

    def by(self, actor: str, reason: str) -> Cause:
        """Return the same cause in another's name."""
        return Cause(actor, reason, self.at, self.job_id)


def is_of_a_person(actor: str) -> bool:
    """Whether what an actor wrote is a person's: by hand, by an admin, or under an app's token."""
    return actor in (BY_HAND, "admin") or actor.startswith("token:")
