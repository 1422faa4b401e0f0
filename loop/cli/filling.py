"""Puts conversations read from a file into an app: opens each, says its messages in batches, ends it.

Nothing is stored twice: what the service already has is recognised by name and counted as skipped. Where the service
refuses a conversation, what this run stored of it is erased again, and the file's line is counted as bad.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import orjson
from rich.progress import TaskProgressColumn

from loop.cli.chats import BadChatLine, Convert, Grouping, MessageNames, Portion, read_portions
from loop.cli.invocation import confirm
from loop.cli.output import progress, remark
from loop.cli.routes import route
from loop.cli.service import Refused, Service
from shared.conversations.chat_message import as_sent

REASON = "imported"
_BATCH = 100
_BATCH_BYTES = 400_000
_MOST_WAITING = 5_000
_MARK = "ingested"
_ABOUT_ONE_CONVERSATION = {HTTPStatus.CONFLICT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY}


@dataclass
class Tally:
    """What became of a file."""

    seen: int = 0
    """Lines or elements that could be read."""
    conversations: int = 0
    conversations_skipped: int = 0
    messages: int = 0
    messages_skipped: int = 0
    undated: int = 0
    """Messages that the file gives no time."""
    users: set[str] = field(default_factory=set)
    bad: list[BadChatLine] = field(default_factory=list)
    job_ids: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return it as it is printed for machines."""
        return {
            "conversations": {"imported": self.conversations, "skipped": self.conversations_skipped},
            "messages": {"imported": self.messages, "skipped": self.messages_skipped},
            "undated": self.undated,
            "users": len(self.users),
            "badLines": [{"where": one.where, "reason": one.reason} for one in self.bad],
        }


@dataclass
class _Filled:
    conversation_id: str
    user_id: str | None
    names: MessageNames
    first_where: str
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


@dataclass
class Filling:
    """Fills one app from one file; ``ends`` says whether to end each conversation."""

    service: Service
    app_id: str
    user_id: str | None
    ends: bool
    tally: Tally = field(default_factory=Tally)
    _unfinished: dict[str, _Filled] = field(default_factory=dict)
    _waiting: int = 0

    def take_file(self, file: Path, grouping: Grouping, convert: Convert) -> None:
        """Send a whole file under a bar."""
        with progress("sending", file.stat().st_size or 1, TaskProgressColumn()) as update:
            for entry, portions in read_portions(file, grouping, convert):
                self.tally.seen += not isinstance(entry, BadChatLine)
                if isinstance(portions, BadChatLine):
                    self.tally.bad.append(portions)
                else:
                    for portion in portions:
                        self.take(portion, entry.where)
                update(completed=entry.read_bytes)
            self.finish()

    def take(self, portion: Portion, where: str) -> None:
        """Take in what a line holds; a whole conversation is sent and ended at once."""
        name = portion.conversation_id
        filled = self._unfinished.get(name)
        if filled is None:
            user_id = self.user_id or portion.user_id
            self.tally.users.update(filter(None, [user_id]))
            filled = _Filled(name, user_id, MessageNames(name), where)
            self._unfinished[name] = filled
        for one in portion.said:
            sent = as_sent(one.role.value, one.content, one.name, one.payload)
            message = sent | {"messageId": filled.names.name(one)}
            if one.created_at is None:
                self.tally.undated += 1
            else:
                message["createdAt"] = one.created_at.isoformat()
            filled.waiting.append((where, message))
        self._waiting += len(portion.said)
        if portion.whole:
            self._finish(self._unfinished.pop(name))
        elif len(filled.waiting) >= _BATCH:
            self._send(filled)
        # A file of single messages may hold many conversations that are open to its end.
        if self._waiting >= _MOST_WAITING:
            for other in self._unfinished.values():
                self._send(other)

    def finish(self) -> None:
        """Send what waits and end every conversation that was open to the end of the file."""
        for conversation_id in list(self._unfinished):
            self._finish(self._unfinished.pop(conversation_id))

    def _finish(self, filled: _Filled) -> None:
        self._send(filled)
        if filled.refused is not None:
            return
        if filled.known is not None or not (self.ends or filled.opened_here or filled.added):
            self.tally.conversations_skipped += 1
            return
        if self.ends:
            answer = self.service.post(self._route(filled, "end"), {"reason": REASON})
            self.tally.job_ids += [job["jobId"] for job in answer["jobs"]]
        self.tally.conversations += 1

    def _send(self, filled: _Filled) -> None:
        waiting, filled.waiting = filled.waiting, []
        self._waiting -= len(waiting)
        try:
            if filled.refused is None:
                self._store(filled, waiting)
        except Refused as error:
            if error.status not in _ABOUT_ONE_CONVERSATION:
                raise
            filled.refused = error.message
            if filled.opened_here:
                self.service.delete(self._route(filled))
                self.tally.messages -= filled.added
        if filled.refused is not None:
            why = f"conversation {filled.conversation_id} was refused and nothing of it kept: {filled.refused}"
            lines = dict.fromkeys([filled.first_where, *(where for where, _ in waiting)])
            self.tally.bad += [BadChatLine(where, why) for where in lines if where not in filled.told]
            filled.told.update(lines)

    def _store(self, filled: _Filled, waiting: Sequence[tuple[str, dict[str, Any]]]) -> None:
        if not filled.is_open and filled.known is None:
            self._open(filled)
        if filled.known is None:
            for batch in _batches([message for _, message in waiting]):
                self._post(filled, batch)
            return
        for where, message in waiting:
            if message["messageId"] in filled.known:
                self.tally.messages_skipped += 1
            else:
                why = f"conversation {filled.conversation_id} ended before without this message"
                self.tally.bad.append(BadChatLine(where, why))

    def _open(self, filled: _Filled) -> None:
        """Open a conversation, or go on with one of an earlier run. Raises: Refused for one that no run opened."""
        body = {"conversationId": filled.conversation_id, "userId": filled.user_id, "metadata": {_MARK: True}}
        try:
            self.service.post(route("apps", self.app_id, "conversations"), body)
        except Refused as error:
            if error.code != "conversation_exists":
                raise
        else:
            filled.is_open = filled.opened_here = True
            return
        found = self.service.get(self._route(filled))
        if not (found.get("metadata") or {}).get(_MARK):
            raise Refused(409, "conversation_exists", "the app has a conversation of this id from elsewhere")
        self.tally.job_ids += [job["jobId"] for job in found["jobs"]]
        filled.count = found["messageCount"]
        filled.is_open = found["endedAt"] is None
        if not filled.is_open:
            listed = self.service.listing(self._route(filled, "messages"), "messages", None)
            filled.known = {message["messageId"] for message in listed}

    def _post(self, filled: _Filled, batch: list[dict[str, Any]]) -> None:
        try:
            answer = self.service.post(self._route(filled, "messages"), {"messages": batch})
        except Refused as error:
            if error.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE or len(batch) == 1:
                raise
            half = len(batch) // 2
            self._post(filled, batch[:half])
            self._post(filled, batch[half:])
            return
        # What an earlier run stored is answered with the position that it has.
        new = sum(message["position"] >= filled.count for message in answer["messages"])
        filled.count += new
        filled.added += new
        self.tally.messages += new
        self.tally.messages_skipped += len(batch) - new

    def _route(self, filled: _Filled, *further: str) -> str:
        return route("apps", self.app_id, "conversations", filled.conversation_id, *further)


def count_files(parts: Iterable[tuple[Path, Grouping, Convert]], user_id: str | None) -> Tally:
    """Return what files hold, as far as it can be told without the service. Raises: Configuration."""
    tally, names = Tally(), set()
    for part in parts:
        for entry, portions in read_portions(*part):
            tally.seen += not isinstance(entry, BadChatLine)
            if isinstance(portions, BadChatLine):
                tally.bad.append(portions)
                continue
            for portion in portions:
                names.add(portion.conversation_id)
                tally.users.update(filter(None, [user_id or portion.user_id]))
                tally.messages += len(portion.said)
                tally.undated += sum(one.created_at is None for one in portion.said)
    tally.conversations = len(names)
    return tally


def install_if_missing(service: Service, app_id: str, yes: bool) -> None:
    """Install an app that is not installed, once it is agreed: its name may be mistyped."""
    try:
        if service.get(route("apps", app_id))["installed"]:
            return
    except Refused as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
    confirm(f"There is no app {app_id}. Install it?", yes)
    service.post("/apps", {"appId": app_id, "name": app_id})
    remark(f"App {app_id} is installed.")


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
