"""Runs the steps in order, again and again, while this loop holds leadership.

A failing step is logged, counted and skipped. A slow one keeps its thread: a new shift goes on with the other steps,
and the slow one is not begun again before it has ended. News (a conversation ended here, a job ended in a worker) wakes
the ticker at once; without news it sleeps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from loop.leadership import Leader
from shared.base.errors import LeadershipLost
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import HOLD_LEADERSHIP, Metrics

LATE_SECONDS = 30.0
"""Without a finished tick for this long, a loop is not well."""
_PATIENCE_SECONDS = 5.0
_LEAST_BETWEEN_SECONDS = 0.025
"""Between the beginnings of two ticks: under load there is news all the time, and one tick serves all of it."""
_LOGGED_EVERY = 100


class Step(Protocol):
    """One thing the loop does at each tick."""

    @property
    def name(self) -> str:
        """A constant, one of ``TICK_STEPS``; labels metrics and logs."""

    @property
    def every_seconds(self) -> float:
        """The least time between two runs; 0 runs at every tick."""

    def run(self) -> bool:
        """Do it once; True when there is more to do at once."""


class Unshared(Leader):
    """Leadership of a loop that is known to be alone."""

    def keep(self) -> int | None:
        """Return the one fence there is."""
        return 1

    def lose(self) -> None:
        """Lose nothing: there is nobody to lose it to."""


@dataclass
class _Trouble:
    """What went wrong with a step since it last went well."""

    failures: int = 0
    kinds: set[type[Exception]] = field(default_factory=set)

    def is_news(self, error: Exception) -> bool:
        self.failures += 1
        before = len(self.kinds)
        self.kinds.add(type(error))
        return len(self.kinds) > before


class Ticker:
    """The heartbeat of the central loop, in a thread of its own."""

    def __init__(
        self,
        steps: Sequence[Step],
        tick_seconds: float,
        metrics: Metrics,
        keeper: Leader | None = None,
        patience_seconds: float = _PATIENCE_SECONDS,
    ) -> None:
        """``patience_seconds``: how long the other steps wait for one."""
        self._steps = steps
        self._tick_seconds = tick_seconds
        self._metrics = metrics
        self._keeper = keeper or Unshared()
        self._patience_seconds = patience_seconds
        self._news = threading.Event()
        self._over = threading.Event()
        self._changing = threading.Lock()
        self._fence: int | None = None
        self._last_run: dict[str, float] = {}
        self._trouble: dict[str, _Trouble] = {}
        self._under_way: tuple[str, float] | None = None
        self._slow: set[str] = set()
        self._shift = 0
        self._threads: list[threading.Thread] = []
        self._log = get_logger()
        self._begun_at = time.monotonic()
        self.ticked_at: float | None = None
        """Monotonic time of the last finished tick, in seconds; None before the first."""

    @property
    def steps(self) -> Sequence[Step]:
        """What a tick does, in order."""
        return self._steps

    def start(self) -> None:
        self._begin_shift()

    def wake(self) -> None:
        """Tick now rather than at the end of the pause."""
        self._news.set()

    def end(self) -> None:
        """Begin no other step, and tick no more once the present one has ended."""
        self._over.set()
        self._news.set()

    def stop(self, timeout: float) -> bool:
        """Finish the present step and stop; False when it took longer than ``timeout`` seconds."""
        self.end()
        until = time.monotonic() + timeout
        for thread in list(self._threads):
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def is_late(self, seconds: float) -> bool:
        """Whether no tick has finished for ``seconds``."""
        return self.ticked_at is None or self.age() > seconds

    def age(self) -> float:
        """Return the seconds since the last finished tick, or since the start when there was none."""
        return time.monotonic() - (self._begun_at if self.ticked_at is None else self.ticked_at)

    def look(self) -> bool:
        """Let the others go on when one step takes too long; return whether this ticker is well."""
        # Called by the thread that shows life, as the ticker's own may be the one that is stuck.
        with self._changing:
            if self._under_way is not None and not self._over.is_set():
                name, begun = self._under_way
                if time.monotonic() - begun > self._patience_seconds:
                    self._log.warning("tick_step_slow", step=name, seconds=round(time.monotonic() - begun, 1))
                    self._slow.add(name)
                    self._begin_shift()
        return self.age() <= LATE_SECONDS

    def tick(self) -> bool:
        """Run each step that is due once, if this loop regulates; True when a step has more to do at once."""
        shift, begun, more = self._shift, time.monotonic(), False
        if self._hold_leadership():
            for step in self._steps:
                # The step before may have found leadership lost, or been so slow that a new shift does the rest.
                if self._over.is_set() or shift != self._shift or self._fence is None:
                    break
                last = self._last_run.get(step.name)
                is_due = last is None or time.monotonic() - last >= step.every_seconds
                if is_due and step.name not in self._slow:
                    more = self._run_step(step) or more
        # A former shift, which was slow, tells nothing of how the present one does.
        if shift == self._shift:
            self.ticked_at = time.monotonic()
            self._metrics.ticks.observe(self.ticked_at - begun)
        return more

    def _begin_shift(self) -> None:
        self._shift += 1
        self._under_way = None
        thread = threading.Thread(target=self._run, args=(self._shift,), name=f"ticker-{self._shift}", daemon=True)
        self._threads = [*(one for one in self._threads if one.is_alive()), thread]
        thread.start()

    def _run(self, shift: int) -> None:
        while not self._over.is_set() and shift == self._shift:
            # Before the tick: what comes while it runs may be too late for it, and has to wake the next.
            self._news.clear()
            begun = time.monotonic()
            if not self.tick() and self._news.wait(self._tick_seconds):
                self._over.wait(max(0.0, begun + _LEAST_BETWEEN_SECONDS - time.monotonic()))

    def _hold_leadership(self) -> bool:
        """Return whether this loop regulates; every step is due when it has just begun to."""
        try:
            fence = self._keeper.keep()
        # As with the steps: a leadership that cannot be looked at must not end the ticker.
        except Exception as error:  # noqa: BLE001
            self._note_failure(HOLD_LEADERSHIP, error)
            return False
        self._note_success(HOLD_LEADERSHIP)
        if fence != self._fence:
            self._fence = fence
            self._last_run.clear()
        return fence is not None

    def _run_step(self, step: Step) -> bool:
        # Noted before it runs, so that one that fails waits for its next time as well.
        begun = self._last_run[step.name] = time.monotonic()
        self._under_way = mine = (step.name, begun)
        try:
            more = step.run()
        except LeadershipLost:
            self._keeper.lose()
            self._fence = None
            return False
        # A step that fails must not stop the others, nor the loop; what failed is told and counted.
        except Exception as error:  # noqa: BLE001
            self._note_failure(step.name, error)
            return False
        finally:
            with self._changing:
                # A new shift may have begun another step meanwhile, because this one was slow.
                if self._under_way == mine:
                    self._under_way = None
                self._slow.discard(step.name)
            self._metrics.tick_duration.labels(step.name).observe(time.monotonic() - begun)
        self._note_success(step.name)
        return more

    def _note_failure(self, name: str, error: Exception) -> None:
        self._metrics.tick_failures.labels(name).inc()
        trouble = self._trouble.setdefault(name, _Trouble())
        # One that fails at every tick would fill the log with its traceback.
        if trouble.is_news(error):
            self._log.exception("tick_step_failed", step=name)
        elif trouble.failures % _LOGGED_EVERY == 0:
            kind = type(error).__name__
            self._log.error("tick_step_still_failing", step=name, failures=trouble.failures, error=kind)

    def _note_success(self, name: str) -> None:
        trouble = self._trouble.pop(name, None)
        if trouble is not None:
            self._log.info("tick_step_works_again", step=name, failures=trouble.failures)
