"""A chat over Ollama, through langchain's model and Ollama's own client.

Importing this costs most of a second, so only ``providers.make_chat`` does, when a model is configured. It adds what
the libraries leave open: one total deadline, the window sent explicitly, endings told apart, and every call reported.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_ollama import ChatOllama
from ollama import ResponseError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_fixed

from shared.errors import AfterthoughtError, Configuration, Transient
from shared.llm.calls import CallOutcome, Meter
from shared.llm.chat import (
    AnswerT,
    Chat,
    PromptCut,
    Question,
    Reply,
    Unusable,
    call_of,
    check_fit,
    prospect_of,
    read_reply,
)
from shared.llm.deadline import DeadlineTransport
from shared.llm.hosts import is_loopback

_HICCUP_WAIT_SECONDS = 0.2
_TRANSIENT_STATUSES = frozenset({-1, 408, 429})
"""-1 is how Ollama's client reports an error line inside a stream."""


class OllamaChat(Chat):
    """One model of one Ollama server. Build it after a fork, and close it."""

    def __init__(self, model: str, host: str, context_tokens: int) -> None:
        """Take ``model`` as Ollama names it; ``context_tokens`` is sent as num_ctx with every call.

        It is one constant per model, because Ollama loads a model anew whenever num_ctx changes.
        """
        self.name = f"ollama:{model}"
        self._model = model
        self._host = host
        self._context_tokens = context_tokens
        self._transport = DeadlineTransport()
        self._langchain = ChatOllama(
            model=model,
            base_url=host,
            temperature=0.0,
            num_ctx=context_tokens,
            reasoning=False,
            sync_client_kwargs={"transport": self._transport, "trust_env": not is_loopback(host)},
        )

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def ask(self, question: Question[AnswerT], seconds: float, meter: Meter) -> AnswerT:
        check_fit(question, self._context_tokens)
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
                    return self._ask_once(question, end, meter)
        except _Unreached:
            # Nothing was asked, yet whoever watches the calls must see that they fail.
            meter(call_of(question, self.name, _NOTHING, CallOutcome.UNAVAILABLE, time.monotonic() - end + seconds))
            raise
        raise AssertionError("tenacity ends with an answer or an error")

    def _ask_once(self, question: Question[AnswerT], end: float, meter: Meter) -> AnswerT:
        started = time.monotonic()
        if started >= end:
            raise Transient("No time is left to ask the model.")
        meter.reserve(prospect_of(question, self.name))
        call = _Call(self, end)
        try:
            with call.watched():
                return read_reply(question, self._receive(question, call), self._context_tokens)
        finally:
            if call.reached:
                meter(call_of(question, self.name, call.reply, call.outcome, time.monotonic() - started))

    def _receive(self, question: Question[AnswerT], call: _Call) -> Reply:
        # Closed at once however it ends, so that Ollama stops generating for nobody.
        with self._transport.limit(call.end - time.monotonic()), closing(self._stream(question)) as chunks:
            for chunk in chunks:
                call.take(chunk)
        if not call.ended:
            raise httpx.RemoteProtocolError("The stream ended before the answer did.")
        return call.reply

    def _stream(self, question: Question[AnswerT]) -> Generator[AIMessageChunk, None, None]:
        options = {
            "num_ctx": self._context_tokens,
            "num_predict": question.max_completion_tokens,
            "temperature": 0.0,
        }
        yield from self._langchain.stream(
            _messages(question), format=question.answer.model_json_schema(), options=options
        )

    def translate(self, error: Exception, *, late: bool) -> tuple[CallOutcome, AfterthoughtError]:
        """Say in our words what a foreign error means; ``late``: the deadline has passed."""
        if late or isinstance(error, httpx.TimeoutException):
            return CallOutcome.TIMEOUT, Transient(f"{self.name} did not answer in time.")
        if isinstance(error, ResponseError):
            return self._translate_status(error)
        if isinstance(error, ConnectionError | httpx.ConnectError):
            return CallOutcome.UNAVAILABLE, _Unreached(f"Ollama cannot be reached at {self._host}. Is it running?")
        if isinstance(error, httpx.TransportError):
            return CallOutcome.UNAVAILABLE, _Hiccup(f"Ollama at {self._host} broke off: {type(error).__name__}.")
        return CallOutcome.UNAVAILABLE, Transient(
            f"{self._host} does not speak as Ollama does: {type(error).__name__}."
        )

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
            "Structured answers need Ollama 0.5 or newer and a chat model."
        )


class _Hiccup(Transient):
    """A broken connection: worth one more try at once."""


class _Unreached(_Hiccup):
    """No connection came about, so no call was made."""


_NOTHING = Reply("", 0, 0)


@dataclass
class _Call:
    """One call while it runs: what has come back so far, and how it ended."""

    chat: OllamaChat
    end: float
    reply: Reply = field(default_factory=lambda: Reply(""))
    outcome: CallOutcome = CallOutcome.TIMEOUT
    """Until it is known better: whoever ends a call from outside does so because it took too long."""
    ended: bool = False
    reached: bool = True

    def take(self, chunk: AIMessageChunk) -> None:
        about: dict[str, Any] = chunk.response_metadata
        self.reply = replace(self.reply, text=self.reply.text + str(chunk.content))
        if about.get("done") is True:
            self.ended = True
            self.reply = Reply(
                self.reply.text,
                about.get("prompt_eval_count"),
                about.get("eval_count"),
                about.get("done_reason") == "length",
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
        self.outcome, ours = self.chat.translate(error, late=time.monotonic() >= self.end)
        self.reached = not isinstance(ours, _Unreached)
        if _nothing_was_done(error):
            self.reply = _NOTHING
        raise ours from None


def _nothing_was_done(error: Exception) -> bool:
    """Whether the server cannot have spent anything: not reached, or it refused before it began."""
    refused = isinstance(error, ResponseError) and error.status_code != -1
    return refused or isinstance(error, ConnectionError | httpx.ConnectTimeout)


def _messages(question: Question[AnswerT]) -> list[BaseMessage]:
    messages: list[BaseMessage] = [SystemMessage(question.system), HumanMessage(question.user)]
    if question.previous is not None and question.complaint is not None:
        messages += [AIMessage(question.previous), HumanMessage(question.complaint)]
    return messages
