"""What of a talk must not be lost: the user's statements from an importance on, in their own words.

The one place that knows how such statements are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shared.text.gate import Gate
from shared.text.languages import language_of
from worker.agent.clauses import clauses
from worker.agent.protocol import TranscriptTurn
from worker.agent.salience import IMPORTANCE, sort_of

WORTH_KEEPING = 5
"""Importance from which on a talk that says it is not nothing."""
NOT_TO_BE_LOST = 8
"""Importance from which on a memory has to say it: what harms if it is forgotten, a limit, a wish that stands."""


def vital(turns: Sequence[TranscriptTurn], least: int) -> tuple[str, ...]:
    """Return the user's statements of an importance of at least ``least`` (0..10), in the order they were said."""
    said = [turn.content for turn in turns if turn.role == "user"]
    language = language_of("\n".join(said))
    found = (clause for content in said for clause in clauses(content))
    return tuple(one.text for one in found if IMPORTANCE[sort_of(one.text, one.asks, language)] >= least)


def left_out(text: str, statements: Iterable[str]) -> tuple[str, ...]:
    """Return the statements of which less than half of the words of weight stand in a text."""
    held = Gate([text])
    return tuple(one for one in statements if not held.holds(one))
