"""A message as chat programs write it, OpenAI's or Anthropic's: kept as it was sent and returned as it was sent.

Says what of it is text, whose words that is, which tools it calls and which results it brings, how long it is, and what
is left of it when it is cut. What becomes of it in a conversation is left to ``lifecycle``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from shared.contracts.values import bounded

Sent = dict[str, Any]
"""A message as it was sent, but for keys whose null says nothing."""
ITEM_CHARS = 4000
"""What an image, a recording or a file is taken to be as long as: 1,000 tokens by the estimate of last resort."""
CUT = " […]"
_EMPTY_PART = "[…]"

_ASSISTANT, _USER, _TOOL = "assistant", "user", "tool"
_STORED_ROLES = {"developer": "system", "function": _TOOL}
_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""Parts that are words, and the key these stand under."""
_ITEMS = frozenset(
    {"image_url", "input_image", "image", "input_audio", "audio", "video_url", "file", "input_file", "document"}
)
_NULLS = frozenset({"content", "refusal", "audio", "function_call"})
"""Keys whose null OpenAI's types allow in a message to send. Others come as null out of a dumped answer."""
_ANSWER_OF_ANTHROPIC = frozenset(
    {"id", "type", "model", "container", "diagnostics", "stop_reason", "stop_sequence", "stop_details", "usage"}
)
_KNOWN_FIRST = "role, content, name, tool_calls, tool_call_id, refusal, function_call, audio, annotations"


class ChatMessage(BaseModel):
    """A message, as OpenAI's chat completions or Anthropic's messages have it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: Literal["user", "assistant", "system", "developer", "tool", "function"]
    content: str | list[dict[str, Any]] | None = Field(
        None, description="Text, parts (text, image_url, tool_use, tool_result and others), or null beside tool_calls."
    )
    name: Annotated[str, Field(max_length=200)] | None = None
    tool_calls: list[dict[str, Any]] | None = Field(None, description="The calls an assistant makes.")
    tool_call_id: str | None = Field(None, description="Of the call this is the result of.")
    function_call: dict[str, Any] | None = Field(None, description="What tool_calls replaced.")
    refusal: str | None = None
    audio: dict[str, Any] | None = None
    annotations: list[dict[str, Any]] | None = None
    # What servers that speak OpenAI's protocol, and libraries in front of them, put beside these.
    reasoning: Any = None
    reasoning_content: Any = None
    reasoning_details: Any = None
    thinking: Any = None
    thinking_blocks: Any = None
    images: list[Any] | None = None
    parsed: Any = None
    tool_name: str | None = None
    cache_control: Any = None
    provider_specific_fields: Any = None

    @model_validator(mode="before")
    @classmethod
    def _has_known_keys(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        if given.get("type") == "message":
            given = {key: value for key, value in given.items() if key not in _ANSWER_OF_ANTHROPIC}
        bounded(given)
        known = {field.alias or name for name, field in cls.model_fields.items()}
        unknown = next((key for key in given if key not in known), None)
        if unknown is not None and cls.model_config["extra"] == "forbid":
            own = "".join(f", {field.alias}" for field in cls.model_fields.values() if field.alias)
            raise ValueError(f"{unknown[:40]} is no key of a message; {_KNOWN_FIRST}{own} are, and a few more")
        return given

    @field_validator("content", mode="before")
    @classmethod
    def _has_readable_content(cls, content: Any) -> Any:
        if not isinstance(content, str | list | None):
            raise ValueError("must be text, a list of parts, or null")
        if isinstance(content, list):
            _check_parts(content)
        return content

    @field_validator("tool_calls")
    @classmethod
    def _has_readable_calls(cls, calls: list[Sent] | None) -> list[Sent] | None:
        for number, call in enumerate(calls or ()):
            if not isinstance(call.get("id", ""), str):
                raise ValueError(f"the id of call {number} must be text")
            if isinstance(call.get("custom"), dict):
                _check_fields(f"custom of call {number}", call["custom"], {"name": str, "input": str})
            else:
                _check_fields(f"call {number}", call, {"function": dict})
                _check_function(f"function of call {number}", call["function"])
        return calls

    @field_validator("function_call")
    @classmethod
    def _has_readable_call(cls, call: Sent | None) -> Sent | None:
        if call is not None:
            _check_function("it", call)
        return call

    @model_validator(mode="after")
    def _says_something(self) -> ChatMessage:
        if self.content is None and self.role not in (_ASSISTANT, "function"):
            raise ValueError(f"the content of a message of role {self.role} must be text or a list of parts")
        other_content = (self.tool_calls, self.function_call, self.refusal, self.audio)
        if self.content is None and "content" not in self.model_fields_set and not any(other_content):
            raise ValueError("has neither content nor tool_calls")
        return self

    @property
    def sent(self) -> Sent:
        """The message with exactly the keys that were sent, but for a null that says nothing."""
        # Of this class alone: fields that a subclass adds are ours, and no part of the message.
        given = {name: getattr(self, name) for name in ChatMessage.model_fields if name in self.model_fields_set}
        return {key: value for key, value in given.items() if value is not None or key in _NULLS}

    @property
    def payload(self) -> Sent | None:
        """What is kept beside role, name and text; None where these say all of it."""
        sent = self.sent
        is_plain = sent.keys() <= {"role", "content", "name"} and isinstance(self.content, str) and self.name != ""
        return None if is_plain and self.role not in _STORED_ROLES else sent


class PassedMessage(ChatMessage):
    """A message that is handed on to a model's server, which may know keys that we do not."""

    model_config = ConfigDict(extra="allow")

    @property
    def as_it_came(self) -> Sent:
        """The message with these keys too."""
        return self.sent | (self.model_extra or {})


def checked(given: Sent) -> Sent:
    """Return a message as it is kept. Raises: ValueError."""
    return ChatMessage.model_validate(given).sent


def _check_parts(parts: Sequence[Any]) -> None:
    for number, part in enumerate(parts):
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise ValueError(f"part {number} must be an object with a type, such as {{type: text, text: ...}}")
        kind = part["type"]
        if kind in _TEXTS:
            _check_fields(f"part {number} ({kind})", part, {_TEXTS[kind]: str})
        elif kind == "tool_use":
            _check_fields(f"part {number} ({kind})", part, {"id": str, "name": str, "input": dict})
        elif kind == "tool_result":
            _check_fields(f"part {number} ({kind})", part, {"tool_use_id": str})
            if not isinstance(part.get("content"), str | list | None):
                raise ValueError(f"content of part {number} ({kind}) must be text or a list of parts")
            if isinstance(part.get("content"), list):
                _check_parts(part["content"])


def _check_function(what: str, function: Mapping[str, Any]) -> None:
    # Ollama's own protocol has an object where OpenAI's has a text of JSON.
    _check_fields(what, function, {"name": str, "arguments": (str, dict)})


def _check_fields(what: str, value: Mapping[str, Any], fields: Mapping[str, type | tuple[type, ...]]) -> None:
    for name, kind in fields.items():
        if not isinstance(value.get(name), kind):
            expected = "an object" if kind is dict else "text"
            raise ValueError(f"{what} must have {name}: {expected}")


def as_sent(role: str, content: str, name: str | None, payload: Sent | None) -> Sent:
    if payload is not None:
        return payload
    return {"role": role, "content": content} | ({} if name is None else {"name": name})


def size_of(content: str, payload: Sent | None) -> int:
    """Return the characters a message takes, everything in it counted."""
    return len(content) if payload is None else len(_as_json(payload))


def role_of(sent: Sent) -> str:
    """Return whose words a message holds: what Anthropic has a user say of a tool's result is the tool's."""
    role = str(sent["role"])
    content = sent.get("content")
    if role == _USER and isinstance(content, list) and _is_all_results(content):
        return _TOOL
    return _STORED_ROLES.get(role, role)


def text_of(sent: Sent) -> str:
    """Return the words of who speaks: no image, no call of a tool, and of a result only where nothing else was said."""
    content = sent.get("content")
    if isinstance(content, list):
        is_result = role_of(sent) == _TOOL
        content = "\n".join(filter(None, (_words(part, is_result) for part in content)))
    audio = sent.get("audio")
    transcript = audio.get("transcript") if isinstance(audio, dict) else None
    candidates = (content, sent.get("refusal"), transcript)
    return next((one for one in candidates if isinstance(one, str) and one), "")


def _is_all_results(parts: Sequence[Sent]) -> bool:
    others = [part for part in parts if part["type"] != "tool_result"]
    return len(others) < len(parts) and all(part["type"] in _TEXTS and not _words(part).strip() for part in others)


def _words(part: Sent, is_result: bool = False) -> str:
    if part["type"] in _TEXTS:
        return str(part[_TEXTS[part["type"]]])
    if part["type"] != "tool_result" or not is_result:
        return ""
    content = part.get("content") or ""
    return content if isinstance(content, str) else "\n".join(filter(None, map(_words, content)))


def unspoken(payload: Sent | None) -> list[str]:
    """Return, for who reads along, a line for each thing in a message beside its text: calls, results, images."""
    if payload is None:
        return []
    lines = [f"(calls {name}({arguments}))" for name, arguments in _named_calls(payload)]
    if role_of(payload) != _TOOL:
        results = [part for part in _parts(payload) if part["type"] == "tool_result"]
        lines += [f"(result of a tool: {_words(part, is_result=True)})" for part in results]
    return lines + [f"({part['type']})" for part in _parts(payload) if part["type"] in _ITEMS]


def _named_calls(sent: Sent) -> list[tuple[str, str]]:
    functions = [call.get("function") or call.get("custom") or {} for call in sent.get("tool_calls") or ()]
    functions += filter(None, [sent.get("function_call")])
    functions += [part for part in _parts(sent) if part["type"] == "tool_use"]
    found = [(one, one.get("arguments", one.get("input", ""))) for one in functions]
    return [(str(one.get("name")), given if isinstance(given, str) else _as_json(given)) for one, given in found]


def _parts(sent: Sent) -> list[Sent]:
    content = sent.get("content")
    return content if isinstance(content, list) else []


class Linked(Protocol):
    """A message as far as calls of tools and their results go."""

    @property
    def role(self) -> str:
        """Whose words it holds."""

    @property
    def payload(self) -> Sent | None:
        """The message as it was sent, where that is kept."""


def owners_of(messages: Sequence[Linked]) -> list[int]:
    """Return for each message the one it stays or goes with: a tool's result with the call it names.

    A result that names none goes with the last message of the assistant before it. Results of several messages that
    stand in one message join these.
    """
    owners = list(range(len(messages)))
    callers: dict[str, int] = {}
    last: int | None = None
    for i, one in enumerate(messages):
        payload = one.payload
        # Nearly all of the thousands of messages of a long conversation have none.
        called = {owners[callers[id_]] for id_ in results_of(payload) if id_ in callers} if payload else None
        if not called and one.role == _TOOL and last is not None:
            called = {owners[last]}
        if called:
            owners[i] = min(called)
            if len(called) > 1:
                owners = [owners[i] if owner in called else owner for owner in owners]
        if one.role == _ASSISTANT:
            last = i
            if payload:
                callers.update(dict.fromkeys(calls_of(payload), i))
    return owners


def calls_of(payload: Sent | None) -> list[str]:
    if payload is None:
        return []
    ids = [call.get("id", "") for call in payload.get("tool_calls") or ()]
    return [one for one in ids + [part["id"] for part in _parts(payload) if part["type"] == "tool_use"] if one]


def results_of(payload: Sent | None) -> list[str]:
    """Return the ids of the calls whose results a message brings."""
    if payload is None:
        return []
    ids = [payload.get("tool_call_id")] + [p["tool_use_id"] for p in _parts(payload) if p["type"] == "tool_result"]
    return [one for one in ids if one]


def is_only_a_call(content: str, payload: Sent | None) -> bool:
    """Whether an assistant's message calls tools and says nothing: its answer is still to come."""
    return not content.strip() and payload is not None and bool(_named_calls(payload))


def chars_of(payload: Sent) -> int:
    """Return how many characters a model reads of a message, an image or a file counted as ``ITEM_CHARS``.

    The names and ids of calls are not counted, as roles and names of messages are not.
    """
    texts, calls, others = _lengths(payload)
    return texts + calls + others


def _lengths(sent: Sent) -> tuple[int, int, int]:
    """Return the lengths of what can be cut, of what is given to tools, and of all else."""
    texts, calls, others = _content_lengths(sent.get("content"))
    texts += len(sent.get("refusal") or "")
    called = [call.get("function") or call.get("custom") or {} for call in sent.get("tool_calls") or ()]
    called += filter(None, [sent.get("function_call")])
    calls += sum(map(_given_length, called))
    others += ITEM_CHARS * (bool(sent.get("audio")) + len(sent.get("images") or ()))
    others += sum(len(_as_json(sent[key])) for key in sent.keys() - _FRAME - _COUNTED_OTHERWISE if sent[key])
    return texts, calls, others


_FRAME = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "tool_name", "function_call", "refusal"})
"""Keys that a message keeps when it is cut."""
_COUNTED_OTHERWISE = frozenset({"audio", "images", "annotations"})


def _content_lengths(content: Any) -> tuple[int, int, int]:
    if content is None or isinstance(content, str):
        return len(content or ""), 0, 0
    texts = calls = others = 0
    for part in content:
        kind = part["type"]
        if kind in _TEXTS:
            texts += len(part[_TEXTS[kind]])
        elif kind == "tool_use":
            calls += _given_length(part)
        elif kind == "tool_result":
            inner = _content_lengths(part.get("content"))
            texts, calls, others = texts + inner[0], calls + inner[1], others + inner[2]
        else:
            others += ITEM_CHARS if kind in _ITEMS else len(_as_json(part))
    return texts, calls, others


def _given_length(call: Sent) -> int:
    given = call.get("arguments", call.get("input", ""))
    # What an emptied call keeps counts for nothing, or a message could not be cut down to it.
    if given in ("{}", {}):
        return 0
    return len(given) if isinstance(given, str) else len(_as_json(given))


def shortened(payload: Sent, chars: int) -> Sent:
    """Return a message of at most so many characters, as ``chars_of`` counts them, in a shape that is still valid.

    Text is cut at its end. What calls give to tools stays whole, or all of it is emptied; ids stay always. All else
    (images, thoughts) stays where it takes no more than half of what is left, or goes.
    """
    _, calls, others = _lengths(payload)
    keeps_given = calls <= chars
    left = chars - calls if keeps_given else chars
    keeps_others = others <= left // 2
    cutter = _Cutter(left - others if keeps_others else left, keeps_given, keeps_others)
    return cutter.message(payload)


@dataclass
class _Cutter:
    """Cuts one message; ``left`` is what its text may still take."""

    left: int
    keeps_given: bool
    keeps_others: bool

    def message(self, sent: Sent) -> Sent:
        result = dict(sent) if self.keeps_others else {key: sent[key] for key in sent if key in _FRAME}
        if result.get("content") is not None:
            result["content"] = self.content(result["content"])
        if isinstance(result.get("refusal"), str):
            result["refusal"] = self.text(result["refusal"])
        if not self.keeps_given and result.get("function_call"):
            result["function_call"] = _emptied(result["function_call"])
        if not self.keeps_given and result.get("tool_calls"):
            result["tool_calls"] = [self.call(call) for call in result["tool_calls"]]
        return result

    def call(self, call: Sent) -> Sent:
        kind = "function" if call.get("function") else "custom"
        return {**call, kind: _emptied(call[kind])}

    def content(self, content: str | list[Sent]) -> str | list[Sent]:
        if isinstance(content, str):
            return self.text(content)
        # What a person wrote beside a tool's result goes before the result.
        order = sorted(range(len(content)), key=lambda index: content[index]["type"] == "tool_result")
        cut = {index: self.part(content[index]) for index in order}
        parts = [part for index in range(len(content)) if (part := cut[index]) is not None]
        # Neither OpenAI nor Anthropic takes a list without parts.
        return parts if parts or not content else [{"type": "text", "text": self.text(_EMPTY_PART)}]

    def part(self, part: Sent) -> Sent | None:
        kind = part["type"]
        if kind in _TEXTS:
            text = self.text(part[_TEXTS[kind]])
            return {**part, _TEXTS[kind]: text} if text else None
        if kind == "tool_use":
            return part if self.keeps_given else _emptied(part)
        if kind == "tool_result":
            return {**part, "content": self.content(part["content"])} if part.get("content") else part
        return part if self.keeps_others else None

    def text(self, text: str) -> str:
        cut = cut_text(text, self.left)
        self.left -= len(cut)
        return cut


def cut_text(text: str, chars: int) -> str:
    """Return a text cut at its end to so many characters, with a mark where there is room for one."""
    if len(text) <= chars:
        return text
    return text[: chars - len(CUT)] + CUT if chars > len(CUT) else text[: max(chars, 0)]


def _emptied(call: Sent) -> Sent:
    if "arguments" in call:
        return {**call, "arguments": "{}" if isinstance(call["arguments"], str) else {}}
    # A custom call of OpenAI's is given text where a tool_use of Anthropic's has an object.
    return {**call, "input": "" if isinstance(call["input"], str) else {}}


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
