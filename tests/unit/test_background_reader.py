"""What takes long is read beside those who ask, and seldom; what is quick is read anew for each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from loop.regulator import BackgroundReader
from shared.base.errors import Transient


class Slow:
    """A reading that takes some seconds of a clock that it moves itself, and returns how often it was read."""

    def __init__(self, seconds: float) -> None:
        self.now = 0.0
        self.seconds = seconds
        self.fails = False
        self._numbers: Iterator[int] = count(1)
        self.reader = BackgroundReader("test", self._read, lambda: self.now)

    def _read(self) -> int:
        self.now += self.seconds
        if self.fails:
            raise Transient("away")
        return next(self._numbers)

    def ask(self) -> int | None:
        """Return what is shown once a reading that this begins has ended."""
        self.reader.latest()
        self.reader.wait(60)
        found = self.reader._last
        return None if found is None else found.value


@pytest.fixture
def quick() -> Slow:
    slow = Slow(0.01)
    slow.reader.patience_seconds = 60.0
    return slow


def test_what_is_quick_is_read_anew_for_each_who_asks(quick: Slow) -> None:
    shown = [quick.reader.latest() for _ in range(3)]
    assert [one.value for one in shown if one] == [1, 2, 3]


@pytest.mark.parametrize(("seconds", "pause"), [(0.5, 60), (2, 100), (10, 500)])
def test_what_takes_long_is_read_at_most_one_part_in_fifty_of_the_time(seconds: float, pause: float) -> None:
    slow = Slow(seconds)
    assert slow.ask() == 1
    slow.now += pause - 0.01
    assert slow.ask() == 1
    slow.now += 0.01
    assert slow.ask() == 2


def test_the_age_of_what_is_shown_counts_from_the_beginning_of_its_reading() -> None:
    slow = Slow(10)
    slow.ask()
    slow.now += 7
    shown = slow.reader.latest()
    assert shown is not None and slow.reader.age(shown) == 17


def test_what_was_read_is_shown_until_a_later_reading_succeeds() -> None:
    slow = Slow(10)
    slow.ask()
    slow.now, slow.fails = 1000, True
    assert slow.ask() == 1
    slow.now, slow.fails = 2000, False
    assert slow.ask() == 2


def test_nothing_is_shown_where_the_first_reading_fails(quick: Slow) -> None:
    quick.fails = True
    assert quick.reader.latest() is None
