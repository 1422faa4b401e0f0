"""Which sessions would help in a working folder, and how much of each fits a budget. Source: seed 004, "Suggest".

A session counts by the files it shares, what it is about, where it took place, how well it answers what is asked, and
how recent it is, each as far as it was asked for. One that was used since is as recent as its last use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictInt
from pydantic.alias_generators import to_camel
from sqlalchemy.orm import Session

from shared.sessions.compose.plan import ComponentForm, VersionCriteria, select_best
from shared.sessions.compose.requests import MAX_BUDGET, MIN_BUDGET
from shared.sessions.compress.settings import MAX_RATIO, MIN_RATIO
from shared.sessions.models import BuildState, Project, SessionVersion
from shared.sessions.queries import versions_by_session
from shared.sessions.search import queries
from shared.sessions.search.queries import SessionFacts
from shared.sessions.search.query import (
    SearchedPath,
    SearchedText,
    SearchedTopic,
    matched_files,
    matched_topics,
    recency,
    scores_of,
)

MOST = 10
LEAST_TOKENS = 200
"""With less, a session is not worth mentioning."""
_LEAST_RELEVANCE = 0.1
_WEIGHTS = {"files": 0.4, "topics": 0.25, "text": 0.3, "folder": 0.15}
_RECENT = 0.1


class WorkSituation(BaseModel):
    """Where somebody works, and what on."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True)
    working_dir: SearchedPath | None = None
    files: Annotated[list[SearchedPath], Field(max_length=200)] = Field(default_factory=list)
    topics: Annotated[list[SearchedTopic], Field(max_length=50)] = Field(default_factory=list)
    text: SearchedText | None = None
    token_budget: Annotated[StrictInt, Field(ge=MIN_BUDGET, le=MAX_BUDGET)] = 16_000

    @property
    def question(self) -> str:
        """What is asked, empty where nothing is."""
        return (self.text or "").strip()


@dataclass(frozen=True)
class PastSession:
    """A session that may help."""

    facts: SessionFacts
    files: tuple[str, ...]
    versions: tuple[SessionVersion, ...]
    answers: float = 0.0
    """How well it answers the text, about 0..1."""


@dataclass(frozen=True)
class SessionSuggestion:
    """A session, in which form, and what it takes."""

    past: PastSession
    relevance: float
    files: tuple[str, ...]
    topics: tuple[str, ...]
    parts: Mapping[str, float]
    choice: SessionVersion | ComponentForm
    tokens: int

    @property
    def ratio(self) -> int | None:
        """The ratio of the version that would have to be made, if any."""
        if self.choice is not ComponentForm.COMPRESS:
            return None
        wanted = -(-self.past.facts.recorded.original_tokens // self.tokens)
        return min(MAX_RATIO, max(MIN_RATIO, wanted))


def suggest(situation: WorkSituation, pasts: Sequence[PastSession], now: datetime) -> list[SessionSuggestion]:
    """Return what would help, the most relevant first; together never more than the budget."""
    rated = [(_parts(situation, past, now), past) for past in pasts if past.facts.recorded.original_tokens > 0]
    ordered = sorted(rated, key=lambda pair: (-sum(pair[0].values()), -pair[1].facts.recorded.key))
    left, chosen = situation.token_budget, list[SessionSuggestion]()
    for parts, past in ordered:
        if left < LEAST_TOKENS or len(chosen) == MOST or sum(parts.values()) < _LEAST_RELEVANCE:
            break
        one = _chosen(situation, past, parts, left)
        if one is not None:
            chosen.append(one)
            left -= one.tokens
    return chosen


def _parts(situation: WorkSituation, past: PastSession, now: datetime) -> dict[str, float]:
    """Return each part of a session's relevance, weighed; only what was asked for counts."""
    parts = {}
    if situation.files:
        parts["files"] = sum(bool(matched_files((one,), past.files)) for one in situation.files) / len(situation.files)
    if situation.topics:
        met = sum(bool(matched_topics((one,), past.facts.topics)) for one in situation.topics)
        parts["topics"] = met / len(situation.topics)
    if situation.question:
        parts["text"] = min(1.0, past.answers)
    if situation.working_dir:
        parts["folder"] = nearness(situation.working_dir, past.facts.recorded.details.get("cwd"))
    total = sum(_WEIGHTS[name] for name in parts)
    weighed = {name: _WEIGHTS[name] * value / total * (1 - _RECENT) for name, value in parts.items()}
    return weighed | {"recency": recency(past.facts.recalled, now) * (_RECENT if parts else 1.0)}


def nearness(folder: str, other: object) -> float:
    """Return how near two folders are: 1 for the same, less the more steps lie between one and the other above it."""
    if not isinstance(other, str):
        return 0.0
    mine, theirs = PurePosixPath(folder).parts, PurePosixPath(other).parts
    short, long = sorted((mine, theirs), key=len)
    # A root alone is above everything, and says nothing.
    if len(short) < 2 or long[: len(short)] != short:
        return 0.0
    return 1 / (1 + len(long) - len(short))


def _chosen(
    situation: WorkSituation, past: PastSession, parts: Mapping[str, float], left: int
) -> SessionSuggestion | None:
    most = max(left * 2 // 3, min(left, 2 * LEAST_TOKENS))  # Something is left for the next one.
    choice = select_best(past.facts.recorded, past.versions, VersionCriteria(most, preserve_keepits=True))
    tokens = _tokens(choice, past.facts.recorded.original_tokens, most)
    if tokens is None:
        return None
    return SessionSuggestion(
        past=past,
        relevance=sum(parts.values()),
        files=tuple(matched_files(situation.files, past.files)),
        topics=tuple(matched_topics(situation.topics, past.facts.topics)),
        parts=parts,
        choice=choice,
        tokens=tokens,
    )


def _tokens(choice: SessionVersion | ComponentForm, original: int, most: int) -> int | None:
    """Return what a choice takes; None where even the strongest compression would take more than there is."""
    if isinstance(choice, SessionVersion):
        return choice.output_tokens if choice.output_tokens <= most else None
    if choice is ComponentForm.ORIGINAL:
        return original
    return most if -(-original // most) <= MAX_RATIO else None


def past_sessions(session: Session, app_id: str, project: Project, situation: WorkSituation) -> list[PastSession]:
    """Return a project's sessions as suggestions see them; of their files those called like one that is asked for."""
    facts = queries.facts_of(session, app_id, project)
    touched = queries.touched(session, app_id, situation.files)
    answers = scores_of(session, app_id, situation.question) if situation.question else {}
    versions = versions_by_session(session, [one.recorded.key for one in facts], BuildState.READY)
    return [
        PastSession(one, tuple(touched.get(key, ())), tuple(versions[key]), answers.get(key, 0.0))
        for one, key in ((one, one.recorded.key) for one in facts)
    ]
