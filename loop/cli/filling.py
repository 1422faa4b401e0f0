"""Puts conversations read from a file into an app: opens each, says its messages in batches, ends it.

Nothing is stored twice: what the service already has is recognised by name and counted as skipped. What was added
since to a conversation that ended here goes into one of its own, which goes on from it. Where the service
refuses a conversation, what this run stored of it is erased again, and the file's line is counted as bad.
"""

from __future__ import annotations

import functools
import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson
from pydantic import TypeAdapter, ValidationError
from rich.progress import TaskProgressColumn

from afterthought_client import Afterthought, ApiError
from loop.cli import chats
from loop.cli.output import progress, remark
from loop.cli.table import Invocation, confirm, given, in_json
from shared.base.choices import ChatGrouping
from shared.contracts.values import Id
from shared.conversations.chat_message import as_sent

REASON = "imported"
_BATCH = 100
_PAGE = 200
_BATCH_BYTES = 400_000
_MOST_WAITING = 5_000
_MARK = "ingested"
_CONTINUES = "continues"
_ID = TypeAdapter(Id)
_DIGEST_CHARACTERS = 24
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
    bad: list[chats.BadChatLine] = field(default_factory=list)
    job_ids: list[str] = field(default_factory=list)
    continued: list[str] = field(default_factory=list)
    """Conversations that go on from one which ended here at an earlier import."""

    def as_json(self) -> dict[str, Any]:
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
class _TargetConversation:
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
    counted_lines: set[str] = field(default_factory=set)
    """The lines already counted as bad because of the refusal."""
    inherited: dict[str, Any] = field(default_factory=dict)
    """What the conversation that is gone on from says of memory and of whose days are meant."""

    @property
    def target(self) -> str:
        """The conversation that is being filled."""
        return self.conversation_id if self.number == 1 else as_id(f"{self.conversation_id}.{self.number}")


@dataclass
class ChatImporter:
    """Fills one app from one file; ``ends`` says whether to end each conversation."""

    call: Invocation
    app_id: str
    user_id: str | None
    ends: bool
    time_zone: str | None = None
    """Of the conversations that it opens."""
    dry_run: bool = False
    """Ask the service what is there, send nothing, and count what would become of it."""
    tally: Tally = field(default_factory=Tally)
    _unfinished: dict[str, _TargetConversation] = field(default_factory=dict)
    _waiting: int = 0
    _rehearsed: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What a dry run would have made by now."""

    @property
    def client(self) -> Afterthought:
        """The service, with patience."""
        return self.call.patient_client

    def take_file(self, file: Path, grouping: Grouping, convert: chats.Convert, of_several: bool = False) -> None:
        """Send a whole file under a bar; where there are several, its name stands before what is bad in it."""
        of_file = f"{file.name}, " if of_several else ""
        with progress("sending", file.stat().st_size or 1, TaskProgressColumn()) as update:
            for entry, portions, bad in read_portions(file, grouping, convert):
                self.tally.seen += not isinstance(entry, chats.BadChatLine)
                self.tally.conversations_skipped += isinstance(entry, chats.EmptyChat)
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
            filled = _TargetConversation(name, user_id, MessageNames(name), where)
            self._unfinished[name] = filled
        for one in portion.lines:
            sent = as_sent(one.role.value, one.content, one.name, one.payload)
            message = sent | {"messageId": filled.names.name(one)}
            if one.created_at is not None:
                at = chats.as_text(one.created_at)
                if filled.last_at is None:
                    # What came before the first time is not said now, but at that time.
                    for _, earlier in filled.waiting:
                        earlier["createdAt"] = at
                filled.last_at = at
            if filled.last_at is not None:
                message["createdAt"] = filled.last_at
            self.tally.files_without_text += one.files_without_text
            filled.waiting.append((where, message))
        self._waiting += len(portion.lines)
        if portion.whole:
            self._finish(self._unfinished.pop(name))
        # Not before there is a time: what waits is still to be given the first one.
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

    def _finish(self, filled: _TargetConversation) -> None:
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
            answer = self.client.end_conversation(filled.target, reason=REASON, app_id=self.app_id)
            self.tally.job_ids += [job.job_id for job in answer.jobs]
        self.tally.conversations += 1

    def _send(self, filled: _TargetConversation) -> None:
        waiting, filled.waiting = filled.waiting, []
        self._waiting -= len(waiting)
        self.tally.undated += sum("createdAt" not in message for _, message in waiting)
        try:
            if filled.refused is None:
                self._store(filled, waiting)
        except ApiError as error:
            if error.status not in _ABOUT_ONE_CONVERSATION:
                raise
            filled.refused = self.call.reason(error)
            if filled.opened_here:
                if not self.dry_run:
                    self.client.erase_conversation(filled.target, app_id=self.app_id)
                self.tally.messages -= filled.added
        if filled.refused is not None:
            kept = "nothing of it kept" if filled.opened_here or not filled.is_open else "what was there of it stays"
            why = f"conversation {filled.conversation_id} was refused and {kept}: {filled.refused}"
            lines = dict.fromkeys([filled.first_where, *(where for where, _ in waiting)])
            self.tally.bad += [chats.BadChatLine(where, why) for where in lines if where not in filled.counted_lines]
            filled.counted_lines.update(lines)

    def _store(self, filled: _TargetConversation, waiting: Sequence[tuple[str, dict[str, Any]]]) -> None:
        new = [message for _, message in waiting if message["messageId"] not in filled.known]
        while new and not filled.is_open:
            self._reach(filled)
            new = [message for message in new if message["messageId"] not in filled.known]
        self.tally.messages_skipped += len(waiting) - len(new)
        for batch in _batches(new):
            self._post(filled, batch)

    def _reach(self, filled: _TargetConversation) -> None:
        """Open a conversation, or go on with one of an earlier run, or pass one that has ended.

        Raises: ApiError for one that no run opened, and for one of another user.
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
            raise ApiError(409, "conversation_exists", "the app has a conversation of this id from elsewhere")
        self.tally.job_ids += [job["jobId"] for job in found["jobs"]]
        filled.known |= self._message_ids(filled)
        filled.is_open = found["endedAt"] is None
        # One that has ended takes nothing more; then the one that goes on from it is tried.
        filled.number += not filled.is_open
        filled.inherited = given(memory=found.get("memory"), time_zone=found.get("timeZone"))

    def _found_or_opened(self, filled: _TargetConversation) -> dict[str, Any] | None:
        """Return what is there under the name, or None where it was opened."""
        metadata = {_MARK: True} | ({} if filled.number == 1 else {_CONTINUES: filled.conversation_id})
        own = given(time_zone=self.time_zone)
        about = {"user_id": filled.user_id, "metadata": metadata} | filled.inherited | own
        found: dict[str, Any]
        try:
            if not self.dry_run:
                self.client.start_conversation(conversation_id=filled.target, app_id=self.app_id, **about)
                return None
            found = self._rehearsed.get(filled.target) or self._shown(filled)
        except ApiError as error:
            if self.dry_run and error.status == HTTPStatus.NOT_FOUND:
                self._rehearsed[filled.target] = {
                    "userId": filled.user_id, "metadata": metadata, "endedAt": None, "jobs": [], "messageIds": set(),
                }  # fmt: skip
                return None
            if error.code != "conversation_exists":
                raise
            found = self._shown(filled)
        return found

    def _shown(self, filled: _TargetConversation) -> dict[str, Any]:
        found: dict[str, Any] = in_json(self.client.show_conversation(filled.target, app_id=self.app_id))
        return found

    def _refuse_foreign(self, filled: _TargetConversation, found: dict[str, Any]) -> None:
        owner = found["userId"] or None
        if owner == filled.user_id:
            return
        there = "names nobody" if owner is None else f"is of user {owner}"
        own = "here it names nobody" if filled.user_id is None else f"here it is of user {filled.user_id}"
        do = f"erase it (afterthought erase conversation {self.app_id} {filled.target}) or import into another app"
        if owner is not None:
            do = f"name that user (--user {owner}), {do}"
        what = f"it is there already and {there}, and {own}; nothing was overwritten: {do}"
        raise ApiError(409, "another_users", what)

    def _message_ids(self, filled: _TargetConversation) -> set[str]:
        if filled.target in self._rehearsed:
            return set(self._rehearsed[filled.target]["messageIds"])
        listed = self.client.iter_messages(filled.target, limit=_PAGE, app_id=self.app_id)
        return {in_json(message)["messageId"] for message in listed}

    def _post(self, filled: _TargetConversation, batch: list[dict[str, Any]]) -> None:
        if self.dry_run:
            kept = self._rehearsed.get(filled.target, {}).get("messageIds", set())
            kept.update(message["messageId"] for message in batch)
        else:
            try:
                self.client.add_messages(filled.target, batch, app_id=self.app_id)
            except ApiError as error:
                if error.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE or len(batch) == 1:
                    raise
                # How large a body may be is a setting of the service, and not known here.
                half = len(batch) // 2
                self._post(filled, batch[:half])
                self._post(filled, batch[half:])
                return
        filled.added += len(batch)
        self.tally.messages += len(batch)


def is_installed(client: Afterthought, app_id: str) -> bool:
    try:
        return client.show_app(app_id=app_id).installed
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
    return False


def install_if_missing(client: Afterthought, app_id: str, yes: bool, is_needed: Callable[[], bool]) -> None:
    """Install an app that is not installed and has something to hold, once it is agreed: its name may be mistyped."""
    if is_installed(client, app_id) or not is_needed():
        return
    confirm(f"There is no app {app_id}. Install it?", yes)
    client.install_app(app_id, app_id)
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


@dataclass(frozen=True, slots=True)
class Portion:
    """Messages of one conversation; ``whole`` when no more of it can come."""

    conversation_id: str
    user_id: str | None
    lines: Sequence[chats.ChatLine]
    whole: bool


@dataclass
class Grouping:
    """Gives each message of one file its conversation."""

    per: ChatGrouping
    path: Path
    zone: ZoneInfo | None = None
    """Whose days are meant; without one, those of the offsets that messages came with."""
    _last: dict[str, datetime] = field(default_factory=dict)
    """When something was last said in each conversation that comes a message at a time."""

    @functools.cached_property
    def _file_name(self) -> str:
        with self.path.open("rb") as file:
            return f"file-{hashlib.file_digest(file, 'sha256').hexdigest()[:_DIGEST_CHARACTERS]}"

    def portions(self, chat: chats.FileChat) -> Iterator[Portion]:
        """Yield the conversations that a line adds to. Raises: UnusableFile."""
        if not chat.lines:
            raise chats.UnusableFile("no message has any text")
        whole = chat.shape is not chats.ChatShape.SINGLE
        if self.per is ChatGrouping.FILE:
            yield Portion(self._file_name, chat.user_id, chat.lines, False)
        elif self.per is ChatGrouping.DAY:
            base = chat.conversation_id or (_content_name(chat) if whole else self._file_name)
            days: dict[str, list[chats.ChatLine]] = defaultdict(list)
            for given in chat.lines:
                one = given.at(self._last.get(base))
                if one.created_at is not None:
                    if not whole:
                        self._last[base] = one.created_at
                    days[one.created_at.astimezone(self.zone or one.created_at.tzinfo).date().isoformat()].append(one)
            for day, lines in days.items():
                yield Portion(as_id(f"{base}-{day}"), chat.user_id, lines, whole)
            if undated := len(chat.lines) - sum(map(len, days.values())):
                what = "a message" if undated == 1 else f"{undated} messages"
                raise chats.UnusableFile(f"{what} without a time cannot be put on a day")
        elif chat.conversation_id is None and not whole:
            raise chats.UnusableFile("a message without a conversation id; --conversation-per file or day does without")
        else:
            name = _content_name(chat) if chat.conversation_id is None else as_id(chat.conversation_id)
            yield Portion(name, chat.user_id, chat.lines, whole)


def read_portions(
    path: Path, grouping: Grouping, convert: chats.Convert = chats.as_it_is
) -> Iterator[tuple[chats.Entry, Sequence[Portion], Sequence[chats.BadChatLine]]]:
    """Yield each line or element, the conversations it adds to, and what of it is bad. Raises: Configuration."""
    for entry in chats.read_chats(path, convert):
        portions: list[Portion] = []
        bad = [entry] if isinstance(entry, chats.BadChatLine) else []
        if isinstance(entry, chats.FileChat):
            bad += entry.left_out
            try:
                portions.extend(grouping.portions(entry))
            except chats.UnusableFile as reason:
                bad.append(chats.BadChatLine(entry.where, str(reason)))
        yield entry, portions, bad


class MessageNames:
    """Names the messages of one conversation by what they say; the same thing said again is told apart by number."""

    def __init__(self, conversation_id: str) -> None:
        self._conversation_id = conversation_id
        self._seen: Counter[bytes] = Counter()

    def name(self, line: chats.ChatLine) -> str:
        """Return the id of the next message."""
        digest = hashlib.sha256(orjson.dumps([self._conversation_id, *_plain(line)])).digest()[:12]
        self._seen[digest] += 1
        return f"in-{digest.hex()}-{self._seen[digest]}"


def as_id(given: str) -> str:
    """Return an id the service takes: the given one, or a name made from it."""
    try:
        return _ID.validate_python(given)
    except ValidationError:
        return f"chat-{_hex(given.encode())}"


def _content_name(chat: chats.FileChat) -> str:
    return f"chat-{_hex(orjson.dumps([chat.user_id, *map(_plain, chat.lines)]))}"


def _plain(line: chats.ChatLine) -> list[Any]:
    # The same message in a file that writes its offset otherwise is the same message.
    own = line.created_at if line.has_own_time else None
    at = own.astimezone(UTC).isoformat() if own is not None else None
    return [line.role.value, line.name, line.content, at] + ([] if line.payload is None else [line.payload])


def _hex(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:_DIGEST_CHARACTERS]
