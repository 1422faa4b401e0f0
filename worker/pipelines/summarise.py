"""Summarises what was said in a conversation since the last time.

Read, then think and embed with no transaction open, then write in one: the summary, how far the conversation has been
summarised, and the end of the job. An embedder that is away costs only the vector; summaries and profiles that were
kept without one are given theirs beside.
"""

from dataclasses import dataclass

from shared.apps.queries import get_app, lock_app
from shared.base.clock import Clock
from shared.base.errors import Transient
from shared.base.settings import Tuning
from shared.conversations.models import Conversation
from shared.conversations.queries import has_words_from, lock_by_key
from shared.conversations.summarising import enqueue_summary, move_on
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.jobs.models import JobState
from shared.jobs.ownership import Claim
from shared.llm.embedding import Embedder
from shared.profiles import gate
from shared.profiles.gate import ProfileVersion
from shared.search.tuning import in_force, tuning_of
from shared.summaries import queries
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics, agent_kind
from worker.agent.gates import spoken_gate
from worker.agent.protocol import SummaryAgent, SummaryRequest
from worker.pipelines.attempt import WorkerContainer, end, remembered, unpurged
from worker.pipelines.fallback import JobAgent
from worker.pipelines.turns import UnseenTurns, embed_if_available, unseen_turns

NOTHING = "nothing worth a summary"


LIMIT = 50
"""Summaries, and profiles, without a vector that a job sees to beside its own."""


@dataclass(frozen=True)
class SummaryInput:
    """What was read: the turns to think about, and where they lie in the conversation."""

    span: SummaryRequest
    unseen: UnseenTurns
    until: int
    """Position after the last message there was."""
    summaries: dict[int, str]
    """Without a vector of the embedder in use, as are the profiles."""
    profiles: dict[ProfileVersion, str]


@dataclass(eq=False)
class Summarise:
    """The pipeline of ``summarise`` jobs."""

    database: Database
    clock: Clock
    agent: SummaryAgent
    embedder: Embedder
    accountant: Accountant
    metrics: Metrics
    max_attempts: int
    defaults: Tuning
    rules: SummaryAgent | None = None

    def __call__(self, claim: Claim) -> JobState:
        """Carry the job out; return DONE or NOTHING. Raises what an attempt records."""
        seen, agent = self._read(claim), JobAgent(self.agent, self.rules, claim, self.accountant)
        content, turns_read, vectors = "", 0, tuple[bytes, ...]()
        if seen.span.turns:
            digest = agent.do(lambda one: one.summarise(seen.span, agent.meter))
            allowed = spoken_gate(seen.span)
            points = (agent.admission.admit(point, allowed) for point in digest.points)
            content, turns_read = queries.written(filter(None, points)), digest.turns_read
            # Of the content, where it says anything, then those that are missing; none while the embedder is away.
            texts = [*([content] if content else []), *seen.summaries.values(), *seen.profiles.values()]
            vectors = embed_if_available(self.embedder, texts, agent.meter, self.metrics, "summary_not_embedded")
        agent.conclude()
        return self._write(agent, seen, content, turns_read, vectors)

    def _read(self, claim: Claim) -> SummaryInput:
        with self.database.read() as session:
            app = get_app(session, claim.app_id)
            unpurged(app, claim)
            conversation = remembered(session.get(Conversation, claim.conversation_key), claim)
            unseen = unseen_turns(session, conversation, conversation.summarised)
            previous = queries.newest(session, conversation.key)
            return SummaryInput(
                SummaryRequest(app.name, unseen.turns, None if previous is None else previous.content),
                unseen,
                conversation.message_count,
                queries.summaries_to_embed(session, app.app_id, self.embedder.name, LIMIT),
                gate.profiles_to_embed(session, app.app_id, self.embedder.name, LIMIT),
            )

    def _write(
        self,
        agent: JobAgent[SummaryAgent],
        seen: SummaryInput,
        content: str,
        turns_read: int,
        vectors: tuple[bytes, ...],
    ) -> JobState:
        claim = agent.claim
        state = JobState.DONE if content else JobState.NOTHING
        start, after = seen.unseen.start, seen.unseen.seen_after(turns_read)
        with self.database.write() as session:
            now = self.clock.now()
            app = lock_app(session, claim.app_id)
            unpurged(app, claim)
            conversation = remembered(lock_by_key(session, claim.conversation_key), claim)
            if conversation.summarised != start:
                raise Transient("How far the conversation was summarised has changed meanwhile; it is read again.")
            why = agent.job_reason(None if content else NOTHING)
            end(session, claim, state, now, why)
            model = self.embedder.name
            if content:
                own, vectors = (vectors[0], vectors[1:]) if vectors else (None, ())
                by = None if own is None else model
                new = queries.NewSummary(content, agent.name, start, after - 1, own, by, claim.job_id)
                queries.insert_summary(session, conversation, new, now)
            # What was changed or erased meanwhile stays as it is now.
            # Fewer, or none, where the embedder was away: then the next job makes them.
            own_vectors, others = vectors[: len(seen.summaries)], vectors[len(seen.summaries) :]
            queries.update_summary_vectors(session, dict(zip(seen.summaries, own_vectors, strict=False)), model)
            gate.update_profile_vectors(session, app.app_id, dict(zip(seen.profiles, others, strict=False)), model)
            frequency = in_force(session, self.defaults, claim.app_id).summary_frequency
            move_on(session, conversation, after, frequency, now)
            # What did not fit this job's reading has one of its own.
            if after < seen.until and has_words_from(session, conversation.key, after):
                enqueue_summary(session, conversation, app.purge_epoch, now, self.max_attempts)
        if state is JobState.DONE:
            self.metrics.summaries_made.labels(agent_kind(agent.name)).inc()
        get_logger().info("summarised", job_id=claim.job_id, app_id=claim.app_id, state=state, messages=after - start)
        return state


def build(container: WorkerContainer) -> Summarise:
    agents, attempts = container.agents, container.settings.job_max_attempts
    return Summarise(
        container.database,
        container.clock,
        agents.summaries,
        agents.embedder,
        container.accountant,
        container.metrics,
        attempts,
        tuning_of(container.settings),
        container.rules.summaries,
    )
