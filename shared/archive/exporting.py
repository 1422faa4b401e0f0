"""Takes an app out whole: its conversations, memories, facts, what happened to them, and profiles agreed to.

Tokens, jobs and spending stay behind; they belong to the installation.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.archive.derived import out_profiles, out_summaries
from shared.archive.document import (
    Archive,
    ArchivedApp,
    ArchivedChange,
    ArchivedConversation,
    ArchivedMemory,
    ArchivedMessage,
    ArchivedOrigin,
    ArchivedSource,
    ArchivedStanding,
)
from shared.archive.exporting_facts import out_facts, out_history
from shared.conversations.lifecycle import Role
from shared.conversations.models import Conversation, Message
from shared.conversations.queries import ConversationFilter, list_conversations, messages_of
from shared.memories import queries
from shared.memories.history import looks_in, sources_in
from shared.memories.models import Change, ChangeKind, Memory, Origin

EVERYTHING = 2**31 - 1
"""A limit that limits nothing."""


def export_app(session: Session, app: App, now: datetime, user_id: str | None = None) -> Archive:
    """Take an app out, or what it holds of one user, in one transaction that only reads."""
    mine = ConversationFilter(user_id)
    conversations = list(list_conversations(session, app.app_id, mine, EVERYTHING))[::-1]
    ids = {one.key: one.conversation_id for one in conversations}
    memories = list(queries.list_memories(session, app.app_id, user_id, EVERYTHING))[::-1]
    changes = list(queries.changes_of_app(session, app.app_id, EVERYTHING, user_id=user_id))[::-1]
    origins = queries.origins_of_app(session, app.app_id, user_id)
    facts = [one for one in out_facts(session, app.app_id) if user_id in (None, one.user_id)]
    linked = queries.sources_by_memory(session, [memory.memory_id for memory in memories])
    return Archive(
        exported_at=now,
        app=ArchivedApp(
            app_id=app.app_id,
            name=app.name,
            config=app.config,
            hourly_budget_micro=app.hourly_budget_micro,
            daily_budget_micro=app.daily_budget_micro,
            shared_memory=app.shared_memory,
        ),
        conversations=[_out_conversation(session, one) for one in conversations],
        origins=[_out_origin(one) for one in origins],
        memories=[_out_memory(one, linked.get(one.memory_id, [])) for one in memories],
        history=[_out_change(one, ids) for one in changes],
        facts=facts,
        fact_history=out_history(session, facts, ids),
        profiles=[one for one in out_profiles(session, app.app_id) if user_id in (None, one.user_id)],
    )


def _out_conversation(session: Session, one: Conversation) -> ArchivedConversation:
    return ArchivedConversation(
        conversation_id=one.conversation_id,
        user_id=one.user_id,
        energy_budget_micro=one.energy_budget_micro,
        metadata=one.details,
        created_at=one.created_at,
        updated_at=one.updated_at,
        snoozed_until=one.snoozed_until,
        ended_at=one.ended_at,
        end_reason=one.end_reason,
        facts_seen=one.facts_seen,
        summarised=one.summarised,
        turns_since_summary=one.turns_since_summary,
        summaries=out_summaries(session, one.key),
        messages=[_out_message(message) for message in messages_of(session, one.key)],
    )


def _out_message(one: Message) -> ArchivedMessage:
    return ArchivedMessage(
        message_id=one.message_id,
        role=Role(one.role),
        name=one.name,
        content=one.content,
        payload=one.payload,
        tokens=one.tokens,
        created_at=one.created_at,
    )


def _out_origin(one: Origin) -> ArchivedOrigin:
    return ArchivedOrigin(
        memory_id=one.memory_id, user_id=one.user_id or None, conversation_id=one.conversation_id, agent=one.agent,
        created_at=one.created_at,
    )  # fmt: skip


def _out_memory(one: Memory, linked: Sequence[tuple[str, list[str]]]) -> ArchivedMemory:
    return ArchivedMemory(
        memory_id=one.memory_id,
        user_id=one.subject.named,
        content=one.content,
        importance=one.importance,
        tags=one.tags,
        pinned=one.pinned,
        agent=one.agent,
        version=one.version,
        created_at=one.created_at,
        updated_at=one.updated_at,
        sources=[ArchivedSource(conversation_id=name, message_ids=ids) for name, ids in linked],
    )


def _out_change(one: Change, ids: dict[int, str]) -> ArchivedChange:
    return ArchivedChange(
        memory_id=one.memory_id,
        kind=ChangeKind(one.kind),
        actor=one.actor,
        reason=one.reason,
        before=one.before,
        after=one.after,
        standing=_out_standing(one.standing, ids) if one.standing else None,
        conversation_ids=[ids[key] for key in one.source_keys if key in ids],
        related_memory_id=one.related_memory_id,
        at=one.at,
    )


def _out_standing(standing: dict[str, Any], ids: dict[int, str]) -> ArchivedStanding:
    origins = sources_in(standing)
    sources = [ArchivedSource(conversation_id=ids[k], message_ids=v) for k, v in origins.items() if k in ids]
    return ArchivedStanding(**looks_in(standing), sources=sources)
