"""The built-in agent's part that extracts facts: no model, no network, the same answer every time.

A fact is a statement of a user's that the classifier is sure is one, in whatever language and in the user's own words
(``statements``); where it begins with the speaker in English, it is put in the third person. Turns of assistants,
quotations and what was only recalled are no source. What is said to set right a known fact updates it only where one
known fact is meant. Source: decisions, "Facts and context".
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from shared.facts.models import category_as, contradict, single_value
from shared.llm.calls import EXTRACTIVE, CallEstimate, Meter, WorkKind, estimate_tokens, metered
from shared.text.classifier import StatementType, judge, states_harm
from shared.text.gate import Refusal
from shared.text.likeness import Gist, are_opposed, gist, normal
from shared.text.lines import clean
from shared.text.secrets import has_secret
from shared.text.words import WORD, content_stems
from worker.agent.changes import replaced_by, tells_change
from worker.agent.corrections import SURELY, put_right, with_values_of
from worker.agent.persons import in_third_person
from worker.agent.protocol import Extraction, ExtractionRequest, FactAgent, PresentFact, Statement
from worker.agent.statements import (
    CHANGED,
    KEPT,
    SpokenStatement,
    is_surely_change,
    may_correct,
    name_of,
    read_statements,
)


class ExtractiveFactAgent(FactAgent):
    """Extracts what users plainly state."""

    @property
    def name(self) -> str:
        return EXTRACTIVE

    def extract(self, segment: ExtractionRequest, meter: Meter) -> Extraction:
        prompt = sum(estimate_tokens(turn.content) for turn in segment.turns)
        # No statement is longer than what it was made of, but for the name before it.
        return metered(
            meter,
            CallEstimate(WorkKind.EXTRACT, EXTRACTIVE, prompt, 2 * prompt),
            lambda: _extracted(segment),
            lambda extraction: sum(estimate_tokens(one.text) for one in extraction.statements),
        )


_SURE, _LEAST = 0.0, 0.2
"""From these log odds on a statement is a fact; below this probability of "keep" on none, as a long question."""
_PLAIN = 0.65
"""From this probability of "fact" on it is one, however little it says: "I like tea"."""
_KEEP, _WORD, _ALONE, _OTHERS, _STATEMENTS = 0.21, 0.16, -0.82, 1.04, -0.28
_SORTS = {StatementType.TALK: -0.87, StatementType.HARM: 1.1, StatementType.WISH: 1.35}
"""Weights of log odds, see ``_certainty``. Source: 299 labelled chats of five writers, each left out in turn; 5 of 100
labelled facts more than by the classifier alone, and fewer that no label names."""
LONGEST = 200
"""Characters of a statement at most; a longer one is not made, because cutting changes meaning."""
_BULLETS = frozenset("-*•+>")
_MARKER = re.compile(r"^[ \t]*(?:[-*•+>]|\d{1,2}[.)])?[ \t]*")


def _extracted(segment: ExtractionRequest) -> Extraction:
    refused: Counter[Refusal] = Counter()
    turns = []
    for turn in segment.turns:
        own, repeated = without_known(turn.content, segment.known)
        turns.append(replace(turn, content=own))
        refused[Refusal.RECALLED] += repeated if turn.role == "user" else 0
    found = _fact_statements(read_statements(turns, segment.before), segment.known)
    # The plus leaves out what was counted no time.
    return Extraction(once_each(found), len(segment.turns), +refused)


def _fact_statements(spoken: Sequence[SpokenStatement], known: Sequence[PresentFact]) -> Iterator[Statement]:
    """Yield what the classifier takes for facts."""
    worth_keeping = sum(one.judged.keep for one in spoken)
    for one in spoken:
        if may_correct(one) and (right := _put_right(one, known)) is not None:
            yield right
            if one.is_short:
                continue
        others = (worth_keeping - one.judged.keep) / max(1, len(spoken) - 1)
        if not (_is_sure(one, others, len(spoken)) or _is_end(one, known)):
            continue
        text = clean(in_third_person(one.text, name_of(one.turn.name)))
        if len(text) <= LONGEST and not has_secret(text):
            updates = updated_fact(one, text, known)
            yield Statement(text, category_as(one.judged.sorts), (one.turn.message_id,), updates)


def _is_sure(one: SpokenStatement, others: float, count: int) -> bool:
    """Whether a statement is a fact, whatever is known: for ``others`` and ``count`` see ``_certainty``."""
    if one.judged.fact >= _PLAIN or one.is_plain or (one.judged.is_sure_harm and one.judged.keep >= KEPT):
        return True
    return one.judged.keep >= _LEAST and _certainty(one, others, count) >= _SURE


def _is_end(one: SpokenStatement, known: Sequence[PresentFact]) -> bool:
    """Whether a statement tells a change that is worth a place, or that ends a known fact in however few words."""
    return (tells_change(one.text) and one.judged.keep >= KEPT) or replaced_by(one.text, known) is not None


def _certainty(one: SpokenStatement, others: float, count: int) -> float:
    """Return the log odds that somebody would note a statement.

    What is "durable" people label less alike than what is "worth keeping", and a statement that says more stands better
    by itself. What the talk is like tells the rest: among much that is worth keeping a doubtful one is a fact, and in
    a long one about nothing it is not. ``others``: the mean probability of "keep" of what else was said, of ``count``
    statements in all.
    """
    # Of an answer that is joined to its question, what the question says is not theirs.
    asked = _ASKED.match(one.text) if one.is_whole else None
    own = one.text[asked.end() :] if asked else one.text
    keep = min(max(one.judged.keep, _NEVER), 1 - _NEVER)
    sorts = sum(weight * one.judged.sorts[sort] for sort, weight in _SORTS.items())
    says = _KEEP * math.log(keep / (1 - keep)) + _WORD * len(content_stems(own)) + sorts
    return says + _ALONE + _OTHERS * others + _STATEMENTS * math.log1p(count)


_ASKED = re.compile(r"[^?？؟]*[?？؟]\s*(?=\S)")
_NEVER = 1e-4
"""The classifier is never surer than that."""


def stated_facts(segment: ExtractionRequest) -> tuple[Statement, ...]:
    """Return what the rules find."""
    return _extracted(segment).statements


def updated_fact(statement: SpokenStatement, text: str, known: Sequence[PresentFact]) -> int | None:
    """Return the one known fact that a statement, stored as ``text``, changes or contradicts, or is changed by."""
    changed = _changes(statement, text, known)
    return _changed_by(statement, text, known) if changed is None else changed


def _changes(statement: SpokenStatement, text: str, known: Sequence[PresentFact]) -> int | None:
    """Return the one known fact that a statement changes or contradicts."""
    changed = _changed(statement, known) if may_correct(statement) else None
    changed = _contradicted(statement, text, known) if changed is None else changed
    return replaced_by(statement.text, known) if changed is None else changed


_ALIKE = 0.4
"""Of the words of the shorter of two statements, so many stand in both where one changes the other."""
_DENIED = 0.6
_CLEARLY = 0.15
"""By so much more of its words than of any other's."""
_UNKNOWN = 0
"""The number of what is no fact yet."""


def _put_right(correction: SpokenStatement, known: Sequence[PresentFact]) -> Statement | None:
    """Return the one known fact that a correction puts right, as it puts it; none of one that names another thing."""
    is_next = is_surely_change(correction)
    right = [
        (fact, text)
        for fact in known
        if (text := put_right(fact.statement, correction.text, is_sure=is_next, is_next=is_next)) != fact.statement
        and all(name in text.lower() for name in gist(correction.text).names)
    ]
    if len(right) != 1:
        return None
    fact, text = right[0]
    return Statement(text, fact.category, (correction.turn.message_id,), fact.fact_id)


def _changed(statement: SpokenStatement, known: Sequence[PresentFact]) -> int | None:
    """Return the one known fact that a change, or a clause of it, is about; None where it may be none, or several."""
    least = _ALIKE if statement.judged.change >= CHANGED else _DENIED
    for text in (statement.text, *(part for part, judged in statement.parts() if judged.change >= CHANGED)):
        words = content_stems(text)
        shares = sorted(((_share(words, fact.statement), fact.fact_id) for fact in known), reverse=True)
        best, second = [*shares, (0.0, 0), (0.0, 0)][:2]
        if best[0] >= least and best[0] - second[0] >= _CLEARLY:
            return best[1]
    return _of_same_subject(statement.text, known) if statement.judged.change >= SURELY else None


def _of_same_subject(text: str, known: Sequence[PresentFact]) -> int | None:
    """Return the one known fact that has what a change begins with: "swimming moved to Wednesdays".

    None that states a harm, which takes more to be over.
    """
    first = next((word for word in WORD.findall(text) if content_stems(word)), "")
    stems = content_stems(first)
    about = [fact.fact_id for fact in known if stems & content_stems(fact.statement)]
    is_one = len(about) == 1 and not any(fact.fact_id in about and states_harm(fact.statement) for fact in known)
    return about[0] if is_one else None


def _changed_by(statement: SpokenStatement, text: str, known: Sequence[PresentFact]) -> int | None:
    """Return the known fact that was said after a statement and would have replaced it, had that been known by then.

    Talks are brought in in any order, and leave the same facts. Which of two goes is the fold's to say, by their times.
    """
    said_at = statement.turn.created_at
    own = PresentFact(_UNKNOWN, text, category_as(statement.judged.sorts), said_at)
    for fact in sorted(known, key=lambda one: one.said_at):
        if fact.said_at > said_at:
            later = replace(statement, text=fact.statement, judged=judge(fact.statement), is_whole=False)
            before = [own, *(one for one in known if one.said_at <= fact.said_at and one is not fact)]
            if _changes(later, fact.statement, before) == _UNKNOWN:
                return fact.fact_id
    return None


def _contradicted(statement: SpokenStatement, text: str, known: Sequence[PresentFact]) -> int | None:
    """Return the one known fact of which a text says most words, but denies it, or gives another value or wish."""
    words, after = content_stems(text), gist(text)
    is_wish = statement.judged.sort is StatementType.WISH
    # Of "I no longer take it, my doctor said so" the first clause denies: the second is no reason that it does not.
    parts = () if after.positive else (part for part, _ in statement.parts(least_words=2))
    denials = [content_stems(part) for part in parts if not gist(part).positive]
    against = []
    for fact in known:
        before = gist(fact.statement)
        is_alike = _share(words, fact.statement) >= _DENIED
        is_denied = before.positive and any(_share(part, fact.statement) >= _DENIED for part in denials)
        # "Answer in French", "Answer in English": the rest of the shorter one stands in the other.
        is_other_wish = is_wish and len(after.names) == len(before.names) == 1 and _is_rest_alike(after, before)
        has_other_value = is_alike and with_values_of(fact.statement, text) != fact.statement
        if is_denied or (is_alike and before.positive != after.positive) or has_other_value or is_other_wish:
            against.append(fact.fact_id)
    return against[0] if len(against) == 1 else None


def _is_rest_alike(one: Gist, other: Gist) -> bool:
    names = {*one.names, *other.names}
    rests = sorted((one.content - names, other.content - names), key=len)
    return one.names != other.names and bool(rests[0]) and rests[0] <= rests[1]


def _share(words: frozenset[str], other: str) -> float:
    others = content_stems(other)
    return len(words & others) / max(1, min(len(words), len(others)))


def without_known(content: str, known: Sequence[PresentFact]) -> tuple[str, int]:
    """Leave out the lines of a list that known facts say word for word, and count them; one such line is told again."""
    recalled = {normal(fact.statement) for fact in known}
    lines = content.splitlines()
    again = [line for line in lines if normal(_MARKER.sub("", line)) in recalled]
    gone = [line for line in again if len(again) > 1 or line.lstrip()[:1] in _BULLETS]
    return "\n".join(line for line in lines if line not in gone), len(gone)


def once_each(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Give each statement once, with the messages of every time; of two that contradict each other, the later."""
    kept: dict[str, tuple[Statement, Gist]] = {}
    for new in statements:
        key, meaning = normal(new.text), gist(new.text)
        if key not in kept:
            has_value = single_value(new.text) is not None
            kept = {
                k: (old, before)
                for k, (old, before) in kept.items()
                # What replaces one known fact, gives another value of what there is one of, or denies it.
                if not (
                    (old.updates is not None and old.updates == new.updates)
                    or (has_value and contradict(old.text, new.text))
                    or are_opposed(before, meaning)
                )
            }
        old = kept.get(key, (None, meaning))[0]
        if old is not None:
            ids = tuple(dict.fromkeys((*old.message_ids, *new.message_ids)))
            new = replace(old, message_ids=ids, updates=old.updates if new.updates is None else new.updates)
        kept[key] = new, meaning
    return tuple(one for one, _ in kept.values())
