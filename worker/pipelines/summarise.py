"""Summarises what was said in a conversation since the last time.

Read, then think and embed with no transaction open, then write in one: the summary, how far the conversation has been
summarised, and the end of the job. An embedder that is away costs only the vector, which a later job makes up for.

Summaries and profiles that were kept without vectors while the embedder was away are given theirs beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.apps.queries import get_app, lock_app
from shared.clock import Clock
from shared.conversations.models import Conversation
from shared.conversations.queries import has_words_from, lock_by_key, messages_of
from shared.conversations.summarising import ask, move_on
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.energy.ledger import Booking
from shared.errors import Configuration, OverBudget, Transient
from shared.llm.calls import Meter
from shared.llm.embedding import Embedder, to_bytes
from shared.outbox.models import JobState
from shared.outbox.ownership import Claim
from shared.profiles import gate
from shared.profiles.gate import ProfileVersion
from shared.search.tuning import Tuning, in_force
from shared.summaries.bullets import written
from shared.summaries.queries import NewSummary, insert_summary, newest, summaries_to_embed, update_summary_vectors
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics, agent_kind
from worker.agent.protocol import SummaryAgent, SummaryRequest
from worker.pipelines.ending import end, erased, unpurged
from worker.pipelines.turns import spoken_turn

BATCH = 200
"""Messages looked at in one job; what is left is asked for again."""
NOTHING = "nothing worth a summary"


@dataclass(frozen=True)
class Seen:
    """What was read: the turns to think about, and where they lie in the conversation."""

    span: SummaryRequest
    start: int
    """Position of the first message looked at."""
    positions: tuple[int, ...]
    """Of the span's turns."""
    end: int
    """Position after the last message looked at."""
    until: int
    """Position after the last message there was."""
    missing: MissingVectors

    def seen_after(self, turns_read: int) -> int:
        """Return how far the conversation has been summarised once so many turns were read."""
        return self.end if turns_read >= len(self.positions) else self.positions[turns_read]


@dataclass(frozen=True)
class Thought:
    """What is to be written."""

    content: str
    turns_read: int
    vectors: tuple[bytes, ...]
    """That of the content, where it says anything, then those that were missing; none while the embedder is away."""


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

    def __call__(self, claim: Claim) -> JobState:
        """Carry the job out; return DONE or NOTHING. Raises what an attempt records."""
        seen = self._read(claim)
        meter = self.accountant.meter(Booking(claim.app_id, claim.job_id, claim.conversation_key))
        return self._write(claim, seen, self._think(seen, meter))

    def _read(self, claim: Claim) -> Seen:
        with self.database.read() as session:
            app = get_app(session, claim.app_id)
            unpurged(app, claim)
            conversation = session.get(Conversation, claim.conversation_key)
            if conversation is None:
                raise erased(claim)
            return self._look(session, app, conversation)

    def _look(self, session: Session, app: App, conversation: Conversation) -> Seen:
        start = conversation.summarised
        batch = messages_of(session, conversation.key, BATCH, start - 1)
        new = [(message.position, turn) for message in batch if (turn := spoken_turn(message)) is not None]
        previous = newest(session, conversation.key)
        span = SummaryRequest(
            app_name=app.name,
            conversation_id=conversation.conversation_id,
            turns=tuple(turn for _, turn in new),
            previous=None if previous is None else previous.content,
        )
        return Seen(
            span=span,
            start=start,
            positions=tuple(position for position, _ in new),
            end=batch[-1].position + 1 if batch else start,
            until=conversation.message_count,
            missing=texts_without_vectors(session, app.app_id, self.embedder.name),
        )

    def _think(self, seen: Seen, meter: Meter) -> Thought:
        if not seen.span.turns:
            return Thought("", 0, ())
        digest = self.agent.summarise(seen.span, meter)
        content = written(digest.points)
        texts = [*([content] if content else []), *seen.missing.texts]
        return Thought(content, digest.turns_read, self._embed(texts, meter))

    def _embed(self, texts: Sequence[str], meter: Meter) -> tuple[bytes, ...]:
        """Return a vector for each text, or none at all while the embedder is away."""
        if not texts:
            return ()
        try:
            return tuple(to_bytes(vector) for vector in self.embedder.embed(texts, meter))
        except (Transient, Configuration, OverBudget) as error:
            get_logger().warning("summary_not_embedded", embedder=self.embedder.name, why=error.code)
            self.metrics.embedding_failures.inc()
            return ()

    def _write(self, claim: Claim, seen: Seen, thought: Thought) -> JobState:
        state = JobState.DONE if thought.content else JobState.NOTHING
        after = seen.seen_after(thought.turns_read)
        with self.database.write() as session:
            now = self.clock.now()
            app = lock_app(session, claim.app_id)
            unpurged(app, claim)
            conversation = self._unmoved(session, claim, seen.start)
            end(session, claim, state, now, None if thought.content else NOTHING)
            self._keep(session, conversation, seen, thought, after, claim.job_id)
            frequency = in_force(session, self.defaults, claim.app_id).summary_frequency
            move_on(session, conversation, after, frequency, now)
            if after < seen.until and has_words_from(session, conversation.key, after):
                ask(session, conversation, app.purge_epoch, now, self.max_attempts)
        self._tell(claim, state, after - seen.start)
        return state

    def _unmoved(self, session: Session, claim: Claim, start: int) -> Conversation:
        conversation = lock_by_key(session, claim.conversation_key)
        if conversation is None:
            raise erased(claim)
        if conversation.summarised != start:
            raise Transient("How far the conversation was summarised has changed meanwhile; it is read again.")
        return conversation

    def _keep(
        self, session: Session, conversation: Conversation, seen: Seen, thought: Thought, after: int, job_id: str
    ) -> None:
        model, vectors = self.embedder.name, thought.vectors
        if thought.content:
            own, vectors = (vectors[0], vectors[1:]) if vectors else (None, ())
            by = None if own is None else model
            new = NewSummary(thought.content, self.agent.name, seen.start, after - 1, own, by, job_id)
            insert_summary(session, conversation, new, self.clock.now())
        insert_missing_vectors(session, conversation.app_id, seen.missing, vectors, model)

    def _tell(self, claim: Claim, state: JobState, messages: int) -> None:
        if state is JobState.DONE:
            self.metrics.summaries_made.labels(agent_kind(self.agent.name)).inc()
        get_logger().info("summarised", job_id=claim.job_id, app_id=claim.app_id, state=state, messages=messages)


LIMIT = 50
"""Of each kind, in one job."""


@dataclass(frozen=True)
class MissingVectors:
    """What has no vector by the embedder in use."""

    summaries: dict[int, str]
    profiles: dict[ProfileVersion, str]

    @property
    def texts(self) -> list[str]:
        """What is to be embedded, in the order in which ``insert_missing_vectors`` takes the vectors."""
        return [*self.summaries.values(), *self.profiles.values()]


def texts_without_vectors(session: Session, app_id: str, model: str) -> MissingVectors:
    """Return what an app keeps without a vector by a model."""
    return MissingVectors(
        summaries_to_embed(session, app_id, model, LIMIT),
        gate.profiles_to_embed(session, app_id, model, LIMIT),
    )


def insert_missing_vectors(
    session: Session, app_id: str, found: MissingVectors, vectors: Sequence[bytes], model: str
) -> None:
    """Give vectors to what was found without; what was changed or erased meanwhile stays as it is now."""
    own, others = vectors[: len(found.summaries)], vectors[len(found.summaries) :]
    update_summary_vectors(session, dict(zip(found.summaries, own, strict=False)), model)
    gate.update_profile_vectors(session, app_id, dict(zip(found.profiles, others, strict=False)), model)
