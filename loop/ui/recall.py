"""What is recalled for the last thing a user said, beside their conversation: what it is, and why in words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from nicegui import ui

from afterthought_client import models
from loop.ui.frame import PageView
from loop.ui.tables import heading, note, said
from loop.ui.wording import counted, day

_WINDOW_TOKENS = 8192
_MOST_LISTED = 200
_FIRST = 3
"""Of a kind; the others are folded."""
_EXPLAINED = 20
_QUERY_CHARACTERS = 4_000
"""The most a search takes."""
_SHOWN_CHARACTERS = 500
_SIGNALS = {
    "dense": "close in meaning", "window": "what was said around it is close in meaning", "words": "the same words",
    "window_words": "the same words around it", "author": "said by who is meant", "date": "said when it is asked about",
    "coverage": "rare words in common", "when": "words of time in common", "question": "the question, asked before",
}  # fmt: skip
_NAMED_SIGNALS, _LEAST = 2, 0.005
_Entry = tuple[str, str, str]
"""A text, why it is there, and the figures behind that."""


class RecallPanel:
    """A pane of a page."""

    def __init__(self, view: PageView) -> None:
        self._view = view
        self._asked_for = 0
        self.pane = ui.column().classes("beside gap-2 no-wrap")
        self.pane.props("role=complementary aria-label='What was recalled' tabindex=0")

    def clear(self) -> None:
        """Show nothing; what is on its way is not shown either."""
        self._asked_for += 1
        self.pane.clear()

    async def show(self, conversation: models.ConversationDetails, text: str) -> None:
        """Show what is recalled for a message that was sent, unless another is sent or opened meanwhile."""
        self._asked_for += 1
        number, client, name = self._asked_for, self._view.client, conversation.conversation_id
        context, found = await asyncio.gather(
            client.compose_context(conversation_id=name, context_window=_WINDOW_TOKENS),
            client.search_messages(text[:_QUERY_CHARACTERS], conversation_id=name, limit=_EXPLAINED, explain=True),
        )
        facts: list[_Entry] = []
        memories: list[_Entry] = []
        # Also what names nobody, which an app may share; of a subject one page holds all.
        for subject in {conversation.user_id or "", ""}:
            if context.included.facts:
                listed = await client.list_facts(user_id=subject, limit=_MOST_LISTED)
                facts += [_of_fact(one) for one in listed.facts if one.id in context.included.facts]
            if context.included.memories:
                remembered = await client.list_memories(user_id=subject, limit=_MOST_LISTED)
                given = [one for one in remembered.memories if one.id in context.included.memories]
                # What matters most is not folded: an allergy stood behind the latest three.
                memories += map(_of_memory, sorted(given, key=lambda one: -one.importance))
        messages = {one.message_id: _of_message(one) for one in found.results}
        if number == self._asked_for:
            self.pane.clear()
            with self.pane:
                heading("Recalled for this message")
                _group("Facts", facts)
                _group("Memories", memories)
                _group("Earlier messages", [messages[one] for one in context.included.retrieved if one in messages])
                _show_rest(context)


def _show_rest(context: models.ContextAnswer) -> None:
    included = context.included
    if included.summary:
        note("The summary of what was said before is in it too.")
    if included.profile:
        note("The profile is in it too.")
    if not context.system_prompt:
        note("Nothing that is remembered fits.")
    for part in (*context.missing, *context.degraded):
        note(f"Without: {part}")
    with ui.expansion("How much room it takes").props("dense").classes("w-full muted text-sm"):
        note(f"{context.memory_tokens:,} tokens, {context.percent_used or 0:.0f} % of a window of {_WINDOW_TOKENS:,}.")
        note(f"The first {context.stable_prefix_tokens:,} stay the same for the next message.")


def _group(name: str, entries: Sequence[_Entry]) -> None:
    if not entries:
        return
    heading(f"{name}: {len(entries)}", 3).classes("text-sm")
    for one in entries[:_FIRST]:
        _card(*one)
    if rest := entries[_FIRST:]:
        with ui.expansion(counted(len(rest), "more", "more")).props("dense").classes("w-full text-sm"):
            for one in rest:
                _card(*one)


def _card(text: str, why: str, figures: str) -> None:
    with ui.column().classes("card gap-1"):
        said(text[:_SHOWN_CHARACTERS]).classes("text-sm")
        ui.label(why).classes("muted text-xs").tooltip(figures)


def _of_fact(fact: models.FactAnswer) -> _Entry:
    why = "Pinned, and so always there" if fact.pinned else _ABOUT[fact.category]
    return fact.fact, why, f"{fact.category}, confidence {fact.confidence:.0%}"


_ABOUT = {"project": "What they work on", "preference": "What they like", "identity": "Who they are"}


def _of_memory(memory: models.MemoryAnswer) -> _Entry:
    return memory.content, f"Remembered, last changed {day(memory.updated_at)}", f"importance {memory.importance}"


def _of_message(found: models.SearchResult) -> _Entry:
    parts = sorted((found.explanation or {}).items(), key=lambda one: -one[1])
    signals = {_SIGNALS.get(name, name): value for name, value in parts if value > _LEAST}
    words = ", ".join(list(signals)[:_NAMED_SIGNALS]) or "the best there is"
    figures = ", ".join(f"{name} {value:.2f}" for name, value in signals.items())
    return found.content, words[:1].upper() + words[1:], figures or f"score {found.score:.2f}"
