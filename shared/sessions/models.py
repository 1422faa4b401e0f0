"""Rows about recorded sessions. The rows are the truth; the files of the store hold what is too long for a row.

A version or a composition is listed only once its row is ``ready``, and its files are in place before that.
Source: seed 004, "Data model", "Semantic Memory Extraction".
"""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Double,
    ForeignKey,
    Index,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from shared.base.choices import SemanticVerdict
from shared.db.base import Base, BigKey, UtcDateTime, partial


def version_id(number: int) -> str:
    """Return the id of a version: ``v001`` and so on."""
    return f"v{number:03d}"


def project_sequence(project_key: int) -> str:
    """Return the sequence of the jobs about a project's sessions; no user can be called so (``UserId``)."""
    return f"./project/{project_key}"


class BuildState(StrEnum):
    """Where a version or a composition stands."""

    WORKING = "working"
    READY = "ready"
    FAILED = "failed"
    """Its job ended without it; its number is not used again."""


class Project(Base):
    """A working folder whose sessions an app has registered."""

    __tablename__ = "projects"
    __table_args__ = (
        UniqueConstraint("app_id", "project_id"),
        Index("ix_projects_unwritten", "key", **partial("written_revision <> revision")),
        Index("ix_projects_scanned_at", "scanned_at", **partial("source_folder IS NOT NULL")),
        # Jobs name it by its key, which must not be another project's by the time they begin.
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    project_id: Mapped[str] = mapped_column(String(200))
    """The path with every character but letters, digits and hyphens made a hyphen; also the folder's name."""
    original_path: Mapped[str] = mapped_column(Text)
    display_name: Mapped[str] = mapped_column(String(200))
    settings: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    source_folder: Mapped[str | None] = mapped_column(Text)
    """A folder that is looked through for new sessions."""
    refused_files: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    """Files of that folder that were not taken in, by name: size, time and why. Tried again once they change."""
    scanned_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    tended_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """When its versions were last aged."""
    revision: Mapped[int] = mapped_column(BigInteger, default=1)
    """Raised by every change that its manifest shows."""
    written_revision: Mapped[int] = mapped_column(BigInteger, default=0)
    """The revision its manifest on disk shows."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_accessed: Mapped[datetime] = mapped_column(UtcDateTime)
    last_modified: Mapped[datetime] = mapped_column(UtcDateTime)


class RecordedSession(Base):
    """A registered session: a copy of its original as of the last sync, and what was read in it."""

    __tablename__ = "recorded_sessions"
    __table_args__ = (
        UniqueConstraint("app_id", "session_id"),
        Index("ix_recorded_sessions_unindexed", "key", **partial("indexed_bytes <> size_bytes")),
        # A session that was registered anew must not have the key of the one before: a sync under way tells by it.
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    project_key: Mapped[int] = mapped_column(ForeignKey("projects.key", ondelete="CASCADE"), index=True)
    session_id: Mapped[str] = mapped_column(String(200))
    original_file: Mapped[str | None] = mapped_column(Text)
    """Where it was copied from; None for an upload."""
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    """How much of the copy counts; what lies beyond is of a sync that did not end."""
    sha256: Mapped[str] = mapped_column(String(64))
    """Of those bytes."""
    original_tokens: Mapped[int]
    original_messages: Mapped[int]
    counts: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    """Lines, bad lines, human prompts, tool uses, tokens by usage and so on."""
    details: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    """Branch, version, working folder, topics, models."""
    marker_problems: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    """Malformed markers, each with its message and why."""
    beginning: Mapped[list[Any]] = mapped_column(JSON, default=list)
    """Of its first prompts the tokens before each and its identities."""
    first_timestamp: Mapped[datetime | None] = mapped_column(UtcDateTime)
    last_timestamp: Mapped[datetime | None] = mapped_column(UtcDateTime, index=True)
    registered_at: Mapped[datetime] = mapped_column(UtcDateTime)
    synced_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_accessed: Mapped[datetime] = mapped_column(UtcDateTime)
    indexed_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    """How much of it can be found."""
    learnt_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    """How much of it semantic memories were looked for in."""
    learnt_prompts: Mapped[int] = mapped_column(default=0)
    """Human prompts from its beginning that were read for it."""
    next_version: Mapped[int] = mapped_column(default=1)
    """The number of the next version; never goes back."""

    @property
    def used_at(self) -> datetime | None:
        """When it was last used; being registered is no use."""
        return self.last_accessed if self.last_accessed > self.registered_at else None


class SessionFile(Base):
    """A file that a session touched."""

    __tablename__ = "session_files"
    __table_args__ = (Index("ix_session_files_path", "path"),)

    session_key: Mapped[int] = mapped_column(
        ForeignKey("recorded_sessions.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    path: Mapped[str] = mapped_column(String(500), primary_key=True)
    touches: Mapped[int]
    changed: Mapped[bool] = mapped_column(default=False)
    """Whether it was written or edited, not only read."""


CONTEXT_CHARACTERS = 80
"""Of a message, kept before a marker, and as many behind its part."""
CONTEXT_GAP = "[...]"
"""Stands between them."""


class KeepitMarker(Base):
    """A part of a message that was marked as important."""

    __tablename__ = "keepit_markers"
    __table_args__ = (UniqueConstraint("session_key", "marker_id"), {"sqlite_autoincrement": True})

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    session_key: Mapped[int] = mapped_column(ForeignKey("recorded_sessions.key", ondelete="CASCADE"))
    marker_id: Mapped[str] = mapped_column(String(40))
    ordinal: Mapped[int]
    """Its place among the session's markers, from 0."""
    message_uuid: Mapped[str] = mapped_column(String(200))
    weight: Mapped[int]
    """As written, hundredths, 0..100."""
    override_weight: Mapped[int | None]
    """What a person put in its place; the original stays as it is."""
    overridden_by: Mapped[str | None] = mapped_column(String(200))
    overridden_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    content: Mapped[str] = mapped_column(Text)
    context: Mapped[str] = mapped_column(Text)
    """What stands before and after it, ``[...]`` between them."""
    start: Mapped[int]
    """Where the marker begins in its message's text, characters."""
    end: Mapped[int]
    """Where what it marks ends."""
    said_at: Mapped[datetime | None] = mapped_column(UtcDateTime)

    @property
    def weight_in_force(self) -> int:
        """The weight that decides, hundredths."""
        return self.weight if self.override_weight is None else self.override_weight

    @property
    def surroundings(self) -> tuple[str, str]:
        """What stands before the marker and behind its part, of its message."""
        # Not split at the mark between them: a text may hold such a mark itself.
        before = self.context[: min(CONTEXT_CHARACTERS, self.start)]
        return before, self.context[len(before) + len(CONTEXT_GAP) :]


class SessionVersion(Base):
    """One version of a session. Its two files lie in the session's folder under ``file`` with their endings."""

    __tablename__ = "compressions"
    __table_args__ = (
        UniqueConstraint("session_key", "number"),
        # Whatever races, one version of a session is made at a time.
        Index("uq_compressions_working", "session_key", unique=True, **partial("state = 'working'")),
        Index("ix_compressions_unindexed", "key", **partial("state = 'ready' AND NOT indexed")),
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    session_key: Mapped[int] = mapped_column(ForeignKey("recorded_sessions.key", ondelete="CASCADE"))
    number: Mapped[int]
    state: Mapped[str] = mapped_column(String(10))
    job_id: Mapped[str | None] = mapped_column(String(40), index=True)
    settings: Mapped[dict[str, Any]] = mapped_column(JSON)
    """As they were asked for, with every default written out."""
    source_number: Mapped[int | None]
    """The version it was made from; None for the original."""
    source_sha256: Mapped[str] = mapped_column(String(64))
    source_bytes: Mapped[int] = mapped_column(BigInteger)
    """How much of the original it covers."""
    asked_by: Mapped[str] = mapped_column(String(200))
    reason: Mapped[str] = mapped_column(String(300), default="")
    """Why, where nobody asked: the rule that did."""
    parts_done: Mapped[int] = mapped_column(default=0)
    parts_total: Mapped[int] = mapped_column(default=0)
    file: Mapped[str | None] = mapped_column(String(120))
    """File name without its ending."""
    agent: Mapped[str | None] = mapped_column(String(200))
    input_tokens: Mapped[int] = mapped_column(default=0)
    output_tokens: Mapped[int] = mapped_column(default=0)
    output_messages: Mapped[int] = mapped_column(default=0)
    ratio: Mapped[float] = mapped_column(Double, default=0.0)
    keepit_stats: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    statistics: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    digests: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    """SHA-256 of each file by its ending."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    last_used: Mapped[datetime | None] = mapped_column(UtcDateTime)
    uses: Mapped[int] = mapped_column(default=0)
    indexed: Mapped[bool] = mapped_column(default=False)
    """Whether it can be found."""

    @property
    def version_id(self) -> str:
        """``v001`` and so on."""
        return version_id(self.number)

    @property
    def skipped_messages(self) -> int:
        """Messages at the beginning that it leaves out as it was asked to, itself or what it was made from."""
        # Of one that is not written yet there are no statistics, and of one that was never stored no settings.
        return int((self.statistics or {}).get("skippedMessages") or (self.settings or {}).get("skipFirstMessages", 0))


class VersionPart(Base):
    """What a part of a session came to, until the version is whole."""

    __tablename__ = "compression_parts"

    compression_key: Mapped[int] = mapped_column(
        ForeignKey("compressions.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content: Mapped[list[dict[str, Any]]] = mapped_column(JSON)


class MarkerOutcome(Base):
    """Whether a marker survived in a version word for word, or was summarised."""

    __tablename__ = "marker_fates"

    compression_key: Mapped[int] = mapped_column(
        ForeignKey("compressions.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    marker_key: Mapped[int] = mapped_column(
        ForeignKey("keepit_markers.key", ondelete="CASCADE"), primary_key=True, autoincrement=False, index=True
    )
    survived: Mapped[bool]


class Composition(Base):
    """A context built from several sessions within a budget."""

    __tablename__ = "compositions"
    __table_args__ = (
        UniqueConstraint("project_key", "name"),
        Index("ix_compositions_working", "key", **partial("state = 'working'")),
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    composition_id: Mapped[str] = mapped_column(String(40), unique=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"), index=True)
    project_key: Mapped[int] = mapped_column(ForeignKey("projects.key", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    """Also its folder's name."""
    state: Mapped[str] = mapped_column(String(10))
    job_id: Mapped[str | None] = mapped_column(String(40), index=True)
    request: Mapped[dict[str, Any]] = mapped_column(JSON)
    """As it was asked for, so that it can be asked for again."""
    budget: Mapped[int]
    """Tokens it may take."""
    total_tokens: Mapped[int] = mapped_column(default=0)
    total_messages: Mapped[int] = mapped_column(default=0)
    digests: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    used_in_sessions: Mapped[list[str]] = mapped_column(JSON, default=list)
    asked_by: Mapped[str] = mapped_column(String(200))
    failure: Mapped[str | None] = mapped_column(String(500))
    """Why it failed, and what to do."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    last_used: Mapped[datetime | None] = mapped_column(UtcDateTime)
    uses: Mapped[int] = mapped_column(default=0)


class CompositionComponent(Base):
    """A session's part in a composition. While it stands, neither the session nor the version can be removed."""

    __tablename__ = "composition_components"

    composition_key: Mapped[int] = mapped_column(
        ForeignKey("compositions.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """0 is first."""
    session_key: Mapped[int] = mapped_column(ForeignKey("recorded_sessions.key"), index=True)
    compression_key: Mapped[int | None] = mapped_column(ForeignKey("compressions.key"), index=True)
    """The version that is used; None for the original, or while it is not yet chosen."""
    allocation: Mapped[int]
    """Tokens it may take."""
    tokens: Mapped[int] = mapped_column(default=0)
    """Tokens it takes."""
    left_out: Mapped[int] = mapped_column(default=0)
    """Segments of it for which there was no room."""
    recompress: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    """Settings and reason, where a version was made for it."""


class SessionChange(Base):
    """What was done to a project or what belongs to it: who, why, before and after. Holds no marked text."""

    __tablename__ = "session_changes"
    __table_args__ = (
        Index("ix_session_changes_app_id_project_id_key", "app_id", "project_id", "key"),
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"))
    project_id: Mapped[str] = mapped_column(String(200))
    session_id: Mapped[str | None] = mapped_column(String(200))
    subject: Mapped[str] = mapped_column(String(200))
    """A version, a marker, a composition, a link, a semantic memory, or the session itself."""
    kind: Mapped[str] = mapped_column(String(20))
    actor: Mapped[str] = mapped_column(String(200))
    reason: Mapped[str] = mapped_column(String(300))
    before: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    after: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    at: Mapped[datetime] = mapped_column(UtcDateTime)


class ProjectLink(Base):
    """A session of one project that another project is shown as well."""

    __tablename__ = "project_links"
    __table_args__ = (UniqueConstraint("session_key", "target_key"), {"sqlite_autoincrement": True})

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    link_id: Mapped[str] = mapped_column(String(40), unique=True)
    session_key: Mapped[int] = mapped_column(ForeignKey("recorded_sessions.key", ondelete="CASCADE"))
    target_key: Mapped[int] = mapped_column(ForeignKey("projects.key", ondelete="CASCADE"), index=True)
    reason: Mapped[str] = mapped_column(String(300))
    linked_by: Mapped[str] = mapped_column(String(200))
    linked_at: Mapped[datetime] = mapped_column(UtcDateTime)


class SessionPassage(Base):
    """A piece of a session or of one of its versions, by which it is found."""

    __tablename__ = "session_passages"
    __table_args__ = (
        Index("ix_session_passages_session_key_key", "session_key", "key"),
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    session_key: Mapped[int] = mapped_column(ForeignKey("recorded_sessions.key", ondelete="CASCADE"))
    compression_key: Mapped[int | None] = mapped_column(ForeignKey("compressions.key", ondelete="CASCADE"), index=True)
    """None for the original."""
    message_uuid: Mapped[str | None] = mapped_column(String(200))
    kind: Mapped[str] = mapped_column(String(20))
    text: Mapped[str] = mapped_column(Text)
    said_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class SessionWord(Base):
    """A word of a passage, as a number that is another one in each app, so that no app's words slow another's."""

    __tablename__ = "session_words"
    # The key is the table: a word takes one entry on SQLite, not a row and an index entry.
    __table_args__ = (Index("ix_session_words_passage_key", "passage_key"), {"sqlite_with_rowid": False})

    word: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    passage_key: Mapped[int] = mapped_column(
        ForeignKey("session_passages.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )


class SemanticKind(StrEnum):
    """What a semantic memory is about."""

    PATTERN = "pattern"
    DECISION = "decision"
    PREFERENCE = "preference"
    FACT = "fact"


class SemanticMemory(Base):
    """What several sessions of a project have in common, or one of them decided."""

    __tablename__ = "semantic_memories"
    __table_args__ = (
        UniqueConstraint("project_key", "kind", "normal"),
        CheckConstraint("length(content) > 0", name="content_not_empty"),
        {"sqlite_autoincrement": True},
    )

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    memory_id: Mapped[str] = mapped_column(String(40), unique=True)
    project_key: Mapped[int] = mapped_column(ForeignKey("projects.key", ondelete="CASCADE"))
    app_id: Mapped[str] = mapped_column(ForeignKey("apps.app_id"), index=True)
    kind: Mapped[str] = mapped_column(String(12))
    content: Mapped[str] = mapped_column(Text)
    normal: Mapped[str] = mapped_column(String(64))
    """SHA-256 of its normal form: what says the same is one memory."""
    is_standing: Mapped[bool] = mapped_column(Boolean)
    """Whether it was laid down for good; what was not is proposed once it was said twice."""
    confidence: Mapped[float] = mapped_column(Double)
    """0..1; rises with its sources."""
    verdict: Mapped[str] = mapped_column(String(10), default=SemanticVerdict.PROPOSED)
    decided_by: Mapped[str | None] = mapped_column(String(200))
    decided_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    agent: Mapped[str] = mapped_column(String(200))
    extracted_at: Mapped[datetime] = mapped_column(UtcDateTime)


class SemanticSource(Base):
    """Where a semantic memory was found."""

    __tablename__ = "semantic_sources"

    memory_key: Mapped[int] = mapped_column(
        ForeignKey("semantic_memories.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    session_key: Mapped[int] = mapped_column(
        ForeignKey("recorded_sessions.key", ondelete="CASCADE"), primary_key=True, autoincrement=False, index=True
    )
    message_uuid: Mapped[str] = mapped_column(String(200), primary_key=True)
    excerpt: Mapped[str] = mapped_column(Text)
