"""Rows of the search: the index beside the messages, how searches went, and values that were changed.

The words themselves lie in ``message_words``, a table of each database's own kind that only ``word_index`` touches.
Vectors belong to a set: those of one app by one model. A doc id has no foreign key, because checking one would take an
index as large as the vectors' own; who writes a vector holds the app's lock and looks whether its message still stands.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, LargeBinary, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from shared.db.base import Base, BigKey, UtcDateTime, partial


class AppIndex(Base):
    """An app's part of the word index; erasing the row makes everything in it unreachable and meaningless.

    ``key`` begins each of its words, so that one app's words never meet another's; ``salt`` is hashed into them.
    """

    __tablename__ = "app_indexes"
    __table_args__ = ({"sqlite_autoincrement": True},)

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"), unique=True)
    salt: Mapped[bytes] = mapped_column(LargeBinary)
    has_names: Mapped[bool] = mapped_column(default=False)
    """Whether a message of the app ever named who speaks."""
    filled_to: Mapped[int] = mapped_column(BigInteger, default=0)
    """Key of the last message that a back-fill has indexed."""
    fill_until: Mapped[int | None] = mapped_column(BigInteger)
    """Key of the last message it is to index; None when no back-fill is under way."""
    fill_total: Mapped[int] = mapped_column(default=0)
    """Messages it is about."""
    fill_done: Mapped[int] = mapped_column(default=0)
    fill_asked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    fill_ended_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class PassageKind(StrEnum):
    """What a passage is made of."""

    PROSE = "prose"
    CODE = "code"


class HitKind(StrEnum):
    """What was found."""

    MESSAGE = "message"
    PROSE = "prose"
    CODE = "code"


class Passage(Base):
    """A part of a message that has more than one: ``start`` and ``length`` are characters of its content.

    ``part`` counts from 1; part 0 of any message is the whole of it, and has no row.
    """

    __tablename__ = "passages"

    # The previous release knows no passages, and must be able to erase while both run.
    message_key: Mapped[int] = mapped_column(
        ForeignKey("messages.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    part: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"), index=True)
    doc_id: Mapped[int] = mapped_column(BigInteger, index=True)
    kind: Mapped[str] = mapped_column(String(5))
    language: Mapped[str | None] = mapped_column(String(40))
    start: Mapped[int]
    length: Mapped[int]
    tokens: Mapped[int]


class SetState(StrEnum):
    """Where a set of vectors stands."""

    SERVING = "serving"
    """Searches look in it."""
    FILLING = "filling"
    """It is made beside the one that serves, and takes its place once it is complete."""
    RETIRED = "retired"
    """Its vectors are being removed."""


class VectorSet(Base):
    """The vectors of one app by one model."""

    __tablename__ = "vector_sets"
    __table_args__ = (
        UniqueConstraint("app_id", "model"),
        Index("uq_vector_sets_serving", "app_id", unique=True, **partial("state = 'serving'")),
        Index("ix_vector_sets_model_state_app_id", "model", "state", "app_id"),
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    model: Mapped[str] = mapped_column(String(200))
    dimensions: Mapped[int]
    state: Mapped[str] = mapped_column(String(10))
    erasures: Mapped[int] = mapped_column(default=0)
    """Raised whenever vectors were removed; ``vector_erasures`` says whose, so that who holds copies drops them."""
    filled_to: Mapped[int] = mapped_column(BigInteger, default=0)
    """Key of the last message whose vectors a fill has made."""
    fill_until: Mapped[int | None] = mapped_column(BigInteger)
    """Key of the last message it is to see to; None when no fill is under way."""
    fill_total: Mapped[int] = mapped_column(default=0)
    fill_done: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    completed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class MessageVector(Base):
    """The vector of a message, or of a passage of it; keys of one set ascend in the order of commits.

    On PostgreSQL only a set and a key together are indexed: nobody asks for a key alone.
    ``vector``: one float32 scale, then one signed byte a dimension.
    """

    __tablename__ = "message_vectors"
    __table_args__ = (
        UniqueConstraint("set_key", "doc_id", "part"),
        Index("uq_message_vectors_set_key_key", "set_key", "key", unique=True),
        # No key is used again, or a copy that is read up to a key would lack what took the place of what is gone.
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    set_key: Mapped[int] = mapped_column(ForeignKey("vector_sets.key"))
    doc_id: Mapped[int] = mapped_column(BigInteger)
    part: Mapped[int]
    vector: Mapped[bytes] = mapped_column(LargeBinary)


class VectorBlock(Base):
    """Signs of a thousand vectors of a set, side by side, so that a large set is read in no time.

    A block has what is up to its ``last_key`` and after that of the block before. What comes after the last block, and
    fills none yet, is read from the vectors themselves. ``rows``: see ``shared.search.vectors``.
    """

    __tablename__ = "vector_blocks"

    set_key: Mapped[int] = mapped_column(ForeignKey("vector_sets.key"), primary_key=True)
    last_key: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    rows: Mapped[bytes] = mapped_column(LargeBinary)


class VectorErasure(Base):
    """Whose vectors went when a set's ``erasures`` reached ``number``; the last so many of each set."""

    __tablename__ = "vector_erasures"

    set_key: Mapped[int] = mapped_column(ForeignKey("vector_sets.key"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    conversation_key: Mapped[int] = mapped_column(BigInteger)
    """Not a foreign key: the conversation is gone."""


class Unembedded(Base):
    """A message whose vectors are still to be made."""

    __tablename__ = "unembedded"

    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"), primary_key=True)
    doc_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)


POSITION_BITS = 20
LAST_POSITION = (1 << POSITION_BITS) - 1
"""Messages beyond it are kept but not indexed."""
LAST_CONVERSATION = (1 << (63 - POSITION_BITS)) - 1


def doc_id_of(conversation_key: int, position: int) -> int | None:
    """Return a message's doc id; None for one that lies too far in to be indexed."""
    if position > LAST_POSITION or conversation_key > LAST_CONVERSATION:
        return None
    return conversation_key << POSITION_BITS | position


def conversation_of(doc_id: int) -> int:
    return doc_id >> POSITION_BITS


def position_of(doc_id: int) -> int:
    """Return where in its conversation a doc id lies, from 0."""
    return doc_id & LAST_POSITION


def doc_ids_of(conversation_key: int) -> tuple[int, int]:
    """Return the first and the last doc id of a conversation."""
    first = conversation_key << POSITION_BITS
    return first, first | LAST_POSITION


class RetrievalPurpose(StrEnum):
    """What a retrieval was for; a closed set, so it can label a metric."""

    SEARCH = "search"
    CONTEXT = "context"


class Retrieval(Base):
    """One retrieval; durations in milliseconds."""

    __tablename__ = "retrievals"
    __table_args__ = (Index("ix_retrievals_app_id_at", "app_id", "at"), {"sqlite_autoincrement": True})

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    conversation_key: Mapped[int | None] = mapped_column(BigInteger)
    """Not a foreign key: the conversation may be erased, and the figures stay."""
    asker: Mapped[str] = mapped_column(String(10))
    at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    results: Mapped[int]
    top_score: Mapped[float | None]
    top_similarities: Mapped[list[float]] = mapped_column(JSON, default=list, server_default="[]")
    """Of the three results most like the question, the best first: cosines, where there were vectors."""
    sources: Mapped[dict[str, Any]] = mapped_column(JSON)
    """How many results each way of finding brought: conversationDense, appDense, words, summaries, profile."""
    durations: Mapped[dict[str, Any]] = mapped_column(JSON)
    """By stage: total, words, embed, dense, rank."""
    flags: Mapped[dict[str, Any]] = mapped_column(JSON)
    """The tuning in force, and what was degraded."""
    tokens_used: Mapped[int | None]
    token_budget: Mapped[int | None]


EVERYWHERE = "*"
"""The scope of all apps; no app can be called so."""


class TuningOverride(Base):
    """What was changed for one app, or for all of them, in place of the settings."""

    __tablename__ = "tuning_overrides"

    scope: Mapped[str] = mapped_column(String(100), primary_key=True)
    """An app's id, or ``EVERYWHERE``."""
    chosen: Mapped[dict[str, Any]] = mapped_column("values", JSON)
    changed_by: Mapped[str] = mapped_column(String(200))
    changed_at: Mapped[datetime] = mapped_column(UtcDateTime)
