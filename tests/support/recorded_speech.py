"""Reads from the records of a transcript who said what, by rules of its own, to judge readers and versions by.

It imports nothing of the product. On the made-up transcripts it must find what their labels say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.support.odd_recorder import Failure, Foreign, Labels, LeftBranch, Said, Spoken, Typed

Raw = Mapping[str, Any]

_TAGGED = re.compile(r"<([a-z][\w-]*)>(.*?)</\1>", re.DOTALL)
_SAID = "the user said:\n"
_NOTE = re.compile(r"\n\nNote: The user's next message may contain a correction.*\Z", re.DOTALL)
_QUESTION = re.compile(r'^- "(.*?)"\n\s*(?:Answer: (.*?)|\(No answer provided\))\s*$', re.MULTILINE)
_PAIR = re.compile(r'"(.*?)"="(.*?)"(?: user notes: (.*?))?(?=, "|\. You can now)', re.DOTALL)
_KINDS = {
    "system-reminder": Foreign.REMINDER, "user-prompt-submit-hook": Foreign.HOOK, "ide_opened_file": Foreign.REMINDER,
    "ide_selection": Foreign.REMINDER, "task-notification": Foreign.NOTIFICATION, "bash-stdout": Foreign.RESULT,
    "bash-stderr": Foreign.RESULT, "local-command-stdout": Foreign.COMMAND, "command-message": Foreign.COMMAND,
    "local-command-stderr": Foreign.COMMAND, "command-contents": Foreign.TEMPLATE,
    "local-command-caveat": Foreign.TOOL,
}  # fmt: skip
_OF_THE_RECORDER = {*_KINDS, "command-name", "command-args", "bash-input", "user-memory-input"}
_BY_THE_TOOL = re.compile(r"\s*\[Request interrupted by user(?: for tool use)?\]\s*\Z|Caveat: The messages below were")
_BROKEN = re.compile(
    r"^(?:Exit code [1-9].*|\w*(?:Error|Exception)\b.*|fatal: .*|npm ERR! .*|FAILED .*)$", re.MULTILINE
)


def read_speech(path: Path) -> Labels:
    """Return who said what in a transcript. Records that are no JSON objects are passed over."""
    records = list(_records(path))
    left_ids = _left(records)
    live = [one for one in records if one.get("uuid") not in left_ids]
    entries = [entry for record in live for entry in _entries(record)]
    spoken = _once([one for one in entries if isinstance(one, Spoken)])
    branches: dict[str, list[Spoken | Said]] = {}
    for record in records:
        if (root := left_ids.get(str(record.get("uuid")))) is not None:
            branches.setdefault(root, []).extend(one for one in _entries(record) if not isinstance(one, Failure))
    last = max((place for place, one in enumerate(entries) if isinstance(one, Spoken)), default=0)
    answers = [one.text for one in entries[last:] if isinstance(one, Said) and one.kind is Foreign.ASSISTANT]
    return Labels(
        spoken=spoken,
        foreign=tuple(one for one in entries if isinstance(one, Said)),
        left=tuple(
            LeftBranch(
                tuple(one for one in branch if isinstance(one, Spoken)),
                tuple(one for one in branch if isinstance(one, Said)),
            )
            for branch in branches.values()
        ),
        failures=tuple(one for one in entries if isinstance(one, Failure)),
        markers=(),
        last_request=spoken[-1] if spoken else Spoken(Typed.PROMPT, "", ""),
        outcome=answers[-1] if answers else "",
    )


def _once(spoken: list[Spoken]) -> tuple[Spoken, ...]:
    """Return each long text once: the tool repeats them behind a compaction; short ones people do say twice."""
    found: dict[object, Spoken] = {}
    for one in spoken:
        found.setdefault((one.kind, one.text) if len(one.text) >= 200 else (one.kind, one.text, one.uuid), one)
    return tuple(found.values())


def _records(path: Path) -> Iterator[Raw]:
    seen = set()
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        for one in record if isinstance(record, list) else [record]:
            # Two records may bear one id by mistake; what they say apart is said.
            if isinstance(one, dict) and (not one.get("uuid") or (one["uuid"], str(one.get("message"))) not in seen):
                seen.add((one.get("uuid"), str(one.get("message"))))
                yield one


def _left(records: list[Raw]) -> dict[str, str]:
    """Return the records of branches that were left, each with the first record of its branch."""
    by_id = {one["uuid"]: one for one in records if one.get("uuid")}
    turns = [one for one in by_id.values() if one.get("type") in ("user", "assistant") and not one.get("isSidechain")]
    chain: set[str] = set()
    at = turns[-1] if turns else None
    root: Raw = {}
    while at is not None and at["uuid"] not in chain:
        chain.add(at["uuid"])
        root, at = at, by_id.get(at.get("parentUuid") or at.get("logicalParentUuid") or "")
    forks = {by_id[one].get("parentUuid") for one in chain}
    left: dict[str, str] = {}
    for uuid, record in by_id.items():
        parent = record.get("parentUuid")
        if uuid in chain or record.get("isSidechain"):
            continue
        if parent in left:
            left[uuid] = left[parent]
        elif parent in forks and _begins_a_branch(record) and (parent is not None or _begins_a_branch(root)):
            left[uuid] = uuid
    return left


def _begins_a_branch(record: Raw) -> bool:
    """Whether a record beside the chain is another turn, not a result of one of several calls at once."""
    if record.get("type") == "assistant":
        return True
    return any(isinstance(one, Spoken) for one in _entries(record)) and not any(_results(record))


def _entries(record: Raw) -> Iterator[Spoken | Said | Failure]:
    kind, uuid = record.get("type"), str(record.get("uuid") or "")
    if kind == "user":
        yield from _of_user(record, uuid)
    elif kind == "assistant":
        yield from _of_assistant(record, uuid)
    elif kind == "attachment" and (body := record.get("attachment") or {}).get("type") == "queued_command":
        text = _flat(body.get("prompt"))
        if body.get("commandMode") == "prompt":
            yield Spoken(Typed.QUEUED, text, uuid)
        else:
            yield from _tagged(text, uuid)
    elif kind in ("summary", "ai-title", "custom-title"):
        title = record.get("summary") or record.get("aiTitle") or record.get("customTitle") or ""
        yield Said(Foreign.TITLE, str(title), uuid)


def _of_user(record: Raw, uuid: str) -> Iterator[Spoken | Said | Failure]:
    for block in _results(record):
        yield from _of_result(record, block, uuid)
    texts = [text for text in _texts(record) if text.strip()]
    if record.get("isCompactSummary") or record.get("isMeta") or record.get("isSidechain"):
        kind = Foreign.SUMMARY if record.get("isCompactSummary") else Foreign.SUBAGENT
        yield from (Said(Foreign.TEMPLATE if record.get("isMeta") else kind, text, uuid) for text in texts)
        return
    for text in texts:
        if _BY_THE_TOOL.match(text):
            yield Said(Foreign.TOOL, text, uuid)
        elif (tag := _TAGGED.match(text.lstrip())) and tag[1] in _OF_THE_RECORDER:
            yield from _tagged(text, uuid)
        else:
            yield Spoken(Typed.PROMPT, text, uuid)


def _tagged(text: str, uuid: str) -> Iterator[Spoken | Said]:
    tags = dict(_TAGGED.findall(text))
    if "command-name" in tags and not tags.get("command-args") and text.lstrip().startswith("<command-message>"):
        yield Spoken(Typed.PROMPT, tags["command-name"], uuid)
    for tag, inner in _TAGGED.findall(text):
        if not inner.strip() or tag == "command-name":
            continue
        if tag == "command-args":
            yield Spoken(Typed.ARGUMENTS, inner, uuid, command=tags.get("command-name"))
        elif tag in ("bash-input", "user-memory-input"):
            yield Spoken(Typed.SHELL if tag == "bash-input" else Typed.MEMORY, inner, uuid)
        else:
            yield Said(_KINDS.get(tag, Foreign.TOOL), inner, uuid)
    rest = _TAGGED.sub("", text).strip()
    if rest and tags.keys() & {"system-reminder", "ide_opened_file", "ide_selection"}:
        yield Spoken(Typed.PROMPT, rest, uuid)


def _of_result(record: Raw, block: Raw, uuid: str) -> Iterator[Spoken | Said | Failure]:
    text = _flat(block.get("content"))
    told = record.get("toolUseResult")
    if text.startswith("The user doesn't want to ") and block.get("is_error"):
        typed = _NOTE.sub("", text.partition(_SAID)[2]).strip()
        if typed.startswith("The user wants to clarify these questions."):
            for question, answer in _QUESTION.findall(typed):
                yield from [Spoken(Typed.ANSWER, answer, uuid, question=question)] if answer else []
        elif typed:
            yield Spoken(Typed.REJECTION, typed, uuid)
    elif text.startswith("User has answered your questions:") or (isinstance(told, dict) and "answers" in told):
        yield from _answers(text, told if isinstance(told, dict) else {}, uuid)
    else:
        yield Said(Foreign.SUBAGENT if record.get("isSidechain") else Foreign.RESULT, text, uuid)
        if why := _BROKEN.search(text) if block.get("is_error") else None:
            yield Failure("", why[0], uuid)


def _answers(text: str, told: Raw, uuid: str) -> Iterator[Spoken]:
    answers = told.get("answers")
    if not isinstance(answers, dict) or not answers:
        for question, answer, notes in _PAIR.findall(text):
            yield Spoken(Typed.ANSWER, answer, uuid, question=question)
            yield from [Spoken(Typed.ANSWER, notes, uuid, question=question)] if notes else []
        return
    annotations = told.get("annotations") or {}
    for question, answer in answers.items():
        options = {
            option.get("label")
            for asked in told.get("questions") or ()
            if asked.get("question") == question
            for option in asked.get("options") or ()
        }
        yield Spoken(Typed.ANSWER, str(answer), uuid, question=question, chosen=answer in options)
        if notes := (annotations.get(question) or {}).get("notes"):
            yield Spoken(Typed.ANSWER, notes, uuid, question=question)


def _of_assistant(record: Raw, uuid: str) -> Iterator[Said]:
    message = record.get("message")
    model = message.get("model") if isinstance(message, dict) else None
    for block in _blocks(message):
        if block.get("type") == "thinking":
            yield Said(Foreign.THINKING, block.get("thinking") or "", uuid)
        elif block.get("type") == "text":
            is_tools = model == "<synthetic>" or record.get("isApiErrorMessage")
            kind = Foreign.SUBAGENT if record.get("isSidechain") else Foreign.ASSISTANT
            yield Said(Foreign.TOOL if is_tools else kind, block.get("text") or "", uuid)


def _blocks(message: object) -> list[Raw]:
    content = message.get("content") if isinstance(message, dict) else message
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    found = content if isinstance(content, list) else []
    found = [{"type": "text", "text": one} if isinstance(one, str) else one for one in found]
    return [one for one in found if isinstance(one, dict)]


def _results(record: Raw) -> list[Raw]:
    return [one for one in _blocks(record.get("message")) if one.get("type") == "tool_result"]


def _texts(record: Raw) -> list[str]:
    return [str(one.get("text") or "") for one in _blocks(record.get("message")) if one.get("type") == "text"]


def _flat(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(str(one.get("text") or "") for one in content if isinstance(one, dict))
