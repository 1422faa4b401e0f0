"""Learning facts of a conversation, in one transaction of an app that the caller has locked.

Statements are judged one after another, each against what stands after the one before it, so that two of one batch
merge as two of different batches do. Finding statements is the agent's; when, the pipeline's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy.orm import Session

from shared.causes import Cause
from shared.facts import queries
from shared.facts.categories import Category
from shared.facts.clearing import refuse_while_clearing
from shared.facts.merging import RULE_CONTRADICTION, Known, Repeat, Replace, Stated, judge
from shared.facts.models import Fact
from shared.facts.normalising import said_key
from shared.facts.placing import Said, hear_again, is_counted, make_room, prune, replace, stand, subsume
from shared.facts.single_values import single_value
from shared.telemetry.metrics import MergedBy


@dataclass(frozen=True)
class Found:
    """A statement that an agent found."""

    statement: str
    category: Category
    message_ids: tuple[str, ...]
    updates: int | None = None
    """The fact it contradicts, as the agent sees it; one that is not this user's is ignored."""
    vector: bytes | None = None
    vector_model: str | None = None


@dataclass(frozen=True)
class Heard:
    """Where, about whom and when something was said, and who found it."""

    conversation_key: int
    conversation_id: str
    user_id: str
    at: datetime
    agent: str


@dataclass(frozen=True)
class Learned:
    """What became of the statements of one batch."""

    learned: tuple[int, ...]
    """Facts that were made, those that replaced another among them."""
    merged: Counter[MergedBy]
    replaced: tuple[tuple[int, int], ...]
    """Pairs of a contradicted fact and the one that stands in its place."""
    evicted: tuple[int, ...]


@dataclass
class Tally:
    """What became of statements so far."""

    learned: list[int] = field(default_factory=list)
    merged: Counter[MergedBy] = field(default_factory=Counter)
    replaced: list[tuple[int, int]] = field(default_factory=list)
    evicted: list[int] = field(default_factory=list)

    def outcome(self) -> Learned:
        """Return the outcome."""
        return Learned(tuple(self.learned), self.merged, tuple(self.replaced), tuple(self.evicted))


def learn(
    session: Session, app_id: str, heard: Heard, found: Sequence[Found], cause: Cause, same_meaning: float
) -> Learned:
    """Write what was found into a locked app, and evict what is too much. Raises: Conflict while it is cleared."""
    refuse_while_clearing(session, app_id)
    tally = Tally()
    for one in found:
        said = _said(heard, one)
        if not _was_taken_back(session, app_id, said):
            take_in(session, app_id, said, cause, same_meaning, tally, one.updates)
    tally.evicted += prune(session, app_id, cause)
    return tally.outcome()


def take_in(
    session: Session,
    app_id: str,
    said: Said,
    cause: Cause,
    same_meaning: float,
    tally: Tally,
    updates: int | None = None,
) -> int:
    """Judge one statement and write what follows from it; return the fact that says it now."""
    standing = {fact.fact_id: fact for fact in queries.standing(session, app_id, said.user_id)}
    stated = Stated(said.statement, updates, said.vector, said.vector_model)
    match judge(stated, [_known(fact) for fact in standing.values()], same_meaning):
        case Repeat() as repeat:
            return _repeat(session, standing, said, cause, tally, repeat)
        case Replace() as found if not _in_one_breath(session, standing[found.fact_id], said, found):
            newer = standing[found.fact_id]
            if said.at < newer.last_seen:
                return _come_late(session, newer, said, cause, tally)
            return _contradict(session, standing, said, cause, tally, found)
        case _:
            return _stand(session, said, app_id, cause, tally).fact_id


def keep_vectors(session: Session, vectors: Mapping[int, bytes], statements: Mapping[int, str], model: str) -> None:
    """Keep the vectors of facts that still say what was embedded."""
    for fact_id, vector in vectors.items():
        fact = session.get(Fact, fact_id, populate_existing=True, with_for_update=True)
        if fact is not None and fact.statement == statements.get(fact_id):
            fact.vector, fact.vector_model = vector, model
    session.flush()


def _repeat(
    session: Session, standing: Mapping[int, Fact], said: Said, cause: Cause, tally: Tally, repeat: Repeat
) -> int:
    if hear_again(session, standing[repeat.fact_id], said, cause):
        tally.merged[repeat.by] += 1
    return repeat.fact_id


def _stand(session: Session, said: Said, app_id: str, cause: Cause, tally: Tally) -> Fact:
    tally.evicted += make_room(session, app_id, cause)
    fact = stand(session, app_id, said, cause)
    tally.learned.append(fact.fact_id)
    return fact


def _come_late(session: Session, newer: Fact, said: Said, cause: Cause, tally: Tally) -> int:
    """Keep what was said before the fact that contradicts it, and is only read now, beneath that fact."""
    fact = _stand(session, said, newer.app_id, cause, tally)
    subsume(session, fact, newer, cause.by(RULE_CONTRADICTION, "something said later stands already"))
    tally.replaced.append((fact.fact_id, newer.fact_id))
    return newer.fact_id


def _contradict(
    session: Session, standing: Mapping[int, Fact], said: Said, cause: Cause, tally: Tally, found: Replace
) -> int:
    old = standing[found.fact_id]
    why = cause.by(RULE_CONTRADICTION if found.by_rule else cause.actor, "something said later contradicts it")
    if found.repeats is not None:
        by = _repeat(session, standing, said, cause, tally, found.repeats)
        subsume(session, old, standing[by], why)
    else:
        by = replace(session, old, said, cause, why).fact_id
        tally.learned.append(by)
    tally.replaced.append((old.fact_id, by))
    return by


def _in_one_breath(session: Session, old: Fact, said: Said, found: Replace) -> bool:
    """Whether the very message gave both values of what there is only one of by rule: "I work at Lego and at Novo"."""
    if not found.by_rule or single_value(said.statement) is None:
        return False
    source = queries.source_in(session, old.fact_id, said.conversation_key)
    return source is not None and not set(said.message_ids).isdisjoint(source.message_ids)


def _was_taken_back(session: Session, app_id: str, said: Said) -> bool:
    """Whether these very messages said it before, and it was replaced or deleted since."""
    gone = queries.gone_saying(session, app_id, said_key(said.user_id, said.statement))
    return any(is_counted(queries.source_in(session, one.fact_id, said.conversation_key), said) for one in gone)


def _said(heard: Heard, found: Found) -> Said:
    return Said(
        statement=found.statement,
        category=found.category,
        agent=heard.agent,
        at=heard.at,
        user_id=heard.user_id,
        conversation_key=heard.conversation_key,
        conversation_id=heard.conversation_id,
        message_ids=found.message_ids,
        vector=found.vector,
        vector_model=found.vector_model,
    )


def _known(fact: Fact) -> Known:
    return Known(fact.fact_id, fact.statement, fact.last_seen, fact.vector, fact.vector_model)
