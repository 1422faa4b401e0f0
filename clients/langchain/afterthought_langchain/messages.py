"""LangChain's messages as the service keeps them, and back.

The service keeps messages as OpenAI's or Anthropic's chat programs have them, so that programs without LangChain read
them too. What LangChain has beside that goes along in ``provider_specific_fields`` and comes back with the message.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import (
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    convert_to_messages,
    convert_to_openai_messages,
    message_chunk_to_message,
    messages_from_dict,
)

MOST_AT_ONCE = 1000
"""Messages of one request, as the service takes them."""
_BESIDE = "provider_specific_fields"
_OURS = "langchain"
_OF_THE_SERVICE = ("messageId", "position", "createdAt", "tokens", _BESIDE)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}")
_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}
_KNOWN_ROLES = {*_ROLES.values(), "developer"}


def to_stored(message: BaseMessage) -> dict[str, Any]:
    """Return a message as the service keeps it, under its own id where it has one.

    What is not JSON in it (a tool's artifact may be anything) is kept as its text.
    """
    if isinstance(message, AIMessageChunk):
        message = message_chunk_to_message(message)
    sent = _sent(message)
    read = _content(_read(sent))
    beside = {key: value for key, value in _content(message).items() if key != "id" and read.get(key) != value}
    if beside:
        sent[_BESIDE] = {_OURS: beside}
    if message.id is not None:
        # Some providers' ids have letters in them that the service does not take.
        is_taken = _ID.fullmatch(message.id) is not None
        sent["messageId"] = message.id if is_taken else f"lc_{hashlib.sha256(message.id.encode()).hexdigest()}"
        if not is_taken:
            sent.setdefault(_BESIDE, {_OURS: {}})[_OURS]["id"] = message.id
    return sent


def to_message(stored: Mapping[str, Any]) -> BaseMessage:
    """Return a message of the service's; also of one that another program wrote."""
    message = _read(stored)
    message.id = stored.get("messageId")
    beside = stored.get(_BESIDE)
    ours = beside.get(_OURS) if isinstance(beside, dict) else None
    if isinstance(ours, dict):
        content = _content(message) | ours
        [message] = messages_from_dict([{"type": content["type"], "data": content}])
    return message


def _sent(message: BaseMessage) -> dict[str, Any]:
    if message.type == "ai":
        # Providers write calls of tools in several ways; this makes one of them.
        return {"content": "", **convert_to_openai_messages(message)}
    role = message.role if isinstance(message, ChatMessage) else _ROLES.get(message.type, "user")
    sent: dict[str, Any] = {"role": role if role in _KNOWN_ROLES else "user", "content": _json(message.content)}
    if isinstance(message.content, list):
        sent["content"] = [{"type": "text", "text": one} if isinstance(one, str) else one for one in sent["content"]]
    if message.name:
        sent["name"] = message.name
    if message.type == "tool":
        sent["tool_call_id"] = message.tool_call_id  # type: ignore[attr-defined]
    return sent


def _read(stored: Mapping[str, Any]) -> BaseMessage:
    sent = {key: value for key, value in stored.items() if key not in _OF_THE_SERVICE}
    if sent["role"] == "tool":
        # Ollama's results name their tool and no call.
        sent.setdefault("tool_call_id", "")
    if sent["role"] == "function":
        sent.setdefault("name", "")
    [message] = convert_to_messages([sent])
    return message


def _content(message: BaseMessage) -> dict[str, Any]:
    content: dict[str, Any] = _json(message.model_dump())
    return content


def _json(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))
