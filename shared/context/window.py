"""How long messages are in tokens, how well that is known, and which of them stay when a model's window is full.

The provider's own figure goes before the rate its model was seen to have, and that before an estimate. First the middle
goes: system messages, the first exchange and the last six stay. What is still too long goes in turn; the last message
never does, and no tool's result is parted from its call. Pure rules over values. Source: seed 000, "Context
Compaction", "Context Injection Strategy"; decisions, "Facts and context".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import Protocol

from shared.conversations.chat_message import Sent, as_sent, chars_of, cut_text, owners_of, shortened, text_of
from shared.llm.calls import LAST_RESORT, Rate, most_tokens


class TokenSource(StrEnum):
    """Where a figure comes from, the best first."""

    PROVIDER = "provider"
    CALIBRATED = "calibrated"
    ESTIMATED = "estimated"


def weakest(sources: Iterable[TokenSource]) -> TokenSource | None:
    """Return the least certain of the sources; None where there is none."""
    order = list(TokenSource)
    return max(sources, key=order.index, default=None)


class TokenScale(Protocol):
    """Weighs texts so that the weights of pieces add up to no less than the whole's."""

    def weigh(self, text: str) -> int:
        """Return the weight of a piece of text."""

    def holds(self, tokens: int) -> int:
        """Return the most weight that is sure to fit in so many tokens."""

    def tokens(self, text: str) -> int:
        """Return the length of a text, in tokens."""


@dataclass(frozen=True)
class TokenCounting(TokenScale):
    """Counts by a model's own rate, or by the estimate of last resort where none is known."""

    rate: Rate | None = None

    @property
    def source(self) -> TokenSource:
        """Where its figures come from."""
        return TokenSource.ESTIMATED if self.rate is None else TokenSource.CALIBRATED

    @cached_property
    def in_use(self) -> Rate:
        """The rate it counts by."""
        return self.rate or LAST_RESORT

    def weigh(self, text: str) -> int:
        """Return the characters: those of pieces add up exactly, which tokens rounded up do not."""
        return len(text)

    def holds(self, tokens: int) -> int:
        """Return the most characters that fit in so many tokens."""
        return self.in_use.chars_in(max(tokens, 0))

    def tokens(self, text: str) -> int:
        """Return the length of a text, in tokens."""
        return self.in_use.tokens_in(len(text))


class UpperBoundCounting(TokenScale):
    """Counts by the figure that a text hardly ever passes, for prompts that must fit whatever is in them."""

    def weigh(self, text: str) -> int:
        """Return the most tokens the text can have."""
        return most_tokens(text)

    def holds(self, tokens: int) -> int:
        """Return the tokens themselves."""
        return tokens

    def tokens(self, text: str) -> int:
        """Return the most tokens the text can have."""
        return most_tokens(text)


DEFAULT_RESERVE = 1000
"""Tokens left for the answer where a window is given and nothing else is said."""
LEAST_FOR_FACTS, _MOST = 150, 500
_SHARE = 4
"""A quarter: of what is left for facts, of the window for memories. Ten of 200 characters take 600 tokens."""
_STEPS = (2000, 1000, 500, 250, LEAST_FOR_FACTS, 75, 30, 0)
"""What is recalled shrinks in these: a budget that went down with each message would change a prompt's beginning."""
_FULL = (4, 5)
"""A window is full from four fifths on, exactly four fifths included."""


@dataclass(frozen=True)
class RecallBudgets:
    """The most tokens that memories may take, that facts may, and that both may together."""

    memories: int
    facts: int
    both: int

    def in_steps(self) -> RecallBudgets:
        """Return the next lower ones that do not follow the length of a conversation token by token."""
        return RecallBudgets(in_steps(self.memories), in_steps(self.facts), in_steps(self.both))


def budgets_of(window: int | None, conversation: int, reserve: int, cap: int) -> RecallBudgets:
    """Return what may be recalled beside a conversation of so many tokens; ``cap``: never more than this in all."""
    if window is None:
        return RecallBudgets(cap, min(_MOST, cap), cap)
    both = min(max(0, window - conversation - reserve), cap)
    return RecallBudgets(min(window // _SHARE, both), recall_budget(window, conversation, reserve, cap), both)


def recall_budget(window: int, conversation: int, reserve: int = DEFAULT_RESERVE, cap: int | None = None) -> int:
    """Return the tokens for facts: a quarter of what is left, 150 to 500, but never more than is left.

    ``cap``: never more than this either.
    """
    left = max(0, window - conversation - reserve)
    budget = min(max(left // _SHARE, LEAST_FOR_FACTS), _MOST, left)
    return budget if cap is None else min(budget, cap)


def in_steps(tokens: int) -> int:
    """Return the highest step that is not above so many tokens."""
    return next((step for step in _STEPS if step <= tokens), 0)


def is_full(tokens: int, window: int) -> bool:
    """Whether so many tokens are at least four fifths of the window."""
    return tokens * _FULL[1] >= window * _FULL[0]


def below_full(window: int) -> int:
    """Return the most tokens with which the window is not yet full; -1 for a window of 0."""
    return (window * _FULL[0] - 1) // _FULL[1]


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

    said: Utterance
    tokens: int
    source: TokenSource
    rate: Rate


class _Turn(IntEnum):
    """When a message goes, if what is left is still too long."""

    REST = 0
    FIRST_EXCHANGE = 1
    TAIL = 2
    SYSTEM = 3


def counted(said: Utterance, counting: TokenCounting) -> CountedMessage:
    """Return a message with its length: its provider's figure where it has one."""
    if said.tokens is None:
        return CountedMessage(said, counting.in_use.tokens_in(said.chars), counting.source, counting.in_use)
    return CountedMessage(said, said.tokens, TokenSource.PROVIDER, Rate(max(said.chars, 1), said.tokens))


def length_of(said: Iterable[Utterance], counting: TokenCounting) -> int:
    """Return the length of messages, in tokens, as ``counted`` would."""
    return sum(counting.in_use.tokens_in(one.chars) if one.tokens is None else one.tokens for one in said)


def length(messages: Iterable[CountedMessage]) -> int:
    """Return the length of messages, in tokens."""
    return sum(message.tokens for message in messages)


def staying(said: Sequence[Utterance], of: int) -> Sequence[int]:
    """Return the places of those that stay when the middle of a conversation of ``of`` messages goes.

    What went already does not change which of the others stay.
    """
    if of <= FEW:
        return range(len(said))
    roles, owners = [one.role for one in said], owners_of(said)
    kept = {owners[i] for i in (*_tail(roles), *_first_exchange(roles))}
    return [i for i, role in enumerate(roles) if role == _SYSTEM or owners[i] in kept]


def leading_system(said: Sequence[Utterance]) -> int:
    """Return how many system messages stand at the beginning."""
    return next((i for i, one in enumerate(said) if one.role != _SYSTEM), len(said))


def before_last_user(said: Sequence[Utterance]) -> int | None:
    """Return the place before the last user message; None without one.

    Where that stands between a call of a tool and its result, the place before the call.
    """
    place = next((i for i in range(len(said) - 1, -1, -1) if said[i].role == _USER), None)
    if place is not None:
        owners = owners_of(said)
        while (earliest := min(owners[place:])) < place:
            place = earliest
    return place


def beginning_kept(said: Sequence[Utterance]) -> int:
    """Return how many of the messages stay at the beginning however many follow: system messages, first exchange."""
    roles, owners = [one.role for one in said], owners_of(said)
    exchange = {owners[i] for i in _first_exchange(roles)}
    stay = (role == _SYSTEM or owner in exchange for role, owner in zip(roles, owners, strict=True))
    return next((i for i, stays in enumerate(stay) if not stays), len(said))


def squeezed(messages: Sequence[CountedMessage], window: int, budget: int) -> tuple[list[CountedMessage], bool]:
    """Return what stays so that the messages take at most ``budget`` tokens, and whether any of them was cut.

    The last message stays whole unless it alone exceeds the window, even where it exceeds ``budget``. What belongs to
    it (the call it is a result of, that call's other results) stays too, cut as far as need be.
    """
    left = length(messages)
    roles = [message.said.role for message in messages]
    owners = owners_of([message.said for message in messages])
    members: dict[int, list[int]] = {}
    for i, owner in enumerate(owners):
        members.setdefault(owner, []).append(i)
    gone: set[int] = set()
    for owner in _in_turn(roles, owners):
        if left <= budget:
            break
        gone.add(owner)
        left -= length(messages[i] for i in members[owner])
    kept = [one for i, one in enumerate(messages) if owners[i] not in gone]
    return (kept, False) if left <= budget or not kept else _cut(kept, window, budget)


def _tail(roles: Sequence[str]) -> range:
    return range(max(0, len(roles) - TAIL), len(roles))


def _first_exchange(roles: Sequence[str]) -> set[int]:
    """Return the first user message and the assistant's, if that is what follows it."""
    asked = next((i for i, role in enumerate(roles) if role == _USER), None)
    if asked is None:
        return set()
    said_next = next((i for i in range(asked + 1, len(roles)) if roles[i] in (_USER, _ASSISTANT)), asked)
    return {asked, said_next} if roles[said_next] == _ASSISTANT else {asked}


def _in_turn(roles: Sequence[str], owners: Sequence[int]) -> list[int]:
    """Return the owners of messages in the order they go; that of the last message never does."""
    tail = {owners[i] for i in _tail(roles)}
    exchange = {owners[i] for i in _first_exchange(roles)}

    def turn(owner: int) -> tuple[_Turn, int]:
        if roles[owner] == _SYSTEM:
            return _Turn.SYSTEM, -owner  # The first one is the app's own; what came later goes before it.
        if owner in tail:
            return _Turn.TAIL, owner
        return (_Turn.FIRST_EXCHANGE if owner in exchange else _Turn.REST), owner

    return sorted(set(owners) - {owners[-1]} if owners else (), key=turn)


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


def _shortened(message: CountedMessage, tokens: int) -> CountedMessage:
    """Return a message cut so that it takes at most so much, in a shape that is still valid."""
    if message.tokens <= tokens:
        return message
    said, chars = message.said, message.rate.chars_in(tokens)
    # The provider counted another text than this.
    source = TokenSource.CALIBRATED if message.source is TokenSource.PROVIDER else message.source
    if said.payload is None:
        said = replace(said, content=cut_text(said.content, chars), tokens=None)
    else:
        payload = shortened(said.payload, chars)
        said = replace(said, content=text_of(payload), payload=payload, tokens=None)
    return CountedMessage(said, message.rate.tokens_in(said.chars), source, message.rate)
