"""Facts, where each was mentioned, everything that ever happened to them, their kinds, and what a statement is about.

``slot`` makes the database itself refuse a 151st fact of a subject, ``pin_slot`` an eleventh pinned one. A fact that
was contradicted stays as ``replaced`` beneath the one that replaced it, and one that was deleted as ``deleted`` until
it can no longer be taken back; neither has a slot. A wish wrongly called a preference lives longest, so doubt falls on
that side; of a home, an employer, a name, an age a user has only one. Source: seed 000; decisions.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Float,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from shared.base.choices import Category, FactState
from shared.base.subjects import NOBODY, Subject
from shared.db.base import Base, BigKey, UtcDateTime, partial
from shared.text.classifier import StatementType, judge
from shared.text.likeness import normal
from shared.text.lines import clean
from shared.text.words import MONTHS, WEEKDAYS, word_set

SLOTS = 150
"""Facts a subject has at the very most. Source: seed 000."""
PIN_SLOTS = 10
"""Pinned facts a subject has at most. Source: seed 000."""


class Fact(Base):
    """One statement about a user or the work in hand."""

    __tablename__ = "facts"
    __table_args__ = (
        UniqueConstraint("app_id", "user_id", "slot"),
        UniqueConstraint("app_id", "user_id", "pin_slot"),
        CheckConstraint(f"slot >= 1 AND slot <= {SLOTS}", name="slot_within_cap"),
        CheckConstraint(f"pin_slot >= 1 AND pin_slot <= {PIN_SLOTS}", name="pin_within_cap"),
        CheckConstraint("(state = 'standing') = (slot IS NOT NULL)", name="standing_has_slot"),
        CheckConstraint("pin_slot IS NULL OR slot IS NOT NULL", name="pinned_stands"),
        CheckConstraint("confidence >= 0 AND confidence <= 1", name="confidence_in_range"),
        CheckConstraint("length(statement) > 0", name="statement_not_empty"),
        Index("uq_facts_said", "app_id", "said_key", unique=True, **partial("slot IS NOT NULL")),
        Index("ix_facts_app_id_user_id_state", "app_id", "user_id", "state"),
        # Finds what expires, and counts facts by category and state without reading them.
        Index("ix_facts_category_state_last_seen", "category", "state", "pin_slot", "last_seen"),
        {"sqlite_autoincrement": True},
    )

    fact_id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    user_id: Mapped[str] = mapped_column(String(200), default=NOBODY, server_default=NOBODY)
    """The user it is about; empty where nobody was named. Facts of two users neither merge nor mix."""
    state: Mapped[str] = mapped_column(String(10), default=FactState.STANDING)
    slot: Mapped[int | None]
    pin_slot: Mapped[int | None]
    """Its place among the pinned ones; None when it is not pinned."""
    statement: Mapped[str] = mapped_column(Text)
    said_key: Mapped[str] = mapped_column(String(64))
    """Digest of its user and its normalised statement: an app holds the same statement once."""
    category: Mapped[str] = mapped_column(String(12))
    confidence: Mapped[float] = mapped_column(Float)
    mention_count: Mapped[int] = mapped_column(default=1)
    by_hand: Mapped[bool] = mapped_column(Boolean, default=False)
    """Whether a person wrote it first."""
    agent: Mapped[str] = mapped_column(String(200))
    """Who wrote the present statement: ``extractive``, ``ollama:NAME``, ``admin`` or ``token:ID``."""
    updates_fact_id: Mapped[int | None] = mapped_column(BigInteger)
    """The fact it contradicted and replaced."""
    version: Mapped[int] = mapped_column(default=1)
    first_seen: Mapped[datetime] = mapped_column(UtcDateTime)
    last_seen: Mapped[datetime] = mapped_column(UtcDateTime)
    """When it was last heard of here: the clock of expiry."""
    said_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """When the newest message said it that does: the order of facts about one thing."""
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    undo_until: Mapped[datetime | None] = mapped_column(UtcDateTime, index=True)
    clear_id: Mapped[str | None] = mapped_column(ForeignKey("fact_clears.clear_id"), index=True)
    """The clear-all that deleted it."""
    was_pinned: Mapped[bool] = mapped_column(Boolean, default=False)
    """Whether it was pinned when it was deleted, so that taking that back pins it again."""
    vector: Mapped[bytes | None] = mapped_column(LargeBinary)
    """float32, little-endian, unit length; None until a worker has embedded it."""
    vector_model: Mapped[str | None] = mapped_column(String(200))

    @property
    def subject(self) -> Subject:
        """Whose fact it is."""
        return Subject(self.app_id, self.user_id)


class FactMention(Base):
    """One statement as it was made once: in a conversation, or by a person's own hand (no conversation)."""

    __tablename__ = "fact_mentions"
    __table_args__ = (
        Index("ix_fact_mentions_app_id_user_id", "app_id", "user_id"),
        {"sqlite_autoincrement": True},
    )

    mention_id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    fact_id: Mapped[int] = mapped_column(ForeignKey("facts.fact_id", ondelete="CASCADE"), index=True)
    """Where the last fold put it."""
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    user_id: Mapped[str] = mapped_column(String(200), default=NOBODY, server_default=NOBODY)
    meaning: Mapped[int] = mapped_column(BigInteger)
    """What it says: the id of the fact that said so first. Mentions that say the same have the same."""
    updates: Mapped[int | None] = mapped_column(BigInteger)
    """The meaning that whoever found it says it contradicts."""
    conversation_key: Mapped[int | None] = mapped_column(ForeignKey("conversations.key"), index=True)
    conversation_id: Mapped[str | None] = mapped_column(String(200))
    message_ids: Mapped[list[str]] = mapped_column(JSON, default=list)
    statement: Mapped[str] = mapped_column(Text)
    """The fact as it was understood there, so that it can stand in these words when the others are taken back."""
    edits: Mapped[list[list[Any]]] = mapped_column(JSON, default=list)
    """What a hand made of these words since, by changing the fact's: the newest mention there was then, and words."""
    category: Mapped[str] = mapped_column(String(12))
    agent: Mapped[str] = mapped_column(String(200))
    heard_at: Mapped[datetime] = mapped_column(UtcDateTime)
    said_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """When the newest of its messages was said."""

    @property
    def by_hand(self) -> bool:
        """Whether a person wrote it."""
        return self.conversation_key is None

    @property
    def words(self) -> str:
        """What it says, by whoever had the last word."""
        return self.words_by(None)

    def words_by(self, mention_id: int | None) -> str:
        """Return what it said when a mention was heard; None for one that is only heard of now."""
        then = [words for newest, words in self.edits or () if mention_id is None or newest < mention_id]
        return str(then[-1]) if then else self.statement

    @property
    def wordings(self) -> list[str]:
        """Return all that it ever said."""
        return [self.statement, *(str(words) for _, words in self.edits or ())]


class FactClear(Base):
    """A clear-all of the facts of an app or of one subject: taken back for some seconds, then an erasure."""

    __tablename__ = "fact_clears"
    __table_args__ = (Index("uq_fact_clears_open", "app_id", "user_id", unique=True, **partial("settled_at IS NULL")),)

    clear_id: Mapped[str] = mapped_column(String(40), primary_key=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    user_id: Mapped[str | None] = mapped_column(String(200))
    """Whose facts; None for all of the app's."""
    actor: Mapped[str] = mapped_column(String(200))
    count: Mapped[int]
    last_message_key: Mapped[int] = mapped_column(BigInteger)
    """Nothing said up to this message becomes a fact once the clear is final."""
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    undo_until: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    settled_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When it was taken back, or became final."""
    erasure_id: Mapped[str | None] = mapped_column(String(40))
    """Its receipt, once it is final."""


class FactChangeKind(StrEnum):
    """What happened to a fact."""

    LEARNED = "learned"
    WRITTEN = "written"
    """By hand."""
    REPEATED = "repeated"
    """Said again; its confidence grew."""
    EDITED = "edited"
    REPLACED = "replaced"
    """Contradicted; the related fact stands in its place."""
    PINNED = "pinned"
    UNPINNED = "unpinned"
    MOVED = "moved"
    """Into another category."""
    DELETED = "deleted"
    UNDONE = "undone"
    """A delete was taken back."""
    EVICTED = "evicted"
    EXPIRED = "expired"
    RESTORED = "restored"
    """It stands again, or in other words, because what had changed it was erased."""
    ERASED = "erased"


class FactChange(Base):
    """One change: who, why, before and after. An erasure empties the texts and leaves the rest."""

    __tablename__ = "fact_history"
    __table_args__ = (
        Index("ix_fact_history_app_id_change_id", "app_id", "change_id"),
        Index("ix_fact_history_app_id_user_id", "app_id", "user_id"),
        {"sqlite_autoincrement": True},
    )

    change_id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    fact_id: Mapped[int] = mapped_column(BigInteger, index=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    user_id: Mapped[str] = mapped_column(String(200), default=NOBODY, server_default=NOBODY)
    """Whose fact it was; the fact itself may be gone."""
    kind: Mapped[str] = mapped_column(String(12))
    actor: Mapped[str] = mapped_column(String(200))
    reason: Mapped[str] = mapped_column(Text)
    before: Mapped[str | None] = mapped_column(Text)
    after: Mapped[str | None] = mapped_column(Text)
    source_keys: Mapped[list[int]] = mapped_column(JSON, default=list)
    """Keys of the conversations whose words stand in ``before`` or ``after``."""
    related_fact_id: Mapped[int | None] = mapped_column(BigInteger)
    job_id: Mapped[str | None] = mapped_column(String(40))
    at: Mapped[datetime] = mapped_column(UtcDateTime)


def said_key(user_id: str, statement: str) -> str:
    """Return the digest under which an app holds a statement about one user (or about nobody in particular)."""
    whose = f"u{user_id}" if user_id else ""
    return hashlib.sha256(f"{whose}\0{normal(statement)}".encode()).hexdigest()


WEIGHTS = {Category.PROJECT: 0.8, Category.PREFERENCE: 0.3, Category.IDENTITY: 0.5}
"""How fast a kind of fact gives way as it grows old."""
LIFETIMES = {
    Category.PROJECT: timedelta(days=60),
    Category.PREFERENCE: timedelta(days=180),
    Category.IDENTITY: timedelta(days=365),
}
"""A fact that was not heard of for longer than this expires, unless it is pinned."""


_USER = re.compile(r"^(?:the )?user(?:['’]s)? ", re.IGNORECASE)
_SORTS = {
    Category.IDENTITY: (StatementType.HARM, StatementType.IDENTITY, StatementType.RELATIVE),
    Category.PREFERENCE: (StatementType.WISH, StatementType.LIKE),
    Category.PROJECT: (StatementType.PLAN, StatementType.DECISION, StatementType.NEED),
}


def category_of(statement: str) -> Category:
    """Return what a statement is about; one that says nothing known is a preference."""
    if not re.search(r"[^\W\d_]", statement):
        return Category.PREFERENCE
    if single_value(statement) is not None:
        return Category.IDENTITY
    return category_as(judge(_USER.sub("", statement)).sorts)


def category_as(sorts: Mapping[StatementType, float]) -> Category:
    """Return what a statement is about that is of such sorts."""
    return max(_SORTS, key=lambda category: sum(sorts[sort] for sort in _SORTS[category]))


_MONTH = "|".join(MONTHS)
_OF_LATE = rf"(?: (?:in (?:{_MONTH})|(?:{_MONTH}) 20\d\d|(?:last|this) \w+|recently|yesterday))?"
"""When, as far as it is no more than some months ago: "moved to Porto in 2015" does not say where somebody lives."""
_OPENING = r"^(?:(?:actually|well|no|oh|ah|ok|so|and|but|by the way)\b[, ]+)*"
_SUBJECT = rf"{_OPENING}(?:(?:the )?user(?P<owns>['’]s)? ?|(?P<they>they|he|she) |i |we )?"
_NOW = r"(?:(?:now|currently|presently) |is now )?"
_NAME = r"(?P<value>[^\W\d_a-z][\w.'’&-]*(?:,? (?:(?:of|the|and|de|la|upon) )?[^\W\d_a-z][\w.'’&-]*){0,4})"
_END = r"(?: (?:now|currently|these days))?\W*$"
_HEADS = {
    "home": (
        rf"(?:(?:lives?|(?:is |am )?living|resides?) {_NOW}in"
        rf"|(?:(?:has |have |just )*)(?:moved|relocated) (?:back )?to) (?-i:{_NAME}){_OF_LATE}"
    ),
    "base": rf"(?:is |are |am )?{_NOW}based in (?-i:{_NAME})",
    "employer": (
        rf"(?:(?:works?|is working|(?:is )?employed) {_NOW}(?:at|for|by)"
        rf"|(?:has |have |just )*(?:started(?: working| work| a new job)?|got a (?:new )?job) (?:at|for|with))"
        rf" (?-i:{_NAME}){_OF_LATE}"
    ),
    "job": r"(?:works?|is working) (?:now |currently )?as (?:an? |the )?(?P<value>[\w-]+(?: [\w-]+){0,2})",
    "name": rf"(?:full )?(?:name is|is (?:called|named)) (?-i:{_NAME})",
    "age": r"(?:is|am|age is|are) (?:now )?(?P<value>\d{1,3})(?: years? old| years? of age)?",
    "birthday": r"birthday is (?:on )?(?P<value>[\w.]+(?: \w+){0,2})",
    "email": r"(?:email|e-mail)(?: address)? is (?P<value>\S+@\S+?)",
}
_PATTERNS = {kind: re.compile(_SUBJECT + _NOW + head + _END, re.IGNORECASE) for kind, head in _HEADS.items()}
_NO_HOMES = word_set(
    "team marketing sales engineering support finance hr it product design operations legal research qa devops plan"
    " option phase stage step level chapter unit linux ubuntu windows mac macos ios android python java rust kubernetes"
    " docker postgres postgresql mysql sqlite redis aws azure gcp google github gitlab slack teams notion jira vim"
).union(map(str.casefold, (*MONTHS, *WEEKDAYS)))
"""Where people move to that is no place: "moved to Marketing"."""
_JOINTS = frozenset(("and", "or", "but", "with", "part-time", "at", "in", "for", "on", "when", "if"))


@dataclass(frozen=True)
class SingleValue:
    """What a statement says of something there is only one of."""

    kind: str
    words: frozenset[str]

    def contradicts(self, other: "SingleValue | None") -> bool:
        """Whether another is a different value of the same; "London" is in "North London"."""
        if other is None or self.kind != other.kind:
            return False
        return not (self.words <= other.words or other.words <= self.words)


def single_value(statement: str) -> SingleValue | None:
    """Return the single value a statement gives, if that is all it says."""
    line = clean(statement)
    for kind, pattern in _PATTERNS.items():
        if match := pattern.match(line):
            words = match["value"].casefold().rstrip(".!,").replace(",", "").split()
            no_value = {"job": _JOINTS, "home": _NO_HOMES}.get(kind, frozenset())
            return None if no_value & set(words) else SingleValue(kind, frozenset(words))
    return None


def contradict(one: str, other: str) -> bool:
    """Whether two statements give different values of something there is only one of."""
    left = single_value(one)
    return left is not None and left.contradicts(single_value(other))
