"""Puts archived facts into an app: with what they replaced, where each was said, and their history.

A fact that the app already has is left as it is and counted. The caps hold: where there is no place nothing is
imported, and a pin for which there is no place is given up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from shared.archive.document import ArchivedFact, ArchivedFactChange
from shared.base.audit import Cause
from shared.base.choices import FactState
from shared.base.errors import Conflict
from shared.base.subjects import NOBODY, Subject
from shared.db.base import row_of
from shared.facts import queries
from shared.facts.changes import FactTexts, free_pins, free_slots, record
from shared.facts.clearing import refuse_while_clearing
from shared.facts.models import SLOTS, Fact, FactChange, FactChangeKind, FactSource, said_key
from shared.text.gate import refuse_secret
from shared.text.secrets import any_secret


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
    _arrived: dict[int, Fact] = field(default_factory=dict)
    """What became of which archived fact."""

    def carry_out(self, facts: Sequence[ArchivedFact], history: Sequence[ArchivedFactChange]) -> None:
        """Take in facts and their history. Raises: Conflict, while the app is cleared or where there is no place;
        Invalid, for a secret.
        """
        if not facts:
            return
        for user_id in {one.user_id or NOBODY for one in facts}:
            refuse_while_clearing(self.session, Subject(self.app_id, user_id))
        by_id = {one.fact_id: one for one in facts}
        for top in self._arriving(facts):
            chain = [top]
            while (lower := by_id.get(chain[-1].updates_fact_id or 0)) is not None:
                chain.append(lower)
            # The lowest first: each names the one that it replaced.
            beneath: int | None = None
            for one in reversed(chain):
                beneath = self._take(one, beneath, stands=one is top)
        self.facts = len(self._arrived)
        self.skipped = len(facts) - self.facts
        self._take_history(history)
        for fact in self._arrived.values():
            record(self.session, fact, FactChangeKind.LEARNED, self.cause, FactTexts(after=fact.statement))

    def _arriving(self, facts: Sequence[ArchivedFact]) -> Collection[ArchivedFact]:
        """Return the facts that are to stand and do not yet. Raises: Conflict, where there is no place for them."""
        beneath = {one.updates_fact_id for one in facts}
        known = {fact.said_key for fact in queries.standing_in_app(self.session, self.app_id)}
        arriving: dict[str, ArchivedFact] = {}
        for one in facts:
            key = said_key(one.user_id or NOBODY, one.statement)
            if one.fact_id not in beneath and key not in known:
                arriving.setdefault(key, one)
        for user_id, count in Counter(one.user_id or NOBODY for one in arriving.values()).items():
            free = len(free_slots(self.session, Subject(self.app_id, user_id)))
            if count > free:
                whose = f"user {user_id} of app {self.app_id}" if user_id else f"app {self.app_id}"
                raise Conflict(
                    f"The archive brings {count} facts, but {whose} has {free} free places of {SLOTS}; "
                    f"delete some first, or import into another app.",
                    code="no_room",
                    details={"arriving": count, "free": free} | ({"userId": user_id} if user_id else {}),
                )
        return arriving.values()

    def _take(self, archived: ArchivedFact, updates: int | None, stands: bool) -> int:
        user_id = archived.user_id or NOBODY
        said = [archived.statement, *(one.statement for one in archived.sources)]
        refuse_secret("\n".join(said), f"Fact {archived.fact_id} of the archive")
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
            if one.conversation_id is not None and one.conversation_id not in self.keys:
                raise Conflict(
                    f"The archive has a fact of conversation {one.conversation_id}, but not the conversation.",
                    code="broken_archive",
                )
            key, said_at = self.keys.get(one.conversation_id or ""), one.said_at or one.last_seen
            self.session.add(row_of(FactSource, one, fact_id=fact.fact_id, conversation_key=key, said_at=said_at))
        self.session.flush()
        self._arrived[archived.fact_id] = fact
        return fact.fact_id

    def _take_history(self, history: Sequence[ArchivedFactChange]) -> None:
        for one in history:
            fact = self._arrived.get(one.fact_id)
            if fact is None or any_secret((one.reason, one.before, one.after)):
                self.changes_skipped += 1
                continue
            related = self._arrived.get(one.related_fact_id or 0)
            change = row_of(
                FactChange,
                one,
                fact_id=fact.fact_id,
                app_id=self.app_id,
                user_id=fact.user_id,
                source_keys=sorted(self.keys[name] for name in one.conversation_ids if name in self.keys),
                related_fact_id=None if related is None else related.fact_id,
            )
            self.session.add(change)
            self.changes += 1
        self.session.flush()
