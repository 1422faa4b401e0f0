"""Workers of their own for benches: ``python -m ops.bench.workers bare`` or ``waiting``.

``bare`` also knows a Celery task that only notes when it ran, the yardstick for our jobs (``ops.bench.service``). A
memory of ``waiting`` takes as long as a model's, and no processor meanwhile (``ops.bench.scaling``).
"""

from __future__ import annotations

import sys
import time

from shared.broker import connect_redis
from shared.llm.calls import Meter
from worker import wiring
from worker.__main__ import main
from worker.agent.memory_rules import ExtractiveAgent
from worker.agent.protocol import MemoryDraft, NothingToRemember, Transcript

BARE_TASK, BARE_KEY = "bench.bare", "bench.bare.ran_at"
MODEL_SECONDS = 0.5


class WaitingAgent(ExtractiveAgent):
    """The rules agent, which first waits."""

    def create(self, transcript: Transcript, limit: int, meter: Meter) -> MemoryDraft | NothingToRemember:
        time.sleep(MODEL_SECONDS)
        return super().create(transcript, limit, meter)


def register_bare_task() -> None:
    """Add the bare task to the worker's application."""
    from worker.celery_app import app, settings  # reads the settings when imported

    client = connect_redis(settings)

    @app.task(name=BARE_TASK)
    def bare(sent_at: float) -> None:
        client.rpush(BARE_KEY, f"{sent_at} {time.time()}")


if __name__ == "__main__":
    if sys.argv[1] == "bare":
        register_bare_task()
    else:
        wiring.ExtractiveAgent = WaitingAgent  # type: ignore[misc]
    sys.exit(main())
