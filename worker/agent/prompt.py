"""What a model is asked: a prompt, the lines of a conversation that fit its window, and who is asked.

Each kind of work declares its prompt beside the schema of its answer. Only what users and assistants said is shown,
each message as one line, so that no message can pass for two. What is the same for every conversation stands first,
then what was said, so that a server has most of a second attempt in its cache. Templates know ``$name`` and nothing
else, so braces and markup in what people wrote mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from itertools import groupby
from string import Template
from typing import Annotated, Any, TypeVar, cast

from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic.config import JsonDict

from shared.base.errors import Configuration
from shared.llm.calls import Meter, WorkKind, most_tokens
from shared.llm.chat import FRAME_TOKENS, REPAIR_TOKENS, AnswerT, Chat, Check, Question, answer_with_repair
from shared.text.gate import Echoes, echoes
from shared.text.languages import ENGLISH
from shared.text.lines import clean
from shared.text.sentences import without_secrets
from worker.agent.protocol import SPOKEN_ROLES, TranscriptTurn

_T = TypeVar("_T")
_LEAST_BUDGET = 200
"""Tokens of conversation below which a window is of no use."""
KEY_TOKENS = 40
"""What an answer takes beside its texts: braces, keys, numbers."""
ENTRY_TOKENS = 140
"""What one entry of a list takes in an answer, with its keys."""
SHARE = 4
"""What is shown beside a conversation takes at most this fraction (a quarter) of the room there is."""
_PROMPTS: list[Prompt] = []
"""Every prompt that was declared, so that the gate knows its words again."""


@dataclass(frozen=True)
class Prompt:
    """What a model is told for one kind of question."""

    system: str
    user: str
    """A template; what was said stands before what is wanted of it."""
    examples: tuple[tuple[str, str], ...] = ()
    """Turns of a user and of the model as it should answer, of other worlds than users' are."""

    def __post_init__(self) -> None:
        _PROMPTS.append(self)
        # A module with prompts may be imported after the gate has asked for them.
        prompt_rows.cache_clear()


@cache
def prompt_rows() -> Echoes:
    """Return the words of all prompts as the gate knows them again."""
    texts = (
        text for one in _PROMPTS for text in (one.system, one.user, *(turn for pair in one.examples for turn in pair))
    )
    return echoes(texts)


@dataclass(frozen=True)
class ModelPart:
    """A part that asks a chat. ``timeout_seconds`` is for one question with its repair."""

    chat: Chat
    name: str
    """Recorded with what it makes: ``ollama:NAME``."""
    context_tokens: int
    timeout_seconds: float
    is_small: Callable[[], bool] = lambda: False
    """Whether the model is too small to choose. Asked at each job, as its server may come later than we."""
    languages: frozenset[str] = frozenset({ENGLISH})
    """In which a small model is asked for its words; in others it translates, or repeats."""

    def question(
        self, prompt: Prompt, kind: WorkKind, answer: type[AnswerT], max_tokens: int, **shown: object
    ) -> Question[AnswerT]:
        """Return the question of a prompt with its placeholders filled in; a missing one is a ``KeyError``."""
        user = Template(prompt.user).substitute(shown)
        return Question(kind, prompt.system, user, answer, max_tokens, fresh=user, examples=prompt.examples)

    def answer(
        self, question: Question[AnswerT], meter: Meter, complaint: Check[AnswerT], last: Check[AnswerT] | None = None
    ) -> AnswerT:
        """Ask, and again with the complaint; ``last`` complains of a later answer that cannot be used all the same."""
        return answer_with_repair(self.chat, question, self.timeout_seconds, meter, complaint, last or (lambda _: None))

    def budget_beside(self, empty: Question[AnswerT], least: int = _LEAST_BUDGET) -> int:
        """Return how many tokens of conversation fit beside an otherwise complete question and its repair.

        Raises:
            Configuration: fewer than ``least``.
        """
        used = sum(map(most_tokens, empty.texts)) + FRAME_TOKENS + REPAIR_TOKENS + empty.max_completion_tokens
        budget = self.context_tokens - used
        if budget < least:
            raise Configuration(
                f"A window of {self.context_tokens} tokens leaves no room for a conversation; "
                f"AFTERTHOUGHT_MODEL_CONTEXT_TOKENS must be at least {used + least}."
            )
        return budget

    def most(self, limit: int, tokens: int = 512) -> int:
        """Return how many entries to ask for: one for each ``tokens`` of window, so that small ones leave room."""
        return max(1, min(limit, self.context_tokens // tokens))


class Answer(BaseModel):
    """What a model is asked for; what it says beside is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


def longest(characters: int) -> JsonDict:
    """Return what a schema says of a text's length. Grammars heed it; a longer text of a server without is mended."""
    return {"maxLength": characters}


def at_most(count: int, least: int = 0) -> JsonDict:
    """Return what a schema says of a list's length, in the same way."""
    return {"minItems": least, "maxItems": count}


def numbered(count: int) -> JsonDict:
    """Return what a schema says of a number of one of so many things shown, in the same way."""
    return {"type": "integer", "minimum": 1, "maximum": count}


def bounded(answer: type[AnswerT], **bounds: JsonDict) -> type[AnswerT]:
    """Return a shape whose schema says more of the fields so named, wherever they stand in it; what it takes stays.

    The longest answer that a question's bounds allow has to have room in its tokens: a model that rambles is then
    ended by the grammar, with something to read, and not in the middle.
    """

    def model_json_schema(_: type[BaseModel], *args: Any, **kwargs: Any) -> dict[str, Any]:
        schema = answer.model_json_schema(*args, **kwargs)
        for shape in (schema, *schema.get("$defs", {}).values()):
            fields = shape.get("properties", {})
            for name in bounds.keys() & fields.keys():
                fields[name] = {**fields[name], **bounds[name]}
        return schema

    return cast(
        "type[AnswerT]", type(answer.__name__, (answer,), {"model_json_schema": classmethod(model_json_schema)})
    )


def ended(text: str, *, is_cut: bool) -> str:
    """Return a text as one line; one that its grammar cut off ends with its last whole clause."""
    return clean(text).rpartition(", ")[0] if is_cut else clean(text)


def masked(text: str) -> str:
    """Return a text as a model is shown it: one clean line, with a mark for each sentence that holds a secret."""
    return clean(without_secrets(text))


def line_tokens(text: str) -> int:
    """Return the most tokens that a line takes, with its end."""
    return most_tokens(text) + 1


@dataclass(frozen=True)
class PromptLine:
    """One line of a prompt and the messages it stands for."""

    text: str
    message_ids: tuple[str, ...] = ()
    day: date | None = None
    """When it was said; None where that is told elsewhere."""


def spoken_lines(turns: Iterable[TranscriptTurn]) -> list[PromptLine]:
    """Return a line for each message with words that a user or an assistant said."""
    return [
        PromptLine(f"{_speaker(turn)}: {content}", (turn.message_id,), turn.created_at.date())
        for turn in turns
        if turn.role in SPOKEN_ROLES and (content := masked(turn.content))
    ]


def _speaker(turn: TranscriptTurn) -> str:
    # The first colon ends the speaker, so that a name may hold none.
    name = clean(turn.name or "")[:60].replace(":", " ")
    return f"{turn.role} ({name})" if name else turn.role


def written(lines: Iterable[PromptLine]) -> str:
    """Return the lines as one text, with the day wherever it changes."""
    days = groupby(lines, key=lambda line: line.day)
    parts = ([*([f"({day.isoformat()})"] if day else []), *(line.text for line in of_day)] for day, of_day in days)
    return "\n".join(text for part in parts for text in part)


def message_ids(lines: Iterable[PromptLine]) -> tuple[str, ...]:
    """Return the messages that the lines stand for, each once, in order."""
    return tuple(dict.fromkeys(i for line in lines for i in line.message_ids))


def under(numbers: Iterable[int], shown: Sequence[_T]) -> list[_T]:
    """Return what was shown under these numbers, which begin with one; others are passed over."""
    return [shown[number - 1] for number in numbers if 0 < number <= len(shown)]


def first_fitting(items: Iterable[_T], budget: int, cost: Callable[[_T], int]) -> Iterator[_T]:
    """Yield the first items that take at most ``budget`` together."""
    for item in items:
        budget -= cost(item)
        if budget < 0:
            return
        yield item


def _groups(items: Iterable[_T], budget: int, cost: Callable[[_T, _T | None], int]) -> list[list[_T]]:
    """Divide the items, in order, into groups of at most ``budget``; a cost may depend on the item before."""
    groups: list[list[_T]] = []
    left = 0
    for item in items:
        if not groups or (left := left - cost(item, groups[-1][-1])) < 0:
            groups.append([])
            left = budget - cost(item, None)
        groups[-1].append(item)
    return groups


def split_text(text: str, budget: int) -> list[str]:
    """Divide ``text`` at white space into pieces of at most ``budget`` tokens; only a longer word is cut."""
    # Three tokens is the most one character takes.
    cut = re.compile(f".{{1,{max(budget // 3, 1)}}}")
    words = (piece for word in text.split() for piece in ([word] if most_tokens(word) <= budget else cut.findall(word)))
    # One more, as each word is counted with a space behind it, and the last has none.
    return [" ".join(group) for group in _groups(words, budget + 1, lambda word, _: line_tokens(word))]


_DAY_TOKENS = line_tokens("(2000-01-01)")


def fitting_parts(lines: Iterable[PromptLine], budget: int) -> list[list[PromptLine]]:
    """Divide the lines, in order and without loss, into parts that take at most ``budget`` tokens when written."""

    def cost(line: PromptLine, before: PromptLine | None) -> int:
        is_new_day = line.day is not None and (before is None or before.day != line.day)
        return line_tokens(line.text) + (_DAY_TOKENS if is_new_day else 0)

    # A day may have to stand before any of them.
    most = budget - _DAY_TOKENS
    pieces = (
        replace(line, text=text)
        for line in lines
        for text in ([line.text] if line_tokens(line.text) <= most else split_text(line.text, most - 1))
    )
    return _groups(pieces, budget, cost)


def readable(turns: Sequence[TranscriptTurn], budget: int) -> tuple[list[list[PromptLine]], int]:
    """Return what of the turns is read in one go: the parts shown, one question each, and how many turns that makes.

    ``budget`` are the tokens there are for them in one question.
    """
    lines: list[PromptLine] = []
    for count, turn in enumerate(turns):
        line = [replace(line, text=f"[{count + 1}] {line.text}") for line in spoken_lines([turn])]
        # One that does not fit by itself is read alone, in pieces.
        if line and len(fitting_parts([*lines, *line], budget)) > 1:
            return ([lines], count) if lines else (_pieces(line[0], budget), count + 1)
        lines += line
    return [lines] if lines else [], len(turns)


def _pieces(line: PromptLine, budget: int) -> list[list[PromptLine]]:
    speaker, _, spoken = line.text.partition(": ")
    begins = f"{speaker[:80]}: "
    texts = split_text(spoken, budget - line_tokens(begins) - _DAY_TOKENS)
    return [[replace(line, text=begins + text)] for text in texts]


_APOLOGY = re.compile(
    r"\W*(?:(?:oh|well|unfortunately|regrettably|as requested)\W+)*(?:(?:my )?apologies|sorry"
    r"|(?:i['’]?m|i am|we['’]?re|we are)\s+(?:\w+\s+)?(?:sorry|afraid|unable|not able|not allowed|an ai)"
    r"|i\s+(?:apologi[sz]e|can(?:\s?no|['’]?)t|won['’]?t|could(?:\s?no|n['’]?)t|do(?: no|n['’]?)t have)"
    r"|as an? (?:ai|artificial|large language|language model))\b",
    re.IGNORECASE,
)


def is_apology(text: str) -> bool:
    """Whether a text is the model speaking of itself instead of doing its work. A memory never speaks as "I"."""
    return _APOLOGY.match(text) is not None


def has_words(text: str) -> bool:
    """Whether a text is more than marks."""
    return any(character.isalnum() for character in text)


def worded(text: str) -> str:
    """Return a text of a model's. Raises: ValueError, where it has no words, or is an apology."""
    if not has_words(text):
        raise ValueError("it has no words")
    if is_apology(clean(text)):
        raise ValueError("it is an apology and not what was asked for")
    return text


Worded = Annotated[str, AfterValidator(worded)]
