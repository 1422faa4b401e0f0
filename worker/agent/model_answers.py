"""What the model agent asks for, and which answers of the right shape are none.

The bounds of length are not part of the schemas: a server that enforces them ends a text inside a word.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from shared.memories.compaction import NEW, Action, Decision
from shared.wording import clean

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


def _no_truth(value: object) -> object:
    """Refuse true and false, which would otherwise pass as 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("must be a whole number")
    return value


def _worded(text: str, name: str) -> str:
    """Return the cleaned text.

    Raises:
        ValueError: it says nothing, or is an apology.
    """
    line = clean(text)
    if not any(character.isalnum() for character in line):
        raise ValueError(f"{name} has no words")
    if is_apology(line):
        raise ValueError(f"{name} is an apology and not what was asked for")
    return line


Whole = Annotated[int, BeforeValidator(_no_truth)]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class CreationAnswer(_Answer):
    """One memory, or the reason why there is none."""

    reason: str
    remember: bool
    memory: str
    importance: Annotated[Whole, Field(ge=0, le=10)]
    tags: list[str]

    @model_validator(mode="after")
    def _says_something(self) -> CreationAnswer:
        if self.remember:
            _worded(self.memory, "memory")
        else:
            _worded(self.reason, "reason")
        return self


class NotesAnswer(_Answer):
    """What one part of a long conversation holds; an empty list is an answer."""

    notes: list[str]

    @model_validator(mode="after")
    def _says_something(self) -> NotesAnswer:
        for note in self.notes:
            _worded(note, "a note")
        return self


class CompactionAnswer(_Answer):
    """How room is made; whether it may be is judged by ``shared.memories.compaction``."""

    reason: str
    action: Action
    target_id: Whole
    absorbed_id: Whole
    new_content: str

    @model_validator(mode="after")
    def _says_something(self) -> CompactionAnswer:
        _worded(self.reason, "reason")
        if self.action is Action.EDIT:
            _worded(self.new_content, "new_content")
        return self

    def decision(self) -> Decision:
        """Return it as a decision, with cleaned text."""
        merged = self.action is Action.EDIT
        return Decision(
            self.action,
            self.target_id,
            clean(self.reason),
            clean(self.new_content) if merged else None,
            self.absorbed_id if merged else NEW,
        )
