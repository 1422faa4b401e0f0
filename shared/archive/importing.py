"""Puts an archive into an app, whole or not at all.

Ids of conversations and messages are the app's own and stay; ids of memories are ours and are given anew. What is
already there is left as it is and counted, so importing the same archive twice adds nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.archive.derived import in_profiles, in_summaries
from shared.archive.document import (
    Archive,
    ArchivedChange,
    ArchivedConversation,
    ArchivedMemory,
    ArchivedMessage,
    ArchivedOrigin,
    ArchivedSource,
    ArchivedStanding,
)
from shared.archive.exporting import EVERYTHING
from shared.archive.importing_facts import ArrivingFacts, import_cause
from shared.conversations.chat_message import chars_of, owners_of, role_of, size_of, text_of
from shared.conversations.models import Conversation, Message
from shared.conversations.queries import find_conversation
from shared.errors import Conflict, Limit
from shared.memories import queries
from shared.memories.history import Sources, Texts, record, sources_in
from shared.memories.models import Change, ChangeKind, Memory, Origin
from shared.memories.writing import give_place
from shared.search.index import index_messages
from shared.settings import Settings
from shared.subjects import NOBODY

IMPORT = "import"


@dataclass
class Imported:
    """What an import added, and what was there already."""

    conversations: int = 0
    conversations_skipped: int = 0
    messages: int = 0
    memories: int = 0
    memories_skipped: int = 0
    changes: int = 0
    changes_skipped: int = 0
    facts: int = 0
    facts_skipped: int = 0
    fact_changes: int = 0
    fact_changes_skipped: int = 0
    summaries: int = 0
    profiles: int = 0
    profiles_skipped: int = 0


def import_archive(session: Session, app: App, archive: Archive, settings: Settings, now: datetime) -> Imported:
    """Put an archive into an app that the caller has locked. Raises: Limit, Conflict; then nothing may be committed."""
    refuse_oversized(archive, settings)
    return _Arrival(session, app, archive, now).carry_out(settings.memory_cap)


def refuse_oversized(archive: Archive, settings: Settings) -> None:
    """Raises: Limit, when a text is longer than this installation keeps."""
    memory_chars, message_chars = settings.memory_max_chars, settings.max_message_chars
    for memory in archive.memories:
        if len(memory.content) > memory_chars:
            raise Limit(f"Memory {memory.memory_id} is longer than {memory_chars} characters.", code="too_large")
    for conversation in archive.conversations:
        for message in conversation.messages:
            if size_of(message.content, message.payload) > message_chars:
                what = f"Message {message.message_id} is longer than {message_chars} characters."
                raise Limit(what, code="too_large")


@dataclass
class _Arrival:
    """One import under way: which archived ids became which of ours."""

    session: Session
    app: App
    archive: Archive
    now: datetime
    keys: dict[str, int] = field(default_factory=dict)
    arrived_ended: dict[str, int] = field(default_factory=dict)
    memory_ids: dict[int, int] = field(default_factory=dict)
    done: Imported = field(default_factory=Imported)

    def carry_out(self, cap: int) -> Imported:
        for conversation in self.archive.conversations:
            self._take_conversation(conversation)
        self.session.flush()
        arriving = self._arriving_memories(cap)
        self._make_origins(arriving)
        self._take_history()
        for memory in arriving:
            self._take_memory(memory, cap)
        self._take_facts()
        self._take_profiles()
        return self.done

    def _take_facts(self) -> None:
        cause = import_cause(IMPORT, self.archive.app.app_id, self.now)
        arriving = ArrivingFacts(self.session, self.app.app_id, self.keys, cause)
        arriving.carry_out(self.archive.facts, self.archive.fact_history)
        self.done.facts, self.done.facts_skipped = arriving.facts, arriving.skipped
        self.done.fact_changes, self.done.fact_changes_skipped = arriving.changes, arriving.changes_skipped

    def _take_profiles(self) -> None:
        taken = in_profiles(self.session, self.app.app_id, self.archive.profiles, IMPORT, self.now)
        self.done.profiles, self.done.profiles_skipped = taken

    def _take_conversation(self, archived: ArchivedConversation) -> None:
        present = find_conversation(self.session, self.app.app_id, archived.conversation_id)
        if present is not None:
            if (present.user_id or NOBODY) != (archived.user_id or NOBODY):
                raise Conflict(
                    f"App {self.app.app_id} has a conversation {archived.conversation_id} of another user than the "
                    "archive; import into another app.",
                    code="another_users",
                )
            self.keys[archived.conversation_id] = present.key
            self.done.conversations_skipped += 1
            return
        conversation = _in_conversation(self.app.app_id, archived)
        self.session.add(conversation)
        self.session.flush()
        self.keys[archived.conversation_id] = conversation.key
        if conversation.ended_at is not None:
            self.arrived_ended[archived.conversation_id] = conversation.key
        messages = _in_messages(conversation, archived.messages)
        self.session.add_all(messages)
        self.session.flush()
        index_messages(self.session, self.app.app_id, messages)
        in_summaries(self.session, conversation, archived.summaries)
        self.done.summaries += len(archived.summaries)
        self.done.conversations += 1
        self.done.messages += len(archived.messages)

    def _arriving_memories(self, cap: int) -> list[ArchivedMemory]:
        standing = queries.list_memories(self.session, self.app.app_id, None, EVERYTHING)
        present = {(m.user_id, m.content, m.created_at): m.memory_id for m in standing}
        taken = Counter(m.user_id for m in standing)
        arriving: list[ArchivedMemory] = []
        for memory in self.archive.memories:
            known = present.get((memory.user_id or NOBODY, memory.content, memory.created_at))
            if known is None:
                arriving.append(memory)
            else:
                self.memory_ids[memory.memory_id] = known
        self.done.memories_skipped = len(self.archive.memories) - len(arriving)
        for user_id, count in Counter(memory.user_id or NOBODY for memory in arriving).items():
            free = max(0, cap - taken[user_id])
            if count > free:
                whose = f"of user {user_id} " if user_id else "that name no user "
                raise Conflict(
                    f"The archive brings {count} memories {whose}for which app {self.app.app_id} has {free} free "
                    f"places of {cap}; delete some first, or import into another app.",
                    code="no_room",
                    details={"arriving": count, "free": free, "userId": user_id or None},
                )
        return arriving

    def _make_origins(self, arriving: Sequence[ArchivedMemory]) -> None:
        """Give ids to the memories that arrive, and to those of the past whose history does."""
        known = _fingerprints(self.session, self.app.app_id)
        past = {change.memory_id for change in self.archive.history if _fingerprint_of(change) not in known}
        wanted = past | {memory.memory_id for memory in arriving}
        for archived in self.archive.origins:
            if archived.memory_id in wanted and archived.memory_id not in self.memory_ids:
                self.memory_ids[archived.memory_id] = self._make_origin(archived)
        lacking = [m.memory_id for m in arriving if m.memory_id not in self.memory_ids]
        if lacking:
            raise Conflict(f"The archive does not say where memory {lacking[0]} came from.", code="broken_archive")

    def _make_origin(self, archived: ArchivedOrigin) -> int:
        # One that was here already, or is open, may yet give rise to a memory of its own.
        key = self.arrived_ended.get(archived.conversation_id or "")
        epoch = self.app.purge_epoch
        # A conversation gives rise to one memory under one epoch; a second one keeps only the conversation's name.
        if key is not None and queries.origin_of_conversation(self.session, key, epoch) is not None:
            key = None
        origin = Origin(
            app_id=self.app.app_id,
            user_id=archived.user_id or NOBODY,
            conversation_key=key,
            conversation_id=archived.conversation_id,
            epoch=epoch,
            agent=archived.agent,
            created_at=archived.created_at,
        )
        self.session.add(origin)
        self.session.flush()
        return origin.memory_id

    def _take_history(self) -> None:
        known = _fingerprints(self.session, self.app.app_id)
        for archived in self.archive.history:
            memory_id = self.memory_ids.get(archived.memory_id)
            if memory_id is None or _fingerprint_of(archived) in known:
                self.done.changes_skipped += 1
                continue
            self.session.add(self._in_change(archived, memory_id))
            self.done.changes += 1
        self.session.flush()

    def _in_change(self, archived: ArchivedChange, memory_id: int) -> Change:
        standing = self._in_standing(archived.standing)
        keys = {self.keys[one] for one in archived.conversation_ids if one in self.keys} | sources_in(standing).keys()
        return Change(
            memory_id=memory_id,
            app_id=self.app.app_id,
            kind=archived.kind,
            actor=archived.actor,
            reason=archived.reason,
            before=archived.before,
            after=archived.after,
            source_keys=sorted(keys),
            standing=standing,
            related_memory_id=self.memory_ids.get(archived.related_memory_id or 0),
            at=archived.at,
        )

    def _in_standing(self, archived: ArchivedStanding | None) -> dict[str, Any]:
        if archived is None:
            return {}
        looks = archived.model_dump(include={"importance", "tags", "pinned", "agent"})
        return looks | {"sources": {str(key): ids for key, ids in self._in_sources(archived.sources).items()}}

    def _in_sources(self, archived: Sequence[ArchivedSource]) -> Sources:
        return {self.keys[one.conversation_id]: one.message_ids for one in archived if one.conversation_id in self.keys}

    def _take_memory(self, archived: ArchivedMemory, cap: int) -> None:
        memory = Memory(
            memory_id=self.memory_ids[archived.memory_id],
            app_id=self.app.app_id,
            user_id=archived.user_id or NOBODY,
            content=archived.content,
            importance=archived.importance,
            tags=archived.tags,
            pinned=archived.pinned,
            agent=archived.agent,
            version=archived.version,
            created_at=archived.created_at,
            updated_at=archived.updated_at,
        )
        origins = self._in_sources(archived.sources)
        cause = import_cause(IMPORT, self.archive.app.app_id, self.now)
        record(self.session, memory, ChangeKind.CREATED, Texts(after=archived.content), cause, origins)
        give_place(self.session, memory, origins, cause, cap)
        self.done.memories += 1


def _fingerprints(session: Session, app_id: str) -> set[tuple[object, ...]]:
    changes = queries.changes_of_app(session, app_id, EVERYTHING)
    return {(one.kind, one.actor, one.at, one.before, one.after) for one in changes}


def _fingerprint_of(change: ArchivedChange) -> tuple[object, ...]:
    return (change.kind, change.actor, change.at, change.before, change.after)


def _in_conversation(app_id: str, archived: ArchivedConversation) -> Conversation:
    return Conversation(
        app_id=app_id,
        conversation_id=archived.conversation_id,
        user_id=archived.user_id,
        energy_budget_micro=archived.energy_budget_micro,
        details=archived.metadata,
        message_count=len(archived.messages),
        created_at=archived.created_at,
        updated_at=archived.updated_at,
        snoozed_until=archived.snoozed_until,
        ended_at=archived.ended_at,
        end_reason=archived.end_reason,
        facts_seen=min(archived.facts_seen, len(archived.messages)),
        summarised=min(archived.summarised, len(archived.messages)),
        turns_since_summary=min(archived.turns_since_summary, len(archived.messages)),
    )


def _in_messages(conversation: Conversation, archived: Sequence[ArchivedMessage]) -> list[Message]:
    messages = [_in_message(conversation, position, one) for position, one in enumerate(archived)]
    for one, owner in zip(messages, owners_of(messages), strict=True):
        one.call_position = None if messages[owner] is one else owner
    return messages


def _in_message(conversation: Conversation, position: int, one: ArchivedMessage) -> Message:
    payload = one.payload
    return Message(
        conversation_key=conversation.key,
        app_id=conversation.app_id,
        position=position,
        message_id=one.message_id,
        role=one.role if payload is None else role_of(payload),
        name=one.name,
        content=one.content if payload is None else text_of(payload),
        payload=payload,
        payload_chars=None if payload is None else chars_of(payload),
        tokens=one.tokens,
        created_at=one.created_at,
    )
