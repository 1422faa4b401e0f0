"""Extracts the facts of what was said in a conversation since the last time.

Read, then think and embed with no transaction open, then write in one: the facts, how far the conversation has been
seen, and the end of the job. What a statement becomes is decided in that transaction, against what stands then, so
that nothing which happened meanwhile is overlooked. An embedder that is away costs only its vectors.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import repeat

from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.apps.queries import get_app, lock_app
from shared.base.audit import Cause
from shared.base.choices import Category
from shared.base.clock import Clock
from shared.base.errors import NotYet, Transient
from shared.base.settings import Settings
from shared.base.subjects import Subject
from shared.conversations.extraction import move_on
from shared.conversations.models import Conversation
from shared.conversations.queries import has_unseen_words, lock_by_key, newest_messages
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.facts import queries
from shared.facts.mentions import FactLearning, FoundStatement, StatementOrigin, learn, save_vectors
from shared.jobs.models import JobState
from shared.jobs.ownership import Claim
from shared.llm.calls import Meter
from shared.llm.embedding import Embedder
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import FactRemoval, Metrics, agent_kind
from shared.text.gate import Gate
from worker.agent.corrections import differ_in_values_only
from worker.agent.gates import fact_gate
from worker.agent.protocol import ExtractionRequest, FactAgent, PresentFact, Statement, TranscriptTurn
from worker.pipelines.attempt import WorkerContainer, end, remembered, unpurged
from worker.pipelines.fallback import Admission, JobAgent
from worker.pipelines.turns import UnseenTurns, embed_if_available, spoken_turns, unseen_turns

BEFORE = 4
"""Messages shown beside them that were seen before."""
EMBED_LIMIT = 50
"""Facts without a vector that a job sees to beside its own."""
NOTHING = "nothing that is a fact"
SAID = "said in a conversation"


@dataclass(frozen=True)
class UnreadMessages:
    """What was read: the turns to think about, and where they lie in the conversation."""

    segment: ExtractionRequest
    unseen: UnseenTurns
    user_id: str
    opened_at: datetime
    unembedded: dict[int, str]
    """Standing facts that have no vector of this embedder yet."""


@dataclass(frozen=True)
class FactLearner:
    """Embeds what an agent stated and writes it, for every pipeline whose agent finds facts."""

    clock: Clock
    embedder: Embedder
    metrics: Metrics

    def found(
        self, statements: Sequence[Statement], turns: Sequence[TranscriptTurn], vectors: Sequence[bytes]
    ) -> tuple[FoundStatement, ...]:
        """Return statements as they are written, with their times; ``vectors`` may be none at all."""
        times, now = {turn.message_id: turn.created_at for turn in turns}, self.clock.now()
        found = []
        for one, vector in zip(statements, vectors or repeat(None), strict=False):
            # A sender's clock that is ahead of ours says nothing later than now.
            said_at = min(now, max(times[message] for message in one.message_ids)).astimezone(UTC)
            model = None if vector is None else self.embedder.name
            found.append(FoundStatement(one.text, one.category, one.message_ids, one.updates, vector, model, said_at))
        return tuple(found)

    def embed(self, texts: Sequence[str], meter: Meter) -> tuple[bytes, ...]:
        """Return a vector for each text, or none at all while the embedder is away."""
        return embed_if_available(self.embedder, texts, meter, self.metrics, "facts_not_embedded")

    def learn(
        self, session: Session, claim: Claim, why: str, heard: StatementOrigin, found: Sequence[FoundStatement]
    ) -> FactLearning:
        """Write what was found, in the transaction of the job."""
        cause = Cause(heard.agent, why, self.clock.now(), claim.job_id)
        return learn(session, claim.app_id, heard, found, cause, self.embedder.same_meaning)

    def report(self, agent: str, learned: FactLearning) -> None:
        """Count what was written, after the commit."""
        metrics = self.metrics
        metrics.facts_learned.labels(agent_kind(agent)).inc(len(learned.learned))
        metrics.fact_conflicts.inc(len(learned.replaced))
        metrics.facts_removed.labels(FactRemoval.EVICTED).inc(len(learned.evicted))
        for by, count in learned.merged.items():
            metrics.fact_merges.labels(by).inc(count)


@dataclass
class ExtractFacts:
    """The pipeline of ``extract_facts`` jobs."""

    database: Database
    clock: Clock
    agent: FactAgent
    embedder: Embedder
    accountant: Accountant
    metrics: Metrics
    settings: Settings
    rules: FactAgent | None = None

    @property
    def _learner(self) -> FactLearner:
        return FactLearner(self.clock, self.embedder, self.metrics)

    def __call__(self, claim: Claim) -> JobState:
        """Carry the job out; return DONE or NOTHING. Raises what an attempt records."""
        seen = self._read(claim)
        if seen is None:
            with self.database.write() as session:
                now = self.clock.now()
                epoch = lock_app(session, claim.app_id).purge_epoch
                conversation = lock_by_key(session, claim.conversation_key)
                end(session, claim, JobState.NOTHING, now, NOTHING)
                if conversation is not None:
                    # Something may have been said since it was read, and nobody asked because this job was open.
                    move_on(session, conversation, conversation.facts_seen, epoch, self.settings, now)
            return JobState.NOTHING
        agent = JobAgent(self.agent, self.rules, claim, self.accountant)
        turns = seen.segment.turns
        turns_read, found, others = len(turns), tuple[FoundStatement, ...](), tuple[bytes, ...]()
        if any(turn.role == "user" for turn in turns):
            extraction = agent.do(lambda one: one.extract(seen.segment, agent.meter))
            agent.admission.refused.update(extraction.refused)
            statements = admitted(extraction.statements, seen.segment, agent.admission)
            said = [statement.text for statement in statements]
            vectors = self._learner.embed([*said, *seen.unembedded.values()] if said else [], agent.meter)
            found, others = self._learner.found(statements, turns, vectors[: len(said)]), vectors[len(said) :]
            turns_read = extraction.turns_read
        agent.conclude()
        return self._write(agent, seen, turns_read, found, dict(zip(seen.unembedded, others, strict=False)))

    def _read(self, claim: Claim) -> UnreadMessages | None:
        """Return what there is to think about; None when nobody said anything new."""
        with self.database.read() as session:
            app = get_app(session, claim.app_id)
            conversation = session.get(Conversation, claim.conversation_key)
            _refuse(session, app, claim, conversation)
            conversation = remembered(conversation, claim)
            # Whether there was enough to ask about was decided when it was asked.
            if not has_unseen_words(session, conversation, 1):
                return None
            unseen = unseen_turns(session, conversation, conversation.facts_seen)
            before = newest_messages(session, conversation.key, BEFORE, unseen.start)
            missing = queries.without_vector(session, conversation.subject, self.embedder.name, EMBED_LIMIT)
            segment = ExtractionRequest(
                app_name=app.name,
                turns=unseen.turns,
                before=tuple(spoken_turns(session, before).values()),
                known=present_facts(session, conversation.subject, conversation.key, self.agent.name),
            )
            unembedded = {one.fact_id: one.statement for one in missing}
            user_id, opened_at = conversation.subject.user_id, conversation.created_at
            return UnreadMessages(segment, unseen, user_id, opened_at, unembedded)

    def _write(
        self,
        agent: JobAgent[FactAgent],
        seen: UnreadMessages,
        turns_read: int,
        found: Sequence[FoundStatement],
        vectors: dict[int, bytes],
    ) -> JobState:
        claim, read = agent.claim, seen.segment.turns[:turns_read]
        with self.database.write() as session:
            now = self.clock.now()
            app = lock_app(session, claim.app_id)
            _refuse(session, app, claim, session.get(Conversation, claim.conversation_key))
            conversation = remembered(lock_by_key(session, claim.conversation_key), claim)
            if conversation.facts_seen != seen.unseen.start:
                raise Transient("How far the conversation was seen has changed meanwhile; it is read again.")
            save_vectors(session, vectors, seen.unembedded, self.embedder.name)
            heard = StatementOrigin(
                conversation_key=claim.conversation_key or 0,
                conversation_id=conversation.conversation_id,
                user_id=seen.user_id,
                # An old chat that is brought in now is heard now: its facts begin their life here.
                at=min(now, max((max(turn.created_at, seen.opened_at) for turn in read), default=now)).astimezone(UTC),
                agent=agent.name,
            )
            learned = self._learner.learn(session, claim, agent.reason(SAID), heard, found)
            changed = learned.learned or learned.merged or learned.replaced
            state = JobState.DONE if changed else JobState.NOTHING
            why = agent.job_reason(None if changed else NOTHING)
            end(session, claim, state, now, why)
            after = seen.unseen.seen_after(turns_read)
            move_on(session, conversation, after, app.purge_epoch, self.settings, now)
        self._learner.report(agent.name, learned)
        for turn in read:
            if turn.role == "user":
                # A message dated before its conversation was opened came with it.
                came_at = max(turn.created_at, seen.opened_at)
                self.metrics.extraction_lag.observe(max(0.0, (now - came_at).total_seconds()))
        get_logger().info(
            "facts_extracted",
            job_id=claim.job_id,
            app_id=claim.app_id,
            learned=len(learned.learned),
            merged=learned.merged.total(),
            replaced=len(learned.replaced),
            evicted=len(learned.evicted),
        )
        return state


def admitted(
    statements: Iterable[Statement], segment: ExtractionRequest, admission: Admission
) -> tuple[Statement, ...]:
    """Return the statements that may be stored, as far as they may."""
    gate, known = fact_gate(segment), {fact.fact_id: fact.statement for fact in segment.known}

    def gate_of(one: Statement) -> Gate:
        before = known.get(one.updates or 0, "")
        return fact_gate(segment, corrected=before) if before and differ_in_values_only(one.text, before) else gate

    judged = ((one, admission.admit(one.text, gate_of(one))) for one in statements)
    return tuple(replace(one, text=text) for one, text in judged if text is not None)


def present_facts(session: Session, subject: Subject, key: int, agent: str) -> tuple[PresentFact, ...]:
    """Return a subject's standing facts that what ``agent`` reads in a conversation may change.

    Not those that another agent found in that conversation alone: both read the same words, and neither corrects the
    other. Of its own earlier segments an agent may be corrected later in the same talk.
    """
    here = queries.heard_only_in(session, key)
    known = queries.standing(session, subject)
    return tuple(
        PresentFact(one.fact_id, one.statement, Category(one.category), one.said_at)
        for one in known
        if one.agent == agent or one.fact_id not in here
    )


def _refuse(session: Session, app: App, claim: Claim, conversation: Conversation | None) -> None:
    """Raises: Purged, and NotYet while it is open whether the facts of its subject were cleared for good."""
    unpurged(app, claim)
    clear = None if conversation is None else queries.clear_over(session, conversation.subject)
    if clear is not None:
        why = "The facts it adds to are being cleared, which can still be taken back; it is tried again."
        raise NotYet(why, clear.undo_until)


def build(container: WorkerContainer) -> ExtractFacts:
    agents = container.agents
    return ExtractFacts(
        container.database,
        container.clock,
        agents.facts,
        agents.embedder,
        container.accountant,
        container.metrics,
        container.settings,
        container.rules.facts,
    )
