"""What a conversation starts with: what is recalled for its app, then what was said, with their size in tokens.

Composed from the database alone; no model is called. Trimming what was said to a model's window, facts, summaries and
retrieval are left to their own rooms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from shared.apps.models import App
from shared.context.block import Block, Recalled, memories_block
from shared.conversations.queries import get_conversation, messages_of
from shared.llm.tokens import estimate_tokens
from shared.memories.queries import standing


@dataclass(frozen=True)
class Utterance:
    """One message, stored or not."""

    role: str
    content: str
    name: str | None = None


@dataclass(frozen=True)
class Wanted:
    """What is asked for; sizes in tokens."""

    token_budget: int
    said: Sequence[Utterance] | None = None
    """The messages so far; None takes those stored under ``conversation_id``."""
    conversation_id: str | None = None
    now_said: str | None = None
    context_window: int | None = None
    reserve: int = 0


@dataclass(frozen=True)
class Opening:
    """A composed context; sizes in tokens."""

    messages: tuple[Utterance, ...]
    system_prompt: str
    memory_ids: tuple[int, ...]
    memory_tokens: int
    total_tokens: int
    percent_used: float | None


def open_context(session: Session, app: App, wanted: Wanted) -> Opening:
    """Compose the context of a conversation. Raises: NotFound for a conversation the app does not have."""
    said = _said(session, app.app_id, wanted)
    tokens = sum(estimate_tokens(one.content) for one in said)
    block = recall(session, app, room_for_memories(wanted, tokens))
    recalled = (Utterance("system", block.text),) if block.text else ()
    total = tokens + block.tokens
    return Opening(
        messages=recalled + said,
        system_prompt=block.text,
        memory_ids=tuple(memory.memory_id for memory in block.included),
        memory_tokens=block.tokens,
        total_tokens=total,
        percent_used=round(100 * total / wanted.context_window, 2) if wanted.context_window else None,
    )


def recall(session: Session, app: App, token_budget: int) -> Block:
    """Return the block of an app's memories that fits the budget."""
    memories = [Recalled(m.memory_id, m.content, m.created_at) for m in standing(session, app.app_id)]
    return memories_block(app.name, memories, token_budget)


def room_for_memories(wanted: Wanted, said_tokens: int) -> int:
    """Return how many tokens memories may take: their budget, but never more than the window leaves."""
    if wanted.context_window is None:
        return wanted.token_budget
    return max(0, min(wanted.token_budget, wanted.context_window - said_tokens - wanted.reserve))


def _said(session: Session, app_id: str, wanted: Wanted) -> tuple[Utterance, ...]:
    said = list(wanted.said or ())
    if wanted.conversation_id is not None:
        conversation = get_conversation(session, app_id, wanted.conversation_id)
        if wanted.said is None:
            stored = messages_of(session, conversation.key)
            said = [Utterance(message.role, message.content, message.name) for message in stored]
    if wanted.now_said is not None:
        said.append(Utterance("user", wanted.now_said))
    return tuple(said)
