"""Puts an archive into an app, whole or not at all.

Ids of conversations and messages are the app's own and stay; ids of memories and facts are ours and are given anew.
What is already there is left as it is and counted, so importing the same archive twice adds nothing. The caps hold:
where there is no place nothing is imported, and a pin for which there is none is given up.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from shared.apps.models import App, UserSettings
from shared.apps.queries import list_user_settings
from shared.archive import document
from shared.base.audit import Cause
from shared.base.choices import FactState
from shared.base.errors import Conflict, Limit
from shared.base.settings import Settings
from shared.base.subjects import NOBODY, Subject
from shared.conversations.chat_message import chars_of, owners_of, role_of, size_of, text_of
from shared.conversations.lifecycle import insert_messages
from shared.conversations.models import Conversation, Message
from shared.conversations.queries import find_conversation
from shared.db.base import row_of
from shared.facts import queries as fact_queries
from shared.facts.fold import moment
from shared.facts.models import SLOTS, Fact, FactChange, FactChangeKind, FactMention, said_key
from shared.facts.retention import free_pins, free_slots
from shared.facts.retention import record as record_fact
from shared.memories import queries
from shared.memories.models import Change, ChangeKind, Memory, Origin, written_texts
from shared.memories.writing import Sources, Texts, insert_with_eviction, record, sources_in
from shared.profiles.consent import import_profile
from shared.search.index import index_messages
from shared.summaries.queries import NewSummary, insert_summary
from shared.text.gate import refuse_secret
from shared.text.secrets import any_secret

_MOST_MENTIONS = 1_000
"""Of one fact in one conversation."""


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
    _mentions: dict[int, list[FactMention]] = field(default_factory=dict)
    """Of each arrived fact, by our id, in the order in which they were made."""
    _meanings: dict[str, int] = field(default_factory=dict)
    """By their digest, what arrived facts say."""

    def carry_out(self, facts: Sequence[document.ArchivedFact], history: Sequence[document.ArchivedFactChange]) -> None:
        """Take in facts and their history. Raises: Conflict, while the app is cleared or where there is no place;
        Invalid, for a secret.
        """
        if not facts:
            return
        for user_id in {one.user_id or NOBODY for one in facts}:
            fact_queries.refuse_while_clearing(self.session, Subject(self.app_id, user_id))
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
        self._name_replaced()
        for fact in self._arrived.values():
            record_fact(self.session, fact, FactChangeKind.LEARNED, self.cause, after=fact.statement)

    def _arriving(self, facts: Sequence[document.ArchivedFact]) -> Collection[document.ArchivedFact]:
        """Return the facts that are to stand and do not yet. Raises: Conflict, where there is no place for them."""
        beneath = {one.updates_fact_id for one in facts}
        standing = fact_queries.facts_in(self.session, self.app_id, (FactState.STANDING,))
        known = {fact.said_key for fact in standing}
        arriving: dict[str, document.ArchivedFact] = {}
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

    def _take(self, archived: document.ArchivedFact, updates: int | None, stands: bool) -> int:
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
        self._take_mentions(fact, archived)
        self._arrived[archived.fact_id] = fact
        return fact.fact_id

    def _take_mentions(self, fact: Fact, archived: document.ArchivedFact) -> None:
        meaning = self._meanings.setdefault(fact.said_key, fact.fact_id)
        own = {"fact_id": fact.fact_id, "app_id": self.app_id, "user_id": fact.user_id, "meaning": meaning}
        mentions: list[FactMention] = []
        for source in archived.sources:
            key, ids = self.keys.get(source.conversation_id or ""), source.message_ids
            said_at, times = source.said_at or source.last_seen, fact_queries.message_times(self.session, key, ids)
            # More make it no surer, and whoever writes a number into an archive has everybody wait for as many rows.
            count = min(source.mentions, _MOST_MENTIONS)
            for number in range(count):
                # An archive counts the mentions of a conversation: each has one of its messages, the last the rest.
                part = ids[number:] if number == count - 1 else ids[number : number + 1]
                mention = row_of(FactMention, source, **own, conversation_key=key, message_ids=part)
                mention.said_at = max((min(times[one], said_at) for one in part if one in times), default=said_at)
                mention.heard_at = source.first_seen if number == 0 < count - 1 else source.last_seen
                mentions.append(mention)
        mentions.sort(key=moment)
        self._mentions[fact.fact_id] = mentions
        # Numbered as they were heard.
        as_heard = sorted(mentions, key=lambda one: one.heard_at)
        self.session.add_all(as_heard)
        self.session.flush()
        if fact.statement != mentions[0].statement:
            # A hand changed its words, when all of these were there.
            newest = fact_queries.newest_mention(self.session)
            for one in mentions:
                one.edits = [[newest, fact.statement]]
            self.session.flush()

    def _name_replaced(self) -> None:
        """Let what replaced a fact name it, as its history says or else the chain; so later folds replace it again."""
        replaced_by = {fact.updates_fact_id: fact.fact_id for fact in self._arrived.values()}
        history = fact_queries.history_of(self.session, *self._mentions)
        by_history = {one.fact_id: one.related_fact_id for one in history if one.kind == FactChangeKind.REPLACED}
        for lower, upper in replaced_by.items():
            if lower is not None:
                by = self._mentions.get(by_history.get(lower) or upper, self._mentions[upper])
                meaning = self._mentions[lower][0].meaning
                # What says the same needs no name, and would take that of another.
                if meaning != by[0].meaning:
                    next((one for one in by if one.updates is None), by[0]).updates = meaning
        self.session.flush()

    def _take_history(self, history: Sequence[document.ArchivedFactChange]) -> None:
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


def import_archive(
    session: Session, app: App, archive: document.Archive, settings: Settings, now: datetime
) -> Imported:
    """Put an archive into an app that the caller has locked. Raises: Limit, Conflict, Invalid for a
    secret; then nothing may be committed.
    """
    # Refuse it when a text is longer than this installation keeps.
    memory_chars, message_chars = settings.memory_max_chars, settings.max_message_chars
    for memory in archive.memories:
        if len(memory.content) > memory_chars:
            raise Limit(f"Memory {memory.memory_id} is longer than {memory_chars} characters.", code="too_large")
    for conversation in archive.conversations:
        for message in conversation.messages:
            if size_of(message.content, message.payload) > message_chars:
                what = f"Message {message.message_id} is longer than {message_chars} characters."
                raise Limit(what, code="too_large")
    cause = Cause(IMPORT, f"imported from an archive of app {archive.app.app_id}", now)
    return _Arrival(session, app, archive, now, cause).carry_out(settings.memory_cap)


@dataclass
class _Arrival:
    """One import under way: which archived ids became which of ours."""

    session: Session
    app: App
    archive: document.Archive
    now: datetime
    cause: Cause
    keys: dict[str, int] = field(default_factory=dict)
    arrived_ended: dict[str, int] = field(default_factory=dict)
    memory_ids: dict[int, int] = field(default_factory=dict)
    done: Imported = field(default_factory=Imported)

    def carry_out(self, cap: int) -> Imported:
        known = {one.user_id for one in list_user_settings(self.session, self.app.app_id)}
        new = [one for one in self.archive.users if one.user_id not in known]
        self.session.add_all(row_of(UserSettings, one, app_id=self.app.app_id) for one in new)
        # Before all else, as memories and facts are kept under the keys that these get.
        for conversation in self.archive.conversations:
            self._take_conversation(conversation)
        self.session.flush()
        arriving = self._arriving_memories(cap)
        for memory in arriving:
            texts = (text for _, text in written_texts(memory.model_dump()))
            refuse_secret("\n".join(texts), f"Memory {memory.memory_id} of the archive")
        # Origins first: they give the ids that history and memories are written under.
        self._make_origins(arriving)
        self._take_history()
        for memory in arriving:
            self._take_memory(memory, cap)
        facts = ArrivingFacts(self.session, self.app.app_id, self.keys, self.cause)
        facts.carry_out(self.archive.facts, self.archive.fact_history)
        self.done.facts, self.done.facts_skipped = facts.facts, facts.skipped
        self.done.fact_changes, self.done.fact_changes_skipped = facts.changes, facts.changes_skipped
        for one in self.archive.profiles:
            whose = (self.app.app_id, one.user_id, one.content, one.agreed_at)
            if (profile := import_profile(self.session, *whose, IMPORT, self.now)) is not None:
                profile.created_at, profile.updated_at = one.created_at, one.updated_at
                self.done.profiles += 1
        self.done.profiles_skipped = len(self.archive.profiles) - self.done.profiles
        return self.done

    def _take_conversation(self, archived: document.ArchivedConversation) -> None:
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
        message_count = len(archived.messages)
        conversation = row_of(
            Conversation,
            archived,
            app_id=self.app.app_id,
            details=archived.metadata,
            message_count=message_count,
            # An archive may be written by hand: a mark beyond its messages would pass over what is said next.
            facts_seen=min(archived.facts_seen, message_count),
            summarised=min(archived.summarised, message_count),
            turns_since_summary=min(archived.turns_since_summary, message_count),
        )
        self.session.add(conversation)
        self.session.flush()
        self.keys[archived.conversation_id] = conversation.key
        if conversation.ended_at is not None:
            self.arrived_ended[archived.conversation_id] = conversation.key
        messages = _in_messages(conversation, archived.messages)
        insert_messages(self.session, messages)
        index_messages(self.session, self.app.app_id, messages)
        for one in archived.summaries:
            refuse_secret(one.content, f"A summary of conversation {archived.conversation_id} of the archive")
            new = NewSummary(one.content, one.agent, one.from_position, one.to_position)
            insert_summary(self.session, conversation, new, one.created_at)
        self.done.summaries += len(archived.summaries)
        self.done.conversations += 1
        self.done.messages += message_count

    def _arriving_memories(self, cap: int) -> list[document.ArchivedMemory]:
        standing = queries.list_memories(self.session, self.app.app_id, None, document.EVERYTHING)
        # By what it says and since when: the ids of an archive are those of another installation.
        present = {(m.user_id, m.content, m.created_at): m.memory_id for m in standing}
        taken = Counter(m.user_id for m in standing)
        arriving: list[document.ArchivedMemory] = []
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

    def _make_origins(self, arriving: Sequence[document.ArchivedMemory]) -> None:
        """Give ids to the memories that arrive, and to those of the past whose history does."""
        known = _fingerprints(self.session, self.app.app_id)
        past = {change.memory_id for change in self.archive.history if _fingerprint(change) not in known}
        needed = past | {memory.memory_id for memory in arriving}
        for archived in self.archive.origins:
            if archived.memory_id in needed and archived.memory_id not in self.memory_ids:
                # One that was here already, or is open, may yet give rise to a memory of its own.
                key = self.arrived_ended.get(archived.conversation_id or "")
                epoch = self.app.purge_epoch
                # A conversation gives rise to one memory an epoch; a second one keeps only the conversation's name.
                if key is not None and queries.origin_of_conversation(self.session, key, epoch) is not None:
                    key = None
                origin = row_of(
                    Origin,
                    archived,
                    memory_id=None,
                    app_id=self.app.app_id,
                    user_id=archived.user_id or NOBODY,
                    conversation_key=key,
                    epoch=epoch,
                )
                self.session.add(origin)
                self.session.flush()
                self.memory_ids[archived.memory_id] = origin.memory_id
        lacking = [m.memory_id for m in arriving if m.memory_id not in self.memory_ids]
        if lacking:
            raise Conflict(f"The archive does not say where memory {lacking[0]} came from.", code="broken_archive")

    def _take_history(self) -> None:
        known = _fingerprints(self.session, self.app.app_id)
        for archived in self.archive.history:
            memory_id = self.memory_ids.get(archived.memory_id)
            # What was taken away because it held a secret is no reason to refuse the rest.
            if memory_id is None or _fingerprint(archived) in known or _holds_secret(archived):
                self.done.changes_skipped += 1
                continue
            standing: dict[str, Any] = {}
            if archived.standing is not None:
                standing = archived.standing.model_dump(exclude={"sources"})
                sources = self._in_sources(archived.standing.sources)
                standing["sources"] = {str(key): ids for key, ids in sources.items()}
            named = {self.keys[one] for one in archived.conversation_ids if one in self.keys}
            change = row_of(
                Change,
                archived,
                memory_id=memory_id,
                app_id=self.app.app_id,
                source_keys=sorted(named | sources_in(standing).keys()),
                standing=standing,
                related_memory_id=self.memory_ids.get(archived.related_memory_id or 0),
            )
            self.session.add(change)
            self.done.changes += 1
        self.session.flush()

    def _in_sources(self, archived: Sequence[document.ArchivedSource]) -> Sources:
        return {self.keys[one.conversation_id]: one.message_ids for one in archived if one.conversation_id in self.keys}

    def _take_memory(self, archived: document.ArchivedMemory, cap: int) -> None:
        memory_id, user_id = self.memory_ids[archived.memory_id], archived.user_id or NOBODY
        memory = row_of(Memory, archived, memory_id=memory_id, app_id=self.app.app_id, user_id=user_id)
        origins = self._in_sources(archived.sources)
        record(self.session, memory, ChangeKind.CREATED, Texts(after=archived.content), self.cause, origins)
        insert_with_eviction(self.session, memory, origins, self.cause, cap)
        self.done.memories += 1


def _holds_secret(change: document.ArchivedChange) -> bool:
    standing = {} if change.standing is None else change.standing.model_dump()
    return any_secret((change.reason, change.before, change.after, *(text for _, text in written_texts(standing))))


def _fingerprints(session: Session, app_id: str) -> set[tuple[object, ...]]:
    return {_fingerprint(one) for one in queries.changes_of_app(session, app_id, document.EVERYTHING)}


def _fingerprint(change: Change | document.ArchivedChange) -> tuple[object, ...]:
    return (change.kind, change.actor, change.at, change.before, change.after)


def _in_messages(conversation: Conversation, archived: Sequence[document.ArchivedMessage]) -> list[Message]:
    messages = [
        row_of(Message, one, conversation_key=conversation.key, app_id=conversation.app_id, position=position)
        for position, one in enumerate(archived)
    ]
    for one in messages:
        if one.payload is not None:
            one.role, one.content, one.payload_chars = role_of(one.payload), text_of(one.payload), chars_of(one.payload)
    for one, owner in zip(messages, owners_of(messages), strict=True):
        one.call_position = None if messages[owner] is one else owner
    return messages
