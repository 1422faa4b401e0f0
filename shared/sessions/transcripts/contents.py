"""What a transcript says, one block of content at a time, in the order of the file, each thing once.

What a person typed is told from what the tool writes as a user, wherever it stands; what the tool repeats after it
compacted the session is passed over, and of a branch that was left by rewinding one line says so.
Source: the README of the recorded sessions; seed 004; decisions, "Recorded sessions".
"""

import json
from collections.abc import Iterator
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any

from shared.base.errors import Invalid
from shared.sessions.blocks import Block, BlockKind, RecordedToolCall
from shared.sessions.transcripts.branches import BranchMap, said_hash
from shared.sessions.transcripts.records import (
    KNOWN_KINDS,
    MAX_LINE_BYTES,
    REPEATED,
    BadLine,
    Record,
    lines_of,
    records_of,
    short_hash,
)
from shared.sessions.transcripts.typed import (
    ANSWERED,
    APPROVED,
    INSERTED,
    NOTICE,
    ORDER,
    OWN_TITLE,
    REFUSED,
    SUB_AGENT,
    SUMMARY,
    TITLE,
    WAITING,
    is_approval,
    is_refusal,
    is_typed,
    queued_text,
    typed_in_result,
    typed_times,
    user_parts,
    without_reminders,
)

_NO_MODEL = "<synthetic>"
"""Named as the model where the tool itself answers, as for an error."""
_LONG_CHARACTERS = 200
"""So long a text is taken for repeated under another id as well; shorter ones people do say twice."""
NOT_A_TRANSCRIPT = "not_a_transcript"
_LOOKED_AT = 200
"""Records within which one of a known kind must stand."""
_FIRST_BYTES = 65_536
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_records(path: Path, size_bytes: int | None = None) -> Iterator[Record | BadLine]:
    """Yield the records of a file's first ``size_bytes``, each once, and what is passed over."""
    known: set[int] = set()
    with path.open("rb") as file:
        for found in chain.from_iterable(map(records_of, lines_of(file, size_bytes))):
            # Some recorders write a session's records again behind its end; two that only share an id are both read.
            own = found.identities[:1] if isinstance(found, Record) else ()
            yield BadLine(found.line, found.offset, REPEATED) if not known.isdisjoint(own) else found
            known.update(own)


def read_blocks(path: Path, size_bytes: int | None = None) -> Iterator[Block]:
    """Yield what a file's first ``size_bytes`` say, in their order, each thing once. The file is read twice."""
    reader = TranscriptReader(BranchMap.of(read_records(path, size_bytes)))
    for record in read_records(path, size_bytes):
        if not isinstance(record, BadLine):
            yield from reader.new_blocks(record)


def repeated_records(file: tuple[Path, int], earlier: tuple[Path, int]) -> frozenset[str]:
    """Return the ids of a file's records that stand in another as well; each file with how much of it counts."""
    known = {identity for record in _whole(earlier) for identity in record.identities}
    return frozenset(record.uuid for record in _whole(file) if not known.isdisjoint(record.identities))


def _whole(file: tuple[Path, int]) -> Iterator[Record]:
    return (found for found in read_records(*file) if isinstance(found, Record))


def refuse_foreign(path: Path, name: str) -> None:
    """Look at the beginning of a file. Raises: Invalid, naming the file and why it is no transcript."""
    with path.open("rb") as file:
        first = file.read(_FIRST_BYTES)
    records = islice(read_records(path), _LOOKED_AT)
    if not first.strip():
        why = "it is empty"
    elif first.startswith(_UTF16):
        why = "it is written in UTF-16; save it as UTF-8"
    elif any(isinstance(found, Record) and found.kind in KNOWN_KINDS for found in records):
        return
    elif b"\0" in first:
        why = "it is a binary file"
    elif first.lstrip()[:1] in (b"{", b"[") and first.lstrip()[1:].lstrip(b" \t")[:1] in (b"\n", b"\r"):
        why = "it is one JSON document over several lines, not one record a line"
    elif b"\n" not in first and path.stat().st_size > MAX_LINE_BYTES:
        why = f"its first line does not end within {MAX_LINE_BYTES} bytes"
    else:
        why = f"none of its first {_LOOKED_AT} records is of a kind that coding sessions hold"
    message = f"{name} is not a recorded session: {why}. Register the .jsonl file that the coding agent wrote."
    raise Invalid(message, code=NOT_A_TRANSCRIPT, details={"file": name})


class TranscriptReader:
    """Reads a file's records, fed in order. ``branches``: of the whole file.

    Of what was said before a compaction boundary only hashes are remembered, so that a long file takes little memory.
    """

    def __init__(self, branches: BranchMap) -> None:
        self._branches = branches
        self._before: set[int] = set()
        self._since: set[int] = set()
        self._queued_before: set[int] = set()

    def new_blocks(self, record: Record) -> Iterator[Block]:
        """Yield what a record says that was not said before the last boundary, and remember it."""
        if record.is_boundary:
            self._before |= self._since
            self._since.clear()
        if self.is_left(record):
            yield from self._line_of_branch(record)
            return
        for block in self.blocks_of(record):
            keys = {_hash(block.uuid, block)} | ({_hash("", block)} if len(block.text) >= _LONG_CHARACTERS else set())
            if not keys & self._before:
                self._since |= keys
                yield block

    def is_left(self, record: Record) -> bool:
        """Whether a record stands in a branch that was left by rewinding."""
        own = record.word("uuid")
        return own is not None and short_hash(own) in self._branches.left

    def is_of_another(self, record: Record) -> bool:
        """Whether a record is the title of another session, as recorders leave them in a project's newest file."""
        return record.kind == "summary" and short_hash(record.word("leafUuid") or "") not in self._branches.records

    def blocks_of(self, record: Record) -> Iterator[Block]:
        if record.kind in ("user", "assistant"):
            of_block = _of_user if record.kind == "user" else _of_assistant
            # An image that the words beside it name ("[Image #1] this is cut off") needs no line of its own.
            named = sum(_string(content.get("text")).count("[Image #") for content in record.blocks)
            for content in record.blocks:
                if named and content.get("type") == "image":
                    named -= 1
                    continue
                yield from of_block(record, content)
        elif record.kind == "system" and (text := record.word("content")) and text.lstrip().startswith("<command-"):
            yield from _parts(record, text)
        elif record.kind == "system" and (text := record.word("content")):
            yield _block(record, BlockKind.SYSTEM, text, label=NOTICE)
        elif record.kind == "summary" and (text := record.word("summary")):
            yield _block(record, BlockKind.SYSTEM, text, label=TITLE if self.is_of_another(record) else OWN_TITLE)
        elif record.kind == "attachment":
            text, is_human = queued_text(record.fields)
            if text.strip():
                yield from _parts(record, text, is_inserted=not is_human)
        elif record.kind == "queue-operation" and record.word("operation") == "enqueue":
            yield from self._queued(record, record.word("content") or "")

    def _queued(self, record: Record, text: str) -> Iterator[Block]:
        """Yield a prompt that was queued and stands in no other record, once, however often it was."""
        content = said_hash(text)
        times = 0 if content in self._queued_before else self._branches.queued[content]
        user_contents = self._branches.user_contents
        if times > 0 and all(said_hash(part.text) not in user_contents for part in user_parts(text, is_inserted=False)):
            self._queued_before.add(content)
            typed_as = WAITING if content in self._branches.waiting else ""
            yield from _parts(record, text, typed_as=typed_as if times == 1 else typed_times(typed_as, times))

    def _line_of_branch(self, record: Record) -> Iterator[Block]:
        key = short_hash(record.uuid)
        if self._branches.left[key] == key:
            prompts = self._branches.prompts[key]
            what = "one prompt" if prompts == 1 else f"{prompts} prompts"
            yield _block(record, BlockKind.LEFT, f"{what} and what followed: taken back; what comes next replaces it")


def is_human_prompt(record: Record) -> bool:
    """Return whether a person wrote this record, by the rule that the README of the recorded sessions counts with.

    It takes whatever does not begin with ``<`` for a prompt; blocks are a little stricter.
    """
    if record.kind != "user" or any(map(record.flag, ("isMeta", "isCompactSummary", "isSidechain"))):
        return False
    blocks = record.blocks
    if any(block.get("type") == "tool_result" for block in blocks):
        return False
    texts = [text for block in blocks if isinstance(text := block.get("text"), str)]
    return not texts or any(not text.startswith("<") for text in texts)


def _of_user(record: Record, content: dict[str, Any]) -> Iterator[Block]:
    if content.get("type") == "tool_result":
        yield from _of_result(record, content)
    elif text := _flat([content]):
        if record.flag("isCompactSummary"):
            yield _block(record, BlockKind.SUMMARY, text, label=SUMMARY)
        elif record.flag("isSidechain"):
            yield _block(record, BlockKind.META, text, label=ORDER)
        else:
            yield from _parts(record, text, is_inserted=record.flag("isMeta"))


def _parts(record: Record, text: str, *, is_inserted: bool = False, typed_as: str = "") -> Iterator[Block]:
    for part in user_parts(text, is_inserted):
        is_human = is_typed(part.label)
        kind = BlockKind.SUMMARY if part.label == SUMMARY else BlockKind.HUMAN if is_human else BlockKind.META
        yield _block(record, kind, part.text, label=part.label or typed_as)


def _of_result(record: Record, content: dict[str, Any]) -> Iterator[Block]:
    """Yield what came back of a call, and what a person typed instead or in answer."""
    (text, reminders), call = without_reminders(_flat(content.get("content"))), _answered(content)
    typed = list(typed_in_result(text, record.fields.get("toolUseResult")))
    if record.flag("isSidechain"):
        # What a sub-agent is told comes from the assistant.
        typed = []
    shown = REFUSED if is_refusal(text) else APPROVED if is_approval(text) else ANSWERED if typed else text
    yield _block(record, BlockKind.TOOL_RESULT, shown, call=call)
    for reminder in reminders:
        # Whoever wrote a file can put anything there, so nothing in it is ever a person's.
        yield _block(record, BlockKind.META, reminder, label=INSERTED)
    question = ""
    for part in typed:
        if part.question != question:
            question = part.question
            yield _block(record, BlockKind.QUESTION, part.question)
        yield _block(record, BlockKind.HUMAN, part.text, replies_to=call.tool_use_id)


def _of_assistant(record: Record, content: dict[str, Any]) -> Iterator[Block]:
    kind, message_id = content.get("type"), record.message_key
    if kind in ("tool_use", "server_tool_use"):
        given = content.get("input")
        tool_input = given if isinstance(given, dict) else {} if given is None else {"input": given}
        call = RecordedToolCall(_string(content.get("id")), _string(content.get("name")) or "tool", tool_input, None)
        text = json.dumps(tool_input, ensure_ascii=False)
        yield _block(record, BlockKind.TOOL_USE, text, message_id=message_id, call=call)
        # What is proposed to the person stands nowhere but in this call.
        if plan := _string(tool_input.get("plan")) if call.name == "ExitPlanMode" else "":
            yield _block(record, BlockKind.ASSISTANT, plan, message_id=message_id)
    elif kind == "thinking" and (text := _string(content.get("thinking"))):
        yield _block(record, BlockKind.THINKING, text, message_id=message_id)
    elif kind == "text" and (text := _string(content.get("text"))):
        if record.message.get("model") == _NO_MODEL or record.flag("isApiErrorMessage"):
            yield _block(record, BlockKind.SYSTEM, text, message_id=message_id, label=NOTICE)
        else:
            yield _block(record, BlockKind.ASSISTANT, text, message_id=message_id)
    elif isinstance(kind, str) and kind.endswith("tool_result"):
        text = _flat(content.get("content"))
        yield _block(record, BlockKind.TOOL_RESULT, text, message_id=message_id, call=_answered(content))


def _block(
    record: Record,
    kind: BlockKind,
    text: str,
    *,
    message_id: str | None = None,
    call: RecordedToolCall | None = None,
    label: str = "",
    replies_to: str | None = None,
) -> Block:
    is_sidechain = record.flag("isSidechain")
    if is_sidechain and kind in (BlockKind.ASSISTANT, BlockKind.THINKING):
        label = SUB_AGENT
    is_note = not is_typed(label) or kind in (BlockKind.LEFT, BlockKind.THINKING)
    return Block(
        kind,
        "note" if is_note else "user" if kind is BlockKind.HUMAN else "assistant",
        text,
        record.at,
        (record.uuid,),
        call=call,
        is_sidechain=is_sidechain,
        message_id=message_id,
        label=label,
        replies_to=replies_to,
        origin=record.origin if kind is BlockKind.HUMAN else "",
    )


def _answered(content: dict[str, Any]) -> RecordedToolCall:
    """Return the call that a result answers, as far as the result names it."""
    return RecordedToolCall(_string(content.get("tool_use_id")), "", {}, None, content.get("is_error") is True)


def _flat(content: object) -> str:
    """Return the text of a block's content; what is no text stands as its name in brackets."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(filter(None, map(_flat_part, content)))


def _flat_part(block: object) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return ""
    text = _string(block.get("text"))
    kind = _string(block.get("type"))
    return text or (f"[{kind}]" if kind and kind != "text" else "")


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _hash(uuid: str, block: Block) -> int:
    parts = "\0".join((uuid, block.kind, block.call.tool_use_id if block.call else "", block.text))
    return int.from_bytes(blake2b(parts.encode(), digest_size=8).digest())
