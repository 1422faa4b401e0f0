"""The Memory Sub-Agent's part that summarises by asking a language model.

It decides what the model is shown and which of its points are proposed. How a model is reached is the chat's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from shared.llm.calls import Meter, WorkKind
from shared.llm.chat import Question
from shared.llm.tokens import most_tokens
from shared.summaries.bullets import MOST_CHARS, MOST_TOKENS, code_lines, distinct, repeats_code, tokens_of
from shared.text.gate import Gate
from shared.text.lines import clean, shorten
from worker.agent.gates import summary_gate
from worker.agent.prompt import (
    ModelPart,
    PromptLine,
    Worded,
    fill,
    first_fitting,
    fitting_parts,
    masked,
    readable,
    written,
)
from worker.agent.protocol import Digest, SummaryAgent, SummaryRequest

_MOST_POINTS = 10
_ANSWER_TOKENS = 160
"""What an answer takes beside its text. The text may take one token per character."""
_LEAST_BUDGET = 200
"""Tokens of conversation below which a window is of no use."""
_PREVIOUS_SHARE = 4
"""The summary before is shown in at most this fraction (a quarter) of what is free in the window."""
_NOTES_SHARE = 3
"""What is noted of a part takes at most a third of one, so that notes on notes come to an end."""
_SAID = "Said since then, to be summarised"
_NOTED = "Notes on a single long message, to be summarised"


class SummaryAnswer(BaseModel):
    """The points of a summary; an empty list is an answer."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    points: list[Worded]


@dataclass(frozen=True)
class _SummaryTask:
    """One span under way."""

    span: SummaryRequest
    previous: str
    code: frozenset[str]
    budget: int
    meter: Meter
    gate: Gate

    def refused(self, answer: SummaryAnswer) -> str | None:
        """Complain where the gate takes nothing of a list; else it is judged point by point where it is stored."""
        why = self.gate.complaint(answer.points)
        return f"a point {why}" if why else None

    def complaint(self, answer: SummaryAnswer) -> str | None:
        if any(repeats_code(point, self.code) for point in answer.points):
            return "a point copies code; say in words what it does"
        length = tokens_of(answer.points)
        if length > MOST_TOKENS:
            return f"the points take {length} tokens together and may take at most {MOST_TOKENS}"
        return self.refused(answer)


class ModelSummaryAgent(ModelPart, SummaryAgent):
    """Proposes what a chat answers. ``timeout_seconds`` is for one question with its repair."""

    def summarise(self, span: SummaryRequest, meter: Meter) -> Digest:
        previous = _fitting(masked(span.previous or ""), self._budget(span, "") // _PREVIOUS_SHARE)
        budget = self._budget(span, previous)
        code = code_lines(turn.content for turn in span.turns)
        task = _SummaryTask(span, previous, code, budget, meter, summary_gate(span))
        reading = readable(span.turns, budget)
        parts, what = list(reading.parts), _SAID
        while len(parts) > 1:
            notes = [line for part in parts for line in self._notes(task, part, what)]
            parts, what = fitting_parts(notes, budget), _NOTED
        return Digest(self._ask(task, parts[0], what) if parts else (), reading.turns)

    def _notes(self, task: _SummaryTask, part: Sequence[PromptLine], what: str) -> list[PromptLine]:
        """Return what a part of a message too long for the window comes to, as lines to be read once more."""
        points = (PromptLine(f"- {point}", ()) for point in self._ask(task, part, what))
        return first_fitting(points, task.budget // _NOTES_SHARE)

    def _ask(self, task: _SummaryTask, part: Sequence[PromptLine], what: str) -> tuple[str, ...]:
        question = self._question(task.span, part, what, task.previous)
        answer = self.ask(question, task.meter, task.complaint, task.refused)
        return tuple(point for point in distinct(answer.points) if not repeats_code(point, task.code))

    def _budget(self, span: SummaryRequest, previous: str) -> int:
        return self.budget_beside(self._question(span, (), _NOTED, previous), _LEAST_BUDGET)

    def _question(
        self, span: SummaryRequest, part: Sequence[PromptLine], what: str, previous: str
    ) -> Question[SummaryAnswer]:
        prompt = fill(
            "summary",
            mark=self._mark(),
            app=clean(span.app_name),
            previous=previous or "(none)",
            what=what,
            conversation=written(part),
            most=_MOST_POINTS,
            limit=MOST_CHARS,
        )
        tokens = min(MOST_CHARS + _ANSWER_TOKENS, self._context_tokens // 4)
        return prompt.question(WorkKind.SUMMARISE, SummaryAnswer, tokens)


def _fitting(text: str, budget: int) -> str:
    """Return the beginning of a text that takes at most ``room`` tokens."""
    short = shorten(text, budget) if text else ""
    # Three tokens is the most one character takes.
    return short if most_tokens(short) <= budget else shorten(text, max(1, budget // 3))
