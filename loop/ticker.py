"""Runs the steps in order, again and again; a failing step is logged, counted and skipped.

News (a conversation ended here, a job ended in a worker) wakes the ticker at once; without news it sleeps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from loop.steps.step import Step
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics


class Ticker:
    """The heartbeat of the central loop, in a thread of its own."""

    def __init__(self, steps: Sequence[Step], tick_seconds: float, metrics: Metrics) -> None:
        self._steps = steps
        self._tick_seconds = tick_seconds
        self._metrics = metrics
        self._news = threading.Event()
        self._over = threading.Event()
        self._last_run: dict[str, float] = {}
        self._thread = threading.Thread(target=self._run, name="ticker", daemon=True)
        self._log = get_logger()
        self.ticked_at: float | None = None
        """Monotonic time of the last finished tick, in seconds; None before the first."""

    def start(self) -> None:
        """Begin to tick."""
        self._thread.start()

    def wake(self) -> None:
        """Tick now rather than at the end of the pause."""
        self._news.set()

    def stop(self, timeout: float) -> bool:
        """Finish the present tick and stop; False when it took longer than ``timeout`` seconds."""
        self._over.set()
        self._news.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def is_late(self, seconds: float) -> bool:
        """Whether no tick has finished for ``seconds``."""
        return self.ticked_at is None or time.monotonic() - self.ticked_at > seconds

    def tick(self) -> bool:
        """Run each step that is due once; True when a step has more to do at once."""
        more = [self._run_step(step) for step in self._steps if self._is_due(step)]
        self.ticked_at = time.monotonic()
        return any(more)

    def _run(self) -> None:
        while not self._over.is_set():
            self._news.clear()
            if not self.tick():
                self._news.wait(self._tick_seconds)

    def _is_due(self, step: Step) -> bool:
        last = self._last_run.get(step.name)
        return last is None or time.monotonic() - last >= step.every_seconds

    def _run_step(self, step: Step) -> bool:
        begun = self._last_run[step.name] = time.monotonic()
        try:
            return step.run()
        # A step that fails must not stop the others, nor the loop; what failed is told and counted.
        except Exception:  # noqa: BLE001
            self._metrics.tick_failures.labels(step.name).inc()
            self._log.exception("tick_step_failed", step=step.name)
            return False
        finally:
            self._metrics.tick_duration.labels(step.name).observe(time.monotonic() - begun)
