"""How fast a model is, by its last calls: how long the next may take, and where the time of a late one went.

In the memory of one process, for one model. Until something was measured, and after a call that was late, a call may
take all the time there is.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

_REMEMBERED = 8
_LEAST_TOKENS = 8
"""Of fewer, the time says more of the way there than of the model."""
GENEROUS = 3.0
FLOOR_SECONDS = 30.0
"""No call is ended earlier, unless there is no more time: a model may have to be loaded anew after a pause."""


@dataclass(frozen=True)
class CallSeconds:
    """Where the time of one call went."""

    before: float
    """Until the model began to read: in the server's queue, and while it was loaded."""
    reading: float
    writing: float


class ModelSpeed:
    """The figures of one model. They vary, as a cached prompt is read in no time: limits go by the slowest."""

    def __init__(self) -> None:
        self._reading = deque[float](maxlen=_REMEMBERED)
        self._writing = deque[float](maxlen=_REMEMBERED)
        self._longest_before = 0.0

    def note(self, seconds: CallSeconds, prompt_tokens: int, completion_tokens: int) -> None:
        """Learn from a call that was answered."""
        self._longest_before = max(self._longest_before, seconds.before)
        if prompt_tokens >= _LEAST_TOKENS:
            self._reading.append(seconds.reading / prompt_tokens)
        if completion_tokens >= _LEAST_TOKENS:
            self._writing.append(seconds.writing / completion_tokens)

    def forget(self) -> None:
        """Know nothing any more, as after a call that took longer than was foreseen."""
        self._reading.clear()
        self._writing.clear()

    @property
    def is_known(self) -> bool:
        """Whether enough was measured."""
        return bool(self._reading and self._writing)

    def least_seconds(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return how long a call of that size takes at the least; 0 where too little is known."""
        if not self.is_known:
            return 0.0
        return min(self._reading) * prompt_tokens + min(self._writing) * completion_tokens

    def limit_seconds(self, prompt_tokens: int, most_completion_tokens: int, patience: float) -> float:
        """Return after how long a call is to be ended."""
        if not self.is_known:
            return patience
        slowest = max(self._reading) * prompt_tokens + max(self._writing) * most_completion_tokens
        return min(patience, max(FLOOR_SECONDS, GENEROUS * slowest + self._longest_before))

    def was_queued(self, prompt_tokens: int, silent_seconds: float, all_seconds: float) -> bool:
        """Whether most of a late call's time went by before the model can have begun to read.

        ``silent_seconds``: until its first word came, or altogether.
        """
        return self.is_known and silent_seconds - max(self._reading) * prompt_tokens > all_seconds / 2
