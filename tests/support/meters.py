"""A meter that keeps what it is told."""

from __future__ import annotations

from shared.llm.calls import CallEstimate, ModelCall


class Calls(list[ModelCall]):
    """The calls made, and what was reserved for them."""

    def __init__(self) -> None:
        super().__init__()
        self.estimates: list[CallEstimate] = []

    def reserve(self, estimate: CallEstimate) -> None:
        self.estimates.append(estimate)

    def __call__(self, call: ModelCall) -> None:
        self.append(call)
