"""Learns from a project's sessions what they have in common, one session after the other.

What people asked for is read in parts; each part's result is kept at once, with how far was read. So a job that is
killed, or gives way to other work, goes on where it was, and nothing counts as read that was not.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import methodcaller
from pathlib import Path
from time import perf_counter

from shared.apps.queries import lock_app
from shared.base.clock import Clock
from shared.base.errors import Invalid, LeaseLost, NotYet
from shared.contracts.jobs import LearningPayload
from shared.db.engine import Database
from shared.energy.accounting import Accountant
from shared.jobs.models import JobState
from shared.jobs.ownership import Claim, confirm
from shared.sessions import manifest
from shared.sessions.models import Project, RecordedSession
from shared.sessions.queries import find_project_by_key, lock_project_by_key
from shared.sessions.semantic.memories import SemanticProposal, SessionPrompt, prompts_of, save_proposals
from shared.sessions.semantic.queries import next_to_learn
from shared.sessions.store import Store
from shared.sessions.transcripts.contents import read_blocks
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics, agent_kind
from worker.agent.gates import finding_gate
from worker.agent.prompt import masked
from worker.agent.protocol import LearningAgent, SessionFindings
from worker.pipelines.attempt import WorkerContainer, end, payload_of, unpurged
from worker.pipelines.fallback import JobAgent

LONGEST_SECONDS = 20.0
"""After this a job gives way to the other work of its app."""
NOTHING = "every session was learnt from already"


@dataclass(frozen=True)
class _Next:
    """The session that is to be read."""

    project: Project
    recorded: RecordedSession
    path: Path


@dataclass(frozen=True)
class LearnFromSessions:
    """The pipeline of ``learn_from_sessions`` jobs."""

    database: Database
    clock: Clock
    agent: LearningAgent
    store: Store
    accountant: Accountant
    metrics: Metrics
    elapsed: Callable[[], float] = perf_counter
    rules: LearningAgent | None = None

    def __call__(self, claim: Claim) -> JobState:
        """Carry the job out; return DONE or NOTHING. Raises: LeaseLost, Purged, and NotYet when more is left."""
        until, state, project_id = self.elapsed() + LONGEST_SECONDS, JobState.NOTHING, None
        agent = JobAgent(self.agent, self.rules, claim, self.accountant)
        while (found := self._next(claim)) is not None:
            # One session in each attempt at least, or a job that begins late would come to nothing.
            if state is JobState.DONE and agent.why is None and self.elapsed() > until:
                raise NotYet("Sessions are left to be read; other work of the app comes first.", self.clock.now())
            project_id, state = found.project.project_id, JobState.DONE
            self._read(agent, found, until)
        agent.conclude()
        with self.database.write() as session:
            unpurged(lock_app(session, claim.app_id), claim)
            nothing = NOTHING if state is JobState.NOTHING else None
            end(session, claim, state, self.clock.now(), agent.job_reason(nothing))
        if project_id is not None:
            # After the commit: files show what the rows say.
            manifest.write(self.database, self.store, claim.app_id, project_id)
        return state

    def _next(self, claim: Claim) -> _Next | None:
        with self.database.read() as session:
            key = payload_of(claim, LearningPayload).project_key
            project = find_project_by_key(session, claim.app_id, key)
            if project is None:
                raise LeaseLost(f"The project of job {claim.job_id} was removed.")
            recorded = next_to_learn(session, project.key)
            if recorded is None:
                return None
            path = self.store.original(claim.app_id, project.project_id, recorded.session_id)
            return _Next(project, recorded, path)

    def _read(self, agent: JobAgent[LearningAgent], found: _Next, until: float) -> None:
        """Read a session to its end. Raises: NotYet, once the job's time is over."""
        try:
            prompts = list(prompts_of(read_blocks(found.path, found.recorded.size_bytes)))
        except (OSError, Invalid) as error:
            # It teaches nothing, and keeps no other session from it.
            get_logger().error("session_unreadable", session=found.recorded.session_id, error=type(error).__name__)
            prompts = list[SessionPrompt]()
        read, gate = min(found.recorded.learnt_prompts, len(prompts)), finding_gate(prompts)
        while read < len(prompts):
            learnt: SessionFindings = agent.do(methodcaller("learn", prompts[read:], agent.meter))
            read += learnt.prompts_read
            judged = ((one, agent.admission.admit(one.content, gate)) for one in learnt.proposals)
            proposals = tuple(
                replace(one, content=text, excerpt=masked(one.excerpt)) for one, text in judged if text is not None
            )
            self._save(agent.claim, found, proposals, agent.name, read)
            # What the rules began in a model's stead they end at once: the next attempt asks the model first.
            if agent.why is None and self.elapsed() > until and read < len(prompts):
                raise NotYet("Prompts are left to be read; other work of the app comes first.", self.clock.now())
        # Also where nothing was found in it: by its size it is not looked at again before it grows.
        self._save(agent.claim, found, (), agent.name, read, found.recorded.size_bytes)

    def _save(
        self,
        claim: Claim,
        found: _Next,
        proposals: tuple[SemanticProposal, ...],
        agent: str,
        read: int,
        learnt_bytes: int | None = None,
    ) -> None:
        """Save what was found, and how far was read, in one transaction."""
        with self.database.write() as session:
            unpurged(lock_app(session, claim.app_id), claim)
            confirm(session, claim)
            recorded = session.get(RecordedSession, found.recorded.key)
            if recorded is None:
                return  # It was unregistered meanwhile; the next look finds another.
            project = lock_project_by_key(session, found.project.key)
            new = save_proposals(session, project, recorded, proposals, agent, self.clock.now())
            recorded.learnt_prompts = read
            if learnt_bytes is not None:
                recorded.learnt_bytes = learnt_bytes
        self.metrics.patterns_learnt.labels(agent_kind(agent)).inc(new)
        get_logger().info("session_learnt_from", job_id=claim.job_id, app_id=claim.app_id, prompts=read, new=new)


def build(container: WorkerContainer) -> LearnFromSessions:
    return LearnFromSessions(
        container.database,
        container.clock,
        container.agents.learning,
        container.store,
        container.accountant,
        container.metrics,
        rules=container.rules.learning,
    )
