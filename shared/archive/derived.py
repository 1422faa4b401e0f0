"""Takes out, and puts in, what is derived of conversations beside memories and facts: summaries, and profiles with the
consent they stand on. Vectors are made anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from shared.archive.document import ArchivedProfile, ArchivedSummary
from shared.conversations.models import Conversation
from shared.profiles import consent
from shared.summaries.queries import NewSummary, insert_summary, of_conversation


def out_summaries(session: Session, conversation_key: int) -> list[ArchivedSummary]:
    """Return a conversation's summaries, the oldest first."""
    return [
        ArchivedSummary(
            content=one.content,
            agent=one.agent,
            from_position=one.from_position,
            to_position=one.to_position,
            created_at=one.created_at,
        )
        for one in reversed(of_conversation(session, conversation_key))
    ]


def in_summaries(session: Session, conversation: Conversation, archived: Sequence[ArchivedSummary]) -> None:
    """Put summaries into a conversation that has just arrived."""
    for one in archived:
        new = NewSummary(one.content, one.agent, one.from_position, one.to_position)
        insert_summary(session, conversation, new, one.created_at)


def out_profiles(session: Session, app_id: str) -> list[ArchivedProfile]:
    """Return an app's profiles, as far as their users agree."""
    return [
        ArchivedProfile(
            user_id=one.user_id,
            content=one.content,
            agreed_at=one.agreed_at,
            created_at=one.created_at,
            updated_at=one.updated_at,
        )
        for one in consent.agreed_profiles(session, app_id)
    ]


def in_profiles(
    session: Session, app_id: str, archived: Sequence[ArchivedProfile], actor: str, now: datetime
) -> tuple[int, int]:
    """Put profiles into a locked app; return how many arrived, and how many were refused or there already."""
    arrived = sum(consent.import_profile(session, app_id, _as_agreed(one), actor, now) for one in archived)
    return arrived, len(archived) - arrived


def _as_agreed(one: ArchivedProfile) -> consent.AgreedProfile:
    return consent.AgreedProfile(one.user_id, one.content, one.agreed_at, one.created_at, one.updated_at)
