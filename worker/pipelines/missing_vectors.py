"""Texts of an app that were kept without vectors while the embedder was away: summaries and profiles.

They are read before a job thinks, embedded with whatever it embeds itself, and given their vectors where it writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from shared.profiles import gate
from shared.profiles.gate import Version
from shared.summaries import queries, writing

LIMIT = 50
"""Of each kind, in one job."""


@dataclass(frozen=True)
class Missing:
    """What has no vector by the embedder in use."""

    summaries: dict[int, str]
    profiles: dict[Version, str]

    @property
    def texts(self) -> list[str]:
        """What is to be embedded, in the order in which ``keep`` takes the vectors."""
        return [*self.summaries.values(), *self.profiles.values()]


def missing(session: Session, app_id: str, model: str) -> Missing:
    """Return what an app keeps without a vector by a model."""
    return Missing(
        queries.to_embed(session, app_id, model, LIMIT),
        gate.to_embed(session, app_id, model, LIMIT),
    )


def keep(session: Session, app_id: str, found: Missing, vectors: Sequence[bytes], model: str) -> None:
    """Give vectors to what was found without; what was changed or erased meanwhile stays as it is now."""
    own, others = vectors[: len(found.summaries)], vectors[len(found.summaries) :]
    writing.keep_vectors(session, dict(zip(found.summaries, own, strict=False)), model)
    gate.keep_vectors(session, app_id, dict(zip(found.profiles, others, strict=False)), model)
