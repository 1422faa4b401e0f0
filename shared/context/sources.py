"""What there is for a context beside the conversation: memories and facts, a profile, summaries, and earlier messages.

Each is read in short transactions; a part that cannot be had is named and counted, and the others are served.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import TypeVar

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from shared.base.clock import Clock
from shared.base.errors import Transient
from shared.context import queries
from shared.context.render import without_recalled
from shared.context.select import Head, RecallMaterial, Tail, TailMaterial, standing_order
from shared.conversations.days import TimeZones, zones_at
from shared.db.engine import Database
from shared.profiles import gate
from shared.search.candidates import said_at, what_followed, whole_at
from shared.search.corrections import behind_corrections
from shared.search.models import RetrievalPurpose, conversation_of, position_of
from shared.search.query import QueryVector
from shared.search.ranking import SearchHit
from shared.search.search import BegunEmbedding, MessageSearch
from shared.search.tuning import overlaid
from shared.search.view import Search, SearchRequest
from shared.summaries.models import Summary
from shared.summaries.queries import of_conversation
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from shared.text.lines import shorten
from shared.text.material import without_material
from shared.text.repetition import LEFT_OUT
from shared.text.sentences import without_planted, without_secrets
from shared.text.small_talk import is_small_talk
from shared.text.withdrawn import withdrawn, withdrawn_spans

MOST_HITS = 40
"""So many earlier messages are looked for; few of them fit."""
MOST_CHARS = 4000
"""Of what is said now, as of any question."""
_LATEST_SUMMARIES = 20
_LEAST_SUMMARY_LIKENESS = 0.3
"""From which an older summary is shown beside the newest."""
_LEAST_SHARE = 0.35
"""Of the best score. More than half of what is found has less, and next to none of what answers a question."""
LEAST_SIMILARITY = 0.3
"""A cosine. Where nothing found is as like what is said, and nothing has a word of it, nothing was asked for."""
_FEW_HITS, _FOLLOWERS = 5, 10
"""Where so few messages are found, so many that follow the best are shown with them, as far as there is room."""
_MOST_COMPANION_CHARS = 300
"""Of a user's line that is only handed out for the assistant's beside it."""
_ASSISTANT, _USER = "assistant", "user"
_MOST_KNOWN = 100_000
_SHOWN_WHOLE: set[bytes] = set()
"""Digests, by who speaks, of messages of which nothing is left out: to find that out takes as long as a search. No text
is kept, so what is erased is gone."""
_QUESTION_MARKS = ("?", "？")
_NO_ZONES = TimeZones()
PartT = TypeVar("PartT")


@dataclass(frozen=True)
class CurrentTurn:
    """What is said at the moment, and where."""

    app_id: str
    user_id: str | None
    conversation_id: str | None
    conversation_key: int | None
    text: str | None
    shown: Collection[str]
    """Contents of the messages that are shown anyway."""
    is_whole: bool
    """Whether all of the conversation is shown."""
    begun: BegunEmbedding | None = None
    """Of what is said, where it was begun with."""


@dataclass(eq=False)
class RecallSources:
    """Reads what there is to recall; for any number of threads. ``missing`` gets the names of what cannot be had."""

    database: Database
    finder: MessageSearch | None
    """None: nothing is recalled for what is said now."""
    clock: Clock
    metrics: Metrics
    _withdrawn: dict[int, tuple[int, Sequence[range]]] = field(default_factory=dict, init=False)
    """By key of a conversation its length, and where nothing of it may be brought up. No text is kept."""

    def material(
        self, session: Session, app_id: str, app_name: str, users: Sequence[str], missing: list[str]
    ) -> RecallMaterial:
        """Read what there is of users, whatever is said; see ``shared.base.subjects.recalled_for``."""
        whose = {"app_id": app_id, "users": users}
        memories = self._part(app_id, "memories", missing, lambda: queries.memories_to_recall(session, whose)) or ()
        facts = self._part(app_id, "facts", missing, lambda: queries.facts_to_recall(session, whose)) or ()
        return RecallMaterial(app_name, memories, standing_order(facts))

    def has_answered(self, session: Session, app_id: str, user_id: str | None, missing: list[str]) -> bool:
        """Whether a user was ever asked for a profile."""
        read = partial(gate.has_answered, session, app_id, user_id)
        return self._part(app_id, "profile", missing, read) or False

    def profile(self, app_id: str, user_id: str | None, actor: str, missing: list[str]) -> str:
        """Return what the profile of a user who was asked for it says, with their consent only; that is audited."""

        def read() -> str:
            shown = gate.ask_for(self.database, app_id, user_id, actor, self.clock.now(), self.metrics)
            return "" if shown.profile is None else gate.text_of(shown.profile)

        return self._part(app_id, "profile", missing, read) or ""

    def begin(self, app_id: str, text: str | None) -> BegunEmbedding | None:
        """Have what is said now embedded, while what there is whatever is said is read."""
        query = _question_of(text)
        return None if self.finder is None or query is None else self.finder.begin(app_id, query)

    def tuned_budget(self, overrides: Mapping[str, str | None]) -> int:
        """Return the tokens that what is recalled for what is said now may take, as tuned for an app."""
        return 0 if self.finder is None else overlaid(self.finder.defaults, overrides).tuning.token_budget

    def tail(self, turn: CurrentTurn, missing: list[str]) -> tuple[TailMaterial, Search | None]:
        """Return what there is for what is said now, and how the search for earlier messages went."""
        search = self._part(turn.app_id, "retrieved", missing, lambda: self._found(turn))
        query = None if search is None else search.query
        summaries = self._part(turn.app_id, "summary", missing, lambda: self._summaries(turn, query)) or ()
        earlier = search and self._part(turn.app_id, "retrieved", missing, lambda: self._earlier(turn, search))
        material = TailMaterial(
            summary_id=summaries[0].summary_id if summaries else None,
            summary="\n".join(one.content for one in reversed(summaries)),
            earlier=earlier or (),
            is_about_code=search is not None and search.question.about_code,
        )
        return material, search

    def record(self, search: Search | None, tail: Tail, head: Head) -> None:
        """Have it written down how the retrieval for a context went, if there was one, and what was recalled beside."""
        if self.finder is not None and search is not None:
            beside = {"summaries": int(tail.summary_id is not None), "profile": int(head.has_profile)}
            self.finder.record(search, tail.retrieved_tokens, beside)

    def _part(self, app_id: str, part: str, missing: list[str], read: Callable[[], PartT]) -> PartT | None:
        try:
            return read()
        except (Transient, SQLAlchemyError) as error:
            missing.append(part)
            self.metrics.context_parts_missing.labels(part).inc()
            get_logger().warning("context_part_missing", part=part, app_id=app_id, error=type(error).__name__)
            return None

    def _found(self, turn: CurrentTurn) -> Search | None:
        query = _question_of(turn.text)
        if self.finder is None or query is None:
            return None
        request = SearchRequest(
            text=query,
            limit=MOST_HITS,
            conversation_id=turn.conversation_id,
            exclude_conversation=turn.is_whole,
            user_id=turn.user_id,
            purpose=RetrievalPurpose.CONTEXT,
        )
        return self.finder.find(turn.app_id, request, turn.begun)

    def _summaries(self, turn: CurrentTurn, query: QueryVector | None) -> tuple[Summary, ...]:
        """Return the newest summary, and of the older ones that which is most like what is said, if one is."""
        if turn.conversation_key is None or turn.is_whole:
            return ()
        with self.database.read() as session:
            found = of_conversation(session, turn.conversation_key, _LATEST_SUMMARIES)
        newest, older = tuple(found[:1]), found[1:]
        likenesses = [(query and query.likeness(one.vector, one.vector_model)) or 0.0 for one in older]
        likeness, best = max(zip(likenesses, older, strict=True), key=lambda pair: pair[0], default=(0.0, None))
        return newest if best is None or likeness < _LEAST_SUMMARY_LIKENESS else (*newest, best)

    def _earlier(self, turn: CurrentTurn, search: Search) -> EarlierMessages | None:
        hits = _worth_showing(search, turn.shown)
        if not hits:
            return None
        with self.database.read() as session:
            if len(hits) <= _FEW_HITS:
                # What came of the best may share no word with what was asked.
                known = {*turn.shown, *(hit.content.strip() for hit in hits)}
                followers = what_followed(session, turn.app_id, hits[0], _FOLLOWERS)
                hits += [
                    one for one in followers if one.content.strip() not in known and not is_small_talk(one.content)
                ]
            beside = {hit.doc_id + step for hit in hits if hit.role == _ASSISTANT for step in (-1, 1)}
            neighbours = said_at(session, turn.app_id, sorted(beside)) if beside else []
            others = [hit for hit in hits if hit.conversation_id != turn.conversation_id]
            passages = {hit.doc_id for hit in others if hit.role == _USER and hit.key[1]}
            return EarlierMessages(
                hits,
                neighbours={one.doc_id: one for one in neighbours},
                whole=whole_at(session, turn.app_id, sorted(passages)),
                zones=zones_at(session, sorted({one.doc_id for one in (*hits, *neighbours)})),
                withdrawn=self._withdrawn_in(session, {conversation_of(hit.doc_id) for hit in others}),
                turn=turn,
            )

    def _withdrawn_in(self, session: Session, keys: Collection[int]) -> dict[int, Sequence[range]]:
        """Return where nothing of conversations may be brought up; each is looked through again once it is longer."""
        spans: dict[int, Sequence[range]] = {}
        for key, length in queries.lengths_of(session, sorted(keys)).items():
            known = self._withdrawn.get(key)
            if known is None or known[0] != length:
                if len(self._withdrawn) >= _MOST_KNOWN:
                    self._withdrawn.clear()
                known = self._withdrawn[key] = (length, withdrawn_spans(queries.said_by_users(session, key)))
            spans[key] = known[1]
        return spans


def _question_of(said: str | None) -> str | None:
    """Return what is looked for where somebody says something; None for nothing."""
    if not said or is_small_talk(said):
        return None
    # Its beginning and its end, where people put what they want.
    return said if len(said) <= MOST_CHARS else f"{said[: MOST_CHARS // 2]}\n{said[-MOST_CHARS // 2 :]}"


def _worth_showing(search: Search, shown: Collection[str]) -> list[SearchHit]:
    """Return what says something, is not shown anyway, and not far behind the best; nothing if all is off the point."""
    # Of a program that records all it sent, what was recalled for a question comes back as a user's message.
    small_talk = {hit.content for hit in search.hits if is_small_talk(without_recalled(hit.content))}
    saying = [hit for hit in search.hits if hit.content not in small_talk]
    if not any(hit.by_words or (hit.ranked.candidate.dense or 0.0) >= LEAST_SIMILARITY for hit in saying):
        return []
    ordered = behind_corrections(search.hits, _LEAST_SHARE * search.hits[0].ranked.score)
    return [hit for hit in ordered if hit.content not in small_talk and hit.content.strip() not in shown]


@dataclass(frozen=True)
class EarlierMessages:
    """Messages in the order of their use, each with those it is not shown without; read as far as there is room.

    An assistant's line is shown beside the user's that it answers or that answers it, or left out: "Pad thai with
    peanuts" misleads without "I have a peanut allergy". Of other conversations no sentence with a secret is shown, nor
    what a user only handed over.
    """

    hits: Sequence[SearchHit]
    neighbours: Mapping[int, SearchHit]
    """What was said beside the assistant's, by doc id."""
    whole: Mapping[int, str]
    """The messages that hits are passages of, by doc id."""
    zones: Mapping[int, TimeZones]
    withdrawn: Mapping[int, Sequence[range]]
    """Positions that are not brought up in another talk, by key of their conversation."""
    turn: CurrentTurn

    def __iter__(self) -> Iterator[tuple[SearchHit, list[SearchHit]]]:
        of_doc_id: dict[int, list[SearchHit]] = {}
        for hit in self.hits:
            of_doc_id.setdefault(hit.doc_id, []).append(hit)
        # Each once, though a user's line may belong to two of the assistant's: to look for secrets in it takes longer
        # than all else of a context.
        shared: dict[tuple[int, int], SearchHit | None] = {}
        for hit in self.hits:
            needed = self._companions(hit, of_doc_id) if hit.role == _ASSISTANT else ()
            for one in (hit, *needed):
                if one.key not in shared:
                    shared[one.key] = self._shared(one)
            shown = [found for one in (hit, *needed) if (found := shared[one.key]) is not None]
            # Both or neither: of a companion there may be nothing that can be shown.
            if len(shown) == 1 + len(needed):
                yield shown[0], shown[1:]

    def _companions(self, hit: SearchHit, of_doc_id: Mapping[int, list[SearchHit]]) -> list[SearchHit]:
        partner = hit.doc_id + (1 if hit.content.rstrip().endswith(_QUESTION_MARKS) else -1)
        beside: list[SearchHit] = []
        for doc_id in (hit.doc_id - 1, hit.doc_id + 1):
            if doc_id in of_doc_id:
                beside += of_doc_id[doc_id]
            elif doc_id == partner and doc_id in self.neighbours:
                one = self.neighbours[doc_id]
                beside.append(one._replace(content=shorten(one.content, _MOST_COMPANION_CHARS)))
        return [
            one
            for one in beside
            if one.role == _USER
            and conversation_of(one.doc_id) == conversation_of(hit.doc_id)
            and one.content.strip() not in self.turn.shown
            and not is_small_talk(one.content)
        ]

    def _shared(self, hit: SearchHit) -> SearchHit | None:
        """Return a message as it may be shown, dated by the clock of who said it; None where nothing of it may be."""
        content = hit.content
        if hit.conversation_id != self.turn.conversation_id:
            spans = self.withdrawn.get(conversation_of(hit.doc_id), ())
            if any(position_of(hit.doc_id) in span for span in spans):
                return None
            digest = blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16, key=hit.role.encode()).digest()
            # Nor is a passage shown because somebody said the same: around this one may stand whose words it is.
            if hit.key[1] or digest not in _SHOWN_WHOLE:
                content = self._shareable(hit)
                if content == hit.content and not hit.key[1]:
                    # Of another talk's messages the same are recalled again and again, and next to all are shown whole.
                    if len(_SHOWN_WHOLE) >= _MOST_KNOWN:
                        _SHOWN_WHOLE.clear()
                    _SHOWN_WHOLE.add(digest)
        return self._dated(hit, content) if content else None

    def _shareable(self, hit: SearchHit) -> str:
        content = hit.content
        if hit.role == _USER:
            # Nor is an order to whoever reads along carried from one talk into another, whoever typed it.
            content = without_planted(self._kept_words(hit)).strip()
        return without_secrets(content, LEFT_OUT)

    def _kept_words(self, hit: SearchHit) -> str:
        # What somebody asks not to be remembered is not brought up in another talk either.
        own, _ = withdrawn(without_material(self.whole.get(hit.doc_id, hit.content)))
        if not hit.key[1]:
            return own
        # Where a passage begins or ends says nothing of what is around it, so its lines are looked for.
        return "\n".join(line for line in hit.content.splitlines() if line.strip() and line.strip() in own)

    def _dated(self, hit: SearchHit, content: str) -> SearchHit:
        zones = self.zones.get(hit.doc_id, _NO_ZONES)
        if content is hit.content and zones == _NO_ZONES:
            return hit  # As it was read, in UTC. To make it anew takes longer than all else that is done of it here.
        local = zones.local
        candidate = hit.ranked.candidate._replace(created_at=local(hit.ranked.candidate.created_at))
        return hit._replace(
            ranked=hit.ranked._replace(candidate=candidate), content=content, last_at=local(hit.last_at)
        )
