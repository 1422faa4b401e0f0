"""What a model is shown of a segment: numbered lines, as many whole turns as fit its window.

A single turn that does not fit is read in pieces, each with the turn's number, so that nothing of it is passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shared.wording import clean
from worker.agent.facts.protocol import KnownFact
from worker.agent.model_reading import Line, fitting_parts, split_text, spoken_lines
from worker.agent.protocol import Turn

_DAY_ROOM = 20


@dataclass(frozen=True)
class Reading:
    """What is read in one go: the parts shown, one question each, and how many turns that makes."""

    parts: tuple[tuple[Line, ...], ...]
    turns: int


def readable(turns: Sequence[Turn], room: int) -> Reading:
    """Choose how much of the turns is read, given the tokens there are for them in one question."""
    lines: list[Line] = []
    for count, turn in enumerate(turns):
        line = numbered(turn, count + 1)
        longer = [*lines, *line]
        if line and len(fitting_parts(longer, room)) > 1:
            return Reading((tuple(lines),), count) if lines else Reading(_pieces(line[0], room), count + 1)
        lines = longer
    return Reading((tuple(lines),) if lines else (), len(turns))


def numbered(turn: Turn, number: int) -> tuple[Line, ...]:
    """Return a turn's line with its number; none where it says nothing."""
    return tuple(Line(f"[{number}] {line.text}", line.message_ids, line.day) for line in spoken_lines([turn]))


def _pieces(line: Line, room: int) -> tuple[tuple[Line, ...], ...]:
    opening = line.text.split(": ", 1)[0][:80]
    texts = split_text(line.text.split(": ", 1)[-1], room - Line(opening, ()).tokens - _DAY_ROOM)
    return tuple((Line(f"{opening}: {text}", line.message_ids, line.day),) for text in texts)


def earlier_lines(turns: Sequence[Turn], room: int) -> list[Line]:
    """Return the last of the turns already seen that fit, whole, oldest first."""
    kept: list[Line] = []
    for line in reversed(spoken_lines(turns)):
        room -= line.tokens + _DAY_ROOM
        if room < 0:
            break
        kept.insert(0, line)
    return kept


def known_lines(known: Sequence[KnownFact], room: int) -> dict[int, str]:
    """Return the newest known facts that fit, each as a line under its id."""
    kept: dict[int, str] = {}
    for fact in sorted(known, key=lambda fact: -fact.fact_id):
        line = Line(f"{fact.fact_id}: {clean(fact.statement)}", ())
        room -= line.tokens
        if room < 0:
            break
        kept[fact.fact_id] = line.text
    return kept
