"""Which messages of a conversation stay when a model's window is full, how long they are, and what is left for a head.

The provider's own figure of a length goes before the rate its model was seen at, and that before an estimate. First the
middle goes: system messages, the first exchange and the last six stay. What is still too long goes by how little it is
needed; the last message never does, and no tool's result is parted from its call. Pure rules over values. Source: seed
000, "Context Compaction"; decisions 14 and 34.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from shared.context.select import ContextLimits, Filler, Head, HeadSelector, Item, in_steps
from shared.conversations.chat_message import Sent, as_sent, chars_of, cut_text, owners_of, shortened, text_of
from shared.llm.calls import Rate, TokenCounting, TokenSource
from shared.telemetry.metrics import CompactionStage

FEW = 8
TAIL = 6
_USER, _ASSISTANT, _SYSTEM = "user", "assistant", "system"


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message, stored or not; ``tokens`` as its provider counted them."""

    role: str
    content: str
    name: str | None = None
    tokens: int | None = None
    payload: Sent | None = None
    """The message as it was sent, where role, content and name do not say all of it."""

    @property
    def sent(self) -> Sent:
        """The message as it was sent."""
        return as_sent(self.role, self.content, self.name, self.payload)

    @property
    def chars(self) -> int:
        """The characters a model reads of it."""
        return len(self.content) if self.payload is None else chars_of(self.payload)


@dataclass(frozen=True, slots=True)
class CountedMessage:
    """A message with its length and the rate it would be cut by."""

    message: Utterance
    tokens: int
    source: TokenSource
    rate: Rate


def counted(message: Utterance, counting: TokenCounting) -> CountedMessage:
    """Return a message with its length: its provider's figure where it has one, else the rate its model was seen at."""
    if message.tokens is None:
        return CountedMessage(message, counting.in_use.tokens_in(message.chars), counting.source, counting.in_use)
    return CountedMessage(message, message.tokens, TokenSource.PROVIDER, Rate(max(message.chars, 1), message.tokens))


def length_of(messages: Iterable[Utterance], counting: TokenCounting) -> int:
    """Return the length of messages, in tokens, as ``counted`` would."""
    return sum(counting.in_use.tokens_in(one.chars) if one.tokens is None else one.tokens for one in messages)


def length(messages: Iterable[CountedMessage]) -> int:
    """Return the length of messages, in tokens."""
    return sum(message.tokens for message in messages)


def staying(messages: Sequence[Utterance], of: int) -> Sequence[int]:
    """Return the positions of those that stay when the middle of a conversation of ``of`` messages goes.

    System messages, the first exchange and the last six; no tool's result is parted from its call. What went already
    does not change which of the others stay.
    """
    if of <= FEW:
        return range(len(messages))
    roles, owners = [one.role for one in messages], owners_of(messages)
    kept = {owners[i] for i in (*_tail(roles), *_first_exchange(roles))}
    return [i for i, role in enumerate(roles) if role == _SYSTEM or owners[i] in kept]


def leading_system(messages: Sequence[Utterance]) -> int:
    """Return how many system messages a conversation begins with."""
    return next((i for i, one in enumerate(messages) if one.role != _SYSTEM), len(messages))


def before_last_user(messages: Sequence[Utterance]) -> int | None:
    """Return the position before the last user message; None without one.

    Where that is between a call of a tool and its result, the position before the call.
    """
    position = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].role == _USER), None)
    if position is not None:
        owners = owners_of(messages)
        while (earliest := min(owners[position:])) < position:
            position = earliest
    return position


def beginning_kept(messages: Sequence[Utterance]) -> int:
    """Return how many of the messages stay at the beginning however many follow: system messages, first exchange."""
    roles, owners = [one.role for one in messages], owners_of(messages)
    exchange = {owners[i] for i in _first_exchange(roles)}
    stay = (role == _SYSTEM or owner in exchange for role, owner in zip(roles, owners, strict=True))
    return next((i for i, stays in enumerate(stay) if not stays), len(messages))


def truncate(messages: Sequence[CountedMessage], window: int, budget: int) -> tuple[list[CountedMessage], bool]:
    """Return what stays so that the messages take at most ``budget`` tokens, and whether any of them was cut.

    The last message stays whole unless it alone exceeds the window, even where it exceeds ``budget``. What belongs to
    it (the call it is a result of, that call's other results) stays too, cut as far as need be.
    """
    owners = owners_of([one.message for one in messages])
    tokens: dict[int, int] = {}
    for owner, one in zip(owners, messages, strict=True):
        tokens[owner] = tokens.get(owner, 0) + one.tokens
    last = owners[-1:]
    filler = Filler[int](budget, sum(tokens[owner] for owner in last))
    order = _in_order_of_need([one.message.role for one in messages], owners)
    filler.fill((Item(owner, tokens[owner]) for owner in order if owner not in last), is_in_order=True)
    kept = [one for owner, one in zip(owners, messages, strict=True) if owner in (*last, *filler.taken)]
    return (kept, False) if filler.used <= budget else _cut(kept, window, budget)


def _in_order_of_need(roles: Sequence[str], owners: Sequence[int]) -> list[int]:
    """Return the owners of messages, those that stay longest first: system messages, the last six, first exchange."""
    tail = {owners[i] for i in _tail(roles)}
    exchange = {owners[i] for i in _first_exchange(roles)} - tail

    def need(owner: int) -> tuple[bool, bool, bool, int]:
        if roles[owner] == _SYSTEM:
            return True, False, False, -owner  # The first one is the app's own, wherever a later one is.
        return False, owner in tail, owner in exchange, owner

    return sorted(set(owners), key=need, reverse=True)


def _tail(roles: Sequence[str]) -> range:
    return range(max(0, len(roles) - TAIL), len(roles))


def _first_exchange(roles: Sequence[str]) -> set[int]:
    """Return the first user message and the assistant's, if that is what follows it."""
    speakers = [i for i, role in enumerate(roles) if role in (_USER, _ASSISTANT)]
    first = next((nth for nth, i in enumerate(speakers) if roles[i] == _USER), None)
    if first is None:
        return set()
    return {i for nth, i in enumerate(speakers[first : first + 2]) if nth == 0 or roles[i] == _ASSISTANT}


def _cut(kept: Sequence[CountedMessage], window: int, budget: int) -> tuple[list[CountedMessage], bool]:
    """Cut what is left: the last message where it alone exceeds the window, and what belongs to it to what remains."""
    *others, last = kept
    if last.tokens > window:
        last = _shortened(last, budget or window)
    spare = max(0, budget - last.tokens)
    shorter: list[CountedMessage] = []
    for number, one in enumerate(others):
        shorter.append(_shortened(one, spare // (len(others) - number)))
        spare -= shorter[-1].tokens
    result = [*shorter, last]
    return result, any(one is not other for one, other in zip(result, kept, strict=True))


def _shortened(counted_message: CountedMessage, tokens: int) -> CountedMessage:
    """Return a message cut so that it takes at most so much, in a shape that is still valid."""
    if counted_message.tokens <= tokens:
        return counted_message
    message, rate = counted_message.message, counted_message.rate
    chars = rate.chars_in(tokens)
    # The provider counted another text than this.
    is_provided = counted_message.source is TokenSource.PROVIDER
    source = TokenSource.CALIBRATED if is_provided else counted_message.source
    if message.payload is None:
        message = replace(message, content=cut_text(message.content, chars), tokens=None)
    else:
        payload = shortened(message.payload, chars)
        message = replace(message, content=text_of(payload), payload=payload, tokens=None)
    return CountedMessage(message, rate.tokens_in(message.chars), source, rate)


@dataclass(frozen=True)
class ContextDraft:
    """A context before the tail: the messages to send beside the head."""

    messages: tuple[CountedMessage, ...]
    head: Head
    stage: CompactionStage
    trimmed: int
    """Messages that were left out."""
    is_cut: bool = False
    """Whether a message was shortened."""
    is_shrunk: bool = False
    """Whether less is recalled than the window has room for without the conversation."""

    @property
    def tokens(self) -> int:
        """Its length."""
        return length(self.messages) + self.head.tokens

    def token_source(self, counting: TokenCounting, *, has_tail: bool = False) -> TokenSource:
        """Return the least certain source of its figures."""
        sources = {message.source for message in self.messages}
        if self.head.text or has_tail:
            sources.add(counting.source)
        # Declared from the best to the worst.
        return max(sources, key=list(TokenSource).index, default=counting.source)

    def tail_budget(self, limits: ContextLimits, most: int, *, is_capped: bool) -> int:
        """Return the tokens a tail may take: ``most``, and never so many that a window is full or passed.

        ``is_capped``: the budget of what is recalled was given, and holds for head and tail together.
        """
        if is_capped:
            most = min(most, limits.budget - self.head.tokens)
        if limits.window is not None:
            most = min(most, min(limits.below_full, limits.for_conversation) - self.tokens)
        return max(0, most)

    @property
    def stable_prefix_tokens(self) -> int:
        """How many tokens from the beginning are the same for the next question, however short that is.

        Where the middle of the conversation went, what is behind the first exchange moves on with each message; where
        the head shrank, it can shrink further.
        """
        messages = [one.message for one in self.messages]
        leading, before = leading_system(messages), before_last_user(messages)
        if self.is_cut:
            return 0
        if self.is_shrunk:
            return length(self.messages[: min(leading, 1) if self.stage is CompactionStage.REDUCED else leading])
        stable = leading if before is None else before
        if self.trimmed:
            stable = min(stable, beginning_kept(messages))
        return length(self.messages[:stable]) + self.head.tokens


def compact(
    messages: Sequence[CountedMessage], heads: HeadSelector, limits: ContextLimits, left_out: int = 0
) -> ContextDraft:
    """Return the messages and the head of a context.

    ``left_out``: so many messages are not among those given, because the conversation fills the window without anything
    recalled, and they would be the first to go.
    """
    # Not beside the messages: what is recalled must not change because one more was said.
    head = heads.head(limits.beside(0))
    if not left_out and not limits.is_passed_by(length(messages) + head.tokens):
        return ContextDraft(tuple(messages), head, CompactionStage.NONE, 0)
    assert limits.window is not None, "without a window nothing is too long"
    of = len(messages) + left_out
    kept = [messages[i] for i in staying([one.message for one in messages], of)]
    stage = CompactionStage.TRIMMED if len(kept) < of else CompactionStage.NONE
    for is_shrunk in (False, True):
        if is_shrunk:
            head = heads.head(limits.beside(length(kept)).in_steps)
        if not limits.is_passed_by(length(kept) + head.tokens):
            return ContextDraft(tuple(kept), head, stage, of - len(kept), is_shrunk=is_shrunk)
    kept, is_cut = truncate(kept, limits.window, limits.for_conversation)
    below_full = in_steps(limits.below_full - length(kept))
    head = heads.reduced_head(limits.beside(length(kept)).in_steps, below_full)
    return ContextDraft(tuple(kept), head, CompactionStage.REDUCED, of - len(kept), is_cut, is_shrunk=True)
