"""The Memory Sub-Agent's part that extracts facts by asking a language model.

Small models answer with words where numbers are wanted, copy an enumeration, or forget a field. Each field is read for
what it may mean and is None where that is unclear: what one entry lacks costs that entry alone. Which messages bear a
statement is asked of the gate.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema, model_validator

from shared.facts.categories import Category, category_of
from shared.llm.answers import ListAnswer
from shared.llm.calls import Meter, WorkKind
from shared.llm.chat import Question
from shared.telemetry.metrics import RefusedFact
from shared.text.gate import Gate
from shared.text.likeness import normal
from shared.text.lines import clean
from worker.agent.fact_rules import LONGEST, once_each, without_known
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
from worker.agent.protocol import Extraction, ExtractionRequest, FactAgent, Statement

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

        def hopeless(answer: ExtractionAnswer) -> str | None:
            """Complain where nothing of a list may stand; else it is judged entry by entry where it is stored."""
            wrong = [blemish(one) or gate.complaint([one.statement]) for one in answer.facts]
            return f"fact 1 {wrong[0]}" if wrong and all(wrong) else None

        def complaint(answer: ExtractionAnswer) -> str | None:
            found = [f"fact {number} {why}" for number, one in enumerate(answer.facts, 1) if (why := blemish(one))]
            return "; ".join(found[:_MOST_COMPLAINTS]) or hopeless(answer)

        answer = self.ask(question, meter, complaint, hopeless)
        shown = {i for line in part for i in line.message_ids}
        gate_of = cache(lambda *ids: fact_gate(segment, ids))
        return [_verdict(one, segment, shown, known, gate_of) for one in answer.facts]

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


GateOf = Callable[..., Gate]
"""Gives the gate of the messages that have these ids."""


def _verdict(
    one: ExtractedFact, segment: ExtractionRequest, shown: set[str], known: Mapping[int, str], gate_of: GateOf
) -> Verdict:
    if blemish(one) is not None or one.confidence is None:
        return RefusedFact.MALFORMED
    if one.confidence < HIGH:
        return RefusedFact.UNSURE
    ids = _sources(one, segment, shown, gate_of)
    if not ids:
        repeats = normal(one.statement) in {normal(fact.statement) for fact in segment.known}
        return RefusedFact.RECALLED if repeats else RefusedFact.UNGROUNDED
    updates = one.updates if one.updates_previous and one.updates in known else None
    # Where it gives no category that there is, it gets one as facts do that a person writes.
    return Statement(one.statement, one.category or category_of(one.statement), ids, updates)


def _sources(one: ExtractedFact, segment: ExtractionRequest, shown: set[str], gate_of: GateOf) -> tuple[str, ...]:
    """Return the user turns that bear the statement: of those it names, or of all shown where it names none."""
    named = one.messages or range(1, len(segment.turns) + 1)
    turns = [segment.turns[number - 1] for number in named if 0 < number <= len(segment.turns)]
    ids = [turn.message_id for turn in turns if turn.role == "user" and turn.message_id in shown]
    bearing = [one_id for one_id in ids if _bears(gate_of(one_id), one.statement)]
    if not bearing and one.messages and _bears(gate_of(*ids), one.statement):
        bearing = ids
    return tuple(dict.fromkeys(bearing))


def _bears(gate: Gate, statement: str) -> bool:
    """Whether messages say something of a statement, and nothing of it has to come from elsewhere but known names."""
    return gate.touches(statement) and not gate.invented(statement)


HIGH = 0.75
"""Confidence from which a statement counts as said plainly. Source: decisions, "Facts and context"."""
_WORDED = {"high": 1.0, "very high": 1.0, "certain": 1.0, "medium": 0.5, "moderate": 0.5, "low": 0.25, "none": 0.0}
_FIRST_PERSON = re.compile(r"(?:i|i['’]\w+|my|mine|me|we|we['’]\w+|our|ich|mein|je|yo|jeg|jag|ik|io)\b", re.IGNORECASE)
_OF_THE_MACHINE = re.compile(
    r"your?\b|(?:(?:the|this|an?) )?(?:ai |language )?(?:assistant|ai|chat ?bot|bot|model|llm)(?:['’]s)? "
    r"(?:is|was|has|had|can|cannot|could|will|would|does|did|said|told|gave|name|\w{3,}(?:ed|s))\b",
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


class ExtractionAnswer(ListAnswer):
    """What a piece of conversation states; an empty list is an answer, and so is the list without the object."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    listed_as: ClassVar[str] = "facts"

    facts: list[ExtractedFact]


def blemish(one: ExtractedFact) -> str | None:
    """Say why an entry is no fact at all, in words a model can be told; None where it is one."""
    if is_apology(one.fact):
        return "is an apology and not a fact"
    if _FIRST_PERSON.match(one.statement):
        return "speaks as I"
    if _OF_THE_MACHINE.match(one.statement):
        return "is about the assistant"
    if len(one.statement) > LONGEST:
        return f"has more than {LONGEST} characters"
    return "needs a confidence of high or low" if one.confidence is None else None
