"""Whose memory is meant, and that nothing of anybody else's is touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from langchain_core.runnables import RunnableConfig

from afterthought_client import Afterthought, NotFound, models

MemoryMode = Literal["on", "read", "off"]
"""What a conversation has to do with memory: read recalls in it and remembers nothing of it, off does neither."""
_HOW = "Name it in the call: config={'configurable': {'%s': ...}}."


class OtherUser(ValueError):
    """A conversation is another user's than the one this is for."""


def configured(config: RunnableConfig, name: str) -> str:
    """Return what a call's ``configurable`` names. Raises: ValueError."""
    value = (config.get("configurable") or {}).get(name)
    # Left out, it would stand for what names nobody, which everybody may share.
    if not isinstance(value, str) or not value:
        raise ValueError(f"Whose memory it is must be known, and {name} is missing. " + _HOW % name)
    return value


@dataclass(frozen=True)
class UserMemory:
    """The service as one user of an app sees it."""

    client: Afterthought
    user_id: str

    def conversation(self, conversation_id: str) -> models.ConversationDetails | None:
        """Return a conversation; None where there is none. Raises: OtherUser, AfterthoughtError."""
        try:
            found = self.client.show_conversation(conversation_id)
        except NotFound:
            return None
        if found.user_id != self.user_id:
            raise OtherUser(f"Conversation {conversation_id} is not user {self.user_id}'s.")
        return found

    def open(
        self, conversation_id: str, end_after_minutes: int | None = None, memory: MemoryMode = "on"
    ) -> models.ConversationDetails:
        """Return a conversation, begun where there is none. Raises: OtherUser, AfterthoughtError."""
        found = self.conversation(conversation_id)
        if found is None:
            found = self.client.start_conversation(
                conversation_id=conversation_id,
                user_id=self.user_id,
                end_after_minutes=end_after_minutes,
                memory=memory,
            )
        return found
