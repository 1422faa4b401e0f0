"""A worker whose memories take as long as a model's, and no processor meanwhile: for ``ops.bench.scaling``."""

from __future__ import annotations

import sys
import time

from shared.llm.calls import Meter
from worker import wiring
from worker.__main__ import main
from worker.agent.memory_rules import ExtractiveAgent
from worker.agent.protocol import MemoryDraft, NothingToRemember, Transcript

MODEL_SECONDS = 0.5


class WaitingAgent(ExtractiveAgent):
    """The rules agent, which first waits."""

    def create(self, transcript: Transcript, limit: int, meter: Meter) -> MemoryDraft | NothingToRemember:
        time.sleep(MODEL_SECONDS)
        return super().create(transcript, limit, meter)


if __name__ == "__main__":
    wiring.ExtractiveAgent = WaitingAgent  # type: ignore[misc]
    sys.exit(main())
