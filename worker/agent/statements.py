"""A person's own words as statements: what was said, by whom, when, in answer to what, and what it is.

Facts without a model are chosen from these. Left out is what the speaker only passed on
(``shared.text``), and what is sent over and over, which is a template's. Words stay the speaker's: only relative
times become dates, and a bare answer is joined to what was asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from shared.text.sentences import sentences
from worker.agent.classifier import Judgement, StatementSort, judge
from worker.agent.clauses import resolve
from worker.agent.protocol import TranscriptTurn

_LONG = 160
"""Characters from which a sentence is cut into its clauses."""
_LEAST_CLAUSE = 30
_CLAUSE = re.compile(r"\s*[;；]\s*|\s+[-–—]+\s+|(?<=[,，、،])\s*")
_ASKED = re.compile(r"[^.!?。！？؟\n]*[?？؟]")
_SHORT_ANSWER = 40
"""Characters of an answer that says little without its question, and is not cut."""
_LONGEST_QUESTION = 80
_TEMPLATE_TIMES = 3
"""A message said so often is a template's, and no statement."""
_PLAYS = re.compile(r"(?:^|\s)\*[^*\n]+\*(?:\s|$)")
_STATEMENT_END = " .!。！।۔"


@dataclass(frozen=True)
class SpokenStatement:
    """One thing a person said."""

    text: str
    """In the speaker's words, relative times as dates, without the full stop."""
    turn: TranscriptTurn
    position: int
    """Among all statements of the talk."""
    judged: Judgement


def read_statements(turns: Sequence[TranscriptTurn], before: Sequence[TranscriptTurn] = ()) -> list[SpokenStatement]:
    """Return what users said in ``turns``, in order; ``before`` is what stood before them."""
    times = Counter(turn.content for turn in turns)
    in_fiction = any(_PLAYS.search(turn.content) for turn in (*before, *turns))
    found: list[SpokenStatement] = []
    asked = _question_of(before[-1]) if before and before[-1].role != "user" else ""
    for turn in turns:
        if turn.role == "user" and times[turn.content] < _TEMPLATE_TIMES:
            found += _read_turn(turn, asked, in_fiction, len(found))
        asked = _question_of(turn)
    return _corrected(found)


def _read_turn(turn: TranscriptTurn, asked: str, in_fiction: bool, start: int) -> Iterator[SpokenStatement]:
    position = start
    for number, said in enumerate(_cut(turn.content, asked)):
        answers = asked if number == 0 else ""
        text = resolve(said, turn.created_at.date()).strip(_STATEMENT_END)
        if answers and len(said) <= _SHORT_ANSWER:
            text = f"{answers} {text}"
        if text:
            yield SpokenStatement(text, turn, position, judge(said, bool(answers), in_fiction))
            position += 1


def _cut(content: str, asked: str) -> list[str]:
    found = sentences(content)
    if asked and sum(map(len, found)) <= _SHORT_ANSWER:
        return [" ".join(found)] if found else []
    return [clause for sentence in found for clause in _clauses(sentence)]


def _clauses(sentence: str) -> list[str]:
    """Return a sentence, or where it is long its clauses, none of them so short that it hangs."""
    if len(sentence) <= _LONG:
        return [sentence]
    found = [""]
    for part in _CLAUSE.split(sentence):
        if len(found[-1]) < _LEAST_CLAUSE:
            found[-1] = f"{found[-1]} {part}".strip()
        else:
            found.append(part)
    if len(found) > 1 and len(found[-1]) < _LEAST_CLAUSE:
        found[-2:] = [f"{found[-2]} {found[-1]}"]
    return [one.strip(" ,，、،") for one in found]


def _question_of(turn: TranscriptTurn) -> str:
    """Return what an assistant asks last; empty where that says no more than a sentence of its own would."""
    if turn.role == "user":
        return ""
    asked = _ASKED.findall(turn.content)
    return asked[-1].strip() if asked and len(asked[-1].strip()) <= _LONGEST_QUESTION else ""


_VALUE = re.compile(r"(?<![\w-])\d[\w.,:]*\w|(?<![\w-])\d")
_BESIDE = re.compile(r"\D{0,24}[^\W\d_]\D{0,24}")
"""What stands between the two values of a correction: words, so that "57-75" is none."""


def _corrected(found: Sequence[SpokenStatement]) -> list[SpokenStatement]:
    """Put right what a later statement takes back: "by the 14th" and then "not the 14th, the 12th"."""
    kept = list(found)
    for later in filter(is_change, found):
        for one, other in pairwise(_VALUE.finditer(later.text)):
            if not _BESIDE.fullmatch(later.text[one.end() : other.start()]):
                continue
            for at, earlier in enumerate(kept):
                if earlier.position < later.position and earlier.turn.name == later.turn.name:
                    kept[at] = _put_right(earlier, one[0], other[0])
    return kept


def _put_right(earlier: SpokenStatement, one: str, other: str) -> SpokenStatement:
    """Put the value an earlier statement does not have in the place of the one it has, where that is what differs."""
    values = set(_VALUE.findall(earlier.text))
    for wrong, right in ((one, other), (other, one)):
        if wrong in values and right not in earlier.text:
            return replace(earlier, text=earlier.text.replace(wrong, right))
    return earlier


def is_change(statement: SpokenStatement) -> bool:
    """Whether a statement corrects something, or says that it has changed."""
    return statement.judged.sorts[StatementSort.CHANGE] >= _SURE_CHANGE


_SURE_CHANGE = 0.3
