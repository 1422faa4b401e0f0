"""One model as langchain reaches it, of whatever provider.

It adds what the libraries leave open: one total deadline, endings told apart, one more try where a connection breaks,
and every call reported. How a model is asked, how its chunks are read and what its errors mean is left to each
provider. Importing it is cheap: langchain is imported where a model is made.

How fast a model is, by its last calls, is kept in the memory of one process: how long the next may take, and where the
time of a late one went. Until something was measured, and after a call that was late, a call may take all there is.
"""

from __future__ import annotations

import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from pydantic import ValidationError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_fixed

from shared.base.errors import (
    AfterthoughtError,
    ModelMissing,
    ProviderAway,
    ServerBusy,
    ServerFailed,
    Transient,
    Unanswered,
)
from shared.llm.calls import CallOutcome, Meter
from shared.llm.chat import (
    ModelRequest,
    PromptCut,
    Question,
    Reply,
    ToolCall,
    Unusable,
    call_of,
    check_fit,
    estimate_call,
)
from shared.llm.model_server import IN_STREAM, Failure, ModelServer
from shared.llm.tools import Exchange, NoTools
from shared.llm.transport import GATEWAY_STATUSES, TooMuch

if TYPE_CHECKING:
    from langchain_core.messages import AIMessageChunk, BaseMessage
from collections import deque

_REMEMBERED = 8
_LEAST_TOKENS = 8
"""Of fewer, the time says more of the way there than of the model."""
GENEROUS = 3.0
FLOOR_SECONDS = 30.0
"""No call is ended earlier, unless there is no more time: a model may have to be loaded anew after a pause."""


@dataclass(frozen=True)
class CallSeconds:
    """Where the time of one call went."""

    before: float
    """Until the model began to read: in the server's queue, and while it was loaded."""
    reading: float
    writing: float


class ModelSpeed:
    """The figures of one model. They vary, as a cached prompt is read in no time: limits go by the slowest."""

    def __init__(self) -> None:
        self._reading = deque[float](maxlen=_REMEMBERED)
        self._writing = deque[float](maxlen=_REMEMBERED)
        self._longest_before = 0.0

    def note(self, seconds: CallSeconds, prompt_tokens: int, completion_tokens: int) -> None:
        """Learn from a call that was answered."""
        self._longest_before = max(self._longest_before, seconds.before)
        if prompt_tokens >= _LEAST_TOKENS:
            self._reading.append(seconds.reading / prompt_tokens)
        if completion_tokens >= _LEAST_TOKENS:
            self._writing.append(seconds.writing / completion_tokens)

    def forget(self) -> None:
        """Know nothing any more, as after a call that took longer than was foreseen."""
        self._reading.clear()
        self._writing.clear()

    @property
    def is_known(self) -> bool:
        """Whether enough was measured."""
        return bool(self._reading and self._writing)

    def least_seconds(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return how long a call of that size takes at the least; 0 where too little is known."""
        if not self.is_known:
            return 0.0
        return min(self._reading) * prompt_tokens + min(self._writing) * completion_tokens

    def limit_seconds(self, prompt_tokens: int, most_completion_tokens: int, patience: float) -> float:
        """Return after how long a call is to be ended."""
        if not self.is_known:
            return patience
        slowest = max(self._reading) * prompt_tokens + max(self._writing) * most_completion_tokens
        return min(patience, max(FLOOR_SECONDS, GENEROUS * slowest + self._longest_before))

    def was_queued(self, prompt_tokens: int, silent_seconds: float, all_seconds: float) -> bool:
        """Whether most of a late call's time went by before the model can have begun to read.

        ``silent_seconds``: until its first word came, or altogether.
        """
        return self.is_known and silent_seconds - max(self._reading) * prompt_tokens > all_seconds / 2


_HICCUP_WAIT_SECONDS = 0.2
_NO_SUCH_MODEL = 404
_BUSY_STATUSES = frozenset({409, 425, 429})
_TRANSIENT_STATUSES = _BUSY_STATUSES | {IN_STREAM, 408}
_ABOUT_TOOLS = re.compile(r"\btool", re.IGNORECASE)
"""In every server's words for a model, or a start of it, that takes none: the statuses differ, this does not."""
ValueT = TypeVar("ValueT")
Chunks: TypeAlias = "Generator[AIMessageChunk, None, None]"


@dataclass(frozen=True)
class Ending:
    """What a chunk says of the end of its answer."""

    ended: bool = False
    truncated: bool = False
    declined: bool = False
    """The model, or a filter before it, would not answer."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: CallSeconds | None = None
    """Where its time went, where the server tells."""


class LangchainModel(ABC):
    """One model of one server, as langchain reaches it. Build it after a fork, and close it."""

    answer_needs: ClassVar[str]
    """What to look for where a question is refused."""
    tool_needs: ClassVar[str]
    """The same where tools are offered."""

    def __init__(self, model: str, server: ModelServer) -> None:
        """Take ``model`` as the server calls it."""
        self.name = f"{server.provider.name}:{model}"
        self.model = model
        self.server = server
        self.context_tokens = server.provider.settings.model_context_tokens
        self.speed = ModelSpeed()
        self._left_out: set[str] = set()
        """What this server was found to refuse, by name: no request has it any more."""

    @abstractmethod
    def stream_answer(self, question: Question[Any], messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        """Ask for an answer of the question's shape."""

    @abstractmethod
    def stream_reply(self, exchange: Exchange, messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        """Ask for what the model says or uses next."""

    @abstractmethod
    def ending_of(self, chunk: AIMessageChunk) -> Ending:
        """Read from a chunk how the answer ended and what it took, as far as it says so."""

    def leaves_out(self, error: Exception) -> bool:
        """Whether something of the request was not to the server's liking and the next goes without it."""
        return False

    def _leave_out_named(self, error: Exception, names: Iterable[str]) -> bool:
        """Leave out the first of the names that an error says and that is not left out yet; whether there is one."""
        message = str(error)
        unwanted = next((one for one in names if one in message and one not in self._left_out), None)
        if unwanted is not None:
            self._left_out.add(unwanted)
        return unwanted is not None

    def answer(self, request: LangchainRequest[ValueT], seconds: float, meter: Meter) -> ValueT:
        """Return what is read from the reply, within ``seconds`` in total; errors are those of ``Chat.answer``.

        Once it is known how fast the model is, a call that hangs is ended earlier.
        """
        model_request = request.model_request
        check_fit(model_request, self.context_tokens)
        limit = self.speed.limit_seconds(model_request.estimated_tokens, model_request.max_completion_tokens, seconds)
        is_cut_short, seconds = limit < seconds, limit
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
                    return self._call_once(request, end, meter, is_cut_short)
        except _Unreached:
            # Nothing was asked, yet whoever watches the calls must see that they fail.
            failed = time.monotonic() - end + seconds
            meter(call_of(request.model_request, self.name, _NOTHING, CallOutcome.UNAVAILABLE, failed))
            raise
        raise AssertionError("tenacity ends with an answer or an error")

    def _call_once(self, request: LangchainRequest[ValueT], end: float, meter: Meter, is_cut_short: bool) -> ValueT:
        started = time.monotonic()
        if started >= end:
            raise Transient("No time is left to ask the model.")
        meter.reserve(estimate_call(request.model_request, self.name))
        call = _Call(self, request.model_request, started, end, request.offers_tools, is_cut_short)
        try:
            with call.watched():
                # Closed at once however it ends, so that the server stops generating for nobody.
                with self.server.transport.limit(call.end - time.monotonic()), closing(request.stream()) as chunks:
                    for chunk in chunks:
                        call.take(chunk)
                if not call.ended:
                    raise self.server.transport.http.RemoteProtocolError("The stream ended before the answer did.")
                reply = call.reply()
                call.note_speed()
                return request.read(reply)
        finally:
            if call.reached:
                seconds = time.monotonic() - started
                meter(call_of(request.model_request, self.name, call.received, call.outcome, seconds))

    def translate(
        self, error: Exception, *, offers_tools: bool, late: bool, why_late: str
    ) -> tuple[CallOutcome, AfterthoughtError]:
        """Say in our words what a foreign error means; ``late``: the deadline has passed."""
        # Deferred: the error came out of it, so it is there.
        from langchain_core.exceptions import OutputParserException

        # What the deadline cut off cannot be parsed either, and is late all the same.
        if isinstance(error, ValidationError | OutputParserException) and not late:
            return CallOutcome.MALFORMED, _malformed()
        failure = self.server.failure_of(error)
        if late or failure is Failure.LATE:
            return CallOutcome.TIMEOUT, Unanswered(why_late)
        match failure:
            case Failure.UNREACHED:
                return CallOutcome.UNAVAILABLE, self.unreached()
            case Failure.FLOODED:
                return CallOutcome.TRUNCATED, Unusable(CallOutcome.TRUNCATED, "it is far longer than was asked for", "")
            case Failure.STATUS:
                return self._translate_status(error, offers_tools)
            case Failure.BROKEN:
                why = type(self.server.cause_of(error)).__name__
                return CallOutcome.UNAVAILABLE, _Hiccup(
                    f"{self.server.product} at {self.server.host} broke off: {why}."
                )
            case _ if type(error) is ValueError:
                # Langchain's, where a server that was asked for a stream sent none of it: a whole answer, or a page.
                return CallOutcome.MALFORMED, Unusable(CallOutcome.MALFORMED, "it did not come as a stream", "")
            case _ if self.leaves_out(error):
                return CallOutcome.REFUSED, self._adjusted()
            case _:
                return CallOutcome.UNAVAILABLE, Transient(
                    f"{self.server.host} does not speak as {self.server.product} does: {type(error).__name__}."
                )

    def unreached(self) -> _Unreached:
        """Return what to raise where nobody answers."""
        return _Unreached(f"{self.server.product} cannot be reached at {self.server.host}. Is it running?")

    def _adjusted(self) -> _Adjusted:
        return _Adjusted(f"{self.server.product} wants requests to {self.name} in another form; try again.")

    def _translate_status(self, error: Exception, offers_tools: bool) -> tuple[CallOutcome, AfterthoughtError]:
        status = self.server.status_of(error) or IN_STREAM
        if status in _TRANSIENT_STATUSES or status >= 500:
            if status in _BUSY_STATUSES:
                message = f"{self.server.product} takes no more questions to {self.name} for now (status {status})"
                return CallOutcome.UNAVAILABLE, ServerBusy(f"{message}: its limit is reached, or a quota is spent.")
            message = f"{self.server.product} failed while {self.name} answered (status {status})."
            return CallOutcome.UNAVAILABLE, ServerFailed(message)
        if self.leaves_out(error):
            return CallOutcome.REFUSED, self._adjusted()
        if offers_tools and _ABOUT_TOOLS.search(str(error)):
            return CallOutcome.REFUSED, NoTools(
                f"{self.server.product} at {self.server.host} takes no tools for {self.name}."
            )
        needs = self.tool_needs if offers_tools else self.answer_needs
        refusal = self.server.provider.refusal(self.model, status, needs)
        return CallOutcome.REFUSED, ModelMissing(refusal.message) if status == _NO_SUCH_MODEL else refusal


@dataclass(frozen=True)
class LangchainRequest(Generic[ValueT]):
    """What is asked of a model, how, and how its reply is read."""

    model_request: ModelRequest
    stream: Callable[[], Chunks]
    read: Callable[[Reply], ValueT]
    offers_tools: bool = False


class _Hiccup(Transient):
    """A broken connection: worth one more try at once."""


class _Adjusted(_Hiccup):
    """The request was refused for something it can do without: the next goes without it."""


class _Unreached(ProviderAway, _Hiccup):
    """Nobody took the call, so none was made."""


_NOTHING = Reply("", 0, 0)


@dataclass
class _CallPieces:
    """A tool call as it arrives, in pieces."""

    call_id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass
class _Call:
    """One call while it runs: what has come back so far, and how it ended."""

    model: LangchainModel
    request: ModelRequest
    started: float
    end: float
    offers_tools: bool
    is_cut_short: bool = False
    """Whether it may take less than its caller would wait, because the model is known to be faster."""
    received: Reply = field(default_factory=lambda: Reply(""))
    """Everything that was generated, tool calls as text: what is paid for."""
    outcome: CallOutcome = CallOutcome.TIMEOUT
    """Until it is known better: whoever ends a call from outside does so because it took too long."""
    ended: bool = False
    reached: bool = True
    declined: bool = False
    first_word_at: float | None = None
    seconds: CallSeconds | None = None
    """Where its time went, as the server tells it."""
    texts: list[str] = field(default_factory=list)
    pieces: dict[object, _CallPieces] = field(default_factory=dict)

    def take(self, chunk: AIMessageChunk) -> None:
        self.texts.append(str(chunk.text))
        written = self.texts[-1]
        for piece in chunk.tool_call_chunks:
            # Without a place it is a whole call.
            index = piece.get("index")
            call = self.pieces.setdefault(object() if index is None else index, _CallPieces())
            call.call_id += piece.get("id") or ""
            call.name += piece.get("name") or ""
            call.arguments += piece.get("args") or ""
            written += (piece.get("name") or "") + (piece.get("args") or "")
        if written and self.first_word_at is None:
            self.first_word_at = time.monotonic()
        ending = self.model.ending_of(chunk)
        self.seconds = ending.seconds or self.seconds
        self.ended = self.ended or ending.ended
        self.declined = self.declined or ending.declined
        most, before = self.model.context_tokens, self.received
        prompt, completion = ending.prompt_tokens, ending.completion_tokens
        self.received = Reply(
            before.text + written,
            before.prompt_tokens if prompt is None else _believable(prompt, most),
            before.completion_tokens if completion is None else _believable(completion, most),
            before.truncated or ending.truncated,
        )

    def note_speed(self) -> None:
        """Have the model's speed learn from this call, which has ended well."""
        first, call = self.first_word_at, call_of(self.request, self.model.name, self.received, self.outcome, 0.0)
        if first is None:
            return
        seconds = self.seconds or CallSeconds(0.0, first - self.started, time.monotonic() - first)
        self.model.speed.note(seconds, call.prompt_tokens, call.completion_tokens)

    def why_late(self) -> str:
        """Say what took so long, and what to do."""
        model, speed, now = self.model, self.model.speed, time.monotonic()
        took = f"{model.name} did not answer in time ({self.end - self.started:.0f} s)"
        tokens, first = self.request.estimated_tokens, self.first_word_at or now
        if speed.was_queued(tokens, first - self.started, now - self.started):
            return (
                f"{took}: most of that went by before it began, while the server did other calls or loaded it. "
                f"{model.server.provider.more_at_once}, or lower AFTERTHOUGHT_WORKER_CONCURRENCY."
            )
        if speed.is_known and self.is_cut_short:
            return f"{took}, {GENEROUS:g} times what it has needed of late; the next call may take longer."
        return f"{took}: it is too slow for that. Raise AFTERTHOUGHT_MODEL_TIMEOUT_SECONDS, or name a faster model."

    def reply(self) -> Reply:
        """Return the whole reply. Raises ``Unusable`` for one that is none."""
        if self.declined:
            raise Unusable(CallOutcome.REFUSED, "the model declined to give one", "")
        # The calls of an answer that was cut off need not be read: it is not used.
        pieces = () if self.received.truncated else self.pieces.values()
        calls = tuple(ToolCall(one.call_id, one.name, _arguments(one.arguments)) for one in pieces)
        return replace(self.received, text="".join(self.texts), calls=calls)

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
        except (*self.model.server.errors, self.model.server.transport.http.TransportError, TooMuch, OSError) as error:
            self._fail(error)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            # What the provider's client and langchain raise for a stream that is not the provider's.
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        late = time.monotonic() >= self.end
        self.outcome, ours = self.model.translate(
            error, offers_tools=self.offers_tools, late=late, why_late=self.why_late()
        )
        if self.outcome is CallOutcome.TIMEOUT:
            self.model.speed.forget()
        server, status = self.model.server, self.model.server.status_of(error)
        # A proxy takes connections, or answers, for a server that is not there.
        is_adjusted = isinstance(ours, _Adjusted)
        is_doubtful = (isinstance(ours, _Hiccup) and not is_adjusted) or status in GATEWAY_STATUSES
        if is_doubtful and not self.received.text and not server.provider.is_there():
            ours = self.model.unreached()
        self.reached = not isinstance(ours, _Unreached)
        # It cannot have spent anything where it was not reached, or refused before it began.
        refused = status is not None and status != IN_STREAM
        if refused or is_adjusted or server.failure_of(error) is Failure.UNREACHED:
            self.received = _NOTHING
        raise ours from None


def _arguments(text: str) -> dict[str, Any]:
    """Read a call's arguments; a model that gives none at all leaves them empty."""
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError):
        raise _malformed() from None
    if not isinstance(arguments, dict):
        raise _malformed()
    return arguments


def _malformed() -> Unusable:
    return Unusable(CallOutcome.MALFORMED, "its tool calls are malformed", "")


def _believable(tokens: int, most: int) -> int:
    """Return a count as a server reports it, within what its window allows: it is paid for by this figure."""
    return min(max(tokens, 0), most)
