"""What a conversation starts with: what is recalled for its app, then what was said, with their size in tokens.

No model is called but the embedder, for what is said now. Each part is read in a short transaction of its own, and one
that cannot be had is left out and named, because a conversation with less to go on is better than none; only what was
said must be had. What else is recalled (a profile, summaries, earlier messages) is looked up by ``reaching``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from shared.apps.queries import get_app
from shared.context import queries
from shared.context.budgets import DEFAULT_RESERVE, TokenCounting, TokenSource
from shared.context.fact_selection import in_order
from shared.context.recall import (
    CompactionStage,
    ContextDraft,
    ContextLimits,
    RecallMaterial,
    budget_for_more,
    compose,
    extend,
    overfills,
    source_of,
)
from shared.context.rendering import join_blocks
from shared.context.sources import CurrentTurn, RecallSources
from shared.context.window import FEW, Utterance, counted, length_of, staying
from shared.conversations.models import Conversation
from shared.conversations.queries import get_conversation, user_asking
from shared.db.transactions import Transactions
from shared.energy.rates import rate_of
from shared.errors import Transient
from shared.subjects import recalled_for
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import Metrics

_PROBE = 512
"""So many of the newest messages fill most windows; only where they do not are all of them summed."""
_USER = "user"
ItemT = TypeVar("ItemT")


@dataclass(frozen=True)
class ContextRequest:
    """What is asked for; sizes in tokens."""

    token_budget: int
    is_capped: bool = False
    """Whether the budget was asked for, and so holds for everything that is recalled."""
    said: Sequence[Utterance] | None = None
    """The messages so far; None takes those stored under ``conversation_id``."""
    conversation_id: str | None = None
    user_id: str | None = None
    """Who speaks, where no conversation says it."""
    now_said: str | None = None
    model: str | None = None
    """Whose tokens are meant, as ``ollama:NAME`` or ``NAME``."""
    context_window: int | None = None
    reserve: int | None = None
    """None: the default where a window is given."""

    @property
    def bounds(self) -> ContextLimits:
        """The bounds that are meant."""
        reserve = DEFAULT_RESERVE if self.reserve is None else self.reserve
        return ContextLimits(self.token_budget, self.context_window, reserve)


@dataclass(frozen=True)
class ConversationContext:
    """A composed context; sizes in tokens."""

    messages: tuple[Utterance, ...]
    system_prompt: str
    memory_ids: tuple[int, ...]
    fact_ids: tuple[int, ...]
    memory_tokens: int
    total_tokens: int
    percent_used: float | None
    stage: CompactionStage
    missing: tuple[str, ...]
    trimmed: int
    token_source: TokenSource
    cut: bool
    summary_id: str | None = None
    profile: bool = False
    retrieved_ids: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    """What the search for earlier messages had to do without."""


@dataclass(frozen=True)
class _Said:
    """What was said, as far as it is needed, and what that is counted and recalled by."""

    app_name: str
    user_id: str | None
    recalled_for: tuple[str, ...]
    counting: TokenCounting
    messages: list[Utterance]
    conversation_key: int | None = None
    left_out: int = 0

    @property
    def now(self) -> str | None:
        """What the user said last, if nobody answered it."""
        last = self.messages[-1] if self.messages else None
        return last.content if last is not None and last.role == _USER else None


class ContextParts:
    """Reads the parts of a context; one that cannot be had is named in ``missing`` and counted."""

    def __init__(self, transactions: Transactions, app_id: str, metrics: Metrics) -> None:
        self._transactions = transactions
        self._app_id = app_id
        self._metrics = metrics
        self.missing: list[str] = []

    def material(self, app_name: str, users: tuple[str, ...], message: str | None) -> RecallMaterial:
        """Read what there is to recall of users while this is said; see ``shared.subjects.recalled_for``."""
        memories = self._read("memories", lambda session: queries.memories_to_recall(session, self._app_id, users))
        facts = self._read("facts", lambda session: queries.facts_to_recall(session, self._app_id, users))
        return RecallMaterial(app_name, memories, in_order(facts, message))

    def _read(self, part: str, read: Callable[[Session], tuple[ItemT, ...]]) -> tuple[ItemT, ...]:
        try:
            with self._transactions.read() as session:
                return read(session)
        except (Transient, SQLAlchemyError) as error:
            self.missing.append(part)
            self._metrics.context_parts_missing.labels(part).inc()
            get_logger().warning("context_part_missing", part=part, app_id=self._app_id, error=type(error).__name__)
            return ()


def open_context(
    transactions: Transactions,
    app_id: str,
    wanted: ContextRequest,
    metrics: Metrics,
    reach: RecallSources | None = None,
    actor: str = "",
) -> ConversationContext:
    """Compose the context of a conversation; with ``reach``, of more than memories and facts.

    Raises: NotFound for an app that is not there or a conversation it does not have; Conflict where that is another
    user's; Transient where what was said cannot be had.
    """
    with transactions.read() as session:
        said = _said(session, app_id, wanted)
    parts = ContextParts(transactions, app_id, metrics)
    material = parts.material(said.app_name, said.recalled_for, said.now)
    messages = [counted(one, said.counting) for one in said.messages]
    composed = compose(messages, material, wanted.bounds, said.counting, said.left_out)
    opening = _opening(composed, wanted, said.counting, tuple(parts.missing))
    if reach is not None:
        opening = _extended(opening, composed, app_id, wanted, said, reach, actor)
    _count(metrics, opening, wanted)
    note_recalled(metrics, app_id, wanted.conversation_id, opening.memory_ids)
    return opening


def _said(session: Session, app_id: str, wanted: ContextRequest) -> _Said:
    app = get_app(session, app_id)
    counting = TokenCounting(None if wanted.model is None else rate_of(session, wanted.model))
    user_id, conversation = wanted.user_id, None
    if wanted.conversation_id is not None:
        conversation = get_conversation(session, app_id, wanted.conversation_id)
        user_id = user_asking(conversation, wanted.user_id)
    users = recalled_for(user_id, app.shared_memory)
    said = _Said(app.name, user_id, users, counting, list(wanted.said or ()))
    if conversation is not None:
        said = replace(said, conversation_key=conversation.key)
        if wanted.said is None:
            said = _stored(session, conversation, said, wanted.bounds)
    now = [] if wanted.now_said is None else [Utterance(_USER, wanted.now_said)]
    return _without_middle(replace(said, messages=said.messages + now), wanted.bounds)


def _without_middle(said: _Said, bounds: ContextLimits) -> _Said:
    """Let go at once of what will not stay, because counting thousands of messages one by one takes long."""
    if said.left_out or not overfills(length_of(said.messages, said.counting), bounds):
        return said
    places = staying(said.messages, len(said.messages))
    return replace(said, messages=[said.messages[i] for i in places], left_out=len(said.messages) - len(places))


def _stored(session: Session, conversation: Conversation, said: _Said, bounds: ContextLimits) -> _Said:
    """Read what was said; of a conversation that fills the window by itself only what stays when its middle goes."""
    if conversation.message_count > FEW and _overfills(session, conversation, said.counting, bounds):
        kept = queries.what_stays(session, conversation.key)
        return replace(said, messages=kept, left_out=conversation.message_count - len(kept))
    return replace(said, messages=queries.everything_said(session, conversation.key))


def _overfills(session: Session, conversation: Conversation, counting: TokenCounting, bounds: ContextLimits) -> bool:
    if bounds.window is None:
        return False
    lately = queries.tokens_said(session, conversation.key, counting.in_use, _PROBE)
    if overfills(lately, bounds) or conversation.message_count <= _PROBE:
        return overfills(lately, bounds)
    return overfills(
        queries.tokens_said(session, conversation.key, counting.in_use, conversation.message_count), bounds
    )


def _extended(
    opening: ConversationContext,
    composed: ContextDraft,
    app_id: str,
    wanted: ContextRequest,
    said: _Said,
    reach: RecallSources,
    actor: str,
) -> ConversationContext:
    room = budget_for_more(composed, wanted.bounds, reach.budget(app_id), wanted.is_capped)
    if room <= 0:
        return opening
    extra, findings, missing = reach.extra(_now(composed, app_id, wanted, said), actor)
    added = extend(opening.system_prompt, extra, room, said.counting)
    if findings is not None:
        reach.note(app_id, findings, added)
    text = join_blocks([opening.system_prompt, added.text])
    first = (Utterance("system", text),) if text else ()
    total = opening.total_tokens + added.tokens
    return replace(
        opening,
        messages=first + tuple(message.said for message in composed.messages),
        system_prompt=text,
        memory_tokens=opening.memory_tokens + added.tokens,
        total_tokens=total,
        percent_used=_percent(total, wanted.context_window),
        missing=(*opening.missing, *missing),
        token_source=source_of(composed, said.counting, bool(added.text)),
        summary_id=added.summary_id,
        profile=added.profile,
        retrieved_ids=tuple(dict.fromkeys(hit.message_id for hit in added.hits)),
        degraded=() if findings is None else findings.degraded,
    )


def _now(composed: ContextDraft, app_id: str, wanted: ContextRequest, said: _Said) -> CurrentTurn:
    users = [one.content for one in said.messages if one.role == _USER]
    return CurrentTurn(
        app_id=app_id,
        user_id=said.user_id,
        conversation_id=wanted.conversation_id,
        conversation_key=said.conversation_key,
        said=users[-1] if users else None,
        shown=frozenset(message.said.content.strip() for message in composed.messages),
        is_whole=wanted.said is None and not composed.trimmed,
    )


def _percent(tokens: int, window: int | None) -> float | None:
    return None if window is None else round(100 * tokens / window, 2)


def _opening(
    composed: ContextDraft, wanted: ContextRequest, counting: TokenCounting, missing: tuple[str, ...]
) -> ConversationContext:
    recalled = composed.recalled
    first = (Utterance("system", recalled.text),) if recalled.text else ()
    return ConversationContext(
        messages=first + tuple(message.said for message in composed.messages),
        system_prompt=recalled.text,
        memory_ids=recalled.memory_ids,
        fact_ids=recalled.fact_ids,
        memory_tokens=recalled.tokens,
        total_tokens=composed.tokens,
        percent_used=_percent(composed.tokens, wanted.context_window),
        stage=composed.stage,
        missing=missing,
        trimmed=composed.trimmed,
        token_source=source_of(composed, counting),
        cut=composed.cut,
    )


def note_recalled(metrics: Metrics, app_id: str, conversation_id: str | None, memory_ids: Sequence[int]) -> None:
    """Count a context by whether memories are in it, and log how many."""
    metrics.contexts.labels("true" if memory_ids else "false").inc()
    get_logger().info("memories_recalled", app_id=app_id, conversation_id=conversation_id, count=len(memory_ids))


def _count(metrics: Metrics, opening: ConversationContext, wanted: ContextRequest) -> None:
    metrics.context_stages.labels(opening.stage).inc()
    if wanted.context_window is not None:
        metrics.context_used.observe(opening.total_tokens / wanted.context_window)
