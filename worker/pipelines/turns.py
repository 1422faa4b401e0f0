"""What the pipelines that follow a conversation share: turns not yet seen, and vectors while there is an embedder."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from shared.base.errors import Configuration, OverBudget, Transient
from shared.context.queries import said_by_users
from shared.context.render import without_recalled
from shared.conversations.days import local_times
from shared.conversations.lifecycle import Role
from shared.conversations.models import Conversation, Message
from shared.conversations.queries import messages_of
from shared.llm.calls import Meter
from shared.llm.embedding import Embedder, to_bytes
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics
from shared.text.material import is_housekeeping, without_material
from shared.text.withdrawn import withdrawn, withdrawn_spans
from worker.agent.protocol import SPOKEN_ROLES, TranscriptTurn

BATCH = 200
"""Messages looked at in one job; what is left is asked for again."""


@dataclass(frozen=True)
class UnseenTurns:
    """What was said in a conversation from a position on, a batch at most."""

    start: int
    """Position of the first message looked at."""
    end: int
    """Position after the last message looked at."""
    turns: tuple[TranscriptTurn, ...]
    positions: tuple[int, ...]
    """Of the turns."""

    def seen_after(self, turns_read: int) -> int:
        """Return how far the conversation has been seen once so many turns were read."""
        return self.end if turns_read >= len(self.positions) else self.positions[turns_read]


def unseen_turns(session: Session, conversation: Conversation, start: int) -> UnseenTurns:
    """Return what users and the assistant said from position ``start`` on."""
    batch = messages_of(session, conversation.key, BATCH, start - 1)
    spoken = spoken_turns(session, batch)
    end = batch[-1].position + 1 if batch else start
    return UnseenTurns(start, end, tuple(spoken.values()), tuple(spoken))


def spoken_turns(session: Session, messages: Sequence[Message]) -> dict[int, TranscriptTurn]:
    """Return what persons and the assistant said, by position; nothing of what was answered to a client's housekeeping.

    What was recalled or put into it is left out, and what the speaker asks not to be remembered; and the message where
    nothing else stands in it.
    """
    turns: dict[int, TranscriptTurn] = {}
    spoken = [one for one in messages if one.role in SPOKEN_ROLES]
    if not spoken:
        return turns
    # Of the whole conversation: what is asked before these messages, or behind them, is about them too.
    said = said_by_users(session, spoken[0].conversation_key)
    left_out = withdrawn_spans(said)
    asked = next((content for position, content in reversed(said) if position < spoken[0].position), "")
    is_task = is_housekeeping(asked)
    for one, said_at in zip(spoken, local_times(session, spoken), strict=True):
        content = without_recalled(one.content).strip()
        # It holds until a user speaks again: what answers housekeeping is housekeeping too.
        if one.role == Role.USER:
            is_task = is_housekeeping(one.content)
            content, _ = withdrawn(without_material(content))
        if content and not is_task and not any(one.position in span for span in left_out):
            turns[one.position] = TranscriptTurn(one.message_id, one.role, one.name, content, said_at)
    return turns


def embed_if_available(
    embedder: Embedder, texts: Sequence[str], meter: Meter, metrics: Metrics, event: str
) -> tuple[bytes, ...]:
    """Return a vector for each text, or none at all while the embedder is away: a later job makes up for it.

    ``event`` names the line of the log that says so.
    """
    if not texts:
        return ()
    try:
        return tuple(to_bytes(vector) for vector in embedder.embed(texts, meter))
    except (Transient, Configuration, OverBudget) as error:
        get_logger().warning(event, embedder=embedder.name, why=error.code)
        metrics.embedding_failures.inc()
        return ()
