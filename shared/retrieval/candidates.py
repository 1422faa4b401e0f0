"""What may be asked for, as the indexes know it, and where it came to stand."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from shared.indexing.models import PassageKind


@dataclass(frozen=True)
class Candidate:
    """A message, or with ``part`` from 1 a passage of it, that may be what is asked for."""

    place: int
    part: int
    role: str
    name: str | None
    content: str
    created_at: datetime
    dense: float | None
    """Cosine with the question; None where it has no vector."""
    around: float | None
    """Mean of the cosines of the turns within reach."""
    turn: float | None
    """Score of its words; None where words were not searched."""
    window: float | None
    """Score of the words said around it."""
    kind: PassageKind | None = None


@dataclass(frozen=True)
class Ranked:
    """A candidate and why it stands where it does: ``parts`` add up to ``score``."""

    candidate: Candidate
    score: float
    parts: dict[str, float]
