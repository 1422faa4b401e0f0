"""What there is for a context: the conversation, memories and facts, a profile, summaries, and earlier messages.

Each is read in short transactions; a part that cannot be had is named and counted, and the others are served. Of a long
conversation only what will stay is read, its length is summed in the database, and nothing here makes objects that a
session has to keep track of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sqlalchemy import BigInteger, BindParameter, Select, bindparam, cast, func, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.apps.queries import no_such_app
from shared.base.choices import Category
from shared.base.clock import Clock
from shared.base.errors import Transient
from shared.context.render import RecalledFact, RecalledMemory, without_recalled
from shared.context.select import Head, RecallMaterial, Tail, TailMaterial, standing_order
from shared.context.window import TAIL, Utterance
from shared.conversations.days import TimeZones, zones_at
from shared.conversations.models import Message
from shared.db.engine import Database
from shared.facts.models import Fact
from shared.llm.calls import Rate
from shared.memories.models import Memory
from shared.memories.queries import with_zones
from shared.profiles import gate
from shared.search.candidates import SearchHit, said_at, what_followed, whole_at
from shared.search.corrections import behind_corrections
from shared.search.models import Asker, conversation_of
from shared.search.search import Findings, MessageSearch, SearchRequest
from shared.search.small_talk import is_small_talk
from shared.search.view import QueryVector
from shared.summaries.models import Summary
from shared.summaries.queries import of_conversation
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from shared.text.lines import shorten
from shared.text.material import without_material
from shared.text.repetition import LEFT_OUT
from shared.text.sentences import without_secrets

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
_QUESTION_MARKS = ("?", "？")
PartT = TypeVar("PartT")


@dataclass
class Parts:
    """Reads the parts of one context; one that cannot be had is named in ``missing`` and counted."""

    app_id: str
    metrics: Metrics
    missing: list[str] = field(default_factory=list)

    def read(self, part: str, read: Callable[[], PartT]) -> PartT | None:
        """Return what is read; None where it cannot be had."""
        try:
            return read()
        except (Transient, SQLAlchemyError) as error:
            self.missing.append(part)
            self.metrics.context_parts_missing.labels(part).inc()
            get_logger().warning("context_part_missing", part=part, app_id=self.app_id, error=type(error).__name__)
            return None

    def material(self, session: Session, app_name: str, users: Sequence[str]) -> RecallMaterial:
        """Read what there is to recall of users, whatever is said; see ``shared.base.subjects.recalled_for``."""
        whose = {"app_id": self.app_id, "users": users}
        memories = self.read("memories", lambda: _memories(session, whose)) or ()
        facts = self.read("facts", lambda: _facts(session, whose)) or ()
        return RecallMaterial(app_name, memories, standing_order(facts))


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


@dataclass(eq=False)
class RecallSources:
    """Reaches for what else there is beside memories and facts; for any number of threads."""

    database: Database
    finder: MessageSearch
    clock: Clock
    metrics: Metrics

    def profile(self, parts: Parts, user_id: str | None, actor: str) -> str:
        """Return what a user's profile says, with their consent only; that is audited where they were ever asked."""

        def read() -> str:
            with self.database.read() as session:
                if not gate.has_answered(session, parts.app_id, user_id):
                    return ""
            shown = gate.ask_for(self.database, parts.app_id, user_id, actor, self.clock.now(), self.metrics)
            return "" if shown.profile is None else gate.text_of(shown.profile)

        return parts.read("profile", read) or ""

    def tail(self, parts: Parts, turn: CurrentTurn) -> tuple[TailMaterial, Findings | None]:
        """Return what there is for what is said now, and how the search for earlier messages went."""
        findings = parts.read("retrieved", lambda: self._found(turn))
        query = None if findings is None else findings.query
        summaries = parts.read("summary", lambda: self._summaries(turn, query)) or ()
        earlier = None if findings is None else parts.read("retrieved", lambda: self._earlier(turn, findings))
        material = TailMaterial(
            summary_id=summaries[0].summary_id if summaries else None,
            summary="\n".join(one.content for one in reversed(summaries)),
            earlier=earlier or (),
            is_about_code=findings is not None and findings.question.about_code,
        )
        return material, findings

    def record(self, app_id: str, findings: Findings, tail: Tail, head: Head) -> None:
        """Have it written down how the retrieval for a context went, and what was handed out beside."""
        beside = {"summaries": int(tail.summary_id is not None), "profile": int(head.has_profile)}
        self.finder.record(app_id, findings, Asker.CONTEXT, tail.retrieved_tokens, beside)

    def _found(self, turn: CurrentTurn) -> Findings | None:
        query = turn.text or ""
        if is_small_talk(query):
            return None
        if len(query) > MOST_CHARS:
            # Its beginning and its end, where people put what they want.
            query = f"{query[: MOST_CHARS // 2]}\n{query[-MOST_CHARS // 2 :]}"
        request = SearchRequest(
            text=query,
            limit=MOST_HITS,
            conversation_id=turn.conversation_id,
            is_elsewhere=turn.is_whole,
            user_id=turn.user_id,
            asker=Asker.CONTEXT,
        )
        return self.finder.find(turn.app_id, request)

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

    def _earlier(self, turn: CurrentTurn, findings: Findings) -> EarlierMessages | None:
        hits = _worth_showing(findings, turn.shown)
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
            passages = {one.doc_id for one in hits if one.role == _USER and one.key[1]} - {
                one.doc_id for one in hits if one.conversation_id == turn.conversation_id
            }
            return EarlierMessages(
                hits,
                neighbours={one.doc_id: one for one in neighbours},
                whole=whole_at(session, turn.app_id, sorted(passages)),
                zones=zones_at(session, sorted({one.doc_id for one in (*hits, *neighbours)})),
                turn=turn,
            )


def _worth_showing(findings: Findings, shown: Collection[str]) -> list[SearchHit]:
    """Return what says something, is not shown anyway, and not far behind the best; nothing if all is off the point."""
    # Of a program that records all it sent, what was recalled for a question comes back as a user's message.
    small_talk = {hit.content for hit in findings.hits if is_small_talk(without_recalled(hit.content))}
    saying = [hit for hit in findings.hits if hit.content not in small_talk]
    if not any(hit.by_words or (hit.ranked.candidate.dense or 0.0) >= LEAST_SIMILARITY for hit in saying):
        return []
    ordered = behind_corrections(findings.hits, _LEAST_SHARE * findings.hits[0].ranked.score)
    return [hit for hit in ordered if hit.content not in small_talk and hit.content.strip() not in shown]


class EarlierMessages:
    """Messages in the order of their use, each with those it is not shown without; read as far as there is room.

    An assistant's line is shown beside the user's that it answers or that answers it, or left out: "Pad thai with
    peanuts" misleads without "I have a peanut allergy". Of other conversations no sentence with a secret is shown, nor
    what a user only handed over.
    """

    def __init__(
        self,
        hits: Sequence[SearchHit],
        neighbours: Mapping[int, SearchHit],
        whole: Mapping[int, str],
        zones: Mapping[int, TimeZones],
        turn: CurrentTurn,
    ) -> None:
        """``neighbours``: what was said beside the assistant's; ``whole``: the messages of passages; by doc id."""
        self._hits, self._neighbours, self._whole, self._zones, self._turn = hits, neighbours, whole, zones, turn
        self._of_doc_id: dict[int, list[SearchHit]] = {}
        for hit in hits:
            self._of_doc_id.setdefault(hit.doc_id, []).append(hit)
        self._shareable: dict[SearchHit, SearchHit | None] = {}

    def __iter__(self) -> Iterator[tuple[SearchHit, list[SearchHit]]]:
        for hit in self._hits:
            needed = self._companions(hit) if hit.role == _ASSISTANT else ()
            every = [self._shared(one) for one in (hit, *needed)]
            shown = [one for one in every if one is not None]
            # Both or neither: what of a companion may be shown can be nothing at all.
            if len(shown) == len(every):
                yield shown[0], shown[1:]

    def _companions(self, hit: SearchHit) -> list[SearchHit]:
        partner = hit.doc_id + (1 if hit.content.rstrip().endswith(_QUESTION_MARKS) else -1)
        beside: list[SearchHit] = []
        for doc_id in (hit.doc_id - 1, hit.doc_id + 1):
            if doc_id in self._of_doc_id:
                beside += self._of_doc_id[doc_id]
            elif doc_id == partner and doc_id in self._neighbours:
                one = self._neighbours[doc_id]
                beside.append(replace(one, content=shorten(one.content, _MOST_COMPANION_CHARS)))
        return [
            one
            for one in beside
            if one.role == _USER
            and conversation_of(one.doc_id) == conversation_of(hit.doc_id)
            and one.content.strip() not in self._turn.shown
            and not is_small_talk(one.content)
        ]

    def _shared(self, hit: SearchHit) -> SearchHit | None:
        """Return a message as it may be shown, dated by the clock of who said it; None where nothing of it may be."""
        content = hit.content
        if hit.conversation_id != self._turn.conversation_id:
            if hit.role == _USER:
                content = self._own_words(hit)
            content = without_secrets(content, LEFT_OUT)
        return self._dated(hit, content) if content else None

    def _own_words(self, hit: SearchHit) -> str:
        own = without_material(self._whole.get(hit.doc_id, hit.content))
        if not hit.key[1]:
            return own
        # Where a passage begins or ends says nothing of what is around it, so its lines are looked for.
        return "\n".join(line for line in hit.content.splitlines() if line.strip() and line.strip() in own)

    def _dated(self, hit: SearchHit, content: str) -> SearchHit:
        local = self._zones.get(hit.doc_id, TimeZones()).local
        candidate = hit.ranked.candidate._replace(created_at=local(hit.ranked.candidate.created_at))
        return replace(
            hit, ranked=hit.ranked._replace(candidate=candidate), content=content, last_at=local(hit.last_at)
        )


_CATEGORIES = {category.value: category for category in Category}
_SPEAKERS = (_USER, _ASSISTANT)

# Written once: building a statement takes longer than most of these take to run.
_APP: BindParameter[str] = bindparam("app_id")
_WHOSE: BindParameter[Sequence[str]] = bindparam("users", expanding=True)
_NAMED = select(App.name, App.shared_memory).where(App.app_id == _APP)
_MEMORIES = (
    with_zones(select(Memory.memory_id, Memory.content, Memory.created_at))
    .where(Memory.app_id == _APP, Memory.user_id.in_(_WHOSE))
    .order_by(Memory.updated_at.desc(), Memory.memory_id.desc())
)
_FACTS = select(Fact.fact_id, Fact.statement, Fact.category, Fact.confidence, Fact.last_seen, Fact.pin_slot).where(
    Fact.app_id == _APP, Fact.user_id.in_(_WHOSE), Fact.slot.is_not(None)
)


def app_recalled_for(session: Session, app_id: str) -> tuple[str, bool]:
    """Return an app's name, and whether what names no user is recalled for every user. Raises: NotFound."""
    row = session.execute(_NAMED, {"app_id": app_id}).one_or_none()
    if row is None:
        raise no_such_app(app_id)
    return row[0], row[1]


def _memories(session: Session, whose: Mapping[str, object]) -> tuple[RecalledMemory, ...]:
    """Return the memories of users of an app, the last updated first, dated by the clocks of whose they are."""
    found = session.execute(_MEMORIES, whose)
    return tuple(RecalledMemory(id_, content, TimeZones(*known).local(at)) for id_, content, at, *known in found)


def _facts(session: Session, whose: Mapping[str, object]) -> tuple[RecalledFact, ...]:
    """Return the facts that are active about users of an app."""
    return tuple(
        RecalledFact(fact_id, statement, _CATEGORIES[category], confidence, last_seen, pin)
        for fact_id, statement, category, confidence, last_seen, pin in session.execute(_FACTS, whose)
    )


_MINE = Message.conversation_key == bindparam("key")
_ROLE_IN = Message.role.in_(bindparam("roles", expanding=True))
_POSITION = select(Message.position).where(_MINE, _ROLE_IN).limit(1)
_FIRST_AFTER = _POSITION.where(Message.position > bindparam("after")).order_by(Message.position)
_COLUMNS = (Message.role, Message.content, Message.name, Message.tokens, Message.payload)
_ALL = select(*_COLUMNS).where(_MINE).order_by(Message.position)
_ROWS = select(Message.position, func.coalesce(Message.call_position, Message.position), *_COLUMNS).where(_MINE)
_NEWEST = _ROWS.order_by(Message.position.desc()).limit(TAIL)
# Written out as its partial index has it: a value that is sent beside the statement finds no such index.
_SYSTEM = _ROWS.where(text("messages.role = 'system'"))
_AT = _ROWS.where(Message.position.in_(bindparam("positions", expanding=True)))
_RESULTS = _ROWS.where(Message.call_position.in_(bindparam("positions", expanding=True)))
_CHARS = func.coalesce(Message.payload_chars, func.length(Message.content))
_RATE_CHARS = bindparam("chars", type_=BigInteger)
# Rounded up for each message, as ``Rate.tokens_in`` does.
_BY_RATE = (cast(_CHARS, BigInteger) * bindparam("tokens") + (_RATE_CHARS - 1)) // _RATE_CHARS
_EACH = select(func.coalesce(Message.tokens, _BY_RATE).label("tokens")).where(_MINE)
_LATELY = _EACH.order_by(Message.position.desc()).limit(bindparam("newest")).subquery()
_LENGTH = select(func.coalesce(func.sum(_LATELY.c.tokens), 0))


def all_messages(session: Session, conversation_key: int) -> list[Utterance]:
    """Return all messages of a conversation, in order."""
    return [Utterance(*row) for row in session.execute(_ALL, {"key": conversation_key})]


def tokens_stored(session: Session, conversation_key: int, rate: Rate, newest: int) -> int:
    """Return the length of a conversation's newest messages: as provided, or else by the rate."""
    values = {"key": conversation_key, "tokens": rate.tokens, "chars": rate.chars, "newest": newest}
    return int(session.scalar(_LENGTH, values) or 0)


def staying_messages(session: Session, conversation_key: int) -> list[Utterance]:
    """Return, in order, at least the messages of a conversation that stay when its middle goes.

    Those are system messages, the first user message and what was said next, and the last six; with each, the call of a
    tool that it belongs to, and all results of that call.
    """

    def rows_of(query: Select[*tuple[Any, ...]], positions: Iterable[int] = ()) -> dict[int, tuple[int, Utterance]]:
        """Return messages by position, each with the position of the call it belongs to, or its own."""
        found = session.execute(query, {"key": conversation_key, "positions": list(positions)})
        return {position: (call, Utterance(*columns)) for position, call, *columns in found}

    def first_of(roles: Sequence[str], after: int) -> int | None:
        return session.scalar(_FIRST_AFTER, {"key": conversation_key, "roles": roles, "after": after})

    rows = rows_of(_NEWEST)
    first = first_of((_USER,), -1)
    answer = None if first is None else first_of(_SPEAKERS, first)
    rows |= rows_of(_AT, [one for one in (first, answer) if one is not None])
    calls = {call for call, _ in rows.values()}
    rows |= rows_of(_AT, calls - rows.keys())
    rows |= rows_of(_RESULTS, calls) | rows_of(_SYSTEM)
    return [rows[position][1] for position in sorted(rows)]
