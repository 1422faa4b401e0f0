"""The messages for a model: what was said, and what is recalled at two positions among it, with their size in tokens.

The head is behind the app's own system prompt, the same until something in it changes; the tail right before the last
user message. So a server that keeps the beginning of a prompt reads only what is new. No model is called but the
embedder, for what is said now. Only the messages must be had; a part that cannot be had is left out and named, because
a conversation with less to go on is better than none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from sqlalchemy.orm import Session

from shared.base.subjects import recalled_for
from shared.context import queries, render
from shared.context.select import (
    DEFAULT_RESERVE,
    ContextLimits,
    HeadSelector,
    Tail,
    order_for,
    select_tail,
)
from shared.context.sources import CurrentTurn, RecallSources
from shared.context.window import (
    FEW,
    ContextDraft,
    Utterance,
    before_last_user,
    compact,
    counted,
    leading_system,
    length_of,
    staying,
)
from shared.conversations.models import Conversation, MemoryMode
from shared.conversations.queries import get_conversation, user_asking
from shared.energy.rates import rate_of
from shared.llm.calls import Rate, TokenCounting, TokenSource
from shared.search.search import BegunEmbedding
from shared.search.view import Search
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import CompactionStage, Metrics

_PROBE = 512
"""So many of the newest messages fill most windows; only where they do not are all of them summed."""
_USER, _SYSTEM = "user", "system"
_RATE_CHARS = 100


class Placement(StrEnum):
    """Where what is recalled stands: in two messages, or in one before all others."""

    TWO = "two"
    ONE = "one"


@dataclass(frozen=True)
class ContextRequest:
    """What a context is asked for with; sizes in tokens."""

    token_budget: int
    is_capped: bool = False
    """Whether the budget was given, and so holds for everything that is recalled."""
    messages: Sequence[Utterance] | None = None
    """The messages so far; None takes those stored under ``conversation_id``."""
    conversation_id: str | None = None
    user_id: str | None = None
    """Who speaks, where no conversation says it."""
    pending_message: str | None = None
    """What the user says now."""
    model: str | None = None
    """Whose tokens are meant, as ``ollama:NAME`` or ``NAME``."""
    context_window: int | None = None
    reserve: int | None = None
    """None: the default where a window is given."""
    placement: Placement = Placement.TWO

    @property
    def limits(self) -> ContextLimits:
        """The limits that are meant."""
        reserve = DEFAULT_RESERVE if self.reserve is None else self.reserve
        return ContextLimits(self.token_budget, self.context_window, reserve)

    @property
    def said_now(self) -> str | None:
        """What the user said last, as far as no stored message tells it."""
        return _said_last(self.messages or ()) if self.pending_message is None else self.pending_message


@dataclass(frozen=True)
class ConversationContext:
    """A composed context; sizes in tokens."""

    messages: tuple[Utterance, ...]
    recalled_at: tuple[int, ...]
    """The positions of what is recalled among the messages."""
    stable_prefix_tokens: int
    """So many tokens from the beginning are the same for the next question."""
    system_prompt: str
    """All that is recalled."""
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
    shrunk: bool
    """Whether the conversation leaves less room for what is recalled than there would be without it."""
    summary_id: str | None
    profile: bool
    retrieved_ids: tuple[str, ...]
    degraded: tuple[str, ...]
    """What the search for earlier messages had to do without."""


@dataclass(frozen=True)
class _Talk:
    """What was said, as far as it is needed, and whose conversation that is."""

    messages: list[Utterance]
    left_out: int
    counting: TokenCounting
    user_id: str | None
    conversation_key: int | None = None
    is_alone: bool = False
    """Whether nothing but its own is recalled in it."""

    @property
    def said_last(self) -> str | None:
        """What the user said last."""
        return _said_last(self.messages)

    @property
    def unanswered(self) -> str | None:
        """What the user said last, if nobody answered it."""
        last = self.messages[-1] if self.messages else None
        return last.content if last is not None and last.role == _USER else None


def _said_last(messages: Sequence[Utterance]) -> str | None:
    return next((one.content for one in reversed(messages) if one.role == _USER), None)


def open_context(reach: RecallSources, app_id: str, request: ContextRequest, actor: str) -> ConversationContext:
    """Compose the context of a conversation; ``actor``: who asks, for the audit of a profile.

    Raises: NotFound for an app that is not there or a conversation it does not have; Conflict where that is another
    user's; Transient where what was said cannot be had.
    """
    missing: list[str] = []
    limits, is_apart = request.limits, request.placement is Placement.TWO
    begun = reach.begin(app_id, request.said_now)
    with reach.database.read() as session:
        app = queries.app_recalled_for(session, app_id)
        talk = _read_talk(session, app_id, request)
        begun = begun or reach.begin(app_id, talk.said_last)
        users = () if talk.is_alone else recalled_for(talk.user_id, app.is_shared)
        material = reach.material(session, app_id, app.name, users, missing)
        has_answered = not talk.is_alone and reach.has_answered(session, app_id, talk.user_id, missing)
    if not is_apart:
        material = replace(material, facts=order_for(material.facts, talk.unanswered))
    if has_answered:
        material = replace(material, profile=reach.profile(app_id, talk.user_id, actor, missing))
    heads = HeadSelector(material, talk.counting)
    draft = compact([counted(one, talk.counting) for one in talk.messages], heads, limits, talk.left_out)
    facts = heads.lifted_beside(draft.head, talk.unanswered) if is_apart else ()
    # What facts take is not taken from what else there is.
    most = reach.tuned_budget(app.overrides) + talk.counting.tokens(render.facts_text(facts))
    budget = draft.tail_budget(limits, most, is_capped=request.is_capped)
    tail, search = Tail(), None
    if budget > 0:
        others, search = reach.tail(_current_turn(draft, app_id, request, talk, begun), missing)
        tail = select_tail(draft.head.text, replace(others, facts=facts), budget, talk.counting, is_apart=is_apart)
        reach.record(search, tail, draft.head)
    context = _finished(draft, tail, search, request, talk.counting, missing)
    reach.metrics.context_stages.labels(context.stage).inc()
    if request.context_window is not None:
        reach.metrics.context_used.observe(context.total_tokens / request.context_window)
    note_recalled(reach.metrics, app_id, request.conversation_id, context.memory_ids)
    return context


def note_recalled(metrics: Metrics, app_id: str, conversation_id: str | None, memory_ids: Sequence[int]) -> None:
    """Count a context by whether memories are in it, and log how many."""
    metrics.contexts.labels("true" if memory_ids else "false").inc()
    get_logger().info("memories_recalled", app_id=app_id, conversation_id=conversation_id, count=len(memory_ids))


def _read_talk(session: Session, app_id: str, request: ContextRequest) -> _Talk:
    counting = TokenCounting(None if request.model is None else _steady(rate_of(session, request.model)))
    talk, messages, left_out = _Talk([], 0, counting, request.user_id), list(request.messages or ()), 0
    if request.conversation_id is not None:
        conversation = get_conversation(session, app_id, request.conversation_id)
        user_id = user_asking(conversation, request.user_id)
        talk = _Talk([], 0, counting, user_id, conversation.key, conversation.memory == MemoryMode.OFF)
        if request.messages is None:
            messages, left_out = _stored(session, conversation, counting, request.limits)
    if request.pending_message is not None:
        messages = [*messages, Utterance(_USER, request.pending_message)]
    # What will not stay goes at once, because counting thousands of messages one by one takes long.
    if not left_out and request.limits.is_passed_by(length_of(messages, counting)):
        kept = [messages[i] for i in staying(messages, len(messages))]
        messages, left_out = kept, len(messages) - len(kept)
    return replace(talk, messages=messages, left_out=left_out)


def _steady(rate: Rate | None) -> Rate | None:
    """Return a rate rounded up: each answered call moves it a little, and with it what just fits into a budget."""
    return rate and Rate(_RATE_CHARS, rate.tokens_in(_RATE_CHARS))


def _stored(
    session: Session, conversation: Conversation, counting: TokenCounting, limits: ContextLimits
) -> tuple[list[Utterance], int]:
    """Read what was said; of a conversation that fills the window by itself only what stays when its middle goes.

    Return that, and how many messages were left out.
    """
    of = conversation.message_count
    if of > FEW and limits.window is not None:
        # The newest first: only where they do not fill the window are all of them summed.
        for newest in dict.fromkeys((min(of, _PROBE), of)):
            if limits.is_passed_by(queries.tokens_stored(session, conversation.key, counting.in_use, newest)):
                kept = queries.staying_messages(session, conversation.key)
                return kept, of - len(kept)
    return queries.all_messages(session, conversation.key), 0


def _current_turn(
    draft: ContextDraft, app_id: str, request: ContextRequest, talk: _Talk, begun: BegunEmbedding | None
) -> CurrentTurn:
    return CurrentTurn(
        app_id=app_id,
        user_id=talk.user_id,
        conversation_id=request.conversation_id,
        conversation_key=talk.conversation_key,
        text=talk.said_last,
        shown=frozenset(one.message.content.strip() for one in draft.messages),
        is_whole=request.messages is None and not draft.trimmed,
        begun=begun,
    )


def _finished(
    draft: ContextDraft,
    tail: Tail,
    search: Search | None,
    request: ContextRequest,
    counting: TokenCounting,
    missing: Sequence[str],
) -> ConversationContext:
    head, messages = draft.head, [one.message for one in draft.messages]
    total, window = draft.tokens + tail.tokens, request.context_window
    text = render.join_blocks([head.text, tail.text])
    is_one = request.placement is Placement.ONE
    recalled = ({0: Utterance(_SYSTEM, text)} if text else {}) if is_one else _positions(messages, head.text, tail.text)
    for position, one in recalled.items():
        messages.insert(position, one)
    return ConversationContext(
        messages=tuple(messages),
        recalled_at=tuple(recalled),
        stable_prefix_tokens=0 if is_one and text else draft.stable_prefix_tokens,
        system_prompt=text,
        memory_ids=head.memory_ids,
        fact_ids=head.fact_ids + tail.fact_ids,
        memory_tokens=head.tokens + tail.tokens,
        total_tokens=total,
        percent_used=None if window is None else round(100 * total / window, 2),
        stage=draft.stage,
        missing=tuple(missing),
        trimmed=draft.trimmed,
        token_source=draft.token_source(counting, has_tail=bool(tail.text)),
        cut=draft.is_cut,
        shrunk=draft.is_shrunk,
        summary_id=tail.summary_id,
        profile=head.has_profile,
        retrieved_ids=tuple(dict.fromkeys(hit.message_id for hit in tail.hits)),
        degraded=() if search is None else search.degraded,
    )


def _positions(messages: Sequence[Utterance], head: str, tail: str) -> dict[int, Utterance]:
    """Return what is recalled by the positions it gets among the messages, the first position first."""
    recalled: dict[int, Utterance] = {}
    leading = leading_system(messages)
    if head:
        # As the app's own: "developer" and "system" beside each other are refused by some servers.
        role = messages[leading - 1].sent["role"] if leading else _SYSTEM
        payload = None if role == _SYSTEM else {"role": role, "content": head}
        recalled[leading] = Utterance(_SYSTEM, head, payload=payload)
    if tail:
        # Not a system message: servers of Anthropic and Ollama move those to the top, and the prefix would change.
        before = before_last_user(messages)
        recalled[(leading if before is None else before) + len(recalled)] = Utterance(_USER, tail)
    return recalled
