"""Versions and compositions as records of a transcript, such as the coding agent itself goes on from.

A user's and the assistant's messages take turns, beginning with a user's and ending with the last that was said; what
neither said (names, a skill's text, a branch that was left) is a record of the system's and never stands last. Nothing
a block holds is lost, so a version can be read back and made the source of another. No time of day and no random id
goes in. Source: the recorder's files; decisions, "Recorded sessions".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

from shared.sessions.blocks import NO_RESULT, Block, BlockKind, Heading, RecordedToolCall, speaker_of, writable
from shared.sessions.transcripts.typed import NOTE, NOTICE, SHELL, SUMMARY

PART: Final = "Part"
"""Names the line above a session's part of a composition."""
OWN_FIELD: Final = "afterthought"
"""Where a record says of which blocks it is."""
BEGINNING: Final = "(What was said before is left out here.)"
_SPACE = UUID("6f7c1a52-5d0b-5a63-9c37-1f0a4f3c2b11")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AS_USER = (NOTICE, SUMMARY)
_TAGS = {SHELL: "bash-input", NOTE: "user-memory-input"}
"""In what the recorder puts words that a person typed to be run or remembered."""
_NAMED_KINDS = (BlockKind.FAILURE, BlockKind.TOOL, BlockKind.SUMMARY)
"""Kinds the assistant did not say in these words, which their name tells."""


@dataclass(frozen=True)
class RecordOrigin:
    """What stands in every record: of which session it is, and how that was recorded."""

    session_id: str
    stamp: str
    """Of the version or composition; ids are made of it."""
    cwd: str | None = None
    claude_version: str | None = None
    git_branch: str | None = None
    model: str | None = None

    @classmethod
    def of(cls, session_id: str, stamp: str, details: Mapping[str, Any]) -> RecordOrigin:
        """Return the origin of a session with the details that were read in its records."""
        models = details.get("models") or [None]
        cwd, version, branch = (details.get(name) for name in ("cwd", "claudeVersion", "gitBranch"))
        return cls(session_id, stamp, cwd, version, branch, models[-1])


@dataclass
class _Message:
    """A message under way: its parts with what each says of its block."""

    role: str
    parts: list[tuple[dict[str, Any], dict[str, Any], datetime | None]] = field(default_factory=list)


def records_of(
    blocks: Iterable[Block], origin: RecordOrigin, heading: Heading | None = None
) -> Iterator[dict[str, Any]]:
    """Yield blocks as records of a transcript, each the parent of the next."""
    chain = _RecordChain(origin)
    notes = [] if heading is None else [_heading_note(heading)]
    has_begun = False
    for message in _in_turn(notes, _messages(blocks)):
        if not has_begun and message.role == "assistant":
            # No transcript begins with an answer; marked as the tool's, so that nobody is taken to have typed it.
            yield chain.record("user", {"role": "user", "content": BEGINNING}, message.parts[0][2], [{}], isMeta=True)
        has_begun = has_begun or message.role != "note"
        yield from chain.records(message)


def line_of(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def blocks_in(path: Path) -> Iterator[Block]:
    """Yield the blocks a file of records was written from; what neither speaker said may stand a message later."""
    use: tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]] | None = None
    with path.open("rb") as lines:
        for record in (json.loads(line) for line in lines if line.strip()):
            content = record["content"] if record["type"] == "system" else record["message"]["content"]
            parts = [{"text": content}] if isinstance(content, str) else content
            for part, own in zip(parts, record[OWN_FIELD]["blocks"], strict=True):
                if own.get("isCall"):
                    use = (part, own, record)
                elif own.get("isResult") and use is not None:
                    yield _block_of(use[2], use[1], use[1]["text"], _tool_call_of(use[0], use[1], part, own))
                elif own:
                    text = part["text"]
                    yield _block_of(record, own, text[own["prefix"] : len(text) - own.get("suffix", 0)], None)


def _heading_note(heading: Heading) -> _Message:
    text = "\n\n".join((heading.title, *heading.lines))
    return _Message("note", [({"type": "text", "text": writable(text)}, {}, None)])


def _messages(blocks: Iterable[Block]) -> Iterator[_Message]:
    """Yield messages: what one side says in a row is one, notes come behind it."""
    message: _Message | None = None
    notes: list[Block] = []
    for block in blocks:
        if block.role == "note" and block.call is None:
            notes.append(block)
            continue
        for role, part in _parts_of(block):
            if message is None or message.role != role:
                if message is not None:
                    yield message
                    yield from map(_note, notes)
                    notes = []
                message = _Message(role)
            # What the recorder itself writes as a user, as that the assistant was interrupted, stays between a user's
            # words, and that somebody went back before what was said instead.
            if role == "user":
                message.parts += [_text_part(note) for note in notes if _is_within(note)]
                notes = [note for note in notes if not _is_within(note)]
            message.parts.append(part)
    if message is not None:
        yield message
    yield from map(_note, notes)


def _is_within(note: Block) -> bool:
    return note.label in _AS_USER or note.kind is BlockKind.LEFT


def _note(block: Block) -> _Message:
    return _Message("note", [_text_part(block)])


def _in_turn(notes: list[_Message], messages: Iterable[_Message]) -> Iterator[_Message]:
    """Yield messages so that no note is the first or the last, and none parts a call and its result."""
    last: list[_Message] = []
    for message in messages:
        if message.role == "note":
            notes.append(message)
        elif message.parts[0][0]["type"] == "tool_result":
            last.append(message)
        else:
            if last:
                yield from (*last, *notes)
                notes = []
            last = [message]
    yield from (*notes, *last)


def _parts_of(block: Block) -> Iterator[tuple[str, tuple[dict[str, Any], dict[str, Any], datetime | None]]]:
    call = block.call
    if call is None:
        yield block.role, _text_part(block)
        return
    # Half a character may stand anywhere in it, names included; JSON has all of them in one text.
    cleaned: dict[str, Any] = json.loads(writable(json.dumps(call.input, ensure_ascii=False)))
    use = {"type": "tool_use", "id": call.tool_use_id, "name": writable(call.name), "input": cleaned}
    own = _own_fields(block) | {"isCall": True, "toolUseId": call.tool_use_id, "text": writable(block.text)}
    yield "assistant", (use, own, block.at)
    result_text = NO_RESULT if call.result is None else writable(call.result)
    result = {"type": "tool_result", "tool_use_id": call.tool_use_id, "content": result_text, "is_error": call.is_error}
    yield "user", (result, {"isResult": True, "hasResult": call.result is not None}, block.at)


def _text_part(block: Block) -> tuple[dict[str, Any], dict[str, Any], datetime | None]:
    text = writable(block.text)
    is_named = block.role == "note" or block.kind in _NAMED_KINDS
    prefix, suffix = f"{speaker_of(block)}: " if is_named else "", ""
    if block.label in _TAGS:
        # As the recorder writes it, so that it is known for what it is when this is registered.
        prefix, suffix = f"<{_TAGS[block.label]}>", f"</{_TAGS[block.label]}>"
    elif block.kind is BlockKind.KEEPIT and not is_named and (weight := block.extra.get("weight")) is not None:
        # Marked as it was in the session; a part that is indented stands on the line below its mark.
        prefix = f"##keepit{weight / 100:.2f}##" + ("\n" if text[:1].isspace() else " ")
    own = _own_fields(block) | {"prefix": len(prefix)} | ({"suffix": len(suffix)} if suffix else {})
    return {"type": "text", "text": f"{prefix}{text}{suffix}"}, own, block.at


@dataclass
class _RecordChain:
    """The records written so far, as far as the next one needs to know them."""

    origin: RecordOrigin
    count: int = 0
    parent: str | None = None
    clock: datetime = field(default=_EPOCH)

    def records(self, message: _Message) -> Iterator[dict[str, Any]]:
        if message.role == "assistant":
            name = f"msg_{self._uuid().replace('-', '')}"
            # A record for each part, as recorders write an answer; its message's id joins them.
            for nth, part in enumerate(message.parts, 1):
                yield self._answer(name, *part, is_last=nth == len(message.parts))
            return
        contents, own = [part[0] for part in message.parts], [part[1] for part in message.parts]
        at = next((part[2] for part in reversed(message.parts) if part[2]), None)
        if message.role == "note":
            yield self.record(
                "system", None, at, own, subtype="informational", content=contents[0]["text"], level="info"
            )
            return
        for content in contents:
            self._name_call(content, "tool_use_id")
        is_plain = len(contents) == 1 and contents[0]["type"] == "text"
        yield self.record("user", {"role": "user", "content": contents[0]["text"] if is_plain else contents}, at, own)

    def record(
        self, kind: str, message: dict[str, Any] | None, at: datetime | None, own: Sequence[dict[str, Any]], **more: Any
    ) -> dict[str, Any]:
        uuid, origin = self._uuid(), self.origin
        # What stands behind what it belongs to goes back in time no further; a part of a composition may be older.
        if at is not None:
            is_part = any(one.get("label") == PART for one in own)
            self.clock = at.astimezone(UTC) if is_part else max(self.clock, at.astimezone(UTC))
        record = {
            "parentUuid": self.parent, "isSidechain": False, "userType": "external", "cwd": origin.cwd or "",
            "sessionId": origin.session_id, "version": origin.claude_version or "",
            "gitBranch": origin.git_branch or "", "type": kind, **({} if message is None else {"message": message}),
            "uuid": uuid, "timestamp": self.clock.isoformat().replace("+00:00", "Z"), **more,
            OWN_FIELD: {"version": origin.stamp, "blocks": list(own)},
        }  # fmt: skip
        self.count, self.parent = self.count + 1, uuid
        return record

    def _answer(
        self, name: str, content: dict[str, Any], own: dict[str, Any], at: datetime | None, *, is_last: bool
    ) -> dict[str, Any]:
        is_call = content["type"] == "tool_use"
        if is_call:
            self._name_call(content, "id")
        message = {
            "id": name, "type": "message", "role": "assistant", "model": self.origin.model or "unknown",
            "content": [content], "stop_reason": ("tool_use" if is_call else "end_turn") if is_last else None,
            "stop_sequence": None, "usage": {"input_tokens": 0, "output_tokens": 0},
        }  # fmt: skip
        return self.record("assistant", message, at, [own], requestId=f"req_{name[4:]}")

    def _name_call(self, content: dict[str, Any], key: str) -> None:
        """Give a call that the session holds no id of one, and its result the same."""
        if key == "id" and not content[key]:
            content[key] = f"toolu_{self.count}"
        elif key in content and not content[key]:
            # A call and its result come of one block, so the result is in the record right behind.
            content[key] = f"toolu_{self.count - 1}"

    def _uuid(self) -> str:
        return str(uuid5(_SPACE, f"{self.origin.session_id}/{self.origin.stamp}/{self.count}"))


def _own_fields(block: Block) -> dict[str, Any]:
    return {
        "kind": str(block.kind), "role": block.role, "label": block.label, "sources": list(block.sources),
        "markerIds": list(block.marker_ids), "pinned": block.is_pinned, "tier": block.tier,
        "extra": block.extra, "at": None if block.at is None else block.at.isoformat(),
    }  # fmt: skip


def _block_of(record: Mapping[str, Any], own: Mapping[str, Any], text: str, call: RecordedToolCall | None) -> Block:
    return Block(
        kind=BlockKind(own["kind"]),
        role=own["role"],
        text=text,
        at=None if own["at"] is None else datetime.fromisoformat(own["at"]),
        sources=tuple(own["sources"]),
        marker_ids=tuple(own["markerIds"]),
        call=call,
        is_pinned=own["pinned"],
        tier=own["tier"],
        extra=own["extra"],
        label=own["label"],
    )


def _tool_call_of(
    use: Mapping[str, Any], own: Mapping[str, Any], answer: Mapping[str, Any], behind: Mapping[str, Any]
) -> RecordedToolCall:
    result_text = answer["content"] if behind["hasResult"] else None
    return RecordedToolCall(own["toolUseId"], use["name"], use["input"], result_text, answer["is_error"])
