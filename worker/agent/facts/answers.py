"""What a model is asked for when facts are extracted, read with patience: what one entry lacks costs that entry alone.

Small models answer with words where numbers are wanted, copy an enumeration, or forget a field. Each field is read for
what it may mean and is None where that is unclear; which entries can be used is said by ``blemish``.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema, model_validator

from shared.facts import categorising
from shared.facts.categories import Category
from shared.llm.answers import ListAnswer
from shared.wording import clean
from worker.agent.facts.statements import LONGEST
from worker.agent.model_answers import is_apology

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


def _truth(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.strip().lower() in ("true", "yes"))


def _whole(value: object) -> int | None:
    if isinstance(value, str) and value.strip().lstrip("#[").rstrip("]").isdecimal():
        value = int(value.strip().lstrip("#[").rstrip("]"))
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _wholes(value: object) -> list[int]:
    values = value if isinstance(value, list) else [value]
    return [number for one in values if (number := _whole(one)) is not None]


class FactAnswer(BaseModel):
    """One fact as a model gave it; every value that could not be read is None or empty."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    fact: Annotated[str, BeforeValidator(_text), WithJsonSchema({"type": "string"})]
    category: Annotated[
        Category | None, BeforeValidator(_category), WithJsonSchema({"type": "string", "enum": [*Category]})
    ]
    confidence: Annotated[
        float | None, BeforeValidator(_confidence), WithJsonSchema({"type": "string", "enum": ["high", "low"]})
    ]
    updates_previous: Annotated[bool, BeforeValidator(_truth), WithJsonSchema({"type": "boolean"})]
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


def category_of(one: FactAnswer) -> Category | None:
    """Return an entry's category; where it gives none that exists, the one its words show, if they do."""
    if one.category is not None:
        return one.category
    found = categorising.category_of(one.statement)
    return None if found is Category.PREFERENCE and not _PLAINLY_LIKED.search(one.statement) else found


class FactsAnswer(ListAnswer):
    """What a piece of conversation states; an empty list is an answer, and so is the list without the object."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    listed_as: ClassVar[str] = "facts"

    facts: list[FactAnswer]


def is_readable(one: FactAnswer) -> bool:
    """Whether an entry says what it takes to judge it, whatever it says."""
    has_words = any(character.isalnum() for character in one.statement)
    return has_words and not is_apology(one.fact) and category_of(one) is not None and one.confidence is not None


def blemish(one: FactAnswer) -> str | None:
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
