"""Memory as tools, named and behaving as those of the service's MCP server."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field

from afterthought_client import Afterthought, AfterthoughtError, ConnectionFailed, Invalid, NotFound, models
from afterthought_langchain.subject import MemoryMode, configured

_NOTHING = "Nothing is remembered that fits."
_MEMORY = ("id", "content", "updated_at", "pinned", "source_conversation_id")
_FACT = ("id", "fact", "category", "confidence", "said_at", "pinned")
_Owned = TypeVar("_Owned", models.ConversationDetails, models.MemoryAnswer, models.FactAnswer)
Text = Annotated[str, Field(min_length=1)]
ConversationId = Annotated[str, Field(min_length=1, description="As conversation_start returned it.")]


class RecordedMessage(BaseModel):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    content: Text


def memory_tools(client: Afterthought, user_id: str | None = None) -> list[BaseTool]:
    """Return the tools for a user; without one for whom each call's ``configurable`` names as ``user_id``.

    A model names no user, and so reaches nobody else's memory. What the service refuses, and that it does not answer,
    is told to the model. Raises, when they are called: ValueError where neither names the user.
    """
    tools = _Tools(client, user_id)
    functions = (
        tools.recall, tools.search_memory, tools.remember, tools.list_memories, tools.list_facts, tools.forget,
        tools.conversation_start, tools.conversation_add, tools.conversation_end,
    )  # fmt: skip
    return [_MemoryTool.from_function(one, handle_tool_error=True) for one in functions]


class _Tools:
    def __init__(self, client: Afterthought, user_id: str | None) -> None:
        self._client = client
        self._user_id = user_id

    def recall(
        self,
        config: RunnableConfig,
        message: Annotated[Text, Field(description="What the user just said, or what you are about to work on.")],
        conversation_id: Annotated[
            str | None, Field(description="The conversation it is said in, so that it is not recalled to itself.")
        ] = None,
        token_budget: Annotated[int | None, Field(ge=1, description="Most tokens of recalled text.")] = None,
    ) -> str:
        """Return what is remembered of this user that fits a message: memories, facts, a summary, earlier messages."""
        if conversation_id is not None:
            self._own(config, conversation_id)
        answer = self._client.compose_context(
            message=message, user_id=self._user(config), conversation_id=conversation_id, token_budget=token_budget
        )
        missing = [*answer.missing, *answer.degraded]
        said = answer.system_prompt or _NOTHING
        return f"{said}\n\nCould not be had at the moment: {', '.join(missing)}." if missing else said

    def search_memory(
        self,
        config: RunnableConfig,
        query: Annotated[Text, Field(description="What to look for, in plain words.")],
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
    ) -> str:
        """Search what this user and their assistants said in earlier conversations, best first."""
        found = self._client.search_messages(query, limit=limit, user_id=self._user(config)).results
        return _shown(found, "role", "content", "created_at", "conversation_id", "message_id", "score")

    def remember(
        self,
        config: RunnableConfig,
        statement: Annotated[
            Text, Field(description="One sentence that stands alone, such as: Ada is allergic to penicillin.")
        ],
    ) -> str:
        """Keep one statement about this user or their work as a fact. What they ask you to remember belongs here."""
        return _shown([self._client.write_fact(statement, user_id=self._user(config))], *_FACT)

    def list_memories(self, config: RunnableConfig) -> str:
        """List this user's memories, the short paragraphs kept from their ended conversations; last updated first."""
        return _shown(list(self._client.iter_memories(user_id=self._user(config))), *_MEMORY)

    def list_facts(self, config: RunnableConfig) -> str:
        """List the facts about this user."""
        return _shown(list(self._client.iter_facts(user_id=self._user(config))), *_FACT)

    def forget(
        self,
        config: RunnableConfig,
        what: Literal["memory", "fact", "conversation", "everything"],
        id: Annotated[str, Field(description="Of the memory, fact or conversation; empty for everything.")] = "",
    ) -> str:
        """Erase a memory, a fact, a conversation with all that came of it, or everything of this user, for good.

        Only when the user asks for it. Says what was erased; tell the user what is left.
        """
        if (what == "everything") != (id == ""):
            raise ToolException("Name the id of what to forget; only everything takes none.")
        user_id = self._user(config)
        if what == "everything":
            return _erased(f"Everything of user {user_id}", self._client.erase_user_data(user_id))
        if what == "conversation":
            self._own(config, id)
            done = self._client.erase_conversation(id)
            return _erased(f"Conversation {id} and everything derived from it", done)
        if what == "memory":
            memory = self._mine(config, what, id, lambda: self._client.show_memory(int(id)))
            self._client.delete_memory(int(id), erase=True)
            source = memory.source_conversation_id
            left = f"conversation {source}, which it came from, and facts (list_facts)" if source else "facts"
            return f"Erased: memory {id}: {memory.content}\nThe same may be left in {left}."
        fact = self._mine(config, what, id, lambda: self._client.show_fact(int(id)))
        deleted = self._client.delete_fact(int(id))
        return (
            f"Erased: fact {id}: {fact.fact}\nIt can be taken back until {deleted.undo_until}. Memories "
            "(list_memories) and the conversation it was said in may say the same."
        )

    def conversation_start(
        self,
        config: RunnableConfig,
        conversation_id: Annotated[
            str | None, Field(description="An id of your own; left out, one is made.", max_length=200)
        ] = None,
        memory: Annotated[
            MemoryMode,
            Field(description="read: recalled in it, and nothing of it is remembered; off: neither."),
        ] = "on",
    ) -> str:
        """Begin to record a conversation with this user; returns its id."""
        begun = self._client.start_conversation(
            conversation_id=conversation_id, user_id=self._user(config), memory=memory
        )
        return begun.conversation_id

    def conversation_add(
        self,
        config: RunnableConfig,
        conversation_id: ConversationId,
        messages: Annotated[list[RecordedMessage], Field(min_length=1, max_length=100)],
    ) -> str:
        """Record what was said in a conversation, in order; each message once and whole."""
        self._own(config, conversation_id)
        stored = self._client.add_messages(conversation_id, [one.model_dump() for one in messages])
        return f"Recorded {len(stored.messages)} in conversation {conversation_id}."

    def conversation_end(self, config: RunnableConfig, conversation_id: ConversationId) -> str:
        """End a conversation, so that it is thought over and remembered; nothing can be added to it afterwards."""
        self._own(config, conversation_id)
        jobs = ", ".join(f"{job.kind} {job.state}" for job in self._client.end_conversation(conversation_id).jobs)
        return f"Conversation {conversation_id} is ended. It is being thought over: {jobs or 'nothing to do'}."

    def _user(self, config: RunnableConfig) -> str:
        return self._user_id if self._user_id is not None else configured(config, "user_id")

    def _own(self, config: RunnableConfig, conversation_id: str) -> None:
        self._mine(config, "conversation", conversation_id, lambda: self._client.show_conversation(conversation_id))

    def _mine(self, config: RunnableConfig, what: str, id_: str, show: Callable[[], _Owned]) -> _Owned:
        """Return a thing of the user's. Raises: ToolException, in the same words for another's as for one unknown."""
        try:
            found = show()
        # Invalid, or no number: what cannot be an id.
        except (NotFound, Invalid, ValueError):
            found = None
        if found is None or found.user_id != self._user(config):
            raise ToolException(f"This user has no {what} {id_}.")
        return found


class _MemoryTool(StructuredTool):
    """Tells the model what the service refuses."""

    def _run(self, *args: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        # Named, because that is how the base class finds out that it is asked for.
        try:
            return super()._run(*args, config=config, **kwargs)
        except ConnectionFailed as error:
            raise ToolException(f"{error} Whether anything was changed is not known; try again in a moment.") from error
        except AfterthoughtError as error:
            raise ToolException(str(error)) from error


def _shown(rows: Sequence[BaseModel], *names: str) -> str:
    shown = [one.model_dump(mode="json", include=set(names)) for one in rows]
    return json.dumps(shown, ensure_ascii=False) if shown else _NOTHING


def _erased(what: str, answer: models.Erased) -> str:
    left = {store: count for store, count in answer.receipt.left.items() if count != 0}
    stores = ", ".join(f"{store}: {'not known' if count is None else count}" for store, count in left.items())
    return f"Erased: {what} ({answer.deleted_count} deleted)." + (f" Left for now: {stores}." if left else "")
