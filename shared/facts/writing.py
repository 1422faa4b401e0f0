"""Learning facts of a conversation, in one transaction of an app that the caller has locked.

Statements are judged one after another, each against what stands after the one before it, so that two of one batch
merge as two of different batches do. Finding statements is the agent's; when, the pipeline's.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy.orm import Session

from shared.base.audit import Cause
from shared.base.choices import Category
from shared.base.subjects import Subject
from shared.facts import merging, queries
from shared.facts.changes import Mention, hear_again, is_counted, replace, stand, subsume
from shared.facts.clearing import prune, prune_if_full, refuse_while_clearing
from shared.facts.models import Fact, said_key, single_value
from shared.telemetry.metrics import MergedBy


@dataclass(frozen=True)
class FoundStatement:
    """A statement that an agent found."""

    statement: str
    category: Category
    message_ids: tuple[str, ...]
    updates: int | None = None
    """The fact it contradicts, as the agent sees it; one that is not this user's is ignored."""
    vector: bytes | None = None
    vector_model: str | None = None
    said_at: datetime | None = None
    """When the newest of its messages was said; None: when it was heard of."""


@dataclass(frozen=True)
class StatementOrigin:
    """Where and about whom something was said, when it was heard of, and who found it."""

    conversation_key: int
    conversation_id: str
    user_id: str
    at: datetime
    agent: str


@dataclass
class FactLearning:
    """What became of the statements of one batch."""

    learned: tuple[int, ...] = ()
    """Facts that were made, those that replaced another among them."""
    merged: Counter[MergedBy] = field(default_factory=Counter)
    replaced: tuple[tuple[int, int], ...] = ()
    """Pairs of a contradicted fact and the one that stands in its place."""
    evicted: tuple[int, ...] = ()


def learn(
    session: Session,
    app_id: str,
    heard: StatementOrigin,
    found: Sequence[FoundStatement],
    cause: Cause,
    same_meaning: float,
) -> FactLearning:
    """Write what was found into a locked app, and evict what is too much. Raises: Conflict while it is cleared."""
    subject = Subject(app_id, heard.user_id)
    refuse_while_clearing(session, subject)
    result = FactLearning()
    for one in found:
        said = Mention(
            statement=one.statement,
            category=one.category,
            agent=heard.agent,
            at=heard.at,
            said_at=one.said_at or heard.at,
            user_id=heard.user_id,
            conversation_key=heard.conversation_key,
            conversation_id=heard.conversation_id,
            message_ids=one.message_ids,
            vector=one.vector,
            vector_model=one.vector_model,
        )
        # Whether these very messages said it before, and it was replaced or deleted since.
        gone = queries.gone_saying(session, app_id, said_key(said.user_id, said.statement))
        was_taken_back = any(
            is_counted(queries.source_in(session, one.fact_id, said.conversation_key), said) for one in gone
        )
        if not was_taken_back:
            take_in(session, app_id, said, cause, same_meaning, result, one.updates)
    result.evicted += prune(session, subject, cause)
    return result


def take_in(
    session: Session,
    app_id: str,
    said: Mention,
    cause: Cause,
    same_meaning: float,
    result: FactLearning,
    updates: int | None = None,
) -> int:
    """Judge one statement and write what follows from it; return the standing fact that has to do with it now."""
    standing = {fact.fact_id: fact for fact in queries.standing(session, Subject(app_id, said.user_id))}
    stated = merging.IncomingStatement(said.statement, updates, said.vector, said.vector_model)
    batch = _Batch(session, app_id, stated, cause, same_meaning, result)
    match merging.judge(stated, [_known(fact) for fact in standing.values()], same_meaning):
        case merging.Repeat() as repeat:
            return batch.repeat(standing[repeat.fact_id], said, repeat.by).fact_id
        case merging.Contradiction() as found:
            against = [standing[one] for one in found.fact_ids]
            if found.by_rule:
                against = [one for one in against if not _in_one_breath(session, one, said)]
            same = None if found.repeats is None else (standing[found.repeats.fact_id], found.repeats.by)
            if against:
                return batch.contradict(against, said, found.by_rule, same).fact_id
    return batch.stand(said).fact_id


@dataclass(frozen=True)
class _Batch:
    """Writes what a judgement says of one statement, and counts it."""

    session: Session
    app_id: str
    stated: merging.IncomingStatement
    cause: Cause
    same_meaning: float
    result: FactLearning

    def stand(self, said: Mention) -> Fact:
        self.result.evicted += prune_if_full(self.session, Subject(self.app_id, said.user_id), self.cause)
        fact = stand(self.session, self.app_id, said, self.cause)
        self.result.learned += (fact.fact_id,)
        return fact

    def repeat(self, fact: Fact, said: Mention, by: MergedBy) -> Fact:
        """Count a repeat of a standing fact, or of what it had replaced by then."""
        if merging.is_late(self.session, said, fact):
            self._insert(fact, said, by)
        elif hear_again(self.session, fact, said, self.cause):
            self.result.merged[by] += 1
        return fact

    def contradict(
        self, against: Sequence[Fact], said: Mention, by_rule: bool, same: tuple[Fact, MergedBy] | None
    ) -> Fact:
        """Let a statement replace what was said before it, or lie beneath what was said after it."""
        newer = [one for one in against if merging.is_late(self.session, said, one)]
        older = [one for one in against if one not in newer]
        why = self.cause.by(
            merging.RULE_CONTRADICTION if by_rule else self.cause.actor, "something said later contradicts it"
        )
        if same is not None:
            top = by = self.repeat(same[0], said, same[1])
        elif newer:
            top = min(newer, key=lambda one: (merging.said_last(self.session, one), one.fact_id))
            by = self._insert(top, said, MergedBy.TEXT)
        else:
            top = by = replace(self.session, older.pop(0), said, self.cause, why)
            self.result.learned += (top.fact_id,)
            self.result.replaced += ((top.updates_fact_id or 0, top.fact_id),)
        for one in older:
            subsume(self.session, one, top, why, by)
            self.result.replaced += ((one.fact_id, top.fact_id),)
        if older:
            merging.join(self.session, top)
        return top

    def _insert(self, top: Fact, said: Mention, by: MergedBy) -> Fact:
        """Put what was said earlier, and is only heard of now, in its place beneath a standing fact, or into that."""

        def is_same(fact: Fact) -> bool:
            return merging.says_the_same(self.stated, _known(fact), self.same_meaning)

        before = {one.fact_id for one in (top, *queries.chain_beneath(self.session, top))}
        fact = merging.insert(self.session, top, said, self.cause, is_same)
        if fact.fact_id in before:
            self.result.merged[by] += 1
        else:
            self.result.learned += (fact.fact_id,)
            self.result.replaced += ((fact.fact_id, top.fact_id),)
        return fact


def save_vectors(session: Session, vectors: Mapping[int, bytes], statements: Mapping[int, str], model: str) -> None:
    """Keep the vectors of facts that still say what was embedded."""
    for fact_id, vector in vectors.items():
        # Read anew and locked: it may have been reworded while its vector was made.
        fact = session.get(Fact, fact_id, populate_existing=True, with_for_update=True)
        if fact is not None and fact.statement == statements.get(fact_id):
            fact.vector, fact.vector_model = vector, model
    session.flush()


def _in_one_breath(session: Session, old: Fact, said: Mention) -> bool:
    """Whether the very message gave both values of what there is only one of by rule: "I work at Lego and at Novo"."""
    if single_value(said.statement) is None:
        return False
    source = queries.source_in(session, old.fact_id, said.conversation_key)
    return source is not None and not set(said.message_ids).isdisjoint(source.message_ids)


def _known(fact: Fact) -> merging.StandingFact:
    return merging.StandingFact(fact.fact_id, fact.statement, fact.said_at, fact.vector, fact.vector_model)
