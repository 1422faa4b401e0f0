"""The model's own server, spoken to in OpenAI's protocol, and what is read out of its answer while it passes through.

Ollama and Anthropic speak that protocol too, beside their own, so a request is handed on as it came and an answer
comes back as it was sent; nothing is translated.
"""

from __future__ import annotations

import functools
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import orjson

from shared.base.errors import NotFound
from shared.base.setting_groups import ModelSettings
from shared.conversations.chat_message import Sent
from shared.llm.providers import provider_for
from shared.llm.transport import MOST_BYTES, TooMuch, is_loopback
from shared.text.lines import read_json

_CONNECT_SECONDS = 5.0
_DATA = b"data:"
_DONE = b"[DONE]"
_JOINABLE = ("system", "developer", "user")
_KEPT_KEYS = ("role", "content", "tool_calls", "refusal", "annotations")
"""What of an answer is what was said; the rest is about how it came to be."""


_SHORTEST_KEY = 8
"""What is shorter, as a server of one's own may take it, is no secret, and would be found in the middle of words."""


@dataclass(frozen=True)
class Upstream:
    """Where a model is asked."""

    setting: str
    """``PROVIDER:NAME``."""
    base_url: str
    key: str | None = field(repr=False)

    @property
    def name(self) -> str:
        """What the provider calls the model."""
        return self.setting.partition(":")[2]

    def without_key(self, content: bytes) -> bytes:
        """Return what a server said as an app may see it: some repeat the request, and the key with it."""
        if self.key is None or len(self.key) < _SHORTEST_KEY:
            return content
        return content.replace(self.key.encode(), b"[key]")

    @asynccontextmanager
    async def send(self, body: dict[str, Any], read_seconds: float) -> AsyncIterator[httpx.Response]:
        """Send a request and hand over the answer, not read yet. Raises: httpx.TransportError."""
        headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        timeout = httpx.Timeout(read_seconds, connect=_CONNECT_SECONDS)
        # A proxy that the environment names does not lead to this machine itself.
        is_near = is_loopback(self.base_url)
        async with (
            httpx.AsyncClient(timeout=timeout, trust_env=not is_near, verify=_certificates()) as http,
            http.stream(
                "POST", f"{self.base_url}/chat/completions", content=orjson.dumps(body), headers=headers | _JSON
            ) as answer,
        ):
            yield answer


_JSON = {"Content-Type": "application/json"}


@functools.cache
def _certificates() -> ssl.SSLContext:
    # To read them takes longer than most other things a request does.
    return httpx.create_ssl_context()


def joined(messages: Sequence[Sent]) -> list[Sent]:
    """Return messages with what instructions and users say in a row as one each."""
    result: list[Sent] = []
    for one in messages:
        before = result[-1] if result else None
        if before and one["role"] in _JOINABLE and before | {"content": ""} == one | {"content": ""}:
            first, second = before["content"], one["content"]
            if isinstance(first, str) and isinstance(second, str):
                content: Any = f"{first}\n\n{second}"
            else:
                content = [*_as_parts(first), *_as_parts(second)]
            result[-1] = one | {"content": content}
        else:
            result.append(one)
    return result


def _as_parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def models_of(settings: ModelSettings) -> dict[str, str]:
    """Return the models there are, as settings name them, by every name they may be asked for."""
    named: dict[str, str] = {}
    for setting in filter(None, (settings.model, settings.small_model)):
        # A short name that both models have means the first, the large one.
        named.setdefault(setting.partition(":")[2], setting)
        named[setting] = setting
    return named


def upstream_of(name: str, settings: ModelSettings) -> Upstream:
    """Return where the model that was asked for is. Raises: NotFound."""
    models = models_of(settings)
    setting = models.get(name)
    if setting is None:
        known = ", ".join(sorted(models.keys() - models.values())) or "none: set AFTERTHOUGHT_MODEL to PROVIDER:NAME"
        raise NotFound(f"There is no model {name[:200]}. The models of this service: {known}.", code="model_not_found")
    provider, _ = provider_for(setting, settings)
    base_url = f"{provider.address.rstrip('/')}{provider.openai_path}"
    return Upstream(setting, base_url, None if provider.key is None else provider.key.get_secret_value())


@dataclass
class Completion:
    """What an answer said, as far as it has come."""

    text: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    whole: dict[str, Any] | None = None
    """The message, where it came in one piece."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    failed: bool = False

    @property
    def message(self) -> dict[str, Any] | None:
        """The message to record; None where nothing was said."""
        if self.whole is not None:
            message = {key: self.whole[key] for key in _KEPT_KEYS if self.whole.get(key) is not None}
            is_empty = not (message.get("content") or message.get("tool_calls") or message.get("refusal"))
            return None if is_empty else {"content": None} | message | {"role": "assistant"}
        text, refusal = "".join(self.text), "".join(self.refusal)
        calls = [self.calls[index] for index in sorted(self.calls)]
        if not (text or refusal or calls):
            return None
        message = {"role": "assistant", "content": text or None}
        return message | ({"tool_calls": calls} if calls else {}) | ({"refusal": refusal} if refusal else {})

    @property
    def written(self) -> str:
        """Everything that was generated, for an estimate where no count came."""
        message = self.message or {}
        calls = [call["function"] for call in message.get("tool_calls") or () if "function" in call]
        return f"{message.get('content') or ''}{message.get('refusal') or ''}" + "".join(
            f"{one.get('name')} {one.get('arguments')}" for one in calls
        )

    def read_answer(self, content: bytes) -> None:
        """Read an answer that came in one piece. Raises: ValueError."""
        answer = read_json(content)
        if not isinstance(answer, dict):
            raise ValueError("not an object")
        self._count(answer)
        for choice in answer.get("choices") or ():
            if choice.get("index", 0) == 0:
                self.whole = choice["message"]

    def read_event(self, data: bytes) -> bool:
        """Read one event of a stream; return whether it only counts tokens. Raises: ValueError."""
        if data == _DONE:
            return False
        event = read_json(data)
        self.failed = self.failed or "error" in event
        self._count(event)
        choices = event.get("choices") or ()
        for choice in choices:
            if choice.get("index", 0) == 0:
                delta = choice.get("delta") or {}
                self.text.append(delta.get("content") or "")
                self.refusal.append(delta.get("refusal") or "")
                for piece in delta.get("tool_calls") or ():
                    index = piece.get("index", len(self.calls))
                    call = self.calls.setdefault(
                        index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
                    )
                    call["id"] += piece.get("id") or ""
                    for key in ("name", "arguments"):
                        call["function"][key] += (piece.get("function") or {}).get(key) or ""
        return not choices and bool(event.get("usage"))

    def _count(self, answer: dict[str, Any]) -> None:
        usage = answer.get("usage")
        if isinstance(usage, dict):
            self.prompt_tokens = _count_in(usage, "prompt_tokens", self.prompt_tokens)
            self.completion_tokens = _count_in(usage, "completion_tokens", self.completion_tokens)


def _count_in(usage: dict[str, Any], key: str, before: int | None) -> int | None:
    count = usage.get(key)
    return count if isinstance(count, int) and count >= 0 else before


async def events_of(answer: httpx.Response, is_dropped: Callable[[bytes], bool]) -> AsyncIterator[bytes]:
    """Hand a stream of events through as it comes, without the ones that are to be dropped. Raises: TooMuch."""
    rest, size = b"", 0
    async for part in answer.aiter_bytes():
        size += len(part)
        if size > MOST_BYTES:
            raise TooMuch(f"More than {MOST_BYTES} bytes came.")
        # Together with the rest: the end of a line may be cut between two parts.
        *events, rest = (rest + part).replace(b"\r\n", b"\n").split(b"\n\n")
        passed = [event for event in events if not any(is_dropped(data) for data in _data_of(event))]
        if passed:
            yield b"".join(event + b"\n\n" for event in passed)
    if rest.strip() and not any(is_dropped(data) for data in _data_of(rest)):
        yield rest + b"\n\n"


def _data_of(event: bytes) -> list[bytes]:
    return [line[len(_DATA) :].strip() for line in event.split(b"\n") if line.startswith(_DATA)]
