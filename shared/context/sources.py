"""Looks up what a context may recall beside memories and facts: a profile, summaries, and earlier messages.

Each is read in short transactions of its own; one that cannot be had is named, and the others are served. Of earlier
messages the newest word on a thing stands before what it corrects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TypeVar

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from shared.base.clock import Clock
from shared.base.errors import Transient
from shared.context.companions import PairedHits, beside, paired, passages_of_users, place_of
from shared.context.recall import MOST_HITS, ContextExtension, ExtraMaterial
from shared.context.rendering import without_recalled
from shared.conversations.days import TimeZones, zones_at
from shared.db.engine import Database
from shared.profiles import gate
from shared.search.candidates import SearchHit, said_at, what_followed, whole_at
from shared.search.models import Asker, conversation_of, position_of
from shared.search.search import Findings, MessageSearch, SearchRequest
from shared.search.small_talk import is_small_talk
from shared.search.view import QueryVector
from shared.search.words import query_words
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
_FEW_HITS, _FOLLOWERS = 5, 10
"""Where so few messages are found, so many that follow the best are shown with them, as far as there is room."""
PartT = TypeVar("PartT")


@dataclass(frozen=True)
class CurrentTurn:
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


@dataclass(eq=False)
class RecallSources:
    """Reaches for what else there is; for any number of threads."""

    database: Database
    finder: MessageSearch
    clock: Clock
    metrics: Metrics

    def budget(self, session: Session, app_id: str) -> int:
        """Return the tokens that retrieved messages may take, as tuned for an app."""
        return self.finder.tuning(session, app_id).token_budget

    def profile(self, app_id: str, user_id: str | None, actor: str) -> tuple[str, list[str]]:
        """Return what a user's profile says, with their consent only, and what could not be had."""
        missing: list[str] = []
        return self._try("profile", missing, lambda: self._profile(app_id, user_id, actor)) or "", missing

    def extra(self, now: CurrentTurn) -> tuple[ExtraMaterial, Findings | None, list[str]]:
        """Return what there is, how the retrieval went, and the names of parts that could not be had."""
        missing: list[str] = []
        findings = self._try("retrieved", missing, lambda: self._found(now))
        query = None if findings is None else findings.query
        summaries = self._try("summary", missing, lambda: self._summaries(now, query)) or ()
        hits = () if findings is None else _worth_showing(findings, now.shown)
        if 0 < len(hits) <= _FEW_HITS:
            hits += self._try("retrieved", missing, lambda: self._followers(now, hits)) or ()
        paired = self._try("retrieved", missing, lambda: self._dated(self._paired(now, hits))) or PairedHits((), {})
        extra = ExtraMaterial(
            summary_id=summaries[0].summary_id if summaries else None,
            summary="\n".join(one.content for one in reversed(summaries)),
            hits=paired.hits,
            companions=paired.companions,
            about_code=findings is not None and findings.question.about_code,
        )
        return extra, findings, missing

    def record(self, app_id: str, findings: Findings, added: ContextExtension, has_profile: bool) -> None:
        """Have it written down how the retrieval for a context went, and what was handed out beside."""
        beside = {"summaries": int(added.summary_id is not None), "profile": int(has_profile)}
        self.finder.record(app_id, findings, Asker.CONTEXT, added.retrieved_tokens, beside)

    def _found(self, now: CurrentTurn) -> Findings | None:
        said = now.said or ""
        if is_small_talk(said):
            return None
        if len(said) > MOST_CHARS:
            # Its beginning and its end, where people put what they want.
            said = f"{said[: MOST_CHARS // 2]}\n{said[-MOST_CHARS // 2 :]}"
        return self.finder.find(
            now.app_id,
            SearchRequest(
                text=said,
                limit=MOST_HITS,
                conversation_id=now.conversation_id,
                is_elsewhere=now.is_whole,
                user_id=now.user_id,
                asker=Asker.CONTEXT,
            ),
        )

    def _followers(self, now: CurrentTurn, hits: Sequence[SearchHit]) -> tuple[SearchHit, ...]:
        """Return what was said after the best hit: where little is found, what came of it may share no word with it."""
        with self.database.read() as session:
            followers = what_followed(session, now.app_id, hits[0], _FOLLOWERS)
        known = {*now.shown, *(hit.content.strip() for hit in hits)}
        return tuple(one for one in followers if one.content.strip() not in known and not is_small_talk(one.content))

    def _paired(self, now: CurrentTurn, hits: Sequence[SearchHit]) -> PairedHits:
        places = beside(hits)
        with self.database.read() as session:
            neighbours = said_at(session, now.app_id, places) if places else []
            whole = whole_at(session, now.app_id, passages_of_users(hits, now.conversation_id))
        return paired(hits, neighbours, now.shown, now.conversation_id, whole)

    def _dated(self, found: PairedHits) -> PairedHits:
        """Return what was found with its times as the clocks of who said it showed them."""
        every = [*found.hits, *chain.from_iterable(found.companions.values())]
        with self.database.read() as session:
            zones = zones_at(session, [place_of(one) for one in every])

        def dated(hits: Iterable[SearchHit]) -> tuple[SearchHit, ...]:
            return tuple(_by_clock(one, zones.get(place_of(one), TimeZones())) for one in hits)

        return PairedHits(dated(found.hits), {place: dated(hits) for place, hits in found.companions.items()})

    def _profile(self, app_id: str, user_id: str | None, actor: str) -> str:
        """Return what the user's profile says; asking for it goes into the audit where they were ever asked."""
        with self.database.read() as session:
            if not gate.has_answered(session, app_id, user_id):
                return ""
        shown = gate.ask_for(self.database, app_id, user_id, actor, self.clock.now(), self.metrics)
        return "" if shown.profile is None else gate.text_of(shown.profile)

    def _summaries(self, now: CurrentTurn, query: QueryVector | None) -> tuple[Summary, ...]:
        if now.conversation_key is None or now.is_whole:
            return ()
        with self.database.read() as session:
            found = of_conversation(session, now.conversation_key, _LATEST_SUMMARIES)
        return tuple(found[:1]) + _most_alike(found[1:], query)

    def _try(self, part: str, missing: list[str], read: Callable[[], PartT]) -> PartT | None:
        try:
            return read()
        except (Transient, SQLAlchemyError) as error:
            missing.append(part)
            self.metrics.context_parts_missing.labels(part).inc()
            get_logger().warning("context_part_missing", part=part, error=type(error).__name__)
            return None


def _worth_showing(findings: Findings, shown: Collection[str]) -> tuple[SearchHit, ...]:
    """Return what says something, is not shown anyway, and not far behind the best; nothing if all is off the point."""
    # Of a program that records all it sent, what was recalled for a question comes back as a user's message.
    small_talk = {hit.content for hit in findings.hits if is_small_talk(without_recalled(hit.content))}
    saying = [hit for hit in findings.hits if hit.content not in small_talk]
    if not any(hit.by_words or (hit.ranked.candidate.dense or 0.0) >= LEAST_SIMILARITY for hit in saying):
        return ()
    ordered = beside_corrections(findings.hits, _LEAST_SHARE * findings.hits[0].ranked.score)
    return tuple(hit for hit in ordered if hit.content not in small_talk and hit.content.strip() not in shown)


def _by_clock(hit: SearchHit, zones: TimeZones) -> SearchHit:
    candidate = hit.ranked.candidate
    candidate = candidate._replace(created_at=zones.local(candidate.created_at))
    return replace(hit, ranked=hit.ranked._replace(candidate=candidate), last_at=zones.local(hit.last_at))


def _most_alike(summaries: Collection[Summary], query: QueryVector | None) -> tuple[Summary, ...]:
    """Return the summary most like what is said, if one is."""
    if query is None:
        return ()
    known = ((query.likeness(one.vector, one.vector_model), one) for one in summaries)
    alike = [(likeness, one) for likeness, one in known if likeness is not None]
    best = max(alike, key=lambda one: one[0], default=None)
    return () if best is None or best[0] < _LEAST_LIKENESS else (best[1],)


_USER = "user"
_SOON = 6
"""Messages after another in which a "no, …" is about that one."""
_ALIKE = 0.7
"""Two that are so like the question (a cosine) are taken to speak of the same."""
_RELATED = 0.35
"""Of which it is enough where one says that something is new."""
_BEST = 10
"""So many of the best are looked at for what is new of them; further down likeness says too little."""
_OBJECTS = re.compile(
    r"\W*(?:no|nope|nah|actually|sorry|wait|correction|scratch that|i (?:meant?|said)|typo|oops|rather|my mistake"
    r"|nein|nee|doch|eigentlich|moment|korrektur|ich meinte?|falsch|quatsch"
    r"|non|en fait|pardon|je voulais dire|finalement|plut[oô]t"
    r"|en realidad|perd[oó]n|mejor dicho|quise decir|anzi|in realt[aà]|na verdade|ali[aá]s)\b"
    r"|\W*(?:いや|違|やっぱり|訂正|不是|不对|不對|其实|其實|更正|아니)",
    re.IGNORECASE,
)
_RENEWS = re.compile(
    r"\b(?:moved|moving|chang(?:ed|es?|ing)|switch(?:ed|ing)?|no longer|not any ?more|any ?more|instead|from now on|now"
    r"|new|these days|used to|replaced?|cancell?ed|postponed|rescheduled|corrected|update[ds]?|meanwhile|actually"
    r"|umgezogen|zieht um|ziehe um|ge[aä]ndert|jetzt|inzwischen|nicht mehr|stattdessen|ab (?:jetzt|sofort)|neue[rsnm]?"
    r"|verschoben|gewechselt"
    r"|d[eé]m[eé]nag\w+|chang[eé]\w*|maintenant|d[eé]sormais|plut[oô]t|nouve\w+|à la place|ne \w+ plus"
    r"|me mud[eé]|cambi\w+|ahora|ya no|en vez|nuev[oa]s?|adesso|trasferit\w+|non più|agora|mudei|não \w+ mais)\b"
    r"|引っ越|変わ|変更|今は|今では|もう|現在|搬|改|现在|現在|이사|바뀌|이제",
    re.IGNORECASE,
)


class _Statement:
    """What a user said, as far as it is asked whether it corrects something."""

    def __init__(self, hit: SearchHit) -> None:
        one = hit.ranked.candidate
        self.hit = hit
        self.doc_id = one.doc_id
        self.at = one.created_at
        self.alike = one.dense or 0.0  # its cosine with what is said now

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that say something in it."""
        return frozenset(query_words(self.hit.ranked.candidate.content))

    @cached_property
    def objects(self) -> bool:
        """Whether it begins as a correction does."""
        return _OBJECTS.match(self.hit.ranked.candidate.content) is not None

    @cached_property
    def renews(self) -> bool:
        """Whether it has a word that says that something is new."""
        return _RENEWS.search(self.hit.ranked.candidate.content) is not None

    def objects_to(self, other: _Statement) -> bool:
        """Whether it says soon after another that this is not so."""
        near = 0 < position_of(self.doc_id) - position_of(other.doc_id) <= _SOON
        return near and conversation_of(self.doc_id) == conversation_of(other.doc_id) and self.objects

    def renews_what(self, other: _Statement) -> bool:
        """Whether it says that something is new of what another was about."""
        return (self.is_like(other, _RELATED) or not self.words.isdisjoint(other.words)) and self.renews

    def is_like(self, other: _Statement, least: float = _ALIKE) -> bool:
        """Whether both are so like what is said now that they are taken to be about the same."""
        return min(self.alike, other.alike) >= least


def beside_corrections(hits: Sequence[SearchHit], least: float) -> list[SearchHit]:
    """Return the hits of at least so high a score in their order, each behind the newest that corrects it."""
    users = {_doc_id(hit): _Statement(hit) for hit in hits if hit.ranked.candidate.role == _USER}
    ordered: dict[tuple[int, int], SearchHit] = {}
    for nth, hit in enumerate(hits):
        if hit.ranked.score < least:
            break
        said = users.get(_doc_id(hit))
        if said is not None:
            later = [one for one in users.values() if (one.at, one.doc_id) > (said.at, said.doc_id)]
            newest = _newest(one for one in later if one.objects_to(said))
            if nth < _BEST:
                newest = newest or _newest(one for one in later if one.renews_what(said))
                newest = newest or _newest(one for one in later if one.is_like(said))
            if newest is not None:
                # Before it: where there is room for one of them, it is the one that holds.
                ordered.setdefault(_doc_id(newest.hit), newest.hit)
        ordered.setdefault(_doc_id(hit), hit)
    return list(ordered.values())


def _newest(statements: Iterable[_Statement]) -> _Statement | None:
    return max(statements, key=lambda one: (one.at, one.doc_id), default=None)


def _doc_id(hit: SearchHit) -> tuple[int, int]:
    return hit.ranked.candidate.doc_id, hit.ranked.candidate.part
