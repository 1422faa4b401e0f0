"""How others write conversations: the exports of ChatGPT and Claude, and LangChain's messages.

Each converter takes one element of a file and returns it in role/content form, which ``loop.cli.chats`` reads. Of an
export only what a person and a model said comes along: no reasoning, no traffic with tools, nothing that was hidden,
and of a conversation with several branches the one that was shown last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from loop.cli.chats import NothingSaid, UnusableFile, parsed
from shared.errors import Invalid

_SHOWN = frozenset({"text", "multimodal_text"})
"""What ChatGPT shows as words: not its code, thoughts, searches, and what tools answered."""
_CITATION = re.compile("[ \t]*\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue206]")
"""Where ChatGPT cites a source, between private characters, and what is left of such marks."""
_EVERYBODY = (None, "all")
"""Whom a message of ChatGPT's is for, where it is for no tool."""


def from_chatgpt(value: Any) -> Any:
    """Return one conversation of ChatGPT's conversations.json: the branch that ends in its current node."""
    nodes = value.get("mapping") if isinstance(value, Mapping) else None
    if not isinstance(nodes, Mapping):
        raise UnusableFile("is no conversation of a ChatGPT export: it has no `mapping`")
    parents = {name: node.get("parent") for name, node in nodes.items() if isinstance(node, Mapping)}
    leaf = value.get("current_node")
    if leaf not in parents:
        leaf = max(parents, key=lambda name: _time(nodes[name].get("message"), "create_time"), default=None)
    branch = [nodes[name].get("message") for name in _branch(leaf, parents)]
    messages = [said for message in branch if isinstance(message, Mapping) and (said := _of_chatgpt(message))]
    return _conversation(value.get("conversation_id") or value.get("id"), messages)


def _of_chatgpt(message: Mapping[str, Any]) -> dict[str, Any] | None:
    about, content = message.get("metadata") or {}, message.get("content") or {}
    role = (message.get("author") or {}).get("role", "")
    is_hidden = about.get("is_visually_hidden_from_conversation") or message.get("weight") == 0
    is_said = role in ("user", "assistant") and message.get("recipient") in _EVERYBODY
    if is_hidden or not is_said or content.get("content_type") not in _SHOWN:
        return None
    # A part that is no string is a picture, or what was said aloud.
    parts = [part if isinstance(part, str) else part.get("text", "") for part in content.get("parts") or () if part]
    return _message(role, _CITATION.sub("", "\n".join(filter(None, parts))), message.get("create_time"))


def from_claude(value: Any) -> Any:
    """Return one conversation of Claude's conversations.json: the branch that ends in its latest message."""
    listed = value.get("chat_messages") if isinstance(value, Mapping) else None
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        raise UnusableFile("is no conversation of a Claude export: it has no `chat_messages`")
    by_id = {one.get("uuid"): one for one in listed}
    parents = {name: one.get("parent_message_uuid") for name, one in by_id.items()}
    branch = listed
    # Older exports have no parents, and no branches.
    if any(parent in by_id for parent in parents.values()):
        leaf = value.get("current_leaf_message_uuid")
        if leaf not in by_id:
            leaf = max(by_id, key=lambda name: _time(by_id[name], "created_at"))
        branch = [by_id[name] for name in _branch(leaf, parents)]
    return _conversation(value.get("uuid"), [said for one in branch if (said := _of_claude(one))])


def _of_claude(message: Mapping[str, Any]) -> dict[str, Any] | None:
    blocks = message.get("content")
    texts = [one.get("text") for one in blocks if one.get("type") == "text"] if isinstance(blocks, list) else []
    text = "\n".join(filter(None, texts)) or message.get("text") or ""
    role = {"human": "user", "assistant": "assistant"}.get(message.get("sender", ""))
    return None if role is None else _message(role, text, message.get("created_at"))


def from_langchain(value: Any) -> Any:
    """Return messages of LangChain: a conversation's list, rows with a session id, or what holds ``messages``."""
    if isinstance(value, list):
        return [_of_langchain(one) for one in value]
    if not isinstance(value, Mapping):
        raise UnusableFile("holds no messages of LangChain")
    if isinstance(value.get("messages"), list):
        return {**value, "messages": [_of_langchain(one) for one in value["messages"]]}
    row = value.get("message")
    if row is not None:
        # As the chat histories of LangChain keep it in a table: the message may be JSON in a string.
        told = {key: one for key, one in value.items() if key not in ("message", "id")}
        return told | _of_langchain(parsed(row) if isinstance(row, str) else row)
    return _of_langchain(value)


def _of_langchain(value: Any) -> dict[str, Any]:
    # Deferred: langchain takes most of a second to import.
    from shared.llm.langchain_messages import as_openai, data_of

    try:
        message, data = as_openai(value), data_of(value)
    except Invalid as error:
        raise UnusableFile(error.message) from None
    times = (value, data, data.get("additional_kwargs") or {}, data.get("response_metadata") or {})
    at = next((one[key] for one in times for key in ("created_at", "timestamp") if one.get(key) is not None), None)
    return message | ({} if at is None else {"created_at": at})


def _branch(leaf: Any, parents: Mapping[Any, Any]) -> list[Any]:
    """Return the names from the root to a leaf."""
    chain: dict[Any, None] = {}
    # A damaged export may lead round in a circle.
    while leaf in parents and leaf not in chain:
        chain[leaf] = None
        leaf = parents[leaf]
    return list(reversed(chain))


def _time(message: Any, field: str) -> tuple[bool, Any]:
    """Return what sorts messages of one export by time, those without one first."""
    at = message.get(field) if isinstance(message, Mapping) else None
    return at is not None, at if at is not None else 0


def _message(role: str, text: str, at: Any) -> dict[str, Any] | None:
    return {"role": role, "content": text, "created_at": at} if text.strip() else None


def _conversation(name: Any, messages: list[dict[str, Any]]) -> dict[str, Any]:
    if not messages:
        raise NothingSaid("nothing was said in it")
    return {"id": name, "messages": messages}
