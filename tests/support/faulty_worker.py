"""A real worker with fault points: ``python -m tests.support.faulty_worker``."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from typing import Any

from celery import signals

import worker.wiring
from shared.contracts.jobs import JobKind, JobMessage
from shared.llm.calls import Meter
from shared.memories.compaction import Candidate, Decision
from shared.outbox.models import JobState
from shared.outbox.ownership import Claim
from shared.settings import Settings
from tests.support.faultpoints import Point, reach
from worker.__main__ import main
from worker.agent.protocol import Draft, MemoryAgent, NothingToRemember, Transcript
from worker.pipelines.attempt import Attempts, Pipeline


class FaultyAgent:
    """The agent of the settings, with a point before and after it thinks."""

    def __init__(self, agent: MemoryAgent) -> None:
        self._agent = agent
        self.name = agent.name

    def create(self, transcript: Transcript, limit: int, meter: Meter) -> Draft | NothingToRemember:
        reach(Point.BEFORE_CALL)
        draft = self._agent.create(transcript, limit, meter)
        reach(Point.AFTER_CALL)
        return draft

    def compact(self, existing: Sequence[Candidate], new: Candidate, limit: int, meter: Meter) -> Decision:
        return self._agent.compact(existing, new, limit, meter)


class FaultyAttempts:
    """Attempts with a point after the result is committed and one before the message is acknowledged."""

    def __init__(self, attempts: Attempts) -> None:
        self._attempts = attempts

    def run(self, message: JobMessage, kind: JobKind, pipeline: Pipeline) -> None:
        def with_point(claim: Claim) -> JobState:
            state = pipeline(claim)
            reach(Point.AFTER_COMMIT)
            return state

        self._attempts.run(message, kind, with_point)
        reach(Point.BEFORE_ACK)


def _install() -> None:
    build_agent = worker.wiring.build_agent

    def build_faulty_agent(settings: Settings) -> MemoryAgent:
        return FaultyAgent(build_agent(settings))

    worker.wiring.build_agent = build_faulty_agent
    from worker.celery_app import ready  # reads the settings when imported

    @signals.worker_process_init.connect(weak=False)
    def wrap(**_: Any) -> None:
        wired = ready.now
        ready.wired = dataclasses.replace(wired, attempts=FaultyAttempts(wired.attempts))  # type: ignore[arg-type]


if __name__ == "__main__":
    _install()
    sys.exit(main())
