"""The model agent's prompts as texts, filled in from the templates beside them.

Templates know ``$name`` and nothing else, so braces and markup in what people wrote mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from shared.memories.compaction import Candidate
from shared.wording import clean


@dataclass(frozen=True)
class Prompt:
    """What a model is told (``system``) and what it is shown (``user``)."""

    system: str
    user: str


def fill(name: str, **values: object) -> Prompt:
    """Return the prompt ``name`` with its placeholders filled in; a missing one is a ``KeyError``."""
    return Prompt(_text(f"{name}_system.md"), Template(_text(f"{name}_user.md")).substitute(values))


@cache
def _text(file_name: str) -> str:
    return (files(__package__) / "prompts" / file_name).read_text(encoding="utf-8").strip()


def bullets(texts: Sequence[str]) -> str:
    """Return one line for each text, or a line that says there is none."""
    return "\n".join(f"- {clean(text)}" for text in texts) or "(nothing yet)"


def listed(memory: Candidate) -> str:
    """Return a memory as compaction's prompt shows it."""
    day = memory.updated_at.date().isoformat()
    pinned = ", pinned" if memory.pinned else ""
    return f"[{memory.id}] {day}, importance {memory.importance}{pinned}: {clean(memory.content)}"
