"""A meter that keeps what it is told."""

from __future__ import annotations

from shared.llm.calls import ModelCall, Prospect


class Calls(list[ModelCall]):
    """The calls made, and what was reserved for them."""

    def __init__(self) -> None:
        super().__init__()
        self.prospects: list[Prospect] = []

    def reserve(self, prospect: Prospect) -> None:
        self.prospects.append(prospect)

    def __call__(self, call: ModelCall) -> None:
        self.append(call)
