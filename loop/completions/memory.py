"""Which conversation a request belongs to, what of it is new, and what is recalled for it.

Clients of OpenAI's protocol send the whole conversation each time and name none. So each message is stored under an id
made of it and of all before it: the longest beginning of what was sent that is stored already tells the conversation,
and what follows is new. What a stopped service could not record comes with the next request, and is recorded then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import orjson
from anyio.to_thread import run_sync
from starlette.responses import Response

from shared.base.errors import Conflict
from shared.conversations.chat_message import PassedMessage, Sent, role_of, text_of
from shared.conversations.models import MemoryMode
from shared.conversations.queries import StoredMessageId, find_message_ids, get_conversation, latest_of_assistant
from shared.db.engine import Database
from shared.text.material import is_housekeeping

_INSTRUCTION, _USER, _ASSISTANT = "system", "user", "assistant"
_MOST_ADDED = 1000
_PREFIX = "cc_"
_ID_CHARS = 32
_BY_ITSELF = {"endAfterMinutes": 30}
"""Nobody ends a conversation that has no name: half an hour of silence does, as it ends a visit in web analytics."""


class Refused(Exception):
    """The interface refused; ``response`` says so in its words."""

    def __init__(self, response: Response) -> None:
        super().__init__(f"status {response.status_code}")
        self.response = response


@dataclass
class ChatMemory:
    """One request's view of what is remembered."""

    http: httpx.AsyncClient
    database: Database
    app_id: str
    user_id: str | None
    passed_messages: Sequence[PassedMessage]
    """As the client sent them."""
    conversation_id: str = ""
    last_id: str = ""
    """Of the last message that was recorded."""
    mode: MemoryMode | None = None
    """What the client wants of memory; None where it does not say."""

    @property
    def is_off(self) -> bool:
        """Whether nothing is recorded and nothing recalled: so it was asked for, or the client asks for itself."""
        if self.mode is not None:
            return self.mode is MemoryMode.OFF
        instructions = "\n".join(text_of(one) for one in self.messages if role_of(one) == _INSTRUCTION)
        last = self.messages[-1:]
        return is_housekeeping(text_of(last[0]) if last and role_of(last[0]) == _USER else "", instructions)

    @property
    def messages(self) -> list[Sent]:
        """The messages as they are remembered: without the keys that only the model's server knows."""
        return [one.sent for one in self.passed_messages]

    @property
    def recordable(self) -> list[Sent]:
        """What is recorded: neither instructions, nor what the client asked for itself, and its answer."""
        kept, is_clients = [], False
        for one in self.messages:
            is_clients = is_housekeeping(text_of(one)) if role_of(one) == _USER else is_clients
            if role_of(one) != _INSTRUCTION and not is_clients:
                kept.append(one)
        return kept

    async def record_question(self, named: str | None) -> None:
        """Find or open the conversation and record what is new of it; nothing where that is off. Raises: Refused."""
        if self.is_off:
            return
        messages = self.recordable
        ids = chain(self._seed(), messages)
        self.last_id = ids[-1] if ids else self._seed()
        stored = await run_sync(self._find, ids, named)
        # Each id is made of all messages before it, so the last that is known tells of those as well.
        known = max((ids.index(one.message_id) + 1 for one in stored), default=0)
        new = list(zip(messages, ids, strict=True))
        if named is not None:
            self.conversation_id = named
            await self._open(named)
            await self._add(new[known:] if known else await run_sync(self._unknown, messages, new))
            return
        is_begun = any(role_of(one) == _ASSISTANT for one in messages[:known])
        # Many conversations begin with the same words: until one is answered, only a repeated request means it.
        where = [one for one in stored if one.message_id == ids[known - 1] and (is_begun or one.is_last)]
        found = next((one for one in where if not one.is_ended), None)
        if found is not None:
            self.conversation_id = found.conversation_id
            await self._set_mode()
        else:
            inherited: dict[str, Any] = {}
            if where:
                # Which of several is gone on with is not known.
                mode = MemoryMode.strictest(*(one.memory for one in where))
                inherited = {"memory": mode, "timeZone": where[0].time_zone}
            # What the client says now goes before what was inherited.
            opened = await self._request("conversations", inherited | self._owner() | self._memory() | _BY_ITSELF)
            self.conversation_id = str(opened["conversationId"])
        # What stands in a conversation that has ended was thought over: it is not said again in the next.
        has_ended = found is None and is_begun
        await self._add((new[known:] or new[-1:]) if has_ended else new[known if found is not None else 0 :])

    async def record_answer(self, message: Sent) -> None:
        """Record what the model said, where the question is. Raises: Refused."""
        if self.is_off:
            return
        await self._add([(message, chain(self.last_id, [message])[0])])

    async def recall(self) -> list[Sent]:
        """Return the messages for the model: what was sent, as it was, and what is recalled. Raises: Refused."""
        if self.is_off:
            return [one.as_it_came for one in self.passed_messages]
        messages = list(self.messages)
        context = await self._request("context", {"conversationId": self.conversation_id, "messages": messages})
        following, composed = 0, []
        for message in context["messages"]:
            # What is recalled stands between what was sent, which keeps its order.
            found = next((i for i in range(following, len(messages)) if messages[i] == message), None)
            composed.append(message if found is None else self.passed_messages[found].as_it_came)
            following = following if found is None else found + 1
        return composed

    def _seed(self) -> str:
        # The chain of ids begins with these, so that two users who say the same have no id in common.
        return f"{self.app_id}\n{self.user_id or ''}"

    def _owner(self) -> dict[str, str]:
        return {} if self.user_id is None else {"userId": self.user_id}

    def _memory(self) -> dict[str, str]:
        return {} if self.mode is None else {"memory": self.mode}

    async def _set_mode(self) -> None:
        """Have a conversation that was begun remembered as the client wants it from now on. Raises: Refused."""
        if self.mode is not None:
            await self._request(f"conversations/{quote(self.conversation_id, safe='')}", self._memory(), "PATCH")

    def _find(self, ids: list[str], named: str | None) -> list[StoredMessageId]:
        with self.database.read() as session:
            return find_message_ids(session, self.app_id, self.user_id, ids, named)

    async def _open(self, conversation_id: str) -> None:
        """Open a conversation that the client named, unless it is there. Raises: Refused, Conflict."""
        try:
            await self._request("conversations", {"conversationId": conversation_id} | self._owner() | self._memory())
        except Refused as refused:
            if refused.response.status_code != httpx.codes.CONFLICT:
                raise
            await run_sync(self._check_owner)
            await self._set_mode()

    def _check_owner(self) -> None:
        with self.database.read() as session:
            if get_conversation(session, self.app_id, self.conversation_id).user_id != self.user_id:
                raise Conflict(
                    f"Conversation {self.conversation_id} is not of the user this request is for. Name its user, or "
                    "another conversation.",
                    code="other_user",
                )

    def _unknown(self, messages: list[Sent], new: list[tuple[Sent, str]]) -> list[tuple[Sent, str]]:
        """Return what is new of a conversation whose beginning the client left out: what follows the last answer."""
        with self.database.read() as session:
            conversation = get_conversation(session, self.app_id, self.conversation_id)
            if not conversation.message_count:
                return new
            answers = latest_of_assistant(session, conversation.key, conversation.message_count, 1)
            # The same for a request that is repeated, so that its messages have the same ids.
            seed = answers[0].message_id if answers else self._seed()
        last_answer = max((position for position, one in enumerate(messages) if role_of(one) == _ASSISTANT), default=-1)
        tail = messages[last_answer + 1 :]
        return list(zip(tail, chain(seed, tail), strict=True))

    async def _add(self, new: Sequence[tuple[Sent, str]]) -> None:
        path = f"conversations/{quote(self.conversation_id, safe='')}/messages"
        for start in range(0, len(new), _MOST_ADDED):
            part = [message | {"messageId": id_} for message, id_ in new[start : start + _MOST_ADDED]]
            await self._request(path, {"messages": part})
        if new:
            self.last_id = new[-1][1]

    async def _request(self, path: str, body: dict[str, Any], method: str = "POST") -> dict[str, Any]:
        answer = await self.http.request(method, f"/apps/{quote(self.app_id, safe='')}/{path}", json=body)
        if not answer.is_success:
            passed = [(name, answer.headers[name]) for name in ("Retry-After",) if name in answer.headers]
            raise Refused(Response(answer.content, answer.status_code, dict(passed), "application/json"))
        content: dict[str, Any] = answer.json()
        return content


def chain(before: str, messages: Sequence[Sent]) -> list[str]:
    """Return an id for each message, made of it and of all before it."""
    ids = []
    for message in messages:
        # What stays of a message when a client sends it again: libraries add and leave out keys of answers.
        role = role_of(message)
        content = text_of(message) if role == _ASSISTANT else message.get("content")
        calls = [(one.get("id"), one.get("function")) for one in message.get("tool_calls") or ()]
        essence = orjson.dumps([role, content, calls, message.get("tool_call_id")], option=orjson.OPT_SORT_KEYS)
        before = _PREFIX + hashlib.sha256(f"{before}\n".encode() + essence).hexdigest()[:_ID_CHARS]
        ids.append(before)
    return ids
