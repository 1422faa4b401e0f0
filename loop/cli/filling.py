"""Puts conversations read from a file into an app: opens each, says its messages in batches, ends it.

Nothing is stored twice: what the service already has is recognised by name and counted as skipped. What was added
since to a conversation that ended here goes into one of its own, which goes on from it. Where the service
refuses a conversation, what this run stored of it is erased again, and the file's line is counted as bad.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

import orjson
from rich.progress import TaskProgressColumn

from loop.cli.bad_lines import BadChatLine
from loop.cli.chats import Convert, EmptyChat, Grouping, MessageNames, Portion, as_id, read_portions
from loop.cli.invocation import confirm
from loop.cli.output import progress, remark
from loop.cli.routes import route
from loop.cli.service import Refused, Service
from loop.cli.times import as_text
from shared.conversations.chat_message import as_sent

REASON = "imported"
_BATCH = 100
_BATCH_BYTES = 400_000
_MOST_WAITING = 5_000
_MARK = "ingested"
_CONTINUES = "continues"
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
    files_without_text: int = 0
    """Attached files of which only the names came along."""
    users: set[str] = field(default_factory=set)
    bad: list[BadChatLine] = field(default_factory=list)
    job_ids: list[str] = field(default_factory=list)
    continued: list[str] = field(default_factory=list)
    """Conversations that go on from one which ended here at an earlier import."""

    def as_json(self) -> dict[str, Any]:
        """Return it as it is printed for machines."""
        return {
            "conversations": {"imported": self.conversations, "skipped": self.conversations_skipped},
            "messages": {"imported": self.messages, "skipped": self.messages_skipped},
            "undated": self.undated,
            "filesWithoutText": self.files_without_text,
            "continued": self.continued,
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
    number: int = 1
    """1 is the conversation itself, 2 and more are those that go on from it."""
    opened_here: bool = False
    is_open: bool = False
    known: set[str] = field(default_factory=set)
    """The ids of the messages that an earlier run stored, in it and in what goes on from it."""
    added: int = 0
    last_at: str | None = None
    """When something was last said in it, by this run."""
    refused: str | None = None
    told: set[str] = field(default_factory=set)
    """The lines already counted as bad because of the refusal."""
    inherited: dict[str, Any] = field(default_factory=dict)
    """What the conversation that is gone on from says of memory and of whose days are meant."""

    @property
    def target(self) -> str:
        """The conversation that is being filled."""
        return self.conversation_id if self.number == 1 else as_id(f"{self.conversation_id}.{self.number}")


@dataclass
class Filling:
    """Fills one app from one file; ``ends`` says whether to end each conversation."""

    service: Service
    app_id: str
    user_id: str | None
    ends: bool
    time_zone: str | None = None
    """Of the conversations that it opens."""
    dry_run: bool = False
    """Ask the service what is there, send nothing, and count what would become of it."""
    tally: Tally = field(default_factory=Tally)
    _unfinished: dict[str, _Filled] = field(default_factory=dict)
    _waiting: int = 0
    _rehearsed: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What a dry run would have made by now."""

    def take_file(self, file: Path, grouping: Grouping, convert: Convert, of_several: bool = False) -> None:
        """Send a whole file under a bar; where there are several, its name stands before what is bad in it."""
        of_file = f"{file.name}, " if of_several else ""
        with progress("sending", file.stat().st_size or 1, TaskProgressColumn()) as update:
            for entry, portions, bad in read_portions(file, grouping, convert):
                self.tally.seen += not isinstance(entry, BadChatLine)
                self.tally.conversations_skipped += isinstance(entry, EmptyChat)
                self.tally.bad += [replace(one, where=f"{of_file}{one.where}") for one in bad]
                for portion in portions:
                    self.take(portion, f"{of_file}{entry.where}")
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
            if one.created_at is not None:
                at = as_text(one.created_at)
                if filled.last_at is None:
                    # What came before the first time is not said now, but at that time.
                    for _, earlier in filled.waiting:
                        earlier["createdAt"] = at
                filled.last_at = at
            if filled.last_at is not None:
                message["createdAt"] = filled.last_at
            self.tally.files_without_text += one.files_without_text
            filled.waiting.append((where, message))
        self._waiting += len(portion.said)
        if portion.whole:
            self._finish(self._unfinished.pop(name))
        elif len(filled.waiting) >= _BATCH and filled.last_at is not None:
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
        if not filled.is_open or not (self.ends or filled.opened_here or filled.added):
            self.tally.conversations_skipped += 1
            return
        if filled.number > 1:
            self.tally.continued.append(filled.target)
        if self.ends and self.dry_run:
            self._rehearsed.get(filled.target, {})["endedAt"] = True
        elif self.ends:
            answer = self.service.post(self._route(filled, "end"), {"reason": REASON})
            self.tally.job_ids += [job["jobId"] for job in answer["jobs"]]
        self.tally.conversations += 1

    def _send(self, filled: _Filled) -> None:
        waiting, filled.waiting = filled.waiting, []
        self._waiting -= len(waiting)
        self.tally.undated += sum("createdAt" not in message for _, message in waiting)
        try:
            if filled.refused is None:
                self._store(filled, waiting)
        except Refused as error:
            if error.status not in _ABOUT_ONE_CONVERSATION:
                raise
            filled.refused = error.message
            if filled.opened_here:
                if not self.dry_run:
                    self.service.delete(self._route(filled))
                self.tally.messages -= filled.added
        if filled.refused is not None:
            why = f"conversation {filled.conversation_id} was refused and nothing of it kept: {filled.refused}"
            lines = dict.fromkeys([filled.first_where, *(where for where, _ in waiting)])
            self.tally.bad += [BadChatLine(where, why) for where in lines if where not in filled.told]
            filled.told.update(lines)

    def _store(self, filled: _Filled, waiting: Sequence[tuple[str, dict[str, Any]]]) -> None:
        new = [message for _, message in waiting if message["messageId"] not in filled.known]
        while new and not filled.is_open:
            self._reach(filled)
            new = [message for message in new if message["messageId"] not in filled.known]
        self.tally.messages_skipped += len(waiting) - len(new)
        for batch in _batches(new):
            self._post(filled, batch)

    def _reach(self, filled: _Filled) -> None:
        """Open a conversation, or go on with one of an earlier run, or pass one that has ended.

        Raises: Refused for one that no run opened, and for one of another user.
        """
        found = self._found_or_opened(filled)
        if found is None:
            filled.is_open = filled.opened_here = True
            return
        about = found.get("metadata") or {}
        if filled.number > 1 and about.get(_CONTINUES) != filled.conversation_id:
            filled.number += 1  # Somebody else's name for something else.
            return
        self._refuse_foreign(filled, found)
        if not about.get(_MARK):
            raise Refused(409, "conversation_exists", "the app has a conversation of this id from elsewhere")
        self.tally.job_ids += [job["jobId"] for job in found["jobs"]]
        filled.known |= self._message_ids(filled)
        filled.is_open = found["endedAt"] is None
        filled.number += not filled.is_open
        filled.inherited = {name: found[name] for name in ("memory", "timeZone") if found.get(name) is not None}

    def _found_or_opened(self, filled: _Filled) -> dict[str, Any] | None:
        """Return what is there under the name, or None where it was opened."""
        metadata = {_MARK: True} | ({} if filled.number == 1 else {_CONTINUES: filled.conversation_id})
        own = {} if self.time_zone is None else {"timeZone": self.time_zone}
        body = {"conversationId": filled.target, "userId": filled.user_id, "metadata": metadata}
        body |= filled.inherited | own
        found: dict[str, Any]
        try:
            if not self.dry_run:
                self.service.post(route("apps", self.app_id, "conversations"), body)
                return None
            found = self._rehearsed.get(filled.target) or self.service.get(self._route(filled))
        except Refused as error:
            if self.dry_run and error.status == HTTPStatus.NOT_FOUND:
                self._rehearsed[filled.target] = body | {"endedAt": None, "jobs": [], "messageIds": set()}
                return None
            if error.code != "conversation_exists":
                raise
            found = self.service.get(self._route(filled))
        return found

    def _refuse_foreign(self, filled: _Filled, found: dict[str, Any]) -> None:
        owner = found["userId"] or None
        if owner == filled.user_id:
            return
        there = "names nobody" if owner is None else f"is of user {owner}"
        own = "here it names nobody" if filled.user_id is None else f"here it is of user {filled.user_id}"
        do = f"erase it (afterthought erase conversation {self.app_id} {filled.target}) or import into another app"
        if owner is not None:
            do = f"name that user (--user {owner}), {do}"
        what = f"it is there already and {there}, and {own}; nothing was overwritten: {do}"
        raise Refused(409, "another_users", what)

    def _message_ids(self, filled: _Filled) -> set[str]:
        if filled.target in self._rehearsed:
            return set(self._rehearsed[filled.target]["messageIds"])
        listed = self.service.listing(self._route(filled, "messages"), "messages", None)
        return {message["messageId"] for message in listed}

    def _post(self, filled: _Filled, batch: list[dict[str, Any]]) -> None:
        if self.dry_run:
            kept = self._rehearsed.get(filled.target, {}).get("messageIds", set())
            kept.update(message["messageId"] for message in batch)
        else:
            try:
                self.service.post(self._route(filled, "messages"), {"messages": batch})
            except Refused as error:
                if error.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE or len(batch) == 1:
                    raise
                half = len(batch) // 2
                self._post(filled, batch[:half])
                self._post(filled, batch[half:])
                return
        filled.added += len(batch)
        self.tally.messages += len(batch)

    def _route(self, filled: _Filled, *further: str) -> str:
        return route("apps", self.app_id, "conversations", filled.target, *further)


def is_installed(service: Service, app_id: str) -> bool:
    """Whether an app is there."""
    try:
        return bool(service.get(route("apps", app_id))["installed"])
    except Refused as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
    return False


def install_if_missing(service: Service, app_id: str, yes: bool, is_needed: Callable[[], bool]) -> None:
    """Install an app that is not installed and has something to hold, once it is agreed: its name may be mistyped."""
    if is_installed(service, app_id) or not is_needed():
        return
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
