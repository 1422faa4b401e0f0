"""Puts archived facts into an app: with what they replaced, where each was said, and their history.

A fact that the app already has is left as it is and counted. The caps hold: where there is no place nothing is
imported, and a pin for which there is no place is given up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from shared.archive.document import ArchivedFact, ArchivedFactChange, ArchivedFactSource, row_of
from shared.causes import Cause
from shared.errors import Conflict
from shared.facts import queries
from shared.facts.changes import FactTexts, free_pins, free_slots, record
from shared.facts.clearing import refuse_while_clearing
from shared.facts.models import SLOTS, Fact, FactChange, FactChangeKind, FactSource, FactState, said_key
from shared.subjects import NOBODY, Subject


@dataclass
class ArrivingFacts:
    """An import of facts under way, into a locked app; ``keys`` has its conversations by their ids."""

    session: Session
    app_id: str
    keys: Mapping[str, int]
    cause: Cause
    facts: int = 0
    skipped: int = 0
    changes: int = 0
    changes_skipped: int = 0
    _ids: dict[int, int] = field(default_factory=dict)
    _users: dict[int, str] = field(default_factory=dict)
    _arrived: list[Fact] = field(default_factory=list)

    def carry_out(self, facts: Sequence[ArchivedFact], history: Sequence[ArchivedFactChange]) -> None:
        """Take in facts and their history. Raises: Conflict, while the app is cleared or where there is no place."""
        if not facts:
            return
        for user_id in {one.user_id or NOBODY for one in facts}:
            refuse_while_clearing(self.session, Subject(self.app_id, user_id))
        beneath = {one.updates_fact_id for one in facts}
        arriving = self._unknown([one for one in facts if one.fact_id not in beneath])
        self._refuse_too_many(arriving)
        by_id = {one.fact_id: one for one in facts}
        for one in arriving:
            self._take_chain(one, by_id)
        self.facts = len(self._arrived)
        self.skipped = len(facts) - self.facts
        self._take_history(history)
        for fact in self._arrived:
            record(self.session, fact, FactChangeKind.LEARNED, self.cause, FactTexts(after=fact.statement))

    def _unknown(self, standing: Sequence[ArchivedFact]) -> list[ArchivedFact]:
        known = {fact.said_key for fact in queries.standing_in_app(self.session, self.app_id)}
        arriving: dict[str, ArchivedFact] = {}
        for one in standing:
            key = said_key(one.user_id or NOBODY, one.statement)
            if key not in known:
                arriving.setdefault(key, one)
        return list(arriving.values())

    def _refuse_too_many(self, arriving: Sequence[ArchivedFact]) -> None:
        for user_id, count in Counter(one.user_id or NOBODY for one in arriving).items():
            subject = Subject(self.app_id, user_id)
            free = len(free_slots(self.session, subject))
            if count > free:
                whose = f"user {user_id} of app {self.app_id}" if user_id else f"app {self.app_id}"
                raise Conflict(
                    f"The archive brings {count} facts, but {whose} has {free} free places of {SLOTS}; "
                    f"delete some first, or import into another app.",
                    code="no_room",
                    details={"arriving": count, "free": free} | ({"userId": user_id} if user_id else {}),
                )

    def _take_chain(self, top: ArchivedFact, by_id: Mapping[int, ArchivedFact]) -> None:
        """Take in a fact with what it replaced, the lowest first."""
        chain: list[ArchivedFact] = []
        lower: ArchivedFact | None = top
        while lower is not None:
            chain.append(lower)
            lower = by_id.get(lower.updates_fact_id or 0)
        beneath: int | None = None
        for one in reversed(chain):
            beneath = self._take(one, beneath, stands=one is top)

    def _take(self, archived: ArchivedFact, updates: int | None, stands: bool) -> int:
        user_id = archived.user_id or NOBODY
        fact = row_of(
            Fact,
            archived,
            fact_id=None,
            app_id=self.app_id,
            user_id=user_id,
            state=FactState.REPLACED,
            said_key=said_key(user_id, archived.statement),
            updates_fact_id=updates,
            said_at=archived.said_at or archived.last_seen,
        )
        if stands:
            fact.state, fact.slot = FactState.STANDING, free_slots(self.session, fact.subject)[0]
            fact.pin_slot = next(iter(free_pins(self.session, fact.subject)), None) if archived.pinned else None
        self.session.add(fact)
        self.session.flush()
        for one in archived.sources:
            said_at, key = one.said_at or one.last_seen, self._key(one)
            source = row_of(FactSource, one, fact_id=fact.fact_id, conversation_key=key, said_at=said_at)
            self.session.add(source)
        self.session.flush()
        self._arrived.append(fact)
        self._ids[archived.fact_id], self._users[fact.fact_id] = fact.fact_id, fact.user_id
        return fact.fact_id

    def _key(self, source: ArchivedFactSource) -> int | None:
        if source.conversation_id is None:
            return None
        if source.conversation_id not in self.keys:
            raise Conflict(
                f"The archive has a fact of conversation {source.conversation_id}, but not the conversation.",
                code="broken_archive",
            )
        return self.keys[source.conversation_id]

    def _take_history(self, history: Sequence[ArchivedFactChange]) -> None:
        for one in history:
            fact_id = self._ids.get(one.fact_id)
            if fact_id is None:
                self.changes_skipped += 1
                continue
            change = row_of(
                FactChange,
                one,
                fact_id=fact_id,
                app_id=self.app_id,
                user_id=self._users[fact_id],
                source_keys=sorted(self.keys[name] for name in one.conversation_ids if name in self.keys),
                related_fact_id=self._ids.get(one.related_fact_id or 0),
            )
            self.session.add(change)
            self.changes += 1
        self.session.flush()
