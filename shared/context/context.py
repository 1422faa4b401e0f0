"""What a conversation starts with: what is recalled for its app, then what was said, with their size in tokens.

No model is called but the embedder, for what is said now. A part that cannot be had is left out and named, because a
conversation with less to go on is better than none; only what was said must be had. What else is recalled (a profile,
summaries, earlier messages) is looked up by ``sources``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from shared.context import queries
from shared.context.budgets import DEFAULT_RESERVE, TokenCounting, TokenSource
from shared.context.fact_selection import in_order
from shared.context.recall import (
    ContextDraft,
    ContextExtension,
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
from shared.conversations.models import Conversation, MemoryMode
from shared.conversations.queries import get_conversation, user_asking
from shared.db.transactions import Transactions
from shared.energy.rates import rate_of
from shared.search.search import Findings
from shared.subjects import recalled_for
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import CompactionStage, Metrics

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
class _Conversation:
    """What was said, as far as it is needed, and what that is counted and recalled by."""

    app_name: str
    user_id: str | None
    recalled_for: tuple[str, ...]
    counting: TokenCounting
    messages: list[Utterance]
    conversation_key: int | None = None
    left_out: int = 0
    is_alone: bool = False
    """Whether nothing but its own is recalled in it."""

    @property
    def unanswered(self) -> str | None:
        """What the user said last, if nobody answered it."""
        last = self.messages[-1] if self.messages else None
        return last.content if last is not None and last.role == _USER else None


@dataclass
class ContextParts:
    """Reads the parts of a context; one that cannot be had is named in ``missing`` and counted."""

    app_id: str
    metrics: Metrics
    missing: list[str] = field(default_factory=list)

    def material(self, session: Session, app_name: str, users: tuple[str, ...], message: str | None) -> RecallMaterial:
        """Read what there is to recall of users while this is said; see ``shared.subjects.recalled_for``."""
        memories = self._read("memories", lambda: queries.memories_to_recall(session, self.app_id, users))
        facts = self._read("facts", lambda: queries.facts_to_recall(session, self.app_id, users))
        return RecallMaterial(app_name, memories, in_order(facts, message))

    def _read(self, part: str, read: Callable[[], tuple[ItemT, ...]]) -> tuple[ItemT, ...]:
        try:
            return read()
        except SQLAlchemyError as error:
            self.missing.append(part)
            self.metrics.context_parts_missing.labels(part).inc()
            get_logger().warning("context_part_missing", part=part, app_id=self.app_id, error=type(error).__name__)
            return ()


def open_context(
    transactions: Transactions,
    app_id: str,
    request: ContextRequest,
    metrics: Metrics,
    sources: RecallSources | None = None,
    actor: str = "",
) -> ConversationContext:
    """Compose the context of a conversation; with ``sources``, of more than memories and facts.

    Raises: NotFound for an app that is not there or a conversation it does not have; Conflict where that is another
    user's; Transient where what was said cannot be had.
    """
    parts = ContextParts(app_id, metrics)
    with transactions.read() as session:
        said = _conversation(session, app_id, request)
        material = parts.material(session, said.app_name, said.recalled_for, said.unanswered)
        budget = 0 if sources is None else sources.budget(session, app_id)
    messages = [counted(one, said.counting) for one in said.messages]
    draft = compose(messages, material, request.bounds, said.counting, said.left_out)
    added, findings = ContextExtension(), None
    if sources is not None:
        budget = budget_for_more(draft, request.bounds, budget, request.is_capped)
        if budget > 0:
            extra, findings, missing = sources.extra(_current_turn(draft, app_id, request, said), actor)
            added = extend(draft.recalled.text, extra, budget, said.counting)
            parts.missing += missing
            if findings is not None:
                sources.record(app_id, findings, added)
    context = _finished(draft, added, findings, request, said.counting, parts.missing)
    metrics.context_stages.labels(context.stage).inc()
    if request.context_window is not None:
        metrics.context_used.observe(context.total_tokens / request.context_window)
    note_recalled(metrics, app_id, request.conversation_id, context.memory_ids)
    return context


def note_recalled(metrics: Metrics, app_id: str, conversation_id: str | None, memory_ids: Sequence[int]) -> None:
    """Count a context by whether memories are in it, and log how many."""
    metrics.contexts.labels("true" if memory_ids else "false").inc()
    get_logger().info("memories_recalled", app_id=app_id, conversation_id=conversation_id, count=len(memory_ids))


def _conversation(session: Session, app_id: str, request: ContextRequest) -> _Conversation:
    app_name, is_shared = queries.app_recalled_for(session, app_id)
    counting = TokenCounting(None if request.model is None else rate_of(session, request.model))
    user_id, conversation, messages, left_out = request.user_id, None, list(request.said or ()), 0
    if request.conversation_id is not None:
        conversation = get_conversation(session, app_id, request.conversation_id)
        user_id = user_asking(conversation, request.user_id)
        if request.said is None:
            messages, left_out = _stored(session, conversation, counting, request.bounds)
    if request.now_said is not None:
        messages = [*messages, Utterance(_USER, request.now_said)]
    # What will not stay goes at once, because counting thousands of messages one by one takes long.
    if not left_out and overfills(length_of(messages, counting), request.bounds):
        kept = [messages[i] for i in staying(messages, len(messages))]
        messages, left_out = kept, len(messages) - len(kept)
    key = None if conversation is None else conversation.key
    is_alone = conversation is not None and conversation.memory == MemoryMode.OFF
    users = () if is_alone else recalled_for(user_id, is_shared)
    return _Conversation(app_name, user_id, users, counting, messages, key, left_out, is_alone)


def _stored(
    session: Session, conversation: Conversation, counting: TokenCounting, bounds: ContextLimits
) -> tuple[list[Utterance], int]:
    """Read what was said; of a conversation that fills the window by itself only what stays when its middle goes.

    Return that, and how many messages were left out.
    """
    of = conversation.message_count
    if of > FEW and bounds.window is not None:
        # The newest first: only where they do not fill the window are all of them summed.
        for newest in (min(of, _PROBE), of):
            if overfills(queries.tokens_said(session, conversation.key, counting.in_use, newest), bounds):
                kept = queries.what_stays(session, conversation.key)
                return kept, of - len(kept)
            if newest == of:
                break
    return queries.everything_said(session, conversation.key), 0


def _current_turn(draft: ContextDraft, app_id: str, request: ContextRequest, said: _Conversation) -> CurrentTurn:
    users = [one.content for one in said.messages if one.role == _USER]
    return CurrentTurn(
        app_id=app_id,
        user_id=said.user_id,
        conversation_id=request.conversation_id,
        conversation_key=said.conversation_key,
        said=users[-1] if users else None,
        shown=frozenset(message.said.content.strip() for message in draft.messages),
        is_whole=request.said is None and not draft.trimmed,
        is_alone=said.is_alone,
    )


def _finished(
    draft: ContextDraft,
    added: ContextExtension,
    findings: Findings | None,
    request: ContextRequest,
    counting: TokenCounting,
    missing: Sequence[str],
) -> ConversationContext:
    text = join_blocks([draft.recalled.text, added.text])
    first = (Utterance("system", text),) if text else ()
    total, window = draft.tokens + added.tokens, request.context_window
    return ConversationContext(
        messages=first + tuple(message.said for message in draft.messages),
        system_prompt=text,
        memory_ids=draft.recalled.memory_ids,
        fact_ids=draft.recalled.fact_ids,
        memory_tokens=draft.recalled.tokens + added.tokens,
        total_tokens=total,
        percent_used=None if window is None else round(100 * total / window, 2),
        stage=draft.stage,
        missing=tuple(missing),
        trimmed=draft.trimmed,
        token_source=source_of(draft, counting, bool(added.text)),
        cut=draft.cut,
        summary_id=added.summary_id,
        profile=added.profile,
        retrieved_ids=tuple(dict.fromkeys(hit.message_id for hit in added.hits)),
        degraded=() if findings is None else findings.degraded,
    )
