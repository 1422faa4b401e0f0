"""One version from what was gathered to what is written: its draft, its chunks, its segments, and what is told of it.

Values in, values out. Reading and writing files and rows is left to the pipeline.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

from shared.llm.tokens import LAST_RESORT
from shared.sessions.compressions.asking import CompressionSettings, Mode
from shared.sessions.compressions.chunks import Chunk, Condensed, chunks_of
from shared.sessions.compressions.drafting import Draft
from shared.sessions.compressions.filling import open_draft
from shared.sessions.compressions.gathering import Said
from shared.sessions.compressions.planning import Fate, Plan, plan
from shared.sessions.compressions.rendering import Heading, heading_of, markdown_of
from shared.sessions.compressions.segments import Segment
from shared.sessions.compressions.statistics import Told, told_of
from shared.sessions.compressions.weaving import weave

_ROOMY = 400
"""Tokens from which on a heading says more than whose session it is."""


@dataclass(frozen=True)
class Task:
    """What a version is made of and how."""

    session_id: str
    settings: CompressionSettings
    source_sha256: str
    source_version: str | None
    gathered: Sequence[Said]

    @property
    def stamp(self) -> str:
        """A word for what went in: the same for all versions made of the same by the same settings."""
        settings = self.settings.model_dump(mode="json", by_alias=True)
        parts = json.dumps([self.session_id, self.source_sha256, settings], sort_keys=True)
        return sha256(parts.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Made:
    """A version, whole."""

    plan: Plan
    heading: Heading
    segments: Sequence[Segment]
    output_tokens: int
    told: Told

    @property
    def messages(self) -> int:
        """The records it is written as: a call and its result are two."""
        return sum(1 if segment.call is None else 2 for segment in self.segments)

    @property
    def ratio(self) -> float:
        """The ratio that was achieved."""
        return self.plan.input_tokens / max(1, self.output_tokens)

    @property
    def fates(self) -> Sequence[Fate]:
        """What became of the markers that stood in the source."""
        return self.plan.fates

    def statistics(self, seconds: float, agent: str) -> dict[str, Any]:
        """Return what is told of how it was made."""
        return self.told.as_json() | {
            "agent": agent,
            "seconds": round(seconds, 3),
            "askedRatio": round(self.plan.asked_ratio, 2),
            "achievedRatio": round(self.ratio, 2),
            "note": self.told.note(self.plan, self.ratio),
            "messagesBefore": self.plan.messages,
            "messagesAfter": self.messages,
        }


class Making:
    """A version under way."""

    def __init__(self, task: Task, chunk_tokens: int) -> None:
        self.task = task
        self.plan = plan(task.gathered, task.settings)
        self.heading = _heading(task, self.plan)
        self.draft: Draft = open_draft(self.plan, self.heading)
        self.chunks: list[Chunk] = chunks_of(self.draft, chunk_tokens)

    @cached_property
    def outline(self) -> str:
        """A word for how the session was divided, so that parts of another division are never taken for these."""
        outline = [(chunk.position, chunk.room, [one.number for one in chunk.pieces]) for chunk in self.chunks]
        return sha256(json.dumps([self.task.stamp, outline]).encode()).hexdigest()[:12]

    def finish(self, parts: Sequence[Condensed]) -> Made:
        """Weave the parts of all chunks, or of none, into the version."""
        segments = weave(self.draft, self.chunks if parts else (), parts)
        chars = len(heading_of(self.heading)) + sum(len(markdown_of(segment)) for segment in segments)
        output_tokens = LAST_RESORT.tokens_in(chars)
        return Made(self.plan, self.heading, segments, output_tokens, told_of(self.draft, segments))


def _heading(task: Task, plan: Plan) -> Heading:
    title = f"Session {task.session_id}"
    times = [said.at for said in task.gathered if said.at is not None]
    if sum(plan.budgets) < _ROOMY or not times:
        return Heading(title)
    settings = task.settings
    how = f"{settings.compaction_ratio}:1" if settings.mode is Mode.UNIFORM else str(settings.tier_preset)
    source = f" of {task.source_version}" if task.source_version else ""
    days = f"{min(times):%Y-%m-%d %H:%M} to {max(times):%Y-%m-%d %H:%M} UTC"
    return Heading(title, (f"{days}. Compressed{source}: {how}, {plan.input_tokens} tokens before.",))
