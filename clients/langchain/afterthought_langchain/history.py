"""A conversation as LangChain's chat history."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from afterthought_client import Afterthought
from afterthought_langchain.messages import MOST_AT_ONCE, to_message, to_stored
from afterthought_langchain.subject import MemoryMode, UserMemory


class AfterthoughtChatMessageHistory(BaseChatMessageHistory):
    """The messages of one conversation of a user's; it is begun with its first message.

    A message that has an id is kept once under it. Of a conversation whose ``memory`` is off or read nothing is
    remembered. Raises: OtherUser where the conversation is not the user's, and AfterthoughtError where the service
    refuses or does not answer: a history that seems empty would mislead.
    """

    def __init__(
        self,
        client: Afterthought,
        conversation_id: str,
        user_id: str,
        *,
        end_after_minutes: int | None = None,
        memory: MemoryMode = "on",
    ) -> None:
        self.client = client
        self.conversation_id = conversation_id
        self._memory = UserMemory(client, user_id)
        self._end_after_minutes = end_after_minutes
        self._mode = memory

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # the base class has an attribute here
        """All messages, in order; none where the conversation was not begun."""
        if self._memory.conversation(self.conversation_id) is None:
            return []
        return [to_message(one) for one in self.client.iter_messages(self.conversation_id)]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Record messages in order."""
        self._memory.open(self.conversation_id, self._end_after_minutes, self._mode)
        said = [to_stored(one) for one in messages]
        for start in range(0, len(said), MOST_AT_ONCE):
            self.client.add_messages(self.conversation_id, said[start : start + MOST_AT_ONCE])

    def end(self) -> None:
        """End the conversation, so that it becomes a memory; nothing can be added to it afterwards."""
        if self._memory.conversation(self.conversation_id) is not None:
            self.client.end_conversation(self.conversation_id)

    def clear(self) -> None:
        """Erase the conversation, and the memories and facts that came of it alone."""
        if self._memory.conversation(self.conversation_id) is not None:
            self.client.erase_conversation(self.conversation_id)
