"""The Memory Sub-Agent on recorded sessions, by asking a language model.

It decides what the model is shown and what of its answer is taken: what a line names must stand in the record, and
together the lines are never longer than asked; a finding must name where it was said, and stand there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from shared.llm.calls import Meter, WorkKind
from shared.llm.chat import Question
from shared.llm.tokens import most_tokens
from shared.sessions.blocks import Block, fill_budget
from shared.sessions.compress.assembly import Chunk, CondensedChunk, summary_line
from shared.sessions.compress.plan import BlockPiece
from shared.sessions.models import SemanticKind
from shared.sessions.semantic.memories import SemanticProposal, SessionPrompt
from shared.sessions.text import missing_in, names_in
from shared.text.gate import Gate
from shared.text.lines import clean, shorten
from shared.text.secrets import has_secret
from shared.text.words import content_stems
from worker.agent.gates import finding_gate, line_gate
from worker.agent.prompt import ModelPart, Worded, fill, masked
from worker.agent.protocol import CompressionAgent, LearningAgent, SessionFindings
from worker.agent.session_rules import own_sentences, standing_kind

_LEAST_BUDGET = 600
"""Tokens of a record below which a window is of no use."""
_ANSWER_SHARE = 4
"""An answer may take a quarter of the window."""
_NAMES_CHARS = 300
_SHOWN_NAMES = 3
"""Names that a complaint quotes."""
_MARKER = "##keepit"


class CondensedLine(BaseModel):
    """One line, and the numbers of the pieces it was made from."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    text: Worded
    sources: list[int] = Field(alias="from")


class CompressionAnswer(BaseModel):
    """The lines of a record; an empty list is an answer."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    lines: list[CondensedLine]


@dataclass(frozen=True)
class _ShownChunk:
    """One chunk under way."""

    shown: tuple[BlockPiece, ...]
    record: str
    limit: int
    gate: Gate

    def complaint(self, answer: CompressionAnswer) -> str | None:
        """Say what a second answer could do better."""
        invented = [name for line in answer.lines for name in self.invented(line)]
        if invented:
            return f"these do not stand in the record: {', '.join(invented[:_SHOWN_NAMES])}"
        if any(not self.sources(line) for line in answer.lines):
            return "a line names no number that stands in the record"
        length = sum(len(clean(line.text)) + 1 for line in answer.lines)
        if length > self.limit:
            return f"the lines take {length} characters together and may take at most {self.limit}"
        # What is left out all the same makes room for what was said: no reason to do without the model.
        why = self.gate.complaint(line.text for line in answer.lines)
        return f"a line {why}" if why else None

    def invented(self, line: CondensedLine) -> list[str]:
        """Return what a line names that stands nowhere in the record."""
        text = clean(line.text)
        return missing_in(names_in(text), self.record) + ([_MARKER] if _MARKER in text.lower() else [])

    def sources(self, line: CondensedLine) -> tuple[str, ...]:
        """Return the records a line was made from."""
        numbers = [number - 1 for number in line.sources if 0 < number <= len(self.shown)]
        return tuple(dict.fromkeys(self.shown[number].source for number in sorted(numbers)))

    def fitting(self, answer: CompressionAnswer) -> Iterator[Block]:
        """Yield the lines that can be taken, as far as there is room; the first alone is cut."""
        budget = self.limit
        for number, line in enumerate(one for one in answer.lines if not self.invented(one)):
            text = clean(line.text)
            if len(text) + 1 > budget and number > 0:
                return
            text = shorten(text, max(1, budget - 1))
            budget -= len(text) + 1
            yield summary_line(text, self.sources(line) or (self.shown[0].source,))


class ModelCompressionAgent(ModelPart, CompressionAgent):
    """Condenses with what a chat answers. ``timeout_seconds`` is for one question with its repair."""

    @property
    def chunk_tokens(self) -> int:
        return self._budget()

    def condense(self, chunk: Chunk, meter: Meter) -> CondensedChunk:
        shown = _fitting(chunk.pieces, self._budget())
        record = "\n".join(_line(number, piece) for number, piece in enumerate(shown, 1))
        task = _ShownChunk(shown, record, min(chunk.budget, self._answer_tokens), line_gate(chunk))
        question = self._question(record, ", ".join(_shown_names(chunk.must_keep)), task.limit)
        answer = self.ask(question, meter, task.complaint)
        return CondensedChunk((), tuple(task.fitting(answer)))

    @property
    def _answer_tokens(self) -> int:
        return self._context_tokens // _ANSWER_SHARE

    def _budget(self) -> int:
        empty = self._question("", "_" * _NAMES_CHARS, 10**6)
        return self.budget_beside(empty, _LEAST_BUDGET)

    def _question(self, record: str, names: str, limit: int) -> Question[CompressionAnswer]:
        prompt = fill("compress", mark=self._mark(), record=record, names=names or "(none)", limit=limit)
        return prompt.question(WorkKind.COMPRESS, CompressionAnswer, self._answer_tokens)


def _line(number: int, piece: BlockPiece) -> str:
    return f"[{number}] {piece.speaker}: {masked(piece.text)}"


def _fitting(pieces: Sequence[BlockPiece], budget: int) -> tuple[BlockPiece, ...]:
    """Return the pieces to show: all that are to be condensed, and of what was done meanwhile what fits beside them."""
    costs = [most_tokens(_line(9_999, piece)) + 1 for piece in pieces]
    budget -= sum(cost for cost, piece in zip(costs, pieces, strict=True) if piece.number is not None)
    context = (nth for nth, piece in enumerate(pieces) if piece.number is None)
    shown = set(fill_budget(context, costs.__getitem__, budget))
    return tuple(piece for nth, piece in enumerate(pieces) if piece.number is not None or nth in shown)


def _shown_names(names: Sequence[str]) -> Iterator[str]:
    budget = _NAMES_CHARS
    for name in (one for one in names if not has_secret(one)):
        budget -= len(name) + 2
        if budget < 0:
            return
        yield name


_MAX_FINDINGS = 8
_MAX_FINDING_CHARS = 200
_FINDING_TOKENS = 110
"""What one finding takes in an answer, with its keys."""
_TOKENS_FOR_A_FINDING = 512
"""One is asked for each so many tokens of window, so that small windows keep room to read."""
_LEAST_LEARNING_BUDGET = 200


class FindingAnswer(BaseModel):
    """One finding, and the numbers of the messages that say it."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    kind: SemanticKind
    content: Annotated[str, AfterValidator(clean)]
    sources: list[int] = Field(alias="from")


class LearningAnswer(BaseModel):
    """What was found; an empty list is an answer."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    findings: list[FindingAnswer]


@dataclass(frozen=True)
class _ShownPrompts:
    """The prompts shown under their numbers, and how many that makes."""

    prompts: tuple[SessionPrompt, ...]

    @property
    def text(self) -> str:
        return "\n".join(f"[{number}] {masked(prompt.text)}" for number, prompt in enumerate(self.prompts, 1))

    def sources(self, one: FindingAnswer) -> tuple[SessionPrompt, ...]:
        """Return the prompts that bear a finding, of those it names; what they ask bears nothing."""
        named = (self.prompts[number - 1] for number in one.sources if 0 < number <= len(self.prompts))
        return tuple(prompt for prompt in dict.fromkeys(named) if _bears(_stated(prompt.text), one.content))

    def complaint(self, answer: LearningAnswer) -> str | None:
        """Say what a second answer could do better."""
        gate = finding_gate(self.prompts)
        for number, one in enumerate(answer.findings, 1):
            if len(one.content) > _MAX_FINDING_CHARS:
                return f"finding {number} takes {len(one.content)} characters and may take at most {_MAX_FINDING_CHARS}"
            verdict = gate.judge(one.content)
            if verdict is not None:
                return f"finding {number} {verdict.words}"
            if not self.sources(one):
                return f"finding {number} is not said in the messages it names"
        return None

    def proposals(self, answer: LearningAnswer) -> Iterator[SemanticProposal]:
        """Yield what of an answer was said, once for each prompt that says it."""
        for one in answer.findings[:_MAX_FINDINGS]:
            for prompt in self.sources(one) if len(one.content) <= _MAX_FINDING_CHARS else ():
                excerpt = shorten(clean(prompt.text), 2 * _MAX_FINDING_CHARS)
                yield SemanticProposal(one.kind, one.content, prompt.uuid, excerpt, _is_standing(one, prompt.text))


class ModelLearningAgent(ModelPart, LearningAgent):
    """Proposes what a chat answers. ``timeout_seconds`` is for one question with its repair."""

    def learn(self, prompts: Sequence[SessionPrompt], meter: Meter) -> SessionFindings:
        budget = self.budget_beside(self._question(""), _LEAST_LEARNING_BUDGET)
        reading = _ShownPrompts(_fitting_prompts(prompts, budget))
        question = self._question(reading.text)
        answer = self.ask(question, meter, reading.complaint)
        return SessionFindings(tuple(reading.proposals(answer)), len(reading.prompts))

    @property
    def _most(self) -> int:
        return max(1, min(_MAX_FINDINGS, self._context_tokens // _TOKENS_FOR_A_FINDING))

    def _question(self, prompts: str) -> Question[LearningAnswer]:
        prompt = fill("learn", mark=self._mark(), prompts=prompts, most=self._most, limit=_MAX_FINDING_CHARS)
        return prompt.question(WorkKind.LEARN, LearningAnswer, self._most * _FINDING_TOKENS)


def _fitting_prompts(prompts: Sequence[SessionPrompt], budget: int) -> tuple[SessionPrompt, ...]:
    """Return as many prompts from the first as fit, at least one; where not even one does, its beginning."""
    kept: list[SessionPrompt] = []
    for prompt in prompts:
        budget -= most_tokens(clean(prompt.text)) + 8
        if budget < 0:
            break
        kept.append(prompt)
    if kept:
        return tuple(kept)
    first = prompts[0]
    # Three tokens is the most one character takes.
    return (
        SessionPrompt(first.uuid, shorten(clean(first.text), max(1, (budget + most_tokens(clean(first.text))) // 3))),
    )


def _stated(said: str) -> str:
    return "\n".join(sentence for sentence in own_sentences(said) if not sentence.rstrip().endswith(("?", "？")))


def _is_standing(one: FindingAnswer, said: str) -> bool:
    """Whether a wish or decision was laid down for good."""
    if one.kind not in (SemanticKind.PREFERENCE, SemanticKind.DECISION):
        return False
    bearing = [sentence for sentence in own_sentences(said) if content_stems(sentence) & content_stems(one.content)]
    return any(map(standing_kind, bearing))


def _bears(said: str, content: str) -> bool:
    """Whether a text says what a finding does, and holds each path, command and version that it names."""
    return not missing_in(names_in(content), said) and Gate([said], ()).judge(content) is None
