"""What a statement is to what stands already, and facts about one thing in the order in which they were said.

A statement is new, said again, or a contradiction; the standing facts are those of the same user. The newest stands,
what it replaced lies beneath it, the next older beneath that. What was said long ago and is heard of only now goes
where it belongs: into a fact that says the same, or between two others; a fact that was said before and after it is
parted in two. So the same chats leave the same facts, whichever is brought in first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from sqlalchemy.orm import Session

from shared.base.audit import Cause
from shared.base.choices import FactState
from shared.facts import queries
from shared.facts.changes import (
    FactTexts,
    Mention,
    Moment,
    add_source,
    certainty,
    hear_again,
    moment,
    record,
    remove_rows,
    row_of,
    touch,
)
from shared.facts.models import Fact, FactChangeKind, FactSource, contradict, said_key, single_value
from shared.llm.embedding import from_bytes
from shared.telemetry.metrics import MergedBy
from shared.text.likeness import are_opposed, beginnings, differ, gist, normal, speaks_of

RULE_CONTRADICTION = "rule:contradiction"


@dataclass(frozen=True)
class IncomingStatement:
    """A statement to be judged."""

    text: str
    updates: int | None = None
    """The fact that whoever found it says it contradicts."""
    vector: bytes | None = None
    vector_model: str | None = None


@dataclass(frozen=True)
class StandingFact:
    """A standing fact of the same user."""

    fact_id: int
    text: str
    said_at: datetime
    vector: bytes | None = None
    vector_model: str | None = None


@dataclass(frozen=True)
class NewStatement:
    """Nothing that stands says it, or contradicts it."""


@dataclass(frozen=True)
class Repeat:
    """A standing fact says it already."""

    fact_id: int
    by: MergedBy


@dataclass(frozen=True)
class Contradiction:
    """It contradicts standing facts: the one that was named, or every one there can be only one of."""

    fact_ids: tuple[int, ...]
    by_rule: bool
    """Whether a rule saw the contradiction, and not whoever found the statement."""
    repeats: Repeat | None = None
    """Another standing fact that says it already, and stands for both from now on."""


Judgement = NewStatement | Repeat | Contradiction


def judge(stated: IncomingStatement, known: Sequence[StandingFact], same_meaning: float) -> Judgement:
    """Decide what a statement is; ``same_meaning`` is the cosine from which vectors may mean the same, -1..1."""
    repeated = _repeated(stated, known, same_meaning)
    named = next((fact for fact in known if fact.fact_id == stated.updates), None)
    if named is not None and normal(named.text) != normal(stated.text):
        others = [fact for fact in known if fact is not named]
        return Contradiction((named.fact_id,), False, _repeated(stated, others, same_meaning))
    if repeated is not None:
        return repeated
    has_one_value, said = single_value(stated.text) is not None, gist(stated.text)
    those = beginnings(said)
    against = sorted(
        (
            fact
            for fact in known
            if (has_one_value and contradict(fact.text, stated.text))
            or (speaks_of(fact.text, those) and are_opposed(gist(fact.text), said))
        ),
        key=lambda fact: (fact.said_at, fact.fact_id),
        reverse=True,
    )
    return Contradiction(tuple(fact.fact_id for fact in against), True) if against else NewStatement()


def contradicts(one: str, other: str) -> bool:
    """Whether two statements contradict each other by rule."""
    return contradict(one, other) or are_opposed(gist(one), gist(other))


def says_the_same(stated: IncomingStatement, fact: StandingFact, same_meaning: float) -> bool:
    """Whether a statement repeats a fact."""
    return _repeated(stated, [fact], same_meaning) is not None


def _repeated(stated: IncomingStatement, known: Sequence[StandingFact], same_meaning: float) -> Repeat | None:
    wanted = normal(stated.text)
    for fact in known:
        if normal(fact.text) == wanted:
            return Repeat(fact.fact_id, MergedBy.TEXT)
    close = [(cosine, fact) for fact in known if (cosine := _cosine(stated, fact)) >= same_meaning]
    alike = [(cosine, fact) for cosine, fact in close if not differ(fact.text, stated.text)]
    best = max(alike, key=lambda pair: (pair[0], -pair[1].fact_id), default=None)
    return None if best is None else Repeat(best[1].fact_id, MergedBy.EMBEDDING)


def _cosine(stated: IncomingStatement, fact: StandingFact) -> float:
    """Return the cosine of two vectors of unit length, -2 where there is nothing to compare."""
    if stated.vector is None or fact.vector is None or stated.vector_model != fact.vector_model:
        return -2.0
    left, right = from_bytes(stated.vector), from_bytes(fact.vector)
    return float(left @ right) if left.shape == right.shape else -2.0


Moments = dict[str | None, Moment]


def is_late(session: Session, said: Mention, fact: Fact) -> bool:
    """Whether a statement was made before the last one a fact comes from."""
    return said.said_at < fact.said_at or (said.said_at == fact.said_at and said.moment < said_last(session, fact))


def said_last(session: Session, fact: Fact) -> Moment:
    """Return when a fact was last said."""
    return max(moment(one.said_at, one.conversation_id) for one in queries.sources_of(session, fact.fact_id))


def insert(session: Session, top: Fact, said: Mention, cause: Cause, is_same: Callable[[Fact], bool]) -> Fact:
    """Put a late statement where it belongs beneath a standing fact, or into it; return the fact that has it now."""
    chain = [top, *queries.chain_beneath(session, top)]
    for position, fact in enumerate(chain):
        moments = [one for each in _moments(session, fact).values() for one in each.values()]
        if said.moment < min(moments):
            continue
        if said.moment <= max(moments):
            fact = chain[position]
            if is_same(fact):
                return _hear(session, fact, said, cause)
            lower = _part(session, fact, said.moment, cause)
            parted = [*chain[: position + 1], lower, *chain[position + 1 :]]
            new = _between(session, parted, position + 1, said, cause, is_same)
            _note_replaced(session, lower, new, cause)
            return new
        return _between(session, chain, position, said, cause, is_same)
    return _between(session, chain, len(chain), said, cause, is_same)


def link(chain: Sequence[Fact]) -> None:
    """Lay facts beneath each other, the newest first."""
    for upper, lower in pairwise(chain):
        upper.updates_fact_id = lower.fact_id
    chain[-1].updates_fact_id = None


def join(session: Session, top: Fact, *others: Fact) -> None:
    """Lay facts that were replaced, and what they had replaced, beneath a standing one, by when each was said."""
    lower = [one for fact in (top, *others) for one in queries.chain_beneath(session, fact)]
    link([top, *sorted([*others, *lower], key=lambda fact: (said_last(session, fact), fact.fact_id), reverse=True)])
    session.flush()


def part_by_replaced(session: Session, fact: Fact) -> list[Fact]:
    """Part what lies beneath a fact into what the fact itself replaced, each with what that had replaced before.

    Several lie there where it contradicted several. Returns the uppermost of each.
    """
    parts: list[list[Fact]] = []
    for one in queries.chain_beneath(session, fact):
        is_own = _replaced_by(session, one) == fact.fact_id
        above = [upper for part in parts for upper in part]
        if not parts or (is_own and not any(_goes_before(upper, one) for upper in above)):
            parts.append([one])
        else:
            parts[-1].append(one)
    for part in parts:
        link(part)
    return [part[0] for part in parts]


def mend(session: Session, upper: Fact, cause: Cause) -> None:
    """Make one fact of two that say the same, once nothing lies between them any more."""
    chain = queries.chain_beneath(session, upper)
    if not chain or chain[0].said_key != upper.said_key:
        return
    lower, is_own = chain[0], _is_in_own_words(session, upper)
    upper.updates_fact_id = lower.updates_fact_id
    for source in queries.sources_of(session, lower.fact_id):
        _hand_over(session, source, upper)
    record(session, lower, FactChangeKind.ERASED, cause)
    session.flush()
    remove_rows(session, [lower])
    reckon(session, upper, cause.at)
    if not is_own:
        take_words_of_first(session, upper)


def reckon(session: Session, fact: Fact, at: datetime) -> None:
    """Let a fact be as certain, as old and as lately said as its sources make it."""
    session.flush()
    sources = queries.sources_of(session, fact.fact_id)
    fact.by_hand = sources[0].conversation_key is None
    fact.mention_count = sum(one.mentions for one in sources)
    fact.confidence = certainty(fact.mention_count, fact.by_hand)
    fact.first_seen = min(one.first_seen for one in sources)
    fact.last_seen = max(one.last_seen for one in sources)
    fact.said_at = max(one.said_at for one in sources)
    touch(fact, at)


def first_said(session: Session, fact: Fact) -> FactSource:
    """Return where a fact was said first: its words are the fact's, unless somebody changed them."""
    moments = _moments(session, fact)
    return min(moments, key=lambda one: (min(moments[one].values()), one.source_id))


def _moments(session: Session, fact: Fact) -> dict[FactSource, Moments]:
    """Return for each source when each of its messages was said; what a hand wrote has no message."""
    found: dict[FactSource, Moments] = {}
    for source in queries.sources_of(session, fact.fact_id):
        times = queries.message_times(session, source.conversation_key, source.message_ids)
        # A sender's clock may be ahead of ours; then the source has ours.
        said: Moments = {one: moment(min(at, source.said_at), source.conversation_id) for one, at in times.items()}
        found[source] = said or {None: moment(source.said_at, source.conversation_id)}
    return found


def _between(
    session: Session, chain: list[Fact], position: int, said: Mention, cause: Cause, is_same: Callable[[Fact], bool]
) -> Fact:
    """Put a statement above the fact at a place, which was said before it, and beneath the one before that."""
    for fact in chain[position - 1 : position + 1]:
        if is_same(fact):
            return _hear(session, fact, said, cause)
    fact = row_of(said, chain[0].app_id, cause.at)
    session.add(fact)
    session.flush()
    add_source(session, fact, said)
    link([*chain[:position], fact, *chain[position:]])
    record(session, fact, FactChangeKind.LEARNED, cause, FactTexts(after=said.statement))
    above = next((one for one in reversed(chain[:position]) if contradicts(one.statement, said.statement)), chain[0])
    _note_replaced(session, fact, above, cause)
    return fact


def _part(session: Session, fact: Fact, until: Moment, cause: Cause) -> Fact:
    """Take out of a fact what was said up to a moment; return the fact of it, which is replaced."""
    moments = _moments(session, fact)
    first, is_own = first_said(session, fact), _is_in_own_words(session, fact)
    lower = Fact(
        app_id=fact.app_id,
        user_id=fact.user_id,
        state=FactState.REPLACED,
        statement=first.statement,
        said_key=said_key(fact.user_id, first.statement),
        category=first.category,
        confidence=fact.confidence,
        agent=first.agent,
        first_seen=fact.first_seen,
        last_seen=fact.last_seen,
        said_at=fact.said_at,
        updated_at=cause.at,
    )
    session.add(lower)
    session.flush()
    for source, said in moments.items():
        before = [one for one, at in said.items() if at <= until]
        if len(before) == len(said):
            source.fact_id = lower.fact_id
        elif before:
            _part_source(session, source, lower, [one for one in before if one is not None], said)
    reckon(session, lower, cause.at)
    reckon(session, fact, cause.at)
    if not is_own:
        take_words_of_first(session, fact)
    return lower


def _part_source(session: Session, source: FactSource, lower: Fact, before: Sequence[str], said: Moments) -> None:
    after = [one for one in source.message_ids if one not in before]
    mentions = max(1, min(source.mentions - 1, len(before)))
    session.add(
        FactSource(
            fact_id=lower.fact_id,
            conversation_key=source.conversation_key,
            conversation_id=source.conversation_id,
            message_ids=list(before),
            statement=source.statement,
            category=source.category,
            agent=source.agent,
            mentions=mentions,
            first_seen=source.first_seen,
            last_seen=source.last_seen,
            said_at=max(said[one] for one in before)[0],
        )
    )
    source.message_ids, source.mentions = after, max(1, source.mentions - mentions)


def _hear(session: Session, fact: Fact, said: Mention, cause: Cause) -> Fact:
    """Count a late statement of what a fact says; the words that were said first are the fact's."""
    is_own = _is_in_own_words(session, fact)
    hear_again(session, fact, said, cause)
    if not is_own:
        take_words_of_first(session, fact)
    return fact


def take_words_of_first(session: Session, fact: Fact) -> None:
    """Let a fact be in the words in which it was said first, unless another fact stands in those.

    A category that a hand gave it stays.
    """
    first = first_said(session, fact)
    if all(one.kind != FactChangeKind.MOVED for one in queries.history_of(session, fact.fact_id)):
        fact.category = first.category
    key = said_key(fact.user_id, first.statement)
    other = queries.fact_saying(session, fact.app_id, key)
    if fact.statement == first.statement or (other is not None and other is not fact):
        return
    if key != fact.said_key:
        fact.vector = fact.vector_model = None
    fact.statement, fact.said_key, fact.agent = first.statement, key, first.agent
    session.flush()


def _is_in_own_words(session: Session, fact: Fact) -> bool:
    """Whether a hand wrote or changed what a fact says."""
    return fact.by_hand or fact.statement != first_said(session, fact).statement


def _hand_over(session: Session, source: FactSource, fact: Fact) -> None:
    own = queries.source_in(session, fact.fact_id, source.conversation_key)
    if own is None:
        source.fact_id = fact.fact_id
        return
    own.mentions += source.mentions
    own.message_ids = list(dict.fromkeys([*source.message_ids, *own.message_ids]))
    own.statement, own.category, own.agent = source.statement, source.category, source.agent
    own.first_seen, own.last_seen = min(own.first_seen, source.first_seen), max(own.last_seen, source.last_seen)
    session.delete(source)
    session.flush()


def _goes_before(upper: Fact, lower: Fact) -> bool:
    return upper.said_key == lower.said_key or contradicts(upper.statement, lower.statement)


def _replaced_by(session: Session, fact: Fact) -> int | None:
    changes = [one for one in queries.history_of(session, fact.fact_id) if one.kind == FactChangeKind.REPLACED]
    return changes[-1].related_fact_id if changes else None


def _note_replaced(session: Session, fact: Fact, by: Fact, cause: Cause) -> None:
    why = cause.by(RULE_CONTRADICTION, "something said later stands already")
    record(session, fact, FactChangeKind.REPLACED, why, FactTexts(before=fact.statement), by.fact_id)
