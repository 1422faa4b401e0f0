"""What sessions, versions and compositions are made of, and how it looks as Markdown and as records of a transcript.

A call of a tool and its result are one block, so they can neither be parted nor put in a wrong order. Both renderings
are functions of the blocks alone: no time of day and no random id goes into them. Nothing a block holds is lost in its
records, so a version can be read back and made the source of another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID, uuid5

from shared.llm.tokens import estimate_tokens

_T = TypeVar("_T")


class BlockKind(StrEnum):
    """What a block holds: of a transcript who says it, of a version also why it stands there."""

    HUMAN = "human"
    """A prompt a person wrote."""
    ASSISTANT = "assistant"
    THINKING = "thinking"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    META = "meta"
    """Commands, hooks and reminders that travel as a user's messages."""
    SYSTEM = "system"
    SUMMARY = "summary"
    """Words about what was said: of the tool where it compacted the session, or of a model."""
    KEEPIT = "keepit"
    """A marked part that survives, byte for byte."""
    INSTRUCTION = "instruction"
    """A standing instruction of the user's."""
    REQUEST = "request"
    """What a person asked for."""
    FAILURE = "failure"
    """An attempt that failed, so that it is not made again."""
    WORDS = "words"
    """What was said, shortened or as it was."""
    TOOL = "tool"
    """A call of a tool with its result, or a line about several."""
    NAMES = "names"
    """Identifiers, paths and commands that would be lost otherwise."""


@dataclass(frozen=True, slots=True)
class RecordedToolCall:
    """A call of a tool and what came back."""

    tool_use_id: str
    name: str
    input: dict[str, Any]
    result: str | None
    """None where the session holds no result."""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """One thing that was said or done: read from a transcript or a version, chosen from, written into a version."""

    kind: BlockKind
    role: str
    """``user`` or ``assistant``: who is taken to say it."""
    text: str
    """Of a tool's use its input as JSON, of a result what came back, of a call in a version what was done."""
    at: datetime | None = None
    sources: tuple[str, ...] = ()
    """UUIDs of the records it stands for, in order."""
    marker_ids: tuple[str, ...] = ()
    call: RecordedToolCall | None = None
    is_pinned: bool = False
    """Whether it may never be cut or left out: a surviving marker, and what the session was asked last."""
    tier: int = 0
    extra: dict[str, Any] = field(default_factory=dict)
    is_sidechain: bool = False
    """Said between the assistant and a sub-agent of its own."""
    message_id: str | None = None
    """Of an assistant's message, which may be several records."""
    message: int = 0
    """The message it belongs to, from 0: a prompt, or an answer with its calls and their results."""
    tokens: int = 0
    """Of all of it, before anything was cut."""
    weight: int | None = None
    """Of a marked part, hundredths: the one in force."""

    @property
    def uuid(self) -> str:
        """Of the first record it stands for."""
        return self.sources[0]


def fill_budget(candidates: Iterable[_T], cost: Callable[[_T], int], budget: int, least: int = 0) -> Iterator[_T]:
    """Yield, in the order given, each candidate that fits what the ones before it leave of a budget.

    Each cost is asked for when the candidate's turn comes, so it may depend on what was yielded before. It ends early
    where less than ``least`` is left.
    """
    for one in candidates:
        price = cost(one)
        if price <= budget:
            budget -= price
            yield one
        if budget < least:
            return


OWN_FIELD: Final = "afterthought"
"""Where a record says of which block it is."""
NO_RESULT: Final = "(the session holds no result)"
_SPACE = UUID("6f7c1a52-5d0b-5a63-9c37-1f0a4f3c2b11")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_LABELS = {
    BlockKind.KEEPIT: "{who}, kept",
    BlockKind.INSTRUCTION: "{who}, rule",
    BlockKind.FAILURE: "Failed",
    BlockKind.TOOL: "Done",
    BlockKind.SUMMARY: "{who}, summed up",
    BlockKind.NAMES: "Names",
}


@dataclass(frozen=True)
class Heading:
    """What stands above the blocks of a version or a composition."""

    title: str
    lines: tuple[str, ...] = ()


def markdown_lines(blocks: Iterable[Block], heading: Heading) -> Iterator[str]:
    """Return a whole document in pieces, one a block, so that a long one need not be in memory."""
    yield heading_of(heading)
    for block in blocks:
        yield markdown_of(block)


def heading_of(heading: Heading) -> str:
    """Return a heading as Markdown, with the empty line behind it."""
    return "\n\n".join((f"# {heading.title}", *heading.lines)) + "\n\n"


def markdown_of(block: Block) -> str:
    """Return a block as Markdown, with the empty line behind it; its text stands in it byte for byte."""
    if block.call is not None:
        return _tool_markdown(block.call)
    text = writable(block.text)
    gap = "\n" if "\n" in text else " "
    return f"**{_label(block)}:**{gap}{text}{_closing(text)}\n\n"


def block_tokens(block: Block) -> int:
    """Return the tokens of a block's Markdown; those of several together never take more than their sum."""
    return estimate_tokens(markdown_of(block))


def records_of(blocks: Iterable[Block], session_id: str, version: str) -> Iterator[dict[str, Any]]:
    """Return blocks as records of a transcript, each the parent of the next."""
    chain = _RecordChain(session_id, version)
    for block in blocks:
        if block.call is None:
            yield chain.record(block.role, _message(block), block, _own_fields(block))
        else:
            yield from _call_records(chain, block, block.call)


def line_of(record: Mapping[str, Any]) -> str:
    """Return a record as the line of a file, with its end."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def blocks_in(path: Path) -> Iterator[Block]:
    """Return the blocks a file of records was written from, one after the other."""
    with path.open("rb") as lines:
        records = (json.loads(line) for line in lines if line.strip())
        for record in records:
            own = record[OWN_FIELD]
            yield _block_of(record, own, next(records) if own.get("isCall") else None)


def writable(text: str) -> str:
    """Return text as it can be written in UTF-8: half characters, which have no bytes, become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _label(block: Block) -> str:
    who = "User" if block.role == "user" else "Assistant"
    return _LABELS.get(block.kind, "{who}").format(who=who)


def _tool_markdown(call: RecordedToolCall) -> str:
    asked = writable(_compact(call.input))
    result = writable(NO_RESULT if call.result is None else call.result)
    fence = _fence_around(result)
    outcome = "Error" if call.is_error else "Result"
    return f"**Tool {writable(call.name)}:** {asked}\n{outcome}:\n{fence}\n{result}\n{fence}\n\n"


def _compact(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _fence_around(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    return "`" * (longest + 1)


def _closing(text: str) -> str:
    """Return what closes a fence that a text leaves open, so that it does not swallow what follows."""
    fence = ""
    for line in text.splitlines() if "```" in text or "~~~" in text else ():
        if (found := _FENCE.match(line)) is None:
            continue
        marks, rest = found[1], found[2].strip()
        if not fence:
            fence = "" if marks[0] == "`" and "`" in rest else marks
        elif marks.startswith(fence) and not rest:
            fence = ""
    return f"\n{fence}" if fence else ""


@dataclass
class _RecordChain:
    """The records written so far, as far as the next one needs to know them."""

    session_id: str
    version: str
    count: int = 0
    parent: str | None = None
    clock: datetime = field(default=_EPOCH)

    def record(self, role: str, message: dict[str, Any], block: Block, own: dict[str, Any]) -> dict[str, Any]:
        uuid = str(uuid5(_SPACE, f"{self.session_id}/{self.version}/{self.count}"))
        self.clock = (block.at or self.clock).astimezone(UTC)
        body = {"id": f"msg_{uuid.replace('-', '')}", **message} if role == "assistant" else message
        record = {
            "parentUuid": self.parent, "isSidechain": False, "userType": "external", "sessionId": self.session_id,
            "type": role, "message": body, "uuid": uuid, "timestamp": self.clock.isoformat().replace("+00:00", "Z"),
            OWN_FIELD: {"version": self.version, **own},
        }  # fmt: skip
        self.count, self.parent = self.count + 1, uuid
        return record

    def tool_use_id(self, call: RecordedToolCall) -> str:
        return call.tool_use_id or f"toolu_{self.count}"


def _message(block: Block) -> dict[str, Any]:
    text = writable(block.text)
    content: Any = text if block.role == "user" else [{"type": "text", "text": text}]
    return {"role": block.role, "content": content}


def _call_records(chain: _RecordChain, block: Block, call: RecordedToolCall) -> Iterator[dict[str, Any]]:
    name = chain.tool_use_id(call)
    use = {"type": "tool_use", "id": name, "name": writable(call.name), "input": _clean(call.input)}
    own = _own_fields(block) | {"isCall": True, "toolUseId": call.tool_use_id, "text": writable(block.text)}
    yield chain.record("assistant", {"role": "assistant", "content": [use]}, block, own)
    said = NO_RESULT if call.result is None else writable(call.result)
    result = {"type": "tool_result", "tool_use_id": name, "content": said, "is_error": call.is_error}
    behind = {"kind": str(block.kind), "isResult": True, "hasResult": call.result is not None}
    yield chain.record("user", {"role": "user", "content": [result]}, block, behind)


def _clean(value: Mapping[str, Any]) -> dict[str, Any]:
    cleaned: dict[str, Any] = json.loads(writable(_compact(value)))
    return cleaned


def _own_fields(block: Block) -> dict[str, Any]:
    return {
        "kind": str(block.kind), "role": block.role, "sources": list(block.sources),
        "markerIds": list(block.marker_ids), "pinned": block.is_pinned, "tier": block.tier,
        "extra": block.extra, "dated": block.at is not None,
    }  # fmt: skip


def _block_of(record: Mapping[str, Any], own: Mapping[str, Any], result: Mapping[str, Any] | None) -> Block:
    content = record["message"]["content"]
    return Block(
        kind=BlockKind(own["kind"]),
        role=own["role"],
        text=own["text"] if result else content if isinstance(content, str) else content[0]["text"],
        at=datetime.fromisoformat(record["timestamp"]) if own["dated"] else None,
        sources=tuple(own["sources"]),
        marker_ids=tuple(own["markerIds"]),
        call=_tool_call_of(content[0], own, result) if result else None,
        is_pinned=own["pinned"],
        tier=own["tier"],
        extra=own["extra"],
    )


def _tool_call_of(use: Mapping[str, Any], own: Mapping[str, Any], result: Mapping[str, Any]) -> RecordedToolCall:
    answer = result["message"]["content"][0]
    said = answer["content"] if result[OWN_FIELD]["hasResult"] else None
    return RecordedToolCall(own["toolUseId"], use["name"], use["input"], said, answer["is_error"])
