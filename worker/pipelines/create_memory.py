"""Makes the one memory of an ended conversation, and room for it when its subject is at the cap.

Read, then think with no transaction open, then write everything in one: the memory, what it displaced, the history and
the end of the job. When the subject's memories changed while the agent thought, it thinks again once. Where the agent
cannot decide, or may not do what it decided, the built-in rules choose among what stands when it is written, whatever
else stands behind the model.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC

from sqlalchemy.orm import Session

from shared.apps.queries import get_app, lock_app
from shared.base.audit import Cause
from shared.base.clock import Clock
from shared.base.errors import Configuration, ModelOutput, OverBudget, ProviderAway, Transient
from shared.base.subjects import Subject
from shared.conversations.days import zones_now
from shared.conversations.models import Conversation
from shared.conversations.queries import lock_by_key, messages_of
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.facts import queries as facts_queries
from shared.facts.mentions import FactLearning, FoundStatement, StatementOrigin
from shared.jobs.models import JobState
from shared.jobs.ownership import Claim, confirm
from shared.llm.calls import EXTRACTIVE
from shared.memories import compaction, queries
from shared.memories.compaction import LONGEST_REASON, NEW, CompactionCandidate, Decision, Eviction
from shared.memories.writing import InsertedMemory, NewMemory, Rule, insert_memory
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import CompactionOutcome, CompactionReason, Metrics, agent_kind
from shared.text.gate import Gate
from shared.text.lines import shorten
from worker.agent.gates import judge_merged, spoken_gate
from worker.agent.memory_rules import choose_memory, decide_compaction
from worker.agent.protocol import (
    ExtractionRequest,
    LeftToRules,
    MemoryAgent,
    MemoryDraft,
    NothingToRemember,
    Transcript,
)
from worker.agent.statements import NOT_TO_BE_LOST, WORTH_KEEPING, SpokenStatement, left_out, read_statements, vital
from worker.pipelines.attempt import WorkerContainer, end, remembered, unpurged
from worker.pipelines.extract_facts import SAID, FactLearner, admitted, present_facts
from worker.pipelines.fallback import JobAgent
from worker.pipelines.turns import spoken_turns

NOTHING = "nothing to remember"
_THIN = 0.5
"""Of what the rules would keep, in characters and in words of weight; right memories of readers have 0.8 and more."""


class SnapshotChanged(Exception):
    """The subject's memories changed while the agent thought."""


@dataclass(frozen=True)
class Snapshot:
    """The conversation and the present memories, as they were read for the agent."""

    subject: Subject
    transcript: Transcript
    existing: tuple[CompactionCandidate, ...]
    at_cap: bool
    found: tuple[FoundStatement, ...] = ()
    """Facts that were found beside the memory."""


@dataclass(frozen=True)
class MemoryProposal:
    """What the agent proposes, and the room it would make."""

    draft: MemoryDraft
    eviction: Eviction | None = None
    why: CompactionReason | None = None
    """Why room is made as it is; without an eviction the rules choose, among what stands then. None: below the cap."""
    rules_because: str | None = None
    """Why the rules choose in a model's stead; quotes no memory, as reasons outlive a purge."""


@dataclass
class CreateMemory:
    """The pipeline of ``create_memory`` jobs."""

    database: Database
    clock: Clock
    agent: MemoryAgent
    accountant: Accountant
    cap: int
    limit: int
    metrics: Metrics
    rules: MemoryAgent | None = None
    facts: FactLearner | None = None
    """Writes what an agent that read the whole talk found beside the memory; None where facts are off."""

    def __call__(self, claim: Claim) -> JobState:
        """Carry out one job. Raises: Transient, ModelOutput, Purged, LeaseLost."""
        seen = self._read(claim)
        agent = JobAgent(self.agent, self.rules, claim, self.accountant)
        read: list[MemoryDraft | NothingToRemember] = []
        draft = agent.do(lambda one: self._create(one, seen.transcript, agent, read))
        seen = replace(seen, found=self._found(read, seen, agent))
        agent.conclude()
        if not isinstance(draft, MemoryDraft):
            return self._write_nothing(agent, seen)
        drafted = Cause(agent.name, agent.reason("its conversation ended"), self.clock.now(), claim.job_id)
        proposal = self._evict(seen, draft, agent)
        try:
            inserted = self._write(agent, proposal, seen, drafted)
        except SnapshotChanged:
            # The memories changed while the agent thought: it thinks about those there are now, once.
            seen = replace(self._read(claim), found=seen.found)
            proposal = self._evict(seen, draft, agent)
            try:
                inserted = self._write(agent, proposal, seen, drafted)
            except SnapshotChanged:
                # Now by the rules, which choose in the transaction that writes, so that nothing can change meanwhile.
                what = "thought twice while the memories changed"
                proposal = _left_to_rules(draft, agent, CompactionReason.SNAPSHOT_CHANGED, what)
                inserted = self._write(agent, proposal, seen, drafted)
        self.metrics.memories_created.labels(agent_kind(drafted.actor)).inc()
        named = {"app_id": claim.app_id, "conversation_id": claim.conversation_id, "job_id": claim.job_id}
        for number, eviction in enumerate(inserted.evictions):
            # More than one only where the cap was lowered since.
            why = proposal.why if number == 0 and proposal.why else CompactionReason.SNAPSHOT_CHANGED
            self.metrics.compactions.labels(eviction.outcome, why).inc()
            removed, rule = eviction.removed_id, eviction.rule
            get_logger().info("memory_evicted", outcome=eviction.outcome, removed=removed, rule=rule, why=why, **named)
        get_logger().info("memory_created", memory_id=inserted.memory_id, **named)
        return JobState.DONE

    def _found(
        self, read: Sequence[MemoryDraft | NothingToRemember], seen: Snapshot, agent: JobAgent[MemoryAgent]
    ) -> tuple[FoundStatement, ...]:
        """Return the facts beside drafts that may be stored, with their vectors; also where a memory gave way."""
        for draft in read:
            agent.admission.refused.update(draft.refused)
        facts = [fact for draft in read for fact in draft.facts]
        if self.facts is None or not facts:
            return ()
        talk = seen.transcript
        statements = admitted(facts, ExtractionRequest(talk.app_name, talk.turns, known=talk.facts), agent.admission)
        vectors = self.facts.embed([one.text for one in statements], agent.meter)
        return self.facts.found(statements, talk.turns, vectors)

    def _write_nothing(self, agent: JobAgent[MemoryAgent], seen: Snapshot) -> JobState:
        """End a job without a memory; facts may have been found all the same."""
        claim = agent.claim
        with self.database.write() as session:
            now = self.clock.now()
            # Locked in the order of `_write`; where there are no facts, nothing is written that a purge forbids.
            if seen.found:
                unpurged(lock_app(session, claim.app_id), claim)
                remembered(lock_by_key(session, claim.conversation_key), claim)
            learned = self._learn(session, agent, seen)
            end(session, claim, JobState.NOTHING, now, agent.job_reason(NOTHING))
        self._report_facts(agent, learned)
        self.metrics.nothing_to_remember.labels(agent_kind(agent.name)).inc()
        return JobState.NOTHING

    def _learn(self, session: Session, agent: JobAgent[MemoryAgent], seen: Snapshot) -> FactLearning | None:
        """Write the facts that were found; not while the subject's facts are being cleared."""
        claim = agent.claim
        if self.facts is None or not seen.found or facts_queries.clear_over(session, seen.subject) is not None:
            return None
        at = min(self.clock.now(), seen.transcript.held_at).astimezone(UTC)
        key, conversation_id = claim.conversation_key or 0, claim.conversation_id or ""
        # They are the model's also where its memory gave way to the rules'.
        origin = StatementOrigin(key, conversation_id, seen.subject.user_id, at, agent.assigned_agent)
        return self.facts.learn(session, claim, SAID, origin, seen.found)

    def _report_facts(self, agent: JobAgent[MemoryAgent], learned: FactLearning | None) -> None:
        if self.facts is not None and learned is not None:
            self.facts.report(agent.assigned_agent, learned)

    def _read(self, claim: Claim) -> Snapshot:
        with self.database.read() as session:
            app = get_app(session, claim.app_id)
            unpurged(app, claim)
            conversation = remembered(session.get(Conversation, claim.conversation_key), claim)
            standing = queries.standing(session, conversation.subject)
            existing = queries.candidates(standing, queries.zones_of(session, standing))
            turns = tuple(spoken_turns(session, messages_of(session, conversation.key)).values())
            known = tuple(memory.content for memory in existing)
            # It was held when the last word in it was said, whenever it was brought in.
            last = max((turn.created_at for turn in turns), default=conversation.ended_at or conversation.updated_at)
            zones = zones_now(session, conversation.key)
            held_at = zones.local(min(last, self.clock.now()))
            about = (session, conversation.subject, conversation.key, self.agent.name)
            facts = () if self.facts is None else present_facts(*about)
            transcript = Transcript(app.name, turns, held_at, known, facts)
        return Snapshot(conversation.subject, transcript, existing, len(existing) >= self.cap)

    def _create(
        self,
        one: MemoryAgent,
        transcript: Transcript,
        agent: JobAgent[MemoryAgent],
        read: list[MemoryDraft | NothingToRemember],
    ) -> MemoryDraft | NothingToRemember:
        """Have a memory made and judged; a model is not believed where the rules behind it know better.

        Raises: ModelOutput, for the rules to do it.
        """
        draft = one.create(transcript, self.limit, agent.meter)
        read.append(draft)
        if isinstance(draft, MemoryDraft):
            gate = spoken_gate(transcript)
            content = agent.admission.admit(draft.content, gate)
            nothing = NothingToRemember("refused", draft.facts, draft.refused)
            draft = nothing if content is None else replace(draft, content=content)
        if self.rules is None or one is self.rules:
            return draft
        spoken = read_statements(transcript.turns)
        if not isinstance(draft, MemoryDraft):
            if vital(spoken, WORTH_KEEPING):
                raise ModelOutput("The model kept nothing of a conversation in which the user stated something.")
            return draft
        statements = vital(spoken, NOT_TO_BE_LOST)
        lost = _importances(left_out(draft.content, statements))
        if not lost and len(draft.content) >= _THIN * self.limit:
            # Nothing that the rules would keep can be more than twice as long: they need not choose.
            return draft
        # Not asked of the agent behind it: nothing is made, so that nothing is to be booked.
        other = choose_memory(transcript, self.limit)
        if not isinstance(other, MemoryDraft):
            return draft
        if _importances(left_out(other.content, statements)) < lost:
            raise ModelOutput("The model left out what must not be forgotten: a harm, a limit, or a standing wish.")
        is_short = len(draft.content) < _THIN * len(other.content)
        if is_short and Gate([draft.content]).share_of(other.content) < _THIN:
            raise ModelOutput("The model kept less than half of what matters of the conversation, in half the room.")
        return draft

    def _evict(self, seen: Snapshot, draft: MemoryDraft, agent: JobAgent[MemoryAgent]) -> MemoryProposal:
        """Ask the agent what goes at the cap; where it cannot say, or not this, leave it to the rules."""
        if not seen.at_cap:
            return MemoryProposal(draft)
        new = _candidate(draft, seen)
        try:
            decision = agent.agent.compact(seen.existing, new, self.limit, agent.meter)
        except LeftToRules:
            # They choose among what stands when it is written, which costs nothing.
            return MemoryProposal(draft, None, CompactionReason.AGENT)
        except ProviderAway:
            # No memory goes unread because a server was restarted: the job waits and does all of it again.
            raise
        except OverBudget as error:
            # To put the job off would pay for its draft again and again.
            return _left_to_rules(draft, agent, CompactionReason.OVER_BUDGET, f"could not decide: {error.message}")
        except (Transient, ModelOutput, Configuration) as error:
            return _left_to_rules(draft, agent, CompactionReason.MODEL_FAILED, f"could not decide: {error.message}")
        refused = _refusal(decision, seen.existing, new, self.limit)
        if refused is not None:
            what = f"decided what may not be done: {refused}"
            return _left_to_rules(draft, agent, CompactionReason.INVALID_DECISION, what)
        eviction = compaction.carry_out(decision)
        reason = shorten(agent.reason(eviction.reason), LONGEST_REASON)
        return MemoryProposal(draft, replace(eviction, reason=reason), CompactionReason.AGENT)

    def _write(
        self, agent: JobAgent[MemoryAgent], proposal: MemoryProposal, seen: Snapshot, drafted: Cause
    ) -> InsertedMemory:
        """Write memory, history and the end of the job. Raises: SnapshotChanged, where that matters."""
        claim = agent.claim
        with self.database.write() as session:
            now = self.clock.now()
            unpurged(lock_app(session, claim.app_id), claim)
            # Before the rest: an erased conversation would be missed by the memory's foreign key first.
            confirm(session, claim)
            remembered(lock_by_key(session, claim.conversation_key), claim)
            present = queries.candidates(queries.standing(session, seen.subject))
            # Below the cap nothing has to go, and the rules choose below, so that a change does not matter.
            rules_choose = proposal.eviction is None and proposal.why is not None
            if not rules_choose and len(present) >= self.cap and present != seen.existing:
                raise SnapshotChanged
            draft = proposal.draft
            new = NewMemory(
                content=draft.content,
                agent=drafted.actor,
                epoch=claim.epoch,
                importance=draft.importance,
                tags=[*draft.tags],
                conversation_key=claim.conversation_key,
                conversation_id=claim.conversation_id,
                message_ids=draft.message_ids,
                created_at=seen.transcript.held_at.astimezone(UTC),
            )
            rule = by_rules(_candidate(draft, seen), self.limit, proposal.rules_because)
            inserted = insert_memory(
                session, seen.subject, new, replace(drafted, at=now), self.cap, proposal.eviction, rule
            )
            learned = self._learn(session, agent, seen)
            why = proposal.rules_because if inserted.evictions else None
            if not inserted.is_stored and inserted.evictions[-1].outcome is CompactionOutcome.NEW_GAVE_WAY:
                why = f"memory {inserted.memory_id} was made and has no place: {inserted.evictions[-1].reason}"
            end(session, claim, JobState.DONE, now, agent.job_reason(why))
        self._report_facts(agent, learned)
        return inserted


def _importances(statements: Iterable[SpokenStatement]) -> list[int]:
    """Return what statements matter, the most first, so that losing a wish is less than losing an illness."""
    return sorted((one.judged.importance for one in statements), reverse=True)


def _candidate(draft: MemoryDraft, seen: Snapshot) -> CompactionCandidate:
    return CompactionCandidate(NEW, draft.content, seen.transcript.held_at, draft.importance, draft.tags)


def _refusal(
    decision: Decision, existing: Sequence[CompactionCandidate], new: CompactionCandidate, limit: int
) -> str | None:
    """Say why a decision may not be carried out, by the rules of compaction or by the gate."""
    verdict = judge_merged(decision, existing, new)
    # The reason is kept, so it quotes nothing.
    refused = f"its text is refused as {verdict.why}" if verdict is not None else None
    return compaction.refusal(decision, existing, new, limit) or refused


_LONGEST_WHY = 300


def _left_to_rules(
    draft: MemoryDraft, agent: JobAgent[MemoryAgent], why: CompactionReason, what: str
) -> MemoryProposal:
    """Return a proposal without an eviction; ``what`` is what the agent did instead of a decision that can be used."""
    if agent.name == EXTRACTIVE:
        # The rules themselves, whose first choice may not be had: they choose again, and nothing has failed.
        return MemoryProposal(draft, None, CompactionReason.AGENT if why is CompactionReason.INVALID_DECISION else why)
    because = f"room made by the rules, as {agent.name} {shorten(what.rstrip('.'), _LONGEST_WHY)}"
    return MemoryProposal(draft, None, why, because)


def by_rules(new: CompactionCandidate, limit: int, because: str | None) -> Rule:
    """Return how the built-in rules choose what goes; they ask nobody, and a transaction may wait for them: some 50 ms.

    They choose among all; where what they choose is refused, among all but what is vital; then age decides.
    """

    def choose(existing: Sequence[CompactionCandidate], why: str) -> Eviction:
        why = because or why
        for open_to_choice in (existing, compaction.shielded(existing)):
            decision = decide_compaction(open_to_choice, new, limit)
            refused = _refusal(decision, existing, new, limit)
            if refused is None:
                eviction = compaction.carry_out(decision)
                reason = shorten(f"{why}; {eviction.reason}", LONGEST_REASON)
                return replace(eviction, reason=reason, rule=EXTRACTIVE)
        eviction = compaction.oldest_goes(existing, f"{why}; what the rules chose was refused: {refused}", new)
        return replace(eviction, reason=shorten(eviction.reason, LONGEST_REASON))

    return choose


def build(container: WorkerContainer) -> CreateMemory:
    settings, agents = container.settings, container.agents
    facts = FactLearner(container.clock, agents.embedder, container.metrics) if settings.facts else None
    cap, limit = settings.memory_cap, settings.memory_max_chars
    return CreateMemory(
        container.database,
        container.clock,
        agents.memories,
        container.accountant,
        cap,
        limit,
        container.metrics,
        container.rules.memories,
        facts,
    )
