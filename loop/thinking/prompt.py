"""A situation as texts for a model: as much of what was said as fits its window, and what it must know beside that.

What of a conversation goes when it does not fit is decided as for any context, by ``shared.context.window``.
Everything that others wrote stands between marks nobody could foresee, so that no text can pretend to end the
material or to be another message.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from loop.thinking.situation import ConversationView, Energy, Situation, ThreadMessage
from loop.thinking.tools import (
    Arguments,
    AwaitEnergy,
    Choice,
    EndConversationCall,
    Respond,
    SelectConversation,
    SnoozeConversationCall,
    Think,
    choice_of,
    offered_tools,
    usable_tools,
)
from shared.base.errors import Configuration
from shared.context.window import CountedMessage, Utterance, length, staying, truncate
from shared.energy.budget import to_units
from shared.llm.calls import Rate, TokenSource, WorkKind, most_tokens
from shared.llm.chat import FRAME_TOKENS, REPAIR_TOKENS, Question
from shared.llm.tools import Exchange, ExchangeLine, Speaker, tools_tokens
from shared.telemetry.metrics import FocusKind
from shared.text.lines import clean

ANSWER_TOKENS = 600
"""The longest a model may write at once."""
_ANSWER_SHARE = 8
_LATER_SHARE = 8
"""Fractions (an eighth) of the window: for one answer at most, and kept free for the later rounds of a turn."""
_IDS_SHARE = 8
"""The same for naming the conversations of a review to each tool."""
_TEXT_CHARACTERS = (300, 1000)
"""The longest text a model without tools may write to a person: in the smallest window, and in a large one."""
_REASON_CHARACTERS = 200
"""The same for itself."""
_CHOICE_TOKENS = 100
"""What an object takes beside its text."""
_LEAST_BUDGET = 150
_CUT = " […]"
_SECONDS_FORMAT = "%Y-%m-%d %H:%M"
_NOW_FORMAT = f"{_SECONDS_FORMAT} (%Z)"


@dataclass(frozen=True)
class Window:
    """How long a prompt may be, in tokens."""

    context_tokens: int

    @property
    def answer_tokens(self) -> int:
        """For one answer."""
        return min(ANSWER_TOKENS, self.context_tokens // _ANSWER_SHARE)

    @property
    def later_tokens(self) -> int:
        """For what is said in later rounds."""
        return self.context_tokens // _LATER_SHARE

    @property
    def text_characters(self) -> int:
        """For what a model without tools writes, which has one round; a character may take a token."""
        least, most = _TEXT_CHARACTERS
        return max(least, min(most, self.answer_tokens + self.later_tokens - _CHOICE_TOKENS - REPAIR_TOKENS))


def open_exchange(situation: Situation, window: Window, mark: str) -> Exchange | None:
    """Return what a turn about the situation begins with; None where nothing can be done in it.

    Raises: Configuration when the window is too small.
    """
    if not usable_tools(situation):
        return None
    tools = offered_tools(situation, window.context_tokens // _IDS_SHARE)
    energy = situation.energy
    system = _fill(
        "system",
        now=situation.now.strftime(_NOW_FORMAT),
        level=f"{energy.units:.1f}",
        percentage=f"{energy.percentage:.1f}",
        status=energy.status,
        refill=f"{energy.refill_per_second:g}",
        waiting="; when a matter can wait for more, use await_energy" if AwaitEnergy in usable_tools(situation) else "",
    )
    other_tokens = most_tokens(system) + tools_tokens(tools) + window.answer_tokens + window.later_tokens
    user = _user(situation, mark, window, other_tokens, "")
    lines = (ExchangeLine(Speaker.SYSTEM, system), ExchangeLine(Speaker.USER, user))
    # The first line holds the mark, so no server has cached anything behind it.
    return Exchange(WorkKind.THINK, lines, tools, window.answer_tokens, fresh=user)


def open_question(situation: Situation, window: Window, mark: str) -> Question[Choice] | None:
    """Return what a model without tools is asked about the situation; None where nothing can be done in it.

    Raises: Configuration when the window is too small.
    """
    if not usable_tools(situation):
        return None
    characters = window.text_characters
    actions: tuple[type[Arguments], ...] = (Respond, EndConversationCall, SnoozeConversationCall, Think)
    conversation_ids: list[str] = []
    match situation.focus.kind:
        case FocusKind.UNANSWERED:
            actions = (Respond,)
        case FocusKind.REVIEW:
            actions = (SelectConversation, EndConversationCall, SnoozeConversationCall, Think)
            conversation_ids = situation.open_ids
            characters = _REASON_CHARACTERS
    system = _fill("system_without_tools", now=situation.now.strftime(_NOW_FORMAT))
    answer_tokens = characters + _CHOICE_TOKENS
    other_tokens = most_tokens(system) + answer_tokens + REPAIR_TOKENS
    user = _user(situation, mark, window, other_tokens, "_without_tools", characters)
    shape = choice_of(actions, conversation_ids, characters)
    return Question(WorkKind.THINK, system, user, shape, answer_tokens, fresh=user)


def _user(situation: Situation, mark: str, window: Window, other_tokens: int, ending: str, characters: int = 0) -> str:
    """Return what others wrote, as much as fits beside ``other_tokens``, and what is asked about it.

    ``ending`` of the name of the prompt's file.
    """
    focused = situation.focused
    instructions = "" if focused is None else "\n".join(_state(focused, situation.energy))
    instructions += "\n" + _fill(
        f"{situation.focus.kind}{ending}",
        conversation="" if focused is None else focused.conversation_id,
        count=len(situation.conversations),
        characters=characters,
    )
    other_tokens += most_tokens(_fill("frame", mark=mark, material="") + instructions) + FRAME_TOKENS
    budget = window.context_tokens - other_tokens
    if budget < _LEAST_BUDGET:
        raise Configuration(
            f"A window of {window.context_tokens} tokens leaves no room for a conversation to be thought about; "
            "raise AFTERTHOUGHT_MODEL_CONTEXT_TOKENS to 4096 or more, or set AFTERTHOUGHT_THINKING=false."
        )
    material = _material(situation, mark, budget)
    return "\n".join([_fill("frame", mark=mark, material=material), instructions.strip()])


def _state(seen: ConversationView, energy: Energy) -> Iterator[str]:
    if seen.woken_at is not None:
        yield f"It was snoozed until {seen.woken_at.strftime(_SECONDS_FORMAT)}; nothing was said since."
    if seen.rejection is not None:
        yield "Your former answer to the last message was not approved; answer differently."
    if seen.budget is None:
        yield f"It has spent {to_units(seen.spent):.1f} units of energy and has no budget."
        return
    yield (
        f"Energy budget of this conversation: {to_units(seen.budget):g} units, spent {to_units(seen.spent):.1f}, "
        f"remaining {to_units(seen.budget - seen.spent):.1f}, status {seen.budget_status}. "
        "It is a guide: bring the conversation to a good end as it runs out."
    )


def _material(situation: Situation, mark: str, budget: int) -> str:
    head = [f"{mark} app: {clean(situation.app_name)}"]
    if situation.recalled:
        head += [f"{mark} memories", situation.recalled]
    left = budget - sum(most_tokens(text) + 1 for text in head)
    share = max(left // len(situation.conversations), _LEAST_BUDGET // 2)
    left = max(left, _LEAST_BUDGET)
    for number, one in enumerate(situation.conversations):
        text = _conversation(one, mark, share)
        left -= most_tokens(text) + 1
        # The first is shown in any case.
        if left < 0 and number:
            break
        head.append(text)
    return "\n".join(head)


def _conversation(seen: ConversationView, mark: str, budget: int) -> str:
    standing = "open, waits for an answer" if seen.unanswered_since is not None else "open"
    standing = "ended" if seen.ended else standing
    lines = [f"{mark} conversation {seen.conversation_id}, {standing}, {seen.message_count} messages"]
    if seen.rejection:
        lines.append(f"{mark} why your former answer was not approved\n{_within(seen.rejection, budget // 4)}")
    budget -= sum(most_tokens(line) + 1 for line in lines)
    return "\n".join([*lines, *_messages(seen, mark, budget)])


def _messages(seen: ConversationView, mark: str, budget: int) -> list[str]:
    """Return the messages as texts, or those that stay so that they fit; the last one always, cut if need be."""
    texts = []
    for message in seen.messages:
        name = f" ({clean(message.name)})" if message.name else ""
        texts.append(f"{mark} {message.role}{name}, {message.at.strftime(_SECONDS_FORMAT)}\n{message.text}")
    counted = [
        _counted(message, text, position)
        for position, (message, text) in enumerate(zip(seen.messages, texts, strict=True))
    ]
    if seen.message_count <= len(counted) and length(counted) <= budget:
        return texts
    budget = max(budget - most_tokens(_left_out(mark, seen.message_count)) - 1, _LEAST_BUDGET // 4)
    kept = [counted[position] for position in staying([one.message for one in counted], seen.message_count)]
    shown = {int(one.message.name or 0): one for one in truncate(kept, budget, budget)[0]}
    lines = {
        position: texts[position]
        if one is counted[position]
        else _within(texts[position], max(one.tokens - 1, _LEAST_BUDGET // 8))
        for position, one in shown.items()
    }
    left_out = seen.message_count - len(lines)
    # Told once, where the first of those that were looked at is missing.
    gap = next((position for position in range(len(texts)) if position not in lines), 0)
    before, after = [lines[at] for at in lines if at < gap], [lines[at] for at in lines if at >= gap]
    return [*before, *([_left_out(mark, left_out)] if left_out else []), *after]


def _left_out(mark: str, messages: int) -> str:
    return f"{mark} {messages} messages are left out"


def _counted(message: ThreadMessage, text: str, position: int) -> CountedMessage:
    tokens = most_tokens(text) + 1
    # What is cut is the text as it is shown, so of the message as it was sent only its calls and results matter.
    shown = Utterance(message.role, text, str(position), payload=message.payload)
    return CountedMessage(shown, tokens, TokenSource.ESTIMATED, Rate(len(text), tokens))


def _within(text: str, budget: int) -> str:
    """Return text, cut so that it takes at most ``budget`` tokens."""
    if most_tokens(text) <= budget:
        return text
    budget -= most_tokens(_CUT)
    while text and (needed := most_tokens(text)) > budget:
        # In proportion, and by one character at least, so that it comes to an end.
        text = text[: max(0, min(len(text) - 1, len(text) * budget // needed))]
    return text + _CUT


def _fill(name: str, **values: object) -> str:
    return Template(_text(f"{name}.md")).substitute(values)


@cache
def _text(file_name: str) -> str:
    return (files(__package__) / "prompts" / file_name).read_text(encoding="utf-8").strip()
