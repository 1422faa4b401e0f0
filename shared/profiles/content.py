"""What a profile may hold: a few fields and free text, each within bounds. Source: seed 002."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from shared.text.lines import clean

MOST_NOTES = 10_000
_Line = Annotated[str, Field(min_length=1, max_length=500)]
_Lines = Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=30)]


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


class Preferences(_Part):
    """How a user wants things done."""

    coding_style: _Line | None = None
    preferred_languages: _Lines = []
    framework_experience: _Lines = []


class Context(_Part):
    """What a user works on."""

    project_goals: _Line | None = None
    domain: _Line | None = None
    constraints: _Line | None = None


class Content(_Part):
    """Everything a profile says."""

    preferences: Preferences = Preferences()
    context: Context = Context()
    freeform_notes: Annotated[str, Field(max_length=MOST_NOTES)] = ""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields as they are stored; what says nothing is left out."""
        return self.model_dump(by_alias=True, exclude={"freeform_notes"}, exclude_defaults=True)


def content_of(fields: dict[str, Any], notes: str) -> Content:
    """Return what is stored as content again."""
    return Content.model_validate({**fields, "freeformNotes": notes})


def lines_of(content: Content) -> list[str]:
    """Return what a profile says as short lines, one for each field that says something."""
    preferences, context = content.preferences, content.context
    told = (
        ("Coding style", preferences.coding_style or ""),
        ("Preferred languages", ", ".join(preferences.preferred_languages)),
        ("Experience with", ", ".join(preferences.framework_experience)),
        ("Goals", context.project_goals or ""),
        ("Domain", context.domain or ""),
        ("Constraints", context.constraints or ""),
        ("Notes", content.freeform_notes),
    )
    return [f"{title}: {clean(said)}" for title, said in told if clean(said)]
