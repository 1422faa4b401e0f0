"""What a model is asked: the prompt's template, the lines of a conversation that fit its window, and who is asked.

Only what users and assistants said is shown. Each message is one line, so that no message can pass for two. Templates
know ``$name`` and nothing else, so braces and markup in what people wrote mean nothing.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from string import Template
from typing import Annotated

from pydantic import AfterValidator

from shared.errors import Configuration
from shared.llm.calls import Meter, WorkKind
from shared.llm.chat import FRAME_TOKENS, REPAIR_TOKENS, AnswerT, Chat, Question, ask_repairing
from shared.llm.tokens import most_tokens
from shared.text.gate import Echoes, echoes
from shared.text.lines import clean
from shared.text.sentences import without_secrets
from worker.agent.protocol import SPOKEN_ROLES, PresentFact, TranscriptTurn


def _mark() -> str:
    return secrets.token_hex(4)


class ModelPart:
    """A part that asks a chat. ``timeout_seconds`` is for one question with its repair."""

    def __init__(
        self, chat: Chat, name: str, context_tokens: int, timeout_seconds: float, mark: Callable[[], str] = _mark
    ) -> None:
        """``mark`` gives an unforeseeable word, so that nothing that is shown can pretend to end the material."""
        self._chat = chat
        self._name = name
        self._context_tokens = context_tokens
        self._timeout_seconds = timeout_seconds
        self._mark = mark

    @property
    def name(self) -> str:
        """Recorded with what it makes: ``ollama:NAME``."""
        return self._name

    def ask(
        self,
        question: Question[AnswerT],
        meter: Meter,
        complaint: Callable[[AnswerT], str | None],
        hopeless: Callable[[AnswerT], str | None] = lambda _: None,
    ) -> AnswerT:
        """Ask, and once more with the complaint; ``hopeless`` complains of a second answer that cannot be used."""
        return ask_repairing(self._chat, question, self._timeout_seconds, meter, complaint, hopeless)

    def budget_beside(self, empty: Question[AnswerT], least: int) -> int:
        """Return how many tokens of conversation fit beside an otherwise complete question and its repair.

        Raises:
            Configuration: fewer than ``least``.
        """
        used = sum(map(most_tokens, empty.texts)) + FRAME_TOKENS + REPAIR_TOKENS + empty.max_completion_tokens
        budget = self._context_tokens - used
        if budget < least:
            raise Configuration(
                f"A window of {self._context_tokens} tokens leaves no room for a conversation; "
                f"AFTERTHOUGHT_MODEL_CONTEXT_TOKENS must be at least {used + least}."
            )
        return budget


@dataclass(frozen=True)
class PromptTexts:
    """What a model is told (``system``) and what it is shown (``user``)."""

    system: str
    user: str

    def question(self, kind: WorkKind, answer: type[AnswerT], max_tokens: int) -> Question[AnswerT]:
        """Return it as a question to a chat."""
        # The first line of what is shown holds the mark, so no server has cached anything behind it.
        return Question(kind, self.system, self.user, answer, max_tokens, fresh=self.user)


def fill(name: str, **values: object) -> PromptTexts:
    """Return the prompt ``name`` with its placeholders filled in; a missing one is a ``KeyError``."""
    return PromptTexts(_text(f"{name}_system.md"), Template(_text(f"{name}_user.md")).substitute(values))


@cache
def _text(file_name: str) -> str:
    return (files(__package__) / "prompts" / file_name).read_text(encoding="utf-8").strip()


@cache
def prompt_rows() -> Echoes:
    """Return the words of all prompts as the gate knows them again."""
    folder = files(__package__) / "prompts"
    return echoes(file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".md"))


_SECRET = "[…]"


def masked(text: str) -> str:
    """Return a text as a model is shown it: one clean line, with a mark for each sentence that holds a secret."""
    return clean(without_secrets(text, _SECRET))


@dataclass(frozen=True)
class PromptLine:
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


def spoken_lines(turns: Iterable[TranscriptTurn]) -> tuple[PromptLine, ...]:
    """Return a line for each message with words that a user or an assistant said."""
    spoken = (turn for turn in turns if turn.role in SPOKEN_ROLES)
    said = ((turn, masked(turn.content)) for turn in spoken)
    return tuple(
        PromptLine(f"{_speaker(turn)}: {content}", (turn.message_id,), turn.created_at.date())
        for turn, content in said
        if content
    )


def _speaker(turn: TranscriptTurn) -> str:
    name = clean(turn.name or "")[:60].replace(":", " ")
    return f"{turn.role} ({name})" if name else turn.role


def written(lines: Iterable[PromptLine]) -> str:
    """Return the lines as one text, with the day wherever it changes."""
    texts: list[str] = []
    day: date | None = None
    for line in lines:
        if line.day is not None and line.day != day:
            day = line.day
            texts.append(f"({day.isoformat()})")
        texts.append(line.text)
    return "\n".join(texts)


def fitting_parts(lines: Iterable[PromptLine], budget: int) -> list[tuple[PromptLine, ...]]:
    """Divide the lines, in order and without loss, into parts that take at most ``room`` tokens when written."""
    parts: list[tuple[PromptLine, ...]] = []
    part: list[PromptLine] = []
    taken = 0
    for line in _fitting_lines(lines, budget - _DAY_TOKENS):
        new_day = line.day is not None and (not part or part[-1].day != line.day)
        cost = line.tokens + (_DAY_TOKENS if new_day else 0)
        if part and taken + cost > budget:
            parts.append(tuple(part))
            part, taken, cost = [], 0, line.tokens + _DAY_TOKENS
        part.append(line)
        taken += cost
    return [*parts, tuple(part)] if part else parts


def _fitting_lines(lines: Iterable[PromptLine], budget: int) -> Iterator[PromptLine]:
    for line in lines:
        if line.tokens <= budget:
            yield line
        else:
            yield from (PromptLine(text, line.message_ids, line.day) for text in split_text(line.text, budget - 1))


def split_text(text: str, budget: int) -> list[str]:
    """Divide ``text`` at white space into pieces of at most ``room`` tokens; only a longer word is cut."""
    pieces: list[str] = []
    piece: list[str] = []
    taken = 0
    for word in _fitting_words(text, budget):
        cost = most_tokens(word) + 1
        if piece and taken + cost > budget + 1:
            pieces.append(" ".join(piece))
            piece, taken = [], 0
        piece.append(word)
        taken += cost
    return [*pieces, " ".join(piece)] if piece else pieces


def _fitting_words(text: str, budget: int) -> Iterator[str]:
    # Three tokens is the most one character takes.
    step = max(budget // 3, 1)
    for word in text.split():
        if most_tokens(word) <= budget:
            yield word
        else:
            yield from (word[start : start + step] for start in range(0, len(word), step))


def message_ids(lines: Sequence[PromptLine]) -> tuple[str, ...]:
    """Return the messages that the lines stand for, each once, in order."""
    return tuple(dict.fromkeys(i for line in lines for i in line.message_ids))


_DAY_LINE_TOKENS = 20


@dataclass(frozen=True)
class ReadableTurns:
    """What is read in one go: the parts shown, one question each, and how many turns that makes."""

    parts: tuple[tuple[PromptLine, ...], ...]
    turns: int


def readable(turns: Sequence[TranscriptTurn], budget: int) -> ReadableTurns:
    """Choose how much of the turns is read, given the tokens there are for them in one question."""
    lines: list[PromptLine] = []
    for count, turn in enumerate(turns):
        line = numbered(turn, count + 1)
        longer = [*lines, *line]
        if line and len(fitting_parts(longer, budget)) > 1:
            return (
                ReadableTurns((tuple(lines),), count) if lines else ReadableTurns(_pieces(line[0], budget), count + 1)
            )
        lines = longer
    return ReadableTurns((tuple(lines),) if lines else (), len(turns))


def numbered(turn: TranscriptTurn, number: int) -> tuple[PromptLine, ...]:
    """Return a turn's line with its number; none where it says nothing."""
    return tuple(PromptLine(f"[{number}] {line.text}", line.message_ids, line.day) for line in spoken_lines([turn]))


def _pieces(line: PromptLine, budget: int) -> tuple[tuple[PromptLine, ...], ...]:
    opening = line.text.split(": ", 1)[0][:80]
    texts = split_text(line.text.split(": ", 1)[-1], budget - PromptLine(opening, ()).tokens - _DAY_LINE_TOKENS)
    return tuple((PromptLine(f"{opening}: {text}", line.message_ids, line.day),) for text in texts)


def first_fitting(lines: Iterable[PromptLine], budget: int) -> list[PromptLine]:
    """Return the first lines that take at most ``room`` tokens together."""
    kept: list[PromptLine] = []
    for line in lines:
        budget -= line.tokens
        if budget < 0:
            break
        kept.append(line)
    return kept


def earlier_lines(turns: Sequence[TranscriptTurn], budget: int) -> list[PromptLine]:
    """Return the last of the turns already seen that fit, whole, oldest first."""
    kept: list[PromptLine] = []
    for line in reversed(spoken_lines(turns)):
        budget -= line.tokens + _DAY_LINE_TOKENS
        if budget < 0:
            break
        kept.insert(0, line)
    return kept


def known_lines(known: Sequence[PresentFact], budget: int) -> dict[int, str]:
    """Return the newest known facts that fit, each as a line under its id."""
    newest = sorted(known, key=lambda fact: -fact.fact_id)
    lines = (PromptLine(f"{fact.fact_id}: {masked(fact.statement)}", ()) for fact in newest)
    return {fact.fact_id: line.text for fact, line in zip(newest, first_fitting(lines, budget), strict=False)}


_APOLOGY = re.compile(
    r"\W*(?:(?:oh|well|unfortunately|regrettably|as requested)\W+)*(?:"
    r"(?:i['’]?m|i am|we['’]?re|we are)\s+(?:\w+\s+)?(?:sorry|afraid|unable|not able|not allowed|just an ai|an ai)\b"
    r"|(?:sorry|apologies|my apologies)\b"
    r"|i\s+(?:apologi[sz]e|can\s?not|can['’]?t|won['’]?t|could\s?not|couldn['’]?t|do not have|don['’]?t have)\b"
    r"|as an? (?:ai|artificial|large language|language model)\b)",
    re.IGNORECASE,
)


def is_apology(text: str) -> bool:
    """Whether a text is the model speaking of itself instead of doing its work. A memory never speaks as "I"."""
    return _APOLOGY.match(text) is not None


def worded(text: str) -> str:
    """Return a text of a model's. Raises: ValueError, where it has no words, or is an apology."""
    if not any(character.isalnum() for character in text):
        raise ValueError("it has no words")
    if is_apology(clean(text)):
        raise ValueError("it is an apology and not what was asked for")
    return text


Worded = Annotated[str, AfterValidator(worded)]
