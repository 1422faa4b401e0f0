"""The Memory Sub-Agent's part that extracts facts by asking a language model.

Small models answer with words where numbers are wanted, copy an enumeration, or forget a field. Each field is read for
what it may mean and is None where that is unclear: what one entry lacks costs that entry alone. Which messages bear a
statement is asked of the gate.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Annotated, Any, ClassVar

from pydantic import WithJsonSchema, model_validator

from shared.facts.categories import Category, category_of
from shared.llm.answers import ListAnswer
from shared.llm.calls import Meter, WorkKind
from shared.telemetry.metrics import RefusedFact
from shared.text.gate import Gate
from shared.text.likeness import normal
from shared.text.lines import clean
from worker.agent import prompt
from worker.agent.fact_rules import LONGEST, once_each, without_known
from worker.agent.gates import fact_gate
from worker.agent.prompt import Answer, ModelPart
from worker.agent.protocol import Extraction, ExtractionRequest, PresentFact, Statement

_MOST_FACTS = 12
_BEFORE_SHARE = 8
"""What was said before is shown in at most an eighth of it."""
_LEAST_BESIDE_THOSE = 100
GateOf = Callable[..., Gate]
"""Gives the gate of the messages that have these ids."""


class ModelFactAgent(ModelPart):
    """Proposes what a chat answers. ``timeout_seconds`` is for one question with its repair."""

    def extract(self, segment: ExtractionRequest, meter: Meter) -> Extraction:
        own, recalled = _own_words(segment)
        most = self.most(_MOST_FACTS)
        asking = partial(self.question, "facts", WorkKind.EXTRACT, ExtractionAnswer, most * prompt.ENTRY_TOKENS)
        asking = partial(asking, app=clean(own.app_name), most=most, limit=LONGEST)
        budget = self.budget_beside(asking(known="(nothing yet)", before="(nothing)", conversation=""))
        known = _known_lines(own.known, budget // prompt.SHARE)
        before = prompt.written(prompt.earlier_lines(own.before, budget // _BEFORE_SHARE))
        asking = partial(asking, known="\n".join(known.values()) or "(nothing yet)", before=before or "(nothing)")
        parts, turns_read = prompt.readable(own.turns, self.budget_beside(asking(conversation=""), _LEAST_BESIDE_THOSE))
        gate, gate_of = fact_gate(own), cache(lambda *ids: fact_gate(own, ids))

        def hopeless(answer: ExtractionAnswer) -> str | None:
            """Complain where nothing of a list may stand; else it is judged entry by entry where it is stored."""
            wrong = [_blemish(one) or gate.complaint([one.statement]) for one in answer.facts]
            return f"fact 1 {wrong[0]}" if wrong and all(wrong) else None

        def complaint(answer: ExtractionAnswer) -> str | None:
            found = [f"fact {number} {why}" for number, one in enumerate(answer.facts, 1) if (why := _blemish(one))]
            return "; ".join(found[:3]) or hopeless(answer)

        verdicts: list[Statement | RefusedFact] = []
        users = {turn.message_id for turn in own.turns if turn.role == "user"}
        for part in parts:
            ids = prompt.message_ids(part)
            # Only parts in which a user speaks are worth a question.
            if users.intersection(ids):
                answer = self.ask(asking(conversation=prompt.written(part)), meter, complaint, hopeless)
                verdicts += (_verdict(one, own, ids, known, gate_of) for one in answer.facts)
        refused = Counter(one for one in verdicts if isinstance(one, RefusedFact))
        refused[RefusedFact.RECALLED] += sum(recalled[:turns_read])
        return Extraction(once_each(one for one in verdicts if isinstance(one, Statement)), turns_read, +refused)


def _own_words(segment: ExtractionRequest) -> tuple[ExtractionRequest, list[int]]:
    """Return the segment without lines that only repeat known facts, and how many each turn had."""
    read = [without_known(t.content, segment.known) if t.role == "user" else (t.content, 0) for t in segment.turns]
    turns = (replace(turn, content=content) for turn, (content, _) in zip(segment.turns, read, strict=True))
    return replace(segment, turns=tuple(turns)), [repeated for _, repeated in read]


def _known_lines(known: Sequence[PresentFact], budget: int) -> Mapping[int, str]:
    """Return the newest known facts that fit, each as a line under its id."""
    newest = sorted(known, key=lambda fact: -fact.fact_id)
    lines = ((fact.fact_id, f"{fact.fact_id}: {prompt.masked(fact.statement)}") for fact in newest)
    return dict(prompt.first_fitting(lines, budget, lambda line: prompt.line_tokens(line[1])))


def _verdict(
    one: ExtractedFact, segment: ExtractionRequest, shown: Container[str], known: Container[int], gate_of: GateOf
) -> Statement | RefusedFact:
    """Judge an entry by the user turns that bear it: of those it names, or of all shown where it names none."""
    if _blemish(one) is not None or one.confidence is None:
        return RefusedFact.MALFORMED
    if one.confidence < HIGH:
        return RefusedFact.UNSURE
    turns = prompt.under(one.messages, segment.turns) if one.messages else segment.turns
    named = [turn.message_id for turn in turns if turn.role == "user" and turn.message_id in shown]
    ids = [message_id for message_id in named if _bears(gate_of(message_id), one.statement)]
    if not ids and one.messages and _bears(gate_of(*named), one.statement):
        ids = named
    if not ids:
        repeats = normal(one.statement) in {normal(fact.statement) for fact in segment.known}
        return RefusedFact.RECALLED if repeats else RefusedFact.UNGROUNDED
    updates = one.updates if one.updates_previous and one.updates in known else None
    # Where it gives no category that there is, it gets one as facts do that a person writes.
    category = one.category or category_of(one.statement)
    return Statement(one.statement, category, tuple(dict.fromkeys(ids)), updates)


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
_NUMBER = re.compile(r"\s*[#\[]*(-?\d+)\]*\s*")


class ExtractedFact(Answer):
    """One fact as a model gave it; every value that could not be read is None or empty."""

    fact: str
    category: Annotated[Category | None, WithJsonSchema({"type": "string", "enum": [*Category]})]
    confidence: Annotated[float | None, WithJsonSchema({"type": "string", "enum": ["high", "low"]})]
    updates_previous: bool
    updates: Annotated[int | None, WithJsonSchema({"type": "integer"})]
    messages: list[int]

    @model_validator(mode="before")
    @classmethod
    def _whatever_it_is(cls, value: Any) -> dict[str, Any]:
        """Read an entry that is no object as one that says nothing, and a missing field as an unclear one."""
        given = dict.fromkeys(cls.model_fields) | (value if isinstance(value, dict) else {})
        category, messages = _word(given["category"]), given["messages"]
        read = map(_whole, messages if isinstance(messages, list) else [messages])
        return {
            "fact": clean(given["fact"]) if isinstance(given["fact"], str) else "",
            "category": category if category in set(Category) else None,
            "confidence": _confidence(given["confidence"]),
            "updates_previous": _word(given["updates_previous"]) in ("true", "yes"),
            "updates": _whole(given["updates"]),
            "messages": [number for number in read if number is not None],
        }

    @property
    def statement(self) -> str:
        """The fact without the subject that every fact has."""
        bare = _SUBJECT.sub("", self.fact).rstrip(" .")
        return bare[:1].upper() + bare[1:]


def _word(value: object) -> str:
    return "" if value is None else clean(str(value)).lower()


def _confidence(value: object) -> float | None:
    word = _word(value)
    try:
        number = float(_WORDED.get(word, word))
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None


def _whole(value: object) -> int | None:
    found = _NUMBER.fullmatch(str(value))
    return int(found[1]) if found else None


class ExtractionAnswer(Answer, ListAnswer):
    """What a piece of conversation states; an empty list is an answer, and so is the list without the object."""

    listed_as: ClassVar[str] = "facts"

    facts: list[ExtractedFact]


def _blemish(one: ExtractedFact) -> str | None:
    """Say why an entry is no fact at all, in words a model can be told; None where it is one."""
    if prompt.is_apology(one.fact):
        return "is an apology and not a fact"
    if _FIRST_PERSON.match(one.statement):
        return "speaks as I"
    if _OF_THE_MACHINE.match(one.statement):
        return "is about the assistant"
    if len(one.statement) > LONGEST:
        return f"has more than {LONGEST} characters"
    return "needs a confidence of high or low" if one.confidence is None else None
