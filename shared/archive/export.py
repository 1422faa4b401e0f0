"""Takes an app out whole: its conversations, memories, facts, what happened to them, and profiles agreed to.

Tokens, jobs and spending stay behind; they belong to the installation. Facts that were deleted stay behind, and so does
the history of facts that are gone; vectors are made anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.apps.queries import list_user_settings
from shared.archive.document import (
    Archive,
    ArchivedApp,
    ArchivedChange,
    ArchivedConversation,
    ArchivedFact,
    ArchivedFactChange,
    ArchivedFactSource,
    ArchivedMemory,
    ArchivedMessage,
    ArchivedOrigin,
    ArchivedProfile,
    ArchivedSource,
    ArchivedStanding,
    ArchivedSummary,
    ArchivedUser,
)
from shared.base.choices import FactState
from shared.conversations.models import Conversation
from shared.conversations.queries import ConversationFilter, list_conversations, messages_of
from shared.db.base import copied
from shared.facts import queries as fact_queries
from shared.facts.models import Fact
from shared.memories import queries
from shared.memories.history import attributes_in, sources_in
from shared.memories.models import Change
from shared.profiles import consent
from shared.summaries.queries import of_conversation

EVERYTHING = 2**31 - 1
"""A limit that limits nothing."""


def export_app(session: Session, app: App, now: datetime, user_id: str | None = None) -> Archive:
    """Take an app out, or what it holds of one user, in one transaction that only reads."""
    conversations = list(list_conversations(session, app.app_id, ConversationFilter(user_id), EVERYTHING))[::-1]
    ids = {one.key: one.conversation_id for one in conversations}
    memories = list(queries.list_memories(session, app.app_id, user_id, EVERYTHING))[::-1]
    linked = queries.sources_by_memory(session, [memory.memory_id for memory in memories])
    changes = list(queries.changes_of_app(session, app.app_id, EVERYTHING, user_id=user_id))[::-1]
    facts = [fact for fact in _leaving_facts(session, app.app_id) if user_id in (None, fact.user_id or None)]
    said = fact_queries.sources_by_fact(session, [fact.fact_id for fact in facts])
    return Archive(
        exported_at=now,
        app=copied(ArchivedApp, app),
        users=[copied(ArchivedUser, one) for one in list_user_settings(session, app.app_id, user_id)],
        conversations=[_conversation(session, one) for one in conversations],
        origins=[
            copied(ArchivedOrigin, one, user_id=one.user_id or None)
            for one in queries.origins_of_app(session, app.app_id, user_id)
        ],
        memories=[
            copied(
                ArchivedMemory,
                one,
                user_id=one.subject.named,
                sources=[
                    ArchivedSource(conversation_id=name, message_ids=message_ids)
                    for name, message_ids in linked.get(one.memory_id, [])
                ],
            )
            for one in memories
        ],
        history=[_change(one, ids) for one in changes],
        facts=[
            copied(
                ArchivedFact,
                one,
                user_id=one.user_id or None,
                pinned=one.pin_slot is not None,
                sources=[copied(ArchivedFactSource, source) for source in said.get(one.fact_id, [])],
            )
            for one in facts
        ],
        fact_history=[
            copied(ArchivedFactChange, one, conversation_ids=[ids[key] for key in one.source_keys if key in ids])
            for one in fact_queries.history_of_many(session, [fact.fact_id for fact in facts])
        ],
        profiles=[
            copied(ArchivedProfile, one)
            for one in consent.agreed_profiles(session, app.app_id)
            if user_id in (None, one.user_id)
        ],
    )


def _conversation(session: Session, one: Conversation) -> ArchivedConversation:
    return copied(
        ArchivedConversation,
        one,
        metadata=one.details,
        summaries=[copied(ArchivedSummary, summary) for summary in reversed(of_conversation(session, one.key))],
        messages=[copied(ArchivedMessage, message) for message in messages_of(session, one.key)],
    )


def _change(one: Change, ids: Mapping[int, str]) -> ArchivedChange:
    return copied(
        ArchivedChange,
        one,
        standing=_standing(one.standing, ids) if one.standing else None,
        conversation_ids=[ids[key] for key in one.source_keys if key in ids],
    )


def _standing(standing: dict[str, Any], ids: Mapping[int, str]) -> ArchivedStanding:
    origins = sources_in(standing)
    sources = [ArchivedSource(conversation_id=ids[k], message_ids=v) for k, v in origins.items() if k in ids]
    return ArchivedStanding(**attributes_in(standing), sources=sources)


def _leaving_facts(session: Session, app_id: str) -> list[Fact]:
    """Return the facts that stand, and what lies beneath them, the oldest first."""
    standing = fact_queries.facts_in(session, app_id, (FactState.STANDING,))
    replaced = {one.fact_id: one for one in fact_queries.facts_in(session, app_id, (FactState.REPLACED,))}
    leaving = {one.fact_id: one for one in standing}
    for fact in standing:
        lower = replaced.pop(fact.updates_fact_id or 0, None)
        while lower is not None:
            leaving[lower.fact_id] = lower
            lower = replaced.pop(lower.updates_fact_id or 0, None)
    return [leaving[fact_id] for fact_id in sorted(leaving)]
