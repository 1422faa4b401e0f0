"""Whatever happens to jobs, in whatever order: no tenant queue sleeps while a due job of it may be sent, and no two
jobs of a sequence are in flight.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from sqlalchemy.orm import Session

from shared.apps.queries import get_app
from shared.base.errors import AfterthoughtError
from shared.contracts.jobs import JobKind, JobPayload, WebhookPayload, WorkClass
from shared.erasure.erasing import erase_app, purge_memories
from shared.jobs import control, dispatch, ownership, tenant_queues
from shared.jobs.dispatch import Dispatch, NewJob
from shared.jobs.models import IN_FLIGHT, OPEN, WAITING, Deferral, Job, JobState, TenantQueue
from shared.jobs.ownership import Claim, Owner
from shared.jobs.tenant_queues import HEAD_START, QUANTUM, ScheduleLimits, Throttle, served_after, start_tag_of
from tests.support.house import House
from tests.support.settings import default_settings

pytestmark = pytest.mark.both_databases

APPS = ("notes", "other")
SEQUENCES = ("", "ada", "ben")
STEPS = 250
SEEDS = [0, 1, *(pytest.param(more, marks=pytest.mark.long) for more in (2, 3))]
RULE = default_settings(retry_max_seconds=60.0)


@dataclass
class Machine:
    """Does one thing after another to the jobs of two apps, as relay, workers and people would."""

    house: House
    chance: random.Random
    sent: list[Dispatch] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    number: int = 0

    @property
    def now(self) -> datetime:
        return self.house.clock.now()

    @property
    def app_id(self) -> str:
        return self.chance.choice(APPS)

    def add(self, session: Session) -> None:
        self.number += 1
        work_class = self.chance.choice(list(WorkClass))
        kind = JobKind.CREATE_MEMORY if work_class == WorkClass.THOUGHT else JobKind.DELIVER_WEBHOOK
        priority, sequence = self.chance.randrange(10), self.chance.choice(SEQUENCES)
        dedupe = f"d{self.number}"
        payload = WebhookPayload(webhook_id="w", position=None) if kind is JobKind.DELIVER_WEBHOOK else JobPayload()
        wanted = NewJob(
            kind, self.app_id, dedupe, payload=payload, priority=priority, work_class=work_class, sequence=sequence
        )
        dispatch.enqueue(session, wanted, self.now)

    def relay(self, session: Session) -> None:
        for work_class in WorkClass:
            limit = self.chance.randrange(5)
            self.sent += dispatch.take_due(session, self.now, limit, 60, self._terms, work_class)

    def _terms(self, session: Session, app_id: str, kind: str) -> ScheduleLimits:
        hold = Throttle(self.now + timedelta(seconds=self.chance.randrange(1, 90)), "budget: used up")
        return ScheduleLimits(self.chance.randint(1, 5), hold if self.chance.random() < 0.2 else None)

    def claim(self, session: Session) -> None:
        if self.sent:
            one = self.sent.pop(self.chance.randrange(len(self.sent)))
            owner = Owner("node/1", lambda _: False)
            until = self.now + timedelta(seconds=30)
            found = ownership.claim(session, one.job_id, one.fence, owner, until, self.now)
            self.claims += [] if found is None else [found]

    def _one(self) -> Claim:
        if not self.claims:
            raise LookupError
        return self.claims.pop(self.chance.randrange(len(self.claims)))

    def finish(self, session: Session) -> None:
        ownership.finish(session, self._one(), self.chance.choice([JobState.DONE, JobState.DEAD]), self.now)

    def fail(self, session: Session) -> None:
        until = self.now + timedelta(seconds=RULE.retry_max_seconds) if self.chance.random() < 0.2 else None
        ownership.fail(session, self._one(), "it failed", self.now, RULE, until)

    def postpone(self, session: Session) -> None:
        until = self.now + timedelta(seconds=self.chance.randrange(1, 600))
        ownership.postpone(session, self._one(), "budget: used up", until, self.now)

    def await_provider(self, session: Session) -> None:
        ownership.await_provider(session, self._one(), "provider: away", self.now)

    def resume(self, session: Session) -> None:
        dispatch.resume(session, self.now)

    def lose(self, session: Session) -> None:
        if self.claims:
            self._one()

    def hand_back(self, session: Session) -> None:
        some, self.sent = self.sent[:2], self.sent[2:]
        dispatch.hand_back(session, some, self.now, self.chance.choice([0.0, 1.0]))

    def revoke(self, session: Session) -> None:
        dispatch.revoke(session, "energy: none", self.now)

    def defer(self, session: Session) -> None:
        dispatch.defer(session, Deferral.ENERGY, "energy: little", self.now, limit=3)

    def sweep(self, session: Session) -> None:
        ownership.sweep(session, self.now, RULE)
        dispatch.rebase_after_clock_change(session, self.now, timedelta(days=1))

    def release_node(self, session: Session) -> None:
        ownership.release_node(session, "node", self.now, RULE)

    def release(self, session: Session) -> None:
        tenant_queues.release(session, self.app_id, self.now)

    def _job(self, session: Session, *states: JobState) -> str:
        found = session.scalars(select(Job.job_id).where(Job.state.in_(states))).all()
        return self.chance.choice(found) if found else "none"

    def cancel(self, session: Session) -> None:
        control.cancel(session, self._job(session, *WAITING, *IN_FLIGHT), "admin", self.now)

    def replay(self, session: Session) -> None:
        job_id = self._job(session, JobState.DEAD, JobState.CANCELLED)
        control.replay(session, job_id, get_app(session, self.app_id).purge_epoch, self.now)

    def purge(self, session: Session) -> None:
        forget = self.chance.choice([purge_memories, erase_app])
        forget(session, self.app_id, "admin", self.now)

    def reconcile(self, session: Session) -> None:
        assert tenant_queues.reconcile(session, self.now) == 0, "there was something to mend"

    def wait(self, session: Session) -> None:
        self.house.clock.advance(self.chance.choice([0.5, 2, 20, 120]))

    def step(self) -> None:
        often = [self.add, self.add, self.relay, self.relay, self.claim, self.claim, self.finish, self.wait]
        seldom: list[Callable[[Session], None]] = [
            self.fail, self.postpone, self.lose, self.hand_back, self.revoke, self.defer, self.sweep,
            self.release_node, self.release, self.cancel, self.replay, self.reconcile, self.await_provider, self.resume,
        ]  # fmt: skip
        seldom += [self.purge] if self.chance.random() < 0.1 else []
        work = self.chance.choice(often if self.chance.random() < 0.6 else seldom)
        with suppress(LookupError, AfterthoughtError), self.house.database.write() as session:
            work(session)
        with self.house.database.read() as session:
            assert self.astray(session) == [], f"after {work.__name__}"

    def astray(self, session: Session) -> list[tuple[str, str, str]]:
        """Return tenant queues that will not be looked at when a job of theirs may be sent, and other broken rules."""
        open_jobs = session.scalars(select(Job).where(Job.state.in_(OPEN), Job.app_id.is_not(None))).all()
        queues = {(job.app_id or "", job.work_class) for job in open_jobs}
        return [
            (*key, why)
            for key in sorted(queues)
            if (
                why := self._why_astray(session, key, [job for job in open_jobs if (job.app_id, job.work_class) == key])
            )
        ]

    def _why_astray(self, session: Session, key: tuple[str, str], jobs: list[Job]) -> str | None:
        busy = [job.sequence for job in jobs if job.state in IN_FLIGHT]
        waiting = [job for job in jobs if job.state in WAITING and job.deferral != Deferral.PROVIDER]
        free = [job.due_at for job in waiting if job.sequence not in busy]
        tenant_queue = session.get_one(TenantQueue, key)
        held = tenant_queue.held_until
        may = None if not free else min(free) if held is None else max(min(free), held)
        if len(set(busy)) < len(busy):
            return "two jobs of a sequence are in flight"
        if (tenant_queue.head_seq is None) is not (not waiting):
            return "no head, or one of nothing"
        if tenant_queue.awake and (may is None or may > self.now):
            return "awake though nothing may be sent"
        is_late = tenant_queue.ready_at is None or (may is not None and tenant_queue.ready_at > max(may, self.now))
        if may is not None and not tenant_queue.awake and is_late:
            return f"asleep until {tenant_queue.ready_at} and not {may}"
        return None


@pytest.mark.parametrize("seed", SEEDS)
def test_no_tenant_queue_sleeps_through_its_time_and_all_work_is_done_in_the_end(house: House, seed: int) -> None:
    house.install("other")
    machine = Machine(house, random.Random(seed))
    for _ in range(STEPS):
        machine.step()
    house.clock.advance(24 * 3600)
    with house.database.write() as session:
        ownership.sweep(session, machine.now, RULE)
        dispatch.resume(session, machine.now)
    for _ in range(machine.number + 20):
        house.clock.advance(60)
        with house.database.write() as session:
            for work_class in WorkClass:
                machine.sent = dispatch.take_due(session, machine.now, 10, 60, work_class=work_class)
                for one in machine.sent:
                    owner = Owner("node/1", lambda _: False)
                    claim = ownership.claim(session, one.job_id, one.fence, owner, machine.now, machine.now)
                    assert claim is not None
                    ownership.finish(session, claim, JobState.DONE, machine.now)
    assert {job.state for job in house.jobs()}.isdisjoint({*WAITING, *IN_FLIGHT})


def test_a_hold_that_is_over_holds_back_nothing_that_is_asked_for_later(house: House) -> None:
    house.converse("notes", "early", "text")
    with house.database.write() as session:
        over = Throttle(house.clock.now() + timedelta(seconds=10), "budget: used up")
        tenant_queues.throttle_app(session, "notes", WorkClass.THOUGHT, over, house.clock.now())
    house.clock.advance(20)
    [job] = house.converse("notes", "late", "text")
    assert job.state == JobState.PENDING and job.reason is None
    with house.database.read() as session:
        assert tenant_queues.get_throttle(session, "notes", WorkClass.THOUGHT) is None


@pytest.mark.parametrize("back", ["asked", "released", "due"])
def test_an_app_that_slept_joins_in_where_the_others_are(house: House, back: str) -> None:
    house.install("other")
    house.converse("notes", "first", "text")
    with house.database.write() as session:
        until = house.clock.now() + timedelta(seconds=600)
        tenant_queues.throttle_app(
            session, "notes", WorkClass.THOUGHT, Throttle(until, "budget: used up"), house.clock.now()
        )
    for number in range(10):
        house.converse("other", f"c{number}", "text")
    house.work_off()
    for number in range(3):
        house.converse("notes", f"n{number}", "text")
    house.clock.advance(1 if back == "released" else 700)
    with house.database.write() as session:
        if back == "released":
            tenant_queues.release(session, "notes", house.clock.now())
    if back == "asked":
        house.converse("notes", "last", "text")
    for number in range(10, 13):
        house.converse("other", f"c{number}", "text")
    served = []
    for _ in range(6):
        [claim] = house.claims(1)
        served.append(claim.app_id)
        house.pipeline(claim)
    assert served.count("other") >= 2, served


WEIGHTS = st.lists(st.integers(1, 10), min_size=2, max_size=6)
PRIORITIES = st.integers(0, 9)


def serve(weights: list[int], priorities: list[int], turns: int) -> list[int]:
    """Give out turns among apps that always have work; return how many each had."""
    served, counts = [0] * len(weights), [0] * len(weights)
    for _ in range(turns):
        next_one = min(range(len(weights)), key=lambda i: (start_tag_of(served[i], priorities[i]), i))
        served[next_one] = served_after(served[next_one], weights[next_one])
        counts[next_one] += 1
    return counts


@given(WEIGHTS, st.integers(1, 300))
def test_apps_that_always_have_work_are_served_by_their_weights(weights: list[int], turns: int) -> None:
    counts = serve(weights, [7] * len(weights), turns)
    shares = [count / weight for count, weight in zip(counts, weights, strict=True)]
    # A turn is whole: no two apps are further apart than the turn each of them is in.
    assert max(shares) - min(shares) <= 2.001


@given(WEIGHTS, st.data())
def test_no_priority_keeps_another_app_waiting_for_ever(weights: list[int], data: st.DataObject) -> None:
    priorities = data.draw(st.lists(PRIORITIES, min_size=len(weights), max_size=len(weights)))
    most_behind = 9 * HEAD_START // QUANTUM
    turns = sum(weight * (most_behind + 2) for weight in weights)
    assert min(serve(weights, priorities, turns)) >= 1
