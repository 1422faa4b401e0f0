"""How others write: the exports of ChatGPT and Claude, LangChain's messages, and the memories of other services.

Each converter takes one element of a file and returns it in role/content form, which ``loop.cli.chats`` reads. Of an
export only what a person and a model said comes along, and what the person attached: no reasoning, no traffic with
tools, nothing that was hidden, and of a conversation with several branches the one that was shown last. What has a
shape that nobody foresaw stands in the list of messages as the reason why it is left out.

A memory of another service is a statement and becomes a fact, written as by hand and said when it was said there, so
that of two that contradict each other the later holds. One that is known already is counted as skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr
from zoneinfo import ZoneInfo

import orjson

from afterthought_client import ApiError
from loop.cli import chats
from loop.cli.output import progress
from loop.cli.table import Invocation
from shared.base.errors import Configuration, Invalid
from shared.text.lines import read_json

_SHOWN = frozenset({"text", "multimodal_text"})
"""What ChatGPT shows as words."""
_NOT_SAID_BY_CHATGPT = frozenset(
    {
        "code", "execution_output", "stderr", "system_error", "thoughts", "reasoning_recap", "tether_quote",
        "tether_browsing_code", "tether_browsing_display", "sonic_webpage", "computer_output",
        "citable_code_output", "super_widget", "app_pairing_content", "user_editable_context",
        "model_editable_context",
    }
)  # fmt: skip
"""Its code, thoughts, searches, what tools answered, and what people told it in its settings."""
_NOT_SAID_BY_CLAUDE = frozenset(
    {
        "thinking", "redacted_thinking", "tool_use", "tool_result", "server_tool_use", "web_search_tool_result",
        "token_budget", "flag", "image",
    }
)  # fmt: skip
_OTHER_SPEAKERS = frozenset({"system", "tool", "developer", "function"})
_CITATION = re.compile("[ \t]*\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue206]")
"""Where ChatGPT cites a source, between private characters, and what is left of such marks."""
_EVERYBODY = (None, "all")
"""Whom a message of ChatGPT's is for, where it is for no tool."""
_FRAME = re.compile(r"<(?=/?(?:attached_files|file_contents)\b)", re.IGNORECASE)

Odd = list[chats.UnusableFile]
"""Reasons why parts are left out; converters add to it."""


def from_chatgpt(value: Any) -> Any:
    """Return one conversation of ChatGPT's conversations.json: the branch that ends in its current node."""
    nodes = _field(value, "mapping", dict, "a ChatGPT export")
    parents = _parents(nodes)
    leaf = value.get("current_node")
    if not isinstance(leaf, str) or leaf not in parents:
        leaf = _latest_leaf(parents, lambda name: _time_of(_message_of(nodes[name]), "create_time"))
    messages: list[Any] = []
    for name in _branch(leaf, parents):
        messages += _with_reasons(_of_chatgpt, nodes[name], f"node {name}")
    return _conversation(value, ("conversation_id", "id"), messages)


def _parents(nodes: Mapping[str, Any]) -> dict[str, str | None]:
    """Return which node each follows: the one it names, else one that names it as a child."""
    named: dict[Any, str] = {}
    for name, node in nodes.items():
        children = node.get("children") if isinstance(node, Mapping) else None
        for child in children if isinstance(children, list) else ():
            if isinstance(child, str):
                named.setdefault(child, name)
    parents: dict[str, str | None] = {}
    for name, node in nodes.items():
        parent = node.get("parent") if isinstance(node, Mapping) else None
        parents[name] = parent if isinstance(parent, str) and parent in nodes else named.get(name)
    # Where nothing says what follows what, the file's order does.
    return parents if any(parents.values()) else dict(zip(nodes, [None, *nodes], strict=False))


def _message_of(node: Any) -> Any:
    return node.get("message") if isinstance(node, Mapping) else None


def _of_chatgpt(node: Any, odd: Odd) -> dict[str, Any] | None:
    if not isinstance(node, Mapping):
        raise chats.UnusableFile(f"is no node, but {chats.kind_of(node)}")
    if "message" not in node:
        raise chats.UnusableFile("is a node without `message`")
    message = node["message"]
    if message is None:
        return None
    if not isinstance(message, Mapping):
        raise chats.UnusableFile(f"its message is no object, but {chats.kind_of(message)}")
    author, about, recipient = message.get("author"), message.get("metadata"), message.get("recipient")
    is_hidden = isinstance(about, Mapping) and about.get("is_visually_hidden_from_conversation")
    role = _role(author.get("role") if isinstance(author, Mapping) else author, "user")
    if is_hidden or message.get("weight") == 0 or role is None:
        return None
    if isinstance(recipient, str) and recipient not in _EVERYBODY:
        return None
    text = _text_of_chatgpt(message.get("content"), odd)
    return _message(role, _CITATION.sub("", text), message.get("create_time"))


def _text_of_chatgpt(content: Any, odd: Odd) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, Mapping):
        raise chats.UnusableFile(f"its content is {chats.kind_of(content)}")
    kind = content.get("content_type")
    if isinstance(kind, str) and kind in _NOT_SAID_BY_CHATGPT:
        return ""
    if not isinstance(kind, str) or kind not in _SHOWN:
        raise chats.UnusableFile(f"{chats.shown(kind)} is no content_type that is known")
    parts = content.get("parts")
    if isinstance(parts, str) or parts is None:
        return parts or ""
    if not isinstance(parts, list):
        raise chats.UnusableFile(f"its parts are {chats.kind_of(parts)}")
    texts = []
    for number, part in enumerate(parts, 1):
        # A part that is an object is a picture, or what was said aloud.
        is_known = isinstance(part, Mapping) and ("text" in part or isinstance(part.get("content_type"), str))
        text = part.get("text") if is_known else part
        if isinstance(text, str):
            texts.append(text)
        elif text is not None:
            odd.append(chats.UnusableFile(f"part {number} is {chats.kind_of(part)}" + " whose text is none" * is_known))
    return "\n".join(filter(None, texts))


def from_claude(value: Any) -> Any:
    """Return one conversation of Claude's conversations.json: the branch that ends in its latest message."""
    listed = _field(value, "chat_messages", list, "a Claude export")
    messages: list[Any] = []
    for number in _shown_by_claude(value, listed):
        messages += _with_reasons(_of_claude, listed[number], f"message {number + 1}")
    return _conversation(value, ("uuid",), messages)


def _shown_by_claude(value: Mapping[str, Any], listed: list[Any]) -> list[int]:
    """Return the places of the messages of the branch that was shown last, and of what has no place in any."""
    ids = [one.get("uuid") if isinstance(one, Mapping) else None for one in listed]
    indexes = {uuid: index for index, uuid in enumerate(ids) if isinstance(uuid, str)}
    named = [one.get("parent_message_uuid") if isinstance(one, Mapping) else None for one in listed]
    # Older exports have no parents, and no branches.
    if not any(isinstance(parent, str) and parent in indexes for parent in named):
        return list(range(len(listed)))
    parents: dict[int, int | None] = {}
    for index, parent in enumerate(named):
        known = indexes.get(parent) if isinstance(parent, str) else None
        # Several may begin the conversation, as the first message was edited; they name what the first one names.
        is_lost = known is None and index and (not isinstance(parent, str) or parent != named[0])
        parents[index] = index - 1 if is_lost else known
    current = value.get("current_leaf_message_uuid")
    leaf = indexes.get(current) if isinstance(current, str) else None
    if leaf is None:
        leaf = _latest_leaf(parents, lambda index: _time_of(listed[index], "created_at"))
    # What has no id is in nobody's branch, and would vanish unseen.
    strays = [index for index, uuid in enumerate(ids) if not isinstance(uuid, str)]
    branch = _branch(leaf, parents)
    return branch + [index for index in strays if index not in branch]


def _of_claude(message: Any, odd: Odd) -> dict[str, Any] | None:
    if not isinstance(message, Mapping):
        raise chats.UnusableFile(f"is no message, but {chats.kind_of(message)}")
    role = _role(message.get("sender"), "human")
    if role is None:
        return None
    text = _text_of_claude(message, odd)
    frame, without_text = _attached(message, odd)
    converted = _message(role, "\n\n".join(filter(None, [text, frame])), message.get("created_at"))
    return converted and converted | {chats.FILES_WITHOUT_TEXT: without_text}


def _text_of_claude(message: Mapping[str, Any], odd: Odd) -> str:
    blocks, text = message.get("content"), message.get("text")
    if isinstance(blocks, str):
        return blocks
    if blocks is not None and not isinstance(blocks, list):
        odd.append(chats.UnusableFile(f"its content is {chats.kind_of(blocks)}"))
    texts = []
    for number, block in enumerate(blocks if isinstance(blocks, list) else (), 1):
        kind = block.get("type") if isinstance(block, Mapping) else None
        of_block = block.get("text") if isinstance(block, Mapping) else block
        if (isinstance(kind, str) and kind in _NOT_SAID_BY_CLAUDE) or block is None:
            continue
        if kind == "text" and of_block is None:
            continue
        if isinstance(of_block, str) and kind in (None, "text"):
            texts.append(of_block)
        else:
            what = f"of the type {chats.shown(kind)}, which is not known" if kind != "text" else "a text without text"
            odd.append(
                chats.UnusableFile(f"block {number} is {what if isinstance(block, Mapping) else chats.kind_of(block)}")
            )
    if joined := "\n".join(filter(None, texts)):
        return joined
    if text is not None and not isinstance(text, str):
        odd.append(chats.UnusableFile(f"its text is {chats.kind_of(text)}"))
    return text if isinstance(text, str) else ""


def _attached(message: Mapping[str, Any], odd: Odd) -> tuple[str, int]:
    """Return what was attached in a frame that tells it from what was typed, and how many files have no text."""
    texts: list[str] = []
    names: dict[str, None] = {}
    with_text = set()
    for key in ("attachments", "files", "files_v2"):
        listed = message.get(key)
        if listed is not None and not isinstance(listed, list):
            odd.append(chats.UnusableFile(f"its {key} are {chats.kind_of(listed)}"))
        for number, one in enumerate(listed if isinstance(listed, list) else (), 1):
            content = one.get("extracted_content") if isinstance(one, Mapping) else None
            name = one.get("file_name") if isinstance(one, Mapping) else one
            if not isinstance(name, str | None) or not isinstance(content, str | None) or one is None:
                what = "attachment" if key == "attachments" else "file"
                odd.append(chats.UnusableFile(f"{what} {number} (`{key}`) is not one with a name and a text"))
            elif content and content.strip():
                with_text.add(name)
                # Or a text that holds the end of the frame would go on as the person's own words.
                texts.append(
                    f"<file_contents path={quoteattr(name or 'pasted text')}>\n{_FRAME.sub('&lt;', content)}\n"
                    "</file_contents>"
                )
            else:
                names[name or "without a name"] = None
    without = [name for name in names if name not in with_text]
    lines = texts + [f"(A file was attached, its text is not in the export: {_FRAME.sub('&lt;', n)})" for n in without]
    return "\n".join(["<attached_files>", *lines, "</attached_files>"]) if lines else "", len(without)


def from_langchain(value: Any) -> Any:
    """Return messages of LangChain: a conversation's list, rows with a session id, or what holds ``messages``."""
    if isinstance(value, list):
        return _listed_by_langchain(value)
    if not isinstance(value, Mapping):
        raise chats.UnusableFile(f"holds no messages of LangChain, but is {chats.kind_of(value)}")
    if isinstance(value.get("messages"), list):
        return {**value, "messages": _listed_by_langchain(value["messages"])}
    row = value.get("message")
    if row is not None:
        # As the chat histories of LangChain keep it in a table: the message may be JSON in a string.
        columns = {key: one for key, one in value.items() if key not in ("message", "id")}
        return columns | _of_langchain(chats.parsed(row) if isinstance(row, str) else row)
    return _of_langchain(value)


def _listed_by_langchain(listed: list[Any]) -> list[Any]:
    return [one for message in listed for one in _with_reasons(lambda value, _: _of_langchain(value), message)]


def _of_langchain(value: Any) -> dict[str, Any]:
    # Deferred: langchain takes most of a second to import.
    from shared.llm.langchain_chat import as_openai, data_of

    try:
        message, data = as_openai(value), data_of(value)
    except Invalid as error:
        raise chats.UnusableFile(error.message) from None
    sources = [value, data, data.get("additional_kwargs"), data.get("response_metadata")]
    times = [one for one in sources if isinstance(one, Mapping)]
    at = next((one[key] for one in times for key in ("created_at", "timestamp") if one.get(key) is not None), None)
    return message | ({} if at is None else {"created_at": at})


def _field(value: Any, name: str, kind: type, of_what: str) -> Any:
    if not isinstance(value, Mapping):
        raise chats.UnusableFile(f"is no conversation of {of_what}, but {chats.kind_of(value)}")
    if name not in value:
        raise chats.UnusableFile(f"is no conversation of {of_what}: it has no `{name}`")
    if not isinstance(value[name], kind):
        raise chats.UnusableFile(f"is no conversation of {of_what}: its `{name}` is {chats.kind_of(value[name])}")
    return value[name]


def _with_reasons(convert: Any, value: Any, part: str | None = None) -> Iterator[Any]:
    """Yield why parts of a message are left out, and the message, if it says anything."""
    odd: Odd = []
    converted = None
    try:
        converted = convert(value, odd)
    except chats.UnusableFile as reason:
        odd.append(reason)
    for one in odd:
        yield chats.UnusableFile(str(one), part)
    if converted is not None:
        try:
            chats.moment(converted.get("created_at"))
        except chats.UnusableFile as reason:
            yield chats.UnusableFile(str(reason), part)
            converted = {**converted, "created_at": None}
        yield converted


def _role(given: Any, person: str) -> str | None:
    """Return whose words a message of an export holds; None where they are neither's. Raises: UnusableFile."""
    if given in (person, "assistant"):
        return "assistant" if given == "assistant" else "user"
    if isinstance(given, str) and given in _OTHER_SPEAKERS:
        return None
    raise chats.UnusableFile(f"{chats.shown(given)} is nobody who speaks in an export; {person} and assistant are")


def _latest_leaf(parents: Mapping[Any, Any], time_of: Any) -> Any:
    """Return where the branch with the latest message ends, the last of several."""
    leaves = set(parents) - set(parents.values()) or set(parents)
    ends = [
        (max(map(time_of, _branch(leaf, parents))), index, leaf) for index, leaf in enumerate(parents) if leaf in leaves
    ]
    return max(ends, default=(0.0, 0, None))[2]


def _branch(leaf: Any, parents: Mapping[Any, Any]) -> list[Any]:
    chain: dict[Any, None] = {}
    # A damaged export may lead round in a circle.
    while leaf in parents and leaf not in chain:
        chain[leaf] = None
        leaf = parents[leaf]
    return list(reversed(chain))


def _time_of(message: Any, field: str) -> float:
    """Return what sorts messages of one export by time, those without one first."""
    try:
        at = chats.moment(message.get(field)) if isinstance(message, Mapping) else None
    except chats.UnusableFile:
        at = None
    return 0.0 if at is None else at.timestamp()


def _message(role: str, text: str, at: Any) -> dict[str, Any] | None:
    return {"role": role, "content": text, "created_at": at} if text.strip() else None


def _conversation(value: Mapping[str, Any], names: tuple[str, ...], messages: list[Any]) -> dict[str, Any]:
    if not messages:
        raise chats.NothingSaid("nothing was said in it")
    ids = (value.get(name) for name in names)
    times = {name: value.get(name) for name in chats.TIMES_OF_ALL}
    return {"id": next((one for one in ids if isinstance(one, str) and one), None), "messages": messages, **times}


_LISTS = ("results", "memories")
_TEXTS = ("memory", "text")
_TIMES = ("event_date", "updated_at", "created_at")


@dataclass(frozen=True, slots=True)
class Statement:
    """One memory of another service; ``said_at`` is None where the file has no time."""

    where: str
    text: str
    user_id: str | None
    said_at: datetime | None


@dataclass
class StatementTally:
    """What became of a file of memories."""

    facts: int = 0
    known: int = 0
    evicted: int = 0
    """Facts that went because a user had too many."""
    left_out: int = 0
    """What is no memory but a message that the other service keeps beside them."""
    users: set[str | None] = field(default_factory=set)
    bad: list[chats.BadChatLine] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return it as it is printed for machines."""
        return {
            "facts": {"imported": self.facts, "skipped": self.known},
            "evicted": self.evicted,
            "leftOut": self.left_out,
            "users": len(self.users - {None}),
            "badLines": [{"where": one.where, "reason": one.reason} for one in self.bad],
        }


def read_statements(path: Path, tally: StatementTally, zone: ZoneInfo | None = None) -> list[Statement]:
    """Return a file's memories, the earliest first; what cannot be used goes into the tally.

    ``zone`` is whose days their words mean. Raises: Configuration.
    """
    found = []
    for where, value in _elements(path):
        try:
            if isinstance(value, Mapping) and value.get("memory_type") == "message":
                tally.left_out += 1
            else:
                one = _statement(where, value)
                at = one.said_at
                found.append(replace(one, said_at=at.astimezone(zone)) if at is not None and zone is not None else one)
        except chats.UnusableFile as reason:
            tally.bad.append(chats.BadChatLine(where, str(reason)))
    return sorted(found, key=lambda one: (one.said_at is not None, one.said_at and one.said_at.timestamp()))


def send_statements(
    call: Invocation, app_id: str, statements: list[Statement], user_id: str | None, tally: StatementTally
) -> None:
    """Write statements as facts, under a bar; ``user_id``: of all of them, else the file's."""
    with progress("sending", len(statements)) as update:
        for one in statements:
            user = user_id or one.user_id
            tally.users.add(user)
            try:
                said_at = None if one.said_at is None else chats.as_text(one.said_at)
                written = call.patient_client.write_fact(one.text, user_id=user, said_at=said_at, app_id=app_id)
                tally.known += written.merged
                tally.facts += not written.merged
                tally.evicted += len(written.evicted or ())
            except ApiError as error:
                if error.status not in (HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.CONFLICT):
                    raise
                tally.bad.append(chats.BadChatLine(one.where, call.reason(error)))
            update(advance=1)


def _elements(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise Configuration(f"{path}: {error.strerror}") from None
    try:
        value = read_json(text, replaces_nul=True)
    except orjson.JSONDecodeError as error:
        if b"\n" not in text.strip():
            yield f"line {error.lineno}", chats.UnusableFile(f"the file is not valid JSON: {error.msg}")
            return
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield f"line {number}", _of_line(line)
        return
    if isinstance(value, Mapping):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), [value])
    for number, element in enumerate(value if isinstance(value, list) else [value], 1):
        yield f"element {number}", element


def _of_line(line: bytes) -> Any:
    try:
        return read_json(line, replaces_nul=True)
    except orjson.JSONDecodeError as error:
        return chats.UnusableFile(f"not valid JSON: {error.msg} (column {error.colno})")


def _statement(where: str, value: Any) -> Statement:
    if isinstance(value, chats.UnusableFile):
        raise value
    if not isinstance(value, Mapping):
        raise chats.UnusableFile(f"is no memory, but {chats.kind_of(value)}")
    text = next((value[name] for name in _TEXTS if value.get(name)), None)
    if text is not None and not isinstance(text, str):
        raise chats.UnusableFile(f"is no memory: its text is {chats.kind_of(text)}")
    if text is None or not text.strip():
        raise chats.UnusableFile("is no memory: it has neither `memory` nor `text`")
    at = next((value[name] for name in _TIMES if value.get(name) is not None), None)
    user = value.get("user_id")
    if isinstance(user, bool) or not isinstance(user, str | int | None):
        raise chats.UnusableFile(f"its user_id is {chats.kind_of(user)}, so it does not say whose it is")
    return Statement(where, text, str(user) if user else None, chats.moment(at))
