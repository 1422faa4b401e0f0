"""The routes of OpenAI's protocol: a request is recorded, given its context, handed on, and its answer recorded.

The answer goes to the client as it comes, and is put together beside that. What it cost is booked however it ended; an
answer that was broken off is recorded as far as it came, because so far it was read.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import anyio
import httpx
from anyio.to_thread import run_sync
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from loop.api.errors import body_error, refuse
from loop.api.inside import as_header, id_in, memory_mode, own_client, whose
from loop.api.observing import PlainRoute
from loop.api.policy import OF_TOKEN
from loop.completions.memory import ChatMemory, Refused
from loop.completions.upstream import Completion, Upstream, events_of, joined, models_of, upstream_of
from loop.wiring import Loop
from shared.apps.models import AnsweredBy
from shared.apps.queries import get_installed_app
from shared.base.errors import Conflict, Invalid, OverBudget
from shared.contracts.values import UserId
from shared.conversations.chat_message import PassedMessage, chars_of
from shared.conversations.queries import get_conversation
from shared.energy.accounting import Accountant
from shared.energy.ledger import LedgerAccount
from shared.llm.calls import LAST_RESORT, CallEstimate, CallOutcome, Meter, ModelCall, WorkKind, estimate_tokens
from shared.llm.transport import TooMuch
from shared.telemetry.logging import get_logger

CONVERSATION_HEADER = "X-Conversation-Id"
_ANSWER_SECONDS = 600.0
"""The longest silence of a model, and how long its price stays set aside: what OpenAI's own clients wait."""
_MOST_TOKENS = 2**31 - 1
_SPEAKS_OF_ROLES = re.compile(rb"alternat|\brole|system message", re.IGNORECASE)
"""In what servers answer whose template wants one system message, or user and assistant in turn (Gemma, Mistral)."""
_NO_RETRY = {"x-should-retry": "false"}
"""OpenAI's clients repeat a 429 at once, which a spent budget does not help."""


class ChatCompletionRequest(BaseModel):
    """What of a request is looked at; the rest is handed on as it is."""

    model_config = ConfigDict(extra="allow")

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[PassedMessage], Field(min_length=1, max_length=10_000)]
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    user: UserId | None = None
    max_tokens: Annotated[int, Field(ge=1, le=_MOST_TOKENS)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1, le=_MOST_TOKENS)] | None = None


@dataclass
class _HandedOn:
    """One question handed on to a model, and what came back."""

    memory: ChatMemory
    upstream: Upstream
    meter: Meter
    estimate: CallEstimate
    body: dict[str, Any]
    wants_usage: bool
    completion: Completion = field(default_factory=Completion)
    outcome: CallOutcome = CallOutcome.UNAVAILABLE
    began: float = field(default_factory=time.monotonic)

    @property
    def headers(self) -> dict[str, str]:
        """What tells a client which conversation it is in; nothing where it is recorded in none."""
        return {} if self.memory.is_off else {CONVERSATION_HEADER: as_header(self.memory.conversation_id)}

    async def finish(self) -> None:
        """Book the call and record what was said. Raises: Refused."""
        # A client that hangs up cancels whatever is being done for it.
        with anyio.CancelScope(shield=True):
            # Booked first: it was paid for, whether the answer can be recorded or not.
            await run_sync(self._book)
            message = self.completion.message
            if message is not None:
                await self.memory.record_answer(message)

    def _book(self) -> None:
        done, estimate = self.completion, self.estimate
        was_asked = self.outcome not in (CallOutcome.UNAVAILABLE, CallOutcome.REFUSED)
        prompt, completion = done.prompt_tokens, done.completion_tokens
        self.meter(
            ModelCall(
                kind=estimate.kind,
                model=estimate.model,
                prompt_tokens=(estimate.likely_prompt_tokens if prompt is None else prompt) if was_asked else 0,
                completion_tokens=estimate_tokens(done.written) if completion is None else completion,
                estimated=prompt is None or completion is None,
                outcome=self.outcome,
                seconds=time.monotonic() - self.began,
            )
        )


async def list_models(request: Request) -> Response:
    """Answer ``GET /v1/models``."""
    loop: Loop = request.app.state.loop
    named = {name: setting for name, setting in models_of(loop.settings).items() if name != setting}
    rows = [
        {"id": name, "object": "model", "created": 0, "owned_by": setting.partition(":")[0]}
        for name, setting in named.items()
    ]
    return JSONResponse({"object": "list", "data": rows})


async def complete_chat(request: Request) -> Response:
    """Answer ``POST /v1/chat/completions``."""
    loop: Loop = request.app.state.loop
    content = await request.body()
    try:
        completion_request = ChatCompletionRequest.model_validate_json(content)
    except ValidationError as error:
        raise body_error(error) from error
    memory, named = _memory(request, loop, completion_request)
    upstream = upstream_of(completion_request.model, loop.settings)
    exchange: _HandedOn | None = None
    try:
        await run_sync(_check_app, loop, memory.app_id)
        await memory.record_question(named)
        messages = await memory.recall()
        exchange = await run_sync(_reserve, loop, memory, upstream, completion_request, messages)
    except Refused as refused:
        return refused.response
    except OverBudget as error:
        answer = refuse(429, "insufficient_quota", error.message)
        answer.headers.update(_NO_RETRY)
        return answer
    finally:
        # Else it is closed by `_finish`, which records the answer through it.
        if exchange is None:
            await memory.http.aclose()
    return await _hand_on(exchange)


def _memory(request: Request, loop: Loop, completion_request: ChatCompletionRequest) -> tuple[ChatMemory, str | None]:
    app_id, user_id = whose(request.state.caller, request.headers)
    if user_id is not None and completion_request.user not in (None, user_id):
        raise Invalid("user: another is named in X-User-Id; name one, or the same twice.")
    http = own_client(request.scope)
    mode, named = memory_mode(request.headers), id_in(request.headers, CONVERSATION_HEADER)
    return ChatMemory(
        http, loop.database, app_id, user_id or completion_request.user, completion_request.messages, mode=mode
    ), named


def _check_app(loop: Loop, app_id: str) -> None:
    with loop.database.read() as session:
        if get_installed_app(session, app_id).answered_by == AnsweredBy.LOOP and loop.settings.thinking:
            raise Conflict(
                "This app is answered by the loop, which would answer a second time. Set its answeredBy to app.",
                code="answered_by_loop",
            )


def _reserve(
    loop: Loop,
    memory: ChatMemory,
    upstream: Upstream,
    completion_request: ChatCompletionRequest,
    messages: list[dict[str, Any]],
) -> _HandedOn:
    """Set aside what the call may cost. Raises: OverBudget."""
    settings = loop.settings
    with loop.database.read() as session:
        key = None
        if not memory.is_off:
            key = get_conversation(session, memory.app_id, memory.conversation_id).key
    extra = completion_request.model_extra or {}
    chars = sum(map(chars_of, messages)) + len(str(extra.get("tools") or ""))
    most = completion_request.max_completion_tokens or completion_request.max_tokens or settings.model_context_tokens
    likely = LAST_RESORT.tokens_in(chars)
    estimate = CallEstimate(WorkKind.CHAT, upstream.setting, min(chars, settings.model_context_tokens), most, likely)
    accountant = Accountant(loop.database, loop.clock, settings, loop.metrics, _ANSWER_SECONDS, loop.tracing)
    meter = accountant.meter(LedgerAccount(memory.app_id, None, key))
    meter.reserve(estimate)
    wants_usage = bool((completion_request.stream_options or {}).get("include_usage"))
    body = extra | {"model": upstream.name, "messages": messages}
    for name in ("max_tokens", "max_completion_tokens", "stream", "user"):
        value = getattr(completion_request, name)
        body |= {} if value is None else {name: value}
    if completion_request.stream:
        # Counts are asked for in any case, as they are booked; a client that did not ask is not shown them.
        body["stream_options"] = (completion_request.stream_options or {}) | {"include_usage": True}
    return _HandedOn(memory, upstream, meter, estimate, body, wants_usage)


async def _hand_on(exchange: _HandedOn) -> Response:
    """Ask the model, and answer as it does; once more where its template takes no two of one role in a row."""
    opened = exchange.upstream.send(exchange.body, _ANSWER_SECONDS)
    try:
        answer = await opened.__aenter__()
    except httpx.TransportError as error:
        return await _away(exchange, error)
    if answer.is_success and exchange.body.get("stream"):
        exchange.outcome = CallOutcome.ANSWERED
        parts = _streamed(exchange, answer, opened)
        return StreamingResponse(parts, answer.status_code, exchange.headers, "text/event-stream")
    try:
        content = await answer.aread()
    except httpx.TransportError as error:
        return await _away(exchange, error)
    finally:
        await opened.__aexit__(None, None, None)
    if not answer.is_success:
        messages = exchange.body["messages"]
        if _SPEAKS_OF_ROLES.search(content) and (as_one := joined(messages)) != messages:
            # Only once: what was joined has nothing left to join.
            exchange.body["messages"] = as_one
            return await _hand_on(exchange)
        exchange.outcome = CallOutcome.REFUSED
        await _finish(exchange)
        setting = exchange.upstream.setting
        if answer.status_code in (401, 403):
            # In its words, which may hold the key, it would also look as if the app's own token were meant.
            return refuse(502, "model_key", f"The server of {setting} does not accept the key this service has.")
        kept = {name: answer.headers[name] for name in ("retry-after",) if name in answer.headers}
        safe_content = exchange.upstream.without_key(content)
        return Response(safe_content, answer.status_code, kept | exchange.headers, answer.headers.get("content-type"))
    return await _whole(exchange, content)


async def _whole(exchange: _HandedOn, content: bytes) -> Response:
    try:
        exchange.completion.read_answer(content)
        exchange.outcome = CallOutcome.ANSWERED
    except (ValueError, KeyError, TypeError, AttributeError):
        exchange.outcome = CallOutcome.MALFORMED
        # What was read of it until it could not be read is no answer.
        exchange.completion = Completion()
    await _finish(exchange)
    if exchange.outcome is CallOutcome.MALFORMED:
        return refuse(502, "model_answer", f"{exchange.upstream.setting} did not answer in OpenAI's protocol.")
    return Response(exchange.upstream.without_key(content), 200, exchange.headers, "application/json")


async def _streamed(exchange: _HandedOn, answer: httpx.Response, opened: Any) -> AsyncIterator[bytes]:
    completion = exchange.completion

    def is_dropped(data: bytes) -> bool:
        try:
            only_counts = completion.read_event(data)
        except (ValueError, KeyError, TypeError, AttributeError):
            # Handed on all the same, as the client may make something of it.
            exchange.outcome = CallOutcome.MALFORMED
            return False
        return only_counts and not exchange.wants_usage

    try:
        async for part in events_of(answer, is_dropped):
            yield exchange.upstream.without_key(part)
    except (httpx.TransportError, TooMuch) as error:
        exchange.outcome = CallOutcome.TIMEOUT
        get_logger().warning("completion_broke_off", model=exchange.upstream.setting, error=type(error).__name__)
        broken = refuse(502, "model_broke_off", f"{exchange.upstream.setting} broke its answer off; ask again.")
        yield b"data: " + bytes(broken.body) + b"\n\n"
    finally:
        with anyio.CancelScope(shield=True):
            await opened.__aexit__(None, None, None)
            await _finish(exchange)


async def _finish(exchange: _HandedOn) -> None:
    """Finish an exchange that the client has its answer of, or cannot be told more about."""
    with anyio.CancelScope(shield=True):
        try:
            await exchange.finish()
        except Refused as refused:
            # It comes again with the next request of the conversation, and is recorded then.
            get_logger().warning("answer_not_recorded", status=refused.response.status_code)
        finally:
            await exchange.memory.http.aclose()


async def _away(exchange: _HandedOn, error: httpx.TransportError) -> Response:
    is_late = isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout)
    exchange.outcome = CallOutcome.TIMEOUT if is_late else CallOutcome.UNAVAILABLE
    await _finish(exchange)
    what = "did not answer in time" if is_late else "cannot be reached"
    return refuse(503, "model_unavailable", f"The server of {exchange.upstream.setting} {what}; try again.")


COMPLETION_ROUTES = [
    PlainRoute("/v1/models", list_models, ["GET"], OF_TOKEN),
    PlainRoute("/v1/chat/completions", complete_chat, ["POST"], OF_TOKEN),
]
