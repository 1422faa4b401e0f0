"""Asking once more, saying what was wrong with the first answer.

Which answers are wrong is the caller's to say; what counts as reaching a model is the chat's.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

from shared.errors import ModelOutput
from shared.llm.calls import CallOutcome, Meter
from shared.llm.chat import AnswerT, Chat, Question, Unusable

_LONGEST_PREVIOUS = 600
"""Characters of an unusable answer shown back to the model."""

REPAIR_TOKENS = 400
"""Room to leave in the window for the repair: ``most_tokens`` of the above, and of what is said about it."""

Check = Callable[[AnswerT], str | None]
"""Says what is wrong with an answer, or None."""


def ask_repairing(
    chat: Chat, question: Question[AnswerT], seconds: float, meter: Meter, first: Check[AnswerT], last: Check[AnswerT]
) -> AnswerT:
    """Ask, and where the answer is unusable or ``first`` complains, ask once more within the same ``seconds``.

    ``last`` judges the second answer, so a caller can then accept what it can mend itself.

    Raises:
        ModelOutput: both answers were unusable; the message says why, without their text.
        Transient, Configuration: as the chat raises them.
    """
    started = time.monotonic()
    try:
        return _checked(chat.ask(question, seconds, meter), first)
    except Unusable as unusable:
        once = unusable
    left = seconds - (time.monotonic() - started)
    try:
        return _checked(chat.ask(_again(question, once), left, meter), last)
    except Unusable as twice:
        raise ModelOutput(
            f"The model gave no usable answer: first {once.complaint}; asked again, {twice.complaint}."
        ) from None


def _checked(answer: AnswerT, check: Check[AnswerT]) -> AnswerT:
    complaint = check(answer)
    if complaint is not None:
        raise Unusable(CallOutcome.ANSWERED, complaint, answer.model_dump_json())
    return answer


def _again(question: Question[AnswerT], unusable: Unusable) -> Question[AnswerT]:
    complaint = (
        f"This answer cannot be used: {unusable.complaint}. "
        "Answer the question again, with one JSON object and nothing else."
    )
    # The first call's prompt was seen whole, and may be cached by now: only what is added is sure to be counted.
    previous = unusable.text[:_LONGEST_PREVIOUS].strip() or "(nothing)"
    return dataclasses.replace(question, previous=previous, complaint=complaint, fresh=complaint)
