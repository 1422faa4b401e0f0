"""How much of a conversation fits a model's window beside everything else that a question takes."""

from __future__ import annotations

from shared.errors import Configuration
from shared.llm.chat import FRAME_TOKENS, REPAIR_TOKENS, AnswerT, Question
from shared.llm.tokens import most_tokens


def room_beside(empty: Question[AnswerT], context_tokens: int, least: int) -> int:
    """Return how many tokens of conversation fit beside an otherwise complete question and its repair.

    Raises:
        Configuration: fewer than ``least``.
    """
    used = sum(map(most_tokens, empty.texts)) + FRAME_TOKENS + REPAIR_TOKENS + empty.max_completion_tokens
    room = context_tokens - used
    if room < least:
        raise Configuration(
            f"A window of {context_tokens} tokens leaves no room for a conversation; "
            f"AFTERTHOUGHT_MODEL_CONTEXT_TOKENS must be at least {used + least}."
        )
    return room
