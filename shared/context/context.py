"""The messages for a model: what was said, and what is recalled beside it, with their size in tokens.

What is recalled whatever is said (the head) stands behind the app's own system prompt, the same until something in it
changes; what was chosen for this question (the tail) right before that. So a server that keeps the beginning of a
prompt reads only what is new. No model is called but the embedder, for what is said now. A part that cannot be had is
left out and named, because a conversation with less to go on is better than none; only what was said must be had.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from shared.base.subjects import recalled_for
from shared.context import queries, recall
from shared.context.fact_selection import standing_order
from shared.context.rendering import facts_text, join_blocks
from shared.context.sources import CurrentTurn, RecallSources
from shared.context.window import (
    DEFAULT_RESERVE,
    FEW,
    TokenCounting,
    TokenSource,
    Utterance,
    before_last_user,
    beginning_kept,
    counted,
    leading_system,
    length,
    length_of,
    staying,
)
from shared.conversations.models import Conversation, MemoryMode
from shared.conversations.queries import get_conversation, user_asking
from shared.db.base import Transactions
from shared.energy.rates import rate_of
from shared.llm.calls import Rate
from shared.search.search import Findings
from shared.telemetry.logging import get_logger
from shared.telemetry.metrics import CompactionStage, Metrics

_PROBE = 512
"""So many of the newest messages fill most windows; only where they do not are all of them summed."""
_USER, _SYSTEM = "user", "system"
_RATE_CHARS = 100
ItemT = TypeVar("ItemT")


class Placement(StrEnum):
    """Where what is recalled stands: in two messages, or in one before all others."""

    TWO = "two"
    ONE = "one"


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
    placement: Placement = Placement.TWO

    @property
    def bounds(self) -> recall.ContextLimits:
        """The bounds that are meant."""
        reserve = DEFAULT_RESERVE if self.reserve is None else self.reserve
        return recall.ContextLimits(self.token_budget, self.context_window, reserve)


@dataclass(frozen=True)
class ConversationContext:
    """A composed context; sizes in tokens."""

    messages: tuple[Utterance, ...]
    recalled_at: tuple[int, ...]
    """The places of what is recalled among the messages."""
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

    def material(self, session: Session, app_name: str, users: tuple[str, ...]) -> recall.RecallMaterial:
        """Read what there is to recall of users, whatever is said; see ``shared.base.subjects.recalled_for``."""
        memories = self._read("memories", lambda: queries.memories_to_recall(session, self.app_id, users))
        facts = self._read("facts", lambda: queries.facts_to_recall(session, self.app_id, users))
        return recall.RecallMaterial(app_name, memories, standing_order(facts))

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
        material = parts.material(session, said.app_name, said.recalled_for)
        budget = 0 if sources is None else sources.budget(session, app_id)
    is_apart = request.placement is Placement.TWO
    if not is_apart:
        material = material.chosen_for(said.unanswered)
    if sources is not None and not said.is_alone:
        profile, missing = sources.profile(app_id, said.user_id, actor)
        material, parts.missing = replace(material, profile=profile), [*parts.missing, *missing]
    messages = [counted(one, said.counting) for one in said.messages]
    draft = recall.compose(messages, material, request.bounds, said.counting, said.left_out)
    added, findings, extra = recall.ContextExtension(), None, recall.ExtraMaterial()
    facts = material.lifted_beside(draft.recalled, said.unanswered, said.counting) if is_apart else ()
    budget += said.counting.tokens(facts_text(facts))
    budget = recall.budget_for_more(draft, request.bounds, budget, request.is_capped)
    if budget > 0:
        if sources is not None:
            extra, findings, missing = sources.extra(_current_turn(draft, app_id, request, said))
            parts.missing += missing
        extra = replace(extra, facts=facts)
        added = recall.extend(draft.recalled.text, extra, budget, said.counting, is_apart=is_apart)
        if sources is not None and findings is not None:
            sources.record(app_id, findings, added, draft.recalled.has_profile)
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
    counting = TokenCounting(None if request.model is None else _steady(rate_of(session, request.model)))
    user_id, conversation, messages, left_out = request.user_id, None, list(request.said or ()), 0
    if request.conversation_id is not None:
        conversation = get_conversation(session, app_id, request.conversation_id)
        user_id = user_asking(conversation, request.user_id)
        if request.said is None:
            messages, left_out = _stored(session, conversation, counting, request.bounds)
    if request.now_said is not None:
        messages = [*messages, Utterance(_USER, request.now_said)]
    # What will not stay goes at once, because counting thousands of messages one by one takes long.
    if not left_out and recall.overfills(length_of(messages, counting), request.bounds):
        kept = [messages[i] for i in staying(messages, len(messages))]
        messages, left_out = kept, len(messages) - len(kept)
    key = None if conversation is None else conversation.key
    is_alone = conversation is not None and conversation.memory == MemoryMode.OFF
    users = () if is_alone else recalled_for(user_id, is_shared)
    return _Conversation(app_name, user_id, users, counting, messages, key, left_out, is_alone)


def _steady(rate: Rate | None) -> Rate | None:
    """Return a rate rounded up: each answered call moves it a little, and with it what just fits into a budget."""
    return rate and Rate(_RATE_CHARS, rate.tokens_in(_RATE_CHARS))


def _stored(
    session: Session, conversation: Conversation, counting: TokenCounting, bounds: recall.ContextLimits
) -> tuple[list[Utterance], int]:
    """Read what was said; of a conversation that fills the window by itself only what stays when its middle goes.

    Return that, and how many messages were left out.
    """
    of = conversation.message_count
    if of > FEW and bounds.window is not None:
        # The newest first: only where they do not fill the window are all of them summed.
        for newest in (min(of, _PROBE), of):
            if recall.overfills(queries.tokens_said(session, conversation.key, counting.in_use, newest), bounds):
                kept = queries.what_stays(session, conversation.key)
                return kept, of - len(kept)
            if newest == of:
                break
    return queries.everything_said(session, conversation.key), 0


def _current_turn(draft: recall.ContextDraft, app_id: str, request: ContextRequest, said: _Conversation) -> CurrentTurn:
    users = [one.content for one in said.messages if one.role == _USER]
    return CurrentTurn(
        app_id=app_id,
        user_id=said.user_id,
        conversation_id=request.conversation_id,
        conversation_key=said.conversation_key,
        said=users[-1] if users else None,
        shown=frozenset(message.said.content.strip() for message in draft.messages),
        is_whole=request.said is None and not draft.trimmed,
    )


def _finished(
    draft: recall.ContextDraft,
    added: recall.ContextExtension,
    findings: Findings | None,
    request: ContextRequest,
    counting: TokenCounting,
    missing: Sequence[str],
) -> ConversationContext:
    total, window = draft.tokens + added.tokens, request.context_window
    said = [message.said for message in draft.messages]
    text = join_blocks([draft.recalled.text, added.text])
    if request.placement is Placement.ONE:
        recalled = {0: Utterance(_SYSTEM, text)} if text else {}
        stable = 0 if text else _stable_prefix(draft)
    else:
        recalled, stable = _placed(said, draft.recalled.text, added.text), _stable_prefix(draft)
    for place, one in recalled.items():
        said.insert(place, one)
    return ConversationContext(
        messages=tuple(said),
        recalled_at=tuple(recalled),
        stable_prefix_tokens=stable,
        system_prompt=text,
        memory_ids=draft.recalled.memory_ids,
        fact_ids=draft.recalled.fact_ids + added.fact_ids,
        memory_tokens=draft.recalled.tokens + added.tokens,
        total_tokens=total,
        percent_used=None if window is None else round(100 * total / window, 2),
        stage=draft.stage,
        missing=tuple(missing),
        trimmed=draft.trimmed,
        token_source=recall.source_of(draft, counting, bool(added.text)),
        cut=draft.cut,
        shrunk=draft.is_shrunk,
        summary_id=added.summary_id,
        profile=draft.recalled.has_profile,
        retrieved_ids=tuple(dict.fromkeys(hit.message_id for hit in added.hits)),
        degraded=() if findings is None else findings.degraded,
    )


def _placed(said: Sequence[Utterance], head: str, tail: str) -> dict[int, Utterance]:
    """Return what is recalled by the places it gets among the messages, the first place first."""
    placed: dict[int, Utterance] = {}
    leading = leading_system(said)
    if head:
        # As the app's own: "developer" and "system" beside each other are refused by some servers.
        role = said[leading - 1].sent["role"] if leading else _SYSTEM
        payload = None if role == _SYSTEM else {"role": role, "content": head}
        placed[leading] = Utterance(_SYSTEM, head, payload=payload)
    if tail:
        # Not a system message: servers of Anthropic and Ollama move those to the top, and the prefix would change.
        before = before_last_user(said)
        placed[(leading if before is None else before) + len(placed)] = Utterance(_USER, tail)
    return placed


def _stable_prefix(draft: recall.ContextDraft) -> int:
    """Return how many tokens from the beginning are the same for the next question, however short that is.

    Where the middle of the conversation went, what is behind the first exchange moves on with each message; where what
    is recalled shrank, it can shrink further.
    """
    said = [message.said for message in draft.messages]
    leading, before = leading_system(said), before_last_user(said)
    if draft.cut:
        return 0
    if draft.is_shrunk:
        return length(draft.messages[: min(leading, 1) if draft.stage is CompactionStage.REDUCED else leading])
    stable = leading if before is None else before
    if draft.trimmed:
        stable = min(stable, beginning_kept(said))
    return length(draft.messages[:stable]) + draft.recalled.tokens
