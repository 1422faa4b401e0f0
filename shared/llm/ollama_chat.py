"""Chats over Ollama, with and without tools, through langchain's model and Ollama's own client.

Importing this costs most of a second, so only ``providers`` does, when a model is configured. It adds what the
libraries leave open: one total deadline, the window sent explicitly, endings told apart, and every call reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import httpx
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_ollama import ChatOllama
from ollama import ResponseError
from pydantic import ValidationError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_fixed

from shared.errors import AfterthoughtError, Configuration, ProviderAway, Transient
from shared.llm.calls import CallOutcome, Meter
from shared.llm.chat import (
    AnswerT,
    Chat,
    ModelRequest,
    PromptCut,
    Question,
    Reply,
    ToolCall,
    Unusable,
    call_of,
    check_fit,
    check_whole,
    prospect_of,
    read_reply,
)
from shared.llm.ollama_status import GATEWAY_STATUSES, is_there
from shared.llm.tools import Exchange, ExchangeLine, Speaker, ToolChat
from shared.llm.transport import DeadlineTransport, TooMuch, is_loopback

_CHAT_NEEDS = "Structured answers need Ollama 0.5 or newer and a chat model."


class OllamaChat(Chat):
    """One model of one Ollama server. Build it after a fork, and close it."""

    def __init__(self, model: str, host: str, context_tokens: int) -> None:
        """Take ``model`` as Ollama names it; ``context_tokens`` is sent as num_ctx with every call."""
        self._model = OllamaModel(model, host, context_tokens, _CHAT_NEEDS)
        self.name = self._model.name

    def close(self) -> None:
        """Close the connections."""
        self._model.close()

    def ask(self, question: Question[AnswerT], seconds: float, meter: Meter) -> AnswerT:
        asking = OllamaRequest(
            question,
            lambda: self._stream(question),
            lambda reply: read_reply(question, reply, self._model.context_tokens),
        )
        return self._model.ask(asking, seconds, meter)

    def _stream(self, question: Question[AnswerT]) -> Chunks:
        options = self._model.options(question) | {"temperature": question.temperature}
        yield from self._model.langchain.stream(
            _messages(question), format=question.answer.model_json_schema(), options=options
        )


def _messages(question: Question[AnswerT]) -> list[BaseMessage]:
    messages: list[BaseMessage] = [SystemMessage(question.system), HumanMessage(question.user)]
    if question.previous is not None and question.complaint is not None:
        messages += [AIMessage(question.previous), HumanMessage(question.complaint)]
    return messages


_TOOL_NEEDS = "Thinking needs a model that can use tools, for example llama3.2 or qwen3."


class OllamaToolChat(ToolChat):
    """One model of one Ollama server. Build it after a fork, and close it."""

    def __init__(self, model: str, host: str, context_tokens: int) -> None:
        """Take ``model`` as Ollama names it; ``context_tokens`` is sent as num_ctx with every call."""
        self._model = OllamaModel(model, host, context_tokens, _TOOL_NEEDS)

    @property
    def name(self) -> str:
        return self._model.name

    def close(self) -> None:
        self._model.close()

    def reply(self, exchange: Exchange, seconds: float, meter: Meter) -> Reply:
        def read(reply: Reply) -> Reply:
            check_whole(exchange, reply, self._model.context_tokens)
            return reply

        return self._model.ask(OllamaRequest(exchange, lambda: self._stream(exchange), read), seconds, meter)

    def _stream(self, exchange: Exchange) -> Chunks:
        bound = self._model.langchain.bind_tools(exchange.tools)
        said = [_message(line) for line in exchange.lines]
        # A chat model's stream yields chunks, though its type speaks of whole messages.
        yield from bound.stream(said, options=self._model.options(exchange))  # type: ignore[misc]


def _message(line: ExchangeLine) -> BaseMessage:
    match line.speaker:
        case Speaker.SYSTEM:
            return SystemMessage(line.text)
        case Speaker.USER:
            return HumanMessage(line.text)
        case Speaker.TOOL:
            return ToolMessage(line.text, tool_call_id=line.call_id)
        case Speaker.MODEL:
            calls = [{"id": call.call_id, "name": call.name, "args": call.arguments} for call in line.calls]
            return AIMessage(line.text, tool_calls=calls)


_HICCUP_WAIT_SECONDS = 0.2
_TRANSIENT_STATUSES = frozenset({-1, 408, 429})
"""-1 is how Ollama's client reports an error line inside a stream."""
ValueT = TypeVar("ValueT")
Chunks = Generator[AIMessageChunk, None, None]


@dataclass(frozen=True)
class OllamaRequest(Generic[ValueT]):
    """What is asked of a model, how, and how its reply is read."""

    asked: ModelRequest
    stream: Callable[[], Chunks]
    read: Callable[[Reply], ValueT]


class OllamaModel:
    """One model of one Ollama server. Build it after a fork, and close it."""

    def __init__(self, model: str, host: str, context_tokens: int, needs: str) -> None:
        """Take ``model`` as Ollama names it; ``context_tokens`` is sent as num_ctx with every call.

        It is one constant per model, because Ollama loads a model anew whenever num_ctx changes. ``needs`` says what
        to look for when Ollama refuses a request.
        """
        self.name = f"ollama:{model}"
        self.context_tokens = context_tokens
        self._model = model
        self._host = host
        self._needs = needs
        self._transport = DeadlineTransport()
        self.langchain = ChatOllama(
            model=model,
            base_url=host,
            temperature=0.0,
            num_ctx=context_tokens,
            reasoning=False,
            # A proxy that the environment names does not lead to this machine itself.
            sync_client_kwargs={"transport": self._transport, "trust_env": not is_loopback(host)},
        )

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def options(self, asked: ModelRequest) -> dict[str, Any]:
        """Return everything Ollama would otherwise assume."""
        return {"num_ctx": self.context_tokens, "num_predict": asked.max_completion_tokens, "temperature": 0.0}

    def ask(self, asking: OllamaRequest[ValueT], seconds: float, meter: Meter) -> ValueT:
        """Return what is read from the reply, within ``seconds`` in total; errors are those of ``Chat.ask``."""
        check_fit(asking.asked, self.context_tokens)
        end = time.monotonic() + seconds
        attempts = Retrying(
            stop=stop_after_attempt(2),
            wait=wait_fixed(_HICCUP_WAIT_SECONDS),
            retry=retry_if_exception_type(_Hiccup),
            reraise=True,
        )
        try:
            for attempt in attempts:
                with attempt:
                    return self._ask_once(asking, end, meter)
        except _Unreached:
            # Nothing was asked, yet whoever watches the calls must see that they fail.
            failed = time.monotonic() - end + seconds
            meter(call_of(asking.asked, self.name, _NOTHING, CallOutcome.UNAVAILABLE, failed))
            raise
        raise AssertionError("tenacity ends with an answer or an error")

    def _ask_once(self, asking: OllamaRequest[ValueT], end: float, meter: Meter) -> ValueT:
        started = time.monotonic()
        if started >= end:
            raise Transient("No time is left to ask the model.")
        meter.reserve(prospect_of(asking.asked, self.name))
        call = _Call(self, end)
        try:
            with call.watched():
                return asking.read(self._receive(asking.stream, call))
        finally:
            if call.reached:
                meter(call_of(asking.asked, self.name, call.reply, call.outcome, time.monotonic() - started))

    def _receive(self, stream: Callable[[], Chunks], call: _Call) -> Reply:
        # Closed at once however it ends, so that Ollama stops generating for nobody.
        with self._transport.limit(call.end - time.monotonic()), closing(stream()) as chunks:
            for chunk in chunks:
                call.take(chunk)
        if not call.ended:
            raise httpx.RemoteProtocolError("The stream ended before the answer did.")
        return call.reply

    def translate(self, error: Exception, *, late: bool) -> tuple[CallOutcome, AfterthoughtError]:
        """Say in our words what a foreign error means; ``late``: the deadline has passed."""
        if isinstance(error, httpx.ConnectTimeout) and not late:
            return CallOutcome.UNAVAILABLE, self.unreached()
        if late or isinstance(error, httpx.TimeoutException):
            return CallOutcome.TIMEOUT, Transient(f"{self.name} did not answer in time.")
        if isinstance(error, TooMuch):
            return CallOutcome.TRUNCATED, Unusable(CallOutcome.TRUNCATED, "it is far longer than was asked for", "")
        if isinstance(error, ResponseError):
            return self._translate_status(error)
        if isinstance(error, ValidationError | OutputParserException):
            return CallOutcome.MALFORMED, Unusable(CallOutcome.MALFORMED, "its tool calls are malformed", "")
        if isinstance(error, ConnectionError | httpx.ConnectError):
            return CallOutcome.UNAVAILABLE, self.unreached()
        if isinstance(error, httpx.TransportError):
            return CallOutcome.UNAVAILABLE, _Hiccup(f"Ollama at {self._host} broke off: {type(error).__name__}.")
        return CallOutcome.UNAVAILABLE, Transient(
            f"{self._host} does not speak as Ollama does: {type(error).__name__}."
        )

    def unreached(self) -> _Unreached:
        """Return what to raise where nobody answers."""
        return _Unreached(f"Ollama cannot be reached at {self._host}. Is it running?")

    def is_there(self) -> bool:
        """Whether the server answers at all."""
        return is_there(self._host)

    def _translate_status(self, error: ResponseError) -> tuple[CallOutcome, AfterthoughtError]:
        status = error.status_code
        if status in _TRANSIENT_STATUSES or status >= 500:
            return CallOutcome.UNAVAILABLE, Transient(f"Ollama failed while {self.name} answered (status {status}).")
        if status == 404:
            return CallOutcome.REFUSED, Configuration(
                f"Ollama at {self._host} has no model {self._model}. Run: ollama pull {self._model}"
            )
        return CallOutcome.REFUSED, Configuration(
            f"Ollama at {self._host} refused the request to {self.name} with status {status}; its own log says why. "
            + self._needs
        )


class _Hiccup(Transient):
    """A broken connection: worth one more try at once."""


class _Unreached(ProviderAway, _Hiccup):
    """Nobody took the call, so none was made."""


_NOTHING = Reply("", 0, 0)


@dataclass
class _Call:
    """One call while it runs: what has come back so far, and how it ended."""

    model: OllamaModel
    end: float
    reply: Reply = field(default_factory=lambda: Reply(""))
    outcome: CallOutcome = CallOutcome.TIMEOUT
    """Until it is known better: whoever ends a call from outside does so because it took too long."""
    ended: bool = False
    reached: bool = True

    def take(self, chunk: AIMessageChunk) -> None:
        about: dict[str, Any] = chunk.response_metadata
        calls = tuple(ToolCall(call["id"] or "", call["name"], call["args"]) for call in chunk.tool_calls)
        self.reply = replace(self.reply, text=self.reply.text + str(chunk.content), calls=self.reply.calls + calls)
        if about.get("done") is True:
            self.ended = True
            self.reply = replace(
                self.reply,
                prompt_tokens=_believable(about.get("prompt_eval_count"), self.model.context_tokens),
                completion_tokens=_believable(about.get("eval_count"), self.model.context_tokens),
                truncated=about.get("done_reason") == "length",
            )

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Note how the call ends, and let only errors of ours out."""
        try:
            yield
            self.outcome = CallOutcome.ANSWERED
        except Unusable as unusable:
            self.outcome = unusable.outcome
            raise
        except PromptCut:
            self.outcome = CallOutcome.PROMPT_CUT
            raise
        except (ResponseError, httpx.TransportError, OSError) as error:
            self._fail(error)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            # What Ollama's client and langchain raise for a stream that is not Ollama's.
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.outcome, ours = self.model.translate(error, late=time.monotonic() >= self.end)
        # A proxy takes connections, or answers, for a server that is not there.
        is_doubtful = isinstance(ours, _Hiccup) or getattr(error, "status_code", None) in GATEWAY_STATUSES
        if is_doubtful and not (self.reply.text or self.reply.calls) and not self.model.is_there():
            ours = self.model.unreached()
        self.reached = not isinstance(ours, _Unreached)
        if _nothing_was_done(error):
            self.reply = _NOTHING
        raise ours from None


def _believable(tokens: int | None, most: int) -> int | None:
    """Return a count as a server reports it, within what its window allows: it is paid for by this figure."""
    return None if tokens is None else min(max(tokens, 0), most)


def _nothing_was_done(error: Exception) -> bool:
    """Whether the server cannot have spent anything: not reached, or it refused before it began."""
    refused = isinstance(error, ResponseError) and error.status_code != -1
    return refused or isinstance(error, ConnectionError | httpx.ConnectTimeout)
