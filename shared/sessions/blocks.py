"""What sessions, versions and compositions are made of, and how it looks as Markdown.

A call of a tool and its result are one block, so they can neither be parted nor put in a wrong order. The rendering is
a function of the blocks alone: no time of day and no random id goes into it.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeVar

from shared.llm.calls import estimate_tokens
from shared.text.secrets import announces_secret, has_secret
from shared.text.sentences import SECRET_MARK, mask_secrets
from shared.text.words import word_set

_T = TypeVar("_T")
_SPACE = re.compile(r"\s")


class BlockKind(StrEnum):
    """What a block holds: of a transcript who says it, of a version also why it stands there."""

    HUMAN = "human"
    """What a person typed: a prompt, an answer, the reason of a refusal, a command."""
    ASSISTANT = "assistant"
    QUESTION = "question"
    """What the assistant had the tool ask a person."""
    THINKING = "thinking"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    META = "meta"
    """Skills, templates, hooks and reminders that travel as a user's messages."""
    LEFT = "left"
    """Says that a branch was left by rewinding."""
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
    """``user``, ``assistant``, or ``note`` where neither says it."""
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
    label: str = ""
    """Who wrote it, where its kind and role do not tell: a skill, a hook, a sub-agent."""
    replies_to: str | None = None
    """Of what a person typed instead of letting a call run, or in answer to it: the id of the call."""
    origin: str = ""
    """Of what a person typed, read from a transcript: the id that a copy of its record has in whatever session."""
    masked: int = 0
    """How many of its sentences hold a secret and are shown as a mark."""

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


NO_RESULT: Final = "(the session holds no result)"
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_LABELS = {
    BlockKind.KEEPIT: "{who}, kept",
    BlockKind.INSTRUCTION: "{who}, rule",
    BlockKind.THINKING: "{who}, thinking",
    BlockKind.QUESTION: "{who}, asking",
    BlockKind.FAILURE: "Failed",
    BlockKind.TOOL: "Done",
    BlockKind.TOOL_USE: "Tool",
    BlockKind.TOOL_RESULT: "Tool",
    BlockKind.SUMMARY: "Summary",
    BlockKind.NAMES: "Names",
    BlockKind.LEFT: "Rewound",
    BlockKind.META: "Tool",
    BlockKind.SYSTEM: "Tool",
}
_LIKE_A_LABEL = re.compile(r"^(?=\*\*(?:User|Assistant)(?:, [a-z ]+)?:\*\*)", re.MULTILINE)
"""Only of the two who speak: whoever writes of a summary or a failure keeps their words as they are."""


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
        compact = json.dumps(block.call.input, ensure_ascii=False)
        arguments = writable(compact)
        result = writable(NO_RESULT if block.call.result is None else block.call.result)
        # Longer than any run of backticks within, or the result would close its own fence.
        longest = max((len(run) for run in re.findall(r"`{3,}", result)), default=2)
        fence = "`" * (longest + 1)
        outcome = "Error" if block.call.is_error else "Result"
        return f"**Tool {writable(block.call.name)}:** {arguments}\n{outcome}:\n{fence}\n{result}\n{fence}\n\n"
    text = writable(block.text)
    if block.kind is not BlockKind.KEEPIT:
        text = escaped(text)
    gap = "\n" if "\n" in text else " "
    return f"**{speaker_of(block)}:**{gap}{text}{closing_of(text)}\n\n"


def escaped(text: str) -> str:
    """Return a text in which words that look like a speaker's name do not become one; Markdown shows the same."""
    return _LIKE_A_LABEL.sub(r"\\\g<0>", text)


def block_tokens(block: Block) -> int:
    """Return the tokens of a block's Markdown; those of several together never take more than their sum."""
    return estimate_tokens(markdown_of(block))


def writable(text: str) -> str:
    """Return text as it can be written in UTF-8: half characters, which have no bytes, become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def speaker_of(block: Block) -> str:
    who = "User" if block.role == "user" else "Assistant"
    # Replacing nothing makes no new text, of which a session would have as many as statements.
    return block.label or _LABELS.get(block.kind, who).replace("{who}", who)


def closing_of(text: str) -> str:
    """Return what closes a fence that a text leaves open, so that it does not swallow what follows."""
    fence = ""
    for line in text.splitlines() if "```" in text or "~~~" in text else ():
        if (found := _FENCE.match(line)) is None:
            continue
        marks, rest = found[1], found[2].strip()
        if not fence:
            # As in Markdown: backticks in what follows make it code within a line.
            fence = "" if marks[0] == "`" and "`" in rest else marks
        elif marks.startswith(fence) and not rest:
            fence = ""
    return f"\n{fence}" if fence else ""


# Secrets in what was recorded: originals keep them, and nothing that is made of an original holds one. A sentence that
# holds one, or a line of what a tool was given or gave back, is shown as a mark, in a marked part as well. Marks are
# looked for in what was said, before it is masked: so ids of markers do not depend on this.


_TYPES = word_set(
    "string str secretstr text varchar char integer int number float boolean bool object array null none any unknown"
    " bytes"
)
"""What stands for a value where only its type is told."""
_OF_SCHEMA = word_set(
    "type format title description minLength maxLength minimum maximum pattern properties required items $ref anyOf"
    " oneOf allOf additionalProperties nullable readOnly writeOnly deprecated"
)
"""What only tells of a value, in a schema of it."""
_NAMES_OF_NAMES, _NAMES_OF_VALUES = ("name", "key", "variable", "var"), ("value", "val", "default")


def mask_value(value: Any, name: str = "") -> tuple[Any, int]:
    """Return what a tool was given under a name with its secrets masked, and how many there were."""
    # By itself a value is not always known for what it is: {"password": "hunter2"}.
    announced = announces_secret(f"{name}:")
    if isinstance(value, str) and value.casefold() in _TYPES:
        return value, 0
    if isinstance(value, str):
        shown, times = mask_secrets(value, f"{name}:")
        is_one = not times and not _SPACE.search(value) and has_secret(f"{name}: {value}")
        return (SECRET_MARK, 1) if is_one else (shown, times)
    if isinstance(value, int | float) and not isinstance(value, bool):
        # Of two digits it is the pin of a board.
        is_one = announced and abs(value) > 99
        return (SECRET_MARK, 1) if is_one else (value, 0)
    if isinstance(value, dict):
        names = _names_within(value, name if announced else "")
        found = {key: mask_value(one, names[key]) for key, one in value.items()}
        return {key: one for key, (one, _) in found.items()}, sum(times for _, times in found.values())
    if isinstance(value, list):
        named = zip(["", *value], value, strict=False)
        entries = [mask_value(one, before if _names(before, one) else name) for before, one in named]
        return [one for one, _ in entries], sum(times for _, times in entries)
    return value, 0


def _names_within(value: dict[str, Any], name: str) -> dict[str, str]:
    """Return under which name each value of a dictionary stands; ``name``: its own, where that announces a secret."""
    kind = value.get("type")
    is_schema = "$ref" in value or (isinstance(kind, str) and kind.casefold() in _TYPES) or isinstance(kind, list)
    names = {key: f"{name} {key}" if name and not (is_schema and key in _OF_SCHEMA) else key for key in value}
    # An entry of a list of variables: {"name": "DB_PASSWORD", "value": "..."}.
    lowered = {key.casefold(): key for key in value}
    variable = next((value[lowered[key]] for key in _NAMES_OF_NAMES if key in lowered), None)
    if isinstance(variable, str) and not is_schema:
        shown = (lowered[key] for key in _NAMES_OF_VALUES if key in lowered)
        names |= {key: variable for key in shown if not str(value[key]).startswith(("$", "{{", "<"))}
    return names


def _names(before: Any, value: Any) -> bool:
    """Whether an entry of a command is an option, which names the entry behind it: ``--password``."""
    return isinstance(before, str) and before.startswith("-") and not str(value).startswith("-")


def mask_block(block: Block) -> Block:
    """Return a block with its secrets masked and counted, the very same where it holds none."""
    call = block.call
    given, of_input = ({}, 0) if call is None else mask_value(call.input)
    result, of_result = (None, 0) if call is None or call.result is None else mask_secrets(call.result)
    text, of_text = block.text, 0
    if block.kind is not BlockKind.TOOL_USE:
        text, of_text = mask_secrets(text)
    elif of_input:
        text = json.dumps(given, ensure_ascii=False)  # It is the input once more.
    if not (masked := of_input + of_result + of_text):
        return block
    if call is not None:
        call = replace(call, input=given, result=result)
    return replace(block, text=text, call=call, masked=block.masked + masked)
