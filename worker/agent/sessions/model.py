"""The Memory Sub-Agent's part that condenses by asking a language model.

It decides what the model is shown, and which of its lines are taken: what they name must stand in the record, and
together they are never longer than asked. What it forgot is added by the weaving. How a model is reached is the chat's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, model_validator

from shared.llm.calls import Meter, WorkKind
from shared.llm.chat import Question, ask_repairing
from shared.llm.tokens import most_tokens
from shared.sessions.compressions.chunks import Chunk, Condensed, Piece
from shared.sessions.compressions.drafting import Line
from shared.sessions.compressions.names import missing_in, names_in
from shared.wording import clean, shorten
from worker.agent.model_answers import is_apology
from worker.agent.model_part import ModelPart
from worker.agent.model_prompts import fill
from worker.agent.room import room_beside
from worker.agent.sessions.protocol import CompressionAgent

_LEAST_ROOM = 600
"""Tokens of a record below which a window is of no use."""
_ANSWER_SHARE = 4
"""An answer may take a quarter of the window."""
_NAMES_CHARS = 300
_SHOWN_NAMES = 3
"""Names that a complaint quotes."""
_MARKER = "##keepit"


class CondensedLine(BaseModel):
    """One line, and the numbers of the pieces it was made from."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    text: str
    sources: list[int] = Field(alias="from")


class CompressionAnswer(BaseModel):
    """The lines of a record; an empty list is an answer."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    lines: list[CondensedLine]

    @model_validator(mode="after")
    def _says_something(self) -> CompressionAnswer:
        for line in self.lines:
            text = clean(line.text)
            if not any(character.isalnum() for character in text):
                raise ValueError("a line has no words")
            if is_apology(text):
                raise ValueError("a line is an apology and not what was asked for")
        return self


@dataclass(frozen=True)
class _Task:
    """One chunk under way."""

    shown: tuple[Piece, ...]
    record: str
    limit: int

    def complaint(self, answer: CompressionAnswer) -> str | None:
        """Say what a second answer could do better."""
        invented = [name for line in answer.lines for name in self.invented(line)]
        if invented:
            return f"these do not stand in the record: {', '.join(invented[:_SHOWN_NAMES])}"
        if any(not self.sources(line) for line in answer.lines):
            return "a line names no number that stands in the record"
        length = sum(len(clean(line.text)) + 1 for line in answer.lines)
        if length > self.limit:
            return f"the lines take {length} characters together and may take at most {self.limit}"
        return None

    def invented(self, line: CondensedLine) -> list[str]:
        """Return what a line names that stands nowhere in the record."""
        text = clean(line.text)
        return missing_in(names_in(text), self.record) + ([_MARKER] if _MARKER in text.lower() else [])

    def sources(self, line: CondensedLine) -> tuple[str, ...]:
        """Return the records a line was made from."""
        numbers = [number - 1 for number in line.sources if 0 < number <= len(self.shown)]
        return tuple(dict.fromkeys(self.shown[number].source for number in sorted(numbers)))

    def fitting(self, answer: CompressionAnswer) -> Iterator[Line]:
        """Yield the lines that can be taken, as far as there is room; the first alone is cut."""
        room = self.limit
        for number, line in enumerate(one for one in answer.lines if not self.invented(one)):
            text = clean(line.text)
            if len(text) + 1 > room and number > 0:
                return
            text = shorten(text, max(1, room - 1))
            room -= len(text) + 1
            yield Line(text, self.sources(line) or (self.shown[0].source,))


class ModelCompressionAgent(ModelPart, CompressionAgent):
    """Condenses with what a chat answers. ``timeout_seconds`` is for one question with its repair."""

    @property
    def chunk_tokens(self) -> int:
        return self._room()

    def condense(self, chunk: Chunk, meter: Meter) -> Condensed:
        shown = tuple(_fitting(chunk.pieces, self._room()))
        record = "\n".join(_line(number, piece) for number, piece in enumerate(shown, 1))
        task = _Task(shown, record, min(chunk.room, self._answer_tokens))
        question = self._question(record, ", ".join(_names(chunk.must_keep)), task.limit)
        answer = ask_repairing(self._chat, question, self._timeout_seconds, meter, task.complaint, lambda _: None)
        return Condensed((), tuple(task.fitting(answer)))

    @property
    def _answer_tokens(self) -> int:
        return self._context_tokens // _ANSWER_SHARE

    def _room(self) -> int:
        empty = self._question("", "_" * _NAMES_CHARS, 10**6)
        return room_beside(empty, self._context_tokens, _LEAST_ROOM)

    def _question(self, record: str, names: str, limit: int) -> Question[CompressionAnswer]:
        prompt = fill("compress", mark=self._mark(), record=record, names=names or "(none)", limit=limit)
        tokens = self._answer_tokens
        # The first line of what is shown holds the mark, so no server has cached anything behind it.
        return Question(WorkKind.COMPRESS, prompt.system, prompt.user, CompressionAnswer, tokens, fresh=prompt.user)


def _line(number: int, piece: Piece) -> str:
    return f"[{number}] {piece.speaker}: {clean(piece.text)}"


def _fitting(pieces: Sequence[Piece], room: int) -> Iterator[Piece]:
    """Yield the pieces to show: all that are to be condensed, and of what was done meanwhile what fits beside them."""
    costs = [most_tokens(_line(9_999, piece)) + 1 for piece in pieces]
    room -= sum(cost for cost, piece in zip(costs, pieces, strict=True) if piece.number is not None)
    for cost, piece in zip(costs, pieces, strict=True):
        if piece.number is not None:
            yield piece
        elif cost <= room:
            room -= cost
            yield piece


def _names(names: Sequence[str]) -> Iterator[str]:
    room = _NAMES_CHARS
    for name in names:
        room -= len(name) + 2
        if room < 0:
            return
        yield name
