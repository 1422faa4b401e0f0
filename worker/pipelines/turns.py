"""Messages as the agents read them: what a person or the assistant said, without what was recalled into it."""

from __future__ import annotations

from shared.context.rendering import without_recalled
from shared.conversations.models import Message
from worker.agent.protocol import SPOKEN_ROLES, Turn


def spoken_turn(message: Message) -> Turn | None:
    """Return what a person or the assistant said, without what was recalled into it; None when nothing is left."""
    if message.role not in SPOKEN_ROLES:
        return None
    content = without_recalled(message.content).strip()
    return Turn(message.message_id, message.role, message.name, content, message.created_at) if content else None
