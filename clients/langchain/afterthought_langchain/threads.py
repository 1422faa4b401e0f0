"""A thread of LangGraph as conversations of a user: a model is told what is remembered, what is said is recorded.

Which messages are recorded stands in the messages themselves: each answer that was recorded says so in its
``response_metadata``, which the thread's checkpoints keep. So nothing is recorded twice, and what could not be recorded
while the service was away is recorded with the next turn, if it is of the same user.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, run_in_executor

from afterthought_client import Afterthought, AfterthoughtError, Conflict, ConnectionFailed, RateLimited, ServerError
from afterthought_langchain.messages import MOST_AT_ONCE, to_stored
from afterthought_langchain.subject import MemoryMode, UserMemory, configured

_log = logging.getLogger(__name__)
_AWAY = (ConnectionFailed, ServerError, RateLimited)
_MARK = "afterthought_conversation_id"
_USER_MARK = "afterthought_user_id"
"""Of an answer that was not recorded: whom it was given to."""
_AWAY_PROMPT = """\
The memory of earlier conversations cannot be reached at the moment. Answer without it. If what the user asks would \
need it, say that you cannot look it up right now."""


@dataclass
class _Turn:
    memory: UserMemory
    thread_id: str
    conversation_id: str
    """Where the thread was recorded last."""
    unrecorded: list[BaseMessage]
    """Under ids; empty once they are recorded."""
    to_model: list[BaseMessage]


class ThreadMemory:
    """Memory for the threads of an app's users.

    A call names both: ``config={"configurable": {"thread_id": ..., "user_id": ...}}``. A thread is one conversation of
    its name, until that ends; what is said after that goes into the next (``NAME.2``, ``NAME.3``, ...).

    Args:
        client: Of the app. Its retries are what a turn waits for while the service is away.
        end_after_minutes: Of silence, after which a conversation ends and becomes a memory; None: only when told to.
        token_budget: Most tokens of what is recalled; the service's own budget where it is not given.
        memory: Of the conversations it begins. read: nothing of them is remembered; off: nothing is recalled either.
    """

    def __init__(
        self,
        client: Afterthought,
        *,
        end_after_minutes: int | None = 30,
        token_budget: int | None = None,
        memory: MemoryMode = "on",
    ) -> None:
        self.client = client
        self._end_after_minutes = end_after_minutes
        self._token_budget = token_budget
        self._mode = memory

    def around(self, runnable: Runnable[Any, Any]) -> Runnable[Any, Any]:
        """Return a node that recalls, asks a model, chain or agent, and records.

        It takes a state with ``messages`` and returns what is new of them, or takes messages (or a text) and returns
        what the runnable did. While the service is away it goes on without memory, tells the model so, and warns in
        the log. Raises: OtherUser; ValueError where a call names no thread or user; AfterthoughtError where the
        service refuses.
        """

        # Of a graph, which an agent is, and of nothing else.
        takes_state = hasattr(runnable, "get_state")

        def asked(given: Any, turn: _Turn) -> Any:
            state = given if isinstance(given, dict) else {}
            return state | {"messages": turn.to_model} if takes_state else turn.to_model

        def call(given: Any, config: RunnableConfig) -> Any:
            turn = self._begin(given, config)
            return self._finish(turn, given, runnable.invoke(asked(given, turn), config))

        async def acall(given: Any, config: RunnableConfig) -> Any:
            turn = await run_in_executor(config, self._begin, given, config)
            result = await runnable.ainvoke(asked(given, turn), config)
            return await run_in_executor(config, self._finish, turn, given, result)

        return RunnableLambda(call, acall, name="memory")

    def end(self, thread_id: str, user_id: str) -> str | None:
        """End a thread's open conversation, so that it becomes a memory. Returns its id; None where none is open.

        Raises: OtherUser, AfterthoughtError.
        """
        memory, conversation_id = UserMemory(self.client, user_id), thread_id
        while (found := memory.conversation(conversation_id)) is not None:
            if found.state != "ended":
                self.client.end_conversation(conversation_id)
                return conversation_id
            conversation_id = _following(thread_id, conversation_id)
        return None

    def _begin(self, given: Any, config: RunnableConfig) -> _Turn:
        """Record what is new, so that no crash of the model loses it, and recall what fits it."""
        messages, is_thread = _messages(given), isinstance(given, dict)
        memory = UserMemory(self.client, configured(config, "user_id"))
        thread_id = configured(config, "thread_id")
        messages = [_with_id(one) for one in messages]
        place, conversation_id = _last_mark(messages)
        new = messages[place + 1 :]
        own = _of_user(new, memory.user_id, is_thread=is_thread)
        if len(own) < len(new):
            _log.warning("%d messages of thread %s are not known to be of its user, and not recorded.",
                         len(new) - len(own), thread_id)  # fmt: skip
        turn = _Turn(memory, thread_id, conversation_id or thread_id, own, messages)
        try:
            self._record(turn)
            context = self.client.compose_context(
                conversation_id=turn.conversation_id,
                messages=[_for_context(one) for one in messages],
                token_budget=self._token_budget,
            )
            recalled = {place: _recalled(context.messages[place]) for place in context.recalled_at}
        except _AWAY as error:
            _warn("Nothing is recalled", thread_id, error)
            recalled = {0: SystemMessage(_AWAY_PROMPT)}
        turn.to_model = list(messages)
        for place, one in recalled.items():
            turn.to_model.insert(place, _with_id(one))
        return turn

    def _finish(self, turn: _Turn, given: Any, result: Any) -> Any:
        """Record what came of it, and return it as it came but for the mark and an id."""
        came = _messages(result)
        is_state = isinstance(result, dict)
        # An agent returns what it was given, too; what is recalled is for this turn only.
        known = {one.id for one in turn.to_model} if is_state else set()
        new = [_with_id(one) for one in came if one.id not in known]
        turn.unrecorded += new
        try:
            self._record(turn)
        except _AWAY as error:
            _warn("What was said is recorded with the next turn", turn.thread_id, error)
            mark = {_USER_MARK: turn.memory.user_id}
        else:
            mark = {_MARK: turn.conversation_id}
        new = [_marked(one, mark) if isinstance(one, AIMessage) else one for one in new]
        if is_state:
            return result | {"messages": new}
        return {"messages": new} if isinstance(given, dict) else new[0]

    def _record(self, turn: _Turn) -> None:
        """Record what is not yet where the thread is, or, where that has ended, in what follows it."""
        said = [to_stored(one) for one in turn.unrecorded if not isinstance(one, SystemMessage)]
        while True:
            found = turn.memory.open(turn.conversation_id, self._end_after_minutes, self._mode)
            try:
                if found.state != "ended":
                    for start in range(0, len(said), MOST_AT_ONCE):
                        self.client.add_messages(turn.conversation_id, said[start : start + MOST_AT_ONCE])
                    turn.unrecorded = []
                    return
            except Conflict as error:
                if error.code != "conversation_ended":
                    raise
            turn.conversation_id = _following(turn.thread_id, turn.conversation_id)


def _messages(given: Any) -> list[BaseMessage]:
    """Return the messages of a state, a prompt, a list, one message or a text. Raises: ValueError."""
    if isinstance(given, dict):
        given = given.get("messages")
    if isinstance(given, PromptValue):
        return given.to_messages()
    if isinstance(given, (str, BaseMessage)):
        given = [given]
    if not isinstance(given, Sequence) or not given:
        raise ValueError("Messages are needed: a state with messages, a list of them, or a text.")
    return convert_to_messages(given)


def _last_mark(messages: Sequence[BaseMessage]) -> tuple[int, str]:
    """Return the place of the last message that was recorded, and where; -1 and nothing where none was."""
    for place in range(len(messages) - 1, -1, -1):
        where = messages[place].response_metadata.get(_MARK) if isinstance(messages[place], AIMessage) else None
        if isinstance(where, str):
            return place, where
    return -1, ""


def _of_user(new: Sequence[BaseMessage], user_id: str, *, is_thread: bool) -> list[BaseMessage]:
    """Return which unrecorded messages are known to be of a user.

    A thread also holds what a call said that was refused: another user's, or nobody's. That was never answered. And
    while the service is away nobody can tell whose the thread is, so answers of that time name their user.
    """
    known: list[BaseMessage] = []
    pending: list[BaseMessage] = []
    for one, following in zip(new, [*new[1:], None], strict=True):
        if is_thread and isinstance(one, HumanMessage) and isinstance(following, HumanMessage):
            continue
        pending.append(one)
        answered = one.response_metadata.get(_USER_MARK) if isinstance(one, AIMessage) else None
        if answered is not None:
            known += pending if answered == user_id else []
            pending = []
    return known + pending


def _recalled(sent: Mapping[str, Any]) -> BaseMessage:
    """Return what is recalled for a question as the user's side has it, and all else as the system's."""
    return HumanMessage(sent["content"]) if sent["role"] == "user" else SystemMessage(sent["content"])


def _with_id(message: BaseMessage) -> BaseMessage:
    return message if message.id is not None else message.model_copy(update={"id": str(uuid.uuid4())})


def _marked(message: BaseMessage, mark: dict[str, str]) -> BaseMessage:
    return message.model_copy(update={"response_metadata": message.response_metadata | mark})


def _for_context(message: BaseMessage) -> dict[str, Any]:
    return {key: value for key, value in to_stored(message).items() if key != "messageId"}


def _following(thread_id: str, conversation_id: str) -> str:
    number = conversation_id.removeprefix(f"{thread_id}.")
    return f"{thread_id}.{int(number) + 1 if number.isdigit() and conversation_id != thread_id else 2}"


def _warn(what: str, thread_id: str, error: AfterthoughtError) -> None:
    _log.warning("%s: the memory of thread %s cannot be reached (%s)", what, thread_id, error)
