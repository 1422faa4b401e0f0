"""How retrievals went: noted while they happen, written some at a time, and nothing of what was asked or found.

The calls of the built-in embedder for queries are booked here too, one row for all of an app's since the last time,
because a row a search would take longer than the search.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy.orm import Session

from shared.llm.calls import EXTRACTIVE, Meter, ModelCall, Prospect
from shared.retrieval.models import Asker, Retrieval

MOST_WAITING = 10_000
"""Older figures are dropped while the database does not take them."""


@dataclass(frozen=True)
class Figures:
    """One retrieval; durations in milliseconds."""

    app_id: str
    conversation_key: int | None
    asker: Asker
    at: datetime
    results: int
    top_score: float | None
    sources: Mapping[str, int]
    durations: Mapping[str, float]
    flags: Mapping[str, object]
    tokens_used: int | None = None
    token_budget: int | None = None
    top_similarities: Sequence[float] = ()
    """Of the results most like the question, the best first, cosines."""


class Recorder:
    """Holds what is still to be written; for any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._figures: deque[Figures] = deque(maxlen=MOST_WAITING)
        self._calls: dict[str, ModelCall] = {}
        self.waiting = threading.Event()

    def note(self, figures: Figures) -> None:
        """Have a retrieval written soon."""
        with self._lock:
            self._figures.append(figures)
        self.waiting.set()

    def book(self, app_id: str, call: ModelCall) -> None:
        """Have a call of the built-in embedder booked soon."""
        with self._lock:
            former = self._calls.get(app_id)
            self._calls[app_id] = call if former is None else _both(former, call)
        self.waiting.set()

    def take(self) -> tuple[tuple[Figures, ...], dict[str, ModelCall]]:
        """Return what is to be written, and forget it."""
        with self._lock:
            self.waiting.clear()
            figures, calls = tuple(self._figures), self._calls
            self._figures.clear()
            self._calls = {}
        return figures, calls

    def put_back(self, figures: Sequence[Figures]) -> None:
        """Take back what could not be written; where there is no room for all of it, the older goes."""
        with self._lock:
            self._figures = deque([*figures, *self._figures], maxlen=MOST_WAITING)
        self.waiting.set()


class QueryMeter:
    """Pays for the vector of one query: the built-in embedder's later, a model's as any other call's."""

    def __init__(self, app_id: str, recorder: Recorder, of_model: Meter) -> None:
        self._app_id = app_id
        self._recorder = recorder
        self._of_model = of_model

    def reserve(self, prospect: Prospect) -> None:
        """Set aside what a model's call will likely cost. Raises: OverBudget."""
        if prospect.model != EXTRACTIVE:
            self._of_model.reserve(prospect)

    def __call__(self, call: ModelCall) -> None:
        if call.model == EXTRACTIVE:
            self._recorder.book(self._app_id, call)
        else:
            self._of_model(call)


def write(session: Session, figures: Sequence[Figures]) -> None:
    """Write how retrievals went."""
    session.add_all(
        Retrieval(
            app_id=one.app_id,
            conversation_key=one.conversation_key,
            asker=one.asker,
            at=one.at,
            results=one.results,
            top_score=one.top_score,
            top_similarities=[round(similarity, 6) for similarity in one.top_similarities],
            sources=dict(one.sources),
            durations={stage: round(taken, 3) for stage, taken in one.durations.items()},
            flags=dict(one.flags),
            tokens_used=one.tokens_used,
            token_budget=one.token_budget,
        )
        for one in figures
    )


def _both(one: ModelCall, other: ModelCall) -> ModelCall:
    return replace(
        one, prompt_tokens=one.prompt_tokens + other.prompt_tokens, seconds=one.seconds + other.seconds,
        outcome=other.outcome,
    )  # fmt: skip
