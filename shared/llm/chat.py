"""Asking a language model for a value of a given type, and twice more where its answer cannot be used.

Tolerant of what stands around the answer (fences, prose, thoughts), strict about the answer: exactly one JSON object,
whole, and valid for its type; nothing is completed, guessed or picked. Reaching a model is left to the adapters.
"""

import dataclasses
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from shared.base.errors import Configuration, ModelOutput
from shared.llm.calls import (
    CallEstimate,
    CallOutcome,
    Meter,
    ModelCall,
    WorkKind,
    estimate_tokens,
    least_tokens,
    most_tokens,
)

AnswerT = TypeVar("AnswerT", bound=BaseModel)

_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}


class AnswerRefused(ValueError):
    """Why a text is not an answer; written to be shown to the model, and free of the model's own words."""


def parse_answer(text: str, answer: type[AnswerT]) -> AnswerT:
    """Return the one value of type ``answer`` in ``text``.

    Raises:
        AnswerRefused: none, several different ones, half of one, or one of the wrong shape.
    """
    body = _THOUGHTS.sub("", text).strip()
    if not body:
        raise AnswerRefused("it is empty")
    found: list[dict[str, Any]] = []
    for value in _objects(body):
        if value not in found:
            found.append(value)
    if not found:
        raise AnswerRefused("it holds no JSON object")
    if len(found) > 1:
        raise AnswerRefused("it holds more than one JSON object")
    try:
        return answer.model_validate(found[0])
    except ValidationError as error:
        # Without what was given: a complaint ends in a job's row, which never repeats a model's words (decision 5).
        problems = error.errors(include_url=False, include_context=False, include_input=False)[:3]
        complaints = (f"{_field_path(one['loc'])}{one['msg'].removeprefix('Value error, ')}" for one in problems)
        raise AnswerRefused("; ".join(complaints)) from None


def _objects(body: str) -> Iterator[dict[str, Any]]:
    for segment in _segments(body):
        try:
            value = json.loads(segment, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            continue
        yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _segments(body: str) -> Iterator[str]:
    """Yield each outermost bracketed stretch; one that never closes is half an answer."""
    start, stack, quoted, escaped = 0, list[str](), False, False
    for position, character in enumerate(body):
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character in _CLOSERS:
            start = start if stack else position
            stack.append(_CLOSERS[character])
        # Outside of brackets a quotation mark is prose, and need not be closed.
        elif stack and character == '"':
            quoted = True
        elif stack and character == stack[-1]:
            stack.pop()
            if not stack:
                yield body[start : position + 1]
    if stack:
        raise AnswerRefused("its JSON is incomplete")


def _field_path(location: tuple[int | str, ...]) -> str:
    return f"`{'.'.join(map(str, location))}`: " if location else ""


FRAME_TOKENS = 128
"""What a model's chat template adds around eight messages."""


class ModelRequest(Protocol):
    """Whatever is sent to a model, as far as its size, its cost and its whole arrival are concerned."""

    @property
    def kind(self) -> WorkKind:
        """What it is booked as."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text sent, in order."""

    @property
    def max_completion_tokens(self) -> int:
        """The longest answer."""

    @property
    def fresh(self) -> str:
        """The end of the prompt from where a server cannot have it cached, because it begins with something unique."""

    @property
    def estimated_tokens(self) -> int:
        """The best guess at the prompt's length."""

    @property
    def most_tokens(self) -> int:
        """A figure the prompt's length hardly ever passes."""


@dataclass(frozen=True)
class Question(Generic[AnswerT]):
    """One question, with everything a model needs to answer it."""

    kind: WorkKind
    system: str
    user: str
    answer: type[AnswerT]
    max_completion_tokens: int
    fresh: str = ""
    """The end of the prompt from where a server cannot have it cached, because it begins with something unique."""
    temperature: float = 0.0
    examples: tuple[tuple[str, str], ...] = ()
    """Turns of a user and of the model, as if they had been asked and answered before."""
    previous: str | None = None
    """The model's own unusable answer to the same question, when this is the repair."""
    complaint: str | None = None
    """What was wrong with ``previous``, said to the model."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text sent, in order."""
        examples = (text for pair in self.examples for text in pair)
        repair = (text for text in (self.previous, self.complaint) if text is not None)
        return (self.system, *examples, self.user, *repair)

    @property
    def estimated_tokens(self) -> int:
        """The best guess at the prompt's length."""
        return sum(map(estimate_tokens, self.texts))

    @property
    def most_tokens(self) -> int:
        """A figure the prompt's length hardly ever passes."""
        return sum(map(most_tokens, self.texts)) + FRAME_TOKENS


class Chat(Protocol):
    """A model that answers questions. Implementations hold no state between questions."""

    def answer(self, question: Question[AnswerT], seconds: float, meter: Meter) -> AnswerT:
        """Return the answer, within ``seconds`` in total.

        ``meter`` is asked before each call, and each call made is reported to it exactly
        once as soon as it has ended, however it ended.

        Raises:
            Unusable: it answered, but not with one value of the type asked for.
            Transient: it could not be reached, or not within ``seconds``.
            OverBudget: the meter does not allow the call; none was made.
            ModelMissing: its server has no such model.
            Configuration: it can never answer, as where the prompt does not fit its window.
            ``PromptCut`` where that came to light only afterwards.
        """

    def least_seconds(self, question: Question[Any]) -> float:
        """Return how long a short good answer takes at the least; 0 where nothing is known of it."""
        return 0.0


class Unusable(ModelOutput):
    """One answer that may not be used; the message holds none of its text, so it may be logged and stored."""

    def __init__(self, outcome: CallOutcome, complaint: str, text: str) -> None:
        super().__init__(f"The model's answer cannot be used: {complaint}.")
        self.outcome = outcome
        self.complaint = complaint
        self.text = text


class PromptTooLong(Configuration):
    """The prompt may not fit the model's window beside its answer, so nothing was sent."""


class PromptCut(Configuration):
    """The server silently dropped part of the prompt, so whatever it answered is not about what was asked."""

    code = "prompt_cut"


@dataclass(frozen=True)
class ToolCall:
    """A model's wish to have a tool used; neither the name nor the arguments are checked yet."""

    call_id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What came back from a model; counts are None where the provider reports none."""

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    truncated: bool = False
    calls: tuple[ToolCall, ...] = ()


def estimate_call(request: ModelRequest, model: str) -> CallEstimate:
    """Describe a call that is about to be made, with the most it can take."""
    return CallEstimate(
        request.kind, model, request.most_tokens, request.max_completion_tokens, request.estimated_tokens
    )


def check_fit(request: ModelRequest, context_tokens: int) -> None:
    """Raise ``PromptTooLong`` for a prompt that may not fit the window beside its answer; nothing is sent then."""
    needed = request.most_tokens + request.max_completion_tokens
    if needed > context_tokens:
        raise PromptTooLong(
            f"The prompt may need {needed} tokens with its answer and the model's window has {context_tokens}. "
            "Raise AFTERTHOUGHT_MODEL_CONTEXT_TOKENS if the model allows it."
        )


MOSTLY_CACHED = 512
"""A prompt that was cut fills at least half of a window, and none has less than four times as many tokens."""


def check_whole(request: ModelRequest, reply: Reply, context_tokens: int) -> None:
    """Raise ``PromptCut`` when the server saw less than the whole prompt, ``Unusable`` when the answer was cut off."""
    # A server may leave out of its count what it has cached, so only the part that is new the first time proves a cut;
    # of a second attempt at the same it may have cached all but a little, and says so by a small count, by 0 or not.
    seen = reply.prompt_tokens
    if seen and (seen >= context_tokens or MOSTLY_CACHED < seen < least_tokens(request.fresh)):
        raise PromptCut(
            f"The model saw only {reply.prompt_tokens} tokens of a longer prompt: its window is smaller than "
            f"AFTERTHOUGHT_MODEL_CONTEXT_TOKENS={context_tokens}. Lower the setting, or use a model with that window."
        )
    if reply.truncated:
        raise Unusable(CallOutcome.TRUNCATED, "it was cut off because it was too long", reply.text)


def read_reply(question: Question[AnswerT], reply: Reply, context_tokens: int) -> AnswerT:
    """Turn a reply into the value asked for.

    Raises:
        PromptCut: the server saw less than the whole prompt.
        Unusable: truncated or malformed.
    """
    check_whole(question, reply, context_tokens)
    try:
        return parse_answer(reply.text, question.answer)
    except AnswerRefused as refused:
        raise Unusable(CallOutcome.MALFORMED, str(refused), reply.text) from None


def call_of(request: ModelRequest, model: str, reply: Reply, outcome: CallOutcome, seconds: float) -> ModelCall:
    """Describe an ended call, with estimates only where the provider reports nothing.

    No answer counts for more than was asked for at most: that much was set aside for it.
    """
    prompt, completion = reply.prompt_tokens, reply.completion_tokens
    output = reply.text + "".join(f"{call.name} {call.arguments}" for call in reply.calls)
    written = estimate_tokens(output) if completion is None else completion
    # A count below the number of words leaves out what the server had cached.
    is_whole = prompt is not None and prompt >= sum(map(least_tokens, request.texts))
    return ModelCall(
        kind=request.kind,
        model=model,
        prompt_tokens=request.estimated_tokens if prompt is None else prompt,
        completion_tokens=min(written, request.max_completion_tokens),
        estimated=prompt is None or completion is None,
        outcome=outcome,
        seconds=seconds,
        chars=sum(map(len, request.texts)) if is_whole else 0,
    )


_LONGEST_PREVIOUS = 600
"""Characters of an unusable answer shown back to the model."""
RETRY_TEMPERATURE = 0.4
_NO_TIME_LEFT = "there was no time left to ask again (AFTERTHOUGHT_MODEL_TIMEOUT_SECONDS)"
_REMINDER = "Answer with one short JSON object of the fields asked for, and nothing else."

REPAIR_TOKENS = 400
"""Room to leave in the window for the repair: ``most_tokens`` of the above, and of what is said about it."""

Check = Callable[[AnswerT], str | None]
"""Says what is wrong with an answer, or None."""


def answer_with_repair(
    chat: Chat, question: Question[AnswerT], seconds: float, meter: Meter, first: Check[AnswerT], last: Check[AnswerT]
) -> AnswerT:
    """Ask; where the answer is unusable or ``first`` complains, ask for a repair, and then once more in another way.

    ``last`` judges the later answers, so a caller can then accept what it can mend itself. All of it takes no longer
    than ``seconds``. A repeat has the whole room of an answer; where it would not fit, it is not asked.

    Raises:
        ModelOutput: no answer was usable; the message says why, without their text.
        Transient, Configuration: as the chat raises them.
    """
    started = time.monotonic()
    try:
        return _checked(chat.answer(question, seconds, meter), first)
    except Unusable as unusable:
        wrong, complaints = unusable, [f"first {unusable.complaint}"]
    for vary, attempt in ((_repair, "asked again"), (_retry, "asked in another way")):
        repeat = vary(question, wrong)
        left = seconds - (time.monotonic() - started)
        if left <= max(0.0, chat.least_seconds(repeat)):
            complaints.append(_NO_TIME_LEFT)
            break
        try:
            return _checked(chat.answer(repeat, left, meter), last)
        except PromptTooLong:
            complaints.append(f"{attempt}, it would not fit the model's window")
        except Unusable as unusable:
            wrong = unusable
            complaints.append(f"{attempt}, {unusable.complaint}")
    raise ModelOutput(f"The model gave no usable answer: {'; '.join(complaints)}.")


def _checked(answer: AnswerT, check: Check[AnswerT]) -> AnswerT:
    complaint = check(answer)
    if complaint is not None:
        raise Unusable(CallOutcome.ANSWERED, complaint, answer.model_dump_json())
    return answer


def _repair(question: Question[AnswerT], unusable: Unusable) -> Question[AnswerT]:
    complaint = (
        f"This answer cannot be used: {unusable.complaint}. "
        "Answer the question again, with one JSON object and nothing else."
    )
    # The first call's prompt was seen whole, and may be cached by now: only what is added is sure to be counted.
    previous = unusable.text[:_LONGEST_PREVIOUS].strip() or "(nothing)"
    return dataclasses.replace(question, previous=previous, complaint=complaint, fresh=complaint)


def _retry(question: Question[AnswerT], _: Unusable) -> Question[AnswerT]:
    """Ask as if for the first time, so that no bad answer is in sight, and not so that the same one comes again."""
    user = f"{question.user}\n\n{_REMINDER}"
    return dataclasses.replace(question, user=user, temperature=RETRY_TEMPERATURE, fresh=_REMINDER)
