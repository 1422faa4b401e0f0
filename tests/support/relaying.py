"""The real relay step over a house, with a list where the queue would be."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy.orm import Session

from loop.regulator import Allowance, Regulator
from loop.steps.relay_jobs import RelayJobs
from shared.contracts.jobs import JobMessage, Queue
from shared.energy.budget import to_micro
from shared.energy.models import Spending
from shared.jobs.ownership import Claim
from tests.support.house import House


def spend(house: House, units: float, app_id: str = "notes", kind: str = "create_memory") -> None:
    with house.database.write() as session:
        session.add(
            Spending(
                app_id=app_id, kind=kind, model="ollama:test", outcome="answered", prompt_tokens=1,
                completion_tokens=1, estimated=False, micro=to_micro(units), settled=False, at=house.clock.now(),
            )
        )  # fmt: skip


class _OneAtATime:
    """A regulator that lets a single job start at a time, so that turns can be counted."""

    def __init__(self, regulator: Regulator) -> None:
        self._regulator = regulator
        self.schedule_limits = regulator.schedule_limits
        self.level = regulator.level
        self.note_workers = regulator.note_workers

    def allowance(self, session: Session) -> Allowance:
        allowance = self._regulator.allowance(session)
        return Allowance(min(1, allowance.jobs), allowance.why, allowance.shed)


class Relay:
    """Sends into a list; ``run_all`` also carries everything out, as a worker would."""

    def __init__(
        self,
        house: House,
        regulator: Regulator,
        *,
        one_at_a_time: bool = False,
        need_server: frozenset[str] = frozenset(),
    ) -> None:
        self.house = house
        self.regulator = regulator
        self.sent: list[JobMessage] = []
        self.queues: list[Queue] = []
        governing = _OneAtATime(regulator) if one_at_a_time else regulator
        self.step = RelayJobs(
            house.database, house.clock, governing, self._send, 60.0, house.metrics,  # type: ignore[arg-type]
            need_server=need_server,
        )  # fmt: skip

    def _send(self, task: str, queue: Queue, message: JobMessage, priority: int) -> None:
        assert not self.house.database.is_held_here, "a transaction is open while a job is sent"
        self.sent.append(message)
        self.queues.append(queue)

    def claims(self) -> Iterator[Claim]:
        while self.sent:
            claim = self.house.claim(self.sent.pop(0))
            if claim is not None:
                yield claim

    def run_all(self) -> None:
        """Relay and carry out until nothing more may start, each attempt under the rules of a worker's."""
        while True:
            more = self.step.run()
            messages, self.sent = self.sent, []
            for message in messages:
                self.house.attempt(message)
            self.regulator.settle()
            if not messages and not more:
                return
