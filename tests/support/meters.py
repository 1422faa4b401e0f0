"""A meter that keeps what it is told."""

from __future__ import annotations

from shared.llm.calls import ENOUGH, ModelCall, Prospect


class Calls(list[ModelCall]):
    """The calls made, and what was reserved for them."""

    def __init__(self) -> None:
        super().__init__()
        self.prospects: list[Prospect] = []
        self.allowed = ENOUGH
        """Tokens that an answer to a repeated question may take."""

    def reserve(self, prospect: Prospect) -> None:
        self.prospects.append(prospect)

    def __call__(self, call: ModelCall) -> None:
        self.append(call)

    def allow_repeat(self, more_prompt_tokens: int) -> int:
        return self.allowed
