"""The Memory Sub-Agent's part that learns by asking a language model.

It decides what the model is shown and which of its findings are proposed: those that name where they were said, and
whose names and numbers stand there. How a model is reached is the chat's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from shared.llm.calls import Meter, WorkKind
from shared.llm.chat import Question, ask_repairing
from shared.llm.tokens import most_tokens
from shared.sessions.compressions.names import missing_in, names_in
from shared.sessions.semantic.material import Prompt, Proposal
from shared.sessions.semantic.models import LearntKind
from shared.wording import clean, shorten
from worker.agent.facts.grounding import Ground
from worker.agent.learning.protocol import LearningAgent, Learnt
from worker.agent.model_answers import is_apology
from worker.agent.model_part import ModelPart
from worker.agent.model_prompts import fill
from worker.agent.room import room_beside
from worker.agent.vocabulary import EMPTY, WORD, stem

_MOST = 8
_LONGEST = 200
_FINDING_TOKENS = 110
"""What one finding takes in an answer, with its keys."""
_TOKENS_FOR_A_FINDING = 512
"""One is asked for each so many tokens of window, so that small windows keep room to read."""
_LEAST_ROOM = 200
_LEAST_BORNE = 0.5
"""Of the words that say something, the share that must stand where a finding says it was said."""


class FindingAnswer(BaseModel):
    """One finding, and the numbers of the messages that say it."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    kind: LearntKind
    content: str
    sources: list[int] = Field(alias="from")


class LearningAnswer(BaseModel):
    """What was found; an empty list is an answer."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    findings: list[FindingAnswer]


@dataclass(frozen=True)
class _Reading:
    """The prompts shown under their numbers, and how many that makes."""

    prompts: tuple[Prompt, ...]

    @property
    def text(self) -> str:
        return "\n".join(f"[{number}] {clean(prompt.text)}" for number, prompt in enumerate(self.prompts, 1))

    def sources(self, one: FindingAnswer) -> tuple[Prompt, ...]:
        """Return the prompts that bear a finding, of those it names."""
        named = (self.prompts[number - 1] for number in one.sources if 0 < number <= len(self.prompts))
        return tuple(prompt for prompt in dict.fromkeys(named) if _bears(prompt.text, one.content))

    def complaint(self, answer: LearningAnswer) -> str | None:
        """Say what a second answer could do better."""
        for number, one in enumerate(answer.findings, 1):
            text = clean(one.content)
            if not text or is_apology(text):
                return f"finding {number} says nothing"
            if len(text) > _LONGEST:
                return f"finding {number} takes {len(text)} characters and may take at most {_LONGEST}"
            if not self.sources(one):
                return f"finding {number} is not said in the messages it names"
        return None

    def proposals(self, answer: LearningAnswer) -> Iterator[Proposal]:
        """Yield what of an answer was said, once for each prompt that says it."""
        for one in answer.findings[:_MOST]:
            text = clean(one.content)
            if text and len(text) <= _LONGEST and not is_apology(text):
                for prompt in self.sources(one):
                    yield Proposal(one.kind, text, prompt.uuid, shorten(clean(prompt.text), 2 * _LONGEST))


class ModelLearningAgent(ModelPart, LearningAgent):
    """Proposes what a chat answers. ``timeout_seconds`` is for one question with its repair."""

    def learn(self, prompts: Sequence[Prompt], meter: Meter) -> Learnt:
        reading = _Reading(_fitting(prompts, room_beside(self._question(""), self._context_tokens, _LEAST_ROOM)))
        question = self._question(reading.text)
        answer = ask_repairing(self._chat, question, self._timeout_seconds, meter, reading.complaint, lambda _: None)
        return Learnt(tuple(reading.proposals(answer)), len(reading.prompts))

    @property
    def _most(self) -> int:
        return max(1, min(_MOST, self._context_tokens // _TOKENS_FOR_A_FINDING))

    def _question(self, prompts: str) -> Question[LearningAnswer]:
        prompt = fill("learn", mark=self._mark(), prompts=prompts, most=self._most, limit=_LONGEST)
        tokens = self._most * _FINDING_TOKENS
        # The first line of what is shown holds the mark, so no server has cached anything behind it.
        return Question(WorkKind.LEARN, prompt.system, prompt.user, LearningAnswer, tokens, fresh=prompt.user)


def _fitting(prompts: Sequence[Prompt], room: int) -> tuple[Prompt, ...]:
    """Return as many prompts from the first as fit, at least one; where not even one does, its beginning."""
    kept: list[Prompt] = []
    for prompt in prompts:
        room -= most_tokens(clean(prompt.text)) + 8
        if room < 0:
            break
        kept.append(prompt)
    if kept:
        return tuple(kept)
    first = prompts[0]
    # Three tokens is the most one character takes.
    return (Prompt(first.uuid, shorten(clean(first.text), max(1, (room + most_tokens(clean(first.text))) // 3))),)


def _bears(said: str, content: str) -> bool:
    """Whether a text holds every name and number of a statement, and half of its other words."""
    if missing_in(names_in(content), said) or not Ground([said]).bears(content):
        return False
    words = {stem(word) for word in WORD.findall(content.casefold()) if word not in EMPTY}
    there = {stem(word) for word in WORD.findall(said.casefold())}
    return not words or len(words & there) >= _LEAST_BORNE * len(words)
