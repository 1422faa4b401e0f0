"""The Memory Sub-Agent's part that extracts facts by asking a language model.

Small models answer with words where numbers are wanted, copy an enumeration, or forget a field. Each field is read for
what it may mean and is None where that is unclear: what one entry lacks costs that entry alone. A statement must have
ground in what was said: its names and numbers, and one of its other words; a guard, not a proof.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema, model_validator

from shared.facts import categories
from shared.facts.categories import Category
from shared.llm.answers import ListAnswer
from shared.llm.calls import Meter, WorkKind
from shared.llm.chat import Question
from shared.telemetry.metrics import RefusedFact
from shared.text.likeness import normal
from shared.text.lines import clean
from shared.text.words import EMPTY, MONTHS, NUMERALS, WEEKDAYS, WORD, stem, word_set
from worker.agent.clauses import resolve
from worker.agent.fact_rules import LONGEST, once_each, without_known
from worker.agent.fact_words import EXPLAINING
from worker.agent.gates import fact_gate
from worker.agent.prompt import (
    ModelPart,
    PromptLine,
    earlier_lines,
    fill,
    is_apology,
    known_lines,
    readable,
    written,
)
from worker.agent.protocol import Extraction, ExtractionRequest, FactAgent, Statement, TranscriptTurn

_FACT_TOKENS = 110
"""What one fact takes in an answer, with its keys."""
_MOST_FACTS = 12
_TOKENS_FOR_A_FACT = 512
"""One fact is asked for each so many tokens of window, so that small windows keep room to read."""
_LEAST_BUDGET = 200
"""Tokens of conversation below which a window is of no use."""
_KNOWN_SHARE = 4
"""What is known is shown in at most this fraction (a quarter) of what is free in the window."""
_BEFORE_SHARE = 8
"""What was said before is shown in at most an eighth of it."""
_MOST_COMPLAINTS = 3
Verdict = Statement | RefusedFact


class ModelFactAgent(ModelPart, FactAgent):
    """Proposes what a chat answers. ``timeout_seconds`` is for one question with its repair."""

    def extract(self, segment: ExtractionRequest, meter: Meter) -> Extraction:
        own, recalled = _own_words(segment)
        budget = self.budget_beside(self._question(own, (), {}, ()), _LEAST_BUDGET)
        known = known_lines(segment.known, budget // _KNOWN_SHARE)
        before = earlier_lines(segment.before, budget // _BEFORE_SHARE)
        budget = self.budget_beside(self._question(own, (), known, before), _LEAST_BUDGET // 2)
        reading = readable(own.turns, budget)
        # Only parts in which a user speaks are worth a question.
        users = {turn.message_id for turn in own.turns if turn.role == "user"}
        asked = [part for part in reading.parts if any(users & set(line.message_ids) for line in part)]
        verdicts = [verdict for part in asked for verdict in self._judged(own, part, known, before, meter)]
        refused = Counter(verdict for verdict in verdicts if isinstance(verdict, RefusedFact))
        refused[RefusedFact.RECALLED] += sum(recalled[: reading.turns])
        statements = once_each(verdict for verdict in verdicts if isinstance(verdict, Statement))
        return Extraction(statements, reading.turns, +refused)

    def _judged(
        self,
        segment: ExtractionRequest,
        part: Sequence[PromptLine],
        known: Mapping[int, str],
        before: Sequence[PromptLine],
        meter: Meter,
    ) -> list[Verdict]:
        question = self._question(segment, part, known, before)
        gate = fact_gate(segment)

        def refused(answer: ExtractionAnswer) -> str | None:
            """Complain where the gate takes nothing of a list; else it is judged entry by entry where it is stored."""
            verdicts = [gate.judge(one.statement) for one in answer.facts]
            return f"fact 1 {verdicts[0].words}" if verdicts and verdicts[0] and all(verdicts) else None

        answer = self.ask(question, meter, lambda a: _complaint(a) or refused(a), lambda a: _hopeless(a) or refused(a))
        shown = {i for line in part for i in line.message_ids}
        return [_verdict(one, segment, shown, known) for one in answer.facts]

    @property
    def _most(self) -> int:
        return max(1, min(_MOST_FACTS, self._context_tokens // _TOKENS_FOR_A_FACT))

    def _question(
        self,
        segment: ExtractionRequest,
        part: Sequence[PromptLine],
        known: Mapping[int, str],
        before: Sequence[PromptLine],
    ) -> Question[ExtractionAnswer]:
        prompt = fill(
            "facts",
            mark=self._mark(),
            app=clean(segment.app_name),
            known="\n".join(known.values()) or "(nothing yet)",
            before=written(before) or "(nothing)",
            conversation=written(part),
            most=self._most,
            limit=LONGEST,
        )
        return prompt.question(WorkKind.EXTRACT, ExtractionAnswer, self._most * _FACT_TOKENS)


def _own_words(segment: ExtractionRequest) -> tuple[ExtractionRequest, list[int]]:
    """Return the segment without lines that only repeat known facts, and how many each turn had."""
    turns, counts = [], []
    for turn in segment.turns:
        content, repeated = without_known(turn.content, segment.known) if turn.role == "user" else (turn.content, 0)
        turns.append(replace(turn, content=content))
        counts.append(repeated)
    return replace(segment, turns=tuple(turns)), counts


def _complaint(answer: ExtractionAnswer) -> str | None:
    blemishes = [(number, blemish(one)) for number, one in enumerate(answer.facts, 1)]
    said = [f"fact {number} {why}" for number, why in blemishes if why is not None]
    return "; ".join(said[:_MOST_COMPLAINTS]) or None


def _hopeless(answer: ExtractionAnswer) -> str | None:
    """Complain of a second answer only where nothing in it can be read; what is no fact is dropped by itself."""
    return None if any(map(is_readable, answer.facts)) else _complaint(answer)


def _verdict(one: ExtractedFact, segment: ExtractionRequest, shown: set[str], known: Mapping[int, str]) -> Verdict:
    category = category_of(one)
    if blemish(one) is not None or category is None or one.confidence is None:
        return RefusedFact.MALFORMED
    if one.confidence < HIGH:
        return RefusedFact.UNSURE
    ids = _sources(one, segment, shown, known)
    if not ids:
        repeats = normal(one.statement) in {normal(fact.statement) for fact in segment.known}
        return RefusedFact.RECALLED if repeats else RefusedFact.UNGROUNDED
    updates = one.updates if one.updates_previous and one.updates in known else None
    return Statement(one.statement, category, ids, updates)


def _sources(
    one: ExtractedFact, segment: ExtractionRequest, shown: set[str], known: Mapping[int, str]
) -> tuple[str, ...]:
    """Return the user turns that bear the statement: of those it names, or of all shown where it names none."""
    turns = segment.turns
    numbers = one.messages or range(1, len(turns) + 1)
    named = [number for number in numbers if 0 < number <= len(turns) and turns[number - 1].message_id in shown]
    named = [number for number in named if turns[number - 1].role == "user"]
    # Names go on from one message to the next, and from what is known to what is said.
    users = [turn for turn in (*segment.before, *turns) if turn.role == "user"]
    elsewhere = Ground([*(text for turn in users for text in _readings(turn)), *known.values()])
    bearing = [n for n in named if Ground.of(_with_question(segment, n)).bears(one.statement, elsewhere)]
    together = [turn for number in named for turn in _with_question(segment, number)]
    if not bearing and one.messages and Ground.of(together).bears(one.statement, elsewhere):
        bearing = named
    return tuple(dict.fromkeys(turns[number - 1].message_id for number in bearing))


def _with_question(segment: ExtractionRequest, number: int) -> list[TranscriptTurn]:
    """Return a turn, after the assistant's turn that it answers."""
    earlier = (*segment.before, *segment.turns[: number - 1])
    asked = [turn for turn in earlier[-1:] if turn.role == "assistant"]
    return [*asked, segment.turns[number - 1]]


HIGH = 0.75
"""Confidence from which a statement counts as said plainly. Source: decisions, "Facts and context"."""
_WORDED = {"high": 1.0, "very high": 1.0, "certain": 1.0, "medium": 0.5, "moderate": 0.5, "low": 0.25, "none": 0.0}
_FIRST_PERSON = re.compile(r"(?:i|i['’]\w+|my|mine|me|we|we['’]\w+|our|ich|mein|je|yo|jeg|jag|ik|io)\b", re.IGNORECASE)
_OF_THE_MACHINE = re.compile(
    r"(?:your?\b|(?:the |this |an? )?(?:ai |language )?(?:assistant|ai|chat ?bot|bot|model|llm"
    r"|system)(?:['’]s)?\s+(?:is|was|has|had|can|could|cannot|will|would|should|does|did|offer\w*|suggest\w*"
    r"|recommend\w*|help\w*|provid\w*|said|says|told|gave|gives|explain\w*|answer\w*|promis\w*|know\w*|like\w*"
    r"|name)\b)",
    re.IGNORECASE,
)
_PLAINLY_LIKED = re.compile(
    r"\b(?:prefers?|likes?|loves?|enjoys?|hates?|dislikes?|favou?rites?|always|never|uses|avoids?|fan of"
    r"|interested in)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(r"^(?:the )?user(?:['’]s)?\s+(?:is (?=\w+ing\b))?", re.IGNORECASE)


def _text(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""


def _category(value: object) -> Category | None:
    word = _text(value).lower()
    return Category(word) if word in set(Category) else None


def _confidence(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        word = value.strip().lower()
        value = _WORDED.get(word, word)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if 0 <= number <= 1 else None


def _whole(value: object) -> int | None:
    if isinstance(value, str) and value.strip().lstrip("#[").rstrip("]").isdecimal():
        value = int(value.strip().lstrip("#[").rstrip("]"))
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _wholes(value: object) -> list[int]:
    values = value if isinstance(value, list) else [value]
    return [number for one in values if (number := _whole(one)) is not None]


class ExtractedFact(BaseModel):
    """One fact as a model gave it; every value that could not be read is None or empty."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    fact: Annotated[str, BeforeValidator(_text), WithJsonSchema({"type": "string"})]
    category: Annotated[
        Category | None, BeforeValidator(_category), WithJsonSchema({"type": "string", "enum": [*Category]})
    ]
    confidence: Annotated[
        float | None, BeforeValidator(_confidence), WithJsonSchema({"type": "string", "enum": ["high", "low"]})
    ]
    updates_previous: Annotated[
        bool,
        BeforeValidator(lambda value: value is True or _text(value).lower() in ("true", "yes")),
        WithJsonSchema({"type": "boolean"}),
    ]
    updates: Annotated[int | None, BeforeValidator(_whole), WithJsonSchema({"type": "integer"})]
    messages: Annotated[
        list[int], BeforeValidator(_wholes), WithJsonSchema({"type": "array", "items": {"type": "integer"}})
    ]

    @model_validator(mode="before")
    @classmethod
    def _whatever_it_is(cls, value: Any) -> dict[str, Any]:
        """Read an entry that is no object as one that says nothing, and a missing field as an unclear one."""
        given = value if isinstance(value, dict) else {}
        return {name: given.get(name) for name in cls.model_fields}

    @property
    def statement(self) -> str:
        """The fact without the subject that every fact has."""
        bare = _SUBJECT.sub("", self.fact).rstrip(" .")
        return bare[:1].upper() + bare[1:]


def category_of(one: ExtractedFact) -> Category | None:
    """Return an entry's category; where it gives none that exists, the one its words show, if they do."""
    if one.category is not None:
        return one.category
    found = categories.category_of(one.statement)
    return None if found is Category.PREFERENCE and not _PLAINLY_LIKED.search(one.statement) else found


class ExtractionAnswer(ListAnswer):
    """What a piece of conversation states; an empty list is an answer, and so is the list without the object."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    listed_as: ClassVar[str] = "facts"

    facts: list[ExtractedFact]


def is_readable(one: ExtractedFact) -> bool:
    """Whether an entry says what it takes to judge it, whatever it says."""
    has_words = any(character.isalnum() for character in one.statement)
    return has_words and not is_apology(one.fact) and category_of(one) is not None and one.confidence is not None


def blemish(one: ExtractedFact) -> str | None:
    """Say why an entry is no fact at all, in words a model can be told; None where it is one."""
    if not any(character.isalnum() for character in one.statement):
        return "has no words"
    if is_apology(one.fact):
        return "is an apology and not a fact"
    if _FIRST_PERSON.match(one.statement):
        return "speaks as I"
    if _OF_THE_MACHINE.match(one.statement):
        return "is about the assistant"
    if len(one.statement) > LONGEST:
        return f"has more than {LONGEST} characters"
    if category_of(one) is None:
        return f"needs one category of {', '.join(Category)}"
    return "needs a confidence of high or low" if one.confidence is None else None


_NUMBERS = {word: str(number) for number, word in enumerate(NUMERALS)}
_DATE_WORDS = frozenset(word.lower() for word in (*MONTHS, *WEEKDAYS))
_KIN = word_set(
    """
    mann frau partner partnerin freund freundin sohn tochter kind kinder bruder schwester mutter mama vater papa eltern
    oma opa schwiegermutter schwiegervater hund hündin katze kater nachbar nachbarin kollege kollegin chef chefin
    """
)
"""Nouns that German writes like names, and that a reader puts before a name to say who that is."""
_SHORT_FOR = {"xmas": "christmas"}
_PREFIX = 5
"""Letters in which two forms of one long word agree."""
_UNSPACED = re.compile(r"[^\x00-\u024f\u0370-\u05ff\u0600-\u06ff\u0900-\u0dff]")


_MONTH = "|".join(dict.fromkeys([*MONTHS, *(month[:3] for month in MONTHS)]))
_WRITTEN_DATE = re.compile(
    rf"(?P<year>\d{{4}})-(?:0\d|1[0-2])(?:-[0-3]\d)?\b|\b(?:\d{{1,2}}(?:st|nd|rd|th)? )?(?:{_MONTH})\b"
    r"(?: \d{1,2}(?:st|nd|rd|th)?\b)?,? (?P<year_after>\d{4})\b|\b(?P<year_alone>(?:19|20)\d\d)\b"
)


class Ground:
    """The words of some texts, as a statement may use them."""

    def __init__(self, texts: Iterable[str], years: Iterable[int] = ()) -> None:
        """``years`` are those in which it was said."""
        self._text = " ".join(texts).casefold()
        self._roots = frozenset(_root(word) for word in WORD.findall(self._text))
        self._years = frozenset(near for year in years for near in (year - 1, year, year + 1))

    @classmethod
    def of(cls, turns: Sequence[TranscriptTurn]) -> Ground:
        """Return the ground that turns give: what was said, by whom, and when."""
        texts = (text for turn in turns for text in _readings(turn))
        return cls(texts, (turn.created_at.year for turn in turns))

    def bears(self, statement: str, elsewhere: Ground | None = None) -> bool:
        """Say whether a statement has ground here; its names may have theirs ``elsewhere``, its numbers may not."""
        undated = _WRITTEN_DATE.sub(self._without_date, statement)
        words = WORD.findall(undated)
        weighty = [word for i, word in enumerate(words) if _is_weighty(word, i == 0)]
        content = [word for word in words if word.lower() not in EMPTY | EXPLAINING | _DATE_WORDS]
        return all(self._has(word) or _is_name_of(elsewhere, word) for word in weighty) and any(map(self._has, content))

    def _without_date(self, date: re.Match[str]) -> str:
        """Drop a date that may be worked out of "on Tuesday" or "the 22nd": of the year it was said, or one beside."""
        year = date["year"] or date["year_after"] or date["year_alone"]
        return " " if int(year) in self._years else date[0]

    def _has(self, word: str) -> bool:
        lowered = word.casefold()
        if _root(lowered) in self._roots:
            return True
        if _UNSPACED.search(word):
            return any(lowered[i : i + 2] in self._text for i in range(max(1, len(lowered) - 1)))
        return (
            lowered.isalpha()
            and len(lowered) >= _PREFIX
            and re.search(rf"\b{re.escape(lowered[:_PREFIX])}", self._text) is not None
        )


def _readings(turn: TranscriptTurn) -> tuple[str, ...]:
    """Return what was said as it stands and with its relative times as dates, who said it, and in which year."""
    day = turn.created_at.date()
    return turn.content, resolve(turn.content, day), turn.name or "", str(day.year)


def _is_name_of(ground: Ground | None, word: str) -> bool:
    """Say whether a word is a name, maybe with a number in it, that has ground there."""
    return ground is not None and word[:1].isalpha() and ground._has(word)


def _is_weighty(word: str, opens: bool) -> bool:
    """Say whether a word is a number, or a name: those are not put in other words."""
    if any(character.isdigit() for character in word) or word.lower() in _NUMBERS:
        return True
    return word[:1].isupper() and not opens and word.lower() not in _DATE_WORDS | EMPTY | _KIN


def _root(word: str) -> str:
    bare = re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", re.split(r"['’]", word)[0])
    return _NUMBERS.get(bare, stem(_SHORT_FOR.get(bare, bare)))
