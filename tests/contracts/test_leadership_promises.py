"""What holding leadership promises, over each database: one loop regulates, and what another writes is refused."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import text

from loop.leadership import LeaderElection, LeaderState
from loop.regulator import Regulator
from loop.steps.settlement import SettleEnergy
from loop.ticker import Ticker
from shared.base.errors import LeadershipLost, Transient
from shared.base.process import has_died, is_gone, machine, my_name
from shared.energy import leadership, ledger
from shared.energy.ledger import get_leadership
from shared.telemetry.metrics import Metrics
from tests.support.house import House
from tests.support.relaying import spend
from tests.support.settings import default_settings
from tests.support.waiting import wait_until

pytestmark = pytest.mark.both_databases

LOCK_SECONDS = 5.0


class Watch:
    """A monotonic clock that the test moves."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


class Side:
    """One loop's side of leadership, with a clock and metrics of its own."""

    def __init__(self, house: House, name: str, dead: Callable[[str], bool] = lambda _: False) -> None:
        self.watch = Watch()
        self.registry = CollectorRegistry()
        self.metrics = Metrics(self.registry)
        self.keeper = LeaderElection(house.database, house.clock, name, LOCK_SECONDS, self.metrics, dead, self.watch)
        self.regulator = Regulator(self.keeper.transactions, house.clock, default_settings())
        self.ticker = Ticker([SettleEnergy(self.regulator)], 60, self.metrics, self.keeper)

    def takeovers(self, why: str) -> float | None:
        return self.registry.get_sample_value("afterthought_takeovers_total", {"why": why})


def drawn(house: House) -> int:
    with house.database.read() as session:
        return ledger.drawn(session)


def test_of_many_loops_that_start_at_once_one_regulates(house: House) -> None:
    sides = [Side(house, f"loop{i}") for i in range(6)]
    barrier = threading.Barrier(len(sides))

    def begin(side: Side) -> None:
        barrier.wait()
        side.keeper.keep()

    threads = [threading.Thread(target=begin, args=(side,)) for side in sides]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(side.keeper.fence for side in sides if side.keeper.fence) == [1]


def test_a_silent_holder_is_followed_after_the_lock_by_the_watchers_own_clock(house: House) -> None:
    first, second = Side(house, "first"), Side(house, "second")
    first.keeper.keep()
    assert second.keeper.keep() is None
    house.clock.advance(86_400)
    assert second.keeper.keep() is None, "the time of day does not matter"
    second.watch.seconds += LOCK_SECONDS - 0.1
    assert second.keeper.keep() is None
    second.watch.seconds += 0.1
    assert second.keeper.keep() == 2
    assert second.takeovers("silent") == 1


def test_a_holder_that_shows_life_is_never_followed(house: House) -> None:
    first, second = Side(house, "first"), Side(house, "second")
    first.keeper.keep()
    for _ in range(10):
        second.watch.seconds += LOCK_SECONDS - 0.1
        assert second.keeper.keep() is None
        first.keeper.beat()


def test_a_watcher_that_slept_itself_takes_nothing_from_a_living_holder(house: House) -> None:
    first, second = Side(house, "first"), Side(house, "second")
    first.keeper.keep()
    second.keeper.keep()
    first.keeper.beat()
    second.watch.seconds += 3600
    assert second.keeper.keep() is None


def test_a_takeover_from_a_sight_that_is_no_longer_true_is_refused(house: House) -> None:
    first = Side(house, "first")
    first.keeper.keep()
    with house.database.read() as session:
        seen = leadership.look(session)
    first.keeper.beat()
    with house.database.write() as session:
        assert leadership.take(session, "second", seen, house.clock.now()) is None


def test_a_holder_whose_process_is_dead_is_followed_at_once(house: House) -> None:
    first, second = Side(house, "first"), Side(house, "second", dead=lambda name: name == "first")
    first.keeper.keep()
    assert second.keeper.keep() == 2
    assert second.takeovers("died") == 1


def test_a_holder_whose_ticker_is_stuck_stops_showing_life(house: House) -> None:
    first, second = Side(house, "first"), Side(house, "second")
    first.keeper.keep()
    second.keeper.keep()
    first.keeper._is_well = lambda: False
    second.watch.seconds += LOCK_SECONDS
    first.keeper.beat()
    assert second.keeper.keep() == 2


def frozen_while_another_took_over(house: House) -> tuple[Side, Side]:
    first, second = Side(house, "first"), Side(house, "second")
    first.keeper.keep()
    second.keeper.keep()
    second.watch.seconds += LOCK_SECONDS
    assert second.keeper.keep() == 2
    assert first.keeper.fence == 1, "it does not know yet"
    return first, second


def test_what_a_former_holder_writes_is_refused_and_nothing_of_it_stays(house: House) -> None:
    first, second = frozen_while_another_took_over(house)
    spend(house, 7.0)
    with pytest.raises(LeadershipLost):
        first.regulator.settle()
    assert drawn(house) == 0
    assert second.regulator.settle() == drawn(house) == 7_000_000
    with pytest.raises(LeadershipLost), first.keeper.transactions.write() as session:
        session.execute(text("DELETE FROM energy_ledger"))


def test_a_former_holder_stands_by_and_counts_no_failure(house: House) -> None:
    first, _ = frozen_while_another_took_over(house)
    spend(house, 7.0)
    first.ticker.tick()
    assert first.keeper.fence is None
    first.ticker.tick()
    assert (first.keeper.standing, first.keeper.holder) == (LeaderState.STANDBY, "second")
    failures = {step: first.registry.get_sample_value("afterthought_tick_failures_total", {"step": step})
                for step in ("settle_energy", "hold_leadership")}  # fmt: skip
    assert failures == {"settle_energy": 0, "hold_leadership": 0}
    assert drawn(house) == 0


def test_a_former_holders_sign_of_life_is_refused(house: House) -> None:
    first, _ = frozen_while_another_took_over(house)
    first.keeper.beat()
    assert first.keeper.fence is None
    with house.database.read() as session:
        row = get_leadership(session)
    assert row is not None and (row.holder, row.fence, row.beats) == ("second", 2, 0)


def test_nothing_is_written_after_standing_down(house: House) -> None:
    first = Side(house, "first")
    writing = first.keeper.transactions
    first.keeper.keep()
    first.keeper.step_down(10)
    with pytest.raises(LeadershipLost), writing.write():
        pytest.fail("this must not begin")
    late = first.keeper
    late.fence = 1
    with pytest.raises(LeadershipLost), writing.write():
        pytest.fail("nor with the fence it had")


def test_each_step_is_due_again_when_a_loop_takes_over(house: House) -> None:
    ran: list[str] = []

    class Now:
        name = "mend_tenant_queues"
        every_seconds = 600.0

        def run(self) -> bool:
            ran.append(self.name)
            return False

    side = Side(house, "first")
    ticker = Ticker([Now()], 60, side.metrics, side.keeper)
    ticker.tick()
    ticker.tick()
    assert ran == ["mend_tenant_queues"]
    with house.database.write() as session:
        leadership.step_down(session, 1)
    side.keeper.beat()
    ticker.tick()
    assert (side.keeper.fence, ran) == (2, ["mend_tenant_queues"] * 2)


def test_a_takeover_waits_for_writing_that_has_begun_and_then_happens(house: House) -> None:
    first = Side(house, "first")
    first.keeper.keep()
    with house.database.read() as session:
        seen = leadership.look(session)
    taken: list[int | None] = []

    def take() -> None:
        with house.database.write() as session:
            taken.append(leadership.take(session, "second", seen, house.clock.now()))

    taking = threading.Thread(target=take)
    with first.keeper.transactions.write() as session:
        taking.start()
        taking.join(0.3)
        assert taken == []
        session.execute(text("UPDATE apps SET name = 'Written in time'"))
    taking.join(30)
    assert taken == [2]
    with pytest.raises(LeadershipLost), first.keeper.transactions.write():
        pytest.fail("this must not begin")


def test_the_server_ends_the_transaction_of_a_process_that_froze_in_it(postgres_url: str) -> None:
    house = House(postgres_url)
    keeper = LeaderElection(house.database, house.clock, "first", 1.0, house.metrics)
    keeper.keep()
    with house.database.read() as session:
        seen = leadership.look(session)
    with pytest.raises(Transient), keeper.transactions.write() as frozen:
        with house.database.write() as session:
            # Waits for the lock of the frozen one: it gets it without anybody's doing.
            assert leadership.take(session, "second", seen, house.clock.now()) == 2
        frozen.execute(text("UPDATE apps SET name = 'Written too late'"))
    house.database.dispose()


def test_a_process_is_known_to_be_dead_only_on_its_own_machine() -> None:
    mine = my_name()
    assert not has_died(mine)
    here = machine()
    assert here is not None and mine.startswith(f"{here}/{os.getpid()}/")
    assert has_died(f"{here}/999999999/abcd")
    assert not has_died("elsewhere.1234.5678/999999999/abcd")
    assert not has_died("")
    assert not is_gone(f"{here}/nonsense", here)


def test_a_hanging_database_does_not_hold_up_who_stands_down(house: House) -> None:
    side = Side(house, "first")
    side.keeper.keep()
    with house.database.write() as session:
        session.execute(text("UPDATE leadership SET beats = beats + 1"))
        assert side.keeper.step_down(0.2) is False
    wait_until(lambda: vacant(house), 30, "leadership to be given back after all")
    # Its connection goes back to the pool only then.
    wait_until(lambda: "standing-down" not in {thread.name for thread in threading.enumerate()}, 30, "its thread")


def vacant(house: House) -> bool:
    with house.database.read() as session:
        return leadership.look(session).holder is None
