"""What a model is shown of a conversation: lines, and parts of lines that fit its window.

Only what users and assistants said is shown. Each message is one line, so that no message can pass for two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from shared.llm.tokens import most_tokens
from shared.wording import clean
from worker.agent.protocol import SPOKEN_ROLES, Turn


@dataclass(frozen=True)
class Line:
    """One line of a prompt and the messages it stands for."""

    text: str
    message_ids: tuple[str, ...]
    day: date | None = None
    """When it was said; None where that is told elsewhere."""

    @property
    def tokens(self) -> int:
        """Most tokens it takes, with its line end."""
        return most_tokens(self.text) + 1


_DAY_TOKENS = most_tokens("(2000-01-01)") + 1


def spoken_lines(turns: Iterable[Turn]) -> tuple[Line, ...]:
    """Return a line for each message with words that a user or an assistant said."""
    shown = (turn for turn in turns if turn.role in SPOKEN_ROLES)
    said = ((turn, clean(turn.content)) for turn in shown)
    return tuple(_line(turn, content) for turn, content in said if content)


def _line(turn: Turn, content: str) -> Line:
    return Line(f"{_speaker(turn)}: {content}", (turn.message_id,), turn.created_at.date())


def _speaker(turn: Turn) -> str:
    name = clean(turn.name or "")[:60].replace(":", " ")
    return f"{turn.role} ({name})" if name else turn.role


def written(lines: Iterable[Line]) -> str:
    """Return the lines as one text, with the day wherever it changes."""
    return "\n".join(_with_days(lines))


def _with_days(lines: Iterable[Line]) -> Iterator[str]:
    day: date | None = None
    for line in lines:
        if line.day is not None and line.day != day:
            day = line.day
            yield f"({day.isoformat()})"
        yield line.text


def fitting_parts(lines: Iterable[Line], room: int) -> list[tuple[Line, ...]]:
    """Divide the lines, in order and without loss, into parts that take at most ``room`` tokens when written."""
    parts: list[tuple[Line, ...]] = []
    part: list[Line] = []
    taken = 0
    for line in _fitting_lines(lines, room - _DAY_TOKENS):
        new_day = line.day is not None and (not part or part[-1].day != line.day)
        cost = line.tokens + (_DAY_TOKENS if new_day else 0)
        if part and taken + cost > room:
            parts.append(tuple(part))
            part, taken, cost = [], 0, line.tokens + _DAY_TOKENS
        part.append(line)
        taken += cost
    return [*parts, tuple(part)] if part else parts


def _fitting_lines(lines: Iterable[Line], room: int) -> Iterator[Line]:
    for line in lines:
        if line.tokens <= room:
            yield line
        else:
            yield from (Line(text, line.message_ids, line.day) for text in split_text(line.text, room - 1))


def split_text(text: str, room: int) -> list[str]:
    """Divide ``text`` at white space into pieces of at most ``room`` tokens; only a longer word is cut."""
    pieces: list[str] = []
    piece: list[str] = []
    taken = 0
    for word in _fitting_words(text, room):
        cost = most_tokens(word) + 1
        if piece and taken + cost > room + 1:
            pieces.append(" ".join(piece))
            piece, taken = [], 0
        piece.append(word)
        taken += cost
    return [*pieces, " ".join(piece)] if piece else pieces


def _fitting_words(text: str, room: int) -> Iterator[str]:
    # Three tokens is the most one character takes.
    step = max(room // 3, 1)
    for word in text.split():
        if most_tokens(word) <= room:
            yield word
        else:
            yield from (word[start : start + step] for start in range(0, len(word), step))


def message_ids(lines: Sequence[Line]) -> tuple[str, ...]:
    """Return the messages that the lines stand for, each once, in order."""
    return tuple(dict.fromkeys(i for line in lines for i in line.message_ids))
