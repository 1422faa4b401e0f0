"""The tick and its steps, with a broker that takes, refuses or breaks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from prometheus_client import CollectorRegistry

from loop.regulator import Regulator
from loop.steps.relay_jobs import RelayJobs
from loop.ticker import LATE_SECONDS, Ticker, Unshared
from shared.base.errors import Transient
from shared.contracts.jobs import JobMessage, Queue
from shared.jobs.models import JobState
from shared.telemetry.metrics import Metrics
from tests.support.house import House
from tests.support.settings import default_settings
from tests.support.waiting import wait_until
from worker.lifecycle import HeartbeatMonitor, Watchdog


@dataclass
class Broker:
    """Takes messages until told to refuse."""

    database_held: list[bool] = field(default_factory=list)
    taken: list[JobMessage] = field(default_factory=list)
    refuses_after: int = 1_000_000


@pytest.fixture
def house(sqlite_url: str) -> Iterator[House]:
    house = House(sqlite_url)
    yield house
    house.database.dispose()


def relay(house: House, broker: Broker, refill: float = 1.0) -> RelayJobs:
    regulator = Regulator(house.database, house.clock, default_settings(energy_refill_per_second=refill))

    def send(task: str, queue: Queue, message: JobMessage, priority: int) -> None:
        broker.database_held.append(house.database.is_held_here)
        if len(broker.taken) >= broker.refuses_after:
            raise Transient("Redis did not take a job")
        broker.taken.append(message)

    return RelayJobs(house.database, house.clock, regulator, send, 60, house.metrics)


def ask_for_work(house: House, apps: int) -> None:
    for i in range(apps):
        house.install(f"app{i}")
        house.converse(f"app{i}", "c", "text")


def test_what_the_broker_refuses_waits_and_is_sent_later(house: House) -> None:
    ask_for_work(house, 3)
    broker = Broker(refuses_after=1)
    step = relay(house, broker)
    step.run()
    assert sorted(job.state for job in house.jobs()) == [JobState.PENDING, JobState.PENDING, JobState.QUEUED]
    assert (house.counted("broker_failures_total"), house.counted("jobs_sent_total", kind="create_memory")) == (1, 1)
    broker.refuses_after = 1_000
    house.clock.advance(2)
    step.run()
    assert len({message.job_id for message in broker.taken}) == 3


class Step:
    """A step of the test's own."""

    every_seconds = 0.0

    def __init__(self, name: str, run: Callable[[], object]) -> None:
        self.name = name
        self._run = run

    def run(self) -> bool:
        self._run()
        return False


def test_a_step_that_hangs_holds_up_neither_the_others_nor_the_stop() -> None:
    began, release, others = threading.Event(), threading.Event(), [0]
    hung: list[int] = []

    def hang() -> None:
        hung.append(1)
        began.set()
        release.wait(30)

    def count() -> None:
        others[0] += 1

    steps = [Step("relay_jobs", hang), Step("upkeep", count)]
    ticker = Ticker(steps, 0.01, Metrics(CollectorRegistry()), patience_seconds=0.0)
    ticker.start()
    assert began.wait(60) and others == [0]
    assert ticker.look(), "the loop is well though one step is not"
    wait_until(lambda: others[0] >= 3, 60, "the others to go on")
    assert hung == [1], "a step is not begun again before it has ended"
    assert not ticker.stop(0.1)
    release.set()
    assert ticker.stop(10)


def test_a_step_that_fails_again_and_again_is_explained_once(capsys: pytest.CaptureFixture[str]) -> None:
    broken = [True]

    def fail() -> None:
        if broken[0]:
            raise RuntimeError("broken in its own way")

    registry = CollectorRegistry()
    ticker = Ticker([Step("upkeep", fail)], 60, Metrics(registry))
    for _ in range(250):
        ticker.tick()
    broken[0] = False
    ticker.tick()
    said = capsys.readouterr().out
    assert said.count("tick_step_failed") == 1
    assert said.count("tick_step_still_failing") == 2
    assert said.count("tick_step_works_again") == 1 and "failures=250" in said
    assert registry.get_sample_value("afterthought_tick_failures_total", {"step": "upkeep"}) == 250


def test_leadership_that_cannot_be_looked_at_is_counted_and_looked_at_again() -> None:
    class Away(Unshared):
        def keep(self) -> int | None:
            raise Transient("the database did not answer")

    registry = CollectorRegistry()
    ticker = Ticker(
        [Step("upkeep", lambda: pytest.fail("no step without a leadership"))], 60, Metrics(registry), Away()
    )
    ticker.tick()
    ticker.tick()
    assert registry.get_sample_value("afterthought_tick_failures_total", {"step": "hold_leadership"}) == 2
    assert registry.get_sample_value("afterthought_whole_tick_duration_seconds_count") == 2


def test_a_relay_that_is_stopped_sends_nothing_more_and_hands_back_the_rest(house: House) -> None:
    ask_for_work(house, 3)
    broker = Broker()
    over = [False]

    def send(task: str, queue: Queue, message: JobMessage, priority: int) -> None:
        broker.taken.append(message)
        over[0] = True

    regulator = Regulator(house.database, house.clock, default_settings())
    step = RelayJobs(house.database, house.clock, regulator, send, 60, house.metrics, is_over=lambda: over[0])
    step.run()
    assert sorted(job.state for job in house.jobs()) == [JobState.PENDING, JobState.PENDING, JobState.QUEUED]
    assert (len(broker.taken), house.counted("broker_failures_total")) == (1, 0)
    over[0] = False
    step.run()
    assert len({message.job_id for message in broker.taken}) == 2, "they are due at once"


def test_a_deaf_worker_gives_up_and_one_with_ears_does_not() -> None:
    ended: list[str] = []
    monitor = HeartbeatMonitor(silence_seconds=0.0)
    watch = Watchdog(monitor, lambda: True, list, ended.append, 60)
    watch.look()
    assert monitor.sent_at is not None and ended == []
    monitor.note_heartbeat()
    watch.look()
    assert ended == []
    watch.look()
    assert ended == ["its own canary did not come back"]


def test_a_canary_that_is_back_before_sending_returns_is_heard() -> None:
    monitor = HeartbeatMonitor(silence_seconds=0.0)

    def send_and_hear_at_once() -> bool:
        monitor.note_heartbeat()
        return True

    watch = Watchdog(monitor, send_and_hear_at_once, list, pytest.fail, 60)
    for _ in range(3):
        watch.look()


def test_a_worker_with_a_task_in_hand_is_not_called_deaf_until_the_task_is_overdue() -> None:
    ended: list[str] = []
    patient = Watchdog(HeartbeatMonitor(0.0), lambda: True, lambda: ["task"], ended.append, 60)
    for _ in range(3):
        patient.look()
    assert ended == []
    strict = Watchdog(HeartbeatMonitor(0.0), lambda: True, lambda: ["task"], ended.append, 0)
    strict.look()
    wait_until(lambda: strict.look() or ended, 60, "the stuck task to be seen")
    assert ended[0] == "a task is in hand long after its time limit"


def test_a_step_that_was_slow_leaves_the_rest_of_its_tick_to_the_shift_that_took_over() -> None:
    began, release, done = threading.Event(), threading.Event(), threading.Event()
    ran: list[str] = []

    def hang() -> None:
        began.set()
        release.wait(30)

    steps = [Step("relay_jobs", hang), Step("upkeep", lambda: ran.append(threading.current_thread().name))]
    ticker = Ticker(steps, 0.01, Metrics(CollectorRegistry()), patience_seconds=0.0)

    def tick() -> None:
        ticker.tick()
        done.set()

    slow = threading.Thread(target=tick, name="slow")
    slow.start()
    assert began.wait(60)
    assert ticker.look()
    wait_until(lambda: bool(ran), 60, "the other shift to go on")
    release.set()
    assert done.wait(60) and "slow" not in ran
    assert ticker.stop(10)


def test_a_loop_whose_ticks_do_not_end_is_not_well() -> None:
    ticker = Ticker([], 60, Metrics(CollectorRegistry()))
    ticker.tick()
    assert ticker.look()
    ticker.ticked_at = time.monotonic() - LATE_SECONDS - 1
    assert not ticker.look()
