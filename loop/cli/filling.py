"""Puts conversations read from a file into an app: opens each, says its messages in batches, ends it.

Nothing is stored twice: what the service already has is recognised by name and counted as skipped. Where the service
refuses a conversation, what this run stored of it is erased again, and the file's line is counted as bad.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import orjson

from loop.cli.chats import BadLine, MessageNames, Portion, Said
from loop.cli.routes import route
from loop.cli.service import Refused, Service
from shared.conversations.chat_message import as_sent

REASON = "ingested"
_BATCH = 100
_BATCH_BYTES = 400_000
_MOST_WAITING = 5_000
_MARK = "ingested"
_ABOUT_ONE_CONVERSATION = {HTTPStatus.CONFLICT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY}


@dataclass
class Tally:
    """What became of a file."""

    conversations: int = 0
    conversations_skipped: int = 0
    messages: int = 0
    messages_skipped: int = 0
    undated: int = 0
    """Messages that the file gives no time."""
    bad: list[BadLine] = field(default_factory=list)
    job_ids: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return it as it is printed for machines."""
        return {
            "conversations": {"ingested": self.conversations, "skipped": self.conversations_skipped},
            "messages": {"ingested": self.messages, "skipped": self.messages_skipped},
            "badLines": [{"where": one.where, "reason": one.reason} for one in self.bad],
        }


@dataclass
class _Filled:
    conversation_id: str
    user_id: str | None
    names: MessageNames
    waiting: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    opened_here: bool = False
    is_open: bool = False
    known: set[str] | None = None
    """The ids of its messages, when it had ended before."""
    count: int = 0
    added: int = 0
    refused: str | None = None
    told: set[str] = field(default_factory=set)
    """The lines already counted as bad because of the refusal."""
    first_where: str = ""


class Filling:
    """Fills one app from one file; ``ends`` says whether to end each conversation."""

    def __init__(self, service: Service, app_id: str, user_id: str | None, ends: bool) -> None:
        self.tally = Tally()
        self._service = service
        self._app_id = app_id
        self._user_id = user_id
        self._ends = ends
        self._unfinished: dict[str, _Filled] = {}
        self._waiting = 0

    def take(self, portion: Portion, where: str) -> None:
        """Take in what a line holds; a whole conversation is sent and ended at once."""
        filled = self._unfinished.get(portion.conversation_id)
        if filled is None:
            filled = self._unfinished[portion.conversation_id] = self._begun(portion, where)
        self._add(filled, portion.said, where)
        if portion.whole:
            self._finish(self._unfinished.pop(portion.conversation_id))
        elif len(filled.waiting) >= _BATCH:
            self._send(filled)
        if self._waiting >= _MOST_WAITING:
            for one in self._unfinished.values():
                self._send(one)

    def finish(self) -> None:
        """Send what waits and end every conversation that was open to the end of the file."""
        for conversation_id in list(self._unfinished):
            self._finish(self._unfinished.pop(conversation_id))

    def _begun(self, portion: Portion, where: str) -> _Filled:
        names = MessageNames(portion.conversation_id)
        return _Filled(portion.conversation_id, self._user_id or portion.user_id, names, first_where=where)

    def _add(self, filled: _Filled, said: Sequence[Said], where: str) -> None:
        for one in said:
            message = as_sent(one.role.value, one.content, one.name, one.payload) | {
                "messageId": filled.names.name(one)
            }
            if one.created_at is not None:
                message["createdAt"] = one.created_at.isoformat()
            self.tally.undated += one.created_at is None
            filled.waiting.append((where, message))
        self._waiting += len(said)

    def _finish(self, filled: _Filled) -> None:
        self._send(filled)
        if filled.refused is not None:
            return
        if filled.known is not None or not (self._ends or filled.opened_here or filled.added):
            self.tally.conversations_skipped += 1
            return
        if self._ends:
            answer = self._service.post(self._route(filled, "end"), {"reason": REASON})
            self.tally.job_ids += [job["jobId"] for job in answer["jobs"]]
        self.tally.conversations += 1

    def _send(self, filled: _Filled) -> None:
        waiting, filled.waiting = filled.waiting, []
        self._waiting -= len(waiting)
        try:
            if filled.refused is None:
                self._open(filled)
                self._store(filled, waiting)
        except Refused as error:
            if error.status not in _ABOUT_ONE_CONVERSATION:
                raise
            self._give_up(filled, error)
        if filled.refused is not None:
            self._count_bad(filled, waiting)

    def _open(self, filled: _Filled) -> None:
        if filled.is_open or filled.known is not None:
            return
        body = {"conversationId": filled.conversation_id, "userId": filled.user_id, "metadata": {_MARK: True}}
        try:
            self._service.post(route("apps", self._app_id, "conversations"), body)
            filled.is_open = filled.opened_here = True
        except Refused as error:
            if error.code != "conversation_exists":
                raise
            self._recognise(filled)

    def _recognise(self, filled: _Filled) -> None:
        """Go on with a conversation of an earlier run. Raises: Refused for one that no run of this opened."""
        found = self._service.get(self._route(filled))
        if not (found.get("metadata") or {}).get(_MARK):
            raise Refused(409, "conversation_exists", "the app has a conversation of this id from elsewhere", {}, 0)
        self.tally.job_ids += [job["jobId"] for job in found["jobs"]]
        filled.count = found["messageCount"]
        if found["endedAt"] is None:
            filled.is_open = True
            return
        listed = self._service.listing(self._route(filled, "messages"), "messages", None)
        filled.known = {message["messageId"] for message in listed}

    def _store(self, filled: _Filled, waiting: Sequence[tuple[str, dict[str, Any]]]) -> None:
        if filled.known is not None:
            self._compare(filled, filled.known, waiting)
            return
        for batch in _batches([message for _, message in waiting]):
            self._say(filled, batch)

    def _compare(self, filled: _Filled, known: set[str], waiting: Sequence[tuple[str, dict[str, Any]]]) -> None:
        for where, message in waiting:
            if message["messageId"] in known:
                self.tally.messages_skipped += 1
            else:
                why = f"conversation {filled.conversation_id} ended before without this message"
                self.tally.bad.append(BadLine(where, why))

    def _say(self, filled: _Filled, batch: list[dict[str, Any]]) -> None:
        try:
            answer = self._service.post(self._route(filled, "messages"), {"messages": batch})
        except Refused as error:
            if error.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE or len(batch) == 1:
                raise
            half = len(batch) // 2
            self._say(filled, batch[:half])
            self._say(filled, batch[half:])
            return
        new = sum(message["position"] >= filled.count for message in answer["messages"])
        filled.count += new
        filled.added += new
        self.tally.messages += new
        self.tally.messages_skipped += len(batch) - new

    def _give_up(self, filled: _Filled, error: Refused) -> None:
        filled.refused = error.message
        if filled.opened_here:
            self._service.delete(self._route(filled))
            self.tally.messages -= filled.added

    def _count_bad(self, filled: _Filled, waiting: Sequence[tuple[str, dict[str, Any]]]) -> None:
        why = f"conversation {filled.conversation_id} was refused and nothing of it kept: {filled.refused}"
        lines = dict.fromkeys([filled.first_where, *(where for where, _ in waiting)])
        self.tally.bad += [BadLine(where, why) for where in lines if where not in filled.told]
        filled.told.update(lines)

    def _route(self, filled: _Filled, *further: str) -> str:
        return route("apps", self._app_id, "conversations", filled.conversation_id, *further)


def _batches(messages: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield messages in batches that are neither many nor large."""
    batch: list[dict[str, Any]] = []
    size = 0
    for message in messages:
        length = len(orjson.dumps(message))
        if batch and (len(batch) >= _BATCH or size + length > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += length
    if batch:
        yield batch
