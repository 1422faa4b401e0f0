"""Where a search may look: places as numbers, masked without asking the database again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shared.indexing.places import POSITION_BITS

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Scope:
    """A part of one app's places; ``conversations`` ascend."""

    within: int | None = None
    """Only this conversation."""
    beyond: int | None = None
    """Not this conversation."""
    conversations: Places | None = None
    """Only these conversations; None for all of the app's."""

    @property
    def is_everything(self) -> bool:
        """Whether nothing of the app is left out."""
        return self.within is None and self.beyond is None and self.conversations is None

    def holds(self, places: Places) -> NDArray[np.bool_]:
        """Return for each place whether it lies within."""
        inside = np.ones(len(places), np.bool_)
        if self.is_everything:
            return inside
        conversations = places >> POSITION_BITS
        if self.within is not None:
            inside &= conversations == self.within
        if self.beyond is not None:
            inside &= conversations != self.beyond
        if self.conversations is not None:
            inside &= _among(conversations, self.conversations)
        return inside


def _among(values: Places, ascending: Places) -> NDArray[np.bool_]:
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    found: NDArray[np.bool_] = ascending[np.searchsorted(ascending, values).clip(max=len(ascending) - 1)] == values
    return found
