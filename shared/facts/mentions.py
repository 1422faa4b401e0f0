"""What is mentioned of facts, and what that changes: a mention comes or goes, its group is folded, the facts follow.

``refold`` applies the difference between the facts as they are and as ``fold`` makes them; nothing else decides what
stands. All of it happens in one transaction of an app that the caller has locked. Finding statements is the agent's.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache

from sqlalchemy.orm import Session

from shared.base.audit import Cause
from shared.base.choices import Category, FactState
from shared.base.subjects import Subject
from shared.facts import queries
from shared.facts.fold import Run, Topic, Trace, connected, find_same, fold, moment
from shared.facts.models import Fact, FactChangeKind, FactMention, said_key
from shared.facts.queries import FoldScope
from shared.facts.retention import free_slots, prune, record, remove_rows, touch
from shared.telemetry.metrics import MergedBy
from shared.text.likeness import normal
from shared.text.secrets import has_secret

RULE_CONTRADICTION = "rule:contradiction"
_NEW_MEANING = 0
"""Of a mention that says what no fact does, until its fact has an id."""


@dataclass(frozen=True)
class FoundStatement:
    """A statement that an agent found, or that a person wrote."""

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
    """Where and about whom something was said, when it was heard of, and who found it; no conversation: by hand."""

    conversation_key: int | None
    conversation_id: str | None
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
    """Pairs of a contradicted fact and the one that contradicted it."""
    evicted: tuple[int, ...] = ()
    topic_of: Callable[[str], Topic] = field(default_factory=lambda: cache(Topic))
    """Takes each text apart once a batch, which costs 0.1 ms."""


def learn(
    session: Session,
    app_id: str,
    origin: StatementOrigin,
    found: Sequence[FoundStatement],
    cause: Cause,
    same_meaning: float,
) -> FactLearning:
    """Write what was found into a locked app, and evict what is too much. Raises: Conflict while it is cleared."""
    subject = Subject(app_id, origin.user_id)
    queries.refuse_while_clearing(session, subject)
    learning = FactLearning()
    # One after another, so that two of one batch merge as two of different batches do.
    for one in found:
        append(session, app_id, origin, one, cause, same_meaning, learning)
    learning.evicted += prune(session, subject, cause)
    return learning


def append(
    session: Session,
    app_id: str,
    origin: StatementOrigin,
    found: FoundStatement,
    cause: Cause,
    same_meaning: float,
    learning: FactLearning,
) -> FactMention | None:
    """Add one mention and let the facts follow; None where these very messages were counted before."""
    subject = Subject(app_id, origin.user_id)
    scope = queries.fold_scopes(session, subject)[0]
    named, same = _related(scope, found, said_key(subject.user_id, found.statement), same_meaning)
    traces = queries.traces_of(session, subject, scope.facts)
    # A fact has one meaning, as a run has.
    meaning_of = {trace.fact_id: trace.meaning for trace in traces}
    mention = FactMention(
        app_id=app_id,
        user_id=subject.user_id,
        meaning=_NEW_MEANING if same is None else meaning_of[same[0].fact_id],
        updates=None if named is None else meaning_of[named.fact_id],
        conversation_key=origin.conversation_key,
        conversation_id=origin.conversation_id,
        message_ids=list(dict.fromkeys(found.message_ids)),
        statement=found.statement,
        category=found.category,
        agent=origin.agent,
        heard_at=origin.at,
        said_at=found.said_at or origin.at,
    )
    if _is_counted(session, subject, mention):
        if named is not None and same is not None and same[0].state == FactState.STANDING:
            # Read again, they may still be seen to contradict a fact.
            own = [one for one in queries.mentions_of(session, [same[0].fact_id]) if one.updates is None]
            if own:
                max(own, key=moment).updates = mention.updates
                session.flush()
                both = group_of(session, scope, {same[0].fact_id, named.fact_id})
                _Folding(session, subject, scope, cause, learning).carry_out(both)
        return None
    seed = Trace(_NEW_MEANING, mention.meaning, mention.updates, found.statement)
    group = connected(traces, [seed], learning.topic_of)
    folding, known = _Folding(session, subject, scope, cause, learning, mention), set(learning.learned)
    folding.carry_out([fact for fact in scope.facts if fact.fact_id in group])
    fact = folding.fact_of_incoming()
    # A fact that stood in other words has a vector of those.
    if fact.fact_id in learning.learned and fact.statement == found.statement:
        fact.vector, fact.vector_model = found.vector, found.vector_model
    if same is not None and (fact.fact_id in known or fact.fact_id not in learning.learned):
        learning.merged[same[1]] += 1
    return mention


def _related(
    scope: FoldScope, found: FoundStatement, key: str, same_meaning: float
) -> tuple[Fact | None, tuple[Fact, MergedBy] | None]:
    """Return the fact that a statement is named to contradict, and the one that says the same, with what showed it."""
    standing = [fact for fact in scope.facts if fact.state == FactState.STANDING]
    # Whoever found it names a fact as it stood when it was asked; what was replaced since is not meant. One that it
    # says in the same words is repeated, and not contradicted.
    named = next((fact for fact in standing if fact.fact_id == found.updates and fact.said_key != key), None)
    words = (found.statement, found.vector, found.vector_model)
    same = find_same(*words, [fact for fact in standing if fact is not named], same_meaning)
    # What was replaced may be what a late statement repeats, or be said again.
    replaced = [fact for fact in scope.facts if fact.state != FactState.STANDING]
    return named, same or find_same(*words, replaced, same_meaning)


def _is_counted(session: Session, subject: Subject, mention: FactMention) -> bool:
    """Whether these very messages said it before, and be it of a fact that was replaced or deleted since.

    So a job that reads them again neither makes a fact surer nor brings one back. What is written by hand never is.
    """
    if not mention.message_ids:
        return False
    wording, counted = normal(mention.statement), set[str]()
    for one in queries.mentions_in(session, subject, mention.conversation_key or 0):
        if one.meaning == mention.meaning or normal(one.statement) == wording:
            counted.update(one.message_ids)
    return counted.issuperset(mention.message_ids)


def standing_for(session: Session, mention: FactMention) -> Fact:
    """Return the standing fact that has to do with a mention: its own, or the one that replaced that."""
    fact = session.get_one(Fact, mention.fact_id)
    while fact.state == FactState.REPLACED and (above := queries.fact_above(session, fact)) is not None:
        fact = above
    return fact


def group_of(session: Session, scope: FoldScope, fact_ids: Collection[int]) -> list[Fact]:
    """Return the facts of a scope that may change with some of them, those among them."""
    traces = queries.traces_of(session, scope.facts[0].subject, scope.facts)
    group = connected(traces, [trace for trace in traces if trace.fact_id in fact_ids])
    return [fact for fact in scope.facts if fact.fact_id in group]


def refold(session: Session, scope: FoldScope, group: list[Fact], cause: Cause) -> None:
    """Let a group of facts follow their mentions, some of which came or went."""
    _Folding(session, scope.facts[0].subject, scope, cause).carry_out(group)


def _twins(runs: Sequence[Run]) -> tuple[int, int] | None:
    """Return two meanings that turn out to be one: the words are the same.

    They became so when a conversation was erased or a deletion taken back, or are a hand's.
    """
    first: dict[str, int] = {}
    for run in runs:
        other = first.setdefault(normal(run.worded.words), run.meaning)
        if other != run.meaning:
            # The lesser goes: it may be that of a statement which has no fact yet.
            return min(other, run.meaning), max(other, run.meaning)
    return None


_Pin = tuple[int | None, bool, list[Run]]
"""A pin that a fact gives up: its slot, or of a deleted fact whether it gets one again; and what stands for it."""


@dataclass
class _Folding:
    """One fold of a group, and what follows from it for the rows of the facts."""

    session: Session
    subject: Subject
    scope: FoldScope
    cause: Cause
    learning: FactLearning = field(default_factory=FactLearning)
    incoming: FactMention | None = None
    _before: dict[int, FactState] = field(default_factory=dict, init=False)
    """The state each fact of the group had."""
    _fact_of: dict[Run, Fact] = field(default_factory=dict, init=False)

    def carry_out(self, group: list[Fact]) -> None:
        mentions = queries.mentions_of(self.session, [fact.fact_id for fact in group])
        mentions += [] if self.incoming is None else [self.incoming]
        runs = self._fold(group, mentions)
        # Of what a clear took, what lay beneath says so by the chain alone.
        beneath = {fact.updates_fact_id for fact in group} if self.scope.clear_id else set()
        self._before = {
            fact.fact_id: FactState.REPLACED if fact.fact_id in beneath else FactState(fact.state) for fact in group
        }
        known = {fact.fact_id: fact for fact in group}
        # By the facts that the mentions were of until now, so before they are moved.
        self._fact_of = self._identify(runs, known)
        kept = {fact.fact_id for fact in self._fact_of.values() if fact.fact_id is not None}
        gone = [fact for fact in group if fact.fact_id not in kept]
        pins = self._release(gone)
        reworded = [fact for run, fact in self._fact_of.items() if self._update(run, fact)]
        # New facts have their ids from here on.
        self._move(runs)
        self._link(runs)
        # Behind the move: with a fact go the mentions that are still its own.
        for fact in gone:
            record(self.session, fact, FactChangeKind.ERASED, self.cause)
        remove_rows(self.session, gone)
        # Behind the links, as an eviction takes what lies beneath along; before the pins, which need a slot.
        for run in runs:
            if run.replaced_by is None and self.scope.is_active:
                self._give_slot(self._fact_of[run])
        self._hand_over_pins(pins, runs)
        # Last: a change names the conversations whose words stand in the fact, and what replaced it.
        for run in runs:
            self._record(run, reworded)

    def fact_of_incoming(self) -> Fact:
        return next(fact for run, fact in self._fact_of.items() if self.incoming in run.mentions)

    def _fold(self, group: Sequence[Fact], mentions: list[FactMention]) -> list[Run]:
        """Fold, until no two meanings have the same words and no secret of an earlier release would stand again."""
        while True:
            runs = fold(mentions, self.learning.topic_of)
            if (twins := _twins(runs)) is not None:
                for one in mentions:
                    one.meaning = twins[1] if one.meaning == twins[0] else one.meaning
                    one.updates = twins[1] if one.updates == twins[0] else one.updates
                continue
            top = [run for run in runs if run.replaced_by is None]
            secrets = [run for run in top if self._stands_anew(run, group) and has_secret(run.worded.words)]
            if not secrets:
                return runs
            for one in [one for run in secrets for one in run.mentions]:
                mentions.remove(one)
                self.session.delete(one)
            self.session.flush()

    def _stands_anew(self, run: Run, group: Sequence[Fact]) -> bool:
        stood = {fact.fact_id for fact in group if fact.state == self.scope.top}
        return self.incoming not in run.mentions and not any(one.fact_id in stood for one in run.mentions)

    def _identify(self, runs: Sequence[Run], known: Mapping[int, Fact]) -> dict[Run, Fact]:
        """Give each run the fact of its newest mention that has one, the newest runs first; the rest are new facts."""
        fact_of: dict[Run, Fact] = {}
        free = dict(known)
        for run in sorted(runs, key=lambda one: one.last, reverse=True):
            fact_id = next((one.fact_id for one in reversed(run.mentions) if one.fact_id in free), None)
            if fact_id is None:
                new = Fact(app_id=self.subject.app_id, user_id=self.subject.user_id, version=0)
                new.state = self.scope.beneath
            fact_of[run] = new if fact_id is None else free.pop(fact_id)
        return {run: fact_of[run] for run in runs}

    def _release(self, gone: Sequence[Fact]) -> list[_Pin]:
        """Take slots and pins from what does not stand any more; return the pins."""
        falling = [fact for run, fact in self._fact_of.items() if run.replaced_by is not None and fact.fact_id]
        pins: list[_Pin] = []
        for fact in [*falling, *gone]:
            if fact.pin_slot is not None or fact.was_pinned:
                holds = (run for run in self._fact_of if any(one.fact_id == fact.fact_id for one in run.mentions))
                pins.append((fact.pin_slot, fact.was_pinned, [run.top for run in holds]))
            if fact.state == FactState.STANDING:
                fact.state = FactState.REPLACED
            fact.slot, fact.pin_slot, fact.was_pinned = None, None, False
        for run, fact in self._fact_of.items():
            if fact.fact_id is not None and fact.statement != run.worded.words:
                # Another may take the words this one gives up, and be written first.
                fact.said_key = str(fact.fact_id)
        # Before others take them: the database refuses a slot that two have for a moment.
        self.session.flush()
        return pins

    def _update(self, run: Run, fact: Fact) -> bool:
        """Let a fact be as certain, as old and as lately said as its mentions make it; return whether it reads anew."""
        words, heard = run.worded.words, [one.heard_at for one in run.mentions]
        is_reworded = fact.statement != words
        if is_reworded:
            fact.statement, fact.said_key = words, said_key(self.subject.user_id, words)
            fact.agent, fact.vector, fact.vector_model = run.worded.agent, None, None
        category = run.worded.category
        # One that a hand chose stays.
        if fact.category != category and not (fact.fact_id and queries.was_moved(self.session, fact.fact_id)):
            fact.category = category
        fact.by_hand, fact.mention_count, fact.confidence = run.by_hand, len(run.mentions), run.confidence
        fact.first_seen, fact.last_seen, fact.said_at = min(heard), max(heard), run.mentions[-1].said_at
        if not self.scope.is_active:
            is_top = run.replaced_by is None
            fact.state = self.scope.top if is_top else self.scope.beneath
            fact.clear_id = self.scope.clear_id
            fact.undo_until = self.scope.undo_until if is_top or self.scope.clear_id else None
        if fact.fact_id is None or self.session.is_modified(fact):
            touch(fact, self.cause.at)
        self.session.add(fact)
        return is_reworded and fact.fact_id is not None

    def _move(self, runs: Sequence[Run]) -> None:
        """Let each mention know its fact."""
        self.session.flush()
        for run in runs:
            fact_id = self._fact_of[run].fact_id
            for one in run.mentions:
                one.fact_id = fact_id
            if run.meaning == _NEW_MEANING:
                run.mentions[0].meaning = fact_id
        if self.incoming is not None:
            self.session.add(self.incoming)
        self.session.flush()

    def _link(self, runs: Sequence[Run]) -> None:
        """Lay beneath each other, the newest first, what stands and all that it replaced."""
        below: dict[Run, list[Run]] = {}
        for run in runs:
            below.setdefault(run.top, []).append(run)
        for chain in below.values():
            chain.sort(key=lambda one: one.last, reverse=True)
            for upper, lower in zip(chain, [*chain[1:], None], strict=True):
                self._fact_of[upper].updates_fact_id = None if lower is None else self._fact_of[lower].fact_id
        self.session.flush()

    def _give_slot(self, fact: Fact) -> None:
        if fact.slot is not None:
            return
        # Evicts only what stands already: what still waits for its slot is no candidate.
        free = free_slots(self.session, self.subject)
        if not free:
            self.learning.evicted += prune(self.session, self.subject, self.cause)
            free = free_slots(self.session, self.subject)
        fact.state, fact.slot = FactState.STANDING, free[0]
        if self._before.get(fact.fact_id) == FactState.REPLACED:
            touch(fact, self.cause.at)
        self.session.flush()

    def _hand_over_pins(self, pins: Sequence[_Pin], runs: Sequence[Run]) -> None:
        """Pin what has, or replaced, a pinned fact's mentions; where these were erased, the newest that stands anew."""
        anew = [run for run in runs if self._is_restored(run)]
        anew.sort(key=lambda one: one.last, reverse=True)
        for slot, was_pinned, own in pins:
            heirs = [self._fact_of[run] for run in (*own, *anew)]
            heir = next((one for one in heirs if one.pin_slot is None and not one.was_pinned), None)
            if heir is not None:
                heir.pin_slot, heir.was_pinned = slot, was_pinned
        self.session.flush()

    def _is_restored(self, run: Run) -> bool:
        """Whether it stands, and did not."""
        before = self._before.get(self._fact_of[run].fact_id)
        return run.replaced_by is None and before == FactState.REPLACED

    def _record(self, run: Run, reworded: Sequence[Fact]) -> None:
        """Record what became of a fact: made, said again, brought back, reworded or replaced."""
        fact, session = self._fact_of[run], self.session
        is_new = fact.fact_id not in self._before
        if self.incoming is not None and self.incoming in run.mentions:
            words, key = self.incoming.statement, self.incoming.conversation_key
            if is_new:
                kind = FactChangeKind.WRITTEN if self.incoming.by_hand else FactChangeKind.LEARNED
                record(session, fact, kind, self.cause, fact.updates_fact_id, after=words)
                self.learning.learned += (fact.fact_id,)
            else:
                keys = [] if key is None else [key]
                record(session, fact, FactChangeKind.REPEATED, self.cause, after=words, keys=keys)
        elif (self._is_restored(run) and self.scope.is_active) or (fact in reworded and self.incoming is None):
            record(session, fact, FactChangeKind.RESTORED, self.cause, after=fact.statement)
        was_replaced = self._before.get(fact.fact_id) == FactState.REPLACED
        if run.replaced_by is None or was_replaced or not self.scope.is_active:
            return
        by = self._fact_of[run.replaced_by]
        actor = RULE_CONTRADICTION if run.by_rule else self.cause.actor
        why = self.cause.by(actor, f"something said later {'stands already' if is_new else 'contradicts it'}")
        record(session, fact, FactChangeKind.REPLACED, why, by.fact_id, before=fact.statement)
        self.learning.replaced += ((fact.fact_id, by.fact_id),)


def save_vectors(session: Session, vectors: Mapping[int, bytes], statements: Mapping[int, str], model: str) -> None:
    """Keep the vectors of facts that still say what was embedded."""
    for fact_id, vector in vectors.items():
        # Read anew and locked: it may have been reworded while its vector was made.
        fact = session.get(Fact, fact_id, populate_existing=True, with_for_update=True)
        if fact is not None and fact.statement == statements.get(fact_id):
            fact.vector, fact.vector_model = vector, model
    session.flush()
