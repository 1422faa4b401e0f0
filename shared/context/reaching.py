"""Looks up what else a context may recall: a profile its user agreed to, summaries, and earlier messages.

Each is read in short transactions of its own; one that cannot be had is named, and the others are served.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy.exc import SQLAlchemyError

from shared.clock import Clock
from shared.context.corrections import beside_corrections
from shared.context.extending import MOST_HITS, Extension, Extra
from shared.db.engine import Database
from shared.errors import Transient
from shared.profiles import gate
from shared.search.candidates import SearchHit
from shared.search.models import Asker
from shared.search.search import Findings, MessageSearch, SearchRequest
from shared.search.small_talk import is_small_talk
from shared.search.view import QueryVector
from shared.summaries.models import Summary
from shared.summaries.queries import of_conversation
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics

_LATEST_SUMMARIES = 20
_LEAST_LIKENESS = 0.3
"""From which an older summary is shown beside the newest."""
MOST_CHARS = 4000
"""Of what is said now, as of any question."""
_LEAST_SHARE = 0.35
"""Of the best score. More than half of what is found has less, and next to none of what answers a question."""
LEAST_SIMILARITY = 0.3
"""A cosine. Where nothing found is as like what is said, and nothing has a word of it, nothing was asked for."""
PartT = TypeVar("PartT")


@dataclass(frozen=True)
class Now:
    """What is said at the moment, and where."""

    app_id: str
    user_id: str | None
    conversation_id: str | None
    conversation_key: int | None
    said: str | None
    shown: Collection[str]
    """Contents of the messages that are shown anyway."""
    is_whole: bool
    """Whether all of the conversation is shown."""


class Reach:
    """Reaches for what else there is; for any number of threads."""

    def __init__(self, database: Database, finder: MessageSearch, clock: Clock, metrics: Metrics) -> None:
        self._database = database
        self._finder = finder
        self._clock = clock
        self._metrics = metrics

    def budget(self, app_id: str) -> int:
        """Return the tokens that retrieved messages may take, as tuned for an app."""
        with self._database.read() as session:
            return self._finder.tuning(session, app_id).token_budget

    def extra(self, now: Now, actor: str) -> tuple[Extra, Findings | None, list[str]]:
        """Return what there is, how the retrieval went, and the names of parts that could not be had."""
        missing: list[str] = []
        findings = self._try("retrieved", missing, lambda: self._found(now))
        profile = self._try("profile", missing, lambda: self._profile(now, actor)) or ""
        query = None if findings is None else findings.query
        summaries = self._try("summary", missing, lambda: self._summaries(now, query)) or ()
        hits = () if findings is None else _worth_showing(findings, now.shown)
        extra = Extra(
            profile=profile,
            summary_id=summaries[0].summary_id if summaries else None,
            summary="\n".join(one.content for one in reversed(summaries)),
            hits=hits,
            about_code=findings is not None and findings.question.about_code,
        )
        return extra, findings, missing

    def note(self, app_id: str, findings: Findings, added: Extension) -> None:
        """Have it written down how the retrieval for a context went, and what was handed out beside."""
        beside = {"summaries": int(added.summary_id is not None), "profile": int(added.profile)}
        self._finder.record(app_id, findings, Asker.CONTEXT, added.retrieved_tokens, beside)

    def _found(self, now: Now) -> Findings | None:
        if is_small_talk(now.said or ""):
            return None
        return self._finder.find(
            now.app_id,
            SearchRequest(
                text=_asked(now.said or ""),
                limit=MOST_HITS,
                conversation_id=now.conversation_id,
                is_elsewhere=now.is_whole,
                user_id=now.user_id,
                asker=Asker.CONTEXT,
            ),
        )

    def _profile(self, now: Now, actor: str) -> str:
        """Return what the user's profile says; asking for it goes into the audit where they were ever asked."""
        with self._database.read() as session:
            if not gate.has_answered(session, now.app_id, now.user_id):
                return ""
        shown = gate.ask_for(self._database, now.app_id, now.user_id, actor, self._clock.now(), self._metrics)
        return "" if shown.profile is None else gate.text_of(shown.profile)

    def _summaries(self, now: Now, query: QueryVector | None) -> tuple[Summary, ...]:
        if now.conversation_key is None or now.is_whole:
            return ()
        with self._database.read() as session:
            found = of_conversation(session, now.conversation_key, _LATEST_SUMMARIES)
        return tuple(found[:1]) + _most_alike(found[1:], query)

    def _try(self, part: str, missing: list[str], read: Callable[[], PartT]) -> PartT | None:
        try:
            return read()
        except (Transient, SQLAlchemyError) as error:
            missing.append(part)
            self._metrics.context_parts_missing.labels(part).inc()
            get_logger().warning("context_part_missing", part=part, error=type(error).__name__)
            return None


def _asked(said: str) -> str:
    """Return what is looked for: of a very long text its beginning and its end, where people put what they want."""
    return said if len(said) <= MOST_CHARS else f"{said[: MOST_CHARS // 2]}\n{said[-MOST_CHARS // 2 :]}"


def _worth_showing(findings: Findings, shown: Collection[str]) -> tuple[SearchHit, ...]:
    """Return what says something, is not shown anyway, and not far behind the best; nothing if all is off the point."""
    if not any(_has_to_do_with_it(hit) for hit in findings.hits):
        return ()
    ordered = beside_corrections(findings.hits, _LEAST_SHARE * findings.hits[0].ranked.score)
    return tuple(hit for hit in ordered if hit.content.strip() not in shown and not is_small_talk(hit.content))


def _has_to_do_with_it(hit: SearchHit) -> bool:
    return (hit.by_words or (hit.ranked.candidate.dense or 0.0) >= LEAST_SIMILARITY) and not is_small_talk(hit.content)


def _most_alike(summaries: Collection[Summary], query: QueryVector | None) -> tuple[Summary, ...]:
    """Return the summary most like what is said, if one is."""
    if query is None:
        return ()
    known = ((query.likeness(one.vector, one.vector_model), one) for one in summaries)
    alike = [(likeness, one) for likeness, one in known if likeness is not None]
    best = max(alike, key=lambda one: one[0], default=None)
    return () if best is None or best[0] < _LEAST_LIKENESS else (best[1],)
