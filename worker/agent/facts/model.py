"""The Memory Sub-Agent's part that extracts facts by asking a language model.

It decides what the model is shown and what of its answer is proposed. How a model is reached is the chat's; reading
its answer with patience is ``answers``', and whether it was said at all ``grounding``'s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from shared.facts.normalising import normal
from shared.llm.calls import Meter, WorkKind
from shared.llm.chat import Question, ask_repairing
from shared.telemetry.metrics import RefusedFact
from shared.wording import clean
from worker.agent.facts.answers import HIGH, FactAnswer, FactsAnswer, blemish, category_of, is_readable
from worker.agent.facts.grounding import Ground
from worker.agent.facts.protocol import Extraction, FactAgent, Segment, Statement
from worker.agent.facts.reading import Reading, earlier_lines, known_lines, readable
from worker.agent.facts.statements import LONGEST, once_each, without_known
from worker.agent.model_part import ModelPart
from worker.agent.model_prompts import fill
from worker.agent.model_reading import Line, written
from worker.agent.protocol import Turn
from worker.agent.room import room_beside

_FACT_TOKENS = 110
"""What one fact takes in an answer, with its keys."""
_MOST_FACTS = 12
_TOKENS_FOR_A_FACT = 512
"""One fact is asked for each so many tokens of window, so that small windows keep room to read."""
_LEAST_ROOM = 200
"""Tokens of conversation below which a window is of no use."""
_KNOWN_SHARE = 4
"""What is known is shown in at most this fraction (a quarter) of what is free in the window."""
_BEFORE_SHARE = 8
"""What was said before is shown in at most an eighth of it."""
_MOST_COMPLAINTS = 3
Verdict = Statement | RefusedFact


class ModelFactAgent(ModelPart, FactAgent):
    """Proposes what a chat answers. ``timeout_seconds`` is for one question with its repair."""

    def extract(self, segment: Segment, meter: Meter) -> Extraction:
        own, recalled = _own_words(segment)
        room = room_beside(self._question(own, (), {}, ()), self._context_tokens, _LEAST_ROOM)
        known = known_lines(segment.known, room // _KNOWN_SHARE)
        before = earlier_lines(segment.before, room // _BEFORE_SHARE)
        reading = readable(
            own.turns, room_beside(self._question(own, (), known, before), self._context_tokens, _LEAST_ROOM // 2)
        )
        asked = _asked(own, reading)
        verdicts = [verdict for part in asked for verdict in self._judged(own, part, known, before, meter)]
        refused = Counter(verdict for verdict in verdicts if isinstance(verdict, RefusedFact))
        refused[RefusedFact.RECALLED] += sum(recalled[: reading.turns])
        statements = once_each(verdict for verdict in verdicts if isinstance(verdict, Statement))
        return Extraction(statements, reading.turns, +refused)

    def _judged(
        self, segment: Segment, part: Sequence[Line], known: Mapping[int, str], before: Sequence[Line], meter: Meter
    ) -> list[Verdict]:
        question = self._question(segment, part, known, before)
        answer = ask_repairing(self._chat, question, self._timeout_seconds, meter, _complaint, _hopeless)
        shown = {i for line in part for i in line.message_ids}
        return [_verdict(one, segment, shown, known) for one in answer.facts]

    @property
    def _most(self) -> int:
        return max(1, min(_MOST_FACTS, self._context_tokens // _TOKENS_FOR_A_FACT))

    def _question(
        self, segment: Segment, part: Sequence[Line], known: Mapping[int, str], before: Sequence[Line]
    ) -> Question[FactsAnswer]:
        prompt = fill(
            "facts",
            mark=self._mark(),
            app=clean(segment.app_name),
            known="\n".join(known.values()) or "(nothing yet)",
            before=written(before) or "(nothing)",
            conversation=written(part),
            most=self._most,
            limit=LONGEST,
        )
        # The first line of what is shown holds the mark, so no server has cached anything behind it.
        tokens = self._most * _FACT_TOKENS
        return Question(WorkKind.EXTRACT, prompt.system, prompt.user, FactsAnswer, tokens, fresh=prompt.user)


def _own_words(segment: Segment) -> tuple[Segment, list[int]]:
    """Return the segment without lines that only repeat known facts, and how many each turn had."""
    stripped = [_stripped(turn, segment) for turn in segment.turns]
    return replace(segment, turns=tuple(turn for turn, _ in stripped)), [count for _, count in stripped]


def _stripped(turn: Turn, segment: Segment) -> tuple[Turn, int]:
    if turn.role != "user":
        return turn, 0
    content, repeated = without_known(turn.content, segment.known)
    return replace(turn, content=content), repeated


def _asked(segment: Segment, reading: Reading) -> list[tuple[Line, ...]]:
    """Return the parts in which a user speaks: only those are worth a question."""
    users = {turn.message_id for turn in segment.turns if turn.role == "user"}
    return [part for part in reading.parts if any(users & set(line.message_ids) for line in part)]


def _complaint(answer: FactsAnswer) -> str | None:
    blemishes = [(number, blemish(one)) for number, one in enumerate(answer.facts, 1)]
    said = [f"fact {number} {why}" for number, why in blemishes if why is not None]
    return "; ".join(said[:_MOST_COMPLAINTS]) or None


def _hopeless(answer: FactsAnswer) -> str | None:
    """Complain of a second answer only where nothing in it can be read; what is no fact is dropped by itself."""
    return None if any(map(is_readable, answer.facts)) else _complaint(answer)


def _verdict(one: FactAnswer, segment: Segment, shown: set[str], known: Mapping[int, str]) -> Verdict:
    category = category_of(one)
    if blemish(one) is not None or category is None or one.confidence is None:
        return RefusedFact.MALFORMED
    if one.confidence < HIGH:
        return RefusedFact.UNSURE
    ids = _sources(one, segment, shown)
    if not ids:
        repeats = normal(one.statement) in {normal(fact.statement) for fact in segment.known}
        return RefusedFact.RECALLED if repeats else RefusedFact.UNGROUNDED
    updates = one.updates if one.updates_previous and one.updates in known else None
    return Statement(one.statement, category, ids, updates)


def _sources(one: FactAnswer, segment: Segment, shown: set[str]) -> tuple[str, ...]:
    """Return the user turns that bear the statement: of those it names, or of all shown where it names none."""
    turns = segment.turns
    numbers = one.messages or range(1, len(turns) + 1)
    named = [number for number in numbers if 0 < number <= len(turns) and _is_source(turns[number - 1], shown)]
    bearing = [number for number in named if Ground.of(_with_question(segment, number)).bears(one.statement)]
    together = [turn for number in named for turn in _with_question(segment, number)]
    if not bearing and one.messages and Ground.of(together).bears(one.statement):
        bearing = named
    return tuple(dict.fromkeys(turns[number - 1].message_id for number in bearing))


def _is_source(turn: Turn, shown: set[str]) -> bool:
    return turn.role == "user" and turn.message_id in shown


def _with_question(segment: Segment, number: int) -> list[Turn]:
    """Return a turn, after the assistant's turn that it answers."""
    earlier = (*segment.before, *segment.turns[: number - 1])
    asked = [turn for turn in earlier[-1:] if turn.role == "assistant"]
    return [*asked, segment.turns[number - 1]]
